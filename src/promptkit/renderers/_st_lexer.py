"""Cut StringTemplate text into pieces outside tags and tokens inside them, on demand.

The parser knows which of the two it needs next, so it asks: `Lexer.piece` reads text, `Lexer.token` reads the inside
of a tag. Positions are offsets into the source.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Lexer", "Piece", "TagError", "Token"]

_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"[ \t]+")
_ASCII_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"(?:[A-Za-z0-9_-]|[^\x00-\x7f\s])+")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_STRING_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_STRING_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPES = {"n": "\n", "t": "\t", " ": " "}
_UNICODE = re.compile(r"u([0-9A-Fa-f]{4})")
_SIGNS = frozenset(".,:;()[]=!/@{")


class TagError(Exception):
    """Say that the text at an offset does not continue a tag; the parser decides what that means."""

    def __init__(self, message: str, offset: int, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.fatal = fatal
        """Whether this cannot be meant as plain text."""


class Piece(NamedTuple):
    """Hold what stands outside a tag: ``text``, ``newline``, ``comment``, ``open``, ``close`` or ``end``."""

    kind: str
    text: str
    start: int


class Token(NamedTuple):
    """Hold what stands inside a tag: ``name``, ``string``, ``close``, ``end``, or the sign itself."""

    kind: str
    text: str
    start: int
    end: int


class Lexer:
    """Read one source from its start; `position` may be set back.

    Args:
        source: The template's text.
        start: The delimiter that opens a tag.
        end: The delimiter that closes it.
        compat: Drop what StringTemplate's own lexer drops, instead of refusing it.
        literal: Balance braces in the text, so that a group of them never ends a body.
    """

    def __init__(self, source: str, start: str, end: str, *, compat: bool, literal: bool) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.compat = compat
        self.literal = literal
        self.position = 0
        self.groups: list[int] = []
        """Where the literal braces stand that are still open in the running body."""
        self.literals: list[tuple[int, str]] = []
        """The outermost literal groups with their places."""
        self._name = _ASCII_NAME if compat else _NAME
        stops = re.escape(start) + r"\\\n" + (r"\r" if compat else "")
        self._plain = re.compile(f"[^{stops}]+")
        self._in_body = re.compile(f"[^{stops}}}{{]+" if literal else f"[^{stops}}}]+")
        self._uncommented = len(source)

    def indent(self) -> str:
        """Read the white space that begins a line; what ends the source is text instead."""
        source, at = self.source, self.position
        if source[at : at + 1] not in (" ", "\t") or (at and source[at - 1] != "\n"):
            return ""
        end = self._skip_blank_of_line(at)
        if end == len(source):
            return ""
        self.position = end
        return source[at:end]

    def piece(self, *, in_body: bool) -> Piece:
        """Read the next piece of text."""
        while True:
            piece = self._next_piece(in_body=in_body)
            if piece is not None:
                return piece

    def _next_piece(self, *, in_body: bool) -> Piece | None:
        source, at = self.source, self.position
        if at >= len(source):
            return Piece("end", "", at)
        char = source[at]
        if char == self.start:
            return self._open(at)
        if char == "\n" or (char == "\r" and self.compat):
            self.position = at + (1 if char == "\n" else 2)
            return Piece("newline", "\n", at)
        if char == "}" and in_body and not self.groups:
            self.position = at + 1
            return Piece("close", char, at)
        return Piece("text", self._text(in_body=in_body), at)

    def _open(self, at: int) -> Piece | None:
        after = self.source[at + 1 : at + 2]
        if after == "!":
            return self._comment(at)
        if after == "\\":
            try:
                escaped = self._escape(at + 2)
            except TagError:
                self.position = at
                raise
            return None if escaped is None else Piece("text", escaped, at)
        self.position = at + 1
        return Piece("open", self.start, at)

    def _comment(self, at: int) -> Piece:
        close = self.source.find("!" + self.end, at + 2) if at < self._uncommented else -1
        if close < 0:
            self._uncommented = min(at, self._uncommented)
            if not self.compat:
                raise TagError(f"The comment is never closed. End it with '!{self.end}'.", at)
            close = len(self.source)
        self.position = min(close + 2, len(self.source))
        return Piece("comment", "", at)

    def _escape(self, at: int) -> str | None:
        """Read an escape from the letter after its backslash; ``None`` is a line that is joined to the next."""
        letter = self.source[at : at + 1]
        if letter == "\\":
            self._close_escape(at + 1)
            self._join_lines()
            return None
        if letter in _ESCAPES and letter:
            self._close_escape(at + 1)
            return _ESCAPES[letter]
        if code := _UNICODE.match(self.source, at):
            self._close_escape(code.end())
            return self._with_surrogate(code[1], at)
        if letter == "u" or not self.compat:
            known = ", ".join(f"{self.start}\\{name}{self.end}" for name in ("n", "t", " ", "uXXXX", "\\"))
            raise TagError(f"There is no escape '\\{letter}'. The escapes are {known}.", at - 2)
        self.position = min(at + 2, len(self.source))
        return None

    def _close_escape(self, at: int) -> None:
        if not self.compat and self.source[at : at + 1] != self.end:
            raise TagError(f"The escape is not closed. Write {self.end!r} right behind its letter.", at)
        self.position = min(at + 1, len(self.source))

    def _with_surrogate(self, code: str, at: int) -> str:
        """Join the two halves of a character that is written as two escapes."""
        char = chr(int(code, 16))
        if not "\ud800" <= char <= "\udfff":
            return char
        low = re.compile(re.escape(self.start) + r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})" + re.escape(self.end))
        if char < "\udc00" and (second := low.match(self.source, self.position)):
            self.position = second.end()
            return chr(0x10000 + (ord(char) - 0xD800) * 0x400 + int(second[1], 16) - 0xDC00)
        if not self.compat:
            raise TagError(f"'\\u{code}' is half a character. Write both halves, or the character itself.", at - 2)
        return char

    def _join_lines(self) -> None:
        at = self._skip_blank_of_line(self.position)
        at += self.source[at : at + 1] == "\r"
        if self.source[at : at + 1] == "\n":
            at = self._skip_blank_of_line(at + 1)
        elif not self.compat:
            raise TagError("A line join must be the last thing on its line. Break the line behind it.", at)
        elif at < len(self.source):
            at = self._skip_blank_of_line(at + 1)
        self.position = at

    def _skip_blank_of_line(self, at: int) -> int:
        blank = _INDENT.match(self.source, at)
        return blank.end() if blank else at

    def _text(self, *, in_body: bool) -> str:
        """Read text up to a tag, the end of the line or of the body, and take its escapes out."""
        source, at = self.source, self.position
        run = self._in_body if in_body or self.literal else self._plain
        chunks = []
        while True:
            if found := run.match(source, at):
                chunks.append(found[0])
                at = found.end()
            char = source[at : at + 1]
            if char == "\\":
                chunks.append(self._backslash(source[at + 1 : at + 2]))
                at += 2 if source[at + 1 : at + 2] in ("\\", self.start, "}") else 1
            elif char == "}" and (self.groups or not in_body):
                self._end_group(at)
                chunks.append(char)
                at += 1
            elif char == "{" and char != self.start:
                self.groups.append(at)
                chunks.append(char)
                at += 1
            else:
                self.position = at
                return "".join(chunks)

    def _backslash(self, following: str) -> str:
        if following == "\\" and self.groups:
            return "\\\\"
        return following if following in ("\\", self.start, "}") and following else "\\"

    def _end_group(self, at: int) -> None:
        if self.groups:
            start = self.groups.pop()
            if not self.groups:
                self.literals.append((start, self.source[start : at + 1]))

    def peek(self) -> Token:
        """Read the next token and stay before it."""
        position = self.position
        token = self.token()
        self.position = position
        return token

    def token(self) -> Token:
        """Read the next token of a tag."""
        token = None
        while token is None:
            token = self._next_token()
        self.position = token.end
        return token

    def _next_token(self) -> Token | None:
        source = self.source
        at = self._skip_blank(self.position)
        char = source[at : at + 1]
        if char in _SIGNS:
            return Token("...", "...", at, at + 3) if source.startswith("...", at) else Token(char, char, at, at + 1)
        if char == '"':
            return self._string(at)
        if char in ("&", "|"):
            return self._operator(char, at)
        if char == self.end:
            return Token("close", char, at, at + 1)
        if name := self._name_at(at):
            return Token("name", name, at, at + len(name))
        if not char:
            return Token("end", "", at, at)
        if not self.compat:
            raise TagError(f"{char!r} has no meaning in a tag.", at)
        self.position = at + 1
        return None

    def _skip_blank(self, at: int) -> int:
        blank = _BLANK.match(self.source, at)
        return blank.end() if blank else at

    def _string(self, at: int) -> Token:
        found = _STRING.match(self.source, at)
        if found is None:
            raise TagError("The string is never closed. End it with a double quote.", at)
        text = _STRING_ESCAPE.sub(lambda pair: _STRING_LETTERS.get(pair[1], pair[1]), found[1])
        return Token("string", text, at, found.end())

    def _operator(self, char: str, at: int) -> Token:
        if self.source[at + 1 : at + 2] != char and not self.compat:
            raise TagError(f"{char!r} alone has no meaning in a tag; the operators are '&&', '||' and '!'.", at)
        return Token(char * 2, char * 2, at, min(at + 2, len(self.source)))

    def _name_at(self, at: int) -> str:
        found = self._name.match(self.source, at)
        if found is None:
            return ""
        name = found[0]
        if name.isascii() or f"_{name.replace('-', '_')}".isidentifier():
            return name
        letters = (index for index, char in enumerate(name) if not (char == "-" or f"_{char}".isidentifier()))
        return name[: next(letters, len(name))]

    def body_names(self) -> list[str]:
        """Read the names of a body that has just been opened, with the bar and one white space; else read nothing."""
        begin = self.position
        names = [self._argument()]
        while self._sign(","):
            names.append(self._argument())
        if not self._sign("|") or not all(names):
            self.position = begin
            return []
        if self.source[self.position : self.position + 1] in (" ", "\t", "\n", "\r"):
            self.position += 1
        return names

    def _argument(self) -> str:
        at = self._skip_blank(self.position)
        name = self._name_at(at)
        if self.compat:  # its lexer takes any first letter here
            rest = _ASCII_NAME.match(self.source, at + 1)
            name = self.source[at : rest.end() if rest else at + 1]
        self.position = at + len(name)
        return name

    def _sign(self, sign: str) -> bool:
        at = self._skip_blank(self.position)
        found = self.source.startswith(sign, at)
        self.position = at + found
        return found
