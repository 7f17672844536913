from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from promptkit.errors import PromptError
from promptkit.options import NO_OPTIONS, UNSET, ChatOptions, ToolDefinition
from tests import strategies

NAMES = tuple(field.name for field in fields(ChatOptions) if field.name != "removed")
F, G = ToolDefinition("f"), ToolDefinition("g")


class Level(IntEnum):
    HIGH = 3


class Weather:
    """A callable tool, as the tools folder makes them."""

    definition = F


def broken() -> Iterator[str]:
    yield "a"
    raise OSError("the disk is gone")


@given(strategies.options())
def test_options_are_values(options: ChatOptions) -> None:
    again = pickle.loads(pickle.dumps(options))

    assert again == copy.deepcopy(options) == options.mutate() == options
    assert hash(again) == hash(options)
    assert eval(repr(options), {"ChatOptions": ChatOptions, "ToolDefinition": ToolDefinition}) == options


@given(strategies.options(), strategies.options(), strategies.options())
def test_merging_is_associative(a: ChatOptions, b: ChatOptions, c: ChatOptions) -> None:
    assert a.merge(b).merge(c) == a.merge(b.merge(c))


@given(strategies.options(), strategies.options())
def test_merging_follows_its_rule(base: ChatOptions, other: ChatOptions) -> None:
    merged = base.merge(other)

    for name in NAMES[:-1]:
        if getattr(other, name) is not None:
            assert getattr(merged, name) == getattr(other, name)
        elif name in other.removed:
            assert getattr(merged, name) is None
        else:
            assert getattr(merged, name) == getattr(base, name)
    below = {} if "extra" in other.removed else base.extra
    assert merged.extra == {**below, **other.extra}


@given(strategies.options())
def test_nothing_changes_nothing(options: ChatOptions) -> None:
    assert options.merge(None) is options.merge(NO_OPTIONS) is options
    assert options.merge(ChatOptions()) == NO_OPTIONS.merge(options) == options.merge(options) == options


def test_nobody_set_it_reads_none() -> None:
    options = ChatOptions()

    assert [getattr(options, name) for name in NAMES] == [None] * 12 + [{}]
    assert (options.set_fields(), options.removed) == ({}, frozenset())
    assert repr(options) == "ChatOptions()"


def test_zero_and_empty_are_set() -> None:
    options = ChatOptions(temperature=0, model="", stop_sequences=(), tools=[], output_schema={}, seed=0)

    assert options.set_fields() == {
        "model": "", "temperature": 0, "stop_sequences": (), "seed": 0, "tools": (), "output_schema": {},
    }  # fmt: skip
    assert ChatOptions(temperature=1, stop_sequences=["a"], tools=[F]).merge(options) == options


def test_unset_removes_and_is_remembered() -> None:
    base = ChatOptions(model="m", temperature=0.5, extra={"a": 1})
    removal = ChatOptions(temperature=UNSET, extra=UNSET)

    assert base.merge(removal) == ChatOptions(model="m", removed={"temperature", "extra"})
    assert removal.temperature is None
    assert removal.removed == {"temperature", "extra"}
    assert removal.merge(ChatOptions(temperature=1)).removed == {"extra"}
    assert base.merge(removal.merge(ChatOptions(extra={"b": 2}))).extra == {"b": 2}
    assert ChatOptions(temperature=UNSET) != ChatOptions()
    assert repr(removal) == f"ChatOptions(removed={removal.removed!r})"
    assert repr(UNSET) == "UNSET"
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET


@given(st.sets(st.sampled_from(NAMES)))
def test_a_value_takes_the_place_of_a_removal(names: set[str]) -> None:
    fields_given: dict[str, Any] = dict.fromkeys(names, UNSET)
    removed = ChatOptions(**fields_given)

    assert removed.removed == names
    assert removed.mutate(model="m").removed == names - {"model"}
    assert ChatOptions(removed=frozenset(names)) == removed


def test_extra_merges_by_its_own_keys() -> None:
    base = ChatOptions(extra={"a": {"x": 1}, "b": 1})

    assert base.merge(ChatOptions(extra={"a": {"y": 2}, "c": None})).extra == {"a": {"y": 2}, "b": 1, "c": None}
    assert base.extra == {"a": {"x": 1}, "b": 1}


