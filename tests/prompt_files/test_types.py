from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit.content import Media
from promptkit.errors import TemplateError
from promptkit.messages import UserMessage
from promptkit.prompt_files.types import TypeName, value_type
from promptkit.prompt_files.variables import PromptVariable

URL = "https://example.org/a.png"


@frozen
class _Point:
    x: int


@dataclass
class _Line:
    ends: list[_Point]


GOOD: dict[str, tuple[TypeName, Any, Any]] = {
    "any": ("any", _Point, _Point),
    "str": ("str", "a", "a"),
    "int": ("int", 3, 3),
    "float of int": ("float", 3, 3.0),
    "bool": ("bool", True, True),
    "none": ("none", None, None),
    "date": ("date", "2026-01-31", date(2026, 1, 31)),
    "a date": ("date", date(2026, 1, 31), date(2026, 1, 31)),
    "datetime": ("datetime", "2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC)),
    "list": ("list", (1, "a"), [1, "a"]),
    "list of": ("list[int]", (1, 2), [1, 2]),
    "dict": ("dict", {"a": 1}, {"a": 1}),
    "dict of": ("dict[str, list[int]]", {"a": (1,)}, {"a": [1]}),
    "choice": ("'a' | \"b\"", "b", "b"),
    "number choice": ("1 | 2", 2, 2),
    "choice or none": ("'a' | none | 'b'", None, None),
    "union": ("int | str", "a", "a"),
    "blanks": (" list [ int ] | none ", [1], [1]),
    "record": ({"x": "int", "y?": "str"}, {"x": 1, "z": 2}, {"x": 1}),
    "record of object": ({"x": "int"}, _Point(3), {"x": 3}),
    "nested record": ({"ends": "list", "at?": {"x": "int"}}, _Line([_Point(1)]), {"ends": [{"x": 1}]}),
    "list of records": ([{"x": "int"}], (_Point(1), {"x": 2}), [{"x": 1}, {"x": 2}]),
    "media": ("media", URL, Media(url=URL)),
    "a medium": ("media", Media(url=URL), Media(url=URL)),
    "list of media": ("list[media]", [URL], [Media(url=URL)]),
    "media or none": ("media | none", None, None),
    "messages": ("messages", [{"user": "a"}, UserMessage("b")], (UserMessage("a"), UserMessage("b"))),
    "no messages": ("messages", None, ()),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_value_is_brought_to_its_type(case: str) -> None:
    kind, value, expected = GOOD[case]

    assert value_type(kind, "v").read(value, "v") == expected


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("str", 3, "Expected 'str', got 'int'"),
        ("int", "3", "Expected 'int', got 'str'"),
        ("int", True, "Expected 'int', got 'bool'"),
        ("list[int]", [1, "a"], r"at \[1\]: Expected 'int'"),
        ("'a' | 'b'", "c", "Invalid enum value 'c'"),
        ({"x": "int"}, {}, "missing required field 'x'"),
        ({"x": {"y": "int"}}, {"x": {"y": "a"}}, r"at x\.y"),
        ("date", "yesterday", "Invalid RFC3339"),
        ("media", 3, "must be a Media or a URL"),
        ("media", "no url", "is no medium"),
        ("list[media]", URL, "must be a list of media"),
        ("messages", "a", "must be a list of messages"),
        ("messages", [{"tool": "a"}], "its role system, user or assistant"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: TypeName, value: Any, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        value_type(kind, "v").read(value, "v")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("string", "did you mean 'str'"),
        ("lst", "did you mean 'list'"),
        ("list[", "a name is missing"),
        ("list[int", r"a '\]' is missing"),
        ("dict[int, str]", "the keys of a dict are text"),
        ("int int", "does not belong behind"),
        ("int |", "a name is missing"),
        ("int & str", "'&' means nothing"),
        ("", "a name is missing"),
        ("list[" * 200, "nests deeper"),
        ("x" * 2_000, "over 1000 characters"),
        ("__import__('os')", r"'\(' means nothing"),
        ({}, "a mapping of fields"),
        ({"a b": "int"}, "must be a name"),
        ({"a": 3}, "a mapping of fields"),
        (["int", "str"], "a mapping of fields"),
    ],
)
def test_what_is_no_type_is_refused(kind: TypeName, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        value_type(kind, "v")


def test_deep_records_are_refused() -> None:
    kind: Any = "int"
    for level in range(1_000):
        kind = {"a": kind} if level % 2 else [kind]

    with pytest.raises(TemplateError, match="a mapping of fields"):
        value_type(kind, "v")


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("str", "3", "3"),
        ("int", "3", 3),
        ("bool", "true", True),
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("'a' | 'b'", "b", "b"),
        ("list[str]", '["a"]', ["a"]),
        ({"x": "int"}, '{"x": 1}', {"x": 1}),
        ("any", "3", "3"),
        ("str | none", "null", "null"),
        ("int | none", "null", None),
        ("media", URL, Media(url=URL)),
        ("messages", '[{"user": "a"}]', (UserMessage("a"),)),
    ],
)
def test_text_of_a_command_line_is_read(kind: TypeName, text: str, expected: Any) -> None:
    assert value_type(kind, "v").parse(text, "v") == expected


def test_text_that_is_no_value_is_refused() -> None:
    with pytest.raises(TemplateError, match="must be int, written as JSON, not 'x'"):
        value_type("int", "v").parse("x", "v")


@pytest.mark.parametrize(
    "kind", ["any", "int", "list[str]", "dict[str, int]", "int | none", "media", "messages", "'a' | 'b'"]
)
def test_a_type_prints_as_it_is_written(kind: str) -> None:
    assert str(value_type(kind, "v")) == kind


def test_a_value_that_raises_is_an_error_of_ours() -> None:
    class Odd:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("odd")

    with pytest.raises(TemplateError):
        PromptVariable("a", "int").read(Odd())


@given(st.text("intslrd[]|,'\" ", max_size=30))
def test_any_text_is_a_type_or_an_error_of_ours(text: str) -> None:
    try:
        kind = value_type(text, "v")
    except TemplateError:
        return
    assert value_type(str(kind), "v").hint == kind.hint
