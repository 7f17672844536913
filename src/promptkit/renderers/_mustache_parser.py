"""Parse mustache: tags, sections, partials, delimiters and the lines that hold nothing but a tag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from attrs import Factory, define, frozen

from promptkit.errors import TemplateError, TemplateNotFoundError, TemplateSyntaxError
from promptkit.renderers.base import fault, nearest

__all__ = ["LINE", "MAX_SECTIONS", "Node", "Origin", "Partial", "Section", "Tag", "Variable", "parse"]

MAX_SECTIONS = 100
"""Deepest nesting of sections in one text."""

LINE = None
"""Marks the start of a line in the nodes of an indented partial: there its indentation goes."""

_SEGMENT = r"[\w-]+"
_NAME = re.compile(rf"\.|{_SEGMENT}(?:\.{_SEGMENT})*")
_PARTIAL_NAME = re.compile(r"[^\s{}<>=]+")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK_TAIL = re.compile(r"[ \t]*(?:\r?\n|\Z)")


@frozen(eq=False)
class Origin:
    """Hold the text that a node stands in; a partial's has a name."""

    source: str
    name: str | None = None

    def fail(self, kind: type[TemplateError], message: str, offset: int, cause: Exception | None = None) -> NoReturn:
        """Raise an error with its place in this text."""
        raise fault(kind, message, self.source, offset, template_name=self.name) from cause


@frozen(eq=False)
class Tag:
    """Hold what variables, sections and partials share: the name and the place."""

    origin: Origin
    path: tuple[str, ...]
    """The names between the dots, or none for the item of a section, ``.``."""
    offset: int
    end: int

    @property
    def name(self) -> str:
        """The name as it is written."""
        return ".".join(self.path) or "."

    def fail(self, kind: type[TemplateError], message: str, cause: Exception | None = None) -> NoReturn:
        """Raise an error with this tag's place."""
        self.origin.fail(kind, message, self.offset, cause)

    @property
    def written(self) -> str:
        """The tag, or the whole section, as it stands in the text."""
        return self.origin.source[self.offset : self.end]


@frozen(eq=False)
class Variable(Tag):
    """Hold ``{{name}}``, ``{{{name}}}`` or ``{{&name}}``."""


@frozen(eq=False)
class Section(Tag):
    """Hold ``{{#name}}…{{/name}}``, or inverted ``{{^name}}…{{/name}}``."""

    nodes: tuple[Node, ...]
    inverted: bool


@frozen(eq=False)
class Partial(Tag):
    """Hold ``{{>name}}``; alone on its line it indents every line of the partial's text."""

    indent: str
    marked: bool


Node = str | Variable | Section | Partial | None


@define
class _Open:
    """Collect the nodes of a section that is not closed yet, or of the whole text."""

    name: str = ""
    offset: int = 0
    inverted: bool = False
    nodes: list[Node] = Factory(list)


def parse(origin: Origin, partials: Mapping[str, str], *, marked: bool = False) -> tuple[Node, ...]:
    """Parse a text.

    Args:
        origin: The text.
        partials: The partials that it may name.
        marked: Whether to mark the start of each line.

    Raises:
        TemplateSyntaxError: A tag is malformed, or a section is not closed.
        TemplateNotFoundError: A partial does not exist.
    """
    return _Parser(origin, partials, marked=marked).run()


