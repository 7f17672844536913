"""Answers of generateContent: whole or streamed they read alike, damage has a place, and no refusal is silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from promptkit.adapters import gemini
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import AdapterError, ContextLengthError, ModelError, ResponseFormatError, TransportError
from promptkit.messages import AssistantMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Usage
from tests.adapters.bug_reports import CASES, STREAMS, check_stream, prompt_of, thought_metadata
from tests.adapters.gemini_bodies import CODE, PNG, RAN

USAGE = {
    "promptTokenCount": 10,
    "toolUsePromptTokenCount": 2,
    "cachedContentTokenCount": 7,
    "candidatesTokenCount": 4,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 19,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
}
RATINGS = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]
SOURCES = [{"startIndex": 0, "endIndex": 5, "uri": "https://example.org"}, {"startIndex": 6, "endIndex": 9, "uri": "u"}]
GROUNDING = {"webSearchQueries": ["x"], "groundingChunks": [{"web": {"uri": "u", "title": "t"}}]}
LOGPROBS = {"chosenCandidates": [{"token": "a", "logProbability": -0.5}, {"token": "a", "logProbability": -0.5}]}
CALLS: list[dict[str, Any]] = [
    {"functionCall": {"id": "a", "name": "wx", "args": {"c": "Rome", "n": [1, None]}}, "thoughtSignature": "c2ln"},
    {"functionCall": {"name": "wx", "args": {}}},
    {"functionCall": {"name": "wx"}},
]
SIGNED = {"gemini": {"thoughtSignature": "c2ln"}}


def text(words: str, **own: Any) -> dict[str, Any]:
    return {"text": words, **own}


def thought(words: str, **own: Any) -> dict[str, Any]:
    return {"text": words, "thought": True, **own}


ANSWERS: dict[str, tuple[list[dict[str, Any]], AssistantMessage]] = {
    "text": ([text("Hello, wörld 🦄")], AssistantMessage("Hello, wörld 🦄")),
    "nothing": ([], AssistantMessage("")),
    "empty text": ([text("")], AssistantMessage("")),
    "texts join": ([text("Hello"), text(" world")], AssistantMessage("Hello world")),
    "signed texts stand alone": (
        [text("Hello"), text("", thoughtSignature="c2ln"), text(" you"), text("!", thoughtSignature="c2ln"), text("x")],
        AssistantMessage(
            ["Hello", Text("", metadata=SIGNED), " you", Text("!", metadata=SIGNED), "x"],
        ),
    ),
    "calls": (
        CALLS,
        AssistantMessage(
            tool_calls=[
                ToolCall("a", "wx", arguments='{"c":"Rome","n":[1,null]}', metadata=SIGNED),
                ToolCall(None, "wx"),
                ToolCall(None, "wx"),
            ]
        ),
    ),
    "text around a call": (
        [text("Wait."), CALLS[1], text("So.")],
        AssistantMessage("Wait.So.", tool_calls=[ToolCall(None, "wx")]),
    ),
    "thoughts": (
        [thought("Let me"), thought(" see."), text("Hm."), thought("Well?"), thought("!", thoughtSignature="c2ln"),
         thought("So"), CALLS[1], thought("then"), text("Yes.")],
        AssistantMessage(
            [
                Reasoning("Let me see."),
                "Hm.",
                Reasoning("Well?"),
                Reasoning("!", metadata=SIGNED),
                Reasoning("Sothen"),
                "Yes.",
            ],
            tool_calls=[ToolCall(None, "wx")],
        ),
    ),
    "code": ([text("Run:"), CODE, RAN, text("1")], AssistantMessage(["Run:", Opaque("gemini", CODE), Opaque("gemini", RAN), "1"])),
    "image": ([{"inlineData": PNG}], AssistantMessage([Media(b"\x89PNG\r\n\x1a\n", "image/png")])),
}  # fmt: skip


def payload_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Make a whole answer, with all that a vendor says of one."""
    candidate = {
        "content": {"parts": parts, "role": "model"},
        "finishReason": "STOP",
        "index": 0,
        "safetyRatings": RATINGS,
        "citationMetadata": {"citationSources": SOURCES},
        "groundingMetadata": GROUNDING,
        "logprobsResult": LOGPROBS,
        "avgLogprobs": -0.5,
    }
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "m1", "responseId": "r1"}


