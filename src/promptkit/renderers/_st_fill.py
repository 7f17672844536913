"""Print a template whose layout is known when it is compiled: copy its parts, fill the slots, join once.

That is every template without bodies whose lines are told to be empty or not by their own slots. `Fill` gives up, with
`UnfitError`, where only `Layout` prints exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from promptkit.renderers._st_code import Code, Getter, Rules, Scope, Test
from promptkit.renderers._st_nodes import (
    Body,
    Element,
    Expression,
    If,
    Indented,
    Literal,
    Name,
    Newline,
    Tag,
    Template,
    Text,
    has_body,
)
from promptkit.renderers._st_values import indented, spread

__all__ = ["Fill", "Filler", "UnfitError"]

Filler = Callable[[Any], str]
"""Give the text of a template or branch for a mapping of variables."""

_TOP = Scope({})


class UnfitError(Exception):
    """Say that a template's layout depends on more than its own slots."""


class Fill(Code):
    """Compile a template into a function that fills its slots."""

    def __init__(self, source: str, rules: Rules) -> None:
        super().__init__(source, rules)
        if rules.compat:
            raise UnfitError

    def filler(self, template: Template) -> Filler:
        """Compile the outermost template; a newline that begins it is printed."""
        parts = _Parts(self, printed=[], after_newline=True, begins_line=True)
        parts.add_all(template)
        return parts.filler()

    def body(self, node: Body, scope: Scope) -> Any:  # noqa: ARG002
        """Give up: a body prints into the line of its tag."""
        raise UnfitError

    def to_text(self, node: Expression, scope: Scope, *, lenient: bool) -> Getter:
        """Compile an expression whose value becomes text at once."""
        if has_body(node):
            raise UnfitError
        get = self.value(node, scope, lenient=lenient)
        return lambda run: None if (value := get(run)) is None else spread(run, value)

    def slot(self, tag: Tag) -> Filler:
        """Compile a tag into the text of its value."""
        options = dict(tag.options)
        if "anchor" in options or has_body(tag.value):
            raise UnfitError
        get = self.value(tag.value, _TOP, lenient="null" in options)
        separator, null = (self._option(options.get(name)) for name in ("separator", "null"))
        if "separator" not in options and "null" not in options:
            return lambda run: value if type(value := get(run)) is str else spread(run, value)
        return lambda run: spread(run, get(run), separator(run), null(run))

    def _option(self, node: Expression | None) -> Getter:
        if node is None or isinstance(node, Literal):
            constant = None if node is None else spread({}, node.value)
            return lambda _: constant
        return self.to_text(node, _TOP, lenient=False)


