"""Read the recorded bug reports on streams, media and wire formats, and judge what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptkit.content import Reasoning
from promptkit.messages import (
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.oracles import rows

Case = dict[str, Any]

CASES: dict[str, Case] = {case["id"]: case for case in rows("bug_reports_wire.jsonl")}
STREAMS = {name: case for name, case in CASES.items() if case["area"].startswith("stream/")}
"""The reports in which pieces of an answer became a wrong answer."""

_MAKERS: dict[str, Callable[[Case], Any]] = {
    "system": lambda row: SystemMessage(row["text"]),
    "user": lambda row: UserMessage(row["text"]),
    "assistant": lambda row: AssistantMessage(
        row["text"],
        tool_calls=[ToolCall(call["id"], call["name"], arguments=call["args"]) for call in row.get("calls", ())],
    ),
    "tool": lambda row: ToolResponseMessage(ToolResponse(row["for"], content=row["text"])),
}


def prompt_of(case: Case) -> Prompt:
    """Make the prompt of a report that has messages."""
    return Prompt([_MAKERS[row["role"]](row) for row in case["input"]["messages"]], ChatOptions(max_tokens=9))


def check_stream(case: Case, response: ChatResponse, signature: Callable[[AssistantMessage], Any]) -> None:
    """Compare what a stream became with what is right.

    Args:
        case: The report.
        response: What its pieces became.
        signature: Where the format has the signature of a thought.
    """
    output, usage = response.results[0].output, response.usage
    parts = output.content if isinstance(output.content, tuple) else ()
    found: Case = {
        "calls": [{"id": one.id, "name": one.name, "args": dict(one.parsed_arguments)} for one in output.tool_calls],
        "invalid": len(output.invalid_tool_calls),
        "text": response.text,
        "finish": response.results[0].finish_reason,
        "model": response.model,
        "reasoning": "".join(part.text for part in parts if isinstance(part, Reasoning)),
        "signature": signature(output),
        "usage": {
            "input": usage.prompt_tokens,
            "output": usage.completion_tokens,
            "total": usage.total_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
        },
    }
    expected = case["expect"]
    if "usage" in expected:
        found["usage"] = {key: found["usage"][key] for key in expected["usage"]}
    assert {key: found[key] for key in expected} == expected


def thought_metadata(message: AssistantMessage) -> dict[str, Any]:
    """Give the metadata of the thoughts of an answer."""
    parts = message.content if isinstance(message.content, tuple) else ()
    return {key: value for part in parts if isinstance(part, Reasoning) for key, value in part.metadata.items()}
