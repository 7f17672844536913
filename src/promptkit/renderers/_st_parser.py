"""Parse the StringTemplate dialect: text, lines, indents, tags and ifs, into the nodes of `_st_nodes`."""

from __future__ import annotations

import re
from typing import NamedTuple

from promptkit.renderers._st_expressions import DIRECTIVES, ExpressionParser, Stop
from promptkit.renderers._st_lexer import TagError
from promptkit.renderers._st_literals import LiteralGroups
from promptkit.renderers._st_nodes import (
    Branch,
    Element,
    Expression,
    If,
    Indented,
    Literal,
    Map,
    Member,
    Name,
    Newline,
    Piece,
    Tag,
    Template,
    Text,
)
from promptkit.renderers.base import require_text

__all__ = ["Parser", "Syntax"]


class Syntax(NamedTuple):
    """Hold a parsed source, with its line ends unified, and what was taken as text."""

    source: str
    template: Template
    literals: tuple[str, ...]


class _Comment(NamedTuple):
    """Mark a comment, which may take its line along."""

    start: int


class Parser(ExpressionParser):
    """Parse one source; under ``literal`` what is no clean expression becomes text."""

    def __init__(self, source: str, start: str, end: str, *, compat: bool, literal: bool) -> None:
        source = source if compat else source.replace("\r\n", "\n")
        super().__init__(source, start, end, compat=compat, literal=literal)
        self.groups = LiteralGroups(self.lexer) if literal else None
        blank = r"[ \t\r\n]*"
        name = "[A-Za-z0-9_-]+"
        self._plain_tag = re.compile(f"{re.escape(start)}{blank}({name}(?:\\.{name})*){blank}{re.escape(end)}")

    def parse(self) -> Syntax:
        """Parse the whole source.

        Raises:
            TemplateSyntaxError: With line, column and a caret.
            UnsafeTemplateError: A property is private.
        """
        require_text(self.source)
        template, stop = self._elements()
        if stop.kind != "end":
            raise self._error(f"There is no if for this {stop.kind!r}.", stop.start)
        literals = self.groups.listed() if self.groups else ()
        return Syntax(self.source, template, literals)

    # Elements

    def _elements(self) -> tuple[Template, Stop]:
        elements: list[Element] = []
        while True:
            indent = self.lexer.indent()
            found = self._piece()
            if isinstance(found, Stop):
                return tuple(elements), found
            if isinstance(found, _Comment):
                if self._fills_line(found, indent):
                    self.lexer.piece(in_body=self.in_body)
                elif indent:
                    elements.append(Indented(indent, None))
            elif not indent or (isinstance(found, If) and self._at_newline(found.body_start)):
                elements.append(found)
            else:
                elements.append(Indented(indent, found))

    def _piece(self) -> Piece | _Comment | Stop:
        try:
            piece = self.lexer.piece(in_body=self.in_body)
        except TagError as problem:
            return self._recover(self.lexer.position, problem)
        match piece.kind:
            case "text":
                return Text(piece.text)
            case "newline":
                return Newline(piece.start)
            case "open":
                return self._tag_or_text(piece.start)
            case "comment":
                return _Comment(piece.start)
        return Stop(piece.kind, piece.start)

    def _fills_line(self, comment: _Comment, indent: str) -> bool:
        """Say whether a comment stands alone on its line, which then goes with it."""
        begins = indent or comment.start == 0 or self.source[comment.start - 1] == "\n"
        return bool(begins) and self._at_newline(self.lexer.position)

    def _at_newline(self, at: int) -> bool:
        char = self.source[at : at + 1]
        return char == "\n" or (char == "\r" and self.compat)

    # Tags

    def _tag_or_text(self, at: int) -> Piece | Stop:
        if (plain := self._plain_tag.match(self.source, at)) and (tag := self._plain(plain)):
            return tag
        if self.groups and (doubled := self.groups.doubled(at)):
            return doubled
        depth, bodies = self.depth, self.bodies
        try:
            return self._tag(at)
        except TagError as problem:
            self.depth = depth
            problem.fatal = problem.fatal or self.bodies > bodies
            return self._recover(at, problem)

    def _plain(self, found: re.Match[str]) -> Tag | None:
        """Read a tag of nothing but a name and properties, which is most tags, without the lexer."""
        offset = found.start(1)
        name, *path = found[1].split(".")
        if self._is_reserved(name) or not self._is_name(name):
            return None
        value: Expression = Name(name, offset)
        if path:
            steps = []
            for step in path:
                offset += len(name) + 1
                name = step
                if step.startswith("_") or (self.compat and self._is_reserved(step)):
                    return None
                steps.append((step, offset))
            value = Member(value, tuple(steps), found.start(1))
        self.lexer.position = found.end()
        return Tag(value, (), found.start(), found.end())

    def _recover(self, at: int, problem: TagError) -> Text:
        """Take a delimiter that opens no tag as text, or say what is wrong with the tag."""
        text = None if self.groups is None or problem.fatal else self.groups.text_at(at)
        if text is None:
            offset = problem.offset if problem.offset < len(self.source) else at
            raise self._error(f"{problem.message}{'' if problem.fatal else self._advice()}", offset)
        return text

    def _advice(self) -> str:
        text = f" To print {self.start!r} itself, write '\\{self.start}' in the template"
        return f"{text}." if self.groups else f"{text}, or take such groups as text with literal_braces=True."

    def _tag(self, at: int) -> Piece | Stop:
        token = self.lexer.peek()
        if token.kind == "name" and token.text in DIRECTIVES:
            return self._directive(at)
        value = self._value(inner=False)
        options = self._options() if self._accept(";") else ()
        self._expect("close", f"Expected {self.end!r} to end the tag")
        if not self.compat:
            self._refuse_mangled(value, at)
        return Tag(value, options, at, self.lexer.position)

    def _refuse_mangled(self, value: Expression, at: int) -> None:
        first = value.values[0] if isinstance(value, Map) else value
        if isinstance(first, Literal) and isinstance(first.value, str):
            raise TagError(f"The string {first.value!r:.60} alone in a tag would print without its delimiters.", at)

    def _directive(self, at: int) -> Piece | Stop:
        kind = self.lexer.token().text
        test = None
        if kind in ("if", "elseif"):
            self._expect("(", f"{kind!r} needs a condition in parentheses, as in {self.start}{kind}(name){self.end}")
            test = self._condition()
            self._expect(")", "Expected ')' to end the condition")
        self._expect("close", f"Expected {self.end!r} right behind {kind!r}")
        return self._if(at, test) if kind == "if" and test is not None else Stop(kind, at, test)

    def _if(self, at: int, test: Expression) -> If:
        begin = self.lexer.position
        self._deepen(at)
        branches = []
        ended = False
        while True:
            template, stop = self._elements()
            branches.append(Branch(test, template))
            if stop.kind == "endif":
                break
            if stop.kind in ("end", "close"):
                raise self._error(f"This if is never closed. Write {self.start}endif{self.end}.", at)
            if ended:
                raise self._error(f"There is an {stop.kind!r} behind the 'else' of its if.", stop.start)
            ended = stop.test is None
            test = Literal(value=True) if stop.test is None else stop.test
        self.depth -= 1
        position = self.lexer.position
        if self._at_newline(position) and self.source.find("\n", at, position) >= 0:
            self.lexer.piece(in_body=self.in_body)
        return If(tuple(branches), at, begin, self.lexer.position)
