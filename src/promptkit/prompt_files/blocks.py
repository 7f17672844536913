r"""Split the body of a prompt file into blocks: each a role, a slot, or the place of the examples.

A block begins with a heading of one ``#`` that is a role: ``# system``, ``# user``, ``# assistant``; ``# history`` is the
slot of the variable ``history``, ``# messages: name`` that of another, ``# examples`` the place of the examples. Other
headings are text, and so is everything in a code fence; a backslash makes a heading text: ``\# user``. A body without
headings is one user block. A line ``<!-- include name -->`` is replaced by the text of the partial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from promptkit.errors import TemplateError, TemplateSyntaxError
from promptkit.prompt_files._reading import MAX_BYTES

__all__ = ["ROLES", "Block", "Line", "MediaMark", "lines_of", "pieces_of", "split_blocks"]

ROLES = ("system", "user", "assistant")
"""Headings that begin a message."""

MAX_INCLUDES = 10
"""Deepest nesting of partials, in levels."""

_HEADING = re.compile(
    r"(?P<escape>\\?)#[ \t]+(?P<word>[A-Za-z]+)(?:[ \t]*:[ \t]*(?P<name>[A-Za-z_]\w*))?[ \t]*#*[ \t]*"
)
_INCLUDE = re.compile(r"(?P<escape>\\?)<!--[ \t]*include[ \t]+(?P<name>\S+)[ \t]*-->[ \t]*")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_MEDIA = re.compile(r"!\[[^\]\n]*\]\(media:(?P<name>[A-Za-z_]\w*)\)")


class Line(NamedTuple):
    """Hold a line of text and where it is written."""

    text: str
    file: str
    number: int
    fenced: bool = False


class MediaMark(NamedTuple):
    """Mark the place of media: ``![what it is](media:photo)``."""

    name: str
    line: Line
    gap: str
    """What joins the texts around it when there are no media: a newline where it begins or ends its line."""


class Block(NamedTuple):
    """Hold one block: its kind (a role, ``messages`` or ``examples``), a slot's name, and its lines."""

    kind: str
    name: str
    heading: Line
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """The text of the block."""
        return "\n".join([line.text for line in self.lines])


def _fault(message: str, line: Line) -> TemplateSyntaxError:
    return TemplateSyntaxError(message, template_name=line.file, line=line.number, column=1, excerpt=line.text[:200])


def lines_of(
    text: str, file: str, *, above: int = 0, include: Callable[[str], tuple[str, str]] | None = None
) -> list[Line]:
    """Number the lines of a body, and put partials in their places.

    Args:
        text: The body.
        file: Its file, for errors.
        above: Lines of the file above the body.
        include: Gives a partial's text and its file by its name.

    Raises:
        TemplateError: A partial is missing, includes itself, has a role heading, or the whole grows too long.
    """
    found: list[Line] = []
    size = 0
    for line in _included(_numbered(text, file, above), include, ()):
        size += len(line.text) + 1
        if size > MAX_BYTES:
            raise TemplateError(f"with its partials the prompt has over {MAX_BYTES:,} characters", template_name=file)
        found.append(line)
    return found


def _numbered(text: str, file: str, above: int) -> Iterator[Line]:
    """Number lines and mark those in code fences."""
    fence = ""
    opened = Line("", file, 0)
    headings: list[Line] = []
    for number, content in enumerate(text.split("\n"), above + 1):
        found = _FENCE.fullmatch(content)
        fenced = bool(fence)
        if found and not fence and not (found["mark"][0] == "`" and "`" in found["info"]):
            fence, opened, fenced, headings = found["mark"], Line(content, file, number), True, []
        elif found and fence and found["mark"].startswith(fence) and not found["info"].strip():
            fence = ""
        line = Line(content, file, number, fenced)
        if fence and _role_of(content):
            headings.append(line)
        yield line
    if fence and headings:
        message = (
            f"this code fence never ends, so the heading in line {headings[0].number} would be text; close the fence"
        )
        raise _fault(message, opened)


