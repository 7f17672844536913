"""Measure Chat Completions against hand-written loops and LangChain's conversions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from promptkit.adapters import openai
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved

TEXT = "The model keeps every turn of a long conversation and answers in order, while tools report what they found. "


def chat(length: int) -> list[BuiltinMessage]:
    """Make a conversation in which each turn calls a tool."""
    messages: list[BuiltinMessage] = [SystemMessage("Answer briefly.")]
    for turn in range(length // 4 + 1):
        call = ToolCall(f"call_{turn}", "weather", arguments='{"city": "Oslo", "days": 3}')
        messages += [
            UserMessage(f"{TEXT}{turn}"),
            AssistantMessage(tool_calls=[call]),
            ToolResponseMessage(ToolResponse(call.id, "weather", content="3 degrees, rain")),
            AssistantMessage(f"{TEXT}{turn}"),
        ]
    return messages[:length]


def wire(messages: Sequence[BuiltinMessage]) -> list[dict[str, Any]]:
    """Write the messages of a body as one would by hand."""
    body: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            body.append({"role": "user", "content": message.content})
        elif isinstance(message, AssistantMessage):
            written: dict[str, Any] = {"role": "assistant"}
            if message.content is not None:
                written["content"] = message.content
            if message.tool_calls:
                written["tool_calls"] = [
                    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                    for call in message.tool_calls
                ]
            body.append(written)
        elif isinstance(message, ToolResponseMessage):
            body += [
                {"role": "tool", "tool_call_id": response.id, "content": response.content}
                for response in message.responses
            ]
        else:
            body.append({"role": "system", "content": message.content})
    return body


def unwire(body: Sequence[dict[str, Any]]) -> list[BuiltinMessage]:
    """Read the messages of a body as one would by hand."""
    messages: list[BuiltinMessage] = []
    names: dict[str, str] = {}
    for written in body:
        role = written["role"]
        if role == "user":
            messages.append(UserMessage(written["content"]))
        elif role == "assistant":
            calls = [
                ToolCall(call["id"], call["function"]["name"], arguments=call["function"]["arguments"])
                for call in written.get("tool_calls", ())
            ]
            names = {call["id"]: call["function"]["name"] for call in written.get("tool_calls", ())}
            messages.append(AssistantMessage(written.get("content"), tool_calls=calls))
        elif role == "tool":
            name = names[written["tool_call_id"]]
            messages.append(
                ToolResponseMessage(ToolResponse(written["tool_call_id"], name, content=written["content"]))
            )
        else:
            messages.append(SystemMessage(written["content"]))
    return messages


def _langchain_messages() -> list[Any]:
    from langchain_core.messages import convert_to_messages

    return convert_to_messages(_with_content(wire(chat(1_000))))


def _with_content(body: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say absent content as LangChain wants it said."""
    return [{"content": None} | message for message in body]


def _core() -> Call:
    from langchain_core.messages import convert_to_openai_messages

    messages = _langchain_messages()
    return lambda: convert_to_openai_messages(messages)


def _core_back() -> Call:
    from langchain_core.messages import convert_to_messages

    body = _with_content(wire(chat(1_000)))
    return lambda: convert_to_messages(body)


def _openai_package() -> Call:
    from langchain_openai.chat_models.base import _convert_message_to_dict

    messages = _langchain_messages()
    return lambda: [_convert_message_to_dict(message) for message in messages]


def bench_out_and_back() -> list[Row]:
    prompt = Prompt(chat(1_000))
    calls: dict[str, Call] = {
        "ours": lambda: openai.to_request(prompt),
        "a loop": lambda: wire(prompt.messages),  # type: ignore[arg-type]
    }
    calls |= installed({"langchain_core": _core, "langchain_openai": _openai_package})
    rows = compare(
        "1,000 messages to a body",
        interleaved(calls),
        at_most={"a loop": 1.6},
        faster={"langchain_core": 2, "langchain_openai": 5},
    )
    body = openai.to_request(prompt).body
    calls = {"ours": lambda: openai.from_request(body), "a loop": lambda: unwire(body["messages"])}
    calls |= installed({"langchain_core": _core_back})
    return rows + compare("a body of 1,000 messages back", interleaved(calls), at_most={"a loop": 2})


def events(length: int) -> list[str]:
    """Make a stream of text, each event as JSON."""
    head = {"id": "r", "object": "chat.completion.chunk", "created": 5, "model": "m"}
    choices = [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]
    last = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    return [json.dumps(head | {"choices": choices})] * length + [json.dumps(head | {"choices": last})]


def _reading(length: int) -> Call:
    lines = events(length)
    return lambda: ChatResponse.from_chunks(openai.to_chunks(map(json.loads, lines)))


def _by_hand(lines: list[str]) -> Call:
    """Make the limit: parse each event, look up its text, join."""

    def limit() -> str:
        pieces: list[str] = []
        for line in lines:
            text = json.loads(line)["choices"][0]["delta"].get("content")
            if text:
                pieces.append(text)
        return "".join(pieces)

    return limit


def bench_stream() -> list[Row]:
    calls = {"ours": _reading(20_000), "parsing and joining by hand": _by_hand(events(20_000))}
    rows = compare("20,000 events", interleaved(calls, rounds=5), at_most={"parsing and joining by hand": 5})
    return [*rows, growth("events", _reading, (1_000, 5_000, 20_000), at_most=1.15)]
