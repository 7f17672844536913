"""Measure Responses against hand-written loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from promptkit.adapters import openai_responses
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.benchmarks.bench_openai import chat
from tests.benchmarks.harness import Call, Row, compare, growth, interleaved


def wire(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Write the items of a body as one would by hand."""
    items: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            items.append({"role": "user", "content": message.content})
        elif isinstance(message, AssistantMessage):
            if message.content is not None:
                items.append({"role": "assistant", "content": message.content})
            items += [
                {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
                for call in message.tool_calls
            ]
        else:
            items += [
                {"type": "function_call_output", "call_id": response.id, "output": response.content}
                for response in message.responses
            ]
    return items


def unwire(items: Sequence[dict[str, Any]]) -> list[BuiltinMessage]:
    """Read the items of a body as one would by hand: in this conversation each call is an answer of its own."""
    messages: list[BuiltinMessage] = []
    names: dict[str, str] = {}
    for item in items:
        kind = item.get("type")
        if kind == "function_call":
            names[item["call_id"]] = item["name"]
            messages.append(
                AssistantMessage(tool_calls=[ToolCall(item["call_id"], item["name"], arguments=item["arguments"])])
            )
        elif kind == "function_call_output":
            result = ToolResponse(item["call_id"], names[item["call_id"]], content=item["output"])
            messages.append(ToolResponseMessage(result))
        elif item["role"] == "user":
            messages.append(UserMessage(item["content"]))
        else:
            messages.append(AssistantMessage(item["content"]))
    return messages


def bench_out_and_back() -> list[Row]:
    prompt = Prompt(chat(1_001)[1:])
    calls: dict[str, Call] = {
        "ours": lambda: openai_responses.to_request(prompt),
        "a loop": lambda: wire(prompt.messages),
    }
    rows = compare("1,000 messages to items", interleaved(calls), at_most={"a loop": 2})
    body = openai_responses.to_request(prompt).body
    calls = {"ours": lambda: openai_responses.from_request(body), "a loop": lambda: unwire(body["input"])}
    return rows + compare("items of 1,000 messages back", interleaved(calls), at_most={"a loop": 2})


def events(length: int) -> list[str]:
    """Make a stream of text, each event as JSON."""
    delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0}
    end = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
    return [json.dumps(delta | {"delta": "word ", "sequence_number": at}) for at in range(length)] + [json.dumps(end)]


def _reading(length: int) -> Call:
    lines = events(length)
    return lambda: ChatResponse.from_chunks(openai_responses.to_chunks(map(json.loads, lines)))


def _by_hand(lines: list[str]) -> Call:
    """Make the limit: parse each event, look up its text, join."""
    return lambda: "".join([event["delta"] for event in map(json.loads, lines) if "delta" in event])


def bench_stream() -> list[Row]:
    calls = {"ours": _reading(20_000), "parsing and joining by hand": _by_hand(events(20_000))}
    rows = compare("20,000 events of items", interleaved(calls, rounds=5), at_most={"parsing and joining by hand": 5})
    return [*rows, growth("events of items", _reading, (1_000, 5_000, 20_000), at_most=1.15)]
