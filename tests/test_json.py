from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from promptkit import _json
from promptkit._frozen import freeze
from promptkit.errors import SerializationError
from tests import strategies


@given(strategies.json_values(with_bytes=False))
def test_what_is_written_is_read(value: Any) -> None:
    text = _json.dumps(value)

    text.encode()
    assert _json.loads(text) == _json.loads(text.encode()) == json.loads(json.dumps(value))


def test_characters_are_kept_unless_they_cannot_be_encoded() -> None:
    assert _json.dumps({"a": "é🦄"}) == '{"a":"é🦄"}'
    assert _json.dumps({"a": "é\ud83e"}) == '{"a":"\\u00e9\\ud83e"}'


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), deep(100_000)], ids=["nan", "inf", "deep"])
def test_what_json_cannot_say_is_an_error(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON"):
        _json.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[Infinity]",
        "-Infinity",
        "[" * 100_000,
        "9" * 5_000,
        b"\xff\xfe",
        '{"a": "\\ud83e',
        "\ufeff{}",
        "1 2",
    ],
    ids=lambda text: text[:10],
)
def test_what_is_no_json_is_an_error(text: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        _json.loads(text)


@given(strategies.json_values())
def test_marks_are_undone(value: Any) -> None:
    marked = _json.with_marks(freeze(value))

    json.dumps(marked)
    assert freeze(_json.unmarked(marked)) == freeze(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (b"\xff", {"$bytes": "/w=="}),
        ({"$bytes": "/w=="}, {"$map": {"$bytes": "/w=="}}),
        ({"$map": {"$bytes": b"\xff"}}, {"$map": {"$map": {"$map": {"$bytes": {"$bytes": "/w=="}}}}}),
        ({"$bytes": "/w==", "more": 1}, {"$bytes": "/w==", "more": 1}),
        ({"$other": [b""]}, {"$other": [{"$bytes": ""}]}),
    ],
    ids=str,
)
def test_nothing_is_taken_for_bytes_that_is_none(value: Any, written: Any) -> None:
    assert _json.with_marks(freeze(value)) == written
    assert _json.unmarked(written) == value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, {"$bytes": "not base64"}]}, "a[1]"),
        ({"a": {"$bytes": None}}, "a"),
        ({"a": {"$map": [1]}}, "a.$map"),
        ({"a": {"$map": {"b": {"$bytes": 1}}}}, "a.b"),
    ],
    ids=str,
)
def test_a_broken_mark_is_named_by_its_path(value: Any, path: str) -> None:
    with pytest.raises(SerializationError) as caught:
        _json.unmarked(value)
    assert caught.value.path == path
