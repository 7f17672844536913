"""Measure the LangChain layer against langchain-core, and against loops by hand that do as little as can be done."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

from promptkit.adapters import langchain
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved

CALL: Any = {"name": "weather", "args": {"city": "Oslo", "days": 3}, "id": "call_1", "type": "tool_call"}
LABELS = {"human": "Human: ", "ai": "AI: "}


def chat(module: Any, length: int, *, calls: bool = True) -> list[Any]:
    """Make a history: questions and answers, and now and then a call with its result."""
    history: list[Any] = [module.SystemMessage("Answer in one sentence.")]
    while len(history) < length:
        history.append(module.HumanMessage(f"What is the weather in city number {len(history)}, and why is it so?"))
        if calls:
            history.append(module.AIMessage("", tool_calls=[CALL]))
            history.append(module.ToolMessage("3 degrees & rain", tool_call_id="call_1", name="weather"))
        history.append(module.AIMessage("Three degrees and rain, as the wind comes from the sea."))
    return history[:length]


def core() -> Any:
    """Give langchain-core's messages."""
    import langchain_core.messages as module

    return module


def bench_buffer_strings() -> list[Row]:
    """Write 10,000 messages as text."""
    plain = chat(langchain, 10_001, calls=False)[1:]

    def joined() -> str:
        return "\n".join([LABELS[message.type] + message.content for message in plain])

    def of_core(form: Any) -> Callable[[], Call]:
        def prepare() -> Call:
            module = core()
            theirs = chat(module, 10_001, calls=False)[1:]
            return lambda: module.get_buffer_string(theirs, format=form)

        return prepare

    rows = []
    for form in ("prefix", "xml", "escaped"):
        calls: dict[str, Call] = {"ours": lambda form=form: langchain.get_buffer_string(plain, format=form)}  # type: ignore[misc]
        calls |= {"plain join": joined} if form == "prefix" else {}
        calls |= (
            installed({"langchain": of_core(form)})
            if form != "escaped"
            else {"xml": lambda: langchain.get_buffer_string(plain, format="xml")}
        )
        goals = {"prefix": {"langchain": 5.0}, "xml": {"langchain": 5.0}}.get(form)
        rows += compare(f"buffer string, {form}", interleaved(calls), at_most={"plain join": 1.5}, faster=goals)
    return rows


def text_chunks(module: Any, size: int) -> list[Any]:
    """Make a stream of text."""
    return [module.AIMessageChunk("word ") for _ in range(size)]


def argument_chunks(module: Any, size: int) -> list[Any]:
    """Make a stream of tool arguments."""
    texts = ['{"words": [', *['"word", '] * (size - 2), '"end"]}']
    heads = [{"name": "f", "id": "c1"}] + [{"name": None, "id": None}] * (size - 1)
    return [
        module.AIMessageChunk("", tool_call_chunks=[{**head, "args": text, "index": 0}])
        for head, text in zip(heads, texts, strict=True)
    ]


def folding(module: Any, chunks: list[Any]) -> Call:
    """Add chunks one by one, and look at the message."""
    return lambda: module.message_chunk_to_message(reduce(add, chunks)).tool_calls


def bench_adding_chunks() -> list[Row]:
    """Add 20,000 chunks of text and 5,000 of arguments, one by one."""
    rows = []
    for name, make, size, goal in (("text", text_chunks, 20_000, 8.0), ("arguments", argument_chunks, 5_000, 200.0)):
        calls: dict[str, Call] = {"ours": folding(langchain, make(langchain, size))}
        calls |= installed({"langchain": lambda make=make, size=size: folding(module := core(), make(module, size))})  # type: ignore[misc]
        times = interleaved(calls, rounds=3)
        rows += compare(f"chunk + chunk, {size:,} of {name}", times, faster={"langchain": goal})
        sizes = (2_500, 5_000, 10_000, 20_000)
        rows.append(
            growth(
                f"chunk + chunk, {name}",
                lambda size, make=make: folding(langchain, make(langchain, size)),  # type: ignore[misc]
                sizes,
                at_most=1.15,
            )
        )
    return rows


def bench_merging_chunks() -> list[Row]:
    """Add the chunks of a stream at once."""
    rows = []
    for name, make, size in (("text", text_chunks, 20_000), ("arguments", argument_chunks, 5_000)):
        ours = make(langchain, size)

        def at_once(make: Any = make, size: int = size) -> Call:
            theirs = make(core(), size)
            return lambda: theirs[0] + theirs[1:]

        calls: dict[str, Call] = {"ours": lambda ours=ours: langchain.merge_chunks(ours)}  # type: ignore[misc]
        calls |= installed({"langchain": at_once})
        rows += compare(f"merge_chunks, {size:,} of {name}", interleaved(calls), faster={"langchain": 5.0})
    return rows


def bench_openai_messages() -> list[Row]:
    """Write 1,000 messages as OpenAI takes them."""
    ours = chat(langchain, 1_000)

    def of_core() -> Call:
        module = core()
        theirs = chat(module, 1_000)
        return lambda: module.convert_to_openai_messages(theirs)

    calls: dict[str, Call] = {"ours": lambda: langchain.convert_to_openai_messages(ours)}
    times = interleaved(calls | installed({"langchain": of_core}))
    return compare("convert_to_openai_messages, 1,000", times, faster={"langchain": 2.0})


