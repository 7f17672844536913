from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit import _joining, _json
from promptkit.content import Content, Media, Reasoning, Text
from promptkit.errors import ModelError, PromptError, RateLimitError, UnsupportedContentError
from promptkit.messages import AssistantMessage, InvalidToolCall, ToolCall
from promptkit.response import ChatChunk, ChatResponse, ChunkAccumulator, Generation, ToolCallChunk, Usage
from tests import strategies

PICTURE = Media(file_id="f")


def calls(*pieces: ToolCallChunk) -> list[ChatChunk]:
    """Give each piece in a chunk of its own."""
    return [ChatChunk(tool_calls=[piece]) for piece in pieces]


def output(*chunks: ChatChunk) -> AssistantMessage:
    response = ChatResponse.from_chunks(chunks)
    assert response.result is not None
    return response.result.output


# Values


@given(strategies.responses() | strategies.chunks() | strategies.usages())
def test_they_are_values(value: Any) -> None:
    again = pickle.loads(pickle.dumps(value))

    assert again == copy.deepcopy(value) == value.mutate() == value
    assert hash(again) == hash(value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Usage(True), r"^Usage\.prompt_tokens must be an int, not True$"),
        (lambda: Usage(1, 2.0), r"^Usage\.completion_tokens must be an int, not 2\.0$"),  # type: ignore[arg-type]
        (lambda: Usage(total_tokens="3"), r"^Usage\.total_tokens must be an int"),  # type: ignore[arg-type]
        (lambda: Usage(cache_read_tokens=False), r"^Usage\.cache_read_tokens must be an int, not False$"),
        (lambda: Usage(10**5000), r"^Usage\.prompt_tokens is an int of 16610 bits"),
        (lambda: Usage(native=None), r"^Usage\.native must be a mapping, not None$"),  # type: ignore[arg-type]
        (lambda: Generation("hi"), r"^Generation\.output must be an AssistantMessage, not 'hi'$"),  # type: ignore[arg-type]
        (lambda: Generation(AssistantMessage(), 5), r"^Generation\.finish_reason must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: Generation(AssistantMessage(), metadata=None), r"^Generation\.metadata must be a mapping"),  # type: ignore[arg-type]
        (lambda: ChatResponse(None), r"^ChatResponse\.results must hold Generation objects, not None$"),  # type: ignore[arg-type]
        (lambda: ChatResponse(AssistantMessage()), r"^ChatResponse\.results must hold Generation objects"),  # type: ignore[arg-type]
        (lambda: ChatResponse(["hi"]), r"^ChatResponse\.results\[0\] is no Generation: 'hi'$"),  # type: ignore[list-item]
        (lambda: ChatResponse([], usage=None), r"^ChatResponse\.usage must be a Usage, not None$"),  # type: ignore[arg-type]
        (lambda: ChatResponse([], id=5), r"^ChatResponse\.id must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: ChatChunk(5), "^content must hold"),  # type: ignore[arg-type]
        (lambda: ChatChunk(tool_calls=None), r"^ChatChunk\.tool_calls must hold ToolCallChunk objects, not None$"),  # type: ignore[arg-type]
        (lambda: ChatChunk(tool_calls=[ToolCall("c", "f")]), r"^ChatChunk\.tool_calls\[0\] is no ToolCallChunk"),  # type: ignore[list-item]
        (lambda: ChatChunk(choice="0"), r"^ChatChunk\.choice must be an int, not '0'$"),  # type: ignore[arg-type]
        (lambda: ChatChunk(block=True), r"^ChatChunk\.block must be an int, not True$"),
        (lambda: ChatChunk(usage={}), r"^ChatChunk\.usage must be a Usage or None, not \{\}$"),  # type: ignore[arg-type]
        (lambda: ChatChunk(message_metadata=5), r"^ChatChunk\.message_metadata must be a mapping, not 5$"),  # type: ignore[arg-type]
        (lambda: ChatChunk(metadata={}, model=5), r"^ChatChunk\.model must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: ToolCallChunk("0"), r"^ToolCallChunk\.index must be an int, not '0'$"),  # type: ignore[arg-type]
        (lambda: ToolCallChunk(arguments={}), r"^ToolCallChunk\.arguments must be a str, not \{\}$"),  # type: ignore[arg-type]
    ],
)
def test_wrong_fields_are_refused_by_name(make: Callable[[], object], words: str) -> None:
    with pytest.raises(PromptError, match=words):
        make()


def test_a_response_answers_for_its_first_generation() -> None:
    first = Generation(AssistantMessage("Ahoy"), "stop")
    second = Generation(AssistantMessage(tool_calls=[ToolCall("c", "f")]), "TOOL_CALLS")
    response = ChatResponse([first, second])

    assert (response.result, response.text, response.has_tool_calls) == (first, "Ahoy", True)
    assert response.has_finish_reasons(["tool_calls"])
    assert not response.has_finish_reasons({"length", ""})
    assert ChatResponse(Generation(AssistantMessage("x"))).has_finish_reasons([""])
    empty = ChatResponse([])
    assert (empty.result, empty.text, empty.has_tool_calls, empty.has_finish_reasons(["stop"])) == (
        None,
        "",
        False,
        False,
    )
    assert ChatResponse(second).text == ""
    for wrong in ("stop", None):
        with pytest.raises(PromptError, match=r"^finish reasons must be a collection of str, not "):
            response.has_finish_reasons(wrong)  # type: ignore[arg-type]
    with pytest.raises(PromptError, match=r"^reasons\[1\] is no str: None"):
        response.has_finish_reasons(["stop", None])  # type: ignore[list-item]


# Usage


@given(strategies.usages(), strategies.usages())
def test_usage_adds_up(one: Usage, two: Usage) -> None:
    total = one + two

    assert total.prompt_tokens == one.prompt_tokens + two.prompt_tokens
    assert total.total_tokens == one.total_tokens + two.total_tokens
    assert (total.cache_read_tokens or 0) == (one.cache_read_tokens or 0) + (two.cache_read_tokens or 0)
    assert Usage() + one == one + Usage() == one or not one


@given(strategies.usages())
def test_the_first_report_of_usage_stays_as_it_is(usage: Usage) -> None:
    assert Usage().followed_by(usage) == usage
    assert ChatResponse.from_chunks([ChatChunk(choice=None, usage=usage)]).usage == usage


def test_usage_of_nothing_is_falsy() -> None:
    assert not Usage()
    assert not Usage(None, None, total_tokens=None, native={"k": 1})
    assert Usage(cache_read_tokens=1)
    assert Usage(-1).total_tokens == -1
    assert Usage(1, 2, total_tokens=7).total_tokens == 7
    assert sum([Usage(1, 2), Usage(3, 4)], Usage()) == Usage(4, 6)
    with pytest.raises(TypeError):
        _ = Usage() + 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("totals", "joined"),
    [
        ([Usage(5, 1), Usage(), Usage(5, 3)], Usage(5, 3)),
        ([Usage(5, 1), Usage(0, 20)], Usage(5, 20)),
        ([Usage(10, 5, total_tokens=20), Usage()], Usage(10, 5, total_tokens=20)),
        ([Usage(10, 5), Usage(10, 5, total_tokens=20)], Usage(10, 5, total_tokens=20)),
        (
            [Usage(5, cache_read_tokens=4, native={"k": 1}), Usage(5, 3, native={})],
            Usage(5, 3, cache_read_tokens=4, native={"k": 1}),
        ),
        ([Usage(5, cache_read_tokens=None), Usage(5, cache_read_tokens=0)], Usage(5, cache_read_tokens=0)),
    ],
    ids=["empty between", "in pieces", "total kept", "total stated", "details kept", "zero is said"],
)
def test_running_totals_keep_the_last_that_says_something(totals: list[Usage], joined: Usage) -> None:
    assert ChatResponse.from_chunks([ChatChunk(usage=one) for one in totals]).usage == joined