def test_tools_are_definitions_or_carry_one() -> None:
    assert ChatOptions(tools=[Weather(), G]).tools == (F, G)
    assert ChatOptions(tools=Weather()).tools == ChatOptions(tools=F).tools == (F,)  # type: ignore[arg-type]
    assert ChatOptions(tools=iter([G])).tools == (G,)


def test_numbers_become_plain() -> None:
    assert type(ChatOptions(seed=Level.HIGH).seed) is int
    assert type(ChatOptions(temperature=Level.HIGH).temperature) is int


@pytest.mark.parametrize(
    ("given_options", "words"),
    [
        ({"temperature": "0.5"}, "^temperature must be a finite number, UNSET or None, not '0.5'$"),
        ({"temperature": True}, "^temperature must be a finite number, UNSET or None, not True$"),
        ({"top_p": float("nan")}, "^top_p must be a finite number, UNSET or None, not nan$"),
        ({"top_k": 1.0}, "^top_k must be an int, UNSET or None, not 1.0$"),
        ({"seed": 10**5000}, "^seed is an int of 16610 bits"),
        ({"model": 5}, "^model must be a str, UNSET or None, not 5$"),
        ({"tool_choice": F}, "^tool_choice must be a str"),
        ({"stop_sequences": "stop"}, r"^stop_sequences must hold str objects, not be one; one stop is \['stop'\]$"),
        ({"stop_sequences": b"stop"}, "^stop_sequences must hold str objects, not b'stop'$"),
        ({"stop_sequences": {"stop": 1}}, "^stop_sequences must hold str objects"),
        ({"stop_sequences": ["a", None]}, r"^stop_sequences\[1\] is no str: None$"),
        ({"stop_sequences": broken()}, "^stop_sequences cannot be read: OSError: the disk is gone$"),
        ({"tools": "f"}, "^tools must hold ToolDefinition objects, not 'f'$"),
        ({"tools": [F, print]}, r"^tools\[1\] is no ToolDefinition: <built-in function print>$"),
        ({"tools": [F, None]}, r"^tools\[1\] is no ToolDefinition: None$"),
        ({"tools": [F, G, F, G]}, "^tools must have distinct names; given more than once: 'f', 'g'$"),
        ({"output_schema": "object"}, "^output_schema must be a mapping, not 'object'$"),
        ({"extra": [1]}, r"^extra must be a mapping, not \[1\]$"),
        ({"extra": {1: 2}}, "^extra: the key must be a str, not 1$"),
        ({"extra": {"k": UNSET}}, r"^extra\.k is UNSET of the type Unset"),
        ({"removed": ["temprature"]}, "^removed names no option of ChatOptions: 'temprature'$"),
        ({"removed": 5}, "^removed must hold str objects, not 5$"),
    ],
    ids=strategies.label,
)
def test_wrong_options_are_refused_by_name(given_options: dict[str, Any], words: str) -> None:
    with pytest.raises(PromptError, match=words):
        ChatOptions(**given_options)


@pytest.mark.parametrize(
    ("fields_given", "words"),
    [
        ({"name": ""}, r"^ToolDefinition\.name is blank: ''$"),
        ({"name": " \n"}, r"^ToolDefinition\.name is blank: ' \\n'$"),
        ({"name": None}, r"^ToolDefinition\.name must be a str, not None$"),
        ({"name": "f", "description": None}, r"^ToolDefinition\.description must be a str, not None$"),
        ({"name": "f", "input_schema": None}, r"^ToolDefinition\.input_schema must be a mapping, not None$"),
    ],
    ids=str,
)
def test_wrong_tools_are_refused_by_field(fields_given: dict[str, Any], words: str) -> None:
    with pytest.raises(PromptError, match=words):
        ToolDefinition(**fields_given)


def test_options_merge_with_options_only() -> None:
    with pytest.raises(PromptError, match=r"^ChatOptions merge with ChatOptions, not with \{'temperature': 1\}$"):
        ChatOptions().merge({"temperature": 1})  # type: ignore[arg-type]
