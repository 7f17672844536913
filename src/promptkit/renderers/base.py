"""Define what a template language is to promptkit: a renderer that compiles, a compiled form that renders.

Below the contract stands what every language shares: where a mistake is, what a missing name may have meant, and how
a value becomes text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import NamedTuple, Protocol, TypeVar

from promptkit.errors import MissingVariablesError, TemplateError, TemplateSyntaxError

__all__ = [
    "CompiledTemplate",
    "Place",
    "TemplateRenderer",
    "ValidationMode",
    "fault",
    "missing_variables",
    "nearest",
    "place_of",
    "refuse_variables",
    "require_text",
    "spelling",
    "text_of",
    "warn_missing",
]

CACHE_SIZE = 512
"""Compiled templates kept, least recently used ones dropped first."""

CACHED_SOURCE_CHARS = 65_536
"""Longest source that the shared cache keeps, in characters; a longer one lives as long as its template."""

SHOWN_NAMES = 10
"""Most names that one error message spells out; the error's fields hold them all."""

COMPARED_NAMES = 1000
"""Most names that a misspelt one is compared with: each comparison takes about 0.1 ms."""

Error = TypeVar("Error", bound=TemplateError)


class ValidationMode(Enum):
    """Say what a renderer does with a variable that was not given.

    >>> from promptkit import StringTemplateRenderer
    >>> StringTemplateRenderer(validation=ValidationMode.KEEP).apply("Hi {name}", {})
    'Hi {name}'
    """

    THROW = "throw"
    """Raise `MissingVariablesError` with every missing name."""
    WARN = "warn"
    """Print nothing in its place and log one WARNING record with the names."""
    NONE = "none"
    """Print nothing in its place."""
    KEEP = "keep"
    """Leave the placeholder as it is written."""


