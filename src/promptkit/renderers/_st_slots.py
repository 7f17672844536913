"""Fill the slots of a text: read the variables in one go, look into them, join once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from promptkit.renderers._st_code import Getter, Reader
from promptkit.renderers._st_values import ABSENT, indented, spread, truth

__all__ = ["Filler", "Slot", "filler_of"]

Filler = Callable[[Any], str]
"""Give the text of a template, a branch or a body for a mapping of variables."""


class Slot(NamedTuple):
    """Say how a slot gets its value: by a variable's key and perhaps one property of it, or by any function.

    A choice holds what stands there when that value is true, and when not.
    """

    key: int | str | None = None
    step: str | None = None
    read: Reader | None = None
    choice: tuple[str | Filler, str | Filler] | None = None
    get: Getter | None = None


def filler_of(
    texts: list[str],
    slots: list[Slot],
    indents: list[tuple[int, str]],
    newlines: list[tuple[int, str, list[int]]],
    *,
    auto_indent: bool,
) -> Filler:
    """Make the function that fills the slots, which stand between the texts.

    Args:
        texts: One more than slots; in the list of parts texts have even and slots odd places.
        slots: The slots.
        indents: The places of slots that begin a line, with their indents.
        newlines: The places of texts that lose their newline if nothing stands in any of some slots.
        auto_indent: Whether later lines of an indented slot are indented too.
    """
    parts = [""] * (len(texts) + len(slots))
    parts[::2] = texts
    values_of = _values_of(slots)
    places = [(2 * number + 1, slot) for number, slot in enumerate(slots)]
    steps = [(place, slot.step, slot.read) for place, slot in places if slot.read is not None]
    choices = [(place, *slot.choice) for place, slot in places if slot.choice is not None]
    if not steps and not choices and not indents and not newlines:
        return _filler_of_values(parts, values_of)

    def fill(run: Any) -> str:
        filled: list[Any] = [*parts]
        filled[1::2] = values_of(run)
        for place, step, read in steps:
            base = filled[place]
            if type(base) is dict and step in base:
                filled[place] = base[step]
            else:
                value = read(run, base, step, 0)
                filled[place] = None if value is ABSENT else value
        for place, then, otherwise in choices:
            value = filled[place]
            chosen = then if (value if type(value) is bool else truth(run, value)) else otherwise
            filled[place] = chosen if isinstance(chosen, str) else chosen(run)
        for place, indent in indents:
            if text := spread(run, filled[place]):
                filled[place] = indented(text, indent, first=True, later=auto_indent)
        for place, rest, told_by in newlines:
            if not any(spread(run, filled[slot]) for slot in told_by):
                filled[place] = rest
        try:
            return "".join(filled)
        except TypeError:  # a value is no text yet
            filled[1::2] = [value if type(value) is str else spread(run, value) for value in filled[1::2]]
            return "".join(filled)

    return fill


def _values_of(slots: list[Slot]) -> Callable[[Any], Sequence[Any]]:
    keys = [slot.key for slot in slots if slot.key is not None]
    if len(keys) == len(slots) > 1:
        return itemgetter(*keys)
    if len(keys) == len(slots):
        key = keys[0]
        return lambda run: (run[key],)
    getters = [slot.get or itemgetter(slot.key) for slot in slots]
    return lambda run: [get(run) for get in getters]


def _filler_of_values(parts: list[str], values_of: Callable[[Any], Sequence[Any]]) -> Filler:
    def fill(run: Any) -> str:
        filled = parts.copy()
        filled[1::2] = values_of(run)
        try:
            return "".join(filled)
        except TypeError:  # a value is no text yet
            filled[1::2] = [value if type(value) is str else spread(run, value) for value in filled[1::2]]
            return "".join(filled)

    return fill
