"""Hold the property paths of a template against the types of its variables, in the template's own syntax tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from promptkit.prompt_files.types import ValueType
from promptkit.renderers._mustache_parser import Node, Origin, Section
from promptkit.renderers._mustache_parser import Tag as MustacheTag
from promptkit.renderers._mustache_parser import parse as parse_mustache
from promptkit.renderers._st_nodes import Body, If, Indented, Map, Member, Name, Tag, ToText
from promptkit.renderers._st_nodes import _children as children_of
from promptkit.renderers._st_parser import Parser
from promptkit.renderers.base import TemplateRenderer, spelling
from promptkit.renderers.jinja import JinjaRenderer
from promptkit.renderers.mustache import MustacheRenderer
from promptkit.renderers.string_template import StringTemplateRenderer

__all__ = ["Unknown", "unknown_properties"]

_Types = Mapping[str, ValueType | None]


class Unknown(NamedTuple):
    """Hold a property that its owner does not have."""

    path: str
    offset: int
    meant: str | None
    """The property that it most likely stands for."""


def unknown_properties(source: str, renderer: TemplateRenderer, types: _Types) -> list[Unknown]:
    """Find the properties that the types of variables do not have; what has no declared type is not judged.

    Args:
        source: A template that compiles.
        renderer: Its language.
        types: The types by variable.
    """
    if not any(kind is not None and kind.kind != "any" for kind in types.values()):
        return []
    found: list[Unknown] = []
    if isinstance(renderer, StringTemplateRenderer):
        syntax = Parser(source, renderer.start, renderer.end, compat=renderer.compat, literal=renderer.literal_braces)
        for element in syntax.parse().template:
            _walk_st(element, types, found)
    elif isinstance(renderer, JinjaRenderer):
        compiled: Any = renderer.compile(source)
        _JinjaWalk(found).body(compiled.environment.parse(source).body, dict(types))
    elif isinstance(renderer, MustacheRenderer):
        _walk_mustache(parse_mustache(Origin(source), renderer.partials), (types,), found)
    return list(dict.fromkeys(found))


def _step(owner: ValueType | None, name: str, path: str, offset: int, found: list[Unknown]) -> ValueType | None:
    """Give the type of a property; note it if there is none."""
    if owner is None or owner.kind not in ("record", "scalar") or owner.hint is None:
        return owner.item if owner is not None and owner.kind == "dict" else None
    if owner.kind == "record":
        if name in owner.fields:
            return owner.fields[name]
        if not hasattr(dict, name):
            found.append(Unknown(f"{path}.{name}", offset, spelling(name, owner.fields)))
    elif isinstance(owner.hint, type) and not hasattr(owner.hint, name) and not name.isdigit():
        found.append(Unknown(f"{path}.{name}", offset, None))
    return None


def _item(kind: ValueType | None) -> ValueType | None:
    """Give the type of what a loop walks over."""
    if kind is None or kind.kind in ("any", "dict", "union"):
        return None
    return kind.item if kind.kind == "list" else kind


# -- StringTemplate


def _walk_st(tree: Any, types: _Types, found: list[Unknown]) -> ValueType | None:
    """Walk a node, and give the type of an expression."""
    match tree:
        case Name(name):
            return types.get(name)
        case ToText(value):
            _walk_st(value, types, found)
            return None
        case Member(owner, path):
            kind = _walk_st(owner, types, found)
            written = owner.name if isinstance(owner, Name) else "…"
            for step, offset in path:
                if not isinstance(step, str):
                    _walk_st(step, types, found)
                    return None
                kind = _step(kind, step, written, offset, found)
                written = f"{written}.{step}"
            return kind
        case Map(values, stages):
            items = [_item(_walk_st(value, types, found)) for value in values]
            for stage in stages:
                for body in stage:
                    if isinstance(body, Body):
                        known = dict(zip(body.names, items, strict=False))
                        inner = {**types, **dict.fromkeys(body.names), **known}
                        for element in body.template:
                            _walk_st(element, inner, found)
                items = [None]
            return None
        case Body(names, template):
            for element in template:
                _walk_st(element, {**types, **dict.fromkeys(names)}, found)
        case If() | Tag() | Indented() | _:
            for child in children_of(tree):
                _walk_st(child, types, found)
    return None


# -- Jinja

_SAME = ("default", "d", "sort", "reverse", "list", "unique", "select", "reject", "selectattr", "rejectattr")
_ONE = ("first", "last", "random", "min", "max")


class _JinjaWalk:
    """Walk a tree of jinja2's, whose line numbers are offsets; see `promptkit.renderers._jinja_names`."""

    def __init__(self, found: list[Unknown]) -> None:
        self.found = found

    def body(self, nodes: Any, types: dict[str, ValueType | None]) -> None:
        """Walk statements in order; what they set is known to those below."""
        for node in nodes:
            self.statement(node, types)

    def statement(self, node: Any, types: dict[str, ValueType | None]) -> None:
        kind = type(node).__name__
        if kind == "For":
            inner = dict(types)
            self.bind(node.target, _item(self.type_of(node.iter, types)), inner)
            inner["loop"] = None
            if node.test is not None:
                self.type_of(node.test, inner)
            self.body(node.body, inner)
            self.body(node.else_, dict(types))
        elif kind == "Assign":
            self.bind(node.target, self.type_of(node.node, types), types)
        elif kind == "With":
            inner = dict(types)
            for target, value in zip(node.targets, node.values, strict=True):
                self.bind(target, self.type_of(value, types), inner)
            self.body(node.body, inner)
        elif kind in ("Macro", "CallBlock"):
            inner = dict(types)
            for target in node.args:
                self.bind(target, None, inner)
            self.body(node.body, inner)
        elif kind == "If":
            self.type_of(node.test, types)
            for branch in (node.body, *(one.body for one in node.elif_), node.else_):
                self.body(branch, dict(types))
            for one in node.elif_:
                self.type_of(one.test, types)
        else:
            for child in node.iter_child_nodes():
                self.statement(child, types) if _is_statement(child) else self.type_of(child, types)

    def bind(self, target: Any, kind: ValueType | None, types: dict[str, ValueType | None]) -> None:
        if type(target).__name__ == "Name":
            types[target.name] = kind
            return
        for item in getattr(target, "items", ()):
            self.bind(item, None, types)

    def type_of(self, node: Any, types: Mapping[str, ValueType | None]) -> ValueType | None:
        """Give the type of an expression, if it is known."""
        kind = type(node).__name__
        if kind == "Name":
            return types.get(node.name)
        if kind in ("Getattr", "Getitem"):
            owner = self.type_of(node.node, types)
            name = node.attr if kind == "Getattr" else getattr(node.arg, "value", None)
            if isinstance(name, str):
                return _step(owner, name, _written(node.node), node.lineno - 1, self.found)
            if kind == "Getitem":
                self.type_of(node.arg, types)
            return _item(owner) if owner is not None and owner.kind == "list" else None
        if kind == "Filter" and node.node is not None:
            owner = self.type_of(node.node, types)
            for argument in (*node.args, *node.kwargs):
                self.type_of(argument, types)
            return owner if node.name in _SAME else _item(owner) if node.name in _ONE else None
        for child in node.iter_child_nodes():
            self.type_of(child, types)
        return None