Cut = Callable[[str], list[str]]


def events_of(payload: dict[str, Any], cut: Cut) -> Iterator[dict[str, Any]]:
    """Stream a whole answer: texts in pieces, all else whole; what is said of it comes piece by piece."""
    (candidate,) = payload["candidates"]
    head = {"modelVersion": "m1", "responseId": "r1"}
    for part in candidate["content"]["parts"]:
        cuttable = "text" in part and "thoughtSignature" not in part
        for piece in [part | {"text": words} for words in cut(part["text"])] if cuttable else [part]:
            content = {"parts": [piece], "role": "model"}
            usage = {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11}
            yield head | {"candidates": [{"content": content, "index": 0}], "usageMetadata": usage}
    for number in (0, 1):
        said = {
            "content": {"parts": [{"text": ""}], "role": "model"},
            "citationMetadata": {"citationSources": SOURCES[: number + 1]},
            "groundingMetadata": {"webSearchQueries": ["x"], "groundingChunks": None},
            "logprobsResult": {"chosenCandidates": LOGPROBS["chosenCandidates"][number : number + 1]},
            "safetyRatings": RATINGS,
        }
        yield head | {"candidates": [said], "usageMetadata": None}
    rest = {
        key: candidate[key] for key in ("finishReason", "index", "safetyRatings", "groundingMetadata", "avgLogprobs")
    }
    yield head | {"candidates": [rest], "usageMetadata": USAGE}


@pytest.mark.parametrize(("parts", "message"), ANSWERS.values(), ids=ANSWERS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_streamed_answer_reads_as_the_whole_one(
    parts: list[dict[str, Any]], message: AssistantMessage, data: st.DataObject
) -> None:
    def cut(words: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(words)), max_size=4)))
        return [words[start:end] for start, end in zip([0, *places], [*places, len(words)], strict=True)]

    payload = payload_of(parts)
    response = gemini.to_response(payload)
    streamed = ChatResponse.from_chunks(gemini.to_chunks(events_of(payload, cut)))

    assert response.results[0].output == message
    assert streamed == response


