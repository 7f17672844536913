"""Answers of the Messages API: whole or streamed they read alike, and damage has a place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic.types import Message as SDKMessage
from anthropic.types import RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from promptkit.adapters import anthropic
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import AdapterError, ContextLengthError, ModelError, ResponseFormatError, TransportError
from promptkit.messages import AssistantMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Usage
from tests.adapters.bug_reports import CASES, STREAMS, check_stream, prompt_of, thought_metadata

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 7,
    "cache_creation_input_tokens": 1,
    "output_tokens": 4,
    "output_tokens_details": {"thinking_tokens": 3},
}
CITATION = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "document_title": None,
    "file_id": None,
    "start_char_index": 0,
    "end_char_index": 1,
}
CALLS = [
    {"type": "tool_use", "id": "a", "name": "wx", "input": {"c": "Rome", "n": [1, None]}},
    {"type": "tool_use", "id": "b", "name": "tm", "input": {}, "caller": {"type": "direct"}},
]
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x y"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [{"type": "web_search_result", "encrypted_content": "e", "page_age": None, "title": "t", "url": "u"}],
}


def text(words: str, **own: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **own}


ANSWERS: dict[str, tuple[list[dict[str, Any]], AssistantMessage]] = {
    "text": ([text("Hello, wörld 🦄")], AssistantMessage("Hello, wörld 🦄")),
    "nothing": ([], AssistantMessage("")),
    "empty text": ([text("")], AssistantMessage("")),
    "two texts": ([text("Hello"), text(" world")], AssistantMessage(["Hello", " world"])),
    "citations": (
        [text("See "), text("there", citations=[CITATION, CITATION])],
        AssistantMessage(["See ", Text("there", metadata={"anthropic": {"citations": [CITATION, CITATION]}})]),
    ),
    "calls": (
        CALLS,
        AssistantMessage(
            tool_calls=[
                ToolCall("a", "wx", arguments='{"c":"Rome","n":[1,null]}'),
                ToolCall("b", "tm", metadata={"anthropic": {"caller": {"type": "direct"}}}),
            ]
        ),
    ),
    "text and a call": ([text("Wait."), CALLS[0]], AssistantMessage("Wait.", tool_calls=[
        ToolCall("a", "wx", arguments='{"c":"Rome","n":[1,null]}')
    ])),
    "thoughts": (
        [
            {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "thinking", "thinking": "", "signature": "b21p"},
            text("Yes."),
        ],
        AssistantMessage(
            [
                Reasoning("Let me see.", metadata={"signature": "c2ln"}),
                Reasoning(metadata={"redacted": "ZW5j"}),
                Reasoning(metadata={"signature": "b21p"}),
                "Yes.",
            ]
        ),
    ),
    "server tool": (
        [text("Look:"), SEARCH, FOUND, text("There.")],
        AssistantMessage(["Look:", Opaque("anthropic", SEARCH), Opaque("anthropic", FOUND), "There."]),
    ),
}  # fmt: skip


def payload_of(content: list[dict[str, Any]]) -> dict[str, Any]:
    """Make a whole answer."""
    called = any(block["type"] == "tool_use" for block in content)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m1",
        "content": content,
        "stop_reason": "tool_use" if called else "stop_sequence",
        "stop_sequence": None if called else "END",
        "usage": USAGE,
        "diagnostics": {"cache_miss_reason": None},
    }


BEGUN: dict[str, Any] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
BEGUN["server_tool_use"] = BEGUN["tool_use"]
Cut = Callable[[str], list[str]]


def events_of(payload: dict[str, Any], cut: Cut) -> Iterator[dict[str, Any]]:
    """Stream a whole answer, its texts cut into pieces."""
    start = payload | {"content": [], "stop_reason": None, "stop_sequence": None}
    start["usage"] = USAGE | {"output_tokens": 1, "output_tokens_details": None}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(payload["content"]):
        begun = {key: value for key, value in block.items() if key != "citations"} | BEGUN.get(block["type"], {})
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in _deltas(block, cut):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": payload["stop_reason"], "stop_sequence": payload["stop_sequence"]}
    details = {"output_tokens_details": USAGE["output_tokens_details"]}
    yield {"type": "message_delta", "delta": delta, "usage": {"input_tokens": None, "output_tokens": 4} | details}
    yield {"type": "message_stop"}


def _deltas(block: dict[str, Any], cut: Cut) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    if kind == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in cut(block["text"]))
        yield from ({"type": "citations_delta", "citation": item} for item in block.get("citations", ()))
    elif kind == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in cut(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif kind in ("tool_use", "server_tool_use"):
        given = json.dumps(block["input"], separators=(",", ":")) if block["input"] else ""
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in ["", *cut(given)])


@pytest.mark.parametrize(("content", "message"), ANSWERS.values(), ids=ANSWERS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_streamed_answer_reads_as_the_whole_one(
    content: list[dict[str, Any]], message: AssistantMessage, data: st.DataObject
) -> None:
    def cut(words: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(words)), max_size=4)))
        return [words[start:end] for start, end in zip([0, *places], [*places, len(words)], strict=True)]

    payload = payload_of(content)
    response = anthropic.to_response(payload)
    streamed = ChatResponse.from_chunks(anthropic.to_chunks(events_of(payload, cut)))

    assert response.results[0].output == message
    assert streamed == response


@pytest.mark.parametrize(("content", "message"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_goes_back_as_it_came(content: list[dict[str, Any]], message: AssistantMessage) -> None:
    call_ids = [call.id for call in message.tool_calls]
    results = [ToolResponseMessage([ToolResponse(call_id, content="1") for call_id in call_ids])] if call_ids else []
    sent = anthropic.to_request(Prompt([UserMessage("q"), message, *results])).body["messages"][1]["content"]

    assert (sent if isinstance(sent, list) else [text(sent)] if sent or content else []) == content


@pytest.mark.parametrize("content", [content for content, _ in ANSWERS.values()], ids=ANSWERS)
def test_the_answers_of_these_tests_are_the_vendors(content: list[dict[str, Any]]) -> None:
    payload = payload_of(content)
    TypeAdapter(SDKMessage).validate_python(payload)
    events: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    for event in events_of(payload, lambda words: [words]):
        if event["type"] != "ping":
            events.validate_python(event)


def test_a_whole_answer() -> None:
    response = anthropic.to_response(payload_of(ANSWERS["text"][0]))

    assert (response.id, response.model) == ("msg_1", "m1")
    assert response.metadata == {"diagnostics": {"cache_miss_reason": None}}
    assert response.usage == Usage(18, 4, cache_read_tokens=7, cache_write_tokens=1, reasoning_tokens=3, native=USAGE)
    assert response.results[0].finish_reason == "stop_sequence"
    assert response.results[0].metadata == {"stop_sequence": "END"}


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "No."}
    response = anthropic.to_response({"content": [], "stop_reason": "refusal", "stop_details": details})

    assert response.has_finish_reasons(["refusal"])
    assert response.results[0].metadata == {"stop_details": details}


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": -1, "output_tokens": "9"}])
def test_usage_that_counts_nothing_is_no_usage(usage: Any) -> None:
    response = anthropic.to_response({"content": [text("x")], "usage": usage})

    assert not response.usage
    assert response.usage.native == (usage or {})


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (None, "the answer must be a mapping, not None"),
        ([], "the answer must be a mapping"),
        ({}, "content must be a list of blocks, not None"),
        ({"content": "x"}, "content must be a list of blocks"),
        ({"content": [5]}, r"content\[0\] must be a mapping"),
        ({"content": [text("x"), {"type": "text", "text": 5}]}, r"content\[1\].text must be a str"),
        ({"content": [{"type": "thinking", "thinking": 5}]}, r"content\[0\].thinking must be a str"),
        ({"content": [{"type": "thinking", "thinking": "x", "signature": 5}]}, "thinking.signature must be a str"),
        ({"content": [{"type": "redacted_thinking"}]}, "the type 'redacted_thinking': data must be a str"),
        ({"content": [CALLS[0] | {"id": 5}]}, r"content\[0\].id must be a str"),
        ({"content": [CALLS[0] | {"input": "x"}]}, "input of a tool_use block must be a mapping"),
        ({"content": [], "usage": 5}, "usage must be a mapping"),
        ({"content": [], "id": 5}, "id must be a str"),
        ({"content": [], "stop_reason": 5}, "stop_reason must be a str"),
        ({"content": [], "stop_reason": "tool_use"}, "'tool_use' but has no calls"),
        ({"content": [json.loads('{"a":' * 500 + "1" + "}" * 500)]}, "the answer is damaged"),
    ],
)
def test_damage_is_reported_with_its_place(payload: Any, error: str) -> None:
    with pytest.raises(ResponseFormatError, match=error):
        anthropic.to_response(payload)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ModelError, True),
        ({"type": "rate_limit_error"}, ModelError, True),
        ({"type": ["odd"]}, ModelError, False),
        ({"message": "prompt is too long"}, ContextLengthError, False),
        ("no", ModelError, False),
        ({}, ModelError, False),
    ],
)
def test_an_error_in_place_of_an_answer(error: Any, kind: type[ModelError], retryable: bool) -> None:
    for read in (anthropic.to_response, lambda payload: list(anthropic.to_chunks([payload]))):
        with pytest.raises(kind, match="the model refused: ") as caught:
            read({"type": "error", "error": error})
        assert caught.value.retryable is retryable


def test_a_prompt_that_is_too_long_names_needed_and_available() -> None:
    error = anthropic.error_of({"message": "prompt is too long: 208310 tokens > 200000 maximum"})

    assert isinstance(error, ContextLengthError)
    assert (error.needed, error.available) == (208310, 200000)


START = {"type": "message_start", "message": {"id": "r", "model": "m", "usage": {"input_tokens": 3}}}
STOP = {"type": "message_stop"}


def begin(block: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(kind: str, value: str, index: int | None = 0) -> dict[str, Any]:
    key = {"input_json": "partial_json"}.get(kind, kind)
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", key: value}}


def end(index: int | None = 0) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def finish(reason: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or None}


HELLO = [START, begin(text("")), delta("text", "Hel"), delta("text", "lo")]
OPEN_CALL = begin({"type": "tool_use", "id": "a", "name": "f", "input": {}}, 1)

BROKEN_STREAMS: dict[str, tuple[list[Any], type[ModelError]]] = {
    "cut off": (HELLO, TransportError),
    "cut off in a call": ([*HELLO, end(), OPEN_CALL, delta("input_json", '{"a', 1)], TransportError),
    "cut off before the arguments": ([*HELLO, end(), OPEN_CALL], TransportError),
    "cut off in a block of the vendor": ([*HELLO, end(), begin(SEARCH, 1)], TransportError),
    "error": ([*HELLO, {"type": "error", "error": {"type": "overloaded_error"}}], ModelError),
    "damage": ([*HELLO, {"type": "content_block_delta", "delta": 5}], ResponseFormatError),
    "damaged index": ([*HELLO, end("0")], ResponseFormatError),  # type: ignore[arg-type]
    "thought in a text": ([*HELLO, delta("thinking", "x")], ResponseFormatError),
    "no event": ([*HELLO, 5], ResponseFormatError),
    "promised calls": ([*HELLO, finish("tool_use"), STOP], ResponseFormatError),
    "damage at the end": (
        [*HELLO, begin({"type": "redacted_thinking"}, 1), begin({"type": "image"}, 2), STOP],
        ResponseFormatError,
    ),
}


@pytest.mark.parametrize(("events", "kind"), BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
def test_a_broken_stream_keeps_what_had_arrived(events: list[Any], kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        list(anthropic.to_chunks(events))

    assert type(caught.value) is kind
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello"
    assert not caught.value.partial.has_tool_calls
    assert caught.value.partial.usage.prompt_tokens == 3


@pytest.mark.parametrize("events", [[], [STOP], ["[DONE]"], [{"type": "ping"}, finish()]])
def test_a_stream_without_an_answer_is_an_error(events: list[Any]) -> None:
    with pytest.raises(ModelError, match=r"ended before the answer|without an answer"):
        list(anthropic.to_chunks(events))


ENDINGS: dict[str, list[Any]] = {
    "as it should be": [*HELLO, end(), finish(), STOP],
    "doubled": [*HELLO, end(), finish(), finish(), STOP, STOP, delta("text", "x"), START],
    "no marker": [*HELLO, end(), finish()],
    "no reason": [*HELLO, end(), STOP],
    "no end of the block": [*HELLO, finish(), STOP],
    "marker of others": [*HELLO, end(), "[DONE]"],
    "no index": [START, begin(text(""), None), delta("text", "Hello", None), end(None), finish(), STOP],
    "no beginning": [delta("text", "Hello"), finish(), STOP],
    "started with text": [START, begin(text("Hel")), delta("text", "lo"), end(), finish(), STOP],
    "doubled beginning": [START, *HELLO, end(), finish(), STOP],
    "events of tomorrow": [{"type": "new"}, *HELLO, {"type": "content_block_new", "index": 0}, end(), finish(), STOP],
}


@pytest.mark.parametrize("events", ENDINGS.values(), ids=ENDINGS)
def test_ends_of_a_stream(events: list[Any]) -> None:
    response = ChatResponse.from_chunks(anthropic.to_chunks(events))

    assert response.text == "Hello"
    assert response.results[0].output.content == "Hello"


def test_usage_is_a_running_total_of_each_counter() -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 2, "cache_read_input_tokens": 90}}}
    events = [start, finish(None, output_tokens=4), finish(input_tokens=3, output_tokens=9), STOP]

    usage = ChatResponse.from_chunks(anthropic.to_chunks(events)).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (93, 9, 102)


def test_a_block_of_tomorrow_is_joined_and_kept() -> None:
    events = [
        START,
        begin({"type": "compaction", "content": None}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "ab", "n": 1}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "cd"}},
        end(),
        finish(),
    ]
    output = ChatResponse.from_chunks(anthropic.to_chunks(events)).results[0].output

    assert output.content == (Opaque("anthropic", {"type": "compaction", "content": "abcd", "n": 1}),)


def test_broken_arguments_make_no_call() -> None:
    events = [START, OPEN_CALL, delta("input_json", '{"a', 1), end(1), finish("max_tokens"), STOP]
    output = ChatResponse.from_chunks(anthropic.to_chunks(events)).results[0].output

    assert output.tool_calls == ()
    assert output.invalid_tool_calls[0].arguments == '{"a'


def test_broken_arguments_of_a_server_tool_are_marked() -> None:
    events = [START, begin(SEARCH | {"input": {}}), delta("input_json", '{"a'), end(), finish("max_tokens"), STOP]
    output = ChatResponse.from_chunks(anthropic.to_chunks(events)).results[0].output

    assert output.content == (Opaque("anthropic", SEARCH | {"input": {"INVALID_JSON": '{"a'}}),)


def test_closing_closes_the_events_and_takes_no_more() -> None:
    taken, closed = [], []

    def events() -> Iterator[Any]:
        try:
            while True:
                taken.append(1)
                yield delta("text", "x")
        finally:
            closed.append(1)

    chunks = anthropic.to_chunks(events())
    next(chunks)
    chunks.close()

    assert (taken, closed) == ([1], [1])


# The recorded bug reports of others: each says what is right.


def _events(chunks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Say the pieces of a report in events of this format."""
    yield {"type": "message_start", "message": {"model": next((c["model"] for c in chunks if "model" in c), None)}}
    indices: dict[Any, int] = {}
    for chunk in chunks:
        for key, kind in (("text", "text"), ("reasoning", "thinking")):
            if chunk.get(key) is not None:
                if key not in indices:
                    indices[key] = len(indices)
                    yield begin({"type": kind}, indices[key])
                yield delta(kind, chunk[key], indices[key])
        if "signature" in chunk:
            yield delta("signature", chunk["signature"], indices["reasoning"])
        for call in chunk.get("calls", ()):
            place = ("call", call.get("index"))
            if place not in indices:
                indices[place] = len(indices)
                yield begin({"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}, indices[place])
            yield delta("input_json", call.get("args") or "", indices[place])
        if "finish" in chunk or "usage" in chunk:
            given = chunk.get("usage") or {}
            names = {"input": "input_tokens", "output": "output_tokens"}
            names |= {"cache_read": "cache_read_input_tokens", "cache_write": "cache_creation_input_tokens"}
            usage = {names[key]: value for key, value in given.items() if key in names}
            if usage:  # the report counts cached tokens in, this format leaves them out
                usage["input_tokens"] -= given.get("cache_read", 0) + given.get("cache_write", 0)
            yield finish(chunk.get("finish"), **usage)
    yield STOP


def _check_stream(case: dict[str, Any]) -> None:
    response = ChatResponse.from_chunks(anthropic.to_chunks(_events(case["input"]["chunks"])))
    check_stream(case, response, lambda message: thought_metadata(message).get("signature"))


def _check_image_by_url(case: dict[str, Any]) -> None:
    body = anthropic.to_request(
        Prompt(UserMessage([Media(url=case["input"]["part"]["url"], mime_type="image/*")]))
    ).body
    assert body["messages"][0]["content"][0]["source"]["type"] == case["expect"]["source_type"]


def _check_pdf_as_image(case: dict[str, Any]) -> None:
    medium = Media(url=case["input"]["part"]["url"])
    block = anthropic.to_request(Prompt(UserMessage([medium]))).body["messages"][0]["content"][0]
    assert (block["type"], block["source"]["media_type"]) == (case["expect"]["block"], case["expect"]["mime"])


def _check_sniffing(case: dict[str, Any]) -> None:
    medium = Media(bytes.fromhex(case["input"]["bytes_hex"]), name=case["input"]["name"])
    block = anthropic.to_request(Prompt(UserMessage([medium]))).body["messages"][0]["content"][0]
    assert block["source"]["media_type"] == case["expect"]["mime"]


def _check_late_system(case: dict[str, Any]) -> None:
    request = anthropic.to_request(prompt_of(case))
    assert [block["text"] for block in request.body["system"]] == ["A", "B"]
    with pytest.raises(AdapterError, match=r"messages\[3\]: the system text is a parameter"):
        request.require("anthropic")
    kept = anthropic.to_request(prompt_of(case), late_system="keep", strict=True).body["messages"]
    assert [message["role"] for message in kept] == ["user", "assistant", "system", "user"]


def _check_blocks(case: dict[str, Any]) -> None:
    messages = anthropic.to_request(prompt_of(case)).body["messages"]
    expected = case["expect"]
    roles = [message["role"] for message in messages]
    assert roles == expected.get("roles", ["user", "assistant", "user"])
    blocks = messages[-1 if "last_blocks" in expected else 1]["content"]
    assert [block["type"] for block in blocks] == expected.get("last_blocks", expected.get("assistant_blocks"))


def _check_system_only(case: dict[str, Any]) -> None:
    with pytest.raises(AdapterError, match="has system text only"):
        anthropic.to_request(prompt_of(case))


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    **dict.fromkeys(STREAMS, _check_stream),
    "B135": _check_pdf_as_image,
    "B139": _check_sniffing,
    "B140": _check_image_by_url,
    "B143": _check_late_system,
    "B145": _check_blocks,
    "B147": _check_blocks,
    "B152": _check_system_only,
}


@pytest.mark.parametrize("name", CHECKS)
def test_bug_reports_of_others(name: str) -> None:
    CHECKS[name](CASES[name])
