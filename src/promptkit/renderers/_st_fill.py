"""Print a template whose layout is known when it is compiled: copy its parts, fill the slots, join once.

A line tells by its own slots whether it is empty, an if brings the newline behind it along in each branch, and a body
says the same about every element. Where that does not hold, and always under ``compat``, `Fill` gives up with
`UnfitError`: there `Layout` prints, slower, and both print the same.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from promptkit.renderers._st_code import Code, Getter, Rules, Scope
from promptkit.renderers._st_nodes import (
    INDEXES,
    Body,
    Element,
    Expression,
    If,
    Indented,
    Literal,
    Member,
    Name,
    Newline,
    Tag,
    Template,
    Text,
    free_names,
    has_body,
    loop_of,
)
from promptkit.renderers._st_slots import Filler, Slot, filler_of
from promptkit.renderers._st_values import elements_of, indented, spread

__all__ = ["Fill", "UnfitError"]


class UnfitError(Exception):
    """Say that a template's layout depends on more than its own slots."""


class Fill(Code):
    """Compile a template into a function that fills its slots."""

    def __init__(self, source: str, rules: Rules) -> None:
        super().__init__(source, rules)
        self._count = 0
        if rules.compat:
            raise UnfitError

    def filler(self, template: Template) -> Filler:
        """Compile the outermost template; a newline that begins it is printed."""
        line = _Line(self, Scope({}), printed=[], begins=True)
        line.after_newline = True
        line.add_all(template)
        return line.filler()

    def body(self, node: Body, scope: Scope, *, live: bool) -> Any:  # noqa: ARG002
        """Give up: a body that is a value may be printed on any line."""
        raise UnfitError

    def to_text(self, node: Expression, scope: Scope, *, lenient: bool) -> Getter:
        """Compile an expression whose value becomes text at once."""
        if has_body(node):
            raise UnfitError
        get = self.value(node, scope, lenient=lenient)
        return lambda run: None if (value := get(run)) is None else spread(run, value)

    def slot(self, tag: Tag, line: _Line) -> Getter:
        """Compile a tag into its value, or its text where that is more than the value's."""
        options = dict(tag.options)
        scope = line.scope
        loop = loop_of(tag.value)
        if "anchor" in options or (loop is None and has_body(tag.value)):
            raise UnfitError
        separator, null = (self._option(options.get(name), scope) for name in ("separator", "null"))
        lenient = "null" in options
        if loop is not None:
            get = self.value(loop[0], scope, lenient=lenient)
            return self._loop(get, loop[1], line, separator, null)
        get = self.value(tag.value, scope, lenient=lenient)
        if separator is _no_option and null is _no_option:
            return get
        return lambda run: spread(run, get(run), separator(run), null(run))

    def _option(self, node: Expression | None, scope: Scope) -> Getter:
        if node is None:
            return _no_option
        if isinstance(node, Literal):
            constant = spread({}, node.value)
            return lambda _: constant
        return self.to_text(node, scope, lenient=False)

    def _loop(self, get: Getter, body: Body, line: _Line, separator: Getter, null: Getter) -> Filler:
        key, from_one, from_zero = range(self._count, self._count + 3)
        self._count += 3
        names = {**line.scope.names, body.names[0]: key, INDEXES[0]: from_one, INDEXES[1]: from_zero}
        fill = self._body(body.template, Scope(names), line, alone=separator is null is _no_option)
        counted = any(name in INDEXES for element in body.template for name, _ in free_names(element))
        outermost = not line.scope.names

        def loop(run: Any) -> str:
            value = get(run)
            between, instead = separator(run), null(run)
            elements = elements_of(run, value)
            variables = {**run} if outermost else run
            texts: list[str] = []
            number = 0
            for element in (value,) if elements is None else elements:
                if element is not None:
                    variables[key] = element
                    if counted:
                        variables[from_zero] = number
                        number += 1
                        variables[from_one] = number
                    text = fill(variables)
                elif instead is None:
                    continue
                else:
                    text = instead
                if between and texts:
                    texts.append(between)
                if text:
                    texts.append(text)
            return "".join(texts)

        return loop

    def _body(self, template: Template, scope: Scope, line: _Line, *, alone: bool) -> Filler:
        """Compile a body for every element: it begins on the line that the last element left, or on any line."""
        texts = (element.element if isinstance(element, Indented) else element for element in template)
        prints = any(isinstance(text, Text) for text in texts)
        fresh = alone and prints and line.begins and line.printed == [] and isinstance(template[-1], Newline)
        inner = _Line(self, scope, printed=[] if fresh else None, begins=fresh)
        inner.add_all(template)
        if inner.has_newline and not inner.always_prints:
            raise UnfitError
        return inner.filler()


