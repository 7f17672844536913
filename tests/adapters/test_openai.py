"""Chat Completions both ways: nothing is lost quietly, and streams read as whole answers do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings

from promptkit.adapters import openai
from promptkit.adapters.base import NOTES, Converted, Loss
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import (
    AdapterError,
    UnsupportedContentError,
)
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    MessageType,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import UNSET, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from tests import strategies
from tests.adapters.judges import judge_openai
from tests.adapters.openai_bodies import bodies, canonical

WAV = Media(b"RIFF\0\0\0\0WAVE", "audio/wav")
PNG = Media(b"\x89PNG\r\n\x1a\n", "image/png")
PDF = Media(b"%PDF-1.7", name="a.pdf")
WEATHER = ToolDefinition("weather", "Tell the weather.", input_schema={"type": "object", "properties": {}})
SCHEMA = {"type": "object", "title": "Person", "properties": {"name": {"type": "string"}}}


def body_of(*messages: Message, options: ChatOptions | None = None) -> dict[str, Any]:
    return openai.to_request(Prompt(messages, options)).body


def losses_of(*messages: Message, options: ChatOptions | None = None) -> list[tuple[str, str]]:
    return [(loss.path, loss.what) for loss in openai.to_request(Prompt(messages, options)).losses]


CALL = ToolCall("c1", "weather", arguments='{"city": "Oslo"}')
CALL_BODY = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}

MESSAGES: dict[str, tuple[Message, dict[str, Any]]] = {
    "system": (SystemMessage("Be brief."), {"role": "system", "content": "Be brief."}),
    "developer": (
        SystemMessage("Be brief.", metadata={"openai": {"role": "developer"}}),
        {"role": "developer", "content": "Be brief."},
    ),
    "user": (UserMessage("Hi", name="Ada"), {"role": "user", "content": "Hi", "name": "Ada"}),
    "own fields": (
        UserMessage([Text("Hi", metadata={"openai": {"prompt_cache_breakpoint": {"mode": "explicit"}}})]),
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        },
    ),
    "image url": (
        UserMessage(["Look:", Media(url="https://h/cat.png", metadata={"openai": {"image_url": {"detail": "low"}}})]),
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "https://h/cat.png", "detail": "low"}},
            ],
        },
    ),
    "image bytes": (
        UserMessage([PNG]),
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG.data_uri}}]},
    ),
    "audio": (
        UserMessage([WAV]),
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": WAV.base64, "format": "wav"}}],
        },
    ),
    "file bytes": (
        UserMessage([PDF]),
        {
            "role": "user",
            "content": [{"type": "file", "file": {"file_data": PDF.data_uri, "filename": "a.pdf"}}],
        },
    ),
    "file id": (
        UserMessage([Media(file_id="file-1")]),
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
    ),
    "opaque": (
        UserMessage([Opaque("openai", {"type": "new", "x": [1]})]),
        {"role": "user", "content": [{"type": "new", "x": [1]}]},
    ),
    "calls": (AssistantMessage(tool_calls=[CALL]), {"role": "assistant", "tool_calls": [CALL_BODY]}),
    "text and calls": (
        AssistantMessage("Wait.", tool_calls=[CALL]),
        {"role": "assistant", "content": "Wait.", "tool_calls": [CALL_BODY]},
    ),
    "signed call": (
        AssistantMessage(tool_calls=[CALL.mutate(metadata={"openai": {"extra_content": {"sig": "s"}}})]),
        {"role": "assistant", "tool_calls": [CALL_BODY | {"extra_content": {"sig": "s"}}]},
    ),
    "refusal": (
        AssistantMessage([Text("No.", metadata={"refusal": True})]),
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ),
    "sound": (
        AssistantMessage([Media(file_id="audio_1", mime_type="audio/*")]),
        {"role": "assistant", "audio": {"id": "audio_1"}},
    ),
    "custom call": (
        AssistantMessage([Opaque("openai", {"type": "custom", "id": "c2", "custom": {"name": "sh", "input": "ls"}})]),
        {
            "role": "assistant",
            "tool_calls": [{"type": "custom", "id": "c2", "custom": {"name": "sh", "input": "ls"}}],
        },
    ),
    "deprecated call": (
        AssistantMessage(tool_calls=[ToolCall(None, "f", metadata={"openai": {"deprecated": True}})]),
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
    ),
    "deprecated result": (
        ToolResponseMessage(ToolResponse(None, "f", content="1", metadata={"openai": {"deprecated": True}})),
        {"role": "function", "name": "f", "content": "1"},
    ),
}


@pytest.mark.parametrize(("message", "wire"), MESSAGES.values(), ids=MESSAGES)
def test_messages_go_out_and_come_back(message: Message, wire: dict[str, Any]) -> None:
    converted = openai.to_request(Prompt(message))

    assert converted == Converted({"messages": [wire]})
    assert json.loads(json.dumps(converted.body)) == converted.body
    assert openai.from_request(converted.body) == Prompt(message)


def test_results_of_one_turn_are_one_message_and_take_their_names_from_the_calls() -> None:
    prompt = Prompt(
        [
            AssistantMessage(tool_calls=[ToolCall("a", "f"), ToolCall("b", "g")]),
            ToolResponseMessage([ToolResponse("a", "f", content="1"), ToolResponse("b", "g", content="")]),
            UserMessage("and?"),
        ]
    )
    converted = openai.to_request(prompt)

    assert converted.losses == ()
    assert [message["role"] for message in converted.body["messages"]] == ["assistant", "tool", "tool", "user"]
    assert converted.body["messages"][2] == {"role": "tool", "tool_call_id": "b", "content": ""}
    assert openai.from_request(converted.body) == prompt


def test_calls_without_ids_get_them_from_their_place_and_results_find_them() -> None:
    converted = openai.to_request(
        Prompt(
            [
                AssistantMessage(tool_calls=[ToolCall(None, "f"), ToolCall("b", "g")]),
                ToolResponseMessage([ToolResponse(None, "f", content="1"), ToolResponse(None, "g", content="2")]),
            ]
        )
    )
    assistant, *results = converted.body["messages"]

    assert [call["id"] for call in assistant["tool_calls"]] == ["call_0_0", "b"]
    assert [result["tool_call_id"] for result in results] == ["call_0_0", "b"]
    assert [(loss.path, loss.what) for loss in converted.losses] == [
        ("messages[0].tool_calls[0].id", "id"),
        ("messages[1].responses[0].id", "id"),
        ("messages[1].responses[1].id", "id"),
    ]


def test_results_that_follow_each_other_read_back_as_one_message() -> None:
    calls = AssistantMessage(tool_calls=[ToolCall("a", "f"), ToolCall("b", "g")])
    results = [ToolResponseMessage(ToolResponse("a", "f")), ToolResponseMessage(ToolResponse("b", "g"))]

    assert losses_of(calls, *results) == [("messages[2]", "spelling")]


def test_calls_that_cannot_be_carried_out_are_sent() -> None:
    invalid = [InvalidToolCall(None, "f", arguments='{"a'), InvalidToolCall("c", "g")]

    assert body_of(AssistantMessage(invalid_tool_calls=invalid))["messages"][0]["tool_calls"] == [
        {"id": "call_0_0", "type": "function", "function": {"name": "f", "arguments": '{"a'}},
        {"id": "c", "type": "function", "function": {"name": "g", "arguments": ""}},
    ]


@pytest.mark.parametrize(
    ("mime_type", "name"),
    [(f"audio/{kind}", "wav") for kind in ("wav", "wave", "x-wav", "vnd.wave", "wav; rate=8000")]
    + [("audio/mpeg", "mp3"), ("audio/mp3", "mp3")],
)
def test_the_format_of_a_sound_has_one_name(mime_type: str, name: str) -> None:
    part = body_of(UserMessage([Media(b"x", mime_type)]))["messages"][0]["content"][0]

    assert part == {"type": "input_audio", "input_audio": {"data": "eA==", "format": name}}


class OwnMessage:
    message_type = MessageType.USER
    content = "Hi"
    metadata: dict[str, Any] = {}  # noqa: RUF012 - a reader's own class, as simple as it gets


LOSSES: dict[str, tuple[Message, list[tuple[str, str]]]] = {
    "message id": (UserMessage("x", id="m1"), [("messages[0].id", "id")]),
    "message metadata": (UserMessage("x", metadata={"k": 1}), [("messages[0].metadata.k", "metadata")]),
    "own class": (OwnMessage(), [("messages[0]", "class")]),
    "own field in the way": (
        UserMessage("x", metadata={"openai": {"content": "y"}}),
        [("messages[0].metadata.openai.content", "metadata")],
    ),
    "empty own fields": (UserMessage("x", metadata={"openai": {}}), [("messages[0].metadata.openai", "metadata")]),
    "part metadata": (
        UserMessage([Text("x", metadata={"cache": True})]),
        [("messages[0].content[0].metadata.cache", "metadata")],
    ),
    "image of a system message": (SystemMessage([PNG]), [("messages[0].content[0]", "image")]),
    "image of an answer": (AssistantMessage([PNG]), [("messages[0].content[0]", "image")]),
    "type of a file id": (
        UserMessage([Media(file_id="f", mime_type="image/png")]),
        [("messages[0].content[0].mime_type", "mime_type")],
    ),
    "type of an image url": (
        UserMessage([Media(url="https://h/x", mime_type="image/png")]),
        [("messages[0].content[0].mime_type", "mime_type")],
    ),
    "image name": (UserMessage([PNG.mutate(name="a.png")]), [("messages[0].content[0].name", "name")]),
    "image id": (UserMessage([PNG.mutate(id="i1")]), [("messages[0].content[0].id", "id")]),
    "document by url": (
        UserMessage([Media(url="https://h/a.pdf")]),
        [("messages[0].content[0]", "document")],
    ),
    "document without a name": (
        UserMessage([PDF.mutate(name=None)]),
        [("messages[0].content[0].name", "name")],
    ),
    "other audio": (UserMessage([Media(b"x", "audio/ogg")]), [("messages[0].content[0]", "audio")]),
    "video": (UserMessage([Media(url="https://h/a.mp4")]), [("messages[0].content[0]", "video")]),
    "reasoning": (AssistantMessage([Reasoning("hm"), "x"]), [("messages[0].content[0]", "reasoning")]),
    "opaque of another vendor": (
        AssistantMessage([Opaque("anthropic", {"type": "x"})]),
        [("messages[0].content[0]", "opaque")],
    ),
    "opaque that is known": (
        UserMessage([Opaque("openai", {"type": "text", "text": "x"})]),
        [("messages[0].content[0]", "spelling")],
    ),
    **{
        f"opaque that is known as {part['type']}": (
            UserMessage([Opaque("openai", part)]),
            [("messages[0].content[0]", "spelling")],
        )
        for part in (
            {"type": "refusal", "refusal": "x"},
            {"type": "image_url", "image_url": {"url": "https://h/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f"}},
        )
    },
    "metadata of opaque parts": (
        UserMessage([Opaque("openai", {"type": "new"}, metadata={"k": 1})]),
        [("messages[0].content[0].metadata.k", "metadata")],
    ),
    "metadata of custom calls": (
        AssistantMessage([Opaque("openai", {"type": "custom", "id": "c"}, metadata={"k": 1})]),
        [("messages[0].content[0].metadata.k", "metadata")],
    ),
    "sound before text": (
        AssistantMessage([Media(file_id="a", mime_type="audio/*"), "x"]),
        [("messages[0].content", "spelling")],
    ),
    "empty text beside sound": (
        AssistantMessage([Text("", metadata={}), Media(file_id="a", mime_type="audio/*")]),
        [("messages[0].content", "spelling")],
    ),
    "sound without an id": (AssistantMessage([WAV]), [("messages[0].content[0]", "audio")]),
    "sound with an id": (AssistantMessage([WAV.mutate(id="a1")]), [("messages[0].content[0]", "spelling")]),
    "text after a custom call": (
        AssistantMessage([Opaque("openai", {"type": "custom", "id": "c"}), "x"]),
        [("messages[0].content", "spelling")],
    ),
    "empty text beside calls": (
        AssistantMessage("", tool_calls=[CALL]),
        [("messages[0].content", "spelling")],
    ),
    "invalid call": (
        AssistantMessage(invalid_tool_calls=[InvalidToolCall("c1", "f", arguments='{"a')]),
        [("messages[0].invalid_tool_calls[0]", "spelling")],
    ),
    "nameless call": (
        AssistantMessage(invalid_tool_calls=[InvalidToolCall("c1", None)]),
        [("messages[0].invalid_tool_calls[0]", "tools")],
    ),
    "result": (
        ToolResponseMessage(
            ToolResponse("c1", "f", content=[PNG], status="error", artifact={"rows": [b"x"]}, metadata={"k": 1}),
            id="m1",
            name="n",
            metadata={"j": 1},
        ),
        [
            ("messages[0].name", "name"),
            ("messages[0].id", "id"),
            ("messages[0].metadata.j", "metadata"),
            ("messages[0].responses[0].status", "status"),
            ("messages[0].responses[0].artifact", "artifact"),
            ("messages[0].responses[0].content[0]", "image"),
            ("messages[0].responses[0].name", "name"),
            ("messages[0].responses[0].metadata.k", "metadata"),
        ],
    ),
}


@pytest.mark.parametrize(("message", "expected"), LOSSES.values(), ids=LOSSES)
def test_losses_name_place_and_thing(message: Message, expected: list[tuple[str, str]]) -> None:
    prompt = Prompt(message)
    converted = openai.to_request(prompt)

    assert [(loss.path, loss.what) for loss in converted.losses] == expected
    assert all(loss.why for loss in converted.losses)
    assert openai.from_request(converted.body) != prompt
    with pytest.raises(UnsupportedContentError) as caught:
        openai.to_request(prompt, strict=True)
    assert (caught.value.format, caught.value.path, caught.value.feature) == ("openai", *expected[0])


def test_models_pass_over_notes_and_refuse_the_rest() -> None:
    note, loss = Loss("a", "id", "no ids"), Loss("b", "image", "no images")

    assert set(NOTES) == {
        "artifact", "class", "id", "metadata", "mime_type", "name", "reasoning", "removed", "role", "spelling", "status",
    }  # fmt: skip
    assert Converted({}, (note,)).require("openai") == Converted({}, (note,))
    with pytest.raises(UnsupportedContentError, match="b: no images"):
        Converted({}, (note, loss)).require("openai")


OPTIONS: dict[str, tuple[ChatOptions, dict[str, Any]]] = {
    "all sampling": (
        ChatOptions(
            model="m",
            temperature=0,
            top_p=1.0,
            max_tokens=9,
            stop_sequences=["a", "b"],
            frequency_penalty=0.5,
            presence_penalty=-1,
            seed=7,
        ),
        {
            "model": "m",
            "temperature": 0,
            "top_p": 1.0,
            "max_completion_tokens": 9,
            "stop": ["a", "b"],
            "frequency_penalty": 0.5,
            "presence_penalty": -1,
            "seed": 7,
        },
    ),
    "nothing": (ChatOptions(), {}),
    "empty values are set": (ChatOptions(model="", stop_sequences=()), {"model": "", "stop": []}),
    "tools": (
        ChatOptions(tools=[WEATHER], tool_choice="required"),
        {
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "weather",
                        "description": "Tell the weather.",
                        "parameters": {"type": "object", "properties": {}},
                    },
                }
            ],
            "tool_choice": "required",
        },
    ),
    "strict tool, custom tool": (
        ChatOptions(
            tools=[ToolDefinition("f", metadata={"openai": {"function": {"strict": True}}})],
            extra={"tools": [{"type": "custom", "custom": {"name": "sh"}}]},
        ),
        {
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}, "strict": True},
                },
                {"type": "custom", "custom": {"name": "sh"}},
            ],
        },
    ),
    "auto": (ChatOptions(tool_choice="auto"), {"tool_choice": "auto"}),
    "none": (ChatOptions(tool_choice="none"), {"tool_choice": "none"}),
    "chosen tool": (
        ChatOptions(tool_choice="weather"),
        {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
    ),
    "schema": (
        ChatOptions(output_schema=SCHEMA),
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "Person", "schema": SCHEMA, "strict": True},
            }
        },
    ),
    "schema, said otherwise": (
        ChatOptions(
            output_schema=SCHEMA,
            extra={"response_format": {"json_schema": {"name": "p", "description": "A person.", "strict": None}}},
        ),
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "p", "description": "A person.", "schema": SCHEMA},
            }
        },
    ),
    "any JSON": (
        ChatOptions(extra={"response_format": {"type": "json_object"}, "n": 2}),
        {"response_format": {"type": "json_object"}, "n": 2},
    ),
}


@pytest.mark.parametrize(("options", "wire"), OPTIONS.values(), ids=OPTIONS)
def test_options_go_out_and_come_back(options: ChatOptions, wire: dict[str, Any]) -> None:
    prompt = Prompt("Hi", options=options)
    converted = openai.to_request(prompt, strict=True)

    assert converted.body == {"messages": [{"role": "user", "content": "Hi"}]} | wire
    assert openai.from_request(converted.body) == prompt


OPTION_LOSSES = {
    "top_k": (ChatOptions(top_k=4), [("options.top_k", "top_k")]),
    "no tools": (ChatOptions(tools=()), [("options.tools", "spelling")]),
    "removed": (ChatOptions(seed=UNSET), [("options.removed", "removed")]),
    "extra that is an option": (ChatOptions(extra={"temperature": 1}), [("options.extra", "spelling")]),
    "tool metadata": (
        ChatOptions(tools=[WEATHER.mutate(metadata={"cache": 1})]),
        [("options.tools[0].metadata.cache", "metadata")],
    ),
}


@pytest.mark.parametrize(("options", "expected"), OPTION_LOSSES.values(), ids=OPTION_LOSSES)
def test_losses_of_options(options: ChatOptions, expected: list[tuple[str, str]]) -> None:
    assert losses_of(UserMessage("x"), options=options) == expected


def test_extra_settings_win_over_options() -> None:
    options = ChatOptions(
        temperature=0, output_schema=SCHEMA, extra={"temperature": 1, "response_format": {"type": "text"}}
    )

    body = body_of(UserMessage("x"), options=options)

    assert body["temperature"] == 1
    assert body["response_format"] == {"type": "text"}


def test_an_extra_setting_of_none_takes_an_option_out() -> None:
    assert body_of(UserMessage("x"), options=ChatOptions(temperature=0, extra={"temperature": None})) == {
        "messages": [{"role": "user", "content": "x"}]
    }


@pytest.mark.parametrize(
    ("role", "read"), [("system", SystemMessage("S")), ("developer", SystemMessage("S")), ("user", UserMessage("S"))]
)
def test_the_role_of_system_messages_is_chosen_by_the_dialect(role: Any, read: Message) -> None:
    dialect = openai.OPENAI.mutate(system_role=role)
    converted = openai.to_request(Prompt([SystemMessage("S"), UserMessage("q")]), dialect=dialect)

    assert [message["role"] for message in converted.body["messages"]] == [role, "user"]
    assert openai.from_request(converted.body, dialect=dialect)[0] == read
    assert [loss.what for loss in converted.losses] == (["role"] if role == "user" else [])


def test_reasoning_goes_where_the_dialect_has_it() -> None:
    dialect = openai.OPENAI.mutate(reasoning_key="reasoning_content")
    prompt = Prompt(AssistantMessage([Reasoning("hm"), "Yes."]))
    converted = openai.to_request(prompt, dialect=dialect, strict=True)

    assert converted.body["messages"] == [{"role": "assistant", "content": "Yes.", "reasoning_content": "hm"}]
    assert openai.from_request(converted.body) == prompt


def test_reasoning_reads_back_first_and_joined() -> None:
    dialect = openai.OPENAI.mutate(reasoning_key="reasoning")
    prompt = Prompt(AssistantMessage(["x", Reasoning("a", metadata={"k": 1}), Reasoning("b")]))
    converted = openai.to_request(prompt, dialect=dialect)

    assert converted.body["messages"] == [{"role": "assistant", "reasoning": "ab", "content": "x"}]
    assert [(loss.path, loss.what) for loss in converted.losses] == [
        ("messages[0].content[1].metadata.k", "metadata"),
        ("messages[0].content", "spelling"),
    ]


def test_a_system_message_keeps_its_role_in_a_dialect_with_another() -> None:
    dialect = openai.OPENAI.mutate(system_role="developer")
    prompt = Prompt(SystemMessage("S", metadata={"openai": {"role": "system"}}))
    converted = openai.to_request(prompt, dialect=dialect, strict=True)

    assert converted.body["messages"] == [{"role": "system", "content": "S"}]
    assert openai.from_request(converted.body, dialect=dialect) == prompt


def test_a_dialect_can_refuse_content() -> None:
    dialect = openai.OPENAI.mutate(name="tiny", refuses=frozenset(("image", "tools", "opaque", "audio")))
    prompt = Prompt(
        [
            UserMessage([PNG]),
            AssistantMessage(
                [Media(file_id="a", mime_type="audio/*"), Opaque("openai", {"type": "custom"})], tool_calls=[CALL]
            ),
            ToolResponseMessage(ToolResponse("c1", content="1")),
        ],
        ChatOptions(tools=[WEATHER], tool_choice="auto"),
    )
    converted = openai.to_request(prompt, dialect=dialect)

    assert [loss.what for loss in converted.losses] == ["image", "tools", "audio", "tools", "tools", "tools", "tools"]
    assert converted.body == {"messages": [{"role": "user", "content": []}, {"role": "assistant"}]}
    with pytest.raises(UnsupportedContentError, match="tiny takes no image here; messages") as caught:
        converted.require("tiny")
    assert caught.value.feature == "image"


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("Hi", "a request is made of a Prompt, not of str"),
        (Prompt([]), "messages: the prompt has no messages"),
        (Prompt("x", options=ChatOptions(extra={"messages": []})), "options.extra: messages stand in the prompt"),
        (Prompt("x", options=ChatOptions(extra={"a": [b"x"]})), r"options.extra.a\[0\]: bytes cannot stand"),
    ],
)
def test_what_no_body_can_say_is_refused(prompt: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        openai.to_request(prompt)


@settings(max_examples=50)
@given(strategies.prompts())
def test_every_prompt_comes_back_or_has_a_loss(prompt: Prompt) -> None:
    try:
        converted = openai.to_request(prompt)
    except AdapterError as error:
        assert not prompt.messages or "bytes" in str(error)  # noqa: PT017 - either refusal is right
        return
    read = openai.from_request(converted.body)

    assert json.loads(json.dumps(converted.body)) == converted.body
    assert read == prompt or converted.losses
    assert openai.to_request(read, strict=True).body == converted.body


@given(strategies.messages())
def test_a_message_that_comes_back_has_no_loss(message: Message) -> None:
    try:
        converted = openai.to_request(Prompt(message))
    except AdapterError as error:
        assert "bytes" in str(error)  # noqa: PT017
        return
    assert bool(converted.losses) == (openai.from_request(converted.body) != Prompt(message))


@given(bodies())
def test_every_body_comes_back_in_its_canonical_form(body: dict[str, Any]) -> None:
    before = json.dumps(body)
    prompt = openai.from_request(body)

    assert json.dumps(body) == before
    assert openai.to_request(prompt, strict=True).body == canonical(body)


WRITTEN: dict[str, tuple[dict[str, Any], Message]] = {
    "refusal beside text": (
        {"role": "assistant", "content": "Hm.", "refusal": "No."},
        AssistantMessage(["Hm.", Text("No.", metadata={"refusal": True})]),
    ),
    "reasoning": (
        {"role": "assistant", "content": "x", "reasoning": "hm"},
        AssistantMessage([Reasoning("hm"), "x"]),
    ),
    "file without its type": (
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "JVBERi0=", "filename": "a.pdf"}}]},
        UserMessage([Media(b"%PDF-", name="a.pdf")]),
    ),
}


@pytest.mark.parametrize(("wire", "message"), WRITTEN.values(), ids=WRITTEN)
def test_messages_written_by_hand(wire: dict[str, Any], message: Message) -> None:
    assert openai.from_request({"messages": [wire]}) == Prompt(message)


def test_one_stop_sequence_may_stand_alone() -> None:
    assert openai.from_request({"messages": [], "stop": "END"}).options == ChatOptions(stop_sequences=["END"])


KNOWN = [wire for name, (_, wire) in MESSAGES.items() if name not in ("opaque", "signed call")]


@pytest.mark.parametrize("rest", [wire for _, wire in OPTIONS.values()], ids=OPTIONS)
def test_the_types_of_the_sdk_accept_what_is_written(rest: dict[str, Any]) -> None:
    judge_openai({"messages": KNOWN, **rest})


@settings(max_examples=60)
@given(bodies())
def test_the_types_of_the_sdk_accept_the_bodies(body: dict[str, Any]) -> None:
    written = canonical(body)
    assume(not any(word in json.dumps(written) for word in ("of_tomorrow", "extra_content")))
    judge_openai(written)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (None, "a request must be a mapping"),
        ({}, "messages: must be a list, not None"),
        ({"messages": "x"}, "messages: must be a list"),
        ({"messages": ["x"]}, r"messages\[0\]: a message must be a mapping"),
        ({"messages": [{"role": "robot", "content": "x"}]}, r"messages\[0\]: role must be one of .* not 'robot'"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, r"messages\[0\]: role must be one of"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]: content of a message of role 'user' is missing"),
        ({"messages": [{"role": "user", "content": 5}]}, r"messages\[0\]: content must be a str or a list of parts"),
        ({"messages": [{"role": "user", "content": [5]}]}, r"messages\[0\]: content\[0\]: a part must be a mapping"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, r"content\[0\]: text must be a str"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            r"content\[0\]: the part has no 'url'",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]},
            r"content\[0\]: image_url must be a mapping",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
            r"messages\[0\]: content\[0\]: ",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "%"}}]}]},
            r"content\[0\]: the media data is not base64",
        ),
        ({"messages": [{"role": "tool", "content": "x"}]}, r"messages\[0\]: a tool message must have a tool_call_id"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]},
            r"messages\[0\]: tool_calls\[0\]: function must be a mapping",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": ["a"]}]},
            r"messages\[0\]: tool_calls\[0\]: a call must be a mapping",
        ),
        ({"messages": [], "temperature": "hot"}, "options: temperature must be"),
        ({"messages": [], "tools": ["x"]}, r"tools\[0\]: must be a mapping"),
        ({"messages": [], "tools": [{"type": "function"}]}, "function must be a mapping"),
    ],
)
def test_damaged_bodies_are_refused_with_their_place(body: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        openai.from_request(body)
