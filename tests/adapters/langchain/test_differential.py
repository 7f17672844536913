"""LangChain's functions and ours over the same random values: equal answers, or errors on both sides.

What the table of decided cases decides otherwise is not generated here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import langchain_core.messages as core
import langchain_core.prompt_values as core_values
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from langchain_core.tools import tool

from promptkit.adapters import langchain
from promptkit.adapters.langchain import AIMessage, BaseMessage, ChatMessage, HumanMessage, messages_to_dict
from promptkit.options import ToolDefinition
from tests.adapters.langchain import neutral, strategies
from tests.adapters.langchain.test_blocks import BLOCKS, masked

TEXT = strategies.plain_texts()
HISTORIES = strategies.histories(TEXT)
LESS = settings(max_examples=settings().max_examples // 2)
"""For what takes LangChain long."""


def theirs(messages: list[Any]) -> list[core.BaseMessage]:
    return core.messages_from_dict(json.loads(json.dumps(messages_to_dict(messages))))


def plain(value: Any) -> Any:
    """Give what both sides say, in one form."""
    if isinstance(value, core.BaseMessage):
        return neutral.plain(core.message_to_dict(value))
    if isinstance(value, list):
        return [plain(item) for item in value]
    return neutral.plain(value)


def outcome(function: Callable[[], Any]) -> Any:
    """Run a function; an error is an outcome of its own."""
    try:
        return plain(function())
    except Exception:
        return "an error"


@given(HISTORIES, st.sampled_from(("prefix", "xml")), st.sampled_from(("\n", "\n\n", "; ")), st.booleans())
def test_buffer_strings(messages: list[BaseMessage], form: Any, separator: str, own: bool) -> None:
    words: Any = {"human_prefix": "Ich", "ai_prefix": "<Du>", "tool_prefix": "W & Z"} if own else {}
    options: Any = {"format": form, "message_separator": separator, **words}

    assert langchain.get_buffer_string(messages, **options) == core.get_buffer_string(theirs(messages), **options)
    value, their_value = langchain.ChatPromptValue(messages), core_values.ChatPromptValue(messages=theirs(messages))
    assert value.to_string() == their_value.to_string()


@given(HISTORIES)
def test_stored_forms_and_texts(messages: list[BaseMessage]) -> None:
    others = theirs(messages)

    assert plain(messages_to_dict(messages)) == plain(core.messages_to_dict(others))
    assert [message.text for message in messages] == [message.text for message in others]
    assert langchain.messages_from_dict(core.messages_to_dict(others)) == messages


@given(strategies.histories(TEXT, foreign=False))
def test_titles_and_standard_blocks(messages: list[BaseMessage]) -> None:
    for one, other in zip(messages, theirs(messages), strict=True):
        if isinstance(one.content, str) or isinstance(one, AIMessage):
            assert one.pretty_repr().partition("\n")[0] == other.pretty_repr().partition("\n")[0]
        if all(call["id"] for call in getattr(one, "tool_calls", ())):
            assert plain(list(one.content_blocks)) == plain(other.content_blocks)


@pytest.mark.parametrize("name", sorted(BLOCKS.keys() - {"v0 nowhere", "wrapped text"}))  # at those theirs breaks
@pytest.mark.parametrize("kind", [core.HumanMessage, core.AIMessage], ids=lambda kind: kind.__name__)
def test_standard_forms_of_vendors_blocks(kind: Any, name: str) -> None:
    block, standard = BLOCKS[name]

    assert [masked(found) for found in kind(content=[block]).content_blocks] == [standard]


MORE_BLOCKS: dict[str, dict[str, Any]] = {
    "image by url": {"type": "image", "url": "https://e.org/a.png"},
    "image by data": {"type": "image", "base64": "QQ==", "mime_type": "image/png"},
    "image by data of no type": {"type": "image", "base64": "QQ=="},
    "image by id": {"type": "image", "file_id": "f1"},
    "image of nothing": {"type": "image"},
    "image of a source without type": {"type": "image", "source": {"type": "base64", "data": "QQ=="}},
    "image whose bytes are text": {"image": {"format": "png", "source": {"bytes": "x"}}},
    "image_url as text": {"type": "image_url", "image_url": "https://e.org/a.png"},
    "image_url of nothing": {"type": "image_url"},
    "audio by data": {"type": "audio", "base64": "QQ==", "mime_type": "audio/wav"},
    "audio by url": {"type": "audio", "url": "https://e.org/a.wav"},
    "input_audio of nothing": {"type": "input_audio"},
    "file with a name": {"type": "file", "base64": "QQ==", "mime_type": "a/b", "extras": {"filename": "a.pdf"}},
    "file by url": {"type": "file", "url": "https://e.org/a.pdf"},
    "file without name": {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ=="}},
    "video": {"type": "video", "url": "https://e.org/a.mp4"},
    "plain text": {"type": "text-plain", "text": "words", "mime_type": "text/plain"},
    "text of nothing": {"type": "text"},
    "text to cache": {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
    "json": {"type": "json", "json": {"a": 1}},
    "json by its key": {"json": {"a": 1}},
    "guard": {"type": "guard_content", "guard_content": {"text": "t"}},
    "guard by its key": {"guard_content": {"text": {"text": "t"}}},
    "media": {"type": "media", "mime_type": "image/png", "data": b"A"},
    "media of another type": {"type": "media", "mime_type": "application/pdf", "data": b"A"},
    "call": {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    "call without id": {"type": "tool_use", "name": "f", "input": {}},
    "result without id": {"type": "tool_result", "content": "3"},
    "refusal": {"type": "refusal", "refusal": "no"},
    "thoughts": {"type": "thinking", "thinking": "x"},
    "reasoning": {"type": "reasoning", "reasoning": "x"},
}
OPENAI_BLOCKS = {name: block for name, (block, _) in BLOCKS.items()} | MORE_BLOCKS


@pytest.mark.parametrize("name", sorted(OPENAI_BLOCKS))
def test_openai_forms_of_vendors_blocks(name: str) -> None:
    content: Any = [{"type": "text", "text": "a"}, OPENAI_BLOCKS[name]]
    for one, other in ((HumanMessage, core.HumanMessage), (AIMessage, core.AIMessage)):
        for options in ({}, {"text_format": "block"}, {"pass_through_unknown_blocks": False}):
            given: Any = options
            ours, their_own = one(content), other(content=content)
            assert outcome(partial(langchain.convert_to_openai_messages, [ours], **given)) == outcome(
                partial(core.convert_to_openai_messages, [their_own], **given)
            )


def test_results_among_the_content_answer_the_call_before() -> None:
    call, result = MORE_BLOCKS["call"], {"type": "tool_result", "tool_use_id": "c1", "content": "3"}
    written = langchain.convert_to_openai_messages([AIMessage([call, result]), HumanMessage([result, "Thanks."])])

    assert [body["role"] for body in written] == ["assistant", "tool", "tool", "user"]
    assert [bool(body.get("tool_calls")) for body in written] == [True, False, False, False]


KINDS = st.sampled_from(("human", "ai", "system", "tool", "function", "chat", "HumanMessage", "AIMessage"))


@st.composite
def filters(draw: st.DrawFn) -> dict[str, Any]:
    words = st.lists(TEXT | st.sampled_from(("c1", "c2")), max_size=2)
    names = ("include_names", "exclude_names", "include_ids", "exclude_ids")
    options: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, words)))
    for name in ("include_types", "exclude_types"):
        if draw(st.booleans()):
            options[name] = draw(st.lists(KINDS, max_size=2))
    return options


@LESS
@given(HISTORIES, filters(), st.none() | st.booleans() | st.lists(st.sampled_from(("c1", "c2"))))
def test_filtering(messages: list[BaseMessage], options: dict[str, Any], excluded: Any) -> None:
    for message in messages:  # text beside excluded calls stays here, and a copy of the calls goes with them
        if isinstance(message, AIMessage) and excluded and message.tool_calls:
            assume(not message.content and "tool_calls" not in message.additional_kwargs)

    def kinds(module: Any) -> dict[str, Any]:
        classes = {name: getattr(module, name) for name in ("HumanMessage", "AIMessage")}
        types = {
            name: [classes.get(kind, kind) for kind in options[name]] for name in options if name.endswith("types")
        }
        return {**options, **types, "exclude_tool_calls": excluded}

    ours = langchain.filter_messages(messages, **kinds(langchain))

    assert plain(ours) == plain(core.filter_messages(theirs(messages), **kinds(core)))


def of_one_speaker(message: BaseMessage) -> BaseMessage:
    """Leave out what merging decides otherwise: names, ids, vendor's fields, broken calls, no blocks."""
    content = message.content or ""
    changes: dict[str, Any] = {"content": content, "additional_kwargs": {}, "response_metadata": {}}
    changes |= {"name": "f" if message.type == "function" else None, "id": message.id if message.type == "ai" else None}
    changes |= {"role": "r"} if isinstance(message, ChatMessage) else {}
    changes |= {"invalid_tool_calls": ()} if isinstance(message, AIMessage) else {}
    return message.mutate(**changes)


