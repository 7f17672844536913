from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum
from typing import Any

import msgspec
import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit._frozen import (
    EMPTY,
    MAX_DEPTH,
    FrozenDict,
    FrozenList,
    Value,
    exact_int,
    freeze,
    freeze_mapping,
    shown,
    thaw,
    tuple_of,
)
from promptkit.errors import PromptError
from tests import strategies


def _raise(error: Exception) -> bool:
    raise error


class Raising(Mapping[str, Any]):
    """A mapping that is read once too often."""

    def __getitem__(self, key: str) -> Any:
        raise OSError("the disk is gone")

    def __iter__(self) -> Iterator[str]:
        return iter(("a",))

    def __len__(self) -> int:
        raise OSError("the disk is gone")


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


def nested(depth: int, *, lists: bool = False) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if lists else {"k": value}
    return value


@given(strategies.metadata())
def test_frozen_mappings_are_the_mapping(plain: dict[str, Any]) -> None:
    value = FrozenDict(plain)

    assert value == plain
    assert thaw(value) == value.thaw() == plain
    assert repr(value) == repr(plain)
    assert freeze_mapping(value) is value
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == copy.copy(value) == value
    assert type(pickle.loads(pickle.dumps(value))) is FrozenDict
    assert hash(value) == hash(FrozenDict(dict(reversed(plain.items()))))


@given(strategies.json_values(with_bytes=False))
def test_frozen_values_encode_as_the_value(plain: Any) -> None:
    value = freeze(plain)

    assert json.dumps(value) == json.dumps(plain)
    assert json.dumps(thaw(value)) == json.dumps(plain)


def test_msgspec_encodes_a_frozen_mapping() -> None:
    value = FrozenDict({"a": [1, {"b": None}]})

    assert msgspec.json.encode(value) == b'{"a":[1,{"b":null}]}'


def test_nothing_in_it_can_be_changed() -> None:
    value = FrozenDict({"a": {"b": [1]}})
    changes: list[Any] = [
        lambda: value.__setitem__("x", 1),
        lambda: value.__delitem__("a"),
        lambda: value.__ior__({"x": 1}),
        lambda: value.update(x=1),
        lambda: value.setdefault("x", 1),
        lambda: value.pop("a"),
        value.popitem,
        value.clear,
        lambda: value["a"].update(b=2),
        lambda: FrozenDict.fromkeys("ab"),
    ]

    for change in changes:
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    with pytest.raises(AttributeError):
        value["a"]["b"].append(2)
    value.__init__({"x": 1})  # type: ignore[misc]
    EMPTY.__init__({"x": 1})  # type: ignore[misc]
    assert (value, EMPTY) == ({"a": {"b": [1]}}, {})


def test_a_union_is_a_new_frozen_mapping() -> None:
    value = FrozenDict({"a": 1, "b": [1]})

    assert value | {"a": {"c": [2]}} == {"a": {"c": [2]}, "b": [1]}
    assert type(value | {}) is FrozenDict
    assert type({"a": 0} | value) is dict
    assert FrozenDict([("a", 1)]) == {"a": 1}


def test_a_frozen_list_is_a_tuple_that_equals_a_list() -> None:
    value: Any = freeze([1, [2], {"a": (3,)}])

    assert type(value).__mro__[1] is tuple
    assert value == [1, [2], {"a": [3]}] == value
    assert value == (1, (2,), {"a": (3,)})
    assert value != [1]
    assert value != 1
    assert hash(value) == hash(freeze((1, (2,), {"a": [3]})))
    assert repr(value) == "[1, [2], {'a': [3]}]"
    assert type(pickle.loads(pickle.dumps(value))) is type(copy.deepcopy(value)) is FrozenList


