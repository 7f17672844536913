"""Measure tools and typed answers: a round of a small tool, a long answer, hostile text."""

from __future__ import annotations

import json
from typing import Any

from promptkit import AssistantMessage, ChatResponse, Generation, Prompt, ToolCall
from promptkit.converters.cleaning import find_json
from promptkit.tools import ToolCallingManager, tool
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _langchain() -> Call:
    from langchain_core.tools import tool as theirs

    @theirs
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    call: Any = {"type": "tool_call", "id": "c1", "name": "add", "args": {"a": 1, "b": 2}}
    return lambda: add.invoke(call)


def bench_tool_round() -> list[Row]:
    manager = ToolCallingManager([add])
    prompt = Prompt("1 + 2?")
    response = ChatResponse(
        Generation(AssistantMessage(tool_calls=[ToolCall("c1", "add", arguments={"a": 1, "b": 2})]))
    )
    calls: dict[str, Call] = {"ours": lambda: manager.execute(prompt, response)}
    calls |= installed({"langchain-core tool invoke": _langchain})
    return compare("tool round of add(a, b)", interleaved(calls), faster={"langchain-core tool invoke": 5})


def bench_long_answer() -> list[Row]:
    text = json.dumps([{"name": f"item {n}", "text": 'a "quoted" {brace} ' * 5, "price": n / 3} for n in range(6_000)])
    answer = f"Sure, here it is:\n```json\n{text}\n```\nAnything else?"
    assert find_json(answer)[0].value == json.loads(text)
    times = interleaved({"ours": lambda: find_json(answer), "json.loads": lambda: json.loads(text)})
    return compare(f"clean and parse {len(answer) / 1e6:.1f} MB", times, at_most={"json.loads": 3.0})


def bench_hostile_text() -> list[Row]:
    sizes = (20_000, 100_000, 500_000)

    def make(piece: str) -> Any:
        def prepare(size: int) -> Call:
            text = piece * (size // len(piece))

            def run() -> object:
                try:
                    return find_json(text)
                except ValueError as error:
                    return error

            return run

        return prepare

    pieces = {"braces": '{"a":', "brackets": "[1,", "quotes": '{"', "fences": "```", "thoughts": "<think>{"}
    return [
        growth(f"find JSON among endless {name}", make(piece), sizes, at_most=1.15) for name, piece in pieces.items()
    ]
