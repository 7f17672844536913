"""Read JSON that is still arriving: what stands so far, as a prefix of the value that will stand in the end."""

from __future__ import annotations

import json
import re
from typing import Any

from promptkit.converters.cleaning import first_group

__all__ = ["NOTHING_YET", "PartialJson", "partial_json"]


class _NothingYet:
    """Stand for a value of which nothing has arrived."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOTHING_YET"


NOTHING_YET: Any = _NothingYet()
"""What `partial_json` gives before an object or array begins."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\],:]|[^\s,:\[\]{}"]+', re.DOTALL)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")


def partial_json(text: str) -> Any:
    r"""Read the first object or array of an answer as far as it has come.

    A text value may be cut; numbers, ``true``, ``null`` and keys are given when they are whole. Each value so read is
    a prefix of the next one, since nothing that was given is taken back.

    >>> partial_json('Sure: {"name": "Ad')
    {'name': 'Ad'}
    >>> partial_json('{"name": "Ada", "age": 3')
    {'name': 'Ada'}
    """
    start = first_group(text)
    if start is None:
        return NOTHING_YET
    scan = _Scan(text)
    scan.run(start)
    try:
        return json.loads(text[start : scan.end] + scan.tail(), strict=False)
    except (ValueError, RecursionError):
        return NOTHING_YET


_EVERY = 4_000
"""Characters up to which each new piece is looked at; a longer answer is looked at when it has grown by a 64th of it."""


class PartialJson:
    """Read an answer piece by piece.

    >>> reader = PartialJson()
    >>> [reader.add(piece) for piece in ('{"name"', ': "A', 'da"', ' ', '}')]
    [{}, {'name': 'A'}, {'name': 'Ada'}, NOTHING_YET, NOTHING_YET]
    """

    __slots__ = ("_due", "_last", "_length", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._due = 0
        self._last: Any = NOTHING_YET

    def add(self, piece: str) -> Any:
        """Take a piece, and give what has arrived; `NOTHING_YET` where that is no more than before."""
        self._pieces.append(piece)
        self._length += len(piece)
        if not piece or self._length < self._due:
            return NOTHING_YET
        self._due = self._length + (self._length // 64 if self._length > _EVERY else 0)
        self._pieces = ["".join(self._pieces)]
        value = partial_json(self._pieces[0])
        if value is NOTHING_YET or value == self._last:
            return NOTHING_YET
        self._last = value
        return value


class _Scan:
    """Walk over tokens and remember the last place where the value can be closed."""

    __slots__ = ("closers", "end", "expects_key", "in_text", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.closers: list[str] = []
        self.expects_key = False
        self.end = 0
        self.in_text = False

    def run(self, start: int) -> None:
        for token in _TOKEN.finditer(self.text, start):
            if not self._step(token[0], token.end(), whole=token[1] is None or token[1] == '"'):
                return

    def _step(self, sign: str, end: int, *, whole: bool) -> bool:
        """Take one token; tell whether to go on."""
        if sign in ("{", "["):
            self.closers.append("}" if sign == "{" else "]")
            self.expects_key = sign == "{"
            self.end = end
        elif sign in ("}", "]"):
            self.closers.pop()
            self.end = end
            return bool(self.closers)
        elif sign == ",":
            self.expects_key = self.closers[-1] == "}"
        elif sign == ":":
            self.expects_key = False
        elif self.expects_key:
            return whole
        elif not whole:
            cut = _CUT_ESCAPE.search(self.text, max(0, end - 12), end)
            self.end = cut.start() if cut else end
            self.in_text = True
            return False
        elif sign[0] == '"' or end < len(self.text):
            self.end = end
        return True

    def tail(self) -> str:
        """Give what closes the value there: whatever opens or ends a group also moves that place."""
        return ('"' if self.in_text else "") + "".join(reversed(self.closers))
