"""Answers of Chat Completions: whole or streamed they read alike, and damage has a place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptkit.adapters import openai
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import (
    ContextLengthError,
    ModelError,
    PromptError,
    ResponseFormatError,
    TransportError,
    UnsupportedContentError,
)
from promptkit.messages import AssistantMessage, SystemMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Usage
from tests.adapters.bug_reports import CASES, STREAMS, check_stream

USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 2,
    "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 7, "cache_write_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
CALLS = [
    {"id": "a", "type": "function", "function": {"name": "wx", "arguments": '{"c": "Rome"}'}},
    {"id": "b", "type": "function", "function": {"name": "tm", "arguments": "{}"}, "extra_content": {"sig": "s"}},
]

ANSWERS: dict[str, dict[str, Any]] = {
    "text": {"content": "Hello, world"},
    "empty text": {"content": ""},
    "nothing": {"content": None},
    "calls": {"content": None, "tool_calls": CALLS},
    "text and calls": {"content": "Wait.", "tool_calls": CALLS},
    "reasoning": {"reasoning_content": "Let me see.", "content": "Yes."},
    "reasoning and calls": {"reasoning": "Let me see.", "content": None, "tool_calls": CALLS},
    "refusal": {"content": None, "refusal": "I cannot."},
    "broken call": {"content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"a'}}]},
    "custom call": {
        "content": None,
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}],
    },
    "old call": {"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
    "citations": {
        "content": "See there.",
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://h"}}, {"type": "x"}],
    },
    "sound": {"content": None, "audio": {"id": "s1", "data": "UklGRgAAAABXQVZF", "transcript": "hi", "expires_at": 9}},
    "parts": {"content": [{"type": "text", "text": "Hi"}, {"type": "of_tomorrow", "x": 1}]},
}


def payload_of(message: dict[str, Any]) -> dict[str, Any]:
    """Make a whole answer of two choices."""
    finish_reason = "tool_calls" if {"tool_calls", "function_call"} & message.keys() else "stop"
    logprobs = {"content": [{"token": "H", "logprob": -0.1}, {"token": "i", "logprob": -0.2}], "refusal": None}
    choice = {"message": {"role": "assistant"} | message, "finish_reason": finish_reason, "logprobs": logprobs}
    return {
        "id": "r1",
        "object": "chat.completion",
        "model": "m1",
        "created": 5,
        "system_fingerprint": "fp",
        "choices": [choice | {"index": 0}, choice | {"index": 1}],
        "usage": USAGE,
    }


def events_of(payload: dict[str, Any], cut: Callable[[str], list[str]]) -> Iterator[dict[str, Any]]:
    """Stream a whole answer, its texts cut into pieces."""
    head = {key: value for key, value in payload.items() if key not in ("choices", "usage", "object")}
    for choice in payload["choices"]:
        for delta in ({"role": "assistant", "content": ""}, *_deltas(choice["message"], cut)):
            yield head | {"choices": [{"index": choice["index"], "delta": delta, "finish_reason": None}], "usage": None}
        for entry in choice["logprobs"]["content"]:
            piece = {"index": choice["index"], "delta": {}, "logprobs": {"content": [entry], "refusal": None}}
            yield head | {"choices": [piece]}
        last = {"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}
        yield head | {"choices": [last], "obfuscation": "xyz"}
    yield head | {"choices": [], "usage": payload["usage"]}


def _deltas(message: dict[str, Any], cut: Callable[[str], list[str]]) -> Iterator[dict[str, Any]]:
    for key, value in message.items():
        if key in ("reasoning_content", "reasoning", "content", "refusal") and isinstance(value, str):
            yield from ({key: piece} for piece in cut(value))
        elif key == "tool_calls":
            yield from _call_deltas(value, cut)
        elif key == "function_call":
            yield {key: {"name": value["name"], "arguments": ""}}
            yield from ({key: {"arguments": piece}} for piece in cut(value["arguments"]))
        elif key == "audio":
            yield {key: {"id": value["id"], "data": value["data"][:8], "transcript": "h"}}
            yield {key: {"data": value["data"][8:], "transcript": "i"}}
            yield {key: {"expires_at": value["expires_at"]}}
        elif key == "annotations":
            yield from ({key: [item]} for item in value)
        elif value is not None:
            yield {key: value}


def _call_deltas(calls: list[dict[str, Any]], cut: Callable[[str], list[str]]) -> Iterator[dict[str, Any]]:
    """Begin every call, then give the pieces of all in turns."""
    rest = []
    for index, call in enumerate(calls):
        key, text = ("custom", "input") if "custom" in call else ("function", "arguments")
        yield {"tool_calls": [call | {"index": index, key: call[key] | {text: ""}}]}
        rest.append([{"index": index, key: {text: piece}} for piece in cut(call[key][text])])
    while any(rest):
        yield {"tool_calls": [pieces.pop(0) for pieces in rest if pieces]}


@pytest.mark.parametrize("message", ANSWERS.values(), ids=ANSWERS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_streamed_answer_reads_as_the_whole_one(message: dict[str, Any], data: st.DataObject) -> None:
    def cut(text: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=4)))
        return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]

    payload = payload_of(message)

    assert ChatResponse.from_chunks(openai.to_chunks(events_of(payload, cut))) == openai.to_response(payload)


def answer_of(message: dict[str, Any]) -> AssistantMessage:
    return openai.to_response(payload_of(message)).results[1].output


def test_a_whole_answer() -> None:
    response = openai.to_response(payload_of(ANSWERS["text"]))

    assert response.text == "Hello, world"
    assert (response.id, response.model) == ("r1", "m1")
    assert response.metadata == {"created": 5, "system_fingerprint": "fp"}
    assert response.usage == Usage(10, 2, cache_read_tokens=7, cache_write_tokens=1, reasoning_tokens=1, native=USAGE)
    assert [result.finish_reason for result in response.results] == ["stop", "stop"]
    assert len(response.results[0].metadata["logprobs"]["content"]) == 2


MESSAGES = {
    "empty text": AssistantMessage(""),
    "nothing": AssistantMessage(""),
    "calls": AssistantMessage(
        tool_calls=[
            ToolCall("a", "wx", arguments='{"c": "Rome"}'),
            ToolCall("b", "tm", metadata={"openai": {"extra_content": {"sig": "s"}}}),
        ]
    ),
    "reasoning": AssistantMessage([Reasoning("Let me see."), "Yes."]),
    "refusal": AssistantMessage([Text("I cannot.", metadata={"refusal": True})]),
    "custom call": AssistantMessage(
        [Opaque("openai", {"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}})]
    ),
    "old call": AssistantMessage(
        tool_calls=[ToolCall(None, "f", arguments='{"a": 1}', metadata={"openai": {"deprecated": True}})]
    ),
    "citations": AssistantMessage("See there.", metadata={"annotations": ANSWERS["citations"]["annotations"]}),
    "sound": AssistantMessage([Media(b"RIFF\0\0\0\0WAVE", id="s1", metadata={"transcript": "hi", "expires_at": 9})]),
    "parts": AssistantMessage(["Hi", Opaque("openai", {"type": "of_tomorrow", "x": 1})]),
}


@pytest.mark.parametrize(("name", "message"), MESSAGES.items(), ids=MESSAGES)
def test_what_answers_hold(name: str, message: AssistantMessage) -> None:
    assert answer_of(ANSWERS[name]) == message


@pytest.mark.parametrize("name", ["text", "calls", "refusal", "custom call", "old call"])
def test_an_answer_goes_back_as_it_came(name: str) -> None:
    sent = openai.to_request(Prompt(answer_of(ANSWERS[name])), strict=True).body["messages"]

    assert openai.from_request({"messages": sent}) == Prompt(answer_of(ANSWERS[name]))


def test_a_broken_call_is_no_call() -> None:
    output = answer_of(ANSWERS["broken call"])

    assert output.tool_calls == ()
    assert output.invalid_tool_calls[0].arguments == '{"a'


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (None, "the event must be a mapping, not None"),
        ([], "the event must be a mapping"),
        ({}, "choices must be a list with an answer in it, not None"),
        ({"choices": []}, "choices must be a list with an answer in it"),
        ({"choices": "x"}, "choices must be a list"),
        ({"choices": [5]}, r"choices\[0\] must be a mapping"),
        ({"choices": [{}]}, r"choices\[0\].message must be a mapping, not None"),
        ({"choices": [{"index": "0", "message": {}}]}, r"choices\[0\].index must be an int"),
        ({"choices": [{"message": {"content": 5}}]}, r"choices\[0\].message.content must be a str or a list"),
        ({"choices": [{"message": {"content": [5]}}]}, r"choices\[0\].message.content\[0\]: a part must be a mapping"),
        ({"choices": [{"message": {"refusal": 5}}]}, r"choices\[0\].message.refusal must be a str"),
        ({"choices": [{"message": {"reasoning": 5}}]}, r"choices\[0\].message.reasoning must be a str"),
        ({"choices": [{"message": {"tool_calls": 5}}]}, r"choices\[0\].message.tool_calls must be a list"),
        ({"choices": [{"message": {"tool_calls": [5]}}]}, r"message.tool_calls\[0\] must be a mapping"),
        ({"choices": [{"message": {"tool_calls": [{"function": 5}]}}]}, r"tool_calls\[0\].function must be a mapping"),
        ({"choices": [{"message": {"tool_calls": [{"index": "0"}]}}]}, r"tool_calls\[0\].index must be an int"),
        (
            {"choices": [{"message": {"tool_calls": [{"function": {"arguments": 5}}]}}]},
            r"tool_calls\[0\].function.arguments must be JSON text",
        ),
        ({"choices": [{"message": {"audio": 5}}]}, r"choices\[0\].message.audio must be a mapping"),
        ({"choices": [{"message": {"audio": {"data": "%"}}}]}, r"choices\[0\].message.audio.data: "),
        ({"choices": [{"message": {"audio": {"transcript": "x"}}}]}, "sound has neither data nor an id"),
        ({"choices": [{"message": {}, "finish_reason": 5}]}, r"choices\[0\].finish_reason must be a str"),
        ({"choices": [{"message": {}, "logprobs": 5}]}, r"choices\[0\].logprobs must be a mapping"),
        ({"choices": [{"message": {}}], "usage": 5}, "usage must be a mapping"),
        ({"choices": [{"message": {}}], "id": 5}, "id must be a str"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "tool_calls"}]}, "'tool_calls' but has no calls"),
    ],
)
def test_damage_is_reported_with_its_place(payload: Any, error: str) -> None:
    with pytest.raises(ResponseFormatError, match=error):
        openai.to_response(payload)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": "9"}])
def test_usage_that_counts_nothing_is_no_usage(usage: Any) -> None:
    response = openai.to_response({"choices": [{"message": {"content": "x"}}], "usage": usage})

    assert not response.usage
    assert response.usage.native == (usage or {})


def test_finish_reasons_are_kept_in_the_vendors_word() -> None:
    payload = {"choices": [{"message": {"content": "x"}, "finish_reason": "of_tomorrow"}]}

    assert openai.to_response(payload).has_finish_reasons(["of_tomorrow"])


def test_arguments_that_came_as_an_object_are_written_as_text() -> None:
    payload = {"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}}]}

    assert openai.to_response(payload).results[0].output.tool_calls == (ToolCall(None, "f", arguments='{"a":1}'),)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "too long", "code": "context_length_exceeded"}, ContextLengthError, False),
        ({"message": "busy", "type": "server_error"}, ModelError, True),
        ({"message": "slow down", "code": 429}, ModelError, True),
        ({"message": "no", "code": ["odd"]}, ModelError, False),
        ("no", ModelError, False),
        ({}, ModelError, False),
    ],
)
def test_an_error_in_place_of_an_answer(error: Any, kind: type[ModelError], retryable: bool) -> None:
    with pytest.raises(kind, match="the model refused: ") as caught:
        openai.to_response({"error": error})
    assert caught.value.retryable is retryable


def delta_of(index: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def test_a_call_with_its_length_names_needed_and_available() -> None:
    error = {"type": "exceed_context_size_error", "message": "m", "n_prompt_tokens": 9, "n_ctx": 5}

    with pytest.raises(ContextLengthError) as caught:
        list(openai.to_chunks([{"error": error}]))
    assert (caught.value.needed, caught.value.available) == (9, 5)


BROKEN_STREAMS: dict[str, tuple[list[Any], type[ModelError]]] = {
    "cut off": ([delta_of(content="Hel"), delta_of(content="lo")], TransportError),
    "cut off in a call": (
        [
            delta_of(content="Hello"),
            delta_of(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"a'}}]),
        ],
        TransportError,
    ),
    "cut off before the arguments": (
        [delta_of(content="Hello"), delta_of(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f"}}])],
        TransportError,
    ),
    "one of two cut off": ([delta_of(content="Hello", finish="stop"), delta_of(1, content="x")], TransportError),
    "error": ([delta_of(content="Hello"), {"error": {"message": "busy"}}], ModelError),
    "damage": ([delta_of(content="Hello"), {"choices": 5}], ResponseFormatError),
    "promised calls": ([delta_of(content="Hello"), delta_of(finish="tool_calls")], ResponseFormatError),
    "hostile metadata": (
        [delta_of(content="Hello"), delta_of() | {"m": json.loads("[" * 500 + "]" * 500)}],
        ResponseFormatError,
    ),
}


@pytest.mark.parametrize(("events", "kind"), BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
def test_a_broken_stream_keeps_what_had_arrived(events: list[Any], kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        list(openai.to_chunks(events))

    assert type(caught.value) is kind
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello"
    assert not caught.value.partial.has_tool_calls


def test_what_is_given_at_the_end_is_in_the_partial_answer_too() -> None:
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}

    with pytest.raises(TransportError) as caught:
        list(openai.to_chunks([delta_of(tool_calls=[custom], annotations=[1])]))

    assert caught.value.partial is not None
    output = caught.value.partial.results[0].output
    assert isinstance(output.content, tuple)
    assert isinstance(output.content[0], Opaque)
    assert output.metadata == {"annotations": [1]}


@pytest.mark.parametrize(
    ("events", "error"),
    [([], "ended before the answer"), (["[DONE]"], "without an answer"), ([{"usage": USAGE}], "ended before")],
)
def test_a_stream_without_an_answer_is_an_error(events: list[Any], error: str) -> None:
    with pytest.raises(ModelError, match=error):
        list(openai.to_chunks(events))


ENDINGS: dict[str, list[Any]] = {
    "doubled finish": [delta_of(content="x", finish="stop"), delta_of(finish="stop")],
    "marker": [delta_of(content="x", finish="stop"), "[DONE]"],
    "doubled marker": [delta_of(content="x", finish="stop"), "[DONE]", "[DONE]", delta_of(content="y")],
    "marker without finish": [delta_of(content="x"), "[DONE]"],
    "null delta": [delta_of(content="x"), {"choices": [{"delta": None, "finish_reason": "stop"}]}],
}


@pytest.mark.parametrize("events", ENDINGS.values(), ids=ENDINGS)
def test_ends_of_a_stream(events: list[Any]) -> None:
    assert ChatResponse.from_chunks(openai.to_chunks(events)).text == "x"


def test_closing_closes_the_events_and_takes_no_more() -> None:
    taken, closed = [], []

    def events() -> Iterator[Any]:
        try:
            while True:
                taken.append(1)
                yield delta_of(content="x")
        finally:
            closed.append(1)

    chunks = openai.to_chunks(events())
    next(chunks)
    chunks.close()

    assert (taken, closed) == ([1], [1])


def test_text_chunks_say_nothing_twice() -> None:
    head = {"id": "r", "model": "m", "created": 5}
    chunks = list(openai.to_chunks([head | delta_of(content="a"), head | delta_of(content="b", finish="stop")]))

    assert [(chunk.text, chunk.id, bool(chunk.metadata)) for chunk in chunks] == [("a", "r", True), ("b", None, False)]


# The recorded bug reports of others: each says what is right.


def _event(chunk: dict[str, Any]) -> dict[str, Any]:
    delta: dict[str, Any] = {
        {"text": "content", "reasoning": "reasoning_content"}.get(key, key): value
        for key, value in chunk.items()
        if key in ("text", "reasoning", "signature")
    }
    if "calls" in chunk:
        names = {"name": "name", "args": "arguments"}
        delta["tool_calls"] = [
            {key: value for key, value in call.items() if key in ("index", "id")}
            | {"function": {names[key]: value for key, value in call.items() if key in names}}
            for call in chunk["calls"]
        ]
    event: dict[str, Any] = {"choices": [{"delta": delta, "finish_reason": chunk.get("finish")}]}
    event |= {"model": chunk["model"]} if "model" in chunk else {}
    if "usage" in chunk:
        usage = chunk["usage"]
        details = {"cached_tokens": usage.get("cache_read"), "cache_write_tokens": usage.get("cache_write")}
        event["usage"] = {
            "prompt_tokens": usage["input"],
            "completion_tokens": usage["output"],
            "prompt_tokens_details": details,
        }
    return event


def _check_stream(case: dict[str, Any]) -> None:
    events = [_event(chunk) for chunk in case["input"]["chunks"]]
    response = ChatResponse.from_chunks(openai.to_chunks([*events, "[DONE]"]))
    check_stream(case, response, lambda message: message.metadata.get("signature"))


def _check_pdf_as_image(case: dict[str, Any]) -> None:
    part = {"type": "image_url", "image_url": {"url": case["input"]["part"]["url"]}}
    prompt = openai.from_request({"messages": [{"role": "user", "content": [part]}]})
    message = prompt[0]
    assert isinstance(message, UserMessage)
    assert (message.media[0].kind, message.media[0].mime_type) == ("document", case["expect"]["mime"])
    assert openai.to_request(prompt).body["messages"][0]["content"][0]["type"] == "file"


def _check_file_by_url(case: dict[str, Any]) -> None:
    part = case["input"]["part"]
    prompt = Prompt(UserMessage([Media(url=part["url"], mime_type=part["mime"])]))
    with pytest.raises(UnsupportedContentError, match="fetches no documents") as caught:
        openai.to_request(prompt, strict=True)
    assert caught.value.path == "messages[0].content[0]"


def _check_sniffing(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["input"]["bytes_hex"])
    assert Media(data, name=case["input"]["name"]).mime_type == case["expect"]["mime"]
    with pytest.raises(PromptError, match="needs a mime_type"):
        Media(b"unknown")


def _check_audio(case: dict[str, Any]) -> None:
    media = [Media.from_base64(part["base64"], part["mime"]) for part in case["input"]["parts"]]
    content = openai.to_request(Prompt(UserMessage(media))).body["messages"][0]["content"]
    assert [part["input_audio"]["format"] for part in content] == case["expect"]["formats"]


def _check_system_role(case: dict[str, Any]) -> None:
    prompt = Prompt([SystemMessage("S"), UserMessage("q")])
    roles = []
    for option in case["input"]["options"]:
        body = openai.to_request(prompt, dialect=openai.OPENAI.mutate(system_role=option)).body
        roles.append(body["messages"][0]["role"])
        if option != "user":
            assert openai.from_request(body)[0].message_type == "system"
    assert roles == case["expect"]["first_role_by_option"]


def _check_calls_in_content(case: dict[str, Any]) -> None:
    call = case["input"]["message"]["parts"][0]
    message = AssistantMessage(tool_calls=[ToolCall(call["id"], call["name"], arguments=call["args"])])
    body = openai.to_request(Prompt(message), strict=True).body["messages"][0]
    assert len(body["tool_calls"]) == case["expect"]["tool_calls"]


def _check_empty_content(case: dict[str, Any]) -> None:
    call = ToolCall("a", "f", arguments={})
    result = ToolResponseMessage(ToolResponse("a", "f", content=""))
    body = openai.to_request(Prompt([UserMessage("q"), AssistantMessage("", tool_calls=[call]), result])).body
    assert body["messages"][1].get("content") is case["expect"]["assistant_content"]
    assert body["messages"][2]["content"] == ""


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    **dict.fromkeys(STREAMS, _check_stream),
    "B135": _check_pdf_as_image,
    "B137": _check_file_by_url,
    "B139": _check_sniffing,
    "B142": _check_audio,
    "B153": _check_system_role,
    "B155": _check_calls_in_content,
    "B157": _check_empty_content,
}


@pytest.mark.parametrize("name", CHECKS)
def test_bug_reports_of_others(name: str) -> None:
    CHECKS[name](CASES[name])