class _Parser:
    def __init__(self, origin: Origin, partials: Mapping[str, str], *, marked: bool) -> None:
        self.origin = origin
        self.source = origin.source
        self.partials = partials
        self.marked = marked
        self.opening, self.closing = "{{", "}}"
        self.stack = [_Open()]
        self.fresh = True  # nothing of the present line has been read

    def run(self) -> tuple[Node, ...]:
        position = 0
        while (start := self.source.find(self.opening, position)) >= 0:
            position = self.tag(self.source[position:start], start)
        self.text(self.source[position:])
        if len(self.stack) > 1:
            section = self.stack[-1]
            message = f"The section {section.name!r} is not closed. Write {{{{/{section.name}}}}} where it ends."
            self.origin.fail(TemplateSyntaxError, message, section.offset)
        return tuple(self.stack[0].nodes)

    def text(self, text: str) -> None:
        """Add literal text, line by line where lines are marked."""
        if not text:
            return
        for line in _LINES.findall(text) if self.marked else (text,):
            self.begin_line()
            self.add(line)
            self.fresh = line.endswith("\n")

    def begin_line(self) -> None:
        if self.marked and self.fresh:
            self.stack[-1].nodes.append(LINE)
        self.fresh = False

    def add(self, node: Node) -> None:
        self.stack[-1].nodes.append(node)

    def tag(self, before: str, start: int) -> int:
        """Read the tag at `start`, add the text before it, and give the position after it."""
        sigil = self.source[start + len(self.opening) : start + len(self.opening) + 1]
        ending = {"{": "}", "=": "="}.get(sigil, "") + self.closing
        inner = start + len(self.opening) + (sigil in "{=&#^/>!" and sigil != "")
        end = self.source.find(ending, inner)
        if end < 0:
            message = f"This {self.opening!r} opens a tag that never ends. Close it with {ending!r}."
            self.origin.fail(TemplateSyntaxError, message, start)
        content = self.source[inner:end].strip()
        end += len(ending)
        margin = before[before.rfind("\n") + 1 :]
        alone = sigil in "#^/>!=" and sigil != "" and not margin.strip(" \t") and ("\n" in before or self.fresh)
        tail = _BLANK_TAIL.match(self.source, end) if alone else None
        self.text(before[: len(before) - len(margin)] if tail else before)
        if tail:
            self.fresh = True
        else:
            self.begin_line()
        self.apply(sigil, content, start, end, margin if tail else None)
        return tail.end() if tail else end

    def apply(self, sigil: str, content: str, start: int, end: int, margin: str | None) -> None:
        match sigil:
            case "!":
                return
            case "=":
                self.set_delimiters(content, start)
            case "#" | "^":
                self.open(self.checked(content, start), start, inverted=sigil == "^")
            case "/":
                self.close(content, start, end)
            case ">":
                self.partial(content, start, end, margin)
            case _:
                name = self.checked(content, start)
                if name == "." and len(self.stack) == 1 and self.origin.name is None:
                    message = "'.' stands for the item of a section, and no section is open here. Name a variable."
                    self.origin.fail(TemplateSyntaxError, message, start)
                self.add(Variable(self.origin, _path(name), start, end))

    def checked(self, name: str, start: int) -> str:
        if not _NAME.fullmatch(name):
            message = f"{name!r:.80} is not a name. A tag holds a name, or names with dots between them."
            self.origin.fail(TemplateSyntaxError, message, start)
        return name

    def set_delimiters(self, content: str, start: int) -> None:
        delimiters = content.split()
        if len(delimiters) != 2 or "=" in content:
            message = f"{content!r:.80} sets no delimiters. Write two, without '=' in them, as in {{{{=<% %>=}}}}."
            self.origin.fail(TemplateSyntaxError, message, start)
        self.opening, self.closing = delimiters

    def open(self, name: str, start: int, *, inverted: bool) -> None:
        if len(self.stack) > MAX_SECTIONS:
            message = f"Sections nest deeper than {MAX_SECTIONS} levels. Move some into a partial."
            self.origin.fail(TemplateSyntaxError, message, start)
        self.stack.append(_Open(name, start, inverted))

    def close(self, name: str, start: int, end: int) -> None:
        section = self.stack[-1]
        if len(self.stack) == 1:
            message = f"{name!r:.80} closes a section that is not open. Remove it, or open the section."
            self.origin.fail(TemplateSyntaxError, message, start)
        if name != section.name:
            message = f"{name!r:.80} cannot close the section {section.name!r}. Close {section.name!r} first."
            self.origin.fail(TemplateSyntaxError, message, start)
        self.stack.pop()
        self.add(Section(self.origin, _path(name), section.offset, end, tuple(section.nodes), section.inverted))

    def partial(self, name: str, start: int, end: int, margin: str | None) -> None:
        if not _PARTIAL_NAME.fullmatch(name):
            self.origin.fail(TemplateSyntaxError, f"{name!r:.80} is not the name of a partial. Write one word.", start)
        if name not in self.partials:
            message = (
                f"There is no partial {name!r}{nearest(name, self.partials)}. Give it to MustacheRenderer(partials=…)."
            )
            self.origin.fail(TemplateNotFoundError, message, start)
        marked = margin is not None and (self.marked or margin != "")
        self.add(Partial(self.origin, (name,), start, end, margin or "", marked))


def _path(name: str) -> tuple[str, ...]:
    return () if name == "." else tuple(name.split("."))