@LESS
@given(st.lists(strategies.messages(TEXT).map(of_one_speaker), max_size=5), st.sampled_from(("\n", "", " | ")))
def test_merging_runs(messages: list[BaseMessage], separator: str) -> None:
    assume(all(call["id"] not in ("c1", "c2") for message in messages for call in getattr(message, "tool_calls", ())))

    ours = langchain.merge_message_runs(messages, chunk_separator=separator)

    assert plain(ours) == plain(core.merge_message_runs(theirs(messages), chunk_separator=separator))


@given(HISTORIES, st.integers(0, 5), st.sampled_from(("first", "last")), st.lists(KINDS, max_size=2), st.lists(KINDS, max_size=2), st.booleans())  # fmt: skip
def test_trimming_by_number(
    messages: list[BaseMessage], number: int, strategy: Any, start: list[Any], end: list[Any], system: bool
) -> None:
    def kinds(module: Any, given: list[str]) -> list[Any]:
        classes = {name: getattr(module, name) for name in ("HumanMessage", "AIMessage")}
        return [classes.get(kind, kind) for kind in given]

    def options(module: Any) -> dict[str, Any]:
        common = {"max_tokens": number, "token_counter": len, "strategy": strategy, "end_on": kinds(module, end)}
        more = {"start_on": kinds(module, start), "include_system": system} if strategy == "last" else {}
        return common | more

    # theirs keeps a system message that does not fit, and loses one with an end that is nowhere
    assume(not system or (number and not end))
    ours = langchain.trim_messages(messages, **options(langchain))

    assert plain(ours) == plain(core.trim_messages(theirs(messages), **options(core)))