@pytest.mark.parametrize(("parts", "message"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_goes_back_as_it_came(parts: list[dict[str, Any]], message: AssistantMessage) -> None:
    results = [
        ToolResponseMessage([ToolResponse(call.id, call.name) for call in message.tool_calls] or [ToolResponse(None)])
    ]
    sent = gemini.to_request(Prompt([UserMessage("q"), message, *results])).body["contents"][1]["parts"]
    again = gemini.to_response({"candidates": [{"content": {"parts": sent}}]})

    assert again.results[0].output == message
    assert sum("thoughtSignature" in part for part in sent) == sum("thoughtSignature" in part for part in parts)


@pytest.mark.parametrize("parts", [parts for parts, _ in ANSWERS.values()], ids=ANSWERS)
def test_the_answers_of_these_tests_are_the_vendors(parts: list[dict[str, Any]]) -> None:
    payload = payload_of(parts)
    for answer in (payload, *events_of(payload, lambda words: [words])):
        known = json.loads(json.dumps(answer))
        for candidate in known["candidates"]:  # the SDK calls `citations` what the API calls `citationSources`
            candidate.pop("citationMetadata", None)
        types.GenerateContentResponse.model_validate_json(json.dumps(known))


def test_a_whole_answer() -> None:
    response = gemini.to_response(payload_of(ANSWERS["text"][0]) | {"createTime": "now"})

    assert (response.id, response.model, response.metadata) == ("r1", "m1", {"createTime": "now"})
    assert response.usage == Usage(12, 7, total_tokens=19, cache_read_tokens=7, reasoning_tokens=3, native=USAGE)
    assert response.results[0].finish_reason == "STOP"
    assert response.results[0].metadata == {
        "safetyRatings": RATINGS,
        "citationMetadata": {"citationSources": SOURCES},
        "groundingMetadata": GROUNDING,
        "logprobsResult": LOGPROBS,
        "avgLogprobs": -0.5,
    }


def test_several_candidates_are_several_answers() -> None:
    def candidate(words: str, **rest: Any) -> dict[str, Any]:
        return {"content": {"parts": [text(words)], "role": "model", "x": 1}, **rest}

    whole = {"candidates": [candidate("a", finishReason="STOP"), candidate("b", finishReason="MAX_TOKENS")]}
    events = [
        {"candidates": [candidate("", index=0), candidate("b", index=1)]},
        {"candidates": [candidate("", index=1, finishReason="MAX_TOKENS")]},
        {"candidates": [candidate("a", index=0, finishReason="STOP")]},
    ]
    response = gemini.to_response(whole)

    assert [(result.output.content, result.finish_reason) for result in response.results] == [
        ("a", "STOP"),
        ("b", "MAX_TOKENS"),
    ]
    assert response.results[1].output.metadata == {"gemini": {"x": 1}}
    assert ChatResponse.from_chunks(gemini.to_chunks(events)) == response


BLOCKED = {
    "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": RATINGS},
    "usageMetadata": {"promptTokenCount": 3},
}


@pytest.mark.parametrize("read", [gemini.to_response, lambda payload: list(gemini.to_chunks([payload]))])
def test_a_blocked_prompt_is_an_error(read: Callable[[Any], Any]) -> None:
    with pytest.raises(ModelError, match="the model refused: the prompt was blocked for 'SAFETY'") as caught:
        read(BLOCKED)
    assert not caught.value.retryable
    assert caught.value.partial is not None
    assert caught.value.partial.usage.prompt_tokens == 3
    with pytest.raises(ModelError, match="blocked for 'OTHER', not here"):
        read({"candidates": [], "promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "not here"}})


@pytest.mark.parametrize(
    "reason", ["SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL", "PROHIBITED_CONTENT", "TOMORROWS"]
)
def test_a_blocked_answer_says_why(reason: str) -> None:
    candidate = {"finishReason": reason, "finishMessage": "No.", "safetyRatings": RATINGS}
    response = gemini.to_response({"candidates": [candidate]})

    assert response.has_finish_reasons([reason])
    assert response.results[0].metadata == {"finishMessage": "No.", "safetyRatings": RATINGS}
    assert response.results[0].output == AssistantMessage("")


@pytest.mark.parametrize(
    "usage", [{"promptTokenCount": -1, "candidatesTokenCount": "9"}, {"promptTokenCount": None}, {}]
)
def test_usage_that_counts_nothing_is_no_usage(usage: Any) -> None:
    assert not gemini.to_response({"candidates": [{"content": {"parts": [text("x")]}}], "usageMetadata": usage}).usage


DEEP = json.loads('{"a":' * 500 + "1" + "}" * 500)


def candidates(*parts: Any, **rest: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **rest}]}


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (None, "the answer must be a mapping, not None"),
        ([], "the answer must be a mapping"),
        ({}, "candidates must be a list with an answer in it"),
        ({"candidates": [], "promptFeedback": {}}, "candidates must be a list with an answer in it"),
        ({"candidates": "x"}, "candidates must be a list"),
        ({"candidates": [5]}, r"candidates\[0\] must be a mapping"),
        ({"candidates": [{"index": "0"}]}, r"candidates\[0\].index must be an int"),
        ({"candidates": [{"content": "x"}]}, r"candidates\[0\].content must be a mapping"),
        ({"candidates": [{"content": {"parts": "x"}}]}, r"candidates\[0\].content.parts must be a list"),
        ({"candidates": [{"finishReason": 5}]}, r"candidates\[0\].finishReason must be a str"),
        ({"candidates": [{"citationMetadata": 5}]}, r"candidates\[0\].citationMetadata must be a mapping"),
        ({"candidates": [{"citationMetadata": {"x": [{1}]}}]}, r"candidates\[0\].citationMetadata.x\[0\] is \{1\}"),
        ({"candidates": [{"groundingMetadata": DEEP}]}, r"nests deeper"),
        ({"candidates": [{}], "usageMetadata": DEEP}, r"nests deeper"),
        (candidates(5), r"parts\[0\] must be a mapping"),
        (candidates(text("x"), {"text": 5}), r"candidates\[0\].content.parts\[1\]: text must be a str"),
        (candidates({"inlineData": {"mimeType": "image/png", "data": "%"}}), r"parts\[0\]: the media data is not base64"),
        (candidates({"functionCall": 5}), r"parts\[0\].functionCall must be a mapping"),
        (candidates({"functionCall": {"name": 5}}), r"functionCall.name must be a str"),
        (candidates({"functionCall": {"name": "f", "args": 5}}), r"functionCall.args must be a mapping"),
        (candidates({"functionCall": {"name": "f", "args": {"a": {1}}}}), r"functionCall.args is no JSON"),
        (candidates({"functionCall": {"name": "f", "id": 5}}), r"functionCall.id must be a str"),
        ({"candidates": [{}], "usageMetadata": 5}, "usageMetadata must be a mapping"),
        ({"candidates": [{}], "responseId": 5}, "responseId must be a str"),
        (candidates({"new": DEEP}), "nests deeper"),
    ],
)  # fmt: skip
def test_damage_is_reported_with_its_place(payload: Any, error: str) -> None:
    with pytest.raises(ResponseFormatError, match=error):
        gemini.to_response(payload)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota"}, ModelError, True),
        ({"code": 503}, ModelError, True),
        ({"code": 400, "status": "INVALID_ARGUMENT"}, ModelError, False),
        ({"status": ["odd"], "code": None}, ModelError, False),
        ({"message": "The input token count exceeds the maximum allowed."}, ContextLengthError, False),
        ("no", ModelError, False),
        ({}, ModelError, False),
    ],
)
def test_an_error_in_place_of_an_answer(error: Any, kind: type[ModelError], retryable: bool) -> None:
    for read in (gemini.to_response, lambda payload: list(gemini.to_chunks([payload]))):
        with pytest.raises(kind, match="the model refused: ") as caught:
            read({"error": error})
        assert caught.value.retryable is retryable


