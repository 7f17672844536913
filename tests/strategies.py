"""Make values of every kind for property tests: hostile text, nested metadata with bytes, and all that holds them."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from promptkit._frozen import shown
from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text, freeze_content
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import UNSET, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, ToolCallChunk, Usage

T = TypeVar("T")

HOSTILE_TEXTS = (
    "", " ", "\n", "\x00", "None", "null", "{name}", "{{x}}", "Human: hi", "</user>", "<&\"'>", "\ud83e", "🦄",
    "שלום \u202etxet", "e\u0301", "你好，世界", "$bytes", "$map", "a" * 300,
)  # fmt: skip


def label(value: object) -> str:
    """Name a case by its value; the same in every process, as test runners in parallel need it."""
    return re.sub(r" at 0x\w+", "", shown(value))


def texts() -> SearchStrategy[str]:
    """Any str at all: lone surrogates, NUL and markup included."""
    return st.sampled_from(HOSTILE_TEXTS) | st.text(st.characters(), max_size=20)


def names() -> SearchStrategy[str]:
    """A non-blank name of a tool, a model or a person."""
    return st.sampled_from(("weather", "f", "Zoë", "get-time", "名前")) | st.from_regex(
        r"[a-z_][a-z0-9_]{0,8}", fullmatch=True
    )


def ids() -> SearchStrategy[str]:
    """An id; few different ones, so that some repeat."""
    return st.sampled_from(("c1", "c2", "call_0", "a b", "")) | texts()


def maybe(strategy: SearchStrategy[T]) -> SearchStrategy[T | None]:
    """``None``, or something else."""
    return st.none() | strategy


def json_values(*, with_bytes: bool = True) -> SearchStrategy[Any]:
    """A JSON value, nested; with bytes anywhere unless they are unwanted."""
    numbers = st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
    leaves: SearchStrategy[Any] = st.none() | st.booleans() | numbers | texts()
    if with_bytes:
        leaves |= st.binary(max_size=10)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | _mappings(inner), max_leaves=6)


def _mappings(values: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(("$bytes", "$map", "type", "k", "")) | texts(), values, max_size=3)


def metadata(*, with_bytes: bool = True) -> SearchStrategy[dict[str, Any]]:
    """Metadata, most often none."""
    nothing: SearchStrategy[dict[str, Any]] = st.just({})
    return st.one_of(nothing, nothing, _mappings(json_values(with_bytes=with_bytes)))


def schemas() -> SearchStrategy[dict[str, Any]]:
    """The JSON Schema of an object."""
    properties = st.dictionaries(names(), st.sampled_from(({"type": "string"}, {"type": "integer", "minimum": 0})))
    return properties.map(lambda chosen: {"type": "object", "properties": chosen, "required": sorted(chosen)})


def json_arguments() -> SearchStrategy[str]:
    """Tool arguments: the JSON text of an object, spelt as some vendor spells it."""
    return st.sampled_from(("{}", "", '{"city": "Oslo"}', '{"a":1,\n "b":[null,"\\ud83e\\udd84"]}'))


def media() -> SearchStrategy[Media]:
    """Media of each source."""
    types = st.sampled_from(("image/png", "image/*", "audio/wav", "video/mp4", "application/pdf", "text/plain"))
    rest: dict[str, SearchStrategy[Any]] = {
        "mime_type": types,
        "name": maybe(names()),
        "id": maybe(names()),
        "metadata": metadata(),
    }
    urls = st.sampled_from(("https://example.org/cat.png", "gs://bucket/film"))
    return st.one_of(
        st.builds(Media, st.binary(min_size=1, max_size=20), **rest),
        st.builds(Media, url=urls, **rest),
        st.builds(Media, file_id=names(), **(rest | {"mime_type": maybe(types)})),
    )


def parts() -> SearchStrategy[Part]:
    """A part of any kind."""
    return st.one_of(
        st.builds(Text, texts(), metadata=metadata()),
        media(),
        st.builds(Reasoning, texts(), metadata=metadata()),
        st.builds(Opaque, st.sampled_from(("openai", "anthropic", "gemini")), metadata(), metadata=metadata()),
    )


def contents() -> SearchStrategy[Content]:
    """Content: text more often than parts."""
    return st.one_of(texts(), texts(), st.lists(parts(), max_size=4).map(freeze_content))


def tool_calls(*, arguments: SearchStrategy[str] | None = None) -> SearchStrategy[ToolCall]:
    """A call that can be carried out, unless other arguments are wanted."""
    arguments = json_arguments() if arguments is None else arguments
    return st.builds(ToolCall, maybe(ids()), names(), arguments=arguments, metadata=metadata())


def invalid_tool_calls() -> SearchStrategy[InvalidToolCall]:
    """A call that cannot be carried out, or that somebody says so of."""
    return st.builds(
        InvalidToolCall,
        maybe(ids()),
        maybe(texts()),
        arguments=maybe(texts() | json_arguments()),
        error=maybe(texts()),
        metadata=metadata(),
    )


def tool_responses() -> SearchStrategy[ToolResponse]:
    """The result of a call."""
    status: SearchStrategy[Literal["success", "error"]] = st.sampled_from(("success", "error"))
    return st.builds(
        ToolResponse,
        maybe(ids()),
        maybe(texts()),
        content=contents(),
        status=status,
        artifact=st.none() | json_values(),
        metadata=metadata(),
    )


def _rest() -> dict[str, SearchStrategy[Any]]:
    return {"metadata": metadata(), "name": maybe(texts()), "id": maybe(texts())}


def system_messages() -> SearchStrategy[SystemMessage]:
    """A system message."""
    return st.builds(SystemMessage, contents(), **_rest())


def user_messages() -> SearchStrategy[UserMessage]:
    """A user message."""
    return st.builds(UserMessage, contents(), **_rest())


def assistant_messages(*, calls: SearchStrategy[ToolCall] | None = None) -> SearchStrategy[AssistantMessage]:
    """An assistant message, with or without content and calls."""
    return st.builds(
        AssistantMessage,
        maybe(contents()),
        tool_calls=st.lists(tool_calls() if calls is None else calls, max_size=2),
        invalid_tool_calls=st.lists(invalid_tool_calls(), max_size=2),
        **_rest(),
    )


def tool_response_messages() -> SearchStrategy[ToolResponseMessage]:
    """A message with results of calls."""
    return st.builds(ToolResponseMessage, st.lists(tool_responses(), min_size=1, max_size=3), **_rest())


def messages() -> SearchStrategy[BuiltinMessage]:
    """A message of any role."""
    return st.one_of(user_messages(), assistant_messages(), system_messages(), tool_response_messages())


def conversations(*, max_size: int = 3) -> SearchStrategy[tuple[BuiltinMessage, ...]]:
    """Messages in any order, valid for a vendor or not."""
    return st.lists(messages(), max_size=max_size).map(tuple)


def turns() -> SearchStrategy[tuple[BuiltinMessage, ...]]:
    """A valid turn: a user, any number of rounds of calls and their results, and an answer."""
    rounds = st.lists(st.lists(tool_calls(), min_size=1, max_size=2), max_size=2)
    return st.builds(_turn, user_messages(), rounds, contents().map(AssistantMessage))


def _turn(user: UserMessage, rounds: list[list[ToolCall]], answer: AssistantMessage) -> tuple[BuiltinMessage, ...]:
    turn: list[BuiltinMessage] = [user]
    for calls in rounds:
        turn.append(AssistantMessage(tool_calls=calls))
        turn.append(ToolResponseMessage([ToolResponse(call.id, call.name, content="ok") for call in calls]))
    return (*turn, answer)


def valid_conversations(*, max_turns: int = 4) -> SearchStrategy[tuple[BuiltinMessage, ...]]:
    """A system message or none, then valid turns."""
    return st.builds(
        lambda system, rest: (*system, *(message for turn in rest for message in turn)),
        st.lists(system_messages(), max_size=1),
        st.lists(turns(), max_size=max_turns),
    )


def tool_definitions() -> SearchStrategy[ToolDefinition]:
    """The description of a tool."""
    return st.builds(ToolDefinition, names(), texts(), input_schema=schemas(), metadata=metadata())


def options() -> SearchStrategy[ChatOptions]:
    """Options: each field unset, removed or set."""
    numbers = st.integers(-5, 5) | st.floats(0, 2)
    counts = st.integers(0, 10**20)
    fields: dict[str, SearchStrategy[Any]] = {
        "model": texts(),
        "temperature": numbers,
        "top_p": numbers,
        "top_k": counts,
        "max_tokens": counts,
        "stop_sequences": st.lists(texts(), max_size=2),
        "frequency_penalty": numbers,
        "presence_penalty": numbers,
        "seed": st.integers(),
        "tools": st.lists(tool_definitions(), max_size=2, unique_by=lambda tool: tool.name),
        "tool_choice": st.sampled_from(("auto", "none", "required", "weather")),
        "output_schema": schemas(),
        "extra": metadata(),
    }
    set_or_unset: dict[str, SearchStrategy[Any]] = {name: st.just(UNSET) | value for name, value in fields.items()}
    return st.fixed_dictionaries({}, optional=set_or_unset).map(lambda chosen: ChatOptions(**chosen))


def prompts() -> SearchStrategy[Prompt]:
    """A prompt of any messages and options."""
    return st.builds(Prompt, conversations(), options())


def usages() -> SearchStrategy[Usage]:
    """A usage, consistent or as odd as vendors are."""
    counts = st.integers(0, 5) | st.integers(0, 10**6)
    return st.builds(
        Usage,
        counts,
        counts,
        total_tokens=maybe(counts),
        cache_read_tokens=maybe(counts),
        cache_write_tokens=maybe(counts),
        reasoning_tokens=maybe(counts),
        native=metadata(),
    )


def finish_reasons() -> SearchStrategy[str]:
    """Why an answer ended."""
    return st.sampled_from(("stop", "length", "tool_calls", "STOP", ""))


def generations(*, calls: SearchStrategy[ToolCall] | None = None) -> SearchStrategy[Generation]:
    """One answer."""
    return st.builds(Generation, assistant_messages(calls=calls), maybe(finish_reasons()), metadata=metadata())


def responses(*, calls: SearchStrategy[ToolCall] | None = None) -> SearchStrategy[ChatResponse]:
    """A response of none, one or two answers."""
    return st.builds(
        ChatResponse,
        st.lists(generations(calls=calls), max_size=2),
        id=maybe(texts()),
        model=maybe(texts()),
        usage=usages() | st.just(Usage()),
        metadata=metadata(),
    )


def tool_call_chunks() -> SearchStrategy[ToolCallChunk]:
    """A piece of a tool call, with or without index, id and name."""
    return st.builds(
        ToolCallChunk,
        maybe(st.integers(0, 2)),
        maybe(ids()),
        name=maybe(names()),
        arguments=maybe(st.sampled_from(("", "{", '"a"', ":1", "}", "{}"))),
        error=maybe(st.sampled_from(("", "cut"))),
        metadata=metadata(),
    )


def chunks() -> SearchStrategy[ChatChunk]:
    """A piece of a stream."""
    return st.builds(
        ChatChunk,
        maybe(contents()),
        tool_calls=st.lists(tool_call_chunks(), max_size=2),
        finish_reason=maybe(finish_reasons()),
        block=maybe(st.integers(0, 2)),
        choice=maybe(st.integers(0, 1)),
        id=maybe(ids()),
        model=maybe(names()),
        usage=maybe(usages()),
        usage_is_delta=st.booleans(),
        metadata=metadata(),
        generation_metadata=metadata(),
        message_metadata=metadata(),
        message_id=maybe(ids()),
        name=maybe(names()),
    )


def chunk_streams() -> SearchStrategy[list[ChatChunk]]:
    """A stream: text pieces and argument pieces, with odd ones between them."""
    pieces = st.builds(ChatChunk, texts())
    arguments = st.builds(
        lambda index, text: ChatChunk(tool_calls=[ToolCallChunk(index, arguments=text)]),
        st.integers(0, 2),
        st.sampled_from(('{"a":', "1", "}", " ")),
    )
    return st.lists(pieces | arguments | chunks(), max_size=8)
