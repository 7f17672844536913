from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.converters.cleaning import clean_fence, clean_thinking, find_json, in_order
from tests import oracles

CLEANERS = {"fence": clean_fence, "thinking": clean_thinking}
CASES = [row for row in oracles.rows("spring_converters.jsonl") if row["given"].get("cleaner") in CLEANERS]


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_spring_case(row: dict[str, Any]) -> None:
    given = row["given"]

    assert CLEANERS[given["cleaner"]](given["text"]) == row["then"]["result"]


def test_cleaners_work_in_order() -> None:
    """SC-CNV-032, SC-CNV-033."""
    assert in_order(lambda text: text.replace("A", "B"), lambda text: text.replace("B", "C"))("AAA") == "CCC"
    assert in_order()("x") == "x"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ("42", [42]),
        ('"text"', ["text"]),
        ('Sure! {"a": 1} Done.', [{"a": 1}]),
        ('one {"a": 1} two {"a": 2}', [{"a": 1}, {"a": 2}]),
        ('```json\n{"a": "```"}\n```', [{"a": "```"}]),
        ("The `{final}` list [1, 2]", [[1, 2]]),
        ('use {x and then {"b": 2}', [{"b": 2}]),
        ('{"open": {"b": 2}', [{"b": 2}]),
        ('<think>{"a": 1}</think>{"a": 2}', [{"a": 2}]),
        ('{"a": 1}</think>{"a": 2}', [{"a": 2}]),
        ('{"a": "<think>no</think>"} ok', [{"a": "<think>no</think>"}]),
        ('x < y and {"a": [1, {"b": "}"}]}', [{"a": [1, {"b": "}"}]}]),
        ("{}", [{}]),
        ("empty: {} and []", [{}, []]),
        ('{"a": "\\"}"} tail', [{"a": '"}'}]),
    ],
    ids=range(16),
)
def test_json_is_found(text: str, values: list[Any]) -> None:
    assert [candidate.value for candidate in find_json(text)] == values


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}, "commas"),
        ('{"a": ",}", "b": 1,}', {"a": ",}", "b": 1}, "commas"),
        ("{“a”: “b”}", {"a": "b"}, "typographic"),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, "line breaks"),
    ],
    ids=["commas", "commas and text", "quotes", "line breaks"],
)
def test_repairs_are_named(text: str, value: Any, words: str) -> None:
    (found,) = find_json(text)

    assert found.value == value
    assert words in " ".join(found.repairs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        ("I cannot help with that.", "Expecting value"),
        ('{"a": "half', "Unterminated"),
        ('{"reason": "going up”}', "Unterminated"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": 1 "b": 2}', "Expecting"),
        ("[" * 10_000 + "]" * 10_000, "deep"),
        ('<think>only thoughts {"a": 1}', "Expecting value"),
        ("{a: 1}", "Expecting"),
    ],
    ids=["empty", "refusal", "half", "mixed quotes", "NaN", "twice", "broken", "deep", "thoughts", "no keys"],
)
def test_what_holds_no_json_is_an_error(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        find_json(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
NOISE = st.text(alphabet=st.characters(exclude_characters='{["<', exclude_categories=["Cs"]), max_size=40)


@given(NOISE, st.dictionaries(st.text(), JSON, min_size=1), NOISE)
def test_any_object_survives_prose_around_it(before: str, value: dict[str, Any], after: str) -> None:
    found = find_json(f"{before}{json.dumps(value)}{after}")

    assert [candidate.value for candidate in found] == [value]


@given(st.text())
def test_hostile_text_is_json_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert find_json(text)


def test_a_very_long_string_costs_no_memory_of_its_own() -> None:
    text = 'So: {"a": "' + "x\\n" * 1_000_000 + '",}'
    tracemalloc.start()
    try:
        (found,) = find_json(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(found.value["a"]) == 2_000_000
    assert peak < 12 * len(text)


def test_a_doubled_key_among_very_many_is_named() -> None:
    keys = [f"k{number}" for number in range(20_000)]
    pairs = ",".join(f'"{key}":1' for key in [*keys, "k19999"])

    with pytest.raises(ValueError, match="the key 'k19999' stands twice"):
        find_json("{" + pairs + "}")