COMMON = ("content", "additional_kwargs", "response_metadata", "type", "name", "id")
OWN = {"ai": ("tool_calls", "invalid_tool_calls", "usage_metadata"), "tool": ("tool_call_id", "artifact", "status")}


class Bare:
    """Hold a message with nothing checked: what a loop by hand would build."""

    __slots__ = (*COMMON, "artifact", "invalid_tool_calls", "status", "tool_call_id", "tool_calls", "usage_metadata")

    def __init__(self, data: dict[str, Any]) -> None:
        self.content = data["content"]
        self.additional_kwargs = data["additional_kwargs"]
        self.response_metadata = data["response_metadata"]
        self.type = data["type"]
        self.name = data["name"]
        self.id = data["id"]
        if self.type == "ai":
            self.tool_calls = [dict(call) for call in data["tool_calls"]]
            self.invalid_tool_calls = data["invalid_tool_calls"]
            self.usage_metadata = data["usage_metadata"]
        elif self.type == "tool":
            self.tool_call_id = data["tool_call_id"]
            self.artifact = data["artifact"]
            self.status = data["status"]


def dumped_by_hand(history: list[Bare]) -> list[dict[str, Any]]:
    """Write bare messages in the stored form."""
    rows = []
    for message in history:
        data = {
            "content": message.content,
            "additional_kwargs": dict(message.additional_kwargs),
            "response_metadata": dict(message.response_metadata),
            "type": message.type,
            "name": message.name,
            "id": message.id,
        }
        if message.type == "ai":
            data["tool_calls"] = [{**call, "args": dict(call["args"])} for call in message.tool_calls]
            data["invalid_tool_calls"] = list(message.invalid_tool_calls)
            data["usage_metadata"] = message.usage_metadata
        elif message.type == "tool":
            data["tool_call_id"] = message.tool_call_id
            data["artifact"] = message.artifact
            data["status"] = message.status
        rows.append({"type": message.type, "data": data})
    return rows


def bench_stored_form() -> list[Row]:
    """Write 1,000 messages as JSON and read them again."""
    ours = chat(langchain, 1_000)
    text = json.dumps(langchain.messages_to_dict(ours))
    bare = [Bare(row["data"]) for row in json.loads(text)]

    def theirs() -> tuple[Call, Call]:
        module = core()
        history = chat(module, 1_000)
        return (
            lambda: json.dumps(module.messages_to_dict(history)),
            lambda: module.messages_from_dict(json.loads(text)),
        )

    peers = installed({"langchain": theirs})
    dumps: dict[str, Call] = {
        "ours": lambda: json.dumps(langchain.messages_to_dict(ours)),
        "by hand": lambda: json.dumps(dumped_by_hand(bare)),
    }
    loads: dict[str, Call] = {
        "ours": lambda: langchain.messages_from_dict(json.loads(text)),
        "by hand": lambda: [Bare(row["data"]) for row in json.loads(text)],
    }
    dumps |= {name: calls[0] for name, calls in peers.items()}
    loads |= {name: calls[1] for name, calls in peers.items()}
    return [
        *compare("messages_to_dict and dump, 1,000", interleaved(dumps), at_most={"by hand": 1.5}, faster={"langchain": 1.3}),
        *compare("load and messages_from_dict, 1,000", interleaved(loads), at_most={"by hand": 2.0}, faster={"langchain": 3.0}),
    ]  # fmt: skip


def size_of(make: Callable[[], object]) -> float:
    """Give the bytes of one object, its own text aside."""
    tracemalloc.start()
    try:
        kept = [make() for _ in range(10_000)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return used / len(kept)


def bench_messages() -> list[Row]:
    """Construct one message of each class."""
    rows = []
    makers: dict[str, Callable[[Any], Call]] = {
        "SystemMessage": lambda module: lambda: module.SystemMessage("hi"),
        "HumanMessage": lambda module: lambda: module.HumanMessage("hi"),
        "AIMessage": lambda module: lambda: module.AIMessage("hi"),
        "AIMessage with a call": lambda module: lambda: module.AIMessage("", tool_calls=[CALL]),
        "ToolMessage": lambda module: lambda: module.ToolMessage("hi", tool_call_id="call_1"),
    }
    for name, make in makers.items():
        calls: dict[str, Call] = {"ours": make(langchain)}
        calls |= installed({"langchain": lambda make=make: make(core())})  # type: ignore[misc]
        rows += compare(f"{name}()", interleaved(calls), faster={"langchain": 2.5} if name == "AIMessage" else None)
        sizes = {other: size_of(call) for other, call in calls.items()}
        if len(sizes) == 2:
            ratio = sizes["langchain"] / sizes["ours"]
            goal, met = (">= 5 x smaller", ratio >= 5) if name == "AIMessage" else ("", None)
            cells = (f"{sizes['ours']:.0f} B", "langchain", f"{sizes['langchain']:.0f} B", f"{ratio:.1f} x smaller")
            rows.append(Row(f"{name}, in memory", *cells, goal, met))
    return rows
