"""Responses both ways: nothing is lost quietly, and bodies come back in one stated form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from promptkit.adapters import openai_responses
from promptkit.adapters.base import Converted, Loss
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import AdapterError, UnsupportedContentError
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
from tests.adapters.judges import judge_responses
from tests.adapters.responses_bodies import CITATION, CLIENT_ITEMS, ITEMS, bodies, canonical

FORMAT = "openai_responses"
PNG = Media(b"\x89PNG\r\n\x1a\n", "image/png")
PDF = Media(b"%PDF-1.7", name="a.pdf")
CALL = ToolCall("c1", "weather", arguments='{"city": "Oslo"}')
CALL_ITEM = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}
RESULT = ToolResponseMessage(ToolResponse("c1", "weather", content="3 degrees"))
RESULT_ITEM = {"type": "function_call_output", "call_id": "c1", "output": "3 degrees"}
Q, Q_ITEM = UserMessage("q"), {"role": "user", "content": "q"}
SCHEMA = {"type": "object", "title": "Person", "properties": {"name": {"type": "string"}}}
ORDER = {"orphan_result", "unanswered_call", "duplicate_id", "absent_content"}


class Shouting(UserMessage):
    pass


def own(**fields: Any) -> dict[str, Any]:
    return {FORMAT: fields}


def said(*parts: Any, **fields: Any) -> dict[str, Any]:
    content = [part if isinstance(part, dict) else output(part) for part in parts]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content, **fields}


def output(text: str, *annotations: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": list(annotations)}


def thoughts(*summary: str, **fields: Any) -> dict[str, Any]:
    found = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "summary": found, **fields}


MESSAGES: dict[str, tuple[list[Message], list[dict[str, Any]]]] = {
    "user": ([Q], [Q_ITEM]),
    "developer": (
        [SystemMessage("S", metadata=own(role="developer")), Q],
        [{"role": "developer", "content": "S"}, Q_ITEM],
    ),
    "system item": (
        [SystemMessage("S", metadata=own(role="system")), Q],
        [{"role": "system", "content": "S"}, Q_ITEM],
    ),
    "only the system": ([SystemMessage("S")], [{"role": "system", "content": "S"}]),
    "parts": (
        [
            UserMessage(
                [
                    Text("See", metadata=own(prompt_cache_breakpoint={"mode": "explicit"})),
                    PNG,
                    Media(url="https://h/a", mime_type="image/*", metadata=own(detail="low")),
                    Media(file_id="f", mime_type="image/*"),
                    PDF,
                    Media(url="https://h/a.pdf"),
                    Media(file_id="f"),
                ]
            )
        ],
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "See", "prompt_cache_breakpoint": {"mode": "explicit"}},
                    {"type": "input_image", "detail": "auto", "image_url": PNG.data_uri},
                    {"type": "input_image", "detail": "low", "image_url": "https://h/a"},
                    {"type": "input_image", "detail": "auto", "file_id": "f"},
                    {"type": "input_file", "file_data": PDF.data_uri, "filename": "a.pdf"},
                    {"type": "input_file", "file_url": "https://h/a.pdf"},
                    {"type": "input_file", "file_id": "f"},
                ],
            }
        ],
    ),
    "turn with a tool": (
        [Q, AssistantMessage("Wait.", tool_calls=[CALL]), RESULT, AssistantMessage("Cold.")],
        [
            Q_ITEM,
            {"role": "assistant", "content": "Wait."},
            CALL_ITEM,
            RESULT_ITEM,
            {"role": "assistant", "content": "Cold."},
        ],
    ),
    "result of parts": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL.mutate(metadata=own(id="fc_1", status="completed"))]),
            ToolResponseMessage(ToolResponse("c1", "other", content=["map:", PNG], metadata=own(status="completed"))),
        ],
        [
            Q_ITEM,
            CALL_ITEM | {"id": "fc_1", "status": "completed"},
            RESULT_ITEM
            | {
                "name": "other",
                "status": "completed",
                "output": [
                    {"type": "input_text", "text": "map:"},
                    {"type": "input_image", "detail": "auto", "image_url": PNG.data_uri},
                ],
            },
        ],
    ),
    "an answer of the vendor's": (
        [
            Q,
            AssistantMessage(
                [
                    Reasoning("hm", metadata=own(id="rs_1", encrypted_content="ZW5j")),
                    Opaque(FORMAT, ITEMS[0]),
                    Text("See", metadata=own(annotations=[CITATION])),
                    Text("No.", metadata={"refusal": True}),
                ],
                id="m1",
                metadata=own(phase="commentary"),
            ),
        ],
        [
            Q_ITEM,
            thoughts("hm", id="rs_1", encrypted_content="ZW5j"),
            ITEMS[0],
            said(output("See", CITATION), {"type": "refusal", "refusal": "No."}, id="m1", phase="commentary"),
        ],
    ),
    "several messages, calls between": (
        [
            Q,
            AssistantMessage(
                [
                    Text("a"),
                    Reasoning("x\n\ny", metadata=own(id="rs_1", summary=thoughts("x", "y")["summary"])),
                    Text("b", metadata=own(message={"id": "m2", "status": "incomplete"})),
                ],
                tool_calls=[CALL.mutate(metadata={"position": 1})],
                id="m1",
            ),
            RESULT,
        ],
        [Q_ITEM, said("a", id="m1"), CALL_ITEM, thoughts("x", "y", id="rs_1"), said("b", id="m2") | {
            "status": "incomplete"
        }, RESULT_ITEM],
    ),
    "items of the program": (
        [UserMessage([Opaque(FORMAT, item)]) for item in CLIENT_ITEMS],
        list(CLIENT_ITEMS),
    ),
    "an answer that broke off": (
        [Q, AssistantMessage("x", id="m", metadata=own(status="incomplete"))],
        [Q_ITEM, said("x", id="m", status="incomplete")],
    ),
    "files of unknown types": (
        [UserMessage([
            Media(url="https://h/a", mime_type="application/*"),
            Media(file_id="f", name="a.png", mime_type="application/*"),
        ])],
        [{"role": "user", "content": [
            {"type": "input_file", "file_url": "https://h/a"},
            {"type": "input_file", "file_id": "f", "filename": "a.png"},
        ]}],
    ),
    "neighbours": (
        [AssistantMessage("a"), AssistantMessage("b")],
        [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "wire"), MESSAGES.values(), ids=MESSAGES)
def test_messages_go_out_and_come_back(messages: list[Message], wire: list[dict[str, Any]]) -> None:
    request = openai_responses.to_request(Prompt(messages))

    assert request == Converted({"input": wire})
    assert openai_responses.from_request(request.body) == Prompt(messages)
    judge_responses(request.body)


def test_the_first_text_of_the_system_is_the_instructions() -> None:
    prompt = Prompt([SystemMessage("A"), Q, SystemMessage("B")])
    body = openai_responses.to_request(prompt, strict=True).body

    assert body == {"instructions": "A", "input": [Q_ITEM, {"role": "system", "content": "B"}]}
    assert openai_responses.from_request(body) == prompt


@pytest.mark.parametrize("setting", ["previous_response_id", "conversation", "prompt"])
def test_the_vendor_may_have_what_comes_before(setting: str) -> None:
    options = ChatOptions(extra={setting: "r"})
    prompt = Prompt([ToolResponseMessage(ToolResponse("c1", "weather", content="3"))], options)

    item = RESULT_ITEM | {"output": "3", "name": "weather"}
    body = openai_responses.to_request(prompt, strict=True).body
    assert body == {setting: "r", "input": [item]}
    assert openai_responses.to_request(Prompt([], options), strict=True).body == {setting: "r"}


OPTIONS: dict[str, tuple[ChatOptions, dict[str, Any]]] = {
    "sampling": (
        ChatOptions(model="m", temperature=0, top_p=0.5, max_tokens=9),
        {"model": "m", "temperature": 0, "top_p": 0.5, "max_output_tokens": 9},
    ),
    "tools": (
        ChatOptions(
            tools=[
                ToolDefinition("f", "F.", input_schema=SCHEMA),
                ToolDefinition("g", input_schema=SCHEMA, metadata=own(strict=True)),
            ],
            tool_choice="required",
            extra={"tools": [{"type": "web_search"}]},
        ),
        {
            "tools": [
                {"type": "function", "name": "f", "description": "F.", "parameters": SCHEMA, "strict": False},
                {"type": "function", "name": "g", "parameters": SCHEMA, "strict": True},
                {"type": "web_search"},
            ],
            "tool_choice": "required",
        },
    ),
    "no tools": (ChatOptions(tools=()), {"tools": []}),
    "a tool": (ChatOptions(tool_choice="f"), {"tool_choice": {"type": "function", "name": "f"}}),
    "schema, said otherwise": (
        ChatOptions(output_schema=SCHEMA, extra={"text": {"format": {"name": "r", "strict": None}}}),
        {"text": {"format": {"type": "json_schema", "name": "r", "schema": SCHEMA}}},
    ),
    "schema": (
        ChatOptions(output_schema=SCHEMA, extra={"text": {"verbosity": "low"}}),
        {
            "text": {
                "format": {"type": "json_schema", "name": "Person", "schema": SCHEMA, "strict": True},
                "verbosity": "low",
            }
        },
    ),
    "extra": (
        ChatOptions(extra={"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}),
        {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]},
    ),
}


@pytest.mark.parametrize(("options", "wire"), OPTIONS.values(), ids=OPTIONS)
def test_options_go_out_and_come_back(options: ChatOptions, wire: dict[str, Any]) -> None:
    request = openai_responses.to_request(Prompt(Q, options))

    assert request == Converted(wire | {"input": [Q_ITEM]})
    assert openai_responses.from_request(request.body) == Prompt(Q, options)
    judge_responses(request.body)


LOSSES: dict[str, tuple[list[Message], list[tuple[str, str]]]] = {
    "name and id": ([UserMessage("x", name="A", id="i")], [("messages[0].name", "name"), ("messages[0].id", "id")]),
    "metadata": (
        [UserMessage([Text("x", metadata={"k": 1})], metadata={"j": 1})],
        [("messages[0].content[0].metadata.k", "metadata"), ("messages[0].metadata.j", "metadata")],
    ),
    "audio": ([UserMessage(["x", Media(b"x", "audio/wav")])], [("messages[0].content[1]", "audio")]),
    "image of an answer": ([Q, AssistantMessage(["x", PNG])], [("messages[1].content[1]", "image")]),
    "document without a name": ([UserMessage([PDF.mutate(name=None)])], [("messages[0].content[0].name", "name")]),
    "foreign thought": ([Q, AssistantMessage([Reasoning("hm"), "x"])], [("messages[1].content[0]", "reasoning")]),
    "thought of a user": ([UserMessage([Reasoning("hm"), "x"])], [("messages[0].content[0]", "reasoning")]),
    "changed thought": (
        [Q, AssistantMessage([Reasoning("new", metadata=own(id="r", summary=thoughts("x", "y")["summary"])), "x"])],
        [("messages[1].content[0].metadata.openai_responses.summary", "metadata")],
    ),
    "opaque of another vendor": (
        [Q, AssistantMessage([Opaque("openai", {"type": "x"}), "x"])],
        [("messages[1].content[0]", "opaque")],
    ),
    "opaque that is known": ([UserMessage([Opaque(FORMAT, {"type": "input_text", "text": "x"})])], [
        ("messages[0]", "spelling")
    ]),
    "items among words": (
        [UserMessage(["x", Opaque(FORMAT, CLIENT_ITEMS[0]), "y"], metadata=own(status="completed"))],
        [("messages[0]", "spelling")],
    ),
    "empty text beside calls": (
        [Q, AssistantMessage("", tool_calls=[CALL]), RESULT],
        [("messages[1].content", "spelling")],
    ),
    "id without text": ([Q, AssistantMessage(tool_calls=[CALL], id="m"), RESULT], [("messages[1].id", "id")]),
    "neighbours": (
        [Q, AssistantMessage("x"), AssistantMessage("y", id="m2")],
        [("messages[2]", "spelling")],
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
            ("messages[1].invalid_tool_calls[1]", "tools"),
            ("messages[1]", "unanswered_call"),
        ],
    ),
    "no ids": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL.mutate(id=None)]),
            ToolResponseMessage(ToolResponse(None, content="1", status="error", artifact=1)),
        ],
        [
            ("messages[1].tool_calls[0].id", "id"),
            ("messages[2].responses[0].status", "status"),
            ("messages[2].responses[0].artifact", "artifact"),
            ("messages[2].responses[0].id", "id"),
            ("messages[2].responses[0].name", "name"),
        ],
    ),
    "results apart": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL, CALL.mutate(id="c2")]),
            RESULT,
            ToolResponseMessage(ToolResponse("c2", "weather", content=[Opaque(FORMAT, {"type": "input_text"})])),
        ],
        [("messages[3]", "spelling"), ("messages[3].responses[0].content", "spelling")],
    ),
    "name of an answer": ([Q, AssistantMessage("x", name="n")], [("messages[1].name", "name")]),
    "name of a system message": ([Q, SystemMessage("x", name="n")], [("messages[1].name", "name")]),
    "metadata of an answer without text": (
        [Q, AssistantMessage(tool_calls=[CALL], metadata={"k": 1}), RESULT],
        [("messages[1].metadata.k", "metadata")],
    ),
    "name and metadata of results": (
        [Q, AssistantMessage(tool_calls=[CALL]), RESULT.mutate(name="n", metadata={"k": 1})],
        [("messages[2].name", "name"), ("messages[2].metadata.k", "metadata")],
    ),
    "metadata of items": (
        [UserMessage([Opaque(FORMAT, CLIENT_ITEMS[0], metadata={"k": 1})], metadata={"j": 1})],
        [("messages[0].content[0].metadata.k", "metadata"), ("messages[0].metadata.j", "metadata")],
    ),
    "metadata of opaque parts": (
        [UserMessage([Opaque(FORMAT, {"type": "input_new"}, metadata={"k": 1})])],
        [("messages[0].content[0].metadata.k", "metadata")],
    ),
    "opaque system text": (
        [Q, SystemMessage([Opaque(FORMAT, {"type": "input_text", "text": "x"})])],
        [("messages[1]", "spelling")],
    ),
    "image type, id": (
        [UserMessage([Media(url="https://h/x", mime_type="image/png"), PNG.mutate(id="i")])],
        [("messages[0].content[0].mime_type", "mime_type"), ("messages[0].content[1].id", "id")],
    ),
    "sound behind an item": (
        [UserMessage([Opaque(FORMAT, CLIENT_ITEMS[0]), "x", Media(b"x", "audio/wav")])],
        [("messages[0].content[2]", "audio")],
    ),
    "own class": ([Shouting("HI")], [("messages[0]", "class")]),
    "orphan result": ([Q, ToolResponseMessage(ToolResponse("c1"))], [("messages[1]", "orphan_result")]),
    "unanswered call": ([Q, AssistantMessage(tool_calls=[CALL]), Q], [("messages[1]", "unanswered_call")]),
    "no content": ([Q, AssistantMessage()], [("messages[1]", "spelling"), ("messages[1]", "absent_content")]),
    "mark of the usual role": ([Q, SystemMessage("S", metadata=own(role="system"))], [("messages[1]", "spelling")]),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), LOSSES.values(), ids=LOSSES)
def test_losses_name_place_and_thing(messages: list[Message], expected: list[tuple[str, str]]) -> None:
    request = openai_responses.to_request(Prompt(messages))

    assert [(loss.path, loss.what) for loss in request.losses] == expected
    with pytest.raises(UnsupportedContentError) as caught:
        openai_responses.to_request(Prompt(messages), strict=True)
    assert (caught.value.format, caught.value.path, caught.value.feature) == (FORMAT, *expected[0])


def test_what_goes_out_in_spite_of_losses() -> None:
    item = CLIENT_ITEMS[0]
    invalid = AssistantMessage(invalid_tool_calls=[InvalidToolCall(None, "f", arguments='{"a')])
    messages = [UserMessage(["x", Opaque(FORMAT, item), Media(b"x", "audio/wav"), "y"]), Q, invalid]

    assert openai_responses.to_request(Prompt(messages)).body["input"] == [
        {"role": "user", "content": "x"},
        item,
        {"role": "user", "content": "y"},
        Q_ITEM,
        {"type": "function_call", "call_id": "call_2_0", "name": "f", "arguments": '{"a'},
    ]


OTHER_OPTIONS: dict[str, tuple[ChatOptions, list[tuple[str, str]]]] = {
    "no such options": (
        ChatOptions(seed=1, top_k=1, frequency_penalty=0, presence_penalty=0, stop_sequences=["a"]),
        [(f"options.{name}", name) for name in (
            "top_k", "stop_sequences", "frequency_penalty", "presence_penalty", "seed"
        )],
    ),
    "removed": (ChatOptions(top_p=UNSET), [("options.removed", "removed")]),
    "extra for an option": (ChatOptions(extra={"temperature": 1}), [("options.extra", "spelling")]),
    "tool metadata": (
        ChatOptions(tools=[ToolDefinition("f", metadata={"k": 1})]),
        [("options.tools[0].metadata.k", "metadata")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), OTHER_OPTIONS.values(), ids=OTHER_OPTIONS)
def test_losses_of_options(options: ChatOptions, expected: list[tuple[str, str]]) -> None:
    losses = openai_responses.to_request(Prompt(Q, options)).losses

    assert [(loss.path, loss.what) for loss in losses] == expected


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("Hi", "a request is made of a Prompt, not of str"),
        (Prompt([]), "messages: the prompt has no messages"),
        (Prompt(AssistantMessage()), "holds nothing that can be sent"),
        (Prompt("x", options=ChatOptions(extra={"input": []})), "options.extra: input stands in the prompt"),
        (
            Prompt("x", options=ChatOptions(extra={"instructions": ""})),
            "options.extra: instructions stand in the prompt",
        ),
        (Prompt("x", options=ChatOptions(extra={"a": [b"x"]})), r"options.extra.a\[0\]: bytes cannot stand"),
    ],
)
def test_what_no_body_can_say_is_refused(prompt: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        openai_responses.to_request(prompt)


def _unordered(losses: tuple[Loss, ...]) -> list[Loss]:
    return [loss for loss in losses if loss.what not in ORDER]


@settings(max_examples=50)
@given(strategies.prompts())
def test_every_prompt_comes_back_or_has_a_loss(prompt: Prompt) -> None:
    try:
        request = openai_responses.to_request(prompt)
    except AdapterError as error:
        assert not prompt.messages or "bytes" in str(error) or "nothing" in str(error)  # noqa: PT017
        return
    read = openai_responses.from_request(request.body)
    again = openai_responses.to_request(read)

    assert json.loads(json.dumps(request.body)) == request.body
    assert read == prompt or request.losses
    assert (again.body, _unordered(again.losses)) == (request.body, [])


@given(strategies.messages())
def test_a_message_that_comes_back_has_no_loss(message: Message) -> None:
    try:
        request = openai_responses.to_request(Prompt(message))
    except AdapterError as error:
        assert "bytes" in str(error) or "nothing" in str(error)  # noqa: PT017
        return
    same = openai_responses.from_request(request.body) == Prompt(message)
    assert bool(_unordered(request.losses)) == (not same)


@given(bodies())
def test_every_body_comes_back_in_its_canonical_form(body: dict[str, Any]) -> None:
    before = json.dumps(body)
    request = openai_responses.to_request(openai_responses.from_request(body))

    assert json.dumps(body) == before
    assert request.body == canonical(body)
    assert _unordered(request.losses) == []


@settings(max_examples=60)
@given(bodies())
def test_the_types_of_the_sdk_accept_the_bodies(body: dict[str, Any]) -> None:
    judge_responses(body)


WRITTEN: dict[str, tuple[dict[str, Any], list[Message]]] = {
    "a text": ({"input": "Hi"}, [UserMessage("Hi")]),
    "all in full": (
        {
            "input": [
                {"type": "message", "role": "user", "content": "q"},
                CALL_ITEM,
                RESULT_ITEM,
                {"role": "user", "content": "q"},
                said(output("x") | {"logprobs": []}, {"type": "input_text", "text": "y"}, id="m"),
                {"role": "system", "content": "S"},
            ]
        },
        [Q, AssistantMessage(tool_calls=[CALL]), RESULT, Q, AssistantMessage(["x", "y"], id="m"), SystemMessage("S")],
    ),
    "an answer behind results": (
        {"input": [CALL_ITEM, RESULT_ITEM, thoughts(id="r"), CALL_ITEM, {"role": "system", "content": "S"}]},
        [
            AssistantMessage(tool_calls=[CALL]),
            RESULT,
            AssistantMessage([Reasoning(metadata=own(id="r"))], tool_calls=[CALL]),
            SystemMessage("S"),
        ],
    ),
    "results before the user and the system": (
        {"input": [CALL_ITEM, RESULT_ITEM, {"role": "system", "content": "S"}, CALL_ITEM, RESULT_ITEM, Q_ITEM]},
        [AssistantMessage(tool_calls=[CALL]), RESULT, SystemMessage("S"), AssistantMessage(tool_calls=[CALL]), RESULT, Q],
    ),
    "a file without its type": (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "JVBERi0=", "filename": "a.pdf"}]}]},
        [UserMessage([Media(b"%PDF-", name="a.pdf")])],
    ),
    **{
        f"an item of the program: {kind}": ({"input": [{"type": kind}]}, [UserMessage([Opaque(FORMAT, {"type": kind})])])
        for kind in (
            "additional_tools", "apply_patch_call_output", "compaction_trigger", "computer_call_output",
            "custom_tool_call_output", "local_shell_call_output", "mcp_approval_response", "shell_call_output",
        )
    },
    "parts of tomorrow": (
        {"input": [{"role": "user", "content": [{"type": "new"}, {"type": "input_new"}]}, said({"type": "new"}, id="m")]},
        [
            UserMessage([Opaque(FORMAT, {"type": "new"}, metadata=own(message={})), Opaque(FORMAT, {"type": "input_new"})]),
            AssistantMessage([Opaque(FORMAT, {"type": "new"}, metadata=own(message={}))], id="m"),
        ],
    ),
    "thoughts that are shown": (
        {"input": [thoughts(content=[{"type": "reasoning_text", "text": "hm"}], id="r")]},
        [AssistantMessage([Reasoning("hm", metadata=own(id="r", content=[{"type": "reasoning_text", "text": "hm"}]))])],
    ),
    "a result that answers nothing": (
        {"input": [{"type": "function_call_output", "output": "x"}]},
        [UserMessage([Opaque(FORMAT, {"type": "function_call_output", "output": "x"})])],
    ),
    "a message without parts": ({"input": [said(id="m")]}, [AssistantMessage([Opaque(FORMAT, said(id="m"))])]),
    "media that are none": (
        {"input": [{"role": "user", "content": [{"type": "input_image"}, {"type": "input_file"}]}]},
        [UserMessage([Opaque(FORMAT, {"type": "input_image"}), Opaque(FORMAT, {"type": "input_file"})])],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "messages"), WRITTEN.values(), ids=WRITTEN)
def test_bodies_written_by_hand(body: dict[str, Any], messages: list[Message]) -> None:
    prompt = openai_responses.from_request(body)
    again = openai_responses.to_request(prompt)

    assert prompt == Prompt(messages)
    assert openai_responses.from_request(again.body) == prompt
    assert _unordered(again.losses) == []


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (None, "a request must be a mapping"),
        ({"input": 5}, "input: must be a str or a list, not 5"),
        ({"input": [], "instructions": []}, "instructions: must be a str"),
        ({"input": ["x"]}, r"input\[0\]: an item must be a mapping"),
        ({"input": [Q_ITEM, {"role": "robot", "content": "x"}]}, r"input\[1\]: role must be one of .* not 'robot'"),
        ({"input": [{"role": "user"}]}, r"input\[0\]: content must be a str or a list of parts, not None"),
        ({"input": [{"role": "user", "content": [5]}]}, r"input\[0\]: content\[0\]: a part must be a mapping"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, r"content\[0\]: text must be a str"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "%"}]}]},
            r"content\[0\]: the media data is not base64",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": 5}]}]},
            r"content\[0\]: file_id must be a str",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": 5}]}]},
            r"content\[0\]: image_url must be a str",
        ),
        ({"input": [{"type": "input_text", "text": "x"}]}, r"input\[0\]: a part of the type 'input_text' must stand"),
        ({"input": [{"type": "output_text", "text": "x"}]}, r"input\[0\]: a part of the type 'output_text' must stand"),
        ({"input": [{"role": "assistant", "content": "x", "id": 5}]}, r"input\[0\]: id must be a str"),
        ({"input": [{"type": "function_call", "call_id": "a"}]}, r"input\[0\]: name must be a str"),
        ({"input": [CALL_ITEM | {"arguments": {}}, Q_ITEM]}, r"input\[0\]: arguments must be a str"),
        ({"input": [{"type": "reasoning", "summary": "x"}]}, r"input\[0\]: summary must be a list"),
        ({"input": [], "temperature": "hot"}, "options: temperature must be"),
        ({"input": [], "tools": ["x"]}, r"options: tools\[0\]: must be a mapping"),
    ],
)
def test_damaged_bodies_are_refused_with_their_place(body: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        openai_responses.from_request(body)