def test_a_prompt_that_is_too_long_names_needed_and_available() -> None:
    message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    error = gemini.error_of({"code": 400, "message": message, "status": "INVALID_ARGUMENT"})

    assert isinstance(error, ContextLengthError)
    assert (error.needed, error.available) == (1200000, 1048576)


def event(*parts: Any, finish: str | None = None, **rest: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **rest}


def usage(prompt: int, answer: int) -> dict[str, Any]:
    return {"promptTokenCount": prompt, "candidatesTokenCount": answer, "totalTokenCount": prompt + answer}


HELLO = [event(text("Hel"), usageMetadata=usage(3, 1)), event(text("lo"), usageMetadata=usage(3, 2))]

BROKEN_STREAMS: dict[str, tuple[list[Any], type[ModelError]]] = {
    "cut off": (HELLO, TransportError),
    "cut off in a call": ([*HELLO, event({"functionCall": {"name": "f", "willContinue": True}})], TransportError),
    "error": ([*HELLO, {"error": {"status": "UNAVAILABLE"}}], ModelError),
    "blocked on the way": ([*HELLO, BLOCKED], ModelError),
    "damage": ([*HELLO, event(5)], ResponseFormatError),
    "no event": ([*HELLO, 5], ResponseFormatError),
    "deep usage": ([*HELLO, event(text("x"), usageMetadata=DEEP)], ResponseFormatError),
    "damaged usage": ([*HELLO, event(text("x"), usageMetadata=5)], ResponseFormatError),
}


