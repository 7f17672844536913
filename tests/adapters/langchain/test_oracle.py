"""LangChain's recorded answers: all equal, but for the cases that the table decides, where ours are stated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import add
from typing import Any

import pytest

from promptkit.adapters import langchain
from promptkit.adapters.langchain import BaseMessage, ImagePromptValue, StringPromptValue, messages_to_dict
from promptkit.messages import AssistantMessage, Message, UserMessage
from promptkit.renderers.fstring import FStringRenderer
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from tests.adapters.langchain import neutral
from tests.oracles import decided, rows

ROWS = rows("langchain_messages.jsonl") + rows("langchain_history.jsonl")


def prompt_value(value: langchain.PromptValue) -> dict[str, Any]:
    return {"to_string": value.to_string(), "to_messages": messages_to_dict(value.to_messages())}


def sum_of_chunks(given: Mapping[str, Any]) -> dict[str, Any]:
    chunks: list[Any] = neutral.messages(given["chunks"])
    total = chunks[0] + chunks[1:] if given.get("at_once") else reduce(add, chunks)
    return {"chunk": total, "message": langchain.message_chunk_to_message(total)}


def trimmed(given: Mapping[str, Any]) -> list[BaseMessage]:
    options = neutral.value(given["kwargs"])
    options["token_counter"] = neutral.COUNTERS[options["token_counter"]]
    if "text_splitter" in options:
        options["text_splitter"] = neutral.SPLITTERS[options["text_splitter"]]
    return langchain.trim_messages(neutral.messages(given["messages"]), **options)


def chat_template(given: Iterable[dict[str, Any]]) -> ChatPromptTemplate:
    roles = {"system": "system", "human": "user", "ai": "assistant"}
    parts: list[Any] = []
    for item in given:
        if "$placeholder" in item:
            parts.append(MessagesPlaceholder(item["$placeholder"]["variable_name"]))
        else:
            role, text = item["$tuple"]
            parts.append((roles[role], text))
    return ChatPromptTemplate(parts, renderer=FStringRenderer())


def formatted(given: Mapping[str, Any]) -> str:
    def native(item: Any) -> Any:
        if isinstance(item, str):
            return item
        kinds: dict[str, Callable[[str], Message]] = {"human": UserMessage, "ai": AssistantMessage}
        return [kinds[pair["$tuple"][0]](pair["$tuple"][1]) for pair in item]

    prompt = chat_template(given["template"]).create({name: native(item) for name, item in given["input"].items()})
    return langchain.to_buffer_string(prompt, format="prefix")


def on_values(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda given: function(neutral.value(given["messages"]), **neutral.value(given.get("kwargs", {})))


def on_messages(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda given: function(neutral.messages(given["messages"]), **neutral.value(given.get("kwargs", {})))


def each(function: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda given: [function(message) for message in neutral.messages(given["messages"])]


FUNCTIONS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "add_chunks": sum_of_chunks,
    "add_usage": lambda given: langchain.add_usage(given["left"], given["right"]),
    "chat_template.format": formatted,
    "chat_template.pretty_repr": lambda given: langchain.pretty_repr(chat_template(given["template"])),
    "content_blocks": each(lambda message: message.content_blocks),
    "convert_to_messages": on_values(langchain.convert_to_messages),
    "convert_to_openai_messages": on_values(langchain.convert_to_openai_messages),
    "count_tokens_approximately": on_values(langchain.count_tokens_approximately),
    "filter_messages": on_messages(langchain.filter_messages),
    "get_buffer_string": on_messages(langchain.get_buffer_string),
    "merge_message_runs": on_messages(langchain.merge_message_runs),
    "messages_to_dict": on_messages(messages_to_dict),
    "pretty_repr": each(lambda message: message.pretty_repr()),
    "prompt_value.chat.to_messages": on_messages(lambda given: langchain.ChatPromptValue(given).to_messages()),
    "prompt_value.chat.to_string": on_messages(lambda given: langchain.ChatPromptValue(given).to_string()),
    "prompt_value.chat_concrete.to_string": on_messages(
        lambda given: langchain.ChatPromptValueConcrete(given).to_string()
    ),
    "prompt_value.image": lambda given: prompt_value(ImagePromptValue(given["image_url"])),
    "prompt_value.string": lambda given: prompt_value(StringPromptValue(given["text"])),
    "subtract_usage": lambda given: langchain.subtract_usage(given["left"], given["right"]),
    "text": each(lambda message: message.text),
    "trim_messages": trimmed,
}


def plain(kind: str, content: Any = "", **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"type": kind, "content": content, **data}}


def total(content: Any = "", kind: str = "AIMessageChunk", whole: str = "ai", **data: Any) -> dict[str, Any]:
    """State the sum of chunks and its message, what only the chunk has starting with an underscore."""
    both = {key: value for key, value in data.items() if not key.startswith("_")}
    only = {key.removeprefix("_"): value for key, value in data.items() if key.startswith("_")}
    return {"chunk": plain(kind, content, **both | only), "message": plain(whole, content, **both)}


def pieces(*given: tuple[Any, ...]) -> list[dict[str, Any]]:
    keys = ("name", "args", "id", "index", "error")
    return [neutral.plain({**dict(zip(keys, piece, strict=False)), "type": "tool_call_chunk"}) for piece in given]


def call(name: str, args: Any, id: str) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def invalid(name: str, args: str, id: str, error: str | None = None) -> dict[str, Any]:
    found = {"name": name, "args": args, "id": id, "type": "invalid_tool_call"}
    return found if error is None else {**found, "error": error}


UNFINISHED = '{"q": "unfin'
TITLES = ("System", "Human", "Ai", "Tool", "Function", "Chat")
SAID = ("sys", "hello", "hi", "tool out", "Name: calc\n\nfn", "chat")
OPENAI_CALL = {"type": "function", "id": "c", "function": {"name": "f", "arguments": "{}"}}


def titled(title: str, text: str) -> str:
    line = f" {title} Message ".center(80, "=")
    return f"{line}\n{text}" if text.startswith("Name") else f"{line}\n\n{text}"


OURS: dict[str, Any] = {
    "prompt_value.image-002": {
        "to_string": "data:image/png;base64,AA",
        "to_messages": [
            plain(
                "human",
                [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "high"}}],
            )
        ],
    },
    "convert_to_messages-003": "a list of messages is meant, and this is one str: put it in a list, ['hey']",
    "convert_to_messages-054": [plain("tool", '{"a":1}', tool_call_id="1", status="success")],
    "convert_to_messages-062": [plain("chat", "x", role="r")],
    "convert_to_openai_messages-017": "put it in a list, [('system', 'be nice')]",
    "convert_to_openai_messages-026": [
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [{"type": "function", "id": "1", "function": {"name": "n", "arguments": "{bad"}}],
        }
    ],
    "convert_to_openai_messages-040": [
        {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "file", "file": {"file_id": "file-9"}}]}
    ],
    "convert_to_openai_messages-063": [{"role": "assistant", "content": "", "tool_calls": [OPENAI_CALL]}],
    "convert_to_openai_messages-066": [
        {"role": "tool", "tool_call_id": "call_1", "content": "found it"},
        {"role": "user", "content": "and?"},
    ],
    "add_chunks-009": total(
        invalid_tool_calls=[invalid("search", UNFINISHED, "call_1")],
        _tool_call_chunks=pieces(("search", UNFINISHED, "call_1", 0)),
        _chunk_position="last",
    ),
    "add_chunks-013": total(tool_calls=[call("a", {"x": 1}, "1")], _tool_call_chunks=pieces(("a", '{"x": 1}', "1", 0))),
    "add_chunks-015": total(tool_calls=[call("a", {"x": 1}, "1")], _tool_call_chunks=pieces(("a", '{"x": 1}', "1", 0))),
    "add_chunks-016": total(
        tool_calls=[call("a", {"x": 1}, "1")],
        _tool_call_chunks=pieces(("a", '{"x"', "1", 0), (None, ": 1}", None, 0)),
    ),
    "add_chunks-022": {
        "chunk": plain(
            "AIMessageChunk",
            tool_calls=[call("a", {"x": 1}, "1")],
            tool_call_chunks=pieces(("a", '{"x": 1} trailing', "1", 0)),
        ),
        "message": plain("ai", invalid_tool_calls=[invalid("a", '{"x": 1} trailing', "1")]),
    },
    "add_chunks-025": total(
        "x",
        invalid_tool_calls=[invalid("n", '{"a": 1', "1", "bad")],
        _tool_call_chunks=pieces(("n", '{"a": 1', "1", None, "bad")),
    ),
    "add_chunks-031": total("ab", response_metadata={"model_name": "m"}),
    "add_chunks-034": total("ab", response_metadata={"created": 2, "n": 2}),
    "add_chunks-036": total("ab", response_metadata={"f": 0.7}),
    "add_chunks-038": total("ab", response_metadata={"k": 1}),
    "add_chunks-041": total(["hello"]),
    "add_chunks-055": total("ab", "HumanMessageChunk", "human", name="bob"),
    "messages_to_dict-008": [
        plain("tool", text, tool_call_id="call_1", status="success") for text in ("", '{"a":true}', ["1", ""], "3.5")
    ],
    "messages_to_dict-014": [plain("ai", "x", tool_calls=[{**call("f", {}, "1"), "index": 0}])],
    "content_blocks-017": [[call("search", {"q": "x"}, None)]],  # type: ignore[arg-type]
    "pretty_repr-003": [titled(title, text) for title, text in zip(TITLES, SAID, strict=True)],
    "trim_messages-048": [],
    "trim_messages-049": [],
    "trim_messages-051": [],
    "trim_messages-070": [],
    "trim_messages-107": [],
    "trim_messages-137": [plain("human", "beta gamma")],
    "trim_messages-149": [plain("HumanMessageChunk", "c"), plain("AIMessageChunk", "d")],
    "filter_messages-021": "exclude_tool_calls takes several str, not 'c1'",
    "filter_messages-024": [plain("ai", "text stays?")],
    "filter_messages-026": [plain("ai", "x", tool_calls=[call("search", {"q": "x"}, "call_2")])],
    "filter_messages-030": [plain("HumanMessageChunk", "hello"), plain("AIMessageChunk", "hi")],
    "merge_message_runs-016": [plain("human", ["b"])],
    "merge_message_runs-027": [plain("function", "a", name="f"), plain("function", "b", name="g")],
    "merge_message_runs-029": [plain("chat", "a", role="r"), plain("chat", "b", role="s")],
    "merge_message_runs-030": [plain("human", "a\nb", name="bob")],
    "merge_message_runs-039": [plain("ai", "a\nb", additional_kwargs={"k": 2})],
    "merge_message_runs-042": [plain("ai", "a\nb", additional_kwargs={"k": 2.5})],
    "merge_message_runs-052": [plain("human", "a\nb")],
}
"""What the decided cases give: a value, or a part of the error's message."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_every_function_answers_as_langchain_does_or_as_decided(row: dict[str, Any]) -> None:
    function = FUNCTIONS[row["fn"]]
    expected = OURS.get(row["id"], row["expected"])
    if isinstance(expected, dict) and "error" in expected:
        with pytest.raises(neutral.ERRORS):
            function(row["input"])
        return
    if isinstance(expected, str) and row["id"] in OURS:
        with pytest.raises(neutral.ERRORS) as caught:
            function(row["input"])
        assert expected in str(caught.value)
        return

    answer = neutral.plain(function(row["input"]))

    assert answer == neutral.plain(expected)
    assert row["id"] not in OURS or answer != neutral.plain(row["expected"])


def test_every_trap_is_decided() -> None:
    traps = {row["id"] for row in ROWS if any(tag.startswith("trap:") for tag in row["tags"])}

    assert traps == {row["id"] for row in ROWS} & decided().keys()
    assert traps - OURS.keys() == {name for name in traps if decided()[name]["ours"].startswith("the same")}
    assert OURS.keys() <= traps
