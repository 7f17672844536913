"""Measure generateContent against hand-written loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from promptkit.adapters import gemini
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
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.benchmarks.bench_openai import chat
from tests.benchmarks.harness import Call, Row, compare, growth, interleaved


def wire(messages: Sequence[Message]) -> dict[str, Any]:
    """Write a body as one would by hand."""
    body: dict[str, Any] = {}
    contents: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            contents.append({"role": "user", "parts": [{"text": message.content}]})
        elif isinstance(message, AssistantMessage):
            parts: list[dict[str, Any]] = [] if message.content is None else [{"text": message.content}]
            parts += [
                {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}}
                for call in message.tool_calls
            ]
            contents.append({"role": "model", "parts": parts})
        elif isinstance(message, ToolResponseMessage):
            parts = [
                {"functionResponse": {"id": item.id, "name": item.name, "response": {"output": item.content}}}
                for item in message.responses
            ]
            contents.append({"role": "user", "parts": parts})
        elif isinstance(message, SystemMessage):
            body["systemInstruction"] = {"parts": [{"text": message.content}]}
    return body | {"contents": contents}


def unwire(body: dict[str, Any]) -> list[BuiltinMessage]:
    """Read the messages of a body as one would by hand."""
    messages: list[BuiltinMessage] = [SystemMessage(part["text"]) for part in body["systemInstruction"]["parts"]]
    for content in body["contents"]:
        texts = [part["text"] for part in content["parts"] if "text" in part]
        if content["role"] == "model":
            wishes = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            calls = [ToolCall(wish["id"], wish["name"], arguments=json.dumps(wish["args"])) for wish in wishes]
            messages.append(AssistantMessage(texts[0] if texts else None, tool_calls=calls))
        elif texts:
            messages.append(UserMessage(texts[0]))
        else:
            results = [part["functionResponse"] for part in content["parts"]]
            messages.append(
                ToolResponseMessage(
                    [ToolResponse(item["id"], item["name"], content=item["response"]["output"]) for item in results]
                )
            )
    return messages


def bench_out_and_back() -> list[Row]:
    prompt = Prompt(chat(1_000))
    body = gemini.to_request(prompt).body
    calls: dict[str, Call] = {"ours": lambda: gemini.to_request(prompt), "a loop": lambda: wire(prompt.messages)}
    rows = compare("1,000 messages to a body of Gemini", interleaved(calls), at_most={"a loop": 2})
    calls = {"ours": lambda: gemini.from_request(body), "a loop": lambda: unwire(body)}
    return rows + compare("such a body back", interleaved(calls), at_most={"a loop": 2})


def events(length: int) -> list[str]:
    """Make a stream of text, each event as JSON with the usage so far."""
    made = []
    for number in range(length + 1):
        candidate: dict[str, Any] = {"content": {"parts": [{"text": "word "}], "role": "model"}, "index": 0}
        if number == length:
            candidate["finishReason"] = "STOP"
        usage = {"promptTokenCount": 9, "candidatesTokenCount": number, "totalTokenCount": number + 9}
        made.append(
            json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})
        )
    return made


def _reading(length: int) -> Call:
    lines = events(length)
    return lambda: ChatResponse.from_chunks(gemini.to_chunks(map(json.loads, lines)))


def _by_hand(lines: list[str]) -> Call:
    """Make the limit: parse each event, look up its text, join."""
    return lambda: "".join([json.loads(line)["candidates"][0]["content"]["parts"][0]["text"] for line in lines])


def bench_stream() -> list[Row]:
    calls = {"ours": _reading(20_000), "parsing and joining by hand": _by_hand(events(20_000))}
    rows = compare("20,000 events of Gemini", interleaved(calls, rounds=5), at_most={"parsing and joining by hand": 5})
    return [*rows, growth("events of Gemini", _reading, (1_000, 5_000, 20_000), at_most=1.15)]
