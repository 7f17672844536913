from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from promptkit.content import Media, Text, content_text
from promptkit.errors import HistoryError
from promptkit.history import merge_message_runs
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    Message,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from tests.history import neutral
from tests.history.histories import histories
from tests.oracles import decided, rows

CASES = [row for row in rows("langchain_history.jsonl") if row["fn"] == "merge_message_runs"]


def joined(separator: str) -> Callable[[list[Any]], list[Any]]:
    """Join the texts of a case that has one run."""
    return lambda history: [history[0].mutate(content=separator.join(neutral.text(message) for message in history))]


def untouched(history: list[Any]) -> list[Any]:
    return history


def last_number(history: list[Any]) -> list[Any]:
    return [history[1].mutate(content="a\nb")]


OURS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "merge_message_runs-016": lambda history: [history[1]],
    "merge_message_runs-027": untouched,
    "merge_message_runs-029": untouched,
    "merge_message_runs-030": joined("\n"),
    "merge_message_runs-039": last_number,
    "merge_message_runs-042": last_number,
    "merge_message_runs-052": joined("\n"),
}
"""What the decided cases give."""

ONE_TEXT_IS_A_STR = {f"merge_message_runs-{number}" for number in ("002", "003", "004", "006", "008", "018", "019", "020", "021")}  # fmt: skip
"""Cases with a list of one text, which is a str of ours (ruling 2), so that the separator stands there too."""

NOT_EXPRESSIBLE = {
    "merge_message_runs-022": "blocks with one index are pieces of a stream; here they are two parts",
    "merge_message_runs-026": "a function's message is a result of a tool here, and those never merge",
    "merge_message_runs-048": "an invalid call keeps its error here",
    "merge_message_runs-053": "a message that removes another is no message here",
}


def merged(row: dict[str, Any]) -> tuple[Message, ...]:
    separator = row["input"]["kwargs"].get("chunk_separator", "\n")
    return merge_message_runs(neutral.messages(row["input"]["messages"]), separator=separator)


@pytest.mark.parametrize(
    "row",
    [row for row in CASES if row["id"] not in ONE_TEXT_IS_A_STR and row["id"] not in NOT_EXPRESSIBLE],
    ids=lambda row: row["id"],
)
def test_it_merges_what_langchain_does(row: dict[str, Any]) -> None:
    expected = OURS.get(row["id"])
    assert (row["id"] in OURS) == (row["id"] in decided())
    if expected is None:
        assert merged(row) == tuple(neutral.messages(row["expected"]))
    else:
        assert merged(row) == tuple(expected(neutral.messages(row["input"]["messages"])))


@pytest.mark.parametrize("row", [row for row in CASES if row["id"] in ONE_TEXT_IS_A_STR], ids=lambda row: row["id"])
def test_a_list_of_one_text_merges_as_the_text(row: dict[str, Any]) -> None:
    separator = row["input"]["kwargs"].get("chunk_separator", "\n")
    for ours, theirs in zip(merged(row), neutral.messages(row["expected"]), strict=True):
        content = neutral.contents(theirs)
        texts = [content] if isinstance(content, str) else [part.text for part in content if isinstance(part, Text)]
        assert neutral.text(ours).replace(separator, "") == "".join(texts).replace(separator, "")
        assert (ours.metadata, getattr(ours, "id", None)) == (theirs.metadata, getattr(theirs, "id", None))


def test_parts_stand_one_after_the_other() -> None:
    image = Media(url="https://example.org/a.png")
    history = [UserMessage("a"), UserMessage(["b", image]), UserMessage(""), UserMessage("c")]
    assert merge_message_runs(history) == (UserMessage(["a", "b", image, "c"]),)


def test_calls_ids_and_metadata_follow_the_stated_rule() -> None:
    first = AssistantMessage(tool_calls=[ToolCall("a", "f")], metadata={"m": {"x": [1], "y": 1}, "n": None, "k": 1})
    second = AssistantMessage(
        "hm", tool_calls=[ToolCall("b", "g")], metadata={"m": {"x": [2], "y": None}, "n": 2}, id="i"
    )

    assert merge_message_runs([first, second, AssistantMessage(id="j")]) == (
        AssistantMessage(
            "hm",
            tool_calls=[ToolCall("a", "f"), ToolCall("b", "g")],
            metadata={"m": {"x": [1, 2], "y": 1}, "n": 2, "k": 1},
            id="i",
        ),
    )


def test_speakers_and_results_stay_apart() -> None:
    result = ToolResponseMessage(ToolResponse("a"))
    history = (UserMessage("a", name="bob"), UserMessage("b", name="eve"), UserMessage("c"), result, result)
    assert merge_message_runs(history) == history


def test_no_content_stays_no_content() -> None:
    assert merge_message_runs([AssistantMessage(), AssistantMessage()]) == (AssistantMessage(),)
    assert merge_message_runs([AssistantMessage(), AssistantMessage("")]) == (AssistantMessage(""),)


def test_a_separator_is_text() -> None:
    with pytest.raises(HistoryError, match="separator must be a str, not None"):
        merge_message_runs([], separator=None)  # type: ignore[call-overload]


def test_a_long_run_is_joined_once() -> None:
    joins: list[int] = []

    class Separator(str):
        __slots__ = ()

        def join(self, texts: Any) -> str:
            joins.append(len(texts))
            return str.join(self, texts)

    assert len(merge_message_runs([UserMessage("x")] * 20_000, separator=Separator(" "))) == 1
    assert joins == [20_000]


@given(histories())
def test_nothing_is_lost_and_nothing_is_left_to_merge(history: list[BuiltinMessage]) -> None:
    kept = merge_message_runs(history, separator="")

    def said(messages: tuple[Message, ...]) -> str:
        return "".join(content_text(message.content) for message in messages if message.content)

    assert said(kept) == said(tuple(history))
    assert merge_message_runs(kept, separator="") == kept
