"""The generateContent format both ways: nothing is lost quietly, and bodies come back in one stated form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from promptkit.adapters import gemini
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
from promptkit.options import NO_OPTIONS, UNSET, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from tests import strategies
from tests.adapters.gemini_bodies import CODE, FILE, RAN, bodies, canonical, sdk_bodies
from tests.adapters.judges import judge_gemini, spelled_alike

PNG = Media(b"\x89PNG\r\n\x1a\n", "image/png")
PNG_PART = {"inlineData": {"mimeType": "image/png", "data": PNG.base64}}
BITMAP = {"inlineData": {"mimeType": "image/bmp", "data": "Qk0="}}
SIGNED = {"gemini": {"thoughtSignature": "c2ln"}}
CALL = ToolCall("c1", "weather", arguments='{"city":"Oslo"}')
RESULT = ToolResponseMessage(ToolResponse("c1", "weather", content="3 degrees"))
CALL_PART = {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}}
RESULT_PART = {"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "3 degrees"}}}
SCHEMA = {"type": "object", "title": "Person", "properties": {"name": {"type": "string"}}}
ORDER = {"orphan_result", "unanswered_call", "roles_do_not_alternate", "leading_assistant"} | {
    "absent_content",
    "empty_content",
}


def converted(*messages: Message, options: ChatOptions = NO_OPTIONS, **how: Any) -> Converted:
    return gemini.to_request(Prompt(messages, options), **how)


def losses_of(*messages: Message, options: ChatOptions = NO_OPTIONS) -> list[tuple[str, str]]:
    return [(loss.path, loss.what) for loss in converted(*messages, options=options).losses]


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def text(words: str, **own: Any) -> dict[str, Any]:
    return {"text": words, **own}


def result(response: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": "c1", "name": "weather", "response": response, **rest}}


def answered(*responses: ToolResponse) -> list[Message]:
    """A turn in which calls get these results."""
    calls = [ToolCall(response.id, response.name or "weather") for response in responses]
    return [Q, AssistantMessage(tool_calls=calls), ToolResponseMessage(responses)]


Q, Q_BODY = UserMessage("q"), user(text("q"))

MESSAGES: dict[str, tuple[list[Message], list[dict[str, Any]]]] = {
    "user": ([UserMessage("Hi")], [user(text("Hi"))]),
    "image, sound, document": (
        [UserMessage(["Look:", PNG, Media(b"x", "audio/wav"), Media(b"%PDF-"), Media(b"a,b", "text/csv")])],
        [
            user(
                text("Look:"),
                PNG_PART,
                {"inlineData": {"mimeType": "audio/wav", "data": "eA=="}},
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
                {"inlineData": {"mimeType": "text/csv", "data": "YSxi"}},
            )
        ],
    ),
    "files": (
        [
            UserMessage(
                [
                    Media(file_id=FILE),
                    Media(file_id="files/abc", mime_type="video/mp4"),
                    Media(url="gs://bucket/film.mp4"),
                    Media(url="https://example.org/cat.png", mime_type="image/*"),
                    Media(url="https://youtu.be/x", mime_type="video/*", metadata={"gemini": {"videoMetadata": {"fps": 2.0}}}),
                    Media(url="https://[x/y", mime_type="application/*"),
                ]
            )
        ],
        [
            user(
                {"fileData": {"fileUri": FILE}},
                {"fileData": {"fileUri": "files/abc", "mimeType": "video/mp4"}},
                {"fileData": {"fileUri": "gs://bucket/film.mp4", "mimeType": "video/mp4"}},
                {"fileData": {"fileUri": "https://example.org/cat.png"}},
                {"fileData": {"fileUri": "https://youtu.be/x"}, "videoMetadata": {"fps": 2.0}},
                {"fileData": {"fileUri": "https://[x/y"}},
            )
        ],
    ),
    "turn with a tool": (
        [Q, AssistantMessage(tool_calls=[CALL]), RESULT, AssistantMessage("Cold.")],
        [Q_BODY, model(CALL_PART), user(RESULT_PART), model(text("Cold."))],
    ),
    "words around calls": (
        [Q, AssistantMessage("Wait.", tool_calls=[CALL]), RESULT, UserMessage("and?")],
        [Q_BODY, model(text("Wait."), CALL_PART), user(RESULT_PART), user(text("and?"))],
    ),
    "calls without ids": (
        [
            Q,
            AssistantMessage(tool_calls=[ToolCall(None, "f"), ToolCall(None, "f", arguments='{"a":[1.5,null]}')]),
            ToolResponseMessage([ToolResponse(None, "f", content="1"), ToolResponse(None, "f", content="2")]),
        ],
        [
            Q_BODY,
            model({"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "f", "args": {"a": [1.5, None]}}}),
            user(
                {"functionResponse": {"name": "f", "response": {"output": "1"}}},
                {"functionResponse": {"name": "f", "response": {"output": "2"}}},
            ),
        ],
    ),
    "signatures": (
        [
            Q,
            AssistantMessage(
                [Reasoning("hm", metadata=SIGNED), Reasoning("so"), Text("Wait.", metadata=SIGNED)],
                tool_calls=[CALL.mutate(metadata=SIGNED)],
            ),
            RESULT,
        ],
        [
            Q_BODY,
            model(
                text("hm", thought=True, thoughtSignature="c2ln"),
                text("so", thought=True),
                text("Wait.", thoughtSignature="c2ln"),
                CALL_PART | {"thoughtSignature": "c2ln"},
            ),
            user(RESULT_PART),
        ],
    ),
    "what only the vendor knows": (
        [Q, AssistantMessage([Opaque("gemini", CODE), Opaque("gemini", RAN), "1", PNG])],
        [Q_BODY, model(CODE, RAN, text("1"), PNG_PART)],
    ),
    "results that are objects": (
        answered(ToolResponse("c1", "weather", content='{"t":3.5,"wind":{"output":"x"}}')),
        [Q_BODY, model({"functionCall": {"id": "c1", "name": "weather", "args": {}}}),
         user(result({"t": 3.5, "wind": {"output": "x"}}))],
    ),
    "results that only look like objects": (
        answered(*[ToolResponse("c1", "weather", content=said) for said in ('{"output":"x"}', '{"error":"x"}', '{"t": 3}', "{x", '{"a":1,"a":2}')]),
        [Q_BODY, model(*[{"functionCall": {"id": "c1", "name": "weather", "args": {}}}] * 5),
         user(*[result({"output": said}) for said in ('{"output":"x"}', '{"error":"x"}', '{"t": 3}', "{x", '{"a":1,"a":2}')])],
    ),
    "results with media": (
        answered(
            ToolResponse("c1", "weather", content=["map:", PNG.mutate(name="a.png")]),
            ToolResponse("c1", "weather", content=[PNG, Opaque("gemini", BITMAP)]),
            ToolResponse("c1", "weather", content=["{}", PNG]),
            ToolResponse("c1", "weather", content=[Media(file_id=FILE, name="a"), Media(url="gs://b/c.mp4", name="c")]),
        ),
        [
            Q_BODY,
            model(*[{"functionCall": {"id": "c1", "name": "weather", "args": {}}}] * 4),
            user(
                result({"output": "map:"}, parts=[{"inlineData": PNG_PART["inlineData"] | {"displayName": "a.png"}}]),
                result({}, parts=[PNG_PART, BITMAP]),
                result({"output": "{}"}, parts=[PNG_PART]),
                result({}, parts=[
                    {"fileData": {"fileUri": FILE, "displayName": "a"}},
                    {"fileData": {"fileUri": "gs://b/c.mp4", "mimeType": "video/mp4", "displayName": "c"}},
                ]),
            ),
        ],
    ),
    "failed results": (
        answered(
            ToolResponse("c1", "weather", content="no", status="error", metadata={"gemini": {"functionResponse": {"scheduling": "SILENT"}}}),
            ToolResponse("c1", "weather", content=["{}", PNG], status="error"),
        ),
        [
            Q_BODY,
            model(*[{"functionCall": {"id": "c1", "name": "weather", "args": {}}}] * 2),
            user(result({"error": "no"}, scheduling="SILENT"), result({"error": "{}"}, parts=[PNG_PART])),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "wire"), MESSAGES.values(), ids=MESSAGES)
def test_messages_go_out_and_come_back(messages: list[Message], wire: list[dict[str, Any]]) -> None:
    request = converted(*messages)

    assert request == Converted({"contents": wire})
    assert gemini.from_request(request.body) == Prompt(messages)
    judge_gemini(request.body)


def test_system_text_is_a_field_of_its_own() -> None:
    messages = [SystemMessage(["a", Text("b", metadata={"gemini": {"partMetadata": {"k": 1}}})]), Q]
    request = converted(*messages, strict=True)

    assert request.body["systemInstruction"] == {"parts": [text("a"), text("b", partMetadata={"k": 1})]}
    assert gemini.from_request(request.body) == Prompt(messages)
    judge_gemini(request.body)
    assert converted(SystemMessage("a"), Q).body == {"systemInstruction": {"parts": [text("a")]}, "contents": [Q_BODY]}


CONFIG = "generationConfig"
OPTIONS: dict[str, tuple[ChatOptions, dict[str, Any]]] = {
    "sampling": (
        ChatOptions(
            model="m", temperature=0, top_p=0.5, top_k=3, max_tokens=9, stop_sequences=["a"], seed=4,
            frequency_penalty=-1, presence_penalty=0.5,
        ),
        {
            "model": "m",
            CONFIG: {
                "temperature": 0, "topP": 0.5, "topK": 3, "maxOutputTokens": 9, "stopSequences": ["a"], "seed": 4,
                "frequencyPenalty": -1, "presencePenalty": 0.5,
            },
        },
    ),
    "empty values are set": (ChatOptions(stop_sequences=(), tools=()), {CONFIG: {"stopSequences": []}, "tools": []}),
    "tools": (
        ChatOptions(
            tools=[
                ToolDefinition("f", "F.", input_schema=SCHEMA, metadata={"gemini": {"behavior": "BLOCKING"}}),
                ToolDefinition("now"),
            ],
            tool_choice="required",
            extra={"tools": [{"googleSearch": {}}], "toolConfig": {"retrievalConfig": {"languageCode": "nb"}}},
        ),
        {
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "f", "description": "F.", "parametersJsonSchema": SCHEMA, "behavior": "BLOCKING"},
                        {"name": "now"},
                    ]
                },
                {"googleSearch": {}},
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {"languageCode": "nb"}},
        },
    ),
    "auto": (ChatOptions(tool_choice="auto"), {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
    "none": (ChatOptions(tool_choice="none"), {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
    "a tool": (
        ChatOptions(tool_choice="f"),
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}},
    ),
    "some tools": (
        ChatOptions(
            tool_choice="required",
            extra={"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["f", "g"]}}},
        ),
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}}},
    ),
    "schema": (
        ChatOptions(output_schema=SCHEMA, extra={CONFIG: {"thinkingConfig": {"thinkingBudget": 9}}}),
        {
            CONFIG: {
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
                "thinkingConfig": {"thinkingBudget": 9},
            }
        },
    ),
    "extra": (
        ChatOptions(
            extra={
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
                "cachedContent": "cachedContents/1",
                CONFIG: {"candidateCount": 2},
            }
        ),
        {
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            "cachedContent": "cachedContents/1",
            CONFIG: {"candidateCount": 2},
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "wire"), OPTIONS.values(), ids=OPTIONS)
def test_options_go_out_and_come_back(options: ChatOptions, wire: dict[str, Any]) -> None:
    request = converted(Q, options=options)

    assert request == Converted(wire | {"contents": [Q_BODY]})
    assert gemini.from_request(request.body) == Prompt(Q, options)
    judge_gemini(request.body)


OTHER_OPTIONS: dict[str, tuple[ChatOptions, list[tuple[str, str]]]] = {
    "stops": (ChatOptions(stop_sequences=list("abcdef")), [("options.stop_sequences", "stop_sequences")]),
    "removed": (ChatOptions(top_p=UNSET), [("options.removed", "removed")]),
    "extra for an option": (ChatOptions(extra={CONFIG: {"topK": 4}}), [("options.extra", "spelling")]),
    "none": (ChatOptions(temperature=1, extra={CONFIG: None}), [("options.extra", "spelling")]),
    "tool metadata": (
        ChatOptions(tools=[ToolDefinition("f", metadata={"k": 1, "gemini": {"x": None, "description": "d", "name": {}}})]),
        [
            ("options.tools[0].metadata.gemini.x", "metadata"),
            ("options.tools[0].metadata.gemini.name", "metadata"),
            ("options.tools[0].metadata.k", "metadata"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), OTHER_OPTIONS.values(), ids=OTHER_OPTIONS)
def test_losses_of_options(options: ChatOptions, expected: list[tuple[str, str]]) -> None:
    assert losses_of(Q, options=options) == expected


def test_no_more_stop_sequences_than_five() -> None:
    body = converted(Q, options=ChatOptions(stop_sequences=list("abcdef"))).body

    assert body[CONFIG]["stopSequences"] == list("abcde")


def test_schemas_of_the_vendors_own_kind_read_as_json_schema() -> None:
    parameters = {
        "type": "OBJECT",
        "description": None,
        "properties": {
            "a": {"type": "STRING", "nullable": True, "enum": ["x"], "maxLength": "9", "example": "x"},
            "b": {"anyOf": [{"type": "INTEGER"}, {"ref": "#/defs/c"}], "nullable": True},
            "d": {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": 1},
            "e": {"type": "TYPE_UNSPECIFIED", "nullable": True},
        },
        "defs": {"c": {"type": "BOOLEAN"}},
        "additionalProperties": {"type": "STRING"},
        "propertyOrdering": ["b", "a"],
    }
    tools = [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]
    (tool,) = gemini.from_request({"contents": [], "tools": tools}).options.tools or ()

    assert not tool.metadata

    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", None], "maxLength": 9, "examples": ["x"]},
            "b": {"anyOf": [{"type": "integer"}, {"$ref": "#/defs/c"}, {"type": "null"}]},
            "d": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "e": {},
        },
        "$defs": {"c": {"type": "boolean"}},
        "additionalProperties": {"type": "string"},
        "propertyOrdering": ["b", "a"],
    }


@pytest.mark.parametrize("key", ["maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"])
def test_counts_in_schemas_may_be_texts(key: str) -> None:
    schema = {"type": "OBJECT", key: "9"}
    options = gemini.from_request({"contents": [], CONFIG: {"responseSchema": schema}}).options

    assert options == ChatOptions(output_schema={"type": "object", key: 9})


def test_whole_numbers_may_have_a_point() -> None:
    config = {"topK": 3.0, "maxOutputTokens": 9.0, "seed": 4.0}

    assert gemini.from_request({"contents": [], CONFIG: config}).options == ChatOptions(top_k=3, max_tokens=9, seed=4)


LOSSES: dict[str, tuple[list[Message], list[tuple[str, str]]]] = {
    "name and id": ([UserMessage("x", name="Ada", id="m1")], [("messages[0].name", "name"), ("messages[0].id", "id")]),
    "metadata": (
        [UserMessage([Text("x", metadata={"k": 1})], metadata={"j": 1})],
        [("messages[0].content[0].metadata.k", "metadata"), ("messages[0].metadata.j", "metadata")],
    ),
    "signature of another vendor": (
        [Q, AssistantMessage([Reasoning("hm", metadata={"signature": "s"}), "x"])],
        [("messages[1].content[0].metadata.signature", "metadata")],
    ),
    "encrypted thought of another vendor": (
        [Q, AssistantMessage([Reasoning(metadata={"redacted": "s"}), "x"])],
        [("messages[1].content[0]", "reasoning")],
    ),
    "several system messages": ([SystemMessage("a"), SystemMessage("b"), Q], [("messages[1]", "spelling")]),
    "late system message": ([SystemMessage("a"), Q, SystemMessage("b")], [("messages[2]", "placement")]),
    "image of a system message": ([SystemMessage(["x", PNG]), Q], [("messages[0].content[1]", "image")]),
    "bitmap": ([UserMessage(["x", Media(b"x", "image/bmp")])], [("messages[0].content[1]", "image")]),
    "archive by url": (
        [UserMessage(["x", Media(url="https://h/a", mime_type="application/zip")])],
        [("messages[0].content[1]", "document")],
    ),
    "bytes of a vague type": ([UserMessage(["x", Media(b"x", "audio/*")])], [("messages[0].content[1]", "audio")]),
    "vague type of a url": (
        [UserMessage([Media(url="https://h/a", mime_type="image/*")])],
        [("messages[0].content[0].mime_type", "mime_type")],
    ),
    "id that looks like a url": ([UserMessage([Media(file_id="gs://a/b")])], [("messages[0].content[0]", "spelling")]),
    "image name, id": (
        [UserMessage([PNG.mutate(name="a.png", id="i")])],
        [("messages[0].content[0].name", "name"), ("messages[0].content[0].id", "id")],
    ),
    "opaque of another vendor": (
        [Q, AssistantMessage([Opaque("openai", {"type": "x"}), "x"])],
        [("messages[1].content[0]", "opaque")],
    ),
    "opaque that is known": ([UserMessage([Opaque("gemini", text("x"))])], [("messages[0].content[0]", "spelling")]),
    "opaque that is a call": (
        [Q, AssistantMessage([Opaque("gemini", CALL_PART), "x"])],
        [("messages[1].content[0]", "spelling")],
    ),
    "opaque that is damaged": (
        [UserMessage(["x", Opaque("gemini", {"inlineData": {"mimeType": "text/", "data": "eA=="}}, metadata={"k": 1})])],
        [("messages[0].content[1]", "spelling"), ("messages[0].content[1].metadata.k", "metadata")],
    ),
    "own field that is ours": (
        [
            UserMessage([Text("x", metadata={"gemini": {"thought": True}})]),
            AssistantMessage("x", tool_calls=[ToolCall(None, "f", metadata={"gemini": {"functionCall": {"id": "a"}}})]),
            ToolResponseMessage(ToolResponse(None, "f", content="1")),
        ],
        [("messages[0].content[0].metadata.gemini", "spelling"), ("messages[1].tool_calls[0].metadata.gemini", "spelling")],
    ),
    "own name of media in a result": (
        answered(ToolResponse("c1", "weather", content=[PNG.mutate(metadata={"gemini": {"inlineData": {"displayName": "a"}}})])),
        [("messages[2].responses[0].content[0].metadata.gemini", "spelling")],
    ),
    "own id of a result": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL.mutate(id=None)]),
            ToolResponseMessage(ToolResponse(None, "weather", metadata={"gemini": {"functionResponse": {"id": "a"}}})),
        ],
        [("messages[2].responses[0].metadata.gemini", "spelling")],
    ),
    "own parts of a result": (
        answered(ToolResponse("c1", "weather", content="x", metadata={"gemini": {"functionResponse": {"parts": [PNG_PART]}}})),
        [("messages[2].responses[0].metadata.gemini", "spelling")],
    ),
    "own type of a file": (
        [UserMessage([Media(file_id="files/a", metadata={"gemini": {"fileData": {"mimeType": "image/png"}}})])],
        [("messages[0].content[0].metadata.gemini", "spelling")],
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
    "result": (
        [
            Q,
            AssistantMessage(tool_calls=[CALL]),
            ToolResponseMessage(ToolResponse("c1", content="1", artifact=1, metadata={"k": 1}), name="n"),
        ],
        [
            ("messages[2].responses[0].name", "name"),
            ("messages[2].responses[0].artifact", "artifact"),
            ("messages[2].responses[0].metadata.k", "metadata"),
            ("messages[2].name", "name"),
        ],
    ),
    "texts of a result": (
        answered(ToolResponse("c1", "weather", content=["a", Text("b", metadata={"k": 1}), Reasoning("c")])),
        [
            ("messages[2].responses[0].content[1].metadata.k", "metadata"),
            ("messages[2].responses[0].content[2]", "reasoning"),
            ("messages[2].responses[0].content", "spelling"),
        ],
    ),
    "text behind an image": (
        answered(ToolResponse("c1", "weather", content=[PNG, "a"])),
        [("messages[2].responses[0].content", "spelling")],
    ),
    "result of nothing": (
        answered(ToolResponse("c1", "weather", content=[])),
        [("messages[2].responses[0].content", "spelling")],
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
    "orphan result": (
        [Q, ToolResponseMessage(ToolResponse("c1", content="x"))],
        [("messages[1].responses[0].name", "name"), ("messages[1]", "orphan_result")],
    ),
    "unanswered call": ([Q, AssistantMessage(tool_calls=[CALL]), Q], [("messages[1]", "unanswered_call")]),
    "neighbours": ([Q, Q], [("messages[1]", "roles_do_not_alternate")]),
    "answer first": ([AssistantMessage("x"), Q], [("messages[0]", "leading_assistant")]),
    "blank text": ([UserMessage(" ")], [("messages[0]", "empty_content")]),
    "no content": ([Q, AssistantMessage()], [("messages[1]", "absent_content")]),
    "content without a part": (
        [Q, AssistantMessage([])],
        [("messages[1].content", "spelling"), ("messages[1]", "absent_content")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), LOSSES.values(), ids=LOSSES)
def test_losses_name_place_and_thing(messages: list[Message], expected: list[tuple[str, str]]) -> None:
    request = converted(*messages)

    assert [(loss.path, loss.what) for loss in request.losses] == expected
    with pytest.raises(UnsupportedContentError) as caught:
        converted(*messages, strict=True)
    assert (caught.value.format, caught.value.path, caught.value.feature) == ("gemini", *expected[0])
    judge_gemini(request.body)


def test_what_goes_out_in_spite_of_losses() -> None:
    def results(case: str) -> list[Any]:
        return [next(iter(part.values())) for part in converted(*LOSSES[case][0]).body["contents"][2]["parts"]]

    assert [result["id"] for result in results("results apart")] == ["c1", "c2"]
    assert results("texts of a result")[0]["response"] == {"output": "ab"}


@pytest.mark.parametrize(
    "mime_type",
    [f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif")]
    + [f"application/{kind}" for kind in ("pdf", "json", "rtf", "x-javascript", "xml")]
    + ["text/x-any", "audio/x-any", "video/x-any"],
)
def test_media_that_it_takes(mime_type: str) -> None:
    assert losses_of(UserMessage([Media(b"x", mime_type)])) == []


@pytest.mark.parametrize("host", ["youtu.be", "youtube.com", "www.youtube.com"])
def test_films_that_it_takes_by_url(host: str) -> None:
    part = {"fileData": {"fileUri": f"https://{host}/watch"}}

    assert gemini.from_request({"contents": [user(part)]})[0] == UserMessage(
        [Media(url=f"https://{host}/watch", mime_type="video/*")]
    )


@pytest.mark.parametrize(
    "kind",
    ["inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall",
     "toolResponse"],
)  # fmt: skip
def test_a_part_with_two_kinds_of_data_stays_as_it_is(kind: str) -> None:
    part = {"text": "x", kind: {}}

    assert gemini.from_request({"contents": [user(part)]})[0] == UserMessage([Opaque("gemini", part)])


def test_late_system_text_joins_the_first() -> None:
    body = converted(SystemMessage("A"), Q, AssistantMessage("r"), SystemMessage("B"), UserMessage("q2")).body

    assert body["systemInstruction"] == {"parts": [text("A"), text("B")]}
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]


def test_broken_arguments_go_back_to_the_model_as_they_came() -> None:
    call = ToolCall("c1", "weather", arguments='{"city": "Os')
    body = converted(Q, AssistantMessage(tool_calls=[call]), RESULT).body

    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == {"INVALID_JSON": '{"city": "Os'}


def test_results_without_a_name_get_that_of_their_call() -> None:
    calls = [ToolCall("a", "f", metadata=SIGNED), ToolCall(None, "g")]
    results = ToolResponseMessage([ToolResponse("a"), ToolResponse(None), ToolResponse("z", "")])
    body = converted(Q, AssistantMessage(tool_calls=calls), results).body

    assert [part["functionResponse"]["name"] for part in body["contents"][2]["parts"]] == ["f", "g", "unknown"]


class Shouting(UserMessage):
    pass


def test_a_class_of_your_own_is_sent_as_its_role() -> None:
    request = converted(Shouting("HI"))

    assert request.body == {"contents": [user(text("HI"))]}
    assert [(loss.path, loss.what) for loss in request.losses] == [("messages[0]", "class")]


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("Hi", "a request is made of a Prompt, not of str"),
        (Prompt([]), "messages: the prompt has no messages"),
        (Prompt(SystemMessage("x")), "messages: the prompt has system text only: gemini wants a user message"),
        (Prompt("x", options=ChatOptions(extra={"contents": []})), "options.extra: contents stand in the prompt"),
        (Prompt("x", options=ChatOptions(extra={"systemInstruction": 1})), "systemInstruction stands in the prompt"),
        (Prompt("x", options=ChatOptions(extra={"a": [b"x"]})), r"options.extra.a\[0\]: bytes cannot stand"),
        (Prompt("x", options=ChatOptions(extra={CONFIG: {"topK": "x"}})), "options: top_k must be an int"),
        (Prompt(UserMessage([Text("x", metadata={"gemini": {"a": b"x"}})])), "bytes cannot stand"),
    ],
)
def test_what_no_body_can_say_is_refused(prompt: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        gemini.to_request(prompt)


def _check_way_back(prompt: Prompt) -> None:
    try:
        request = gemini.to_request(prompt)
    except AdapterError as error:
        assert "gemini wants a user message" in str(error) or "bytes" in str(error)  # noqa: PT017
        return
    read = gemini.from_request(request.body)
    again = gemini.to_request(read)

    assert json.loads(json.dumps(request.body)) == request.body
    assert spelled_alike(read) == spelled_alike(prompt) or request.losses
    assert again.body == request.body
    assert {loss.what for loss in again.losses} <= ORDER


@settings(max_examples=40)
@given(strategies.prompts())
def test_every_prompt_comes_back_or_has_a_loss(prompt: Prompt) -> None:
    _check_way_back(prompt)


@settings(max_examples=25)
@given(strategies.valid_conversations())
def test_every_conversation_comes_back_or_has_a_loss(messages: tuple[Message, ...]) -> None:
    _check_way_back(Prompt(messages))


@settings(max_examples=40)
@given(strategies.conversations(max_size=5) | strategies.valid_conversations())
def test_losses_of_order_are_the_findings_of_the_doctor(messages: tuple[Message, ...]) -> None:
    hoisted = sorted(messages, key=lambda message: message.message_type != "system")
    try:
        request = gemini.to_request(Prompt(hoisted))
    except AdapterError:
        return
    found = [(loss.path, loss.what) for loss in request.losses if loss.what in ORDER]

    assert found == [(f"messages[{at.index}]", at.kind) for at in check_history(hoisted, "gemini")]


@settings(max_examples=25)
@given(strategies.conversations(max_size=5))
def test_what_the_doctor_repaired_has_no_loss_of_order(messages: tuple[Message, ...]) -> None:
    try:
        request = gemini.to_request(Prompt(tuple(repair_history(messages, "gemini"))))
    except AdapterError:
        return
    assert not {loss.what for loss in request.losses} & (ORDER | {"placement"})


@settings(max_examples=150)
@given(bodies())
def test_every_body_comes_back_in_its_canonical_form(body: dict[str, Any]) -> None:
    before = json.dumps(body)
    request = gemini.to_request(gemini.from_request(body))

    assert json.dumps(body) == before
    assert request.body == canonical(body)
    assert {loss.what for loss in request.losses} <= ORDER | {"stop_sequences"}


@settings(max_examples=60)
@given(sdk_bodies())
def test_every_body_of_the_sdks_types_comes_back_in_its_canonical_form(body: dict[str, Any]) -> None:
    request = gemini.to_request(gemini.from_request(body))

    assert request.body == canonical(body)
    assert {loss.what for loss in request.losses} <= ORDER
    judge_gemini(body)


WRITTEN: dict[str, tuple[dict[str, Any], list[Message]]] = {
    "no role": ({"contents": [{"parts": [text("q")]}]}, [Q]),
    "fields of later results": (
        {"contents": [user(RESULT_PART), user(RESULT_PART) | {"z": 3}]},
        [RESULT, RESULT.mutate(metadata={"gemini": {"z": 3}})],
    ),
    "the role of old for results": (
        {"contents": [{"role": "function", "parts": [RESULT_PART]}]},
        [RESULT],
    ),
    "text before results": ({"contents": [user(text("and?"), RESULT_PART)]}, [RESULT, UserMessage("and?")]),
    "calls before text": (
        {"contents": [model(CALL_PART, text("x"))]},
        [AssistantMessage("x", tool_calls=[CALL])],
    ),
    "base64 of URLs": (
        {"contents": [user({"inlineData": {"mimeType": "image/png", "data": "-_8"}})]},
        [UserMessage([Media(b"\xfb\xff", "image/png")])],
    ),
    "result without a response": (
        {"contents": [user({"functionResponse": {"name": "f"}})]},
        [ToolResponseMessage(ToolResponse(None, "f"))],
    ),
    "text among the media of a result": (
        {"contents": [user(result({"output": "x"}, parts=[text("y")]))]},
        [ToolResponseMessage(ToolResponse("c1", "weather", content=["x", Opaque("gemini", text("y"))]))],
    ),
    "fields of tomorrow": (
        {"contents": [Q_BODY | {"x": 1}, user(RESULT_PART | {"y": 2}) | {"z": 3}]},
        [
            Q.mutate(metadata={"gemini": {"x": 1}}),
            ToolResponseMessage(
                ToolResponse("c1", "weather", content="3 degrees", metadata={"gemini": {"y": 2}}),
                metadata={"gemini": {"z": 3}},
            ),
        ],
    ),
    "parts of tomorrow": (
        {"contents": [user({"new": {"x": None}}, {}), model(RESULT_PART)]},
        [
            UserMessage([Opaque("gemini", {"new": {"x": None}}), Opaque("gemini", {})]),
            AssistantMessage([Opaque("gemini", RESULT_PART)]),
        ],
    ),
}


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": 5},
        {"inlineData": {"mimeType": "image/png", "data": ""}},
        {"inlineData": {"mimeType": "audio/*", "data": "eHh4"}},
        {"inlineData": {"mimeType": 5, "data": "eHh4"}},
        {"inlineData": {"data": "eHh4"}},
        {"fileData": {"mimeType": "image/png"}},
        {"fileData": {"fileUri": "https://example.org/a", "mimeType": "application/zip"}},
    ],
    ids=str,
)
def test_media_that_no_medium_can_hold_stay_as_they_are(part: dict[str, Any]) -> None:
    prompt = gemini.from_request({"contents": [user(text("x"), part)]})

    assert prompt == Prompt(UserMessage(["x", Opaque("gemini", part)]))
    assert gemini.to_request(prompt, strict=True).body == {"contents": [user(text("x"), part)]}


@pytest.mark.parametrize(("body", "messages"), WRITTEN.values(), ids=WRITTEN)
def test_bodies_written_by_hand(body: dict[str, Any], messages: list[Message]) -> None:
    assert gemini.from_request(body) == Prompt(messages)
    again = gemini.to_request(Prompt(messages))
    assert gemini.from_request(again.body) == Prompt(messages)
    assert {loss.what for loss in again.losses} <= NOTES | ORDER


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (None, "a request must be a mapping"),
        ({}, "contents: must be a list, not None"),
        ({"contents": ["x"]}, r"contents\[0\]: a content must be a mapping"),
        ({"contents": [{"role": ["user"], "parts": []}]}, r"contents\[0\]: role must be one of"),
        ({"contents": [{"role": "robot"}]}, r"contents\[0\]: role must be one of .* not 'robot'"),
        ({"contents": [{"parts": "x"}]}, r"contents\[0\]: parts must be a list, not 'x'"),
        ({"contents": [user(5)]}, r"contents\[0\]: parts\[0\]: a part must be a mapping"),
        ({"contents": [user(text("x"), {"text": 5})]}, r"contents\[0\]: parts\[1\]: text must be a str"),
        ({"contents": [user({"functionResponse": 5})]}, r"parts\[0\]: functionResponse must be a mapping"),
        ({"contents": [user(result([]))]}, "response must be a mapping"),  # type: ignore[arg-type]
        ({"contents": [user(result({}, parts=5))]}, "parts must be a list"),
        ({"contents": [user(result({}, parts=[5]))]}, r"parts\[0\]: parts\[0\]: a part must be a mapping"),
        ({"contents": [user({"functionResponse": {"id": 5}})]}, "id must be a str"),
        ({"contents": [model({"functionCall": {"name": "f", "args": "x"}})]}, "args must be a mapping"),
        ({"contents": [model({"functionCall": {"name": "f", "args": {"a": {1}}}})]}, "args is no JSON"),
        ({"contents": [model({"functionCall": {}})]}, r"parts\[0\]: name must be a str"),
        ({"contents": [model({"functionCall": {"name": ""}})]}, r"parts\[0\]: ToolCall.name is empty"),
        (
            {"contents": [user({"inlineData": {"mimeType": "image/png", "data": "%"}})]},
            r"parts\[0\]: the media data is not base64",
        ),
        ({"contents": [], "systemInstruction": "x"}, "systemInstruction: a content must be a mapping"),
        ({"contents": [], CONFIG: {"temperature": "hot"}}, "options: temperature must be"),
        ({"contents": [], "tools": ["x"]}, r"options: tools\[0\]: must be a mapping"),
        ({"contents": [], "tools": [{"functionDeclarations": 5}]}, r"tools\[0\]: functionDeclarations must be a list"),
        ({"contents": [], "tools": [{"functionDeclarations": [5]}]}, r"functionDeclarations\[0\]: must be a mapping"),
        ({"contents": [], "tools": [{"functionDeclarations": [{}]}]}, "name must be a str, not None"),
        (
            {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": 5}]}]},
            "parameters must be a mapping",
        ),
        ({"contents": [], "tools": [{"functionDeclarations": [{"name": "f"}] * 2}]}, "tools must have distinct names"),
    ],
)
def test_damaged_bodies_are_refused_with_their_place(body: Any, error: str) -> None:
    with pytest.raises(AdapterError, match=error):
        gemini.from_request(body)


def test_frozen_bodies_read_as_plain_ones() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    frozen = Opaque("gemini", {"contents": [model(call)], "tools": 5, "toolConfig": 5, CONFIG: 5}).payload

    (message,) = gemini.from_request(frozen)
    assert message == AssistantMessage(tool_calls=[ToolCall(None, "f", arguments='{"a":1}')])
