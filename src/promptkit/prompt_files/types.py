"""Read what a prompt file says of a variable's type, and bring values to that type."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn

from promptkit._frozen import shown
from promptkit._schema import ValueMismatchError, type_reader
from promptkit.content import Media
from promptkit.errors import PromptError, TemplateError
from promptkit.messages import AssistantMessage, Message, SystemMessage, UserMessage
from promptkit.renderers.base import nearest
from promptkit.templates.base import variables_of
from promptkit.templates.resource import TextResource

__all__ = ["ANY", "MisfitError", "TypeName", "ValueType", "message_of", "value_type"]

TypeName = str | Mapping[str, Any] | list[Any]
"""A type as a prompt file says it: ``str``, ``list[int]``, ``"a" | "b"``, ``str | none``; a mapping of a record's fields;
or a list that holds the type of its items."""

MAX_DEPTH = 10
"""Deepest nesting of a type, in levels."""

MAX_CHARS = 1_000
"""Longest text of a type, in characters."""

_SCALARS: Mapping[str, Any] = {
    "any": Any,
    "bool": bool,
    "date": date,
    "datetime": datetime,
    "float": float,
    "int": int,
    "none": None,
    "str": str,
}
_OTHERS = ("dict", "list", "media", "messages")
_SYNONYMS = {
    "array": "list",
    "boolean": "bool",
    "double": "float",
    "image": "media",
    "integer": "int",
    "null": "none",
    "number": "float",
    "object": "dict",
    "string": "str",
    "text": "str",
}
_WORD = re.compile(r"""\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<text>"[^"]*"|'[^']*')|(?P<number>-?\d+)|(?P<mark>[\[\],|]))""")


class ValueType(NamedTuple):
    """Know one type of values.

    >>> value_type("list[int]").read([1, 2], "n")
    [1, 2]
    """

    kind: str
    """``any``, ``scalar``, ``list``, ``dict``, ``record``, ``union``, ``media`` or ``messages``."""
    hint: Any
    """The type in Python."""
    item: ValueType | None = None
    """The type of the items of a list or a dict."""
    fields: Mapping[str, ValueType] = {}
    """The types of a record's fields."""
    members: tuple[ValueType, ...] = ()
    """The types of which a union's values may be."""

    def read(self, value: Any, name: str) -> Any:
        """Bring a value to this type.

        Args:
            value: The value. Text may be a `TextResource`; a record may be an object with such fields;
                media may be URLs; messages may be mappings such as ``{"user": "Hi"}``.
            name: What it is the value of, for the error.

        Raises:
            TemplateError: It cannot be one of this type.
        """
        if self.kind == "any" or isinstance(value, TextResource):
            return value
        if self.kind == "messages":
            return _messages(value, name)
        if _holds_media(self):
            return _media(self, value, name)
        try:
            return type_reader(self.hint).read(_plain(value, 0))
        except ValueMismatchError as error:
            place = "" if error.path == "$" else f" at {error.path.removeprefix('$').removeprefix('.')}"
            raise MisfitError(f"the value of {name!r} does not fit its type{place}: {error}") from None

    def parse(self, text: str, name: str) -> Any:
        """Read a value from the text of a command line: text as it is where the type allows it, else as JSON.

        Raises:
            TemplateError: It stands for no value of this type.
        """
        members = self.members or (self,)
        if any(member.hint is str or member.kind in ("any", "media") for member in members):
            return self.read(text, name)
        try:
            return self.read(text, name)  # a date, a choice
        except TemplateError:
            import json

            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                message = f"the value of {name!r} must be {self}, written as JSON, not {shown(text)}"
                raise MisfitError(message) from None
            return self.read(value, name)

    def __str__(self) -> str:
        if self.kind == "record":
            return "{" + ", ".join(f"{name}: {field}" for name, field in self.fields.items()) + "}"
        if self.kind == "union":
            return " | ".join(map(str, self.members))
        if self.kind in ("list", "dict"):
            inner = "" if self.item is None else f"[{'str, ' if self.kind == 'dict' else ''}{self.item}]"
            return self.kind + inner
        if typing.get_origin(self.hint) is Literal:
            return " | ".join(map(repr, typing.get_args(self.hint)))
        if self.kind in ("media", "messages", "any"):
            return self.kind
        return "none" if self.hint is None else self.hint.__name__


