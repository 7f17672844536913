from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptkit.history import trim_messages
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
