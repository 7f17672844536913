"""Prompts of ours through LangChain's forms and back, and the other way: lossless, or with a loss for each difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from promptkit import Prompt
from promptkit._frozen import freeze
from promptkit.adapters.base import Loss
from promptkit.adapters.langchain import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatPromptValue,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    StringPromptValue,
    SystemMessage,
    ToolMessage,
    from_messages,
    from_prompt_value,
    to_messages,
    to_prompt_value,
)
from promptkit.adapters.langchain.notes import Notes, pack, unpack
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import AdapterError, ToolError, UnsupportedContentError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.messages import SystemMessage as OurSystemMessage
from promptkit.options import ChatOptions
from tests import strategies as native
from tests.adapters.langchain import strategies


def parsed(message: Message) -> Message:
    """Give a message with the arguments of its calls in one spelling."""
    if not isinstance(message, AssistantMessage):
        return message
    return message.mutate(tool_calls=[call.mutate(arguments=call.parsed_arguments) for call in message.tool_calls])


def is_parsed(call: ToolCall) -> bool:
    try:
        call.parsed_arguments
    except ToolError:
        return False
    return True


@given(native.prompts())
def test_a_prompt_comes_back_or_the_loss_is_named(prompt: Prompt) -> None:
    losses: list[Loss] = []
    written = to_messages(prompt, losses=losses)
    again: list[Loss] = []

    back = from_messages(written, options=prompt.options, losses=again)

    assert again == []
    assert back.options == prompt.options
    if not [loss for loss in losses if loss.what != "options"]:
        assert list(map(parsed, back.messages)) == list(map(parsed, prompt.messages))


def neighbours(messages: tuple[Message, ...]) -> bool:
    kinds = [isinstance(message, ToolResponseMessage) for message in messages]
    return any(one and other for one, other in pairwise(kinds))


@given(native.prompts())
def test_only_neighbouring_results_and_broken_arguments_are_losses(prompt: Prompt) -> None:
    losses: list[Loss] = []
    to_messages(prompt, losses=losses)

    calls = [call for message in prompt.messages for call in getattr(message, "tool_calls", ())]
    expected = {"options"} if prompt.options != ChatOptions() else set()
    expected |= {"tool_calls"} if not all(map(is_parsed, calls)) else set()
    expected |= {"spelling"} if neighbours(prompt.messages) else set()
    assert {loss.what for loss in losses} - {"metadata"} == expected
    assert "spelling" in expected or "metadata" not in {loss.what for loss in losses}


@given(strategies.histories())
def test_messages_of_langchain_come_back_or_each_difference_is_a_loss(messages: list[BaseMessage]) -> None:
    losses: list[Loss] = []
    back = to_messages(from_messages(messages, losses=losses), losses=[])

    assert len(back) == len(messages)
    for index, (one, other) in enumerate(zip(messages, back, strict=True)):
        assert type(one) is type(other)
        for name in [entry.name for entry in fields(type(one))]:
            path = f"messages[{index}].{name}"
            told = any(loss.path.startswith(path) for loss in losses)
            assert told == (getattr(one, name) != getattr(other, name)), path


@given(st.lists(strategies.messages().map(lambda message: message.mutate(content=message.text)), max_size=4))
def test_messages_of_text_come_back_without_a_loss(messages: list[BaseMessage]) -> None:
    losses: list[Loss] = []
    back = to_messages(from_messages(messages, losses=losses), losses=[])

    assert [loss for loss in losses if "invalid_tool_calls" not in loss.path] == []  # an empty error is none
    assert losses or back == messages


CALL: Any = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
RESULTS = [ToolMessage("3", tool_call_id="c1"), ToolMessage("no", tool_call_id="c2", status="error", artifact={"k": 1})]

PAIRS: dict[str, tuple[Message, list[BaseMessage]]] = {
    "system": (OurSystemMessage("s", id="1"), [SystemMessage("s", id="1")]),
    "user": (
        UserMessage("u", name="Ada", metadata={"k": 1}),
        [HumanMessage("u", name="Ada", response_metadata={"k": 1})],
    ),
    "assistant": (AssistantMessage("a"), [AIMessage("a")]),
    "only calls": (
        AssistantMessage(tool_calls=[ToolCall("c1", "f", arguments={"a": 1})]),
        [AIMessage("", tool_calls=[CALL])],
    ),
    "an invalid call": (
        AssistantMessage("x", invalid_tool_calls=[InvalidToolCall("c", "f", arguments="{", error="cut")]),
        [AIMessage("x", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c", "error": "cut"}])],
    ),
    "usage": (
        AssistantMessage(
            "a", metadata={"langchain": {"usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}
        ),
        [AIMessage("a", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})],
    ),
    "what a vendor has beside": (
        AssistantMessage("a", metadata={"langchain": {"additional_kwargs": {"refusal": "No."}}}),
        [AIMessage("a", additional_kwargs={"refusal": "No."})],
    ),
    "results": (
        ToolResponseMessage(
            [ToolResponse("c1", content="3"), ToolResponse("c2", content="no", status="error", artifact={"k": 1})]
        ),
        [*RESULTS],
    ),
    "a free role": (UserMessage("x", metadata={"role": "Critic"}), [ChatMessage("x", role="Critic")]),
    "a function": (
        ToolResponseMessage(ToolResponse(None, "f", content="3", metadata={"langchain": {"type": "function"}})),
        [FunctionMessage("3", name="f")],
    ),
    "parts": (
        UserMessage(
            [
                Text("t"),
                Media(url="https://e.org/a.png"),
                Reasoning("r", metadata={"signature": "s"}),
                Opaque("anthropic", {"type": "x"}),
            ]
        ),
        [
            HumanMessage(
                [
                    {"type": "text", "text": "t"},
                    {"type": "image", "url": "https://e.org/a.png"},
                    {"type": "reasoning", "reasoning": "r", "extras": {"signature": "s"}},
                    {"type": "non_standard", "value": {"type": "x"}, "vendor": "anthropic"},
                ]
            )
        ],
    ),
    "data": (
        UserMessage(
            [
                Media(b"\x89PNG", "image/png", name="a.png"),
                Media(b"hi", "text/plain"),
                Media(b"%PDF", "application/pdf"),
            ]
        ),
        [
            HumanMessage(
                [
                    {"type": "image", "mime_type": "image/png", "filename": "a.png", "base64": "iVBORw=="},
                    {"type": "text-plain", "mime_type": "text/plain", "text": "hi"},
                    {"type": "file", "mime_type": "application/pdf", "base64": "JVBERg=="},
                ]
            )
        ],
    ),
    "an unknown block": (
        UserMessage([Opaque("langchain", {"type": "hologram"})]),
        [HumanMessage([{"type": "hologram"}])],
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_both_sides_say_the_same(case: str) -> None:
    message, written = PAIRS[case]

    assert to_messages([message]) == written
    assert list(map(parsed, from_messages(written).messages)) == [parsed(message)]


READ: dict[str, tuple[Any, Message]] = {
    "OpenAI's image": (
        HumanMessage([{"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}}]),
        UserMessage([Media(url="https://e.org/a.png", metadata={"openai": {"image_url": {"detail": "low"}}})]),
    ),
    "Anthropic's image": (
        HumanMessage([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}]),
        UserMessage([Media(b"\x89PNG", "image/png")]),
    ),
    "Anthropic's thoughts": (
        AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}]),
        AssistantMessage([Reasoning("hm", metadata={"signature": "s"}), Text("a")]),
    ),
    "a call among the content": (
        AIMessage([{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]),
        AssistantMessage(tool_calls=[ToolCall("c1", "f", arguments={"a": 1})]),
    ),
    "a call in both places": (
        AIMessage([{"type": "text", "text": "x"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}], tool_calls=[CALL]),
        AssistantMessage([Text("x")], tool_calls=[ToolCall("c1", "f", arguments={"a": 1})]),
    ),
    "a chunk": (HumanMessageChunk("a") + HumanMessageChunk("b"), UserMessage("ab")),
    "a chunk with half a call": (
        AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}]),
        AssistantMessage(invalid_tool_calls=[InvalidToolCall("1", "f", arguments="{")]),
    ),
    "broken data": (
        HumanMessage([{"type": "image", "base64": "%%%", "mime_type": "image/png"}]),
        UserMessage([Opaque("langchain", {"type": "image", "base64": "%%%", "mime_type": "image/png"})]),
    ),
    "a stored dict": ({"role": "user", "content": "x"}, UserMessage("x")),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_blocks_of_every_vendor_become_parts(case: str) -> None:
    written, message = READ[case]
    assert from_messages([written]).messages == (message,)


def test_neighbouring_results_become_one_message() -> None:
    calls = AIMessage("", tool_calls=[CALL])
    prompt = from_messages([calls, *RESULTS, HumanMessage("so?"), RESULTS[0]])

    assert [message.message_type.value for message in prompt.messages] == ["assistant", "tool", "user", "tool"]
    losses: list[Loss] = []
    to_messages([prompt.messages[1], prompt.messages[3]], losses=losses)
    assert [(loss.path, loss.what) for loss in losses] == [("messages[1]", "spelling")]


def test_chunks_come_back_whole_and_that_is_a_loss() -> None:
    losses: list[Loss] = []
    prompt = from_messages([AIMessageChunk("a", chunk_position="last")], losses=losses)

    assert to_messages(prompt) == [AIMessage("a")]
    assert [(loss.path, loss.what) for loss in losses] == [("messages[0]", "class")]


def test_options_stay_beside() -> None:
    options = ChatOptions(model="m", temperature=0.5)
    losses: list[Loss] = []
    value = to_prompt_value(Prompt("hi", options), losses=losses)

    assert value == ChatPromptValue([HumanMessage("hi")])
    assert [loss.what for loss in losses] == ["options"]
    assert from_prompt_value(value, options=options) == Prompt("hi", options)
    assert from_prompt_value(StringPromptValue("hi")) == Prompt("hi")


def test_own_messages_are_written_as_those_they_stand_for() -> None:
    class Shout(UserMessage):
        pass

    losses: list[Loss] = []
    assert to_messages([Shout("hi")], losses=losses) == [HumanMessage("hi")]
    assert [str(loss) for loss in losses] == ["messages[0]: the Shout is written as a UserMessage"]


REFUSED: dict[str, tuple[Callable[[], Any], type[AdapterError], str]] = {
    "a message to remove": (
        lambda: from_messages([HumanMessage("x"), RemoveMessage("1")]),
        AdapterError,
        r"messages\[1\]: a RemoveMessage says nothing: remove the message it names",
    ),
    "broken arguments": (
        lambda: to_messages([AssistantMessage(tool_calls=[ToolCall("c", "f", arguments="{")])]),
        UnsupportedContentError,
        r"messages\[0\]\.tool_calls\[0\]: LangChain holds arguments parsed",
    ),
    "a call without name": (
        lambda: from_messages([AIMessage("", tool_calls=[{"name": "", "args": {}, "id": "1"}])]),
        UnsupportedContentError,
        r"messages\[0\]\.tool_calls\[0\]: a call without a name cannot be carried out",
    ),
    "a text where messages are meant": (lambda: from_messages(("human", "hi")), AdapterError, "put it in a list"),
    "no messages": (lambda: from_messages(3), AdapterError, "must be a list of messages"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_change_the_question_raises_unless_losses_are_collected(case: str) -> None:
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        make()


def test_collected_losses_raise_nothing() -> None:
    losses: list[Loss] = []
    written = to_messages([AssistantMessage(tool_calls=[ToolCall("c", "f", arguments="{")])], losses=losses)

    assert written == [AIMessage("", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c", "error": None}])]
    assert [(loss.path, loss.what) for loss in losses] == [("messages[0].tool_calls[0]", "tool_calls")]


NOTES = ("response_metadata", "additional_kwargs", "usage_metadata", "role", "type", "id", "langchain")


def disguises() -> st.SearchStrategy[dict[str, Any]]:
    leaves: st.SearchStrategy[Any] = st.sampled_from(("function", None, 1, {}, {"k": 1}))
    return st.recursive(leaves, lambda inner: st.dictionaries(st.sampled_from(NOTES), inner, max_size=3)).filter(
        lambda value: isinstance(value, dict)
    )


@given(
    disguises(), disguises(), st.none() | strategies.usages(), st.none() | st.just("Critic"), st.none() | st.just("1")
)
def test_notes_and_metadata_are_one_to_one(
    metadata: dict[str, Any], kwargs: dict[str, Any], usage: dict[str, Any] | None, role: str | None, id: str | None
) -> None:
    everything = frozenset(("usage_metadata", "role", "type", "id"))
    notes = Notes(
        metadata, additional_kwargs=kwargs, usage_metadata=freeze(usage), role=role, is_function=id is None, id=id
    )

    assert unpack(pack(notes, everything), everything) == notes
    for allowed in (frozenset[str](), everything):
        assert pack(unpack(metadata, allowed), allowed) == metadata


def test_metadata_that_looks_like_notes_comes_back_as_it_was() -> None:
    disguised: list[dict[str, Any]] = [
        {"langchain": {"additional_kwargs": {}}},
        {"langchain": {"type": "function"}},
        {"langchain": 3},
        {"role": 3},
        {"langchain": {"response_metadata": {"k": 1}}},
        {"langchain": {"additional_kwargs": {"k": 1}}, "role": "Critic"},
    ]
    for metadata in disguised:
        prompt = Prompt([UserMessage("x", metadata=metadata)])
        assert from_messages(to_messages(prompt)) == prompt
        message = HumanMessage("x", response_metadata=metadata, additional_kwargs=metadata)
        assert to_messages(from_messages([message])) == [message]
        chat = ChatMessage("x", role="Critic", response_metadata=metadata)
        assert to_messages(from_messages([chat])) == [chat]


def test_a_block_with_wrong_types_is_opaque() -> None:
    for block in (
        {"type": "text-plain", "text": 5},
        {"type": "reasoning", "summary": 5},
        {"type": "image", "base64": 5},
    ):
        (message,) = from_messages([AIMessage([block])]).messages
        assert message.content == (Opaque("langchain", block),)