def test_a_total_that_is_the_sum_stays_the_sum() -> None:
    assert Usage(10, 5).mutate(prompt_tokens=20) == Usage(20, 5)
    assert Usage(10, 5, total_tokens=20).mutate(prompt_tokens=20).total_tokens == 20
    assert Usage(10, 5).mutate(total_tokens=7).total_tokens == 7


def test_usage_in_steps_adds_up() -> None:
    steps = [
        ChatChunk("x", usage=Usage(3, 1), usage_is_delta=True),
        ChatChunk("y", usage=Usage(0, 2, native={"k": 1}), usage_is_delta=True),
    ]

    assert ChatResponse.from_chunks(steps).usage == Usage(3, 3, native={"k": 1})


# Joining


@given(strategies.responses())
def test_a_response_survives_its_own_stream(response: ChatResponse) -> None:
    assert ChatResponse.from_chunks(response.to_chunks()) == response


@given(strategies.responses(calls=strategies.tool_calls(arguments=st.sampled_from(("{", "[1]", "null", "\ud83e")))))
def test_broken_calls_do_not_stay_calls(response: ChatResponse) -> None:
    again = ChatResponse.from_chunks(response.to_chunks())

    for one, two in zip(response.results, again.results, strict=True):
        broken = [call.arguments for call in one.output.tool_calls]
        assert two.output.tool_calls == ()
        assert [call.arguments for call in two.output.invalid_tool_calls][: len(broken)] == broken


