from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.content import Media, Opaque, Reasoning
from promptkit.errors import HistoryError
from promptkit.history import filter_messages
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    InvalidToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from tests.history import neutral
from tests.history.histories import broken, histories
from tests.oracles import decided, rows

OURS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "filter_messages-024": lambda history: [history[0].mutate(tool_calls=())],
    "filter_messages-030": lambda history: [history[1], history[2], history[5]],
}
"""What stays in the decided cases."""

NO_FREE_ROLES = ("filter_messages-028", "filter_messages-029")
"""Cases that tell a free role from a user; here such a message is a user's, its role in the metadata."""

CASES = [row for row in rows("langchain_history.jsonl") if row["fn"] == "filter_messages"]
NOTE = AssistantMessage("note", tool_calls=[ToolCall("c1", "f")])
RESULT = ToolResponseMessage(ToolResponse("c1", "f", content="r"))


def options(row: dict[str, Any]) -> dict[str, Any]:
    given = dict(row["input"]["kwargs"])
    for name in ("include_types", "exclude_types"):
        if name in given:
            given[name] = neutral.kinds(given[name])
    if isinstance(given.get("exclude_tool_calls"), dict):
        given["exclude_tool_calls"] = tuple(given["exclude_tool_calls"]["$tuple"])
    return given


@pytest.mark.parametrize("row", [row for row in CASES if row["id"] not in NO_FREE_ROLES], ids=lambda row: row["id"])
def test_without_pairs_it_keeps_what_langchain_does(row: dict[str, Any]) -> None:
    history = neutral.messages(row["input"]["messages"])
    if isinstance(row["input"]["kwargs"].get("exclude_tool_calls"), str):
        assert row["id"] in decided()
        with pytest.raises(HistoryError, match="exclude_tool_calls takes several str, not 'c1'"):
            filter_messages(history, pairs=False, **options(row))
        return

    kept = filter_messages(history, pairs=False, **options(row))

    expected = OURS.get(row["id"])
    assert row["id"] not in OURS or row["id"] in decided()
    assert kept == (tuple(neutral.messages(row["expected"])) if expected is None else tuple(expected(history)))


@pytest.mark.parametrize("name", NO_FREE_ROLES)
def test_a_free_role_is_a_users(name: str) -> None:
    row = next(row for row in CASES if row["id"] == name)
    history = neutral.messages(row["input"]["messages"])
    free = history[-1]
    included = "include_types" in row["input"]["kwargs"]

    kept = filter_messages(history, pairs=False, **options(row))

    assert (free in kept) == included == (history[1] in kept)


def test_filtering_by_role_takes_out_the_call_with_its_result_and_keeps_the_note() -> None:
    history = [UserMessage("q"), NOTE, RESULT, UserMessage("n")]
    assert filter_messages(history, exclude_types="tool") == (
        UserMessage("q"),
        AssistantMessage("note"),
        UserMessage("n"),
    )
    assert filter_messages(history, exclude_types="tool", pairs=False) == (history[0], NOTE, history[3])


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (NOTE.mutate(content=None), None),
        (NOTE.mutate(content=" \n"), None),
        (NOTE.mutate(content=[Reasoning("hm")]), None),
        (NOTE.mutate(content=[Media(url="https://example.org/a.png")]), AssistantMessage([Media(url="https://example.org/a.png")])),
        (NOTE.mutate(content=["x", Opaque("anthropic", {"type": "tool_use", "id": "c1"})]), AssistantMessage("x")),
        (NOTE.mutate(invalid_tool_calls=[InvalidToolCall("c2", "g")]), AssistantMessage("note")),
    ],
    ids=["none", "blank", "thoughts", "media", "vendor's block", "invalid call"],
)  # fmt: skip
def test_a_message_that_loses_its_only_call_stays_when_it_says_something(
    message: AssistantMessage, left: AssistantMessage | None
) -> None:
    assert filter_messages([message, RESULT], exclude_tool_calls=["c1"]) == (() if left is None else (left,))


def test_one_of_several_calls_goes_with_its_result() -> None:
    two = AssistantMessage(tool_calls=[ToolCall("a", "f"), ToolCall("b", "g")])
    results = ToolResponseMessage([ToolResponse("b"), ToolResponse("a")])

    kept = filter_messages([two, results], exclude_tool_calls=["a"])

    assert kept == (two.mutate(tool_calls=two.tool_calls[1:]), results.mutate(responses=results.responses[:1]))


def test_all_calls_go() -> None:
    assert filter_messages([NOTE, RESULT], exclude_tool_calls=True) == (AssistantMessage("note"),)


def test_a_result_that_is_filtered_by_the_name_of_its_tool_takes_its_call_along() -> None:
    history = [UserMessage("q"), NOTE, RESULT, NOTE.mutate(name="f")]
    assert filter_messages(history, exclude_names=["f"]) == (history[0], AssistantMessage("note"))


def test_ids_that_repeat_are_paired_by_position() -> None:
    turns = [UserMessage("q1"), NOTE, RESULT, UserMessage("q2", id="second"), NOTE.mutate(id="again"), RESULT]
    assert filter_messages(turns, exclude_ids=["again"]) == tuple(turns[:4])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"include_names": "bob"}, "include_names takes several str, not 'bob'; one stands in a list"),
        ({"exclude_ids": [1]}, "exclude_ids takes str, not 1"),
        ({"include_types": [1]}, "include_types takes roles such as 'user' and message classes, not 1"),
        ({"exclude_types": 7}, "exclude_types takes roles"),
        ({"exclude_tool_calls": None}, "exclude_tool_calls takes several str, not None"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        filter_messages([UserMessage("x")], **given)
    with pytest.raises(HistoryError, match=message):
        filter_messages(**given)


@given(
    histories(),
    st.fixed_dictionaries(
        {},
        optional={
            "include_types": st.lists(st.sampled_from(("user", "tool", AssistantMessage))),
            "exclude_types": st.sampled_from(("user", "tool", "assistant", SystemMessage)),
            "exclude_names": st.lists(st.sampled_from(("f", "weather"))),
            "exclude_ids": st.lists(st.sampled_from(("c1", "c2")), max_size=2),
            "exclude_tool_calls": st.booleans() | st.lists(st.sampled_from(("c1", "c2")), max_size=2),
        },
    ),
)
def test_with_pairs_every_call_has_its_result(history: list[BuiltinMessage], given: dict[str, Any]) -> None:
    kept: tuple[Message, ...] = filter_messages(history, **given)
    assert not broken(kept)
