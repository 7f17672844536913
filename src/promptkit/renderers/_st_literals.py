"""Decide which delimiters are plain text under ``literal_braces``, and keep a list of them."""

from __future__ import annotations

import re

from promptkit.renderers._st_lexer import Lexer
from promptkit.renderers._st_nodes import Text

__all__ = ["LiteralGroups"]

_WORDS = re.compile(r"(?=.*\w)[\w\s.-]+", re.DOTALL)
_DIRECTIVE = re.compile(r"(?:if|elseif|else|endif)\b[^;]*")
_BRACE = re.compile(r"\\[\\{}]|[{}]")

REACH = 200
"""Longest group, in characters, that is looked at for a misspelt placeholder or directive."""


class LiteralGroups:
    """Take groups that are no clean expression as text, except those that look like a mistake.

    The delimiters of such a group are text; tags inside it still count. In a doubled pair, ``{{ … }}``, both pairs of
    delimiters are text.
    """

    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer
        self._braces = (lexer.start, lexer.end) == ("{", "}")
        self._ends: dict[int, int] | None = None
        self._last_end = lexer.source.rfind(lexer.end)

    def text_at(self, at: int) -> Text | None:
        """Give the opening delimiter at an offset as text, or nothing if the group looks like a mistake."""
        if self._is_mistake(at):
            return None
        return self._open(at, 1)

    def doubled(self, at: int) -> Text | None:
        """Give two opening delimiters as text if their closing ones are side by side too."""
        if not self._braces or self.lexer.source[at + 1 : at + 2] != "{":
            return None
        ends = self._closing()
        return self._open(at, 2) if at in ends and ends[at] == ends.get(at + 1, -1) + 1 else None

    def listed(self) -> tuple[str, ...]:
        """Give the outermost groups that were taken as text, in the order of the source."""
        unclosed = [(at, self.lexer.start) for at in self.lexer.groups]
        return tuple([text for _, text in sorted([*self.lexer.literals, *unclosed])])

    def _open(self, at: int, count: int) -> Text:
        lexer = self.lexer
        lexer.position = at + count
        if lexer.start == "{":
            lexer.groups.extend(range(at, at + count))
        elif not lexer.groups:
            close = lexer.source.find(lexer.end, at + 1, at + REACH)
            lexer.literals.append((at, lexer.source[at : close + 1] if close > 0 else lexer.start))
        return Text(lexer.start * count)

    def _is_mistake(self, at: int) -> bool:
        source = self.lexer.source
        stop = source.find(self.lexer.end, at + 1, at + REACH)
        if stop < 0:
            return source[at + 1 : at + 2].isidentifier() and self._is_unclosed(at)
        group = source[at + 1 : stop]
        if _WORDS.fullmatch(group):
            return True
        return self.lexer.start not in group and _DIRECTIVE.fullmatch(group) is not None

    def _is_unclosed(self, at: int) -> bool:
        return at not in self._closing() if self._braces else self._last_end <= at

    def _closing(self) -> dict[int, int]:
        """Pair the braces of the whole source, by offset of the opening one."""
        if self._ends is None:
            self._ends = {}
            opened = []
            for brace in _BRACE.finditer(self.lexer.source):
                if brace[0] == "{":
                    opened.append(brace.start())
                elif brace[0] == "}" and opened:
                    self._ends[opened.pop()] = brace.start()
        return self._ends