@given(strategies.chunk_streams())
def test_how_chunks_are_added_does_not_matter(chunks: list[ChatChunk]) -> None:
    response = ChatResponse.from_chunks(chunks)
    accumulator = ChunkAccumulator()
    for chunk in chunks:
        accumulator.add(chunk)
        accumulator.partial()

    assert accumulator.result() == response
    assert ChatResponse.from_chunks(response.to_chunks()) == response


@pytest.mark.parametrize(
    ("chunks", "content"),
    [
        ([], None),
        ([ChatChunk()], None),
        ([ChatChunk("")], ""),
        ([ChatChunk(()), ChatChunk()], ()),
        ([ChatChunk("a"), ChatChunk(""), ChatChunk("b")], "ab"),
        ([ChatChunk("a"), ChatChunk(PICTURE), ChatChunk("b"), ChatChunk("c")], (Text("a"), PICTURE, Text("bc"))),
        ([ChatChunk((Text("a"), Text("b"))), ChatChunk("c")], (Text("a"), Text("b"), Text("c"))),
        ([ChatChunk((Text(""), PICTURE))], (Text(""), PICTURE)),
        ([ChatChunk(Reasoning("a")), ChatChunk(Reasoning("b"))], (Reasoning("a"), Reasoning("b"))),
        (
            [ChatChunk(Reasoning("a"), block=0), ChatChunk("c", block=1), ChatChunk(Reasoning("b"), block=0)],
            (Reasoning("ab"), Text("c")),
        ),
        ([ChatChunk("a", block=1), ChatChunk("b", block=0), ChatChunk("c", block=1)], (Text("ac"), Text("b"))),
        (
            [
                ChatChunk(Reasoning("a"), block=0),
                ChatChunk(Reasoning(metadata={"signature": "s"}), block=0),
                ChatChunk("b"),
            ],
            (Reasoning("a", metadata={"signature": "s"}), Text("b")),
        ),
        ([ChatChunk("a", block=0), ChatChunk("b")], (Text("a"), Text("b"))),
        ([ChatChunk("", block=0), ChatChunk("b")], "b"),
        ([ChatChunk("a"), *calls(ToolCallChunk(0, "c", name="f")), ChatChunk("b")], "ab"),
        ([ChatChunk("\ud83e"), ChatChunk("\udd84")], "🦄"),
        ([ChatChunk("\ud83e"), ChatChunk("x")], "\ud83ex"),
        ([ChatChunk("\ud83e\udd84")], "\ud83e\udd84"),
    ],
)
def test_content_joins_by_its_rule(chunks: list[ChatChunk], content: Content | None) -> None:
    response = ChatResponse.from_chunks(chunks)

    assert [result.output.content for result in response.results] == ([content] if chunks else [])


