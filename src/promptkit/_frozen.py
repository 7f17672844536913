"""Hold what every value of promptkit is made of: read-only mappings and sequences, and the base of frozen classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, Self

import attrs

from promptkit.errors import PromptError

if TYPE_CHECKING:
    from attrs import Attribute

__all__ = [
    "EMPTY",
    "MAX_DEPTH",
    "FrozenDict",
    "FrozenList",
    "JsonValue",
    "ShownValue",
    "Value",
    "bare_fields",
    "exact_int",
    "exact_str",
    "freeze",
    "freeze_mapping",
    "holds_only",
    "items_of",
    "settle",
    "shown",
    "thaw",
    "tuple_of",
]

MAX_DEPTH = 100
"""Deepest nesting of a frozen value, in levels: it pickles, prints and compares far from the recursion limit."""

_HUGE = 1 << 14_000  # Python refuses to print integers of more than 4,300 digits: they would break every `repr`

_new = dict.__new__
_fill = dict.update
_MAPPINGS = (dict, Mapping)  # the exact class first: asking an ABC costs ten times as much

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

    def __new__(cls, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /) -> Self:
        source = items if isinstance(items, Mapping) else dict(items)
        frozen = super().__new__(cls)
        dict.update(frozen, _frozen_items(source, "", 0))
        return frozen

    def __init__(self, items: object = (), /) -> None:
        """Do nothing: ``dict.__init__`` would be a way to change an instance."""

    def thaw(self) -> dict[str, Any]:
        """Give a plain dict, with plain dicts and lists inside."""
        return {key: thaw(value) for key, value in self.items()}

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_items, (dict(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __or__(self, other: Mapping[str, Any]) -> FrozenDict:  # type: ignore[override]
        return FrozenDict({**self, **other})

    def _refuse(self, *_args: object, **_items: object) -> NoReturn:
        raise TypeError("a FrozenDict cannot be changed; build a new one: FrozenDict({**old, 'key': value})")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def shown(value: object) -> str:
    """Show any value in an error message, in at most 80 characters, whatever its ``repr`` does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr may raise anything, a RecursionError too
        text = f"<{type(value).__name__} without a repr>"
    return text if len(text) <= 80 else f"{text[:79]}…"


def exact_str(value: object, path: str) -> str:
    """Give a str as a plain ``str``, a subclass's too.

    Raises:
        PromptError: It is no str.
    """
    if not isinstance(value, str):
        raise PromptError(f"{path} must be a str, not {shown(value)}")
    return str.__str__(value)


def exact_int(value: object, path: str) -> int:
    """Give an int as a plain ``int``; a ``bool`` is none.

    Raises:
        PromptError: It is no int.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise PromptError(f"{path} must be an int, not {shown(value)}")
    return freeze(value, path)  # type: ignore[no-any-return]


def items_of(value: Iterable[Any], path: str) -> tuple[Any, ...]:
    """Read an iterable to its end.

    Raises:
        PromptError: It raised on the way; the cause is its own error.
    """
    try:
        return tuple(value)
    except PromptError:
        raise
    except Exception as error:
        raise PromptError(f"{path} cannot be read: {type(error).__name__}: {error}") from error


def holds_only(kind: type, value: object) -> bool:
    """Tell whether a value is a tuple of exactly this class and not empty: then `tuple_of` would change nothing."""
    return type(value) is tuple and {*map(type, value)} == {kind}


def tuple_of(kind: Any, value: object, path: str) -> tuple[Any, ...]:
    """Read an iterable of one kind to its end; a single item may stand for itself.

    Args:
        kind: A class, or a union of classes.
        value: The iterable or the item.
        path: Where it stands, for the error.

    Raises:
        PromptError: It holds something else, or raised on the way.
    """
    if isinstance(value, kind):
        return (value,)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise PromptError(f"{path} must hold {_name(kind)} objects, not {shown(value)}")
    items = items_of(value, path)
    for index, item in enumerate(items):
        if not isinstance(item, kind):
            raise PromptError(f"{path}[{index}] is no {_name(kind)}: {shown(item)}")
    return items


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or " or ".join([one.__name__ for one in kind.__args__])


def settle(value: Any, *texts: str) -> None:
    """Freeze the metadata of a value under construction, and check those of its texts that may be ``None``."""
    if value.metadata is not EMPTY:
        object.__setattr__(value, "metadata", freeze_mapping(value.metadata, f"{type(value).__name__}.metadata"))
    for name in texts:
        text = getattr(value, name)
        if text is not None and type(text) is not str:
            object.__setattr__(value, name, exact_str(text, f"{type(value).__name__}.{name}"))


def freeze(value: object, path: str = "", depth: int = 0) -> Any:
    """Copy a JSON value or bytes into its read-only form; what is frozen already comes back as it is.

    Args:
        value: The value.
        path: Where it stands, for the error.
        depth: Levels above it.

    Raises:
        PromptError: It, or something in it, is no JSON value, has a key that is not a str, or nests too deep.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int or kind is float:
        return _frozen_number(value, path)
    if depth > MAX_DEPTH:
        raise PromptError(f"{_place(path)} nests deeper than {MAX_DEPTH} levels or contains itself")
    if isinstance(value, _MAPPINGS):
        # Only the outermost is taken over: an inner one adds to the depth.
        return value if kind is FrozenDict and depth == 0 else _from_items(_frozen_items(value, path, depth))
    if isinstance(value, list | tuple):
        if kind is FrozenList and depth == 0:
            return value
        return FrozenList(
            [
                item if type(item) in _PLAIN else freeze(item, f"{path}[{index}]", depth + 1)
                for index, item in enumerate(value)
            ]
        )
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(memoryview(value))
    if isinstance(value, str):
        return str.__str__(value)
    return _frozen_number(value, path)