def _is_statement(node: Any) -> bool:
    return any(base.__name__ == "Stmt" for base in type(node).__mro__)


def _written(node: Any) -> str:
    kind = type(node).__name__
    if kind == "Name":
        return str(node.name)
    if kind == "Getattr":
        return f"{_written(node.node)}.{node.attr}"
    return "…"


# -- Mustache


def _walk_mustache(nodes: tuple[Node, ...], contexts: tuple[_Types | None, ...], found: list[Unknown]) -> None:
    """Walk nodes in their contexts, innermost last; of one that is ``None`` nothing is known."""
    for node in nodes:
        if not isinstance(node, MustacheTag) or not node.path:
            continue
        written = node.path[0]
        owner = next(
            (types and types[written] for types in reversed(contexts) if types is None or written in types), None
        )
        if len(contexts) > 1 and all(types is not None and written not in types for types in contexts):
            found.append(Unknown(written, node.offset, spelling(written, contexts[-1] or ())))
        for name in node.path[1:]:
            owner = _step(owner, name, written, node.offset, found)
            written = f"{written}.{name}"
        if isinstance(node, Section):
            item = None if node.inverted else _item(owner)
            inner = item.fields if item is not None and item.kind == "record" else None
            _walk_mustache(node.nodes, contexts if node.inverted else (*contexts, inner), found)