class CompiledTemplate(Protocol):
    """Hold a parsed template: immutable, safe between threads, free of any rendered value."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that must be given, in order of first appearance."""

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that are used when given and may be absent."""

    def render(self, variables: Mapping[str, object], /) -> str:
        """Fill in the variables, each exactly once, none of them parsed.

        Raises:
            MissingVariablesError: A name or property is missing and the renderer's validation says so.
            TemplateError: A value cannot be printed by this language.
        """


class TemplateRenderer(ABC):
    """Turn template text into a compiled form, once a source.

    A renderer is a value: its options are its fields, equal renderers share compiled forms through one bounded,
    thread-safe cache. A new language subclasses it, stays hashable, and implements `parse`.

    >>> from promptkit.renderers.noop import NoOpRenderer
    >>> NoOpRenderer().apply("Hello {name}", {"name": "Ada"})
    'Hello {name}'
    """

    __slots__ = ()

    @abstractmethod
    def parse(self, source: str) -> CompiledTemplate:
        """Parse a source without looking at the cache; never call `compile` from here.

        Raises:
            TemplateSyntaxError: With line, column and a caret.
        """

    def compile(self, source: str) -> CompiledTemplate:
        """Give the compiled form of a source, parsing it at most once.

        Raises:
            TemplateSyntaxError: With line, column and a caret.
        """
        if not isinstance(source, str):
            raise TemplateError(f"The template must be text, not {type(source).__name__!r}. Pass a str.")
        if len(source) > CACHED_SOURCE_CHARS:
            return self.parse(source)
        return _compiled(self, source)

    def apply(self, source: str, variables: Mapping[str, object]) -> str:
        """Compile and render in one step."""
        return self.compile(source).render(variables)


class _Entry:
    __slots__ = ("form", "lock")

    def __init__(self) -> None:
        self.form: CompiledTemplate | None = None
        self.lock = Lock()


@lru_cache(CACHE_SIZE)
def _entry(renderer: TemplateRenderer, source: str) -> _Entry:  # noqa: ARG001 - the key
    return _Entry()


_second_look = Lock()


def _compiled(renderer: TemplateRenderer, source: str) -> CompiledTemplate:
    form = _entry(renderer, source).form
    if form is None:
        with _second_look:  # threads that missed together were given an entry each; now they find the same one
            entry = _entry(renderer, source)
        with entry.lock:
            form = entry.form
            if form is None:
                form = entry.form = renderer.parse(source)
    return form


class Place(NamedTuple):
    """Say where in a source an offset is: line and column from 1, and the whole line."""

    line: int
    column: int
    excerpt: str


def place_of(source: str, offset: int) -> Place:
    """Find the line, the column and the text of the line at an offset in characters."""
    start = source.rfind("\n", 0, offset) + 1
    end = source.find("\n", offset)
    excerpt = source[start : end if end >= 0 else len(source)].rstrip("\r")
    return Place(source.count("\n", 0, start) + 1, offset - start + 1, excerpt)


def fault(kind: type[Error], message: str, source: str, offset: int, *, template_name: str | None = None) -> Error:
    """Build a template error of a kind that points at an offset in the source."""
    line, column, excerpt = place_of(source, offset)
    return kind(message, template_name=template_name, line=line, column=column, excerpt=excerpt)


def require_text(source: str) -> None:
    """Refuse a template without any visible character.

    Raises:
        TemplateSyntaxError: The source is empty or blank.
    """
    if not source or source.isspace():
        message = f"The template is blank: {source[:40]!r}. Write at least one visible character."
        raise TemplateSyntaxError(message, line=1, column=1, excerpt="")


def refuse_variables(variables: object) -> None:
    """Refuse variables that are no mapping, or that hold a name that is no string.

    Raises:
        TemplateError: With the offending key.
    """
    if type(variables) is dict:
        try:
            "".join(variables)  # the fastest way to see that every key is a str
        except TypeError:
            pass
        else:
            return
    if not isinstance(variables, Mapping):
        raise TemplateError(f"The variables must be a mapping of names to values, not {type(variables).__name__!r}.")
    for name in variables:
        if not isinstance(name, str):
            raise TemplateError(f"The variables have the key {name!r}, but keys are names: use strings.")


def spelling(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that a misspelt one most likely meant, if any is close."""
    from difflib import get_close_matches

    spellings = {candidate.lower(): candidate for candidate in islice(known, COMPARED_NAMES)}
    close = get_close_matches(name.lower(), spellings, n=1, cutoff=0.65)
    return spellings[close[0]] if close else None


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the words that suggest the nearest known spelling, to stand right behind a name; empty if none is near."""
    meant = spelling(name, known)
    return f" (did you mean {meant!r}?)" if meant else ""


def missing_variables(
    names: Sequence[str],
    variables: Mapping[str, object],
    source: str,
    offset: int,
    *,
    meant: Mapping[str, str] | None = None,
) -> MissingVariablesError:
    """Build the error for missing variables: all names, likely spellings, what was given, the place of the first.

    Args:
        names: Every missing name, dotted for a property, in order of first appearance.
        variables: What was given.
        source: The template's text.
        offset: Where the first missing name stands.
        meant: Spellings that the caller knows better, by missing name.
    """
    given = sorted(variables)
    known = meant or {}
    shown = [
        f"{name!r} (did you mean {known[name]!r}?)" if name in known else f"{name!r}{nearest(name, given)}"
        for name in names[:SHOWN_NAMES]
    ]
    message = (
        f"Missing variable{'s' if len(names) > 1 else ''} {_listed(shown, len(names))}. "
        f"Given: {_listed([repr(name) for name in given[:SHOWN_NAMES]], len(given)) or 'nothing'}. "
        "Pass a value, or None to print nothing."
    )
    line, column, excerpt = place_of(source, offset)
    return MissingVariablesError(
        message, missing=tuple(names), available=tuple(given), line=line, column=column, excerpt=excerpt
    )


def _listed(shown: list[str], total: int) -> str:
    more = total - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def warn_missing(names: Iterable[str]) -> None:
    """Log one WARNING record that names what was missing and printed blank."""
    import logging

    listed = list(names)
    text = _listed([repr(name) for name in listed[:SHOWN_NAMES]], len(listed))
    logging.getLogger("promptkit.renderers").warning("Missing variables printed blank: %s", text)


def text_of(value: object) -> str:
    """Turn one value into text: a string as it is, ``None`` blank, anything else by `str`.

    Raises:
        TemplateError: The value is bytes, or its own conversion fails.
    """
    if isinstance(value, str):
        # An enum that is also a string prints its value, not its name.
        return str.__str__(value)
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        raise TemplateError(f"A value of type {type(value).__name__!r} has no text of its own. Decode it to str first.")
    try:
        return str(value)
    except Exception as error:
        message = f"A value of type {type(value).__name__!r} cannot be printed: it raised {type(error).__name__}."
        raise TemplateError(f"{message} Convert it to str first.") from error