class MisfitError(TemplateError):
    """Report a value that is not of its variable's type."""


ANY = ValueType("any", Any)
"""The type of a variable of which nothing is said."""


def value_type(name: TypeName, where: str = "a type") -> ValueType:
    """Give the type that a name stands for.

    Args:
        name: The name; see `TypeName`.
        where: What has this type, for the error.

    Raises:
        TemplateError: It names no type.
    """
    return _type_of(name, where, 0)


def _type_of(name: Any, where: str, depth: int) -> ValueType:
    if isinstance(name, str):
        return _named(name, where)
    if isinstance(name, list | tuple) and len(name) == 1 and depth <= MAX_DEPTH:
        item = _type_of(name[0], where, depth + 1)
        return ValueType("list", list[item.hint], item)  # type: ignore[name-defined]
    return _record(name, where, depth)


@lru_cache(maxsize=256)
def _named(text: str, where: str) -> ValueType:
    if len(text) > MAX_CHARS:
        raise TemplateError(f"the type of {where} has over {MAX_CHARS} characters")
    return _TypeParser(text, where).parse()


def _record(fields: Any, where: str, depth: int) -> ValueType:
    if not isinstance(fields, Mapping) or not fields or depth > MAX_DEPTH:
        raise TemplateError(f"the type of {where} must be a name or a mapping of fields, not {shown(fields)}")
    types: dict[str, ValueType] = {}
    hints: dict[str, Any] = {}
    for key, kind in fields.items():
        name = key.removesuffix("?")
        place = f"{where}.{name}"
        if not name.isidentifier():
            raise TemplateError(
                f"the field {key!r:.80} of {where} must be a name, with a '?' behind it if it may be absent"
            )
        found = _type_of(kind, place, depth + 1)
        types[name] = found
        hints[name] = typing.NotRequired[found.hint] if key.endswith("?") else found.hint
    make: Any = typing.TypedDict
    return ValueType("record", make(where.rpartition(".")[2] or "record", hints), fields=types)


class _TypeParser:
    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.kind: str | None = ""
        self.word = ""
        self.advance()

    def fail(self, problem: str) -> NoReturn:
        raise TemplateError(f"the type {self.text!r:.80} of {self.where} is none: {problem}")

    def advance(self) -> None:
        found = _WORD.match(self.text, self.at)
        if found is None:
            if self.text[self.at :].strip():
                self.fail(f"{self.text[self.at :].strip()[0]!r} means nothing in a type")
            self.kind, self.word = None, ""
            return
        self.kind, self.word, self.at = found.lastgroup, found[found.lastgroup or 0], found.end()

    def take(self, mark: str) -> bool:
        if self.kind == "mark" and self.word == mark:
            self.advance()
            return True
        return False

    def parse(self) -> ValueType:
        found = self.union(0)
        if self.kind is not None:
            self.fail(f"{self.word!r} does not belong behind {self.text[: self.at - len(self.word)].strip()!r:.80}")
        return found

    def union(self, depth: int) -> ValueType:
        if depth > MAX_DEPTH:
            self.fail(f"it nests deeper than {MAX_DEPTH} levels")
        members = [self.single(depth)]
        while self.take("|"):
            members.append(self.single(depth))
        if len(members) == 1:
            return members[0]
        choices = tuple(choice for member in members if _is_choice(member) for choice in typing.get_args(member.hint))
        if choices:
            rest = [member for member in members if not _is_choice(member)]
            members = [ValueType("scalar", Literal[choices]), *rest]
        if len(members) == 1:
            return members[0]
        union: Any = typing.Union
        return ValueType("union", union[tuple(member.hint for member in members)], members=tuple(members))

    def single(self, depth: int) -> ValueType:
        kind, word = self.kind, self.word
        self.advance()
        if kind == "text":
            return ValueType("scalar", Literal[word[1:-1]])
        if kind == "number":
            return ValueType("scalar", Literal[int(word)])
        if kind != "name":
            self.fail("a name is missing")
        if word == "list":
            item = self.inner(depth, 1)
            return ValueType("list", list if item is None else list[item.hint], item)  # type: ignore[name-defined]
        if word == "dict":
            item = self.inner(depth, 2)
            return ValueType("dict", dict[str, Any if item is None else item.hint], item)  # type: ignore[misc]
        if word in ("media", "messages"):
            return ValueType(word, Media if word == "media" else list)
        if word not in _SCALARS:
            meant = _SYNONYMS.get(word.lower())
            hint = f" (did you mean {meant!r}?)" if meant else nearest(word, (*_SCALARS, *_OTHERS))
            self.fail(f"there is no type {word!r}{hint}")
        return ANY if word == "any" else ValueType("scalar", _SCALARS[word])

    def inner(self, depth: int, count: int) -> ValueType | None:
        if not self.take("["):
            return None
        found = self.union(depth + 1)
        if count == 2:
            if found.hint is not str or not self.take(","):
                self.fail("the keys of a dict are text: write dict[str, …]")
            found = self.union(depth + 1)
        if not self.take("]"):
            self.fail("a ']' is missing")
        return found


