"""Hold one rendering of a template: what it has printed, and how the next line begins.

The newline rule needs to know whether anything was printed since the last newline of the template. `Rendering` tells it
from the list of printed parts, to which nothing empty is ever added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from promptkit.renderers._st_code import Pending, Rules
from promptkit.renderers._st_values import Cut, Variables, elements_of, indented, spread

__all__ = ["BodyCode", "Op", "Rendering"]


class Rendering(Variables):
    """Hold one rendering: its variables and what it has printed so far."""

    __slots__ = (
        "_column",
        "_counted",
        "anchor",
        "breaks",
        "follows_newline",
        "indent",
        "mark",
        "out",
        "prefix",
        "rules",
    )

    def __init__(self, given: Mapping[str, object], absent: Collection[str], rules: Rules) -> None:
        super().__init__(given, absent)
        self.rules = rules
        self.follows_newline = False
        """Whether the if that just ended printed its last branch up to a newline."""
        self._begin()

    def _begin(self) -> None:
        self.out: list[str] = []
        self.mark = 0
        """How long the output was at the last template newline; longer now means that the line is not empty."""
        self.breaks = 0
        """How many parts of the output are template newlines, which do not count as printed."""
        self.indent = ""
        self.anchor = 0
        self.prefix = ""
        """What goes before each line: the indent, filled up to the anchor."""
        self._column = self._counted = 0

    @property
    def printed(self) -> int:
        """How many parts were printed, template newlines apart."""
        return len(self.out) - self.breaks

    def put(self, text: str, *, verbatim: bool = False) -> None:
        """Print text that is not empty; ``verbatim`` leaves its later lines without indent."""
        if self.rules.compat:
            text = text.replace("\r", "")
            if not text:
                return
        if self.prefix:
            begins_line = not self.out or self.out[-1].endswith("\n")
            text = indented(text, self.prefix, first=begins_line, later=not verbatim)
        self.out.append(text)

    def put_within(self, text: str, *, verbatim: bool = False) -> None:
        """Print text amid the elements of a tag: for their own newlines the line is still as empty as it was."""
        is_empty = len(self.out) <= self.mark
        self.put(text, verbatim=verbatim)
        if is_empty:
            self.mark = len(self.out)

    def put_value(self, text: str) -> None:
        """Print the text of a value, which may be empty."""
        if text:
            self.put(text, verbatim=not self.rules.auto_indent)

    def break_line(self) -> None:
        """Print a template newline."""
        self.out.append("\n")
        self.breaks += 1

    def set_prefix(self, indent: str, anchor: int) -> None:
        """Let the next lines begin with an indent, at least as wide as the anchor."""
        self.indent = indent
        self.anchor = anchor
        self.prefix = indent.ljust(anchor)

    def column(self) -> int:
        """Count the characters on the current line."""
        for part in self.out[self._counted :]:
            line = part.rfind("\n")
            self._column = len(part) - line - 1 + (self._column if line < 0 else 0)
        self._counted = len(self.out)
        return self._column

    def capture(self, print_it: Callable[[], object]) -> str:
        """Print aside, and give the text; only whether the line is empty is shared."""
        outer = self.out, self.breaks, self.indent, self.anchor, self._column, self._counted
        is_empty = len(self.out) <= self.mark
        self._begin()
        self.mark = 0 if is_empty else -1
        print_it()
        text = "".join(self.out)
        is_empty = len(self.out) <= self.mark
        self.out, self.breaks, indent, anchor, self._column, self._counted = outer
        self.set_prefix(indent, anchor)
        self.mark = len(self.out) if is_empty else -1
        return text

    def run_body(self, pending: Pending) -> bool:
        """Print a body with its arguments, and say whether it printed anything but newlines."""
        code: BodyCode = pending.code
        number = pending.number
        self[code.from_one] = number
        self[code.from_zero] = None if number is None else number - 1
        for key in code.keys[len(pending.arguments) :]:
            self[key] = None
        self.update(zip((*code.keys, code.from_one, code.from_zero), pending.arguments, strict=False))
        before = self.printed
        self.run_ops(code.ops)
        return self.printed > before

    def run_ops(self, ops: tuple[Op, ...]) -> None:
        """Print a run of elements; StringTemplate cuts it off where a function fails."""
        try:
            for op in ops:
                op(self)
        except Cut:
            pass

    def put_any(self, value: object, separator: str | None, null: str | None) -> bool:
        """Print a value that may be or hold bodies, and say whether anything but newlines was printed."""
        if isinstance(value, Pending):
            return self.run_body(value)
        elements = elements_of(self, value)
        before = self.printed
        if elements is None:
            if text := spread(self, value, None, null, self.rules.show):
                self.put_within(text, verbatim=not self.rules.auto_indent)
            return self.printed > before
        seen = False
        for element in elements:
            if element is None and null is None:
                continue
            if seen and separator:
                self.put_within(separator)
            seen = self.put_any(element, separator, null) or seen
        return self.printed > before


Op = Callable[[Rendering], None]


class BodyCode(NamedTuple):
    """Hold a compiled body: the keys of its arguments and of its two counters, and what it prints."""

    keys: tuple[int, ...]
    from_one: int
    from_zero: int
    ops: tuple[Op, ...]
