"""Define the syntax tree of the StringTemplate dialect, and which names a tree takes from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

__all__ = [
    "FUNCTIONS",
    "INDEXES",
    "Body",
    "Branch",
    "Call",
    "Element",
    "Expression",
    "If",
    "Include",
    "Indented",
    "Items",
    "Literal",
    "Logic",
    "Map",
    "Member",
    "Name",
    "Newline",
    "Not",
    "Piece",
    "Tag",
    "Template",
    "Text",
    "ToText",
    "free_names",
    "has_body",
    "loop_of",
    "sure_names",
]

FUNCTIONS = ("first", "last", "rest", "trunc", "strip", "trim", "length", "strlen", "reverse")
"""The built-in functions; each takes one value."""

INDEXES = ("i", "i0")
"""What a loop body counts in, from 1 and from 0."""


class Text(NamedTuple):
    """Hold literal text without a newline of the template's own."""

    text: str


class Newline(NamedTuple):
    """Mark the end of a template line, which is printed only when the newline rule says so."""

    offset: int


class Indented(NamedTuple):
    """Hold white space at the start of a line with the one element that it indents."""

    indent: str
    element: Piece | None


class Tag(NamedTuple):
    """Hold a placeholder: a value, its options, and where it is written."""

    value: Expression
    options: tuple[tuple[str, Expression], ...]
    start: int
    end: int


class Branch(NamedTuple):
    """Hold one condition and what is printed when it holds."""

    test: Expression
    template: Template


class If(NamedTuple):
    """Hold the branches of an if in order, an else as one that tests ``true``, and where they are written."""

    branches: tuple[Branch, ...]
    start: int
    body_start: int
    end: int


class Name(NamedTuple):
    """Hold a variable's name."""

    name: str
    offset: int


class Literal(NamedTuple):
    """Hold a string, ``true`` or ``false``; ``None`` stands for an element left out of a list."""

    value: str | bool | None


class Member(NamedTuple):
    """Hold a chain of properties, each a name or an expression that gives one, with the offset of each."""

    owner: Expression
    path: tuple[tuple[str | Expression, int], ...]
    start: int


class Call(NamedTuple):
    """Hold the call of a built-in function."""

    function: str
    argument: Expression | None


class Include(NamedTuple):
    """Hold the call of a named template; none exists, so it prints nothing."""

    arguments: tuple[Expression, ...]


class ToText(NamedTuple):
    """Hold a value in parentheses, which is turned into text at once."""

    value: Expression


class Items(NamedTuple):
    """Hold a list literal."""

    items: tuple[Expression, ...]


class Body(NamedTuple):
    """Hold a template in braces with the names of its arguments."""

    names: tuple[str, ...]
    template: Template
    mapped: bool


class Map(NamedTuple):
    """Hold values, more than one walked in parallel, and the bodies applied to them, stage by stage."""

    values: tuple[Expression, ...]
    stages: tuple[tuple[Body | Include, ...], ...]


class Not(NamedTuple):
    """Hold a negated condition."""

    value: Expression


class Logic(NamedTuple):
    """Hold conditions of which all or any must hold."""

    every: bool
    values: tuple[Expression, ...]


Piece = Text | Newline | Tag | If
Element = Piece | Indented
Template = tuple[Element, ...]
Expression = Name | Literal | Member | Call | Include | ToText | Items | Body | Map | Not | Logic


def free_names(tree: Element | Expression, bound: frozenset[str] = frozenset()) -> Iterator[tuple[str, int]]:
    """Give every name that a tree takes from outside, with its offset, in the order of the source."""
    match tree:
        case Name(name, offset):
            if name not in bound:
                yield name, offset
        case Body(names, template, mapped):
            inner = bound.union(names, INDEXES if mapped else ())
            for element in template:
                yield from free_names(element, inner)
        case _:
            for child in _children(tree):
                yield from free_names(child, bound)


def _children(tree: Element | Expression) -> Iterator[Element | Expression]:
    match tree:
        case Indented(_, element):
            if element is not None:
                yield element
        case Tag(value, options):
            yield value
            yield from (option for _, option in options)
        case If(branches):
            for test, template in branches:
                yield test
                yield from template
        case Member(owner, path):
            yield owner
            yield from (step for step, _ in path if not isinstance(step, str))
        case Call(_, argument):
            if argument is not None:
                yield argument
        case ToText(value) | Not(value):
            yield value
        case Include(items) | Items(items) | Logic(_, items):
            yield from items
        case Map(values, stages):
            yield from values
            for stage in stages:
                yield from stage


def sure_names(tree: Element | Expression) -> Iterator[str]:
    """Give the names that printing a tree surely reads: none from a branch, a body or the rest of a condition."""
    match tree:
        case Name(name):
            yield name
        case Body():
            pass
        case If(branches):
            yield from sure_names(branches[0].test)
        case Logic(_, values):
            yield from sure_names(values[0])
        case Tag(value):
            yield from sure_names(value)
        case _:
            for child in _children(tree):
                yield from sure_names(child)


def has_body(tree: Expression, live: frozenset[str] = frozenset()) -> bool:
    """Say whether an expression may give a template that is still to be printed; ``live`` names may hold one."""
    if isinstance(tree, Name):
        return tree.name in live
    return isinstance(tree, Body | Include) or any(has_body(child, live) for child in _children(tree))  # type: ignore[arg-type]


def loop_of(tree: Expression) -> tuple[Expression, Body] | None:
    """Give the value and the body of the usual loop: one body with one name over one value."""
    match tree:
        case Map((value,), ((Body((_,)) as body,),)):
            return value, body
    return None