F, G = ToolCall("a", "f", arguments='{"x":1}'), ToolCall("b", "g", arguments="{}")


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ([ToolCallChunk(0, "a", name="f", arguments='{"x"'), ToolCallChunk(0, arguments=":1}")], [F]),
        ([ToolCallChunk(0, "a", name="f", arguments='{"x"'), ToolCallChunk(0, "", name="", arguments=":1}")], [F]),
        ([ToolCallChunk(None, "a", name="f", arguments='{"x"'), ToolCallChunk(arguments=":1}")], [F]),
        ([ToolCallChunk(None, "a", name="f", arguments='{"x"'), ToolCallChunk(None, "a", arguments=":1}")], [F]),
        ([ToolCallChunk(0, "a"), ToolCallChunk(0, name="f"), ToolCallChunk(0, arguments='{"x":1}')], [F]),
        (
            [ToolCallChunk(1, "b", name="g", arguments="{}"), ToolCallChunk(0, "a", name="f", arguments='{"x":1}')],
            [G, F],
        ),
        (
            [
                ToolCallChunk(0, "a", name="f", arguments='{"x"'),
                ToolCallChunk(1, "b", name="g", arguments="{"),
                ToolCallChunk(0, arguments=":1}"),
                ToolCallChunk(1, arguments="}"),
            ],
            [F, G],
        ),
        (  # a server that numbers every call 0
            [
                ToolCallChunk(0, "a", name="f", arguments='{"x":1}'),
                ToolCallChunk(0, "b", name="g", arguments="{"),
                ToolCallChunk(0, arguments="}"),
            ],
            [F, G],
        ),
        (  # the same, interleaved by id
            [
                ToolCallChunk(0, "a", name="f", arguments='{"x"'),
                ToolCallChunk(0, "b", name="g", arguments="{"),
                ToolCallChunk(0, "a", arguments=":1}"),
                ToolCallChunk(0, "b", arguments="}"),
            ],
            [F, G],
        ),
        (  # one id for two numbered calls
            [
                ToolCallChunk(0, "a", name="f", arguments='{"x":1}'),
                ToolCallChunk(1, "a", name="f", arguments='{"x":1}'),
            ],
            [F, F],
        ),
        (  # whole calls without ids
            [ToolCallChunk(name="f", arguments='{"x":1}'), ToolCallChunk(name="g", arguments="{}")],
            [F.mutate(id=None), G.mutate(id=None)],
        ),
        ([ToolCallChunk(0, "b", name="g")], [G.mutate(arguments="")]),
        (
            [
                ToolCallChunk(0, "b", name="g", metadata={"s": 1}),
                ToolCallChunk(0, arguments="{}", metadata={"s": None, "t": 2}),
            ],
            [G.mutate(metadata={"s": 1, "t": 2})],
        ),
    ],
)
def test_pieces_find_their_call(pieces: list[ToolCallChunk], joined: list[ToolCall]) -> None:
    message = output(*calls(*pieces))

    assert message.tool_calls == tuple(joined)
    assert message.invalid_tool_calls == ()
    assert output(ChatChunk(tool_calls=pieces)) == message


@pytest.mark.parametrize(
    ("pieces", "arguments", "words"),
    [
        ([ToolCallChunk(0, "a", name="f", arguments='{"x": "b')], '{"x": "b', "Unterminated string"),
        ([ToolCallChunk(0, "a", name="f", arguments="[1]")], "[1]", "are a JSON list"),
        ([ToolCallChunk(0, "a", name="f", arguments='{"x": NaN}')], '{"x": NaN}', "NaN is not JSON"),
        ([ToolCallChunk(0, "a", arguments="{}")], "{}", "^the call has no tool name$"),
        ([ToolCallChunk(0, "a")], None, "^the call has no tool name$"),
        ([ToolCallChunk(0, "a", name="f", arguments="{}", error="refused")], "{}", "^refused$"),
    ],
)
def test_what_is_no_call_keeps_its_text(pieces: list[ToolCallChunk], arguments: str | None, words: str) -> None:
    message = output(*calls(*pieces))

    assert message.tool_calls == ()
    (invalid,) = message.invalid_tool_calls
    assert (invalid.id, invalid.arguments) == ("a", arguments)
    assert re.search(words, invalid.error or "")


def test_a_call_known_to_be_invalid_stays_so_without_a_word() -> None:
    message = output(*calls(ToolCallChunk(0, "a", name="f", arguments="{}", error="")))

    assert message.invalid_tool_calls == (InvalidToolCall("a", "f", arguments="{}"),)


def test_several_answers_are_kept_apart() -> None:
    chunks = [
        ChatChunk("b1", choice=1),
        ChatChunk("a1", finish_reason="stop"),
        ChatChunk("b2", choice=1, finish_reason="length", generation_metadata={"k": 1}),
        ChatChunk(choice=None, id="r", model="m", usage=Usage(1, 2), metadata={"limit": 3}),
    ]

    assert ChatResponse.from_chunks(chunks) == ChatResponse(
        [Generation(AssistantMessage("a1"), "stop"), Generation(AssistantMessage("b1b2"), "length", metadata={"k": 1})],
        id="r",
        model="m",
        usage=Usage(1, 2),
        metadata={"limit": 3},
    )


