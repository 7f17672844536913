"""The Messages format both ways: nothing is lost quietly, and bodies come back in one stated form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from promptkit.adapters import anthropic
from promptkit.adapters.base import NOTES, Converted
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import AdapterError, UnsupportedContentError
from promptkit.history import check_history, repair_history
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import UNSET, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from tests import strategies
from tests.adapters.anthropic_bodies import bodies, canonical
from tests.adapters.judges import judge_anthropic, spelled_alike

PNG = Media(b"\x89PNG\r\n\x1a\n", "image/png")
PDF = Media(b"%PDF-1.7", name="a.pdf")
MARK = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
CALL = ToolCall("c1", "weather", arguments='{"city":"Oslo"}')
RESULT = ToolResponseMessage(ToolResponse("c1", "weather", content="3 degrees"))
CALL_BLOCK = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}
RESULT_BLOCK = {"type": "tool_result", "tool_use_id": "c1", "content": "3 degrees"}
SCHEMA = {"type": "object", "title": "Person", "properties": {"name": {"type": "string"}}}
LIMIT = ChatOptions(max_tokens=9)
ORDER = {"orphan_result", "unanswered_call", "duplicate_id", "reused_id", "leading_assistant"} | {
    "absent_content",
    "empty_content",
}


def converted(*messages: Message, options: ChatOptions = LIMIT, **how: Any) -> Converted:
    return anthropic.to_request(Prompt(messages, options), **how)


def losses_of(*messages: Message, options: ChatOptions = LIMIT) -> list[tuple[str, str]]:
    return [(loss.path, loss.what) for loss in converted(*messages, options=options).losses]


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, **own: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **own}


class Shouting(UserMessage):
    pass


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
Q, Q_BODY = UserMessage("q"), {"role": "user", "content": "q"}

MESSAGES: dict[str, tuple[list[Message], list[dict[str, Any]]]] = {
    "user": ([UserMessage("Hi")], [{"role": "user", "content": "Hi"}]),
    "neighbours": ([Q, UserMessage("r")], [Q_BODY, {"role": "user", "content": "r"}]),
    "cache mark, citations": (
        [
            UserMessage([Text("Hi", metadata=MARK)]),
            AssistantMessage([Text("x", metadata={"anthropic": {"citations": []}})]),
        ],
        [user(text("Hi", cache_control={"type": "ephemeral"})), assistant(text("x", citations=[]))],
    ),
    "image by bytes, url, id": (
        [
            UserMessage(
                ["Look:", PNG, Media(url="https://h/a", mime_type="image/*"), Media(file_id="f", mime_type="image/*")]
            )
        ],
        [
            user(
                text("Look:"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG.base64}},
                {"type": "image", "source": {"type": "url", "url": "https://h/a"}},
                {"type": "image", "source": {"type": "file", "file_id": "f"}},
            )
        ],
    ),
    "documents": (
        [
            UserMessage(
                [
                    PDF.mutate(metadata={"anthropic": {"citations": {"enabled": True}, "context": "c"}}),
                    Media(url="https://h/a.pdf"),
                    Media(file_id="f"),
                    Media("é".encode(), "text/plain"),
                ]
            )
        ],
        [
            user(
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF.base64},
                    "title": "a.pdf",
                    "citations": {"enabled": True},
                    "context": "c",
                },
                {"type": "document", "source": {"type": "url", "url": "https://h/a.pdf"}},
                {"type": "document", "source": {"type": "file", "file_id": "f"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "é"}},
            )
        ],
    ),
    "turn with a tool": (
        [Q, AssistantMessage(tool_calls=[CALL]), RESULT, AssistantMessage("Cold.")],
        [Q_BODY, assistant(CALL_BLOCK), user(RESULT_BLOCK), {"role": "assistant", "content": "Cold."}],
    ),
    "text and calls, words behind results": (
        [Q, AssistantMessage("Wait.", tool_calls=[CALL]), RESULT, UserMessage("and?")],
        [Q_BODY, assistant(text("Wait."), CALL_BLOCK), user(RESULT_BLOCK, text("and?"))],
    ),
    "results": (
        [
            Q,
            AssistantMessage(
                tool_calls=[CALL, CALL.mutate(id="c2", metadata={"anthropic": {"caller": {"type": "direct"}}})]
            ),
            ToolResponseMessage(
                [
                    ToolResponse("c1", "weather", content="no", status="error", metadata=MARK),
                    ToolResponse("c2", "weather", content=["map:", PNG]),
                ]
            ),
        ],
        [
            Q_BODY,
            assistant(CALL_BLOCK, CALL_BLOCK | {"id": "c2", "caller": {"type": "direct"}}),
            user(
                RESULT_BLOCK | {"content": "no", "is_error": True, "cache_control": {"type": "ephemeral"}},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [
                        text("map:"),
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG.base64}},
                    ],
                },
            ),
        ],
    ),
    "thoughts": (
        [
            Q,
            AssistantMessage(
                [Reasoning("hm", metadata={"signature": "s"}), Reasoning(metadata={"redacted": "d"}), "Yes."]
            ),
        ],
        [
            Q_BODY,
            assistant(
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                text("Yes."),
            ),
        ],
    ),
    "server tool": ([Q, AssistantMessage([Opaque("anthropic", SEARCH), "x"])], [Q_BODY, assistant(SEARCH, text("x"))]),
}


@pytest.mark.parametrize(("messages", "wire"), MESSAGES.values(), ids=MESSAGES)
def test_messages_go_out_and_come_back(messages: list[Message], wire: list[dict[str, Any]]) -> None:
    request = converted(*messages)

    assert request == Converted({"max_tokens": 9, "messages": wire})
    assert anthropic.from_request(request.body) == Prompt(messages, LIMIT)
    judge_anthropic(request.body)


OPTIONS: dict[str, tuple[ChatOptions, dict[str, Any]]] = {
    "sampling": (
        ChatOptions(model="m", temperature=0, top_p=0.5, top_k=3, max_tokens=9, stop_sequences=["a"]),
        {"model": "m", "temperature": 0, "top_p": 0.5, "top_k": 3, "max_tokens": 9, "stop_sequences": ["a"]},
    ),
    "empty values are set": (
        LIMIT.mutate(stop_sequences=(), tools=()),
        {"max_tokens": 9, "stop_sequences": [], "tools": []},
    ),
    "tools": (
        LIMIT.mutate(
            tools=[ToolDefinition("f", "F.", input_schema=SCHEMA, metadata=MARK)],
            tool_choice="required",
            extra={"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        ),
        {
            "max_tokens": 9,
            "tools": [
                {"name": "f", "description": "F.", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
                {"type": "web_search_20250305", "name": "web_search"},
            ],
            "tool_choice": {"type": "any"},
        },
    ),
    "a tool that says its type": (
        LIMIT.mutate(tools=[ToolDefinition("f", input_schema=SCHEMA, metadata={"anthropic": {"type": "custom"}})]),
        {"max_tokens": 9, "tools": [{"name": "f", "input_schema": SCHEMA, "type": "custom"}]},
    ),
    "auto, one at a time": (
        LIMIT.mutate(tool_choice="auto", extra={"tool_choice": {"disable_parallel_tool_use": True}}),
        {"max_tokens": 9, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    "none": (LIMIT.mutate(tool_choice="none"), {"max_tokens": 9, "tool_choice": {"type": "none"}}),
    "a tool": (LIMIT.mutate(tool_choice="f"), {"max_tokens": 9, "tool_choice": {"type": "tool", "name": "f"}}),
    "schema": (
        LIMIT.mutate(output_schema=SCHEMA, extra={"output_config": {"effort": "low"}}),
        {"max_tokens": 9, "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}},
    ),
    "extra": (
        LIMIT.mutate(extra={"thinking": {"type": "adaptive"}, "metadata": {"user_id": "u"}}),
        {"max_tokens": 9, "thinking": {"type": "adaptive"}, "metadata": {"user_id": "u"}},
    ),
}


@pytest.mark.parametrize(("options", "wire"), OPTIONS.values(), ids=OPTIONS)
def test_options_go_out_and_come_back(options: ChatOptions, wire: dict[str, Any]) -> None:
    request = converted(Q, options=options)

    assert request == Converted(wire | {"messages": [Q_BODY]})
    assert anthropic.from_request(request.body) == Prompt(Q, options)
    judge_anthropic(request.body)


OTHER_OPTIONS: dict[str, tuple[ChatOptions, list[tuple[str, str]]]] = {
    "no limit": (ChatOptions(), [("options.max_tokens", "spelling")]),
    "no such options": (
        LIMIT.mutate(seed=1, frequency_penalty=0, presence_penalty=0),
        [(f"options.{name}", name) for name in ("frequency_penalty", "presence_penalty", "seed")],
    ),
    "removed": (LIMIT.merge(ChatOptions(top_p=UNSET)), [("options.removed", "removed")]),
    "extra for an option": (LIMIT.mutate(extra={"top_k": 4}), [("options.extra", "spelling")]),
    "tool metadata": (
        LIMIT.mutate(tools=[ToolDefinition("f", metadata={"k": 1})]),
        [("options.tools[0].metadata.k", "metadata")],
    ),
}


@pytest.mark.parametrize(("options", "expected"), OTHER_OPTIONS.values(), ids=OTHER_OPTIONS)
def test_losses_of_options(options: ChatOptions, expected: list[tuple[str, str]]) -> None:
    assert losses_of(Q, options=options) == expected


def test_the_required_limit_leaves_room_for_thinking() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 10000}}

    assert converted(Q, options=ChatOptions()).body["max_tokens"] == 4096
    assert converted(Q, options=ChatOptions(extra=thinking)).body["max_tokens"] == 14096


LOSSES: dict[str, tuple[list[Message], list[tuple[str, str]]]] = {
    "name and id": ([UserMessage("x", name="Ada", id="m1")], [("messages[0].name", "name"), ("messages[0].id", "id")]),
    "metadata": (
        [UserMessage([Text("x", metadata={"k": 1})], metadata={"j": 1})],
        [("messages[0].content[0].metadata.k", "metadata"), ("messages[0].metadata.j", "metadata")],
    ),
    "mark of a message": (
        [UserMessage("x", metadata=MARK)],
        [("messages[0].metadata.anthropic.cache_control", "spelling")],
    ),
    "mark of a system message": (
        [SystemMessage("x", metadata=MARK), Q],
        [("messages[0].metadata.anthropic.cache_control", "spelling")],
    ),
    **{
        f"mark of nothing but {kind}": (
            [Q, AssistantMessage([Reasoning(words, metadata={key: "s"})], metadata=MARK)],
            [("messages[1].metadata.anthropic.cache_control", "metadata"), ("messages[1]", "absent_content")],
        )
        for kind, words, key in (("thoughts", "hm", "signature"), ("encrypted thoughts", "", "redacted"))
    },
    "own field of system text": (
        [SystemMessage("x", metadata={"anthropic": {"k": 1}}), Q],
        [("messages[0].metadata.anthropic.k", "metadata")],
    ),
    "own class": ([Shouting("HI")], [("messages[0]", "class")]),
    "content without a part": (
        [Q, AssistantMessage([])],
        [("messages[1].content", "spelling"), ("messages[1]", "absent_content")],
    ),
    **{
        f"opaque that is a {block['type']}": (
            [UserMessage([Opaque("anthropic", block)])],
            [("messages[0].content[0]", "spelling")],
        )
        for block in (CALL_BLOCK, RESULT_BLOCK)
    },
    "metadata of opaque blocks": (
        [UserMessage([Opaque("anthropic", SEARCH, metadata={"k": 1})])],
        [("messages[0].content[0].metadata.k", "metadata")],
    ),
    "several system messages": ([SystemMessage("a"), SystemMessage("b"), Q], [("messages[1]", "spelling")]),
    "system message before results": (
        [UserMessage(["q", "r"]), AssistantMessage(tool_calls=[CALL]), SystemMessage("b"), RESULT],
        [("messages[2]", "placement")],
    ),
    "late system message": ([SystemMessage("a"), Q, SystemMessage("b")], [("messages[2]", "placement")]),
    "image of a system message": (
        [SystemMessage(["x", PNG]), Q],
        [("messages[0].content[1]", "image")],
    ),
    "image of an answer": ([Q, AssistantMessage(["x", PNG])], [("messages[1].content[1]", "image")]),
    "audio": ([UserMessage(["x", Media(b"x", "audio/wav")])], [("messages[0].content[1]", "audio")]),
    "bitmap": ([UserMessage(["x", Media(b"x", "image/bmp")])], [("messages[0].content[1]", "image")]),
    "other document": ([UserMessage(["x", Media(b"\xff", "text/csv")])], [("messages[0].content[1]", "document")]),
    "text by url": ([UserMessage(["x", Media(url="https://h/a.txt")])], [("messages[0].content[1]", "document")]),
    "type of a text": (
        [UserMessage([Media(b"x", "text/csv")])],
        [("messages[0].content[0].mime_type", "mime_type")],
    ),
    "type of a file id": (
        [UserMessage([Media(file_id="f", mime_type="application/pdf")])],
        [("messages[0].content[0].mime_type", "mime_type")],
    ),
    "image name, id": (
        [UserMessage([PNG.mutate(name="a.png", id="i")])],
        [("messages[0].content[0].name", "name"), ("messages[0].content[0].id", "id")],
    ),
    "unsigned thought": ([Q, AssistantMessage([Reasoning("hm"), "x"])], [("messages[1].content[0]", "reasoning")]),
    "opaque of another vendor": (
        [Q, AssistantMessage([Opaque("openai", {"type": "x"}), "x"])],
        [("messages[1].content[0]", "opaque")],
    ),
    "opaque that is known": (
        [UserMessage([Opaque("anthropic", text("x"))])],
        [("messages[0].content[0]", "spelling")],
    ),
    "empty text beside calls": (
        [Q, AssistantMessage("", tool_calls=[CALL]), RESULT],
        [("messages[1].content", "spelling")],
    ),
    "invalid calls": (
        [
            Q,
            AssistantMessage(
                "x", invalid_tool_calls=[InvalidToolCall("c1", "weather", arguments='{"a'), InvalidToolCall("c2", None)]
            ),
            RESULT,
        ],
        [
            ("messages[1].invalid_tool_calls[0]", "spelling"),
            ("messages[1].invalid_tool_calls[0].arguments", "spelling"),
            ("messages[1].invalid_tool_calls[1]", "tools"),
            ("messages[1]", "unanswered_call"),
        ],
    ),
    "id of another vendor": (
        [
            Q,
            AssistantMessage(tool_calls=[ToolCall("functions.f:0", "f"), ToolCall(None, "g")]),
            ToolResponseMessage([ToolResponse("functions.f:0", "f"), ToolResponse(None, "g")]),
        ],
        [
            ("messages[1].tool_calls[0].id", "id"),
            ("messages[1].tool_calls[1].id", "id"),
            ("messages[2].responses[0].id", "id"),
            ("messages[2].responses[1].id", "id"),
        ],
    ),
    "result": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL]),
            ToolResponseMessage(ToolResponse("c1", "f", content="1", artifact=1, metadata={"k": 1}), name="n"),
        ],
        [
            ("messages[2].responses[0].name", "name"),
            ("messages[2].responses[0].artifact", "artifact"),
            ("messages[2].responses[0].metadata.k", "metadata"),
            ("messages[2].name", "name"),
        ],
    ),
    "results apart": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL, CALL.mutate(id="c2")]),
            RESULT,
            ToolResponseMessage(ToolResponse("c2", "weather", content="1")),
        ],
        [("messages[3]", "spelling")],
    ),
    "results apart, metadata": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL, CALL.mutate(id="c2")]),
            RESULT,
            ToolResponseMessage(ToolResponse("c2", "weather", content="1"), metadata={"k": 1}),
            UserMessage("and?", metadata={"k": 1}),
        ],
        [
            ("messages[3].metadata.k", "metadata"),
            ("messages[3]", "spelling"),
            ("messages[4].metadata.k", "metadata"),
        ],
    ),
    "orphan result": ([Q, RESULT], [("messages[1].responses[0].name", "name"), ("messages[1]", "orphan_result")]),
    "unanswered call": ([Q, AssistantMessage(tool_calls=[CALL]), Q], [("messages[1]", "unanswered_call")]),
    "reused id": (
        [Q, AssistantMessage(tool_calls=[CALL]), RESULT, AssistantMessage(tool_calls=[CALL]), RESULT],
        [("messages[3]", "reused_id")],
    ),
    "reused id of a call with fields": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL.mutate(metadata={"anthropic": {"caller": {"type": "direct"}}})]),
            RESULT,
            AssistantMessage(tool_calls=[CALL]),
            RESULT,
        ],
        [("messages[3]", "reused_id")],
    ),
    "answer first": ([AssistantMessage("x"), Q], [("messages[0]", "leading_assistant")]),
    "blank text": ([UserMessage(" ")], [("messages[0]", "empty_content")]),
    "no content": ([Q, AssistantMessage()], [("messages[1]", "absent_content")]),
}


@pytest.mark.parametrize(("messages", "expected"), LOSSES.values(), ids=LOSSES)
def test_losses_name_place_and_thing(messages: list[Message], expected: list[tuple[str, str]]) -> None:
    request = converted(*messages)

    assert [(loss.path, loss.what) for loss in request.losses] == expected
    with pytest.raises(UnsupportedContentError) as caught:
        converted(*messages, strict=True)
    assert (caught.value.format, caught.value.path, caught.value.feature) == ("anthropic", *expected[0])
    judge_anthropic(request.body)
    assert anthropic.to_request(anthropic.from_request(request.body)).body == request.body


def test_late_system_text_joins_the_first_or_stays_in_place() -> None:
    messages = [SystemMessage("A"), Q, AssistantMessage("r"), SystemMessage("B"), UserMessage("q2")]
    joined, kept = converted(*messages), converted(*messages, late_system="keep", strict=True)

    assert joined.body["system"] == [text("A"), text("B")]
    assert [message["role"] for message in joined.body["messages"]] == ["user", "assistant", "user"]
    assert kept.body["system"] == "A"
    assert kept.body["messages"][2] == {"role": "system", "content": "B"}
    assert anthropic.from_request(kept.body) == Prompt(messages, LIMIT)
    with pytest.raises(AdapterError, match="late_system must be"):
        converted(Q, late_system="drop")


def test_broken_arguments_go_back_to_the_model_as_they_came() -> None:
    call = ToolCall("c1", "weather", arguments='{"city": "Os')
    body = converted(Q, AssistantMessage(tool_calls=[call]), RESULT).body

    assert body["messages"][1]["content"][0]["input"] == {"INVALID_JSON": '{"city": "Os'}


def test_calls_without_usable_ids_get_them_from_their_place_and_results_find_them() -> None:
    body = converted(*LOSSES["id of another vendor"][0]).body

    assert [block["id"] for block in body["messages"][1]["content"]] == ["call_1_0", "call_1_1"]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["call_1_0", "call_1_1"]


def test_results_apart_are_sent_together() -> None:
    body = converted(*LOSSES["results apart"][0]).body

    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["c1", "c2"]


def test_marks_in_blocks_word_for_word_and_of_messages_count_too() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    blocks = [
        Opaque("anthropic", {"type": "new", **mark, "content": [{"type": "text", "text": "x", **mark}]}),
        Opaque("anthropic", {"type": "new", "source": {"content": [{"type": "text", "text": "x", **mark}]}}),
    ]
    options = LIMIT.mutate(extra={"tools": [{"type": "web_search_20250305", "name": "web_search", **mark}]})
    request = converted(UserMessage("a", metadata=MARK), UserMessage(blocks), options=options)

    assert json.dumps(request.body).count("cache_control") == 4
    assert request.body["messages"][0]["content"] == [text("a")]
    assert [loss.what for loss in request.losses] == ["spelling", "cache_control"]


def test_the_oldest_marks_go_first() -> None:
    marked = [UserMessage([Text(str(number), metadata=MARK)]) for number in range(12)]

    assert losses_of(*marked) == [(f"messages[{number}].content[0]", "cache_control") for number in range(8)]


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "webp"])
def test_images_that_it_takes_by_bytes(kind: str) -> None:
    assert losses_of(UserMessage([Media(b"x", f"image/{kind}")])) == []


def test_no_more_cache_marks_than_four() -> None:
    marked = [UserMessage([Text(str(number), metadata=MARK)]) for number in range(4)]
    options = LIMIT.mutate(tools=[ToolDefinition("f", metadata=MARK)], extra={"cache_control": {"type": "ephemeral"}})
    request = converted(SystemMessage([Text("s", metadata=MARK)]), *marked, options=options)

    assert json.dumps(request.body).count("cache_control") == 4
    assert request.body["messages"][3]["content"][0]["cache_control"]
    assert [(loss.path, loss.what) for loss in request.losses] == [
        (f"messages[{index}].content[0]", "cache_control") for index in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("Hi", "a request is made of a Prompt, not of str"),
        (Prompt([]), "messages: the prompt has no messages"),
        (Prompt(SystemMessage("x")), "messages: the prompt has system text only: anthropic wants a user message"),
        (Prompt("x", options=ChatOptions(extra={"system": "s"})), "options.extra: system stands in the prompt"),
        (Prompt("x", options=ChatOptions(extra={"messages": []})), "options.extra: messages stand in the prompt"),
        (Prompt("x", options=ChatOptions(extra={"a": [b"x"]})), r"options.extra.a\[0\]: bytes cannot stand"),
    ],
)
def test_what_no_body_can_say_is_refused(prompt: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        anthropic.to_request(prompt)


def _check_way_back(prompt: Prompt) -> None:
    try:
        request = anthropic.to_request(prompt)
    except AdapterError as error:
        assert "anthropic wants a user message" in str(error) or "bytes" in str(error)  # noqa: PT017
        return
    read = anthropic.from_request(request.body)
    again = anthropic.to_request(read, late_system="keep")

    assert json.loads(json.dumps(request.body)) == request.body
    assert spelled_alike(read) == spelled_alike(prompt) or request.losses
    assert again.body == request.body
    assert {loss.what for loss in again.losses} <= ORDER
    assert json.dumps(request.body["messages"]).count('"cache_control": {"type"') <= 4


@settings(max_examples=60)
@given(strategies.prompts())
def test_every_prompt_comes_back_or_has_a_loss(prompt: Prompt) -> None:
    _check_way_back(prompt)


@settings(max_examples=40)
@given(strategies.valid_conversations())
def test_every_conversation_comes_back_or_has_a_loss(messages: tuple[Message, ...]) -> None:
    _check_way_back(Prompt(messages, LIMIT))


@settings(max_examples=60)
@given(strategies.conversations(max_size=5) | strategies.valid_conversations())
def test_losses_of_order_are_the_findings_of_the_doctor(messages: tuple[Message, ...]) -> None:
    try:
        request = anthropic.to_request(Prompt(messages), late_system="keep")
    except AdapterError:
        return
    found = [(loss.path, loss.what) for loss in request.losses if loss.what in ORDER]
    findings = check_history(messages, "anthropic")

    assert found == [(f"messages[{at.index}]", at.kind) for at in findings if at.kind != "system_out_of_place"]


@settings(max_examples=40)
@given(strategies.conversations(max_size=5))
def test_what_the_doctor_repaired_has_no_loss_of_order(messages: tuple[Message, ...]) -> None:
    try:
        request = anthropic.to_request(Prompt(tuple(repair_history(messages, "anthropic"))))
    except AdapterError:
        return
    assert not {loss.what for loss in request.losses} & (ORDER | {"placement"})


@settings(max_examples=150)
@given(bodies())
def test_every_body_comes_back_in_its_canonical_form(body: dict[str, Any]) -> None:
    before = json.dumps(body)
    request = anthropic.to_request(anthropic.from_request(body), late_system="keep")

    assert json.dumps(body) == before
    assert request.body == canonical(body)
    assert {loss.what for loss in request.losses} <= ORDER | {"cache_control"}


@settings(max_examples=60)
@given(bodies())
def test_the_types_of_the_sdk_accept_the_bodies(body: dict[str, Any]) -> None:
    judge_anthropic(body)


WRITTEN: dict[str, tuple[dict[str, Any], list[Message]]] = {
    "system message first": (
        {"system": "a", "messages": [{"role": "system", "content": "b"}, Q_BODY]},
        [SystemMessage("a"), SystemMessage("b"), Q],
    ),
    "text before results": (
        {"messages": [user(text("and?"), RESULT_BLOCK)]},
        [ToolResponseMessage(ToolResponse("c1", content="3 degrees")), UserMessage("and?")],
    ),
    "text behind results": (
        {"messages": [user(RESULT_BLOCK), Q_BODY]},
        [ToolResponseMessage(ToolResponse("c1", content="3 degrees")), Q],
    ),
    "fields of later results": (
        {"messages": [user(RESULT_BLOCK), user(RESULT_BLOCK) | {"z": 3}]},
        [
            ToolResponseMessage(ToolResponse("c1", content="3 degrees")),
            ToolResponseMessage(ToolResponse("c1", content="3 degrees"), metadata={"anthropic": {"z": 3}}),
        ],
    ),
    "image whose URL tells its type": (
        {"messages": [user({"type": "image", "source": {"type": "url", "url": "https://h/cat.png"}})]},
        [UserMessage([Media(url="https://h/cat.png")])],
    ),
    "fields of tomorrow": (
        {"messages": [Q_BODY | {"x": 1}, user(RESULT_BLOCK | {"y": 2}) | {"z": 3}]},
        [
            Q.mutate(metadata={"anthropic": {"x": 1}}),
            ToolResponseMessage(
                ToolResponse("c1", content="3 degrees", metadata={"anthropic": {"y": 2}}),
                metadata={"anthropic": {"z": 3}},
            ),
        ],
    ),
    "blocks of tomorrow": (
        {"messages": [user({"type": "new", "x": None}), assistant({"type": "tool_result"})]},
        [
            UserMessage([Opaque("anthropic", {"type": "new", "x": None})]),
            AssistantMessage([Opaque("anthropic", {"type": "tool_result"})]),
        ],
    ),
}


@pytest.mark.parametrize(("body", "messages"), WRITTEN.values(), ids=WRITTEN)
def test_bodies_written_by_hand(body: dict[str, Any], messages: list[Message]) -> None:
    assert anthropic.from_request(body) == Prompt(messages)
    again = anthropic.to_request(Prompt(messages, LIMIT))
    assert anthropic.from_request(anthropic.to_request(anthropic.from_request(again.body)).body) == (
        anthropic.from_request(again.body)
    )
    assert {loss.what for loss in again.losses} <= NOTES | ORDER


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (None, "a request must be a mapping"),
        ({}, "messages: must be a list, not None"),
        ({"messages": ["x"]}, r"messages\[0\]: a message must be a mapping"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, r"messages\[0\]: role must be one of"),
        ({"messages": [{"role": "robot", "content": "x"}]}, r"messages\[0\]: role must be one of .* not 'robot'"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]: content must be a str or a list of blocks, not None"),
        ({"messages": [user(5)]}, r"messages\[0\]: content\[0\]: a block must be a mapping"),
        ({"messages": [user({"type": "text"})]}, r"messages\[0\]: content\[0\]: text must be a str"),
        ({"messages": [user({"type": "tool_result"})]}, r"content\[0\]: tool_use_id must be a str"),
        ({"messages": [user(RESULT_BLOCK | {"content": [5]})]}, r"content\[0\]: content\[0\]: a block must be"),
        ({"messages": [assistant(CALL_BLOCK | {"input": "x"})]}, r"content\[0\]: input must be a mapping"),
        ({"messages": [assistant(CALL_BLOCK | {"name": ""})]}, r"content\[0\]: ToolCall.name is empty"),
        (
            {
                "messages": [
                    user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%"}})
                ]
            },
            r"content\[0\]: the media data is not base64",
        ),
        ({"messages": [], "system": 5}, "system: content must be a str or a list"),
        ({"messages": [], "temperature": "hot"}, "options: temperature must be"),
        ({"messages": [], "tools": ["x"]}, r"options: tools\[0\]: must be a mapping"),
    ],
)
def test_damaged_bodies_are_refused_with_their_place(body: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        anthropic.from_request(body)


def test_frozen_bodies_read_as_plain_ones() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}, "x": 1}
    frozen = Opaque("anthropic", {"messages": [assistant(call)]}).payload

    (message,) = anthropic.from_request(frozen)
    assert message == AssistantMessage(
        tool_calls=[ToolCall("c1", "f", arguments='{"a":1}', metadata={"anthropic": {"x": 1}})]
    )
