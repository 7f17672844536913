"""Define what the checker finds: the codes in one table, and one finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from promptkit.errors import PromptError
from promptkit.renderers.base import nearest

__all__ = ["CODES", "Finding", "Rule", "codes_of"]


class Rule(NamedTuple):
    """Hold a rule's short name and what it finds."""

    name: str
    text: str


CODES: Mapping[str, Rule] = {
    "PK101": Rule("unreadable", "a file is too large, not UTF-8, or not there"),
    "PK102": Rule("syntax", "a template, a front matter or a program breaks its grammar"),
    "PK103": Rule("structure", "a line looks like a role, a slot, a medium or an include, and is text"),
    "PK201": Rule("undefined", "a template uses a variable that nothing declares or gives"),
    "PK202": Rule("unused", "a variable is declared or given, and the template does not use it"),
    "PK203": Rule("misspelt", "a variable is written otherwise than where it is declared or given"),
    "PK204": Rule("property", "a property is not among those of the declared type"),
    "PK205": Rule("type", "a default, an example or a test's value is not of the declared type"),
    "PK301": Rule("literal", "a placeholder stands in text that is never filled in"),
    "PK302": Rule("roles", "roles stand in an order that vendors refuse or that asks nothing"),
    "PK303": Rule("doubled", "a sentence or a word stands twice"),
    "PK401": Rule("secret", "a value looks like a key, a token or a password"),
    "PK402": Rule("oversize", "text and answer do not fit the model's context"),
}
"""Every rule by its code; a code never changes its meaning."""


class Finding(NamedTuple):
    """Hold one finding; findings sort by their place."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 1, in characters."""
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}"


def codes_of(names: Iterable[str]) -> frozenset[str]:
    """Give the codes that are named: by code, by the name of a rule, or by the beginning of codes.

    Raises:
        PromptError: No code is meant.

    >>> sorted(codes_of(["PK4", "syntax"]))
    ['PK102', 'PK401', 'PK402']
    """
    found: set[str] = set()
    for name in names:
        begun = {code for code, rule in CODES.items() if name and (code.startswith(name.upper()) or rule.name == name)}
        if not begun:
            hint = nearest(name, [*CODES, *(rule.name for rule in CODES.values())])
            raise PromptError(f"there is no code {name!r:.40}{hint}; `promptkit check --codes` lists them")
        found |= begun
    return frozenset(found)
