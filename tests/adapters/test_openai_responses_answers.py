"""Answers of Responses: whole or streamed they read alike, and damage has a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptkit.adapters import openai_responses
from promptkit.content import Opaque, Reasoning, Text
from promptkit.errors import ContextLengthError, ModelError, ResponseFormatError, TransportError
from promptkit.messages import AssistantMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Usage
from tests.adapters.bug_reports import STREAMS, check_stream, thought_metadata
from tests.adapters.responses_bodies import CITATION, ITEMS

FORMAT = "openai_responses"
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 7, "cache_write_tokens": 1},
    "output_tokens": 4,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 14,
}
Cut = Callable[[str], list[str]]


def message(*parts: dict[str, Any], id: str = "m1", **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "id": id, "status": "completed", "content": list(parts), **fields}


def text(words: str, *annotations: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": list(annotations)}


def call(call_id: str, arguments: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments, **fields}


def thought(*summary: str, **fields: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": words} for words in summary]
    return {"type": "reasoning", "id": "rs", "summary": parts, **fields}


def own(**fields: Any) -> dict[str, Any]:
    return {FORMAT: fields}


TWO = thought("a", "b")
SHOWN = thought(content=[{"type": "reasoning_text", "text": "hm"}])
ANSWERS: dict[str, tuple[list[dict[str, Any]], AssistantMessage]] = {
    "text": ([message(text("Hello, wörld 🦄"))], AssistantMessage("Hello, wörld 🦄", id="m1")),
    "nothing": ([], AssistantMessage("")),
    "refusal": (
        [message({"type": "refusal", "refusal": "No."})],
        AssistantMessage([Text("No.", metadata={"refusal": True})], id="m1"),
    ),
    "citations": (
        [message(text("See "), text("there", CITATION))],
        AssistantMessage(["See ", Text("there", metadata=own(annotations=[CITATION]))], id="m1"),
    ),
    "calls": (
        [call("a", '{"c": "Rome"}', id="fc_1"), call("b", "{}")],
        AssistantMessage(
            tool_calls=[
                ToolCall("a", "f", arguments='{"c": "Rome"}', metadata=own(id="fc_1")),
                ToolCall("b", "f"),
            ]
        ),
    ),
    "thoughts and tools": (
        [TWO, ITEMS[0], call("a", "{}"), SHOWN, message(text("x")), message(text("y"), id="m2")],
        AssistantMessage(
            [
                Reasoning("a\n\nb", metadata=own(id="rs", summary=TWO["summary"])),
                Opaque(FORMAT, ITEMS[0]),
                Reasoning("hm", metadata=own(id="rs", content=SHOWN["content"])),
                "x",
                Text("y", metadata=own(message={"id": "m2"})),
            ],
            tool_calls=[ToolCall("a", "f", metadata={"position": 2})],
            id="m1",
        ),
    ),
    "parts of tomorrow": (
        [message(text("x"), {"type": "new"})],
        AssistantMessage(["x", Opaque(FORMAT, {"type": "new"}, metadata=own(message={}))], id="m1"),
    ),
}


def payload_of(output: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Make a whole answer."""
    head = {"id": "r1", "object": "response", "model": "m", "status": "completed", "service_tier": "default"}
    return head | {"output": output, "usage": USAGE, "error": None, "temperature": 1.0, "tools": []} | fields


def events_of(payload: dict[str, Any], cut: Cut) -> Iterator[dict[str, Any]]:
    """Stream a whole answer, its texts cut into pieces, the arguments of its calls in turns at the end."""
    yield {"type": "response.created", "response": payload | {"output": [], "usage": None, "status": "in_progress"}}
    yield {"type": "response.in_progress", "response": {}}
    waiting: list[Iterator[dict[str, Any]]] = []
    for index, item in enumerate(payload["output"]):
        yield {
            "type": "response.output_item.added",
            "output_index": index,
            "item": item | {"content": [], "summary": []},
        }
        deltas = _deltas(item, index, cut)
        if item["type"] == "function_call" and index + 1 < len(payload["output"]):
            waiting.append(deltas)
            continue
        yield from deltas
        for other in waiting:
            yield from other
        waiting = []
    yield {"type": "response.completed", "response": payload}


def _deltas(item: dict[str, Any], index: int, cut: Cut) -> Iterator[dict[str, Any]]:
    at = {"output_index": index, "item_id": item.get("id")}
    for place, part in enumerate(item.get("content", ())):
        kinds = {"output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text"}
        if part["type"] in kinds:
            for piece in cut(part.get("text", part.get("refusal"))):
                yield {"type": f"response.{kinds[part['type']]}.delta", "content_index": place, "delta": piece, **at}
        for citation in part.get("annotations", ()):
            yield {
                "type": "response.output_text.annotation.added",
                "content_index": place,
                "annotation": citation,
                **at,
            }
    for place, part in enumerate(item.get("summary", ())):
        for piece in cut(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", "summary_index": place, "delta": piece, **at}
    if item["type"] == "function_call":
        for piece in cut(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", "delta": piece, **at}
    yield {"type": "response.output_item.done", "item": item, **at}


@pytest.mark.parametrize(("output", "expected"), ANSWERS.values(), ids=ANSWERS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_streamed_answer_reads_as_the_whole_one(
    output: list[dict[str, Any]], expected: AssistantMessage, data: st.DataObject
) -> None:
    def cut(words: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(words)), max_size=4)))
        return [words[start:end] for start, end in zip([0, *places], [*places, len(words)], strict=True)]

    payload = payload_of(output)
    response = openai_responses.to_response(payload)

    assert response.results[0].output == expected
    assert ChatResponse.from_chunks(openai_responses.to_chunks(events_of(payload, cut))) == response


