"""Bound what one step of a Jinja template may blow up, and blank ``None`` in jinja2's own filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from functools import wraps
from string import Formatter
from typing import Any

from promptkit.errors import TemplateError
from promptkit.renderers.fstring import MAX_WIDTH, is_wide

__all__ = [
    "MAX_POWER_BITS",
    "MAX_REPEATED",
    "bound_filters",
    "check_format",
    "check_operands",
    "check_widths",
]

MAX_REPEATED = 1_000_000
"""Most characters or items that ``text * n`` may give."""

MAX_POWER_BITS = 100_000
"""Most bits that ``a ** b`` of integers may have."""


_TEXTUAL = frozenset(
    (
        "capitalize",
        "center",
        "e",
        "escape",
        "forceescape",
        "format",
        "indent",
        "lower",
        "replace",
        "string",
        "striptags",
        "title",
        "trim",
        "truncate",
        "upper",
        "urlencode",
        "urlize",
        "wordcount",
        "wordwrap",
    )
)
_WIDE = ["batch", "center", "indent", "round", "slice", "tojson"]


def bound_filters(filters: dict[str, Callable[..., Any]]) -> None:
    """Give jinja2's own filters blank ``None`` and widths with an end."""
    for name in {*_TEXTUAL, *_WIDE, "join"}:
        filters[name] = _filter(filters[name], name)


def _filter(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        value = args[place]
        if name == "format" and isinstance(value, str):
            _check_printf(value)
        elif name in _WIDE:
            check_widths(args[place + 1 :], kwargs)
        elif name == "join":
            args = (*args[:place], *_plain_join(*args, **kwargs))
            kwargs = {}
        if value is None and name in _TEXTUAL:
            args = (*args[:place], "", *args[place + 1 :])
        return function(*args, **kwargs)

    return bounded


def _plain_join(context: Any, value: Iterable[Any], d: str = "", attribute: Any = None) -> tuple[list[Any], str]:
    """Resolve the attribute that ``join`` may take, and blank ``None``."""
    from jinja2.filters import make_attrgetter

    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    return ["" if item is None else item for item in value], d


def check_widths(args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse an argument that may be a width and is beyond `MAX_WIDTH`."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, int) and abs(value) > MAX_WIDTH:
            raise TemplateError(f"The width {value} is over {MAX_WIDTH}. Use a smaller one.")


def _check_printf(template: str) -> None:
    for match in re.finditer(r"%(?:\([^)]*\))?([-#0 +]*[\d.*]*)", template):
        if "*" in match[1] or is_wide(match[1]):
            raise TemplateError(
                f"The format {match[0]!r:.40} has a width over {MAX_WIDTH} or none of its own. Write one."
            )


def check_format(template: str) -> None:
    """Refuse a `str.format` template with widths by argument or without end."""
    for _, _, spec, _ in Formatter().parse(template):
        if spec and ("{" in spec or is_wide(spec)):
            raise TemplateError(f"The format {spec!r:.40} has a width over {MAX_WIDTH} or none of its own. Write one.")


def check_operands(operator: str, left: object, right: object) -> None:
    """Refuse ``*``, ``**`` and ``%`` where their result has no reasonable size."""
    if operator == "%" and isinstance(left, str):
        _check_printf(left)
    elif operator == "**" and isinstance(left, int) and isinstance(right, int):
        if left.bit_length() * right > MAX_POWER_BITS:
            raise TemplateError(f"The power would have more than {MAX_POWER_BITS} bits.")
    elif operator == "*":
        many, times = (right, left) if isinstance(left, int) else (left, right)
        if isinstance(times, int) and isinstance(many, Sized) and len(many) * times > MAX_REPEATED:
            raise TemplateError(f"The repetition would be longer than {MAX_REPEATED}.")