def test_subclasses_and_buffers_become_plain() -> None:
    value = freeze([Colour.RED, Level.HIGH, bytearray(b"x"), memoryview(b"y"), True, {Colour.RED: 1}])

    assert value == ["red", 3, b"x", b"y", True, {"red": 1}]
    assert [type(item) for item in value] == [str, int, bytes, bytes, bool, FrozenDict]
    assert type(next(iter(value[5]))) is str


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": [1, {"b": object()}]}, r"^metadata\.a\[1\]\.b is <object .*> of the type object, and that is no JSON"),
        ({"a": float("nan")}, r"^metadata\.a is nan of the type float"),
        ({"a": [float("-inf")]}, r"^metadata\.a\[0\] is -inf of the type float"),
        ({"a": 10**5000}, r"^metadata\.a is an int of 16610 bits"),
        ({"a": {1, 2}}, r"^metadata\.a is \{1, 2\} of the type set"),
        ({1: "a"}, "^metadata: the key must be a str, not 1$"),
        ({"a": {None: 1}}, r"^metadata\.a: the key must be a str, not None$"),
        (None, "^metadata must be a mapping, not None$"),
        ([("a", 1)], "^metadata must be a mapping, not "),
        ("text", "^metadata must be a mapping, not 'text'$"),
        (Raising(), "^metadata cannot be read: OSError: the disk is gone$"),
        ({"a": Raising()}, r"^metadata\.a cannot be read: OSError: the disk is gone$"),
    ],
    ids=strategies.label,
)
def test_what_is_no_json_value_is_refused_by_its_path(value: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        freeze_mapping(value)


@pytest.mark.parametrize("lists", [False, True], ids=["mappings", "lists"])
def test_nesting_has_a_limit(lists: bool) -> None:
    deepest = FrozenDict({"k": nested(MAX_DEPTH, lists=lists)})

    assert pickle.loads(pickle.dumps(deepest)) == copy.deepcopy(deepest) == deepest
    assert hash(deepest) == hash(FrozenDict({"k": nested(MAX_DEPTH, lists=lists)}))
    assert json.loads(json.dumps(deepest)) == thaw(deepest)
    assert len(repr(deepest)) > MAX_DEPTH
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(PromptError, match="nests deeper than 100 levels or contains itself"):
            FrozenDict({"k": nested(depth, lists=lists)})


def test_what_is_frozen_already_adds_to_the_depth() -> None:
    value: Any = FrozenDict()

    with pytest.raises(PromptError, match="nests deeper"):  # noqa: PT012 - one of the steps
        for _ in range(MAX_DEPTH + 2):
            value = FrozenDict({"k": value})


def test_a_value_that_contains_itself_is_refused() -> None:
    itself: list[Any] = []
    itself.append(itself)
    mapping: dict[str, Any] = {}
    mapping["m"] = mapping

    for value in ({"k": itself}, mapping):
        with pytest.raises(PromptError, match="contains itself"):
            freeze_mapping(value)


def test_any_value_can_be_shown() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise OSError

    assert shown("x" * 1000) == f"'{'x' * 78}…"
    assert shown(Silent()) == "<Silent without a repr>"
    assert shown(nested(10_000, lists=True)) == "<list without a repr>"
    assert shown(10**5000) == "<int without a repr>"


def test_an_iterable_that_raises_says_what_it_was() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    with pytest.raises(PromptError, match=r"^numbers cannot be read: OSError: the disk is gone$") as caught:
        tuple_of(int, broken(), "numbers")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(PromptError, match=r"^$"):
        tuple_of(int, (error for error in [PromptError()] if _raise(error)), "numbers")
    with pytest.raises(PromptError, match=r"^numbers\[1\] is no int or float: 'x'$"):
        tuple_of(int | float, [1, "x"], "numbers")


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_number_is_no_count_unless_it_is_an_int(value: Any) -> None:
    with pytest.raises(PromptError, match=r"^count must be an int, not "):
        exact_int(value, "count")
    assert exact_int(Level.HIGH, "count") == 3


def lower(text: str) -> str:
    return text.lower()


@frozen(repr=False)
class Point(Value):
    x: int
    y: int = 0
    unit: str = field(kw_only=True, default="M", converter=lower)
    scale: int = field(kw_only=True, converter=int)


@given(st.integers(), st.integers())
def test_a_value_shows_and_changes_its_fields(x: int, y: int) -> None:
    point = Point(x, y, scale="2")

    assert repr(point) == f"Point({x}, {y}, scale=2)"
    assert repr(point.mutate(unit="KM")) == f"Point({x}, {y}, unit='km', scale=2)"
    assert point.mutate(y=1) == Point(x, 1, scale=2)
    with pytest.raises(TypeError, match="z"):
        point.mutate(z=1)