def _is_choice(kind: ValueType) -> bool:
    return typing.get_origin(kind.hint) is Literal


def _plain(value: Any, depth: int) -> Any:
    """Turn objects with fields into mappings, at any depth of lists and mappings that a type can have."""
    if depth > MAX_DEPTH or isinstance(value, str | bytes | int | float | date | None):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    kind = type(value)
    if any(hasattr(kind, marker) for marker in ("__attrs_attrs__", "__dataclass_fields__", "model_fields")):
        return {key: _plain(item, depth + 1) for key, item in variables_of(value).items()}
    return value


def _holds_media(kind: ValueType) -> bool:
    return kind.kind == "media" or any(map(_holds_media, (*kind.members, *([kind.item] if kind.item else ()))))


def _media(kind: ValueType, value: Any, name: str) -> Any:
    if kind.kind == "union":
        if value is None and any(member.hint is None for member in kind.members):
            return None
        return _media(next(member for member in kind.members if _holds_media(member)), value, name)
    if kind.kind == "list" and kind.item is not None:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise MisfitError(f"the value of {name!r} must be a list of media, not {shown(value)}")
        return [_media(kind.item, item, name) for item in value]
    if isinstance(value, Media):
        return value
    if not isinstance(value, str):
        raise MisfitError(f"the value of {name!r} must be a Media or a URL, not {shown(value)}")
    try:
        return Media(url=value)
    except PromptError as error:
        raise MisfitError(f"the value of {name!r} is no medium: {error}") from None


_MESSAGES: Mapping[str, Any] = {"system": SystemMessage, "user": UserMessage, "assistant": AssistantMessage}


def _messages(value: Any, name: str) -> Any:
    """Read mappings of one role among messages; what else stands there is checked by the slot."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        if value is None:
            return ()
        raise MisfitError(f"the value of {name!r} must be a list of messages, not {shown(value)}")
    return tuple(
        [
            message_of(item, f"{name}[{index}]") if isinstance(item, Mapping) else item
            for index, item in enumerate(value)
        ]
    )


def message_of(item: Mapping[str, Any], where: str) -> Message:
    """Make a message of a mapping from its role to its text.

    Raises:
        TemplateError: It is something else.
    """
    for role, text in item.items():
        if len(item) == 1 and role in _MESSAGES and isinstance(text, str):
            made: Message = _MESSAGES[role](text)
            return made
    raise MisfitError(
        f"{where} must be a message like {{'user': 'text'}}, its role system, user or assistant, not {shown(item)}"
    )
