"""Name the plugin's error codes, and word what it says about names."""

from __future__ import annotations

import json
from collections.abc import Iterable

from mypy.errorcodes import ErrorCode
from mypy.nodes import Context

from promptkit.renderers.base import spelling

__all__ = ["FIELDS", "SYNTAX", "VARIABLES", "Finding", "listed", "meant", "quoted"]

SYNTAX = ErrorCode("template-syntax", "Check that literal templates follow their language", "promptkit")
VARIABLES = ErrorCode("template-variables", "Check the variables that templates are given", "promptkit")
FIELDS = ErrorCode("template-fields", "Check placeholders against the fields of typed templates", "promptkit")


Finding = tuple[str, Context, ErrorCode]
"""What is wrong, where, and its code."""


def quoted(name: str) -> str:
    """Quote a name as mypy does; what a terminal cannot show, or would obey, is escaped."""
    return json.dumps(name, ensure_ascii=not name.isprintable())


def listed(names: Iterable[str]) -> str:
    """List names."""
    return ", ".join(map(quoted, names))


def meant(name: str, known: Iterable[str]) -> str:
    """Give the words that suggest the nearest known name, if any is near."""
    near = spelling(name, known)
    return f"; did you mean {quoted(near)}?" if near else ""
