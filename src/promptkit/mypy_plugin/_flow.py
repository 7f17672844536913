"""Find out what a file assigns more than once."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mypy.nodes import Context, MypyFile

from promptkit.mypy_plugin._known import Holder

__all__ = ["Flow"]

_Scope = ast.AST | None
"""A function, a class body, or the top of the file."""
_Position = tuple[int, int]
_Place = tuple[int, int, int, int]
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Value(NamedTuple):
    """Hold where a variable that gets a value stands, and from where on it has it."""

    start: _Position
    valid: _Position


class _Call(NamedTuple):
    """Hold where a call stands, and what takes its value."""

    scope: _Scope
    cls: str
    targets: list[ast.expr]
    is_part: bool


class Flow(ast.NodeVisitor):
    """Know which variables and attributes of a file have several values.

    mypy gives a variable the type of its first value. It follows later ones only in the scope that assigns them, so
    that elsewhere the first one's type proves nothing. The file is read once more, since mypy lends its own tree to
    compiled visitors only; where it cannot be read, nothing is taken as sure.
    """

    def __init__(self, tree: MypyFile) -> None:
        self.tree = tree
        self._scope: _Scope = None
        self._class = ""
        self._targets: list[ast.expr] = []
        self._is_part = False
        self._roots: dict[str, str] = {}
        self._declared: set[str] = set()
        self._variables: dict[tuple[_Scope, str], list[_Value]] = {}
        self._attributes: dict[tuple[str, str], int] = {}
        self._calls: dict[_Place, _Call] = {}
        self._reads: dict[_Place, tuple[_Scope, str]] = {}
        try:
            self.visit(ast.parse(Path(tree.path).read_bytes()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            self._calls.clear()
            self._reads.clear()

    def holder_of(self, call: Context) -> Holder:
        """Tell what takes the value of a call."""
        found = self._calls.get(_place(call))
        if found is None or found.is_part:
            return Holder.SHARED
        return Holder.FIRST if any(self._is_first(target, found) for target in found.targets) else Holder.SURE

    def is_first_value_read(self, name: Context) -> bool:
        """Tell whether a variable is read where it gets its values, and before it gets another one.

        Behind a branch that gives it another one, mypy goes back to the type of the first.
        """
        read = self._reads.get(_place(name))
        values = self._variables.get(read, []) if read and read[1] not in self._declared else []
        return bool(values) and all((name.line, name.column) < value.valid for value in values[1:])

    def _is_first(self, target: ast.expr, call: _Call) -> bool:
        """Tell whether a value gives its type to what has several values."""
        match target:
            case ast.Name(id=name):
                values = self._variables.get((call.scope, name), [])
                first = len(values) > 1 and values[0].start == (target.lineno, target.col_offset)
                in_class = isinstance(call.scope, ast.ClassDef) and self._is_attribute_shared(call.cls, name)
                return first or in_class or name in self._declared
            case ast.Attribute(attr=name):
                return self._is_attribute_shared(call.cls, name)
            case _:
                return False

    def _is_attribute_shared(self, cls: str, name: str) -> bool:
        return self._attributes.get((self._root(cls), name), 0) + self._attributes.get(("", name), 0) > 1

    def _root(self, cls: str) -> str:
        seen = {cls}
        while (base := self._roots.get(cls, cls)) not in seen:
            seen.add(base)
            cls = base
        return cls

    def _assign(self, targets: Iterable[ast.expr], statement: ast.stmt | ast.expr | None = None) -> None:
        for target in targets:
            for node in ast.walk(target):
                match node:
                    case ast.Name(id=name, ctx=ast.Store()):
                        start = node.lineno, node.col_offset
                        valid = _span(statement)[2:] if statement else start
                        self._variables.setdefault((self._scope, name), []).append(_Value(start, valid))
                        if isinstance(self._scope, ast.ClassDef):
                            self._count(self._class, name)
                    case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
                        own = isinstance(value, ast.Name) and value.id in {"self", "cls"}
                        self._count(self._class if own else "", name)

    def _count(self, cls: str, name: str) -> None:
        key = (self._root(cls), name)
        self._attributes[key] = self._attributes.get(key, 0) + 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Go into a class; classes of one file that inherit from each other share their attributes."""
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in self._roots]
        self._roots[node.name] = bases[0] if bases else node.name
        outer = self._scope, self._class
        self._scope, self._class = node, node.name
        self.generic_visit(node)
        self._scope, self._class = outer

    def _visit_function(self, node: ast.AST) -> None:
        outer = self._scope, self._targets, self._is_part
        self._scope, self._targets, self._is_part = node, [], False
        self.generic_visit(node)
        self._scope, self._targets, self._is_part = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function  # noqa: N815

    def _visit_declaration(self, node: ast.Global | ast.Nonlocal) -> None:
        self._declared.update(node.names)

    visit_Global = visit_Nonlocal = _visit_declaration  # noqa: N815

    def _visit_assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> None:
        targets: list[ast.expr] = [*node.targets] if isinstance(node, ast.Assign) else [node.target]
        self._assign(targets, node)
        outer, self._targets = self._targets, targets
        self.generic_visit(node)
        self._targets = outer

    visit_Assign = visit_AnnAssign = visit_AugAssign = visit_NamedExpr = _visit_assignment  # noqa: N815

    def _visit_loop(self, node: ast.For | ast.AsyncFor) -> None:
        self._assign([node.target])
        self.generic_visit(node)

    visit_For = visit_AsyncFor = _visit_loop  # noqa: N815

    def visit_withitem(self, node: ast.withitem) -> None:
        """Count what ``as`` names."""
        self._assign([node.optional_vars] if node.optional_vars else [])
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Note where a variable is read."""
        self._reads[_span(node)] = (self._scope, node.id)

    def visit_Call(self, node: ast.Call) -> None:
        """Note where a call stands; what its arguments hold may come out of it."""
        self._calls[_span(node)] = _Call(self._scope, self._class, self._targets, self._is_part)
        self.visit(node.func)
        for argument in (*node.args, *node.keywords):
            self._visit_parts(argument)

    def _visit_parts(self, node: ast.AST) -> None:
        outer, self._is_part = self._is_part, True
        self.generic_visit(node) if isinstance(node, _CONTAINERS) else self.visit(node)
        self._is_part = outer

    visit_List = visit_Tuple = visit_Set = visit_Dict = _visit_parts  # noqa: N815
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_parts  # noqa: N815


def _span(node: ast.stmt | ast.expr) -> _Place:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _place(node: Context) -> _Place:
    return node.line, node.column, node.end_line or 0, node.end_column or 0
