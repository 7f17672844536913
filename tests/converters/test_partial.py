from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit.converters import TypedOutputConverter
from promptkit.converters.partial import NOTHING_YET, PartialJson, partial_json
from promptkit.errors import OutputConversionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", NOTHING_YET),
        ("Sure, ", NOTHING_YET),
        ("{", NOTHING_YET),
        ('{"', {}),
        ('{"na', {}),
        ('{"name"', {}),
        ('{"name":', {}),
        ('{"name": "', {"name": ""}),
        ('{"name": "A\\', {"name": "A"}),
        ('{"name": "A\\u00e', {"name": "A"}),
        ('{"name": "\\ud83e\\udd', {"name": ""}),
        ('{"name": "\\ud83e', {"name": ""}),
        ('{"n": 12', {}),
        ('{"n": 12,', {"n": 12}),
        ('{"n": tru', {}),
        ('{"n": true ', {"n": True}),
        ('[{"a": 1}, {"b": [2, 3', [{"a": 1}, {"b": [2]}]),
        ('{"a": 1} and more {"b"', {"a": 1}),
        ('<think>{"x": 1', NOTHING_YET),
    ],
    ids=range(19),
)
def test_what_stands_so_far(text: str, value: Any) -> None:
    assert partial_json(text) == value


def is_prefix(part: Any, whole: Any) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        keys = list(whole)[: len(part)]
        return list(part) == keys and all(is_prefix(part[key], whole[key]) for key in keys)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_prefix, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return bool(part == whole)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), JSON, min_size=1, max_size=3), st.booleans())
def test_each_value_is_a_prefix_of_the_next(value: dict[str, Any], escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    seen = [found for end in range(len(text) + 1) if (found := partial_json(text[:end])) is not NOTHING_YET]

    assert all(map(is_prefix, seen, seen[1:]))
    assert seen[-1] == value


@frozen
class Person:
    name: str
    age: int


def test_partials_end_with_the_value() -> None:
    found = list(TypedOutputConverter(Person).partials(['{"name": "A', 'da", ', '"age": 3', "6}"]))

    assert found == [{"name": "A"}, {"name": "Ada"}, {"name": "Ada", "age": 36}, Person("Ada", 36)]


def test_an_answer_that_stays_broken_is_an_error() -> None:
    partials = TypedOutputConverter(Person).partials(['{"name": "A'])

    assert next(partials) == {"name": "A"}
    with pytest.raises(OutputConversionError):
        next(partials)


def test_very_deep_json_has_not_arrived() -> None:
    assert partial_json("[" * 200_000) is NOTHING_YET


def test_a_long_answer_is_not_read_at_every_piece() -> None:
    reader = PartialJson()

    values = [reader.add(piece) for piece in ['{"a": "', *["word "] * 6_000, '"}']]

    assert sum(value is not NOTHING_YET for value in values) < 1_100