_PLAIN = frozenset((str, bool, bytes, type(None)))
_SCALARS = _PLAIN | {int, float}


def _frozen_number(value: object, path: str) -> int | float:
    if isinstance(value, float) and isfinite(value):
        return float.__float__(value)
    if isinstance(value, int) and abs(value) < _HUGE:
        return int.__int__(value)
    kind = f"{shown(value)} of the type {type(value).__name__}"
    if isinstance(value, int):
        kind = f"an int of {value.bit_length()} bits"
    raise PromptError(
        f"{_place(path)} is {kind}, and that is no JSON value: give a str, a finite number, a bool, None, bytes, "
        "a list, or a mapping with str keys"
    )


def _frozen_items(items: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
    frozen: dict[str, Any] = {}
    try:
        for key, value in items.items():
            if type(key) is not str:
                key = exact_str(key, f"{_place(path)}: the key")  # noqa: PLW2901
            kind = type(value)
            if kind not in _PLAIN and not (kind is int and abs(value) < _HUGE):
                value = freeze(value, f"{path}.{key}" if path else key, depth + 1)  # noqa: PLW2901
            frozen[key] = value
    except PromptError:
        raise
    except Exception as error:
        raise PromptError(f"{_place(path)} cannot be read: {type(error).__name__}: {error}") from error
    return frozen


def _place(path: str) -> str:
    return (path if path.isprintable() and len(path) <= 200 else shown(path)) or "value"


def _from_items(items: dict[str, Any]) -> FrozenDict:
    frozen = _new(FrozenDict)
    _fill(frozen, items)
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
    if not isinstance(value, _MAPPINGS):
        raise PromptError(f"{path} must be a mapping, not {shown(value)}")
    items = _frozen_items(value, path, 0)
    return _from_items(items) if items else EMPTY


def thaw(value: Any) -> Any:
    """Give the plain form of a frozen value: dicts and lists that may be changed.

    >>> thaw(freeze({"a": (1, 2)}))
    {'a': [1, 2]}
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is not FrozenDict and isinstance(value, (tuple, list)):
        return [item if type(item) in _SCALARS else thaw(item) for item in value]
    if kind is not FrozenDict and not isinstance(value, _MAPPINGS):
        return value
    plain = {**value}
    for key, item in plain.items():
        if type(item) not in _SCALARS:
            plain[key] = thaw(item)
    return plain


def bare_fields(_: type, fields: list[Attribute[Any]]) -> list[Attribute[Any]]:
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
        kind: Any = type(self)
        for attribute in kind.__attrs_attrs__:  # `attrs.evolve` takes twice the time
            if attribute.init and attribute.alias not in changes:
                changes[attribute.alias] = getattr(self, attribute.name)
        return kind(**changes)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Show the positional fields, and of the others those that differ from their default."""
        shown = []
        for field in sorted(attrs.fields(type(self)), key=lambda field: field.kw_only):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not field.kw_only:
                shown.append(repr(value))
            elif field.repr and value != _default(field):
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class ShownValue(Value):
    """Give a value a look in notebooks as well."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from promptkit.display import html_of

        return html_of(self)  # type: ignore[arg-type]


def _default(field: Attribute[Any]) -> Any:
    if field.converter is None or field.default is attrs.NOTHING:
        return field.default
    return field.converter(field.default)  # type: ignore[operator]