@pytest.mark.parametrize(("events", "kind"), BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
def test_a_broken_stream_keeps_what_had_arrived(events: list[Any], kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        list(gemini.to_chunks(events))

    assert type(caught.value) is kind
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello"
    assert not caught.value.partial.has_tool_calls
    assert caught.value.partial.usage.prompt_tokens == 3


@pytest.mark.parametrize("events", [[], ["[DONE]"], [{"usageMetadata": usage(1, 0)}]])
def test_a_stream_without_an_answer_is_an_error(events: list[Any]) -> None:
    with pytest.raises(ModelError, match=r"ended before the answer|with an answer in it"):
        list(gemini.to_chunks(events))


STOP = event(text(""), finish="STOP", usageMetadata=usage(3, 2))
ENDINGS: dict[str, list[Any]] = {
    "as it should be": [*HELLO, STOP],
    "with the last text": [HELLO[0], event(text("lo"), finish="STOP")],
    "doubled": [*HELLO, STOP, STOP],
    "usage behind": [*HELLO, STOP, {"usageMetadata": usage(3, 2)}],
    "no content": [*HELLO, {"candidates": [{"finishReason": "STOP"}]}],
    "no parts": [*HELLO, {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}],
    "marker of others": [*HELLO, "[DONE]"],
    "null where nothing is": [*HELLO, event({"text": "", "thought": None}, promptFeedback=None), STOP],
    "an unblocked prompt": [*HELLO, {"promptFeedback": {"safetyRatings": []}}, STOP],
}


@pytest.mark.parametrize("events", ENDINGS.values(), ids=ENDINGS)
def test_ends_of_a_stream(events: list[Any]) -> None:
    response = ChatResponse.from_chunks(gemini.to_chunks(events))

    assert response.results[0].output == AssistantMessage("Hello")
    assert response.usage.prompt_tokens == 3


ODD_EVENTS: list[Any] = [
    event(text("b")) | {"modelVersion": "m"},
    event(text("b"), text("c")),
    event(),
    event(text("b", thoughtSignature="c2ln")),
    event(thought("b")),
    {"candidates": [{"content": {"parts": [text("b")]}, "index": 0, "avgLogprobs": -1, "finishReason": None}]},
    {"candidates": [{"content": {"parts": [text("b")], "x": 1}, "index": 0}]},
    {"candidates": [{"content": {"parts": [text("b")]}, "tokenCount": 1}]},
    {"candidates": [{"content": None}]},
    event(text("b"), responseId="r"),
    event({"functionCall": {"name": "f"}}),
    {"candidates": ()},
]


@settings(max_examples=50)
@given(st.lists(st.sampled_from([*HELLO, *ODD_EVENTS]), max_size=8))
def test_plain_events_read_alike_after_any_other(events: list[Any]) -> None:
    """The short way for events of text alone gives what the long way gives, which a text of two parts takes."""

    def lengthened(found: Any) -> Any:
        """Say a plain text in two parts."""
        copy = json.loads(json.dumps(found))
        for candidate in copy["candidates"]:
            for content in [candidate["content"]] if candidate.get("content") else []:
                content["parts"] = [text(""), *content["parts"]]
        return copy

    events = [*events, STOP]
    short = ChatResponse.from_chunks(gemini.to_chunks(events))
    assert ChatResponse.from_chunks(gemini.to_chunks(map(lengthened, events))) == short


def test_a_call_in_pieces_never_looks_whole() -> None:
    pieces = [
        {"functionCall": {"name": "f", "id": "a", "willContinue": True}},
        {"functionCall": {"partialArgs": [{"jsonPath": "$.x", "stringValue": "Os"}], "willContinue": True}},
        {"functionCall": {}},
        {"functionCall": {"name": "g"}},
        {"functionCall": {"args": {"a": 1}}},
    ]
    output = gemini.to_response(candidates(*pieces)).results[0].output

    assert [call.name for call in output.tool_calls] == ["g"]
    assert [(call.id, call.name, call.arguments) for call in output.invalid_tool_calls] == [
        ("a", "f", "{}"),
        (None, None, '{"a":1}'),
    ]


def test_closing_closes_the_events_and_takes_no_more() -> None:
    taken, closed = [], []

    def events() -> Iterator[Any]:
        try:
            while True:
                taken.append(1)
                yield event(text("x"))
        finally:
            closed.append(1)

    chunks = gemini.to_chunks(events())
    next(chunks)
    chunks.close()

    assert (taken, closed) == ([1], [1])


# The recorded bug reports of others: each says what is right.


def _events(chunks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Say the pieces of a report in events of this format, in which calls come whole and signatures at the end."""
    pieces: dict[Any, dict[str, Any]] = {}
    for chunk in chunks:
        parts: list[dict[str, Any]] = []
        if chunk.get("reasoning") is not None:
            parts.append(thought(chunk["reasoning"]))
        if "signature" in chunk:
            parts.append({"text": "", "thought": True, "thoughtSignature": chunk["signature"]})
        if "text" in chunk:
            parts.append({"text": chunk["text"]} if chunk["text"] is not None else {})
        for call in chunk.get("calls", ()):
            whole = pieces.setdefault(call.get("index"), {"args": ""})
            whole |= {key: value for key, value in call.items() if key in ("id", "name") and value}
            whole["args"] += call.get("args") or ""
        given = chunk.get("usage") or {}
        names = {"input": "promptTokenCount", "output": "candidatesTokenCount", "cache_read": "cachedContentTokenCount"}
        report = {names[key]: value for key, value in given.items() if key in names}
        yield event(*filter(None, parts), finish=chunk.get("finish"), usageMetadata=report or None) | (
            {"modelVersion": chunk["model"]} if "model" in chunk else {}
        )
    calls = [{"id": whole["id"], "name": whole["name"], "args": json.loads(whole["args"])} for whole in pieces.values()]
    yield event(*[{"functionCall": call} for call in calls])
    yield "[DONE]"  # type: ignore[misc]


def _check_stream(case: dict[str, Any]) -> None:
    response = ChatResponse.from_chunks(gemini.to_chunks(_events(case["input"]["chunks"])))
    expected = case["expect"]
    if "usage" in expected:  # the format counts no tokens that a cache took in
        usage = {key: number for key, number in expected["usage"].items() if key != "cache_write"}
        case = {**case, "expect": {**expected, "usage": usage}}
    check_stream(case, response, lambda message: thought_metadata(message).get("gemini", {}).get("thoughtSignature"))


def _check_cut_call(case: dict[str, Any]) -> None:
    (call,) = case["input"]["chunks"][0]["calls"]
    cut = {"functionCall": {"id": call["id"], "name": call["name"], "willContinue": True}}
    output = ChatResponse.from_chunks(gemini.to_chunks([event(cut), event(finish="MAX_TOKENS")])).results[0].output
    found = {"calls": list(output.tool_calls), "invalid": len(output.invalid_tool_calls)}
    assert {key: found[key] for key in case["expect"]} == case["expect"]


def _sent_part(medium: Media) -> dict[str, Any]:
    part: dict[str, Any] = gemini.to_request(Prompt(UserMessage([medium]))).body["contents"][0]["parts"][0]
    return part


def _check_pdf_as_image(case: dict[str, Any]) -> None:
    assert _sent_part(Media(url=case["input"]["part"]["url"]))["inlineData"]["mimeType"] == case["expect"]["mime"]


def _check_sniffing(case: dict[str, Any]) -> None:
    medium = Media(bytes.fromhex(case["input"]["bytes_hex"]), name=case["input"]["name"])
    assert _sent_part(medium)["inlineData"]["mimeType"] == case["expect"]["mime"]


def _check_url_without_type(case: dict[str, Any]) -> None:
    url = case["input"]["part"]["url"]
    assert _sent_part(Media(url=url, mime_type="image/*")) == {"fileData": {"fileUri": url}}


def _check_contents(case: dict[str, Any]) -> None:
    body = gemini.to_request(prompt_of(case)).body
    roles = [content["role"] for content in body["contents"]]
    assert roles == ["user", "model", "user", "user"][: len(roles)]
    kinds = [next(iter(part)) for content in body["contents"] for part in content["parts"]]
    words = [message.get("text") for message in case["input"]["messages"]]
    assert kinds == [
        "text",
        *["text"] * bool(words[1]),
        "functionCall",
        "functionResponse",
        *["text"] * (len(words) - 3),
    ]
    assert {"text": ""} not in [part for content in body["contents"] for part in content["parts"]]


def _check_late_system(case: dict[str, Any]) -> None:
    request = gemini.to_request(prompt_of(case))
    assert request.body["systemInstruction"] == {"parts": [text("A"), text("B")]}
    with pytest.raises(AdapterError, match=r"messages\[3\]: the system text is a field"):
        request.require("gemini")


def _check_results_of_a_turn(case: dict[str, Any]) -> None:
    contents = gemini.to_request(prompt_of(case)).body["contents"]
    kinds = [[next(iter(part)) for part in content["parts"]] for content in contents]
    assert kinds == [["text"], ["functionCall"] * 2, ["functionResponse"] * 2, ["text"]]


def _check_system_only(case: dict[str, Any]) -> None:
    with pytest.raises(AdapterError, match="has system text only"):
        gemini.to_request(prompt_of(case))


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    **dict.fromkeys(STREAMS, _check_stream),
    "B118": _check_cut_call,
    "B135": _check_pdf_as_image,
    "B139": _check_sniffing,
    "B140": _check_url_without_type,
    "B143": _check_late_system,
    "B145": _check_results_of_a_turn,
    "B148": _check_contents,
    "B150": _check_contents,
    "B152": _check_system_only,
}


@pytest.mark.parametrize("name", CHECKS)
def test_bug_reports_of_others(name: str) -> None:
    CHECKS[name](CASES[name])
