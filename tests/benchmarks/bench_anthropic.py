"""Measure the Messages format against hand-written loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from promptkit.adapters import anthropic
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.benchmarks.bench_openai import chat
from tests.benchmarks.harness import Call, Row, compare, growth, interleaved


def wire(messages: Sequence[Message]) -> dict[str, Any]:
    """Write a body as one would by hand."""
    body: dict[str, Any] = {"max_tokens": 9}
    written: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            written.append({"role": "user", "content": message.content})
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            blocks: list[dict[str, Any]] = (
                [] if message.content is None else [{"type": "text", "text": message.content}]
            )
            blocks += [
                {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
                for call in message.tool_calls
            ]
            written.append({"role": "assistant", "content": blocks})
        elif isinstance(message, AssistantMessage):
            written.append({"role": "assistant", "content": message.content})
        elif isinstance(message, ToolResponseMessage):
            blocks = [
                {"type": "tool_result", "tool_use_id": item.id, "content": item.content} for item in message.responses
            ]
            written.append({"role": "user", "content": blocks})
        elif isinstance(message, SystemMessage):
            body["system"] = message.content
    return body | {"messages": written}


def unwire(body: dict[str, Any]) -> list[BuiltinMessage]:
    """Read the messages of a body as one would by hand."""
    messages: list[BuiltinMessage] = [SystemMessage(body["system"])]
    names: dict[str, str] = {}
    for written in body["messages"]:
        content = written["content"]
        if written["role"] == "assistant":
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            calls = [
                ToolCall(block["id"], block["name"], arguments=json.dumps(block["input"]))
                for block in blocks
                if block["type"] == "tool_use"
            ]
            names = {str(call.id): call.name for call in calls}
            messages.append(AssistantMessage(texts[0] if texts else None, tool_calls=calls))
        elif isinstance(content, str):
            messages.append(UserMessage(content))
        else:
            results = [
                ToolResponse(block["tool_use_id"], names[block["tool_use_id"]], content=block["content"])
                for block in content
            ]
            messages.append(ToolResponseMessage(results))
    return messages


def bench_out_and_back() -> list[Row]:
    prompt = Prompt(chat(1_000), ChatOptions(max_tokens=9))
    body = anthropic.to_request(prompt).body
    calls: dict[str, Call] = {"ours": lambda: anthropic.to_request(prompt), "a loop": lambda: wire(prompt.messages)}
    rows = compare("1,000 messages to a body of Anthropic", interleaved(calls), at_most={"a loop": 2})
    calls = {"ours": lambda: anthropic.from_request(body), "a loop": lambda: unwire(body)}
    return rows + compare("such a body back", interleaved(calls), at_most={"a loop": 2})


def events(length: int) -> list[str]:
    """Make a stream of text, each event as JSON."""
    start = {"type": "message_start", "message": {"id": "r", "model": "m", "usage": {"input_tokens": 3}}}
    begin = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}
    rest = [{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
    return [json.dumps(event) for event in (start, begin, *[piece] * length, *rest)]


def _reading(length: int) -> Call:
    lines = events(length)
    return lambda: ChatResponse.from_chunks(anthropic.to_chunks(map(json.loads, lines)))


def _by_hand(lines: list[str]) -> Call:
    """Make the limit: parse each event, look up its text, join."""

    def limit() -> str:
        found = [json.loads(line) for line in lines]
        return "".join([event["delta"]["text"] for event in found if event["type"] == "content_block_delta"])

    return limit


def bench_stream() -> list[Row]:
    calls = {"ours": _reading(20_000), "parsing and joining by hand": _by_hand(events(20_000))}
    rows = compare(
        "20,000 events of Anthropic", interleaved(calls, rounds=5), at_most={"parsing and joining by hand": 5}
    )
    return [*rows, growth("events of Anthropic", _reading, (1_000, 5_000, 20_000), at_most=1.15)]