def _included(
    lines: Iterator[Line], include: Callable[[str], tuple[str, str]] | None, stack: tuple[str, ...]
) -> Iterator[Line]:
    for line in lines:
        found = None if line.fenced else _INCLUDE.fullmatch(line.text)
        if found is None:
            if stack and not line.fenced and _role_of(line.text):
                raise _fault("a partial is text and has no roles; write '\\#' to mean a heading", line)
            yield line
        elif found["escape"]:
            yield line._replace(text=line.text[1:])
        else:
            name = found["name"]
            if include is None:
                raise _fault(f"the partial {name!r:.80} cannot be included: the text comes from no folder", line)
            if name in stack or len(stack) >= MAX_INCLUDES:
                raise _fault(f"partials include each other without end: {' → '.join((*stack, name))}", line)
            try:
                text, file = include(name)
            except TemplateError as error:
                raise type(error)(
                    str(error.args[0]), template_name=line.file, line=line.number, column=1, excerpt=line.text[:200]
                ) from None
            yield from _included(_numbered(text.removesuffix("\n"), file, 0), include, (*stack, name))


def _role_of(text: str) -> re.Match[str] | None:
    """Give the match of a heading that begins a block."""
    found = _HEADING.fullmatch(text)
    if found is None or found["escape"]:
        return None
    word = found["word"].lower()
    named = found["name"] is not None
    if word in ROLES or word in ("history", "examples"):
        return None if named else found
    return found if word == "messages" and named else None


def split_blocks(lines: Sequence[Line]) -> tuple[Block, ...]:
    """Split a body at its headings.

    Raises:
        TemplateSyntaxError: Text stands above the first heading or below that of a slot, or a block is empty.
    """
    blocks: list[tuple[str, str, Line, list[Line]]] = []
    first: list[Line] = []
    for line in lines:
        found = None if line.fenced else _role_of(line.text)
        if found is not None:
            word = found["word"].lower()
            kind, name = ("messages", found["name"] or "history") if word in ("messages", "history") else (word, "")
            blocks.append((kind, name, line, []))
        else:
            (blocks[-1][3] if blocks else first).append(_unescaped(line))
    above = _stripped(first)
    if not blocks:
        if not above:
            raise TemplateSyntaxError("the prompt has no text", template_name=lines[0].file if lines else None)
        return (Block("user", "", above[0], above),)
    if above:
        raise _fault("this text stands above the first role; write '# system' or '# user' above it", above[0])
    return tuple([_checked(Block(kind, name, line, _stripped(content))) for kind, name, line, content in blocks])


def _unescaped(line: Line) -> Line:
    found = None if line.fenced else _HEADING.fullmatch(line.text)
    return (
        line._replace(text=line.text[1:]) if found is not None and found["escape"] and _role_of(line.text[1:]) else line
    )


def _stripped(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Drop blank lines at both ends."""
    start, end = 0, len(lines)
    while start < end and not lines[start].text.strip():
        start += 1
    while end > start and not lines[end - 1].text.strip():
        end -= 1
    return tuple(lines[start:end])


def _checked(block: Block) -> Block:
    if block.kind in ROLES and not block.lines:
        raise _fault(f"the block {block.kind!r} is empty; write its text or remove the heading", block.heading)
    if block.kind not in ROLES and block.lines:
        raise _fault("this text belongs to no role: a slot has none; write '# user' above it", block.lines[0])
    return block


def pieces_of(block: Block) -> list[Block | MediaMark]:
    """Split a block at its media; without any it is given back as it is.

    Raises:
        TemplateSyntaxError: Media stand in a block that is not the user's.
    """
    pieces: list[Block | MediaMark] = []
    current: list[Line] = []
    for line in block.lines:
        at = 0
        for found in () if line.fenced else _MEDIA.finditer(line.text):
            if block.kind != "user":
                raise _fault(f"media stand in user blocks, not in one of the {block.kind}", line)
            pieces += _text_piece(block, [*current, line._replace(text=line.text[at : found.start()])])
            at_end = not (line.text[: found.start()].strip() and line.text[found.end() :].strip())
            pieces.append(MediaMark(found["name"], line, "\n" if at_end else ""))
            current, at = [], found.end()
        current.append(line._replace(text=line.text[at:]) if at else line)
    pieces += _text_piece(block, current)
    return pieces


def _text_piece(block: Block, lines: list[Line]) -> list[Block]:
    kept = _stripped(lines)
    return [block._replace(lines=kept)] if kept else []
