"""Read the JSON text of tool arguments: strictly when it is whole, as far as it goes while it arrives."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from promptkit._frozen import MAX_DEPTH

__all__ = ["parse_arguments", "preview_arguments"]


def parse_arguments(text: str) -> Any:
    """Read the JSON text of tool arguments strictly, but for raw control characters in its strings.

    Raises:
        ValueError: It is not JSON, or nests too deep to be read.
    """
    import json

    try:
        return json.loads(text, strict=False, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("the arguments nest too deep to be read") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<half>"[^"\\]*(?:\\.[^"\\]*)*\\?\Z)|(?P<open>[{\[])"""
    r"""|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)|(?P<word>[^\s{}\[\],:"]+))""",
    re.DOTALL,
)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSERS = {"{": "}", "[": "]"}


def preview_arguments(text: str) -> Any:
    """Read as much of unfinished JSON as can be told: for a look at a call that is still arriving.

    An open string, list or object is closed, a name without its value is left out, and so is text after the object.

    Raises:
        ValueError: Not even its beginning reads as a value, or it nests too deep.
    """
    try:
        return parse_arguments(text)
    except ValueError:
        return parse_arguments(_closed(text))


def _closed(text: str) -> str:
    """Cut JSON after its last whole value and close what is open there; what follows a mistake is cut off too."""
    stack: list[str] = []
    end, closers, wanted, place = 0, "", "value", 0
    while (match := _TOKEN.match(text, place)) and len(stack) <= MAX_DEPTH:
        kind, place = match.lastgroup or "", match.end()
        is_name = wanted.startswith("name") and kind in ("string", "half")
        if kind == "close" and (not stack or stack[-1] != match[kind]):
            raise ValueError("the brackets of the arguments do not match")
        if not _fits(kind, wanted):
            break
        if kind == "half":
            return text[:end] + closers if is_name else _HALF_ESCAPE.sub(r"\1", text) + '"' + "".join(reversed(stack))
        if kind == "open":
            stack.append(_CLOSERS[match[kind]])
        elif kind == "close":
            stack.pop()
        elif kind == "word" and (place := _word_end(text, match.start(kind), place)) == match.start(kind):
            break
        if kind not in ("comma", "colon") and not is_name:
            end, closers = place, "".join(reversed(stack))
        if not stack:
            break
        wanted = _next(kind, stack[-1], is_name=is_name)
    return text[:end] + closers


def _fits(kind: str, wanted: str) -> bool:
    if kind == "close":
        return wanted == "comma" or wanted.endswith("or end")
    if kind in ("comma", "colon"):
        return kind == wanted
    return wanted.startswith("value") or (wanted.startswith("name") and kind in ("string", "half"))


def _word_end(text: str, start: int, end: int) -> int:
    """Shorten a number that was cut off until it is one."""
    for stop in range(end, max(start, end - 8), -1):  # no number is cut in more than "e+" and digits
        try:
            parse_arguments(text[start:stop])
        except ValueError:
            continue
        return stop
    return start


def _next(kind: str, closer: str, *, is_name: bool) -> str:
    if kind == "open":
        return "name or end" if closer == "}" else "value or end"
    if kind == "comma":
        return "name" if closer == "}" else "value"
    if kind == "colon":
        return "value"
    return "colon" if is_name else "comma"
