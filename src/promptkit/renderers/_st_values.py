"""Hold StringTemplate's view of values: their text, their elements, their truth, their properties, its functions.

``run`` is the `Run` of a rendering where a value may be an iterator, which is read once, and any other mapping of
variables where none can be: there an iterator raises `Retry`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    ModuleType,
    TracebackType,
)
from typing import Any, Final

from promptkit.errors import TemplateError
from promptkit.renderers.base import SHOWN_NAMES, spelling, text_of

__all__ = [
    "ABSENT",
    "DENIED",
    "FUNCTIONS",
    "Cut",
    "Keep",
    "Retry",
    "Variables",
    "elements_of",
    "indented",
    "java_text",
    "look_up",
    "plain_text",
    "properties_of",
    "spread",
    "truth",
]

MAX_NESTING = 100
"""Deepest nesting of lists in a value; a list that contains itself ends here."""

ABSENT: Final = object()
"""What `look_up` gives for a property that is not there."""

DENIED: Final = object()
"""What `look_up` gives for a property that no template may read."""

_SEALED = (
    type,
    ModuleType,
    FrameType,
    CodeType,
    TracebackType,
    GeneratorType,
    CoroutineType,
    AsyncGeneratorType,
)
_LATER_LINE = re.compile(r"\n(?=[^\n])(?!\r\n)")
_CONTROL_AND_SPACE = "".join(map(chr, range(33)))


class Retry(Exception):  # noqa: N818 - a signal, not a failure
    """Say that only the exact form of the template can print a value."""


class Keep(Exception):  # noqa: N818 - a signal, not a failure
    """Say that the running tag stays as it is written."""


class Cut(Exception):  # noqa: N818 - a signal, not a failure
    """Say that StringTemplate stops printing the running body here, without a word."""


class Variables(dict[Any, Any]):
    """Hold the variables of one rendering, by name, and the loop values of its bodies, by number.

    Args:
        given: The variables that the template uses.
        absent: The names among them that were not given; their value is ``None``.
    """

    __slots__ = ("_peeked", "absent", "misses")

    def __init__(self, given: Mapping[str, object], absent: Collection[str]) -> None:
        super().__init__(given)
        self.absent = absent
        self.misses: dict[str, tuple[int, str | None]] = {}
        """The properties that were not there, with their place and the spelling that may have been meant."""
        self._peeked: dict[int, tuple[Iterator[Any], Any]] = {}

    def miss(self, label: str, offset: int, owner: object, name: object) -> None:
        """Note a property that is not there."""
        if label not in self.misses:
            known = properties_of(owner) if isinstance(name, str) and len(self.misses) < SHOWN_NAMES else ()
            meant = spelling(str(name), known)
            self.misses[label] = (offset, meant and label[: len(label) - len(str(name))] + meant)

    def drain(self, iterator: Iterator[Any]) -> list[Any]:
        """Read what an iterator still gives, first what a condition has peeked at."""
        peeked = self._peeked.pop(id(iterator), None)
        return [*iterator] if peeked is None else [peeked[1], *iterator]

    def has_next(self, iterator: Iterator[Any]) -> bool:
        """Say whether an iterator gives another value, and keep that value for the loop."""
        if id(iterator) not in self._peeked:
            for value in iterator:
                self._peeked[id(iterator)] = (iterator, value)
                break
        return id(iterator) in self._peeked


def plain_text(value: object) -> str:
    """Turn a single value into text: booleans in lower case, ``None`` blank, the rest by the rule of all languages."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return text_of(value)


def java_text(value: object) -> str:
    """Turn a single value into text as Java does: floats of seven digits and more in scientific notation."""
    return _java_float(value) if isinstance(value, float) else plain_text(value)


def _java_float(value: float) -> str:
    from decimal import Decimal

    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - not a number
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = f"{Decimal(repr(value)):f}"
        return text if "." in text else f"{text}.0"
    shown = "".join(map(str, digits)).rstrip("0")
    return f"{'-' * sign}{shown[0]}.{shown[1:] or '0'}E{exponent + len(digits) - 1}"


def elements_of(run: Mapping[Any, Any], value: object) -> Iterable[Any] | None:
    """Give the elements of a value with several, the keys of a mapping; nothing for a single value."""
    kind = type(value)
    if kind is list or kind is dict or kind is tuple:
        return value  # type: ignore[return-value]
    if kind is str or kind is int or value is None or isinstance(value, str | bytes | bytearray | memoryview):
        return None
    if isinstance(value, Iterator):
        if not isinstance(run, Variables):
            raise Retry
        return run.drain(value)
    return value if isinstance(value, Collection) else None