@pytest.mark.parametrize(("output", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_goes_back_as_it_came(output: list[dict[str, Any]], expected: AssistantMessage) -> None:
    results = [ToolResponse(one.id, "f") for one in expected.tool_calls]
    prompt = Prompt([UserMessage("q"), expected, *([ToolResponseMessage(results)] if results else [])])
    sent = openai_responses.to_request(prompt, strict=bool(output)).body["input"][1:]

    assert sent[: len(output)] == output


def test_a_whole_answer() -> None:
    response = openai_responses.to_response(payload_of(ANSWERS["text"][0]))

    assert (response.id, response.model, response.metadata) == ("r1", "m", {"service_tier": "default"})
    assert response.usage == Usage(10, 4, cache_read_tokens=7, cache_write_tokens=1, reasoning_tokens=3, native=USAGE)
    assert response.results[0].finish_reason == "completed"


def test_an_answer_that_was_cut_short_says_why_and_has_no_half_call() -> None:
    output = [call("a", "{}", status="incomplete"), call("b", '{"x')]
    details = {"reason": "max_output_tokens"}
    response = openai_responses.to_response(payload_of(output, status="incomplete", incomplete_details=details))

    assert response.results[0].finish_reason == "max_output_tokens"
    assert not response.has_tool_calls
    assert [one.arguments for one in response.results[0].output.invalid_tool_calls] == ["{}", '{"x']


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (None, "the answer must be a mapping"),
        ({}, "output must be a list of items, not None"),
        ({"output": "x"}, "output must be a list of items"),
        ({"output": [5]}, r"output\[0\] must be a mapping"),
        ({"output": [message() | {"content": None}]}, r"output\[0\].content must be a list"),
        ({"output": [message({"type": "output_text"})]}, r"output\[0\]: text must be a str"),
        ({"output": [message(id=5)]}, r"output\[0\]: id must be a str"),  # type: ignore[arg-type]
        ({"output": [call("a", None)]}, r"output\[0\].arguments must be JSON text"),  # type: ignore[arg-type]
        ({"output": [call(5, "{}")]}, r"output\[0\].call_id must be a str"),  # type: ignore[arg-type]
        ({"output": [thought() | {"summary": "x"}]}, "summary must be a list"),
        ({"output": [], "usage": 5}, "usage must be a mapping"),
        ({"output": [], "id": 5}, "id must be a str"),
        ({"output": [], "status": "in_progress"}, "the answer has not ended"),
    ],
)
def test_damage_is_reported_with_its_place(payload: Any, error: str) -> None:
    with pytest.raises(ResponseFormatError, match=error):
        openai_responses.to_response(payload)


FAILURE = {"code": "server_error", "message": "busy"}
FAILED = {"type": "response.failed", "response": {"status": "failed", "error": FAILURE}}


@pytest.mark.parametrize(
    ("event", "kind", "retryable"),
    [
        (FAILED, ModelError, True),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, ModelError, True),
        ({"type": "error", "error": {"code": "context_length_exceeded"}}, ContextLengthError, False),
        ({"type": "response.completed", "response": {"status": "cancelled"}}, ModelError, False),
        ({"type": "response.completed", "response": {"error": FAILURE}}, ModelError, True),
    ],
)
def test_an_error_in_place_of_an_answer(event: Any, kind: type[ModelError], retryable: bool) -> None:
    with pytest.raises(kind, match="the model refused: ") as caught:
        list(openai_responses.to_chunks([delta("Hello")] if event is None else [event]))
    assert caught.value.retryable is retryable


def delta(words: Any, index: Any = 0, kind: str = "output_text", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "content_index": 0, "delta": words, **fields}


