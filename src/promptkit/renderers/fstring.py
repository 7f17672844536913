"""Render f-string templates as LangChain writes them: names, conversions and formats, nothing else of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from attrs import field, frozen

from promptkit._frozen import Value
from promptkit.errors import TemplateSyntaxError, UnsafeTemplateError
from promptkit.renderers._slots import Slot, SlotTemplate, require_mode
from promptkit.renderers.base import TemplateRenderer, ValidationMode, fault

__all__ = ["MAX_WIDTH", "FStringRenderer"]

MAX_WIDTH = 100_000
"""Greatest width or precision of a format, in characters or digits."""

_BRACE = re.compile(r"\{\{|\}\}|[{}]")
_FIELD = re.compile(r"(?P<name>[^!:]*)(?:!(?P<conversion>[^:]*))?(?::(?P<spec>.*))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*")
_CONVERSIONS: dict[str, Callable[[object], str]] = {"s": str, "r": repr, "a": ascii}


@frozen(repr=False)
class FStringRenderer(Value, TemplateRenderer):
    """Fill ``{name}``; braces are doubled to print them: ``{{ }}``.

    A placeholder may have a conversion and a format, as in ``{total!s:>12}`` or ``{price:.2f}``; without them a value
    prints as ``str`` prints it, ``None`` as nothing. Attributes (``{user.name}``), indexes (``{users[0]}``), numbered
    or nameless placeholders, formats inside formats and widths over 100,000 are refused when the template is built:
    no text of a template reaches into a value. The renderer pickles.

    Args:
        validation: What to do with a variable that was not given.

    >>> FStringRenderer().apply("{{'total': {total:.2f}}} for {name}", {"total": 3, "name": "Ada"})
    "{'total': 3.00} for Ada"
    """

    validation: ValidationMode = field(default=ValidationMode.THROW, kw_only=True, validator=require_mode)

    def parse(self, source: str) -> SlotTemplate:
        """Split the source at its placeholders."""
        parts: list[str] = []
        slots: list[Slot] = []
        literal: list[str] = []
        position = 0
        while found := _BRACE.search(source, position):
            literal.append(source[position : found.start()])
            brace, start, position = found[0], found.start(), found.end()
            if len(brace) == 2:
                literal.append(brace[0])
                continue
            if brace == "}":
                message = "A lone '}' closes no placeholder. Write '}}' to print one."
                raise fault(TemplateSyntaxError, message, source, start)
            end = source.find("}", position)
            slots.append(_slot(source, start, end, len(parts) + 1))
            parts += ["".join(literal), ""]
            literal = []
            position = end + 1
        literal.append(source[position:])
        return SlotTemplate(source, (*parts, "".join(literal)), tuple(slots), self.validation)


def _slot(source: str, start: int, end: int, index: int) -> Slot:
    """Read the placeholder between two braces."""
    if end < 0:
        message = "This '{' opens a placeholder that never ends. Write '{{' to print a brace."
        raise fault(TemplateSyntaxError, message, source, start)
    inner = _FIELD.fullmatch(source, start + 1, end)
    assert inner is not None
    name, conversion, spec = inner["name"], inner["conversion"], inner["spec"] or ""
    problem, at = _problem(name, conversion, spec)
    if problem:
        kind = UnsafeTemplateError if "__" in name and ("." in name or "[" in name) else TemplateSyntaxError
        raise fault(kind, problem, source, start if at == "name" else inner.start(at))
    written = source[start : end + 1]
    if not conversion and not spec:
        return Slot(index, name, start, written)
    return Slot(
        index, name, start, written, partial(_formatted, conversion=conversion or "", spec=spec), verbatim=False
    )


def _problem(name: str, conversion: str | None, spec: str) -> tuple[str, str]:
    """Say what is wrong with a placeholder, and in which of its parts."""
    if not (name.isidentifier() or _NAME.fullmatch(name)):
        return _name_problem(name), "name"
    if conversion is not None and conversion not in _CONVERSIONS:
        return f"The conversion {conversion!r:.80} does not exist. Use 's', 'r' or 'a'.", "conversion"
    if "{" in spec:
        return "A format cannot hold another placeholder. Write the format itself.", "spec"
    if is_wide(spec):
        return f"The format {spec!r:.80} has a width or precision over {MAX_WIDTH}. Use a smaller one.", "spec"
    return "", ""


def _name_problem(name: str) -> str:
    if not name or name.isdigit():
        return (
            f"The placeholder '{{{name}}}' has no name. Name it, as in '{{topic}}', or write '{{{{' to print a brace."
        )
    if "." in name or "[" in name:
        return f"{name!r:.80} reads an attribute or an index. Pass that value as a variable of its own."
    return f"{name!r:.80} is not a variable name. To print braces, as in JSON, double them: '{{{{' and '}}}}'."


def is_wide(spec: str) -> bool:
    """Say whether a format has a number over `MAX_WIDTH`."""
    return any(len(digits) > 9 or int(digits) > MAX_WIDTH for digits in re.findall(r"\d+", spec))


def _formatted(value: object, conversion: str, spec: str) -> str:
    if value is None and conversion in {"", "s"}:
        return ""
    return format(_CONVERSIONS[conversion](value) if conversion else value, spec)
