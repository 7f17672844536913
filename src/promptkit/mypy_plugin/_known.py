"""Keep what is known of a template's variables in the type of the expression that makes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum

from attrs import frozen
from mypy.types import ExtraAttrs, Instance, LiteralType, Type, get_proper_type

__all__ = ["Holder", "Names", "forget", "known_names", "remember"]

_KEY = "promptkit's variables"  # no program can read an attribute of this name


class Holder(Enum):
    """Say what holds a template, and so where its type is true."""

    SURE = "sure"
    """Nothing, or what has no other value, or has it from here on: everywhere."""
    FIRST = "first"
    """What gets other values later, and keeps the type of this first one: until then."""
    SHARED = "shared"
    """A list, a call, anything that may hand it on with others: only in the expression that makes it."""


@frozen
class Names:
    """Hold what is known of a template's variables.

    Args:
        required: Those that a call must give.
        optional: The others that it can use, bound ones included.
        holder: What holds the template.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    holder: Holder = Holder.SURE

    @property
    def all(self) -> tuple[str, ...]:
        """Every name that the template can use."""
        return (*self.required, *self.optional)

    def without(self, bound: Iterable[str]) -> Names:
        """Take away what need not be given any more."""
        given = set(bound)
        required = tuple([name for name in self.required if name not in given])
        return Names(required, tuple([name for name in self.all if name not in required]))

    def __add__(self, other: Names) -> Names:
        required = tuple(dict.fromkeys((*self.required, *other.required)))
        return Names(required, tuple([name for name in (*self.optional, *other.optional) if name not in required]))


def remember(made: Instance, names: Names, text: Instance) -> Instance:
    """Give the type of a template with what is known of it.

    Args:
        made: The type.
        names: What is known.
        text: The type ``str``.
    """
    copy = made.copy_modified()
    facts = json.dumps([names.required, names.optional, names.holder.value])
    copy.extra_attrs = ExtraAttrs({_KEY: LiteralType(facts, text)})
    return copy


def known_names(known: Type) -> Names | None:
    """Give back what is known of a template of a type."""
    known = get_proper_type(known)
    kept = known.extra_attrs.attrs.get(_KEY) if isinstance(known, Instance) and known.extra_attrs else None
    if not isinstance(kept, LiteralType):
        return None
    required, optional, holder = json.loads(str(kept.value))
    return Names(tuple(required), tuple(optional), Holder(holder))


def forget(known: Type) -> Type:
    """Give the type of a changed copy, whose text may be another."""
    made = get_proper_type(known)
    if known_names(made) is None or not isinstance(made, Instance):
        return known
    copy = made.copy_modified()
    copy.extra_attrs = None
    return copy