@given(HISTORIES, st.integers(1, 6), st.integers(0, 5), st.booleans(), st.booleans())
def test_counting_approximately(
    messages: list[BaseMessage], per_token: int, extra: int, names: bool, scaled: bool
) -> None:
    options: Any = {
        "chars_per_token": per_token,
        "extra_tokens_per_message": extra,
        "count_name": names,
        "use_usage_metadata_scaling": scaled,
    }
    expected = outcome(lambda: core.utils.count_tokens_approximately(theirs(messages), **options))
    assume(expected != "an error")  # theirs takes no type that is no text

    assert langchain.count_tokens_approximately(messages, **options) == expected


@tool
def weather(city: str, days: int = 1) -> str:
    """Tell the weather."""
    return f"{city}, {days}"


FUNCTION: dict[str, Any] = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    "tools", [[weather], [FUNCTION], [weather, FUNCTION], []], ids=["tool", "dict", "both", "none"]
)
def test_counting_tools_approximately(tools: Any) -> None:
    ours = langchain.count_tokens_approximately([HumanMessage("hi")], tools=tools)

    assert ours == core.utils.count_tokens_approximately([core.HumanMessage("hi")], tools=tools)


def test_tools_of_ours_count_as_their_schemas() -> None:
    own: Any = ToolDefinition("f", "Do.", input_schema={"type": "object"})
    same = {"name": "f", "description": "Do.", "parameters": {"type": "object"}}

    ours = langchain.count_tokens_approximately([], tools=[own])
    assert ours == langchain.count_tokens_approximately([], tools=[same]) > 0


@LESS
@given(strategies.histories(TEXT, foreign=False), st.sampled_from(("string", "block")), st.booleans(), st.booleans())
def test_openai_messages(messages: list[BaseMessage], form: Any, ids: bool, unknown: bool) -> None:
    for message in messages:  # broken calls go to OpenAI here, and no file name is made up
        assume(not getattr(message, "invalid_tool_calls", ()))
        assume(not any(isinstance(item, dict) and item.get("type") == "file" for item in message.content))
    options: Any = {"text_format": form, "include_id": ids, "pass_through_unknown_blocks": unknown}

    ours = outcome(lambda: langchain.convert_to_openai_messages(messages, **options))

    assert ours == outcome(lambda: core.convert_to_openai_messages(theirs(messages), **options))


def of_its_role(form: dict[str, Any]) -> dict[str, Any]:
    """Leave out the fields of other roles: their classes are open, ours are not."""
    others = {"tool_calls": ("ai", "assistant"), "tool_call_id": ("tool",)}
    return {key: value for key, value in form.items() if form["role"] in others.get(key, (form["role"],))}


