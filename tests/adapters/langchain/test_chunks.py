"""Chunks add up to what the stream said: in linear time, in any order of looking, and strictly at the end."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import accumulate
from operator import add
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.adapters.langchain import (
    AIMessage,
    AIMessageChunk,
    BaseMessageChunk,
    ChatMessageChunk,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    merge_chunks,
    message_chunk_to_message,
)
from promptkit.errors import AdapterError
from tests.adapters.langchain import strategies


def pieces(*given: tuple[Any, ...], **more: Any) -> AIMessageChunk:
    keys = ("name", "args", "id", "index")
    return AIMessageChunk("", tool_call_chunks=[dict(zip(keys, piece, strict=True)) for piece in given], **more)  # type: ignore[misc]


def arguments(*texts: str) -> list[AIMessageChunk]:
    return [pieces(("f", "", "c1", 0)), *(pieces((None, text, None, 0)) for text in texts)]


def last() -> AIMessageChunk:
    return AIMessageChunk("", chunk_position="last")


def calls_of(function: Callable[[], object]) -> dict[str, int]:
    """Count the calls of Python functions, by name."""
    counts: dict[str, int] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            counts[frame.f_code.co_name] = counts.get(frame.f_code.co_name, 0) + 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counts


STREAMS: dict[str, Callable[[int], list[AIMessageChunk]]] = {
    "text": lambda size: [AIMessageChunk("word ") for _ in range(size)],
    "arguments": lambda size: arguments('{"a": [', *["1, "] * size, "1]}"),
    "arguments without index": lambda size: [
        pieces(("f", '{"a": "', "c", None)),
        *(pieces((None, "x", None, None)) for _ in range(size)),
        pieces((None, '"}', None, None)),
    ],
    "blocks": lambda size: [AIMessageChunk([{"type": "text", "text": "w", "index": 0}]) for _ in range(size)],
    "many blocks": lambda size: [AIMessageChunk([{"type": "text", "text": "w", "index": at}]) for at in range(size)],
    "many calls": lambda size: [pieces(("f", "{}", f"c{at}", at)) for at in range(size)],
    "metadata": lambda size: [AIMessageChunk("", response_metadata={"logprobs": [at]}) for at in range(size)],
    "kwargs": lambda size: [AIMessageChunk("", additional_kwargs={"reasoning_content": "x"}) for _ in range(size)],
    "usage": lambda size: [
        AIMessageChunk("", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2})
        for _ in range(size)
    ],
}


@pytest.mark.parametrize("stream", STREAMS)
def test_adding_one_by_one_takes_time_in_proportion(stream: str) -> None:
    def work(chunks: list[AIMessageChunk]) -> int:
        return sum(calls_of(lambda: message_chunk_to_message(reduce(add, chunks))).values())

    small, large = (work(STREAMS[stream](size)) for size in (200, 400))

    assert large < 2.2 * small


@pytest.mark.parametrize("stream", ["text", "arguments"])
def test_every_sum_of_a_stream_is_kept_in_memory_in_proportion(stream: str) -> None:
    chunks = STREAMS[stream](4000)

    tracemalloc.start()
    try:
        sums = list(accumulate(chunks, add))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert used < 1_500_000  # lists of their own would take 64 MB
    assert len(sums[99].text + "".join(piece["args"] or "" for piece in sums[99].tool_call_chunks)) < 600
    assert sums[-1] == merge_chunks(chunks)


def test_arguments_are_parsed_once_and_only_when_asked_for() -> None:
    chunks = [*arguments(*json.dumps({"text": "x" * 300})), last()]

    def stream() -> AIMessageChunk:
        return reduce(add, chunks)

    assert "parse_arguments" not in calls_of(stream)
    total = stream()
    assert calls_of(lambda: [total.tool_calls for _ in range(3)])["parse_arguments"] == 1
    assert total.tool_calls[0]["args"] == {"text": "x" * 300}


def test_sums_that_share_a_beginning_stay_apart() -> None:
    start = AIMessageChunk("a") + AIMessageChunk("b")
    one, two = start + AIMessageChunk("c"), start + AIMessageChunk("d")
    three = one + AIMessageChunk("e")

    assert [chunk.content for chunk in (start, one, two, three)] == ["ab", "abc", "abd", "abce"]
    assert (one + two).content == "abcabd"
    assert add(one, [two, three]).content == "abcabdabce"


def test_threads_that_add_to_one_sum_get_sums_of_their_own() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(50):
                start = AIMessageChunk("a") + AIMessageChunk("b")
                found = list(
                    pool.map(lambda at, s=start: (s + AIMessageChunk(str(at)) + AIMessageChunk("!")).content, range(16))
                )
                assert found == [f"ab{at}!" for at in range(16)]
    finally:
        sys.setswitchinterval(interval)


def ai_chunks() -> st.SearchStrategy[AIMessageChunk]:
    text = strategies.plain_texts()
    piece = st.fixed_dictionaries(
        {
            "name": st.sampled_from(("f", "", None)),
            "args": st.sampled_from(('{"a": ', "1", "}", "", None, "{}")),
            "id": st.sampled_from(("c1", "c2", "", None)),
            "index": st.sampled_from((0, 1)),
        }
    )
    return st.builds(
        AIMessageChunk,
        strategies.contents(text),
        tool_call_chunks=st.lists(piece, max_size=2),
        additional_kwargs=strategies.mappings(strategies.json_values(text)),
        response_metadata=strategies.mappings(strategies.json_values(text)),
        usage_metadata=st.none() | strategies.usages(),
        id=st.sampled_from((None, "lc_run-1", "msg_1")),
        name=st.sampled_from((None, "", "bot")),
    )


@given(st.lists(ai_chunks(), min_size=1, max_size=6), st.data())
def test_one_by_one_at_once_and_looked_at_between_are_one_sum(
    chunks: list[AIMessageChunk], data: st.DataObject
) -> None:
    whole = merge_chunks(chunks)
    looked = chunks[0]
    for chunk in chunks[1:]:
        looked = looked + chunk
        if data.draw(st.booleans()):
            assert hash(looked) == hash(looked)

    assert reduce(add, chunks) == whole
    assert hash(reduce(add, chunks)) == hash(whole)
    assert looked == whole
    assert message_chunk_to_message(looked) == message_chunk_to_message(whole)


@given(st.lists(st.lists(st.text(max_size=3), max_size=3), min_size=1, max_size=5), st.booleans())
def test_texts_add_up_in_any_grouping(groups: list[list[str]], as_arguments: bool) -> None:
    def chunk(text: str) -> AIMessageChunk:
        return pieces(("f", text, "c", 0)) if as_arguments else AIMessageChunk(text)

    sums: Iterable[AIMessageChunk] = [reduce(add, map(chunk, group), chunk("")) for group in groups]
    total: Any = reduce(add, sums)
    text = "".join(map("".join, groups))

    assert (total.tool_call_chunks[0]["args"] if as_arguments else total.content) == text


def test_a_sum_that_nobody_looked_at_is_a_value_like_any_other() -> None:
    def unseen() -> HumanMessageChunk:
        return HumanMessageChunk("a", id="1") + HumanMessageChunk("b")

    assert repr(unseen()) == "HumanMessageChunk('ab', id='1')"
    assert unseen() == HumanMessageChunk("ab", id="1")
    assert {unseen()} == {unseen()}
    assert pickle.loads(pickle.dumps(unseen())) == unseen()
    assert copy.copy(unseen()).content == "ab" == copy.deepcopy(unseen()).content
    assert unseen().mutate(id="2").id == "2"
    assert unseen().pretty_repr().endswith("ab")
    with pytest.raises(AttributeError):
        unseen().nothing


PREVIEWS = [
    ("", {}),
    ("{", {}),
    ('{"a', {}),
    ('{"a"', {}),
    ('{"a":', {}),
    ('{"a": "x', {"a": "x"}),
    ('{"a": "x\\', {"a": "x"}),
    ('{"a": "x\\u12', {"a": "x"}),
    ('{"a": 1', {"a": 1}),
    ('{"a": 1.', {"a": 1}),
    ('{"a": tr', {}),
    ('{"a": [1, {"b": nul', {"a": [1, {}]}),
    ('{"a": 1, "b', {"a": 1}),
    ('{"a": 1}{"a": 2}', {"a": 1}),
    ('{"a": "\n"', {"a": "\n"}),
]


@pytest.mark.parametrize(("text", "seen"), PREVIEWS)
def test_what_arrives_is_previewed_and_never_executed(text: str, seen: dict[str, Any]) -> None:
    arriving = reduce(add, arguments(text))
    finished = message_chunk_to_message(arriving)

    assert json.loads(json.dumps(arriving.tool_calls[0]["args"])) == seen
    assert isinstance(finished, AIMessage)
    assert [call["args"] for call in finished.invalid_tool_calls] == ([text] if text else [])
    assert len(finished.tool_calls) == (not text)
    assert (arriving + last()).tool_calls == finished.tool_calls


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=5), st.data())  # fmt: skip
def test_every_beginning_of_arguments_has_a_preview(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"a": value}, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(1, len(text)))

    preview = reduce(add, arguments(text[:cut])).tool_calls[0]["args"]

    assert set(preview) <= {"a"}
    assert cut < len(text) or json.loads(json.dumps(preview)) == {"a": value}


@pytest.mark.parametrize(
    "text", ["[1]", "1", '"x"', "}", "{]", "[" * 100_000, '{"a":' * 100_000], ids=lambda text: text[:9]
)
def test_arguments_that_are_no_object_are_invalid_in_every_view(text: str) -> None:
    arriving = reduce(add, arguments(text))

    assert arriving.tool_calls == ()
    assert arriving.invalid_tool_calls[0]["args"] == text
    assert (arriving + last()).invalid_tool_calls[0]["args"] == text


def test_a_call_without_arguments_has_none() -> None:
    for text in ("", "  ", "null", "{}"):
        message = message_chunk_to_message(reduce(add, arguments(text)))
        assert isinstance(message, AIMessage)
        assert message.tool_calls[0]["args"] == {}


def test_calls_given_whole_stay_and_broken_ones_stay_broken() -> None:
    call: Any = {"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}
    broken: Any = {"name": "f", "args": "{}", "id": "d", "error": "no", "type": "invalid_tool_call"}
    total = AIMessageChunk("a", tool_calls=[call], invalid_tool_calls=[broken]) + AIMessageChunk("b")

    assert total.tool_calls == (call,)
    assert total.invalid_tool_calls == (broken,)
    assert message_chunk_to_message(total) == AIMessage("ab", tool_calls=[call], invalid_tool_calls=[broken])


def test_the_id_of_a_vendor_wins_over_that_of_a_run() -> None:
    ids = ("lc_1", "lc_run-1", "msg_1", "msg_2")
    assert [merge_chunks([AIMessageChunk("", id=given) for given in ids[:count]]).id for count in (1, 2, 3, 4)] == [
        "lc_1", "lc_run-1", "msg_1", "msg_1",
    ]  # fmt: skip


def test_metadata_is_the_last_that_is_not_none() -> None:
    said: list[dict[str, Any]] = [
        {"finish": None, "model": "m"},
        {"finish": "stop", "model": "m", "n": 1},
        {"finish": None, "n": 2},
    ]
    total = merge_chunks([AIMessageChunk("", response_metadata=metadata) for metadata in said])

    assert total.response_metadata == {"finish": "stop", "model": "m", "n": 2}


def test_usage_is_added_up_or_the_last_as_the_stream_declares() -> None:
    chunks = [
        AIMessageChunk("", usage_metadata={"input_tokens": 5, "output_tokens": count, "total_tokens": 5 + count})
        for count in (1, 2)
    ] + [AIMessageChunk("x")]

    added, running = merge_chunks(chunks).usage_metadata, merge_chunks(chunks, running_total=True).usage_metadata
    assert added == {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    assert running == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "nothing": (lambda: merge_chunks([]), AdapterError, "there are no chunks to merge"),
    "a whole message": (lambda: merge_chunks([HumanMessageChunk("a"), HumanMessage("b")]), TypeError, r"chunks\[1\]: .* not HumanMessage"),  # type: ignore[type-var]
    "one chunk": (lambda: merge_chunks(AIMessageChunk("a")), AdapterError, "chunks: .* this is one AIMessageChunk"),
    "no list": (lambda: merge_chunks(None), AdapterError, "chunks: must be a list of messages, not None"),  # type: ignore[arg-type]
    "a text": (lambda: AIMessageChunk("a") + "b", TypeError, "unsupported operand"),
    "a text in a list": (lambda: add(AIMessageChunk("a"), ["b"]), TypeError, "not str"),
    "a whole message added": (lambda: AIMessageChunk("a") + AIMessage("b"), TypeError, "unsupported operand"),
    "another role": (
        lambda: ChatMessageChunk("a", role="r") + ChatMessageChunk("b", role="s"),
        AdapterError,
        "role is 'r' in one and 's' in the other",
    ),
    "another call": (
        lambda: ToolMessageChunk("a", tool_call_id="1") + ToolMessageChunk("b", tool_call_id="2"),
        AdapterError,
        "tool_call_id is '1'",
    ),
    "another function": (
        lambda: merge_chunks([FunctionMessageChunk("a", name="f"), FunctionMessageChunk("b", name="g")]),
        AdapterError,
        "name is 'f'",
    ),
    "two artifacts": (
        lambda: ToolMessageChunk("", tool_call_id="1", artifact=1) + ToolMessageChunk("", tool_call_id="1", artifact=2),
        AdapterError,
        "two artifacts cannot be joined",
    ),
    "arguments of bytes": (
        lambda: AIMessageChunk("", tool_calls=[{"name": "f", "args": {"a": b"x"}, "id": "1"}]),
        ValueError,
        "arguments of the call of 'f' are no JSON",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_belong_together_is_not_added(case: str) -> None:
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "chunk",
    [
        SystemMessageChunk("a"), HumanMessageChunk("a"), AIMessageChunk("a"), ChatMessageChunk("a", role="r"),
        FunctionMessageChunk("a", name="f"), ToolMessageChunk("a", tool_call_id="1", status="error", artifact={"k": [1]}),
    ],
    ids=lambda chunk: chunk.type,
)  # fmt: skip
def test_every_class_adds_up_and_becomes_its_message(chunk: BaseMessageChunk) -> None:
    total = chunk + chunk.mutate(content="b")
    message = message_chunk_to_message(total)

    assert type(total) is type(chunk)
    assert total.content == message.content == "ab"
    assert type(message).__name__ == chunk.type.removesuffix("Chunk")
    assert message_chunk_to_message(message) is message


def test_one_failure_makes_the_result_a_failure_and_artifacts_are_joined() -> None:
    one = ToolMessageChunk("a", tool_call_id="1", artifact={"rows": [1], "text": "x"})
    two = ToolMessageChunk("b", tool_call_id="1", artifact={"rows": [2], "text": "y"}, status="error")

    assert message_chunk_to_message(one + two) == ToolMessage(
        "ab", tool_call_id="1", artifact={"rows": [1, 2], "text": "xy"}, status="error"
    )


V1 = {"output_version": "v1"}
PIECE: Any = {"name": "f", "args": '{"a": 1}', "id": "c1", "index": 0}
OPEN: Any = {**PIECE, "args": '{"a": '}

LAST: dict[str, tuple[Any, Any]] = {
    "a call": (
        [{"type": "tool_call_chunk", **PIECE, "extras": {"k": 1}}],
        [{"type": "tool_call", "name": "f", "args": {"a": 1}, "id": "c1", "extras": {"k": 1}}],
    ),
    "a call that broke off": ([{"type": "tool_call_chunk", **OPEN}], [{"type": "tool_call_chunk", **OPEN}]),
    "a server's call": (
        [{"type": "server_tool_call_chunk", **PIECE}],
        [{"type": "server_tool_call", **PIECE, "args": {"a": 1}}],
    ),
    "a server's call that broke off": ([{"type": "server_tool_call_chunk", **OPEN}], [{"type": "server_tool_call_chunk", **OPEN}]),
    "a server's call of no object": (
        [{"type": "server_tool_call_chunk", **PIECE, "args": "[1]"}],
        [{"type": "server_tool_call_chunk", **PIECE, "args": "[1]"}],
    ),
    "text": ([{"type": "text", "text": "hi"}], [{"type": "text", "text": "hi"}]),
}  # fmt: skip


@pytest.mark.parametrize("case", LAST)
def test_blocks_of_the_last_chunk_are_whole_or_stay_pieces(case: str) -> None:
    content, whole = LAST[case]
    given = [OPEN] if content[0].get("args") == OPEN["args"] else [PIECE]
    chunk = AIMessageChunk(content, tool_call_chunks=given, response_metadata=V1)

    assert chunk.content == content
    assert chunk.mutate(chunk_position="last").content == whole
    assert (chunk + AIMessageChunk("", response_metadata=V1, chunk_position="last")).content == whole


BLOCKS: dict[str, tuple[Any, Any, Any]] = {
    "texts, mappings and lists of one index": (
        [{"index": 0, "n": 1, "t": "a", "d": {"k": "x"}, "l": ["y"]}],
        [{"index": 0, "n": 2, "t": "b", "d": {"k": "z"}, "l": ["w"]}],
        [{"index": 0, "n": 2, "t": "ab", "d": {"k": "xz"}, "l": ["y", "w"]}],
    ),
    "other kinds of value": (
        [{"index": 0, "a": "x", "b": {"k": 1}, "c": [1], "d": None, "e": 1}],
        [{"index": 0, "a": {"k": 1}, "b": [1], "c": "x", "d": "y", "e": None}],
        [{"index": 0, "a": {"k": 1}, "b": [1], "c": "x", "d": "y", "e": 1}],
    ),
    "names": (
        [{"index": "lc_1", "id": "1", "model_provider": "m"}],
        [{"index": "lc_1", "id": "1", "model_provider": "n"}],
        [{"index": "lc_1", "id": "1", "model_provider": "m"}],
    ),
    "an id that comes later": (
        [{"index": 0, "text": "a"}],
        [{"index": 0, "id": "1", "text": "b"}, {"index": 0, "id": "2", "text": "c"}],
        [{"index": 0, "text": "ab", "id": "1"}, {"index": 0, "id": "2", "text": "c"}],
    ),
    "a type that comes later": ([{"index": 0}], [{"index": 0, "type": "text"}], [{"index": 0, "type": "text"}]),
    "a wrapped block": (
        [{"type": "text", "index": 0}],
        [{"type": "non_standard", "index": 0, "value": {"type": "x", "k": 1}}],
        [{"type": "text", "index": 0, "extras": {"k": 1}}],
    ),
    "two wrapped blocks": (
        [{"type": "non_standard", "index": 0, "value": {"type": "x", "k": "a"}}],
        [{"type": "non_standard", "index": 0, "value": {"type": "x", "k": "b"}}],
        [{"type": "non_standard", "index": 0, "value": {"type": "x", "k": "ab"}}],
    ),
    "no index": ([{"type": "text"}], [{"type": "text"}], [{"type": "text"}, {"type": "text"}]),
    "texts": (["a"], "b", ["ab"]),
    "text that goes on": (["a", "b"], "c", ["a", "bc"]),
    "texts of lists": (["a"], ["b"], ["a", "b"]),
    "no text": ([{"type": "x"}], "", [{"type": "x"}]),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_blocks_of_one_index_are_joined_value_by_value(case: str) -> None:
    left, right, total = BLOCKS[case]

    assert (AIMessageChunk(left) + AIMessageChunk(right)).content == total
    assert merge_chunks([AIMessageChunk(left), AIMessageChunk(right), AIMessageChunk("")]).content == total
    assert reduce(add, [AIMessageChunk(left), AIMessageChunk(""), AIMessageChunk(right)]).content == total