def test_the_last_that_says_something_wins() -> None:
    chunks = [
        ChatChunk("x", id="r1", model="m1", metadata={"a": 1, "b": 2, "c": None}, name="n", message_id="i"),
        ChatChunk(id="", model="", finish_reason="stop", metadata={"a": None, "b": 3}, message_metadata={"k": 1}),
        ChatChunk(id="r2", finish_reason=None, message_metadata={"k": 2}),
    ]

    assert ChatResponse.from_chunks(chunks) == ChatResponse(
        Generation(AssistantMessage("x", name="n", id="i", metadata={"k": 2}), "stop"),
        id="r2",
        model="m1",
        metadata={"a": 1, "b": 3, "c": None},
    )


# Broken streams


def broken(error: Exception) -> Iterator[ChatChunk]:
    yield ChatChunk("Hel", id="r")
    yield ChatChunk(tool_calls=[ToolCallChunk(0, "a", name="f"), ToolCallChunk(1, "b", name="g", arguments='{"x": "y')])
    yield ChatChunk(tool_calls=[ToolCallChunk(2, "c", name="h", arguments="{}")])
    raise error


def test_a_broken_stream_gives_what_had_arrived() -> None:
    with pytest.raises(
        ModelError, match=r"^the stream broke with OSError; \.partial holds what had arrived$"
    ) as caught:
        ChatResponse.from_chunks(broken(OSError("reset")))

    partial = caught.value.partial
    assert isinstance(caught.value.__cause__, OSError)
    assert partial is not None
    assert partial.result is not None
    assert (partial.id, partial.text, partial.result.finish_reason) == ("r", "Hel", None)
    assert partial.result.output.tool_calls == (ToolCall("c", "h", arguments="{}"),)
    assert [(call.id, call.arguments) for call in partial.result.output.invalid_tool_calls] == [
        ("a", None),
        ("b", '{"x": "y'),
    ]


def test_a_models_own_error_keeps_its_class_and_its_own_partial() -> None:
    mine = ChatResponse([])
    for error in (RateLimitError("slow down"), ModelError("broke", partial=mine)):
        with pytest.raises(type(error)) as caught:
            ChatResponse.from_chunks(broken(error))
        assert caught.value is error
        assert error.partial is not None
        assert (error.partial is mine) == (error.partial.text == "")


def test_other_errors_of_ours_pass() -> None:
    error = UnsupportedContentError("no images", feature="image")

    with pytest.raises(UnsupportedContentError):
        ChatResponse.from_chunks(broken(error))


# Cost, by its causes


@pytest.mark.parametrize("kind", ["text", "arguments"])
def test_long_streams_are_joined_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    joined, loads = _joining._joined, _json.loads

    def counted_join(pieces: list[str]) -> str:
        reads.append(len(pieces))
        return joined(pieces)

    def counted_loads(text: str) -> Any:
        reads.append(-1)
        return loads(text)

    monkeypatch.setattr(_joining, "_joined", counted_join)
    monkeypatch.setattr(_json, "loads", counted_loads)
    n = 2_000
    if kind == "text":
        chunks = [ChatChunk("word ") for _ in range(n)]
    else:
        words = ['{"a": "', *["word "] * (n - 2), '"}']
        chunks = calls(
            *(
                ToolCallChunk(0, "c" if not at else None, name="f" if not at else None, arguments=word)
                for at, word in enumerate(words)
            )
        )
    accumulator = ChunkAccumulator()
    accumulator.extend(chunks)

    assert reads == []
    assert accumulator.result().results
    assert reads == ([n] if kind == "text" else [n, -1])


@pytest.mark.parametrize(
    ("chunk", "shape"),
    [
        (ChatChunk("x"), "text"),
        (ChatChunk(""), "text"),
        (ChatChunk("x", block=0), "mixed"),
        (ChatChunk("x", choice=1), "mixed"),
        (ChatChunk("x", id="r"), "mixed"),
        (ChatChunk("x", metadata={"k": 1}), "mixed"),
        (ChatChunk(PICTURE), "mixed"),
        (ChatChunk(), "mixed"),
        (ChatChunk(tool_calls=[ToolCallChunk(0, arguments="x")]), "arguments"),
        (ChatChunk(tool_calls=[ToolCallChunk(0, "a", arguments="x")]), "mixed"),
        (ChatChunk(tool_calls=[ToolCallChunk(arguments="x")]), "mixed"),
        (ChatChunk("", tool_calls=[ToolCallChunk(0, arguments="x")]), "mixed"),
    ],
)
def test_common_chunks_are_known_by_their_shape(chunk: ChatChunk, shape: str) -> None:
    assert chunk.shape == shape