def spread(
    run: Mapping[Any, Any],
    value: object,
    separator: str | None = None,
    null: str | None = None,
    show: Callable[[object], str] = plain_text,
    depth: int = 0,
) -> str:
    """Turn any value into text; elements run together, lists in lists too.

    A separator goes before an element when something was printed before it; ``None`` elements are left out, with their
    separator, unless ``null`` says what to print for them.
    """
    if type(value) is str:
        return value
    if value is None:
        return null or ""
    elements = elements_of(run, value)
    if elements is None:
        return show(value)
    if depth > MAX_NESTING:
        raise TemplateError(f"A value nests lists deeper than {MAX_NESTING} levels, or contains itself.")
    parts: list[str] = []
    printed = False
    for element in elements:
        if element is None and null is None:
            continue
        if printed and separator:
            parts.append(separator)
        text = element if type(element) is str else spread(run, element, separator, null, show, depth + 1)
        if text:
            printed = True
            parts.append(text)
    return "".join(parts)


def indented(text: str, prefix: str, *, first: bool, later: bool) -> str:
    """Put a prefix before the lines of a text, its first and its later ones; empty lines get none."""
    if later and "\n" in text:
        text = _LATER_LINE.sub(f"\n{prefix}", text)
    return prefix + text if first and not text.startswith(("\n", "\r\n")) else text


def truth(run: Mapping[Any, Any], value: object) -> bool:
    """Say whether a condition holds: only ``None``, false and what is empty are not true.

    As in StringTemplate the empty string, zero and an empty tuple, which stands for an array, are true.
    """
    if value is None or value is False:
        return False
    kind = type(value)
    if value is True or kind is str or kind is int or isinstance(value, str | tuple | bytes | bytearray | memoryview):
        return True
    if isinstance(value, Iterator):
        if not isinstance(run, Variables):
            raise Retry
        return run.has_next(value)
    return len(value) > 0 if isinstance(value, Collection) else True


def look_up(owner: object, name: object) -> object:
    """Read a property: a mapping's key, its keys or values or default entry, else an attribute that is data.

    Gives `ABSENT` where there is none, and `DENIED` where a template must not look.
    """
    if isinstance(owner, Mapping):
        found = _entry(owner, name)
        if found is not ABSENT or type(owner) is dict:
            return found
    if not isinstance(name, str) or owner is None:
        return ABSENT
    if name.startswith("_") or isinstance(owner, _SEALED):
        return ABSENT if isinstance(owner, Mapping) else DENIED
    try:
        value = getattr(owner, name)
    except AttributeError:
        return ABSENT
    return ABSENT if callable(value) else value


def _entry(owner: Mapping[Any, Any], name: object) -> object:
    if name is not None:
        try:
            if name in owner:
                return owner[name]
        except TypeError:  # no key can be unhashable
            pass
        text = name if isinstance(name, str) else plain_text(name)
        if text in owner:
            return owner[text]
        if text == "keys":
            return owner.keys()
        if text == "values":
            return owner.values()
    return owner["default"] if "default" in owner else ABSENT  # noqa: SIM401 - a mapping may invent what it lacks


def properties_of(owner: object) -> list[str]:
    """List the properties that a template could read, to suggest a spelling."""
    if isinstance(owner, Mapping):
        return [name for name in owner if isinstance(name, str)]
    return [name for name in dir(owner) if not name.startswith("_")]


Function = Callable[[Mapping[Any, Any], Any], Any]


def _first(run: Mapping[Any, Any], value: Any) -> Any:
    elements = elements_of(run, value)
    return value if elements is None else next(iter(elements), value)


def _last(run: Mapping[Any, Any], value: Any) -> Any:
    elements = elements_of(run, value)
    if elements is None:
        return value
    if isinstance(elements, list | tuple):
        return elements[-1] if elements else None
    for value in elements:  # noqa: B007, PLR1704 - the last one is meant
        pass
    return value


def _rest(run: Mapping[Any, Any], value: Any) -> Any:
    elements = elements_of(run, value)
    rest = [] if elements is None else [*elements]
    return rest[1:] if len(rest) > isinstance(value, list) else None


def _trunc(run: Mapping[Any, Any], value: Any) -> Any:
    elements = elements_of(run, value)
    most = None if elements is None else [*elements][:-1]
    return None if isinstance(value, list) and not most else most


def _strip(run: Mapping[Any, Any], value: Any) -> Any:
    elements = elements_of(run, value)
    return value if elements is None else [element for element in elements if element is not None]


def _reverse(run: Mapping[Any, Any], value: Any) -> Any:
    elements = elements_of(run, value)
    return value if elements is None else [*elements][::-1]


def _length(run: Mapping[Any, Any], value: Any) -> int:
    if value is None:
        return 0
    elements = elements_of(run, value)
    return 1 if elements is None else len([*elements])


def _trim(_: Mapping[Any, Any], value: Any) -> Any:
    return value.strip(_CONTROL_AND_SPACE) if isinstance(value, str) else value


def _strlen(_: Mapping[Any, Any], value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


FUNCTIONS: Mapping[str, Function] = {
    "first": _first,
    "last": _last,
    "rest": _rest,
    "trunc": _trunc,
    "strip": _strip,
    "trim": _trim,
    "length": _length,
    "strlen": _strlen,
    "reverse": _reverse,
}
"""The built-in functions, each of the rendering and one value."""
