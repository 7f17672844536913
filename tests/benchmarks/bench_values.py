"""Measure values against bare classes, joined streams against list and join, stored messages against loops by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from attrs import field, frozen

from promptkit._frozen import EMPTY
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    Message,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.response import ChatChunk, ChatResponse, ToolCallChunk
from promptkit.serialization import dumps, loads
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved

SIZES = (1_000, 5_000, 20_000)
TEXT = "The order left the warehouse on Monday and will arrive tomorrow; the customer has been told so. "


@frozen(weakref_slot=False)
class BareMessage:
    """Be a message by hand: the fields of ours, nothing checked."""

    content: Any = None
    tool_calls: tuple[Any, ...] = field(default=(), kw_only=True)
    invalid_tool_calls: tuple[Any, ...] = field(default=(), kw_only=True)
    metadata: Any = field(default=EMPTY, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)


@frozen(weakref_slot=False)
class BareUser:
    """Be a user message by hand."""

    content: Any
    metadata: Any = field(default=EMPTY, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)


@frozen(weakref_slot=False)
class BareCall:
    """Be a tool call by hand."""

    id: str | None
    name: str
    arguments: str = field(default="{}", kw_only=True)
    metadata: Any = field(default=EMPTY, kw_only=True)


@frozen(weakref_slot=False)
class BareResult:
    """Be the result of a call by hand."""

    id: str | None
    name: str | None = None
    content: Any = field(default="", kw_only=True)
    status: str = field(default="success", kw_only=True)
    artifact: Any = field(default=None, kw_only=True)
    metadata: Any = field(default=EMPTY, kw_only=True)


@frozen(weakref_slot=False)
class Piece:
    """Be a chunk by hand."""

    text: str


def bench_user_message() -> list[Row]:
    calls = {"ours": lambda: UserMessage(TEXT), "bare attrs.frozen": lambda: BareUser(TEXT)}
    rows = compare(
        "a user message",
        interleaved({**calls, **installed({"langchain_core": _langchain_message})}),
        at_most={"bare attrs.frozen": 1.3},
    )
    ours, bare = sys.getsizeof(UserMessage(TEXT)), sys.getsizeof(BareUser(TEXT))
    return [
        *rows,
        Row(
            "bytes of a user message",
            f"{ours} B",
            "bare attrs.frozen",
            f"{bare} B",
            f"{ours / bare:.2f} x",
            "<= 96 B",
            ours <= 96,
        ),
    ]


def _langchain_message() -> Call:
    from langchain_core.messages import HumanMessage

    return lambda: HumanMessage(TEXT)


# Streams


def words(count: int) -> list[str]:
    return [f"word{number} " for number in range(count)]


def joined_by_hand(count: int) -> Call:
    pieces = [Piece(word) for word in words(count)]

    def join() -> str:
        collected = []
        for piece in pieces:
            collected.append(piece.text)  # noqa: PERF401 - as a loop over a stream is written
        return "".join(collected)

    return join


def text_stream(count: int) -> Call:
    chunks = [ChatChunk(word) for word in words(count)]
    return lambda: ChatResponse.from_chunks(chunks)


def argument_stream(count: int) -> Call:
    pieces = ['{"text": "', *words(count), '"}']
    first, *rest = pieces
    chunks = [ChatChunk(tool_calls=[ToolCallChunk(0, "c1", name="write", arguments=first)])]
    chunks += [ChatChunk(tool_calls=[ToolCallChunk(0, arguments=piece)]) for piece in rest]
    return lambda: ChatResponse.from_chunks(chunks)


def _langchain_text(count: int) -> Call:
    from langchain_core.messages import AIMessageChunk
    from langchain_core.messages.ai import add_ai_message_chunks

    first, *rest = [AIMessageChunk(content=word) for word in words(count)]
    return lambda: add_ai_message_chunks(first, *rest)


def _langchain_arguments(count: int) -> Call:
    from langchain_core.messages import AIMessageChunk
    from langchain_core.messages.ai import add_ai_message_chunks
    from langchain_core.messages.tool import tool_call_chunk

    pieces = ['{"text": "', *words(count), '"}']
    first, *rest = [
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=piece, index=0)]) for piece in pieces
    ]
    return lambda: add_ai_message_chunks(first, *rest)


def _stream(name: str, make: Callable[[int], Call], peer: Callable[[int], Call]) -> list[Row]:
    count = SIZES[-1]
    calls = {"ours": make(count), "list and join": joined_by_hand(count)}
    peers = installed({"langchain_core, all at once": lambda: peer(count)})
    rows = compare(name, interleaved({**calls, **peers}, rounds=5), at_most={"list and join": 5})
    return [*rows, growth(name, make, SIZES, at_most=1.15)]


def bench_text_stream() -> list[Row]:
    return _stream("20,000 text chunks", text_stream, _langchain_text)


def bench_argument_stream() -> list[Row]:
    return _stream("20,000 chunks of tool arguments", argument_stream, _langchain_arguments)


# JSON


def history(turns: int) -> list[BuiltinMessage]:
    messages: list[BuiltinMessage] = []
    for turn in range(turns):
        call = ToolCall(f"call_{turn}", "lookup_order", arguments=f'{{"order_id": "{turn}", "verbose": true}}')
        result = ToolResponse(call.id, call.name, content=f"{TEXT}{turn}")
        messages += [
            UserMessage(f"{TEXT}{turn}"),
            AssistantMessage(tool_calls=[call]),
            ToolResponseMessage(result),
            AssistantMessage(TEXT),
        ]
    return messages


def dump_by_hand(messages: Sequence[Message]) -> str:
    """Write messages as one would who has only these."""
    written = []
    for message in messages:
        data: dict[str, Any] = {"type": message.message_type.value}
        if isinstance(message, ToolResponseMessage):
            data["responses"] = [{"id": one.id, "name": one.name, "content": one.content} for one in message.responses]
        else:
            if message.content is not None:
                data["content"] = message.content
            if isinstance(message, AssistantMessage) and message.tool_calls:
                data["tool_calls"] = [
                    {"id": one.id, "name": one.name, "arguments": one.arguments} for one in message.tool_calls
                ]
        written.append(data)
    return json.dumps(written)


def load_by_hand(text: str) -> list[Any]:
    """Read them back, into classes that check nothing."""
    messages: list[Any] = []
    for data in json.loads(text):
        if data["type"] == "user":
            messages.append(BareUser(data["content"]))
        elif data["type"] == "tool":
            results = [BareResult(one["id"], one["name"], content=one["content"]) for one in data["responses"]]
            messages.append(BareUser(tuple(results)))
        else:
            calls = [BareCall(one["id"], one["name"], arguments=one["arguments"]) for one in data.get("tool_calls", ())]
            messages.append(BareMessage(data.get("content"), tool_calls=tuple(calls)))
    return messages


def bench_json() -> list[Row]:
    messages = history(250)
    stored, by_hand = dumps(messages), dump_by_hand(messages)
    assert loads(stored) == tuple(messages)
    assert len(load_by_hand(by_hand)) == len(messages)
    peers = installed({"langchain_core": lambda: _langchain_round_trip(messages)})
    written = {"ours": lambda: dumps(messages), "by hand": lambda: dump_by_hand(messages)}
    read = {"ours": lambda: loads(stored), "by hand": lambda: load_by_hand(by_hand)}
    return [
        *compare("write 1,000 messages as JSON", interleaved(written), at_most={"by hand": 1.5}),
        *compare("read 1,000 messages from JSON", interleaved(read), at_most={"by hand": 2}),
        *compare("write and read 1,000 messages", interleaved({"ours": lambda: loads(dumps(messages)), **peers})),
        Row(
            "bytes of 1,000 messages",
            f"{len(stored):,}",
            "by hand",
            f"{len(by_hand):,}",
            f"{len(stored) / len(by_hand):.2f} x",
        ),
    ]


def _langchain_round_trip(messages: Sequence[BuiltinMessage]) -> Call:
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        ToolMessage,
        messages_from_dict,
        messages_to_dict,
    )

    theirs: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, UserMessage):
            theirs.append(HumanMessage(message.text))
        elif isinstance(message, ToolResponseMessage):
            theirs += [ToolMessage(one.text, tool_call_id=one.id, name=one.name) for one in message.responses]
        elif isinstance(message, AssistantMessage):
            calls = [{"id": one.id, "name": one.name, "args": dict(one.parsed_arguments)} for one in message.tool_calls]
            theirs.append(AIMessage(message.text or "", tool_calls=calls))
    return lambda: messages_from_dict(json.loads(json.dumps(messages_to_dict(theirs))))