def message_likes() -> SearchStrategy[Any]:
    """Whatever stands for a message, right or wrong."""
    role = st.sampled_from(("human", "user", "ai", "assistant", "system", "developer", "tool", "function", "robot"))
    content = st.one_of(TEXT, st.none(), st.lists(strategies.blocks(TEXT, foreign=False), max_size=2))
    arguments = st.sampled_from(('{"a": 1}', "{}", '{"a'))
    call = st.builds(
        lambda text: {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}, arguments
    )
    optional = {"name": TEXT, "tool_calls": st.lists(call, max_size=2), "tool_call_id": TEXT, "id": TEXT, "k": TEXT}
    form = st.fixed_dictionaries({"role": role, "content": content}, optional=optional).map(of_its_role)
    flat = form.map(lambda given: {("type" if key == "role" else key): value for key, value in given.items()})
    return st.one_of(TEXT, st.tuples(role, content), st.lists(role | TEXT, min_size=2, max_size=2), form, flat)


@given(st.lists(message_likes(), min_size=1, max_size=3))
def test_converting_to_messages(likes: list[Any]) -> None:
    assume(not (len(likes) == 2 and all(isinstance(like, str) for like in likes)))  # a pair is refused here

    assert outcome(lambda: langchain.convert_to_messages(likes)) == outcome(lambda: core.convert_to_messages(likes))


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A stream of one answer, as vendors send it: text, blocks, calls in pieces, usage and metadata at the end."""
    size = draw(st.integers(1, 6))
    chunks: list[dict[str, Any]] = [{"content": ""} for _ in range(size)]
    block = st.builds(lambda text, index: {"type": "text", "text": text, "index": index}, TEXT, st.integers(0, 1))
    in_blocks = draw(st.booleans())
    for chunk in chunks:
        chunk["content"] = draw(st.lists(block | TEXT.filter(bool), min_size=1, max_size=2) if in_blocks else TEXT)
        chunk["id"] = draw(st.sampled_from((None, "lc_run-1", "msg_1")))
        if draw(st.booleans()):
            chunk["usage_metadata"] = draw(strategies.usages())
    for index in range(draw(st.integers(0, 2))):
        text = json.dumps(draw(strategies.mappings(strategies.json_values(TEXT))))
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=size - 1, max_size=size - 1)))
        for at, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(text)], strict=True)):
            head = {"name": "f", "id": f"c{index}"} if at == 0 else {"name": None, "id": None}
            chunks[at].setdefault("tool_call_chunks", []).append({**head, "args": text[start:end], "index": index})
    chunks[-1]["response_metadata"] = draw(strategies.mappings(strategies.json_values(TEXT)))
    chunks[0]["additional_kwargs"] = draw(strategies.mappings(strategies.json_values(TEXT)))
    if draw(st.booleans()):
        chunks.append({"content": [] if in_blocks else "", "chunk_position": "last"})
    return chunks


@LESS
@given(streams(), st.booleans())
def test_adding_chunks(stream: list[dict[str, Any]], at_once: bool) -> None:
    chunks: list[Any] = [langchain.AIMessageChunk(**chunk) for chunk in stream]
    others: list[Any] = [core.AIMessageChunk(**chunk) for chunk in stream]

    total = langchain.merge_chunks(chunks) if at_once else reduce(add, chunks)
    other = others[0] + others[1:] if at_once else reduce(add, others)

    assert plain(total) == plain(other)
    assert plain(langchain.message_chunk_to_message(total)) == plain(core.message_chunk_to_message(other))


@given(st.lists(TEXT, min_size=1, max_size=5), st.sampled_from(("Human", "System", "Tool", "Chat", "Function")))
def test_adding_chunks_of_other_roles(texts: list[str], kind: str) -> None:
    more: Any = {"Tool": {"tool_call_id": "1"}, "Chat": {"role": "r"}, "Function": {"name": "f"}}.get(kind, {})

    ours, their = (
        reduce(add, [getattr(module, f"{kind}MessageChunk")(content=text, **more) for text in texts])
        for module in (langchain, core)
    )
    assert plain(ours) == plain(their)


@given(st.none() | strategies.usages(), st.none() | strategies.usages())
def test_adding_and_subtracting_usage(one: Any, other: Any) -> None:
    assert langchain.add_usage(one, other) == core.ai.add_usage(one, other)
    assert langchain.subtract_usage(one, other) == core.ai.subtract_usage(one, other)


def test_what_they_raise_we_raise() -> None:
    with pytest.raises(ValueError, match="format"):
        core.get_buffer_string([], format="json")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="format"):
        langchain.get_buffer_string([], format="json")  # type: ignore[arg-type]
    assert theirs([HumanMessage("x")]) == [core.HumanMessage("x")]