class _Parts:
    """Collect the parts of a template or a branch, and what is known about the line that they have reached."""

    def __init__(self, code: Fill, *, printed: bool | list[int] | None, after_newline: bool, begins_line: bool) -> None:
        self.code = code
        self.printed = printed
        """Whether the line holds anything: known, told by these slots, or unknown."""
        self.after_newline = after_newline
        """Whether a newline or an indent came just before."""
        self.begins_line = begins_line
        """Whether nothing stands on the output's line for certain."""
        self.has_newline = False
        self._text: list[str] = []
        self._parts: list[str] = []
        self._names: list[tuple[int, str]] = []
        self._slots: list[tuple[int, Filler]] = []
        self._indents: list[tuple[int, str]] = []
        self._newlines: list[tuple[int, tuple[int, ...]]] = []

    def add_all(self, template: Template) -> None:
        """Add elements in order."""
        previous: Element | None = None
        for element, following in zip_longest(template, template[1:]):
            if isinstance(element, If):
                self._add_if(element, ends_line=isinstance(following, Newline))
            elif not (isinstance(element, Newline) and isinstance(previous, If)):
                self._add(element)
            previous = element

    def _add(self, element: Element) -> None:
        if isinstance(element, Indented) and not self.begins_line:
            raise UnfitError
        match element:
            case Text(text):
                self._add_text(text)
            case Newline():
                self.add_newline()
            case Indented(indent, Text(text)):
                self._add_text(indent + text)
            case Indented(_, Newline()):
                self.after_newline = True
                self.add_newline()
            case Indented(indent, Tag() as tag):
                self._indents.append((self._add_tag(tag), indent))
            case Tag():
                self._add_tag(element)
            case Indented(_, If()):
                raise UnfitError
        self.after_newline = isinstance(element, Newline)

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        self.printed = True
        self.begins_line = False

    def add_newline(self) -> None:
        """Add a template newline, which is printed if it follows another one or ends a line that holds anything."""
        self.has_newline = True
        if self.after_newline or self.printed is True:
            self._text.append("\n")
        elif self.printed is None:
            raise UnfitError
        elif self.printed:
            self._newlines.append((self._add_slot("\n"), tuple(self.printed)))
        self.printed = []
        self.after_newline = True
        self.begins_line = True

    def _add_slot(self, text: str = "") -> int:
        self._flush()
        self._parts.append(text)
        return len(self._parts) - 1

    def _add_tag(self, tag: Tag) -> int:
        slot = self._add_slot()
        if isinstance(tag.value, Name) and not tag.options:
            self._names.append((slot, tag.value.name))
        else:
            self._slots.append((slot, self.code.slot(tag)))
        if isinstance(self.printed, list):
            self.printed.append(slot)
        self.begins_line = False
        return slot

    def _flush(self) -> None:
        if self._text:
            self._parts.append("".join(self._text))
            self._text.clear()

    def _add_if(self, node: If, *, ends_line: bool) -> None:
        """Add an if as one slot; a newline right behind it goes into its branches, each of which knows its line."""
        branches = [(self.code.test(test, _TOP), self._branch(template)) for test, template in node.branches]
        for _, parts in branches[:-1]:
            parts.after_newline = False  # the jump to the end of the if comes between
        if node.branches[-1].test != Literal(value=True):
            branches.append((_always, self._branch(())))
        if ends_line:
            for _, parts in branches:
                parts.add_newline()
        slot = self._add_slot()
        self._slots.append((slot, _choice([(test, parts.filler()) for test, parts in branches])))
        self.after_newline = ends_line
        self.begins_line = all(parts.begins_line for _, parts in branches)
        ends = [parts.printed for _, parts in branches]
        if all(end is True for end in ends):
            self.printed = True
        elif any(parts.has_newline for _, parts in branches):
            self.has_newline = True
            self.printed = [] if all(end == [] for end in ends) else None
        elif isinstance(self.printed, list):
            self.printed.append(slot)

    def _branch(self, template: Template) -> _Parts:
        printed: bool | list[int] | None = self.printed
        if isinstance(printed, list):
            printed = None if printed else []
        parts = _Parts(self.code, printed=printed, after_newline=False, begins_line=self.begins_line)
        parts.add_all(template)
        return parts

    def filler(self) -> Filler:
        """Make the function that fills the slots."""
        self._flush()
        parts = self._parts
        names, slots = tuple(self._names), tuple(self._slots)
        indents, newlines = tuple(self._indents), tuple(self._newlines)
        auto_indent = self.code.rules.auto_indent
        if not names and not slots:
            constant = "".join(parts)
            return lambda _: constant

        def fill(run: Any) -> str:
            filled = parts.copy()
            for slot, name in names:
                value = run[name]
                filled[slot] = value if type(value) is str else spread(run, value)
            for slot, text in slots:
                filled[slot] = text(run)
            for slot, indent in indents:
                if filled[slot]:
                    filled[slot] = indented(filled[slot], indent, first=True, later=auto_indent)
            for newline, told_by in newlines:
                if not any(filled[slot] for slot in told_by):
                    filled[newline] = ""
            return "".join(filled)

        return fill


def _always(_: Any) -> bool:
    return True


def _choice(branches: list[tuple[Test, Filler]]) -> Filler:
    def choose(run: Any) -> str:
        for test, fill in branches:
            if test(run):
                return fill(run)
        raise AssertionError  # the last test always holds

    return choose
