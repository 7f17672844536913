from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptkit.history import trim_messages
from promptkit.messages import AssistantMessage, SystemMessage, UserMessage
from tests.history import neutral
from tests.oracles import decided, rows

OURS: dict[str, Callable[[list[Any]], list[Any]]] = {
    **{f"trim_messages-{number}": lambda _: [] for number in ("048", "049", "051", "070", "107")},
    "trim_messages-137": lambda history: [history[0].mutate(content="beta gamma")],
    "trim_messages-149": lambda history: history[2:],
}
"""What stays in the decided cases."""

CASES = [row for row in rows("langchain_history.jsonl") if row["fn"] == "trim_messages"]


def options(row: dict[str, Any]) -> dict[str, Any]:
    given = dict(row["input"]["kwargs"])
    counter = given.pop("token_counter")
    given["counter"] = neutral.COUNTERS.get(counter, counter)
    for name in ("start_on", "end_on"):
        if name in given:
            given[name] = neutral.kinds(given[name])
    if "text_splitter" in given:
        given["splitter"] = neutral.SPLITTERS[given.pop("text_splitter")]
    return {"include_system": False, **given}


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_without_pairs_it_selects_what_langchain_does(row: dict[str, Any]) -> None:
    history = neutral.messages(row["input"]["messages"])
    if isinstance(row["expected"], dict):
        with pytest.raises(ValueError, match=r"must be|no meaning"):
            trim_messages(history, pairs=False, **options(row))
        return

    kept = trim_messages(history, pairs=False, **options(row))

    expected = OURS.get(row["id"])
    assert row["id"] not in OURS or row["id"] in decided()
    assert kept == (tuple(neutral.messages(row["expected"])) if expected is None else tuple(expected(history)))


TEXTS = st.sampled_from(("a", "bb\ncc", "one\ntwo\nthree", "x" * 9))
OURS_BY_ROLE = {"human": UserMessage, "ai": AssistantMessage, "system": SystemMessage}
ROLES = st.sampled_from(sorted(OURS_BY_ROLE))


@given(
    st.lists(st.tuples(ROLES, TEXTS), max_size=9),
    st.integers(-1, 25),
    st.sampled_from(("len", "chars")),
    st.fixed_dictionaries(
        {"strategy": st.sampled_from(("first", "last"))},
        optional={
            "start_on": ROLES | st.just(["human", "system"]),
            "end_on": ROLES,
            "include_system": st.just(value=True),
            "allow_partial": st.just(value=True),
        },
    ),
)
def test_without_pairs_it_agrees_with_langchain_itself(
    history: list[tuple[str, str]], budget: int, counter: str, options: dict[str, Any]
) -> None:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langchain_core.messages import SystemMessage as TheirSystemMessage
    from langchain_core.messages import trim_messages as trim_theirs

    def count(messages: list[BaseMessage]) -> int:
        return len(messages) if counter == "len" else sum(len(message.text) for message in messages)

    if options["strategy"] == "first":
        options = {name: value for name, value in options.items() if name not in ("start_on", "include_system")}
    classes = {"human": HumanMessage, "ai": AIMessage, "system": TheirSystemMessage}
    theirs = [classes[role](text) for role, text in history]
    if options.get("include_system") and theirs and history[0][0] == "system":
        ends = "end_on" not in options or any(role == options["end_on"] for role, _ in history)
        assume(ends and budget >= count(theirs[:1]))  # decided: the system text stays, and nothing is over the budget

    expected = trim_theirs(theirs, max_tokens=budget, token_counter=count, **options)

    own = {"include_system": False, **options}
    own |= {name: neutral.kinds(options[name]) for name in ("start_on", "end_on") if name in options}
    ours = [OURS_BY_ROLE[role](text) for role, text in history]
    kept = trim_messages(ours, max_tokens=budget, counter=neutral.COUNTERS[counter], pairs=False, **own)
    assert [message.content for message in kept] == [message.content for message in expected]