class _Line:
    """Collect the text and the slots of a template, and what is known about the line that they have reached."""

    def __init__(self, code: Fill, scope: Scope, *, printed: bool | list[int] | None, begins: bool) -> None:
        self.code = code
        self.scope = scope
        self.printed = printed
        """Whether the line holds anything: known, told by these slots, or unknown."""
        self.begins = begins
        """Whether the output is at the start of a line for certain."""
        self.after_newline: bool | None = False
        """Whether a newline or an indent came just before; unknown behind an if that may have ended with one."""
        self.has_newline = False
        self.always_prints = False
        self._text: list[str] = []
        self._texts: list[str] = []
        self._slots: list[Slot] = []
        self._indents: list[tuple[int, str]] = []
        self._newlines: list[tuple[int, list[int]]] = []

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
        if isinstance(element, Indented) and not self.begins:
            raise UnfitError
        match element:
            case Text(text):
                self._add_text(text)
            case Newline():
                self.add_newline()
            case Indented(indent, Text(text)):
                self._add_text(indented(text, indent, first=True, later=True))
            case Indented(_, Newline()):
                self.after_newline = True
                self.add_newline()
            case Indented(indent, Tag(value) as tag):
                if not self.code.rules.auto_indent and has_body(value):
                    raise UnfitError
                self._indents.append((self._add_tag(tag), indent))
            case Tag():
                self._add_tag(element)
            case Indented(_, If()):
                raise UnfitError
        self.after_newline = isinstance(element, Newline)

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        self.printed = self.always_prints = True
        self.begins = False

    def add_newline(self) -> None:
        """Add a template newline, which is printed if it follows another one or ends a line that holds anything."""
        self.has_newline = True
        if self.after_newline or self.printed is True:
            self._text.append("\n")
        elif self.printed is None or self.after_newline is None:
            raise UnfitError
        elif self.printed:
            assert not self._text  # text would have told that the line is not empty
            self._newlines.append((len(self._texts), self.printed))
            self._text.append("\n")
        self.printed = []
        self.after_newline = self.begins = True

    def _add_tag(self, tag: Tag) -> int:
        return self._add_slot(self._slot(tag))

    def _slot(self, tag: Tag) -> Slot:
        """Compile a tag, reading what a name or a property of a name needs in the quickest way."""
        if not tag.options:
            match tag.value:
                case Name(name):
                    return Slot(self.scope.key(name))
                case Member(Name(name), ((str() as step, _),)) as member:
                    read = self.code.reader(member, self.scope, lenient=False)
                    return Slot(self.scope.key(name), step, read)
        return Slot(get=self.code.slot(tag, self))

    def _add_slot(self, slot: Slot) -> int:
        place = 2 * len(self._slots) + 1
        self._texts.append("".join(self._text))
        self._text = []
        self._slots.append(slot)
        if isinstance(self.printed, list):
            self.printed.append(place)
        self.begins = False
        return place

    def _add_if(self, node: If, *, ends_line: bool) -> None:
        """Add an if as one slot; a newline right behind it goes into its branches, each of which knows its line."""
        branches = [(test, self._branch(template)) for test, template in node.branches]
        last = branches[-1][1]
        for _, branch in branches[:-1]:
            branch.after_newline = False  # StringTemplate jumps to the end of the if in between
        if node.branches[-1].test != Literal(value=True):
            branches.append((Literal(value=True), self._branch(())))
        if ends_line:
            for _, branch in branches:
                branch.add_newline()
        lines = [branch for _, branch in branches]
        outer = self.printed
        self._add_slot(self._choice(branches))
        self.after_newline = True if ends_line else None if last.after_newline is not False else False
        self.begins = all(line.begins for line in lines)
        self.always_prints = self.always_prints or all(line.always_prints for line in lines)
        if all(line.printed is True for line in lines):
            self.printed = True
        elif any(line.has_newline for line in lines):
            self.has_newline = True
            self.printed = [] if all(line.printed == [] for line in lines) else None
        else:
            self.printed = outer

    def _choice(self, branches: list[tuple[Expression, _Line]]) -> Slot:
        match branches:
            case [(Name(name), then), (_, otherwise)]:
                return Slot(self.scope.key(name), choice=(then.filling(), otherwise.filling()))
            case [(Member(Name(name), ((str() as step, _),)) as member, then), (_, otherwise)]:
                read = self.code.reader(member, self.scope, lenient=True)
                return Slot(self.scope.key(name), step, read, choice=(then.filling(), otherwise.filling()))
        fillers = [(self.code.test(test, self.scope), line.filler()) for test, line in branches]
        return Slot(get=lambda run: next(fill for test, fill in fillers if test(run))(run))

    def _branch(self, template: Template) -> _Line:
        printed = self.printed
        if isinstance(printed, list):
            printed = None if printed else []
        line = _Line(self.code, self.scope, printed=printed, begins=self.begins)
        line.add_all(template)
        return line

    def filling(self) -> str | Filler:
        """Give the text, if it is always the same, or the function that fills the slots."""
        if not self._slots:
            return "".join(self._text)
        texts = [*self._texts, "".join(self._text)]
        newlines = [(2 * slot, texts[slot][1:], told_by) for slot, told_by in self._newlines]
        return filler_of(texts, self._slots, self._indents, newlines, auto_indent=self.code.rules.auto_indent)

    def filler(self) -> Filler:
        """Make the function that fills the slots."""
        filling = self.filling()
        return (lambda _: filling) if isinstance(filling, str) else filling


def _no_option(_: Any) -> None:
    return None