def done(item: dict[str, Any], index: Any = 0) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def end(**fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", **fields}}


HELLO = [delta("Hel"), delta("lo")]
OPEN_CALL = {"type": "response.output_item.added", "output_index": 1, "item": call("a", "")}
BROKEN: dict[str, tuple[list[Any], type[ModelError]]] = {
    "cut off": (HELLO, TransportError),
    "cut off in a call": ([*HELLO, OPEN_CALL, delta('{"a', 1, "function_call_arguments")], TransportError),
    "cut off before the arguments": ([*HELLO, OPEN_CALL], TransportError),
    "failed": ([*HELLO, FAILED], ModelError),
    "another text": ([*HELLO, done(message(text("Bye")))], ResponseFormatError),
    "no event": ([*HELLO, 5], ResponseFormatError),
    "damaged delta": ([*HELLO, delta(5)], ResponseFormatError),
    "damaged index": ([*HELLO, delta("x", "0")], ResponseFormatError),
    "damaged place": ([*HELLO, delta("x") | {"content_index": "0"}], ResponseFormatError),
    "damaged summary": ([*HELLO, delta("x", 1, "reasoning_summary_text", summary_index="0")], ResponseFormatError),
    "no item": ([*HELLO, {"type": "response.output_item.done"}], ResponseFormatError),
}


@pytest.mark.parametrize(("events", "kind"), BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_keeps_what_had_arrived(events: list[Any], kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        list(openai_responses.to_chunks(events))

    assert type(caught.value) is kind
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello"
    assert not caught.value.partial.has_tool_calls


ENDINGS: dict[str, list[Any]] = {
    "only the last event": [end(output=[message(text("Hello"))])],
    "doubled": [*HELLO, end(), end(output=[message(text("Hello"))]), delta("x")],
    "marker of others": [*HELLO, "[DONE]", {"type": "error"}],
    "no output at the end": [*HELLO, done(message(text("Hello"))), done(message(text("Hello"))), end(output=[])],
    "pieces missing": [delta("He"), end(output=[message(text("Hello"))])],
    "no index": [delta("Hel", None), delta("lo", None), delta(None), end()],
    "late pieces": [*HELLO, done(message(text("Hello"))), delta("x"), {"type": "response.new"}, end()],
}


@pytest.mark.parametrize("events", ENDINGS.values(), ids=ENDINGS)
def test_ends_of_a_stream(events: list[Any]) -> None:
    response = ChatResponse.from_chunks(openai_responses.to_chunks(events))

    assert response.results[0].output.content == "Hello"


def test_citations_come_through_without_the_end_of_their_text() -> None:
    noted = {"type": "response.output_text.annotation.added", "output_index": 0, "content_index": 0}
    events = [*HELLO, noted | {"annotation": CITATION}, end()]
    output = ChatResponse.from_chunks(openai_responses.to_chunks(events)).results[0].output

    assert output.content == (Text("Hello", metadata=own(annotations=[CITATION])),)


def test_of_thoughts_and_their_summary_those_that_come_first_are_read() -> None:
    events = [delta("hm", 0, "reasoning_text"), delta("h", 0, "reasoning_summary_text"), end()]
    output = ChatResponse.from_chunks(openai_responses.to_chunks(events)).results[0].output

    assert output.content == (Reasoning("hm"),)


def test_an_open_call_of_an_answer_cut_short_is_none() -> None:
    events = [OPEN_CALL, {"type": "response.incomplete", "response": {"status": "incomplete"}}]
    output = ChatResponse.from_chunks(openai_responses.to_chunks(events)).results[0].output

    assert (output.tool_calls, len(output.invalid_tool_calls)) == ((), 1)


def test_a_stream_without_an_answer_is_an_error() -> None:
    with pytest.raises(ModelError, match="without an answer"):
        list(openai_responses.to_chunks(["[DONE]"]))


# The recorded bug reports of others: each says what is right.


def _events(chunks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Say the pieces of a report in events of this format."""
    places: dict[Any, int] = {}
    last: dict[str, Any] = {}
    model, signature = None, None
    for chunk in chunks:
        for key, kind in (("text", "output_text"), ("reasoning", "reasoning_summary_text")):
            if chunk.get(key) is not None:
                yield delta(chunk[key], places.setdefault(key, len(places)), kind)
        signature = chunk.get("signature", signature)
        if "signature" in chunk:
            words = "".join(one.get("reasoning") or "" for one in chunks)
            yield done(thought(words, encrypted_content=signature), places["reasoning"])
        for wish in chunk.get("calls", ()):
            place = ("call", wish.get("index"))
            if place not in places:
                places[place] = len(places)
                item = call(wish["id"], "") | {"name": wish["name"]}
                yield {"type": "response.output_item.added", "output_index": places[place], "item": item}
            yield delta(wish.get("args"), places[place], "function_call_arguments")
        model = chunk.get("model", model)
        if chunk.get("finish"):
            last["incomplete_details"] = {"reason": chunk["finish"]}
        if chunk.get("usage"):
            given = chunk["usage"]
            details = {"cached_tokens": given.get("cache_read"), "cache_write_tokens": given.get("cache_write")}
            usage = {"input_tokens": given["input"], "output_tokens": given["output"]}
            last["usage"] = usage | {"input_tokens_details": details}
    yield end(model=model, **last)


@pytest.mark.parametrize("case", STREAMS.values(), ids=STREAMS)
def test_bug_reports_of_others(case: dict[str, Any]) -> None:
    response = ChatResponse.from_chunks(openai_responses.to_chunks(_events(case["input"]["chunks"])))
    check_stream(case, response, lambda message: thought_metadata(message).get(FORMAT, {}).get("encrypted_content"))
