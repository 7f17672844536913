"""Hold what every value of promptkit is made of: read-only mappings and sequences, and the base of frozen classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Self

import attrs

from promptkit.errors import PromptError

if TYPE_CHECKING:
    from attrs import Attribute

__all__ = ["EMPTY", "FrozenDict", "FrozenList", "JsonValue", "Value", "bare_fields", "freeze", "freeze_mapping", "thaw"]

MAX_DEPTH = 200
"""Deepest nesting that a frozen value may have, in levels; it also ends a value that contains itself."""

type_error = "is not a JSON value or bytes; give str, int, float, bool, None, bytes, a list or a mapping with str keys"

JsonValue = None | bool | int | float | str | bytes | list[Any] | tuple[Any, ...] | Mapping[str, Any]
"""What metadata, ``extra`` and artifacts hold: JSON values and bytes, nested at will."""


class FrozenList(tuple[Any, ...]):
    """Be a tuple that also equals a list of the same items."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if type(other) is list else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return repr(list(self))


class FrozenDict(dict[str, Any]):
    """Be a dict that nobody can change, nested values included.

    It equals, prints and encodes as the dict of the same items, and it pickles and hashes. Build it from a mapping;
    `thaw` gives a plain dict back.

    >>> FrozenDict({"cache": {"ttl": [5, 60]}}) == {"cache": {"ttl": [5, 60]}}
    True
    """

    __slots__ = ()

    def __init__(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /) -> None:
        # dict.__init__ would accept an already filled instance, and so would be a way to change one.
        if self:
            _refuse(self)
        source = items if isinstance(items, Mapping) else dict(items)
        super().__init__(_frozen_items(source, "", 0))

    def thaw(self) -> dict[str, Any]:
        """Give a plain dict, with plain dicts and lists inside."""
        return {key: thaw(value) for key, value in self.items()}

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __or__(self, other: Mapping[str, Any]) -> FrozenDict:  # type: ignore[override]
        return FrozenDict({**self, **other})

    def __setitem__(self, key: str, value: object) -> NoReturn:
        _refuse(self)

    def __delitem__(self, key: str) -> NoReturn:
        _refuse(self)

    def __ior__(self, other: object) -> NoReturn:
        _refuse(self)

    def clear(self) -> NoReturn:
        """Refuse."""
        _refuse(self)

    def pop(self, *args: object) -> NoReturn:
        """Refuse."""
        _refuse(self)

    def popitem(self) -> NoReturn:
        """Refuse."""
        _refuse(self)

    def setdefault(self, *args: object) -> NoReturn:
        """Refuse."""
        _refuse(self)

    def update(self, *args: object, **items: object) -> NoReturn:
        """Refuse."""
        _refuse(self)


def _refuse(mapping: FrozenDict) -> NoReturn:
    raise TypeError(f"{type(mapping).__name__} cannot be changed; build a new one: FrozenDict({{**old, 'key': value}})")


def freeze(value: object, path: str = "", depth: int = 0) -> Any:
    """Copy a JSON value or bytes into its read-only form, once: what is frozen already comes back as it is.

    Args:
        value: The value.
        path: Where it stands, for the error.
        depth: Levels above it.

    Raises:
        PromptError: It, or something in it, is no JSON value, has a key that is not a str, or nests too deep.
    """
    kind = type(value)
    if value is None or kind in _SCALARS:
        return value
    if depth > MAX_DEPTH:
        raise PromptError(f"{path[:80]} nests deeper than {MAX_DEPTH} levels or contains itself")
    if isinstance(value, Mapping):
        return value if kind is FrozenDict else _from_items(_frozen_items(value, path, depth))
    if isinstance(value, list | tuple):
        if kind is FrozenList:
            return value
        return FrozenList([freeze(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)])
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    for scalar in (str, bool, int, float, bytes):
        if isinstance(value, scalar):
            return scalar(value) if scalar is not str else str.__str__(value)  # type: ignore[arg-type]
    raise PromptError(f"{path or 'value'}: {kind.__name__} {type_error}")


_SCALARS = frozenset((str, int, float, bool, bytes))


def _frozen_items(items: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
    frozen: dict[str, Any] = {}
    for key, value in items.items():
        if not isinstance(key, str):
            raise PromptError(f"{path or 'mapping'}: the key {key!r} is not a str")
        frozen[str.__str__(key)] = freeze(value, f"{path}.{key}" if path else key, depth + 1)
    return frozen


def _from_items(items: dict[str, Any]) -> FrozenDict:
    frozen = FrozenDict()
    dict.update(frozen, items)
    return frozen


EMPTY = FrozenDict()
"""The one empty mapping that values share as a default."""


def freeze_mapping(value: Mapping[str, Any], path: str = "metadata") -> FrozenDict:
    """Freeze a mapping; see `freeze`.

    Raises:
        PromptError: It is no mapping, or holds what no JSON value is.
    """
    if type(value) is FrozenDict:
        return value
    if not isinstance(value, Mapping):
        raise PromptError(f"{path} must be a mapping, not {value!r:.80}")
    return _from_items(_frozen_items(value, path, 0)) if value else EMPTY


def thaw(value: Any) -> Any:
    """Give the plain form of a frozen value: dicts and lists that may be changed.

    >>> thaw(freeze({"a": (1, 2)}))
    {'a': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [thaw(item) for item in value]
    return value


def bare_fields(cls: type, fields: list[Attribute[Any]]) -> list[Attribute[Any]]:
    """Drop the converters of a class when attrs builds it; type checkers go on reading them.

    ``__attrs_post_init__`` does their work in one call, and in the common case with one comparison a field: half the
    cost of a call for each converter.
    """
    return [field.evolve(converter=None) for field in fields]


class Value:
    """Give a frozen attrs class its short ``repr`` and `mutate`."""

    __slots__ = ()

    def mutate(self, **changes: Any) -> Self:
        """Make a changed copy; the original stays as it is.

        Args:
            changes: New values by field name.

        Raises:
            TypeError: A name is not a field.
        """
        return attrs.evolve(self, **changes)  # type: ignore[misc]

    def __repr__(self) -> str:
        """Show the positional fields, and of the others those that differ from their default."""
        shown = []
        for field in attrs.fields(type(self)):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not field.kw_only:
                shown.append(repr(value))
            elif field.repr and (field.default is attrs.NOTHING or value != field.default):
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
