"""Check a typed template class of a program: placeholders against fields, property paths against their types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from promptkit.errors import TemplateError
from promptkit.lint.findings import Finding
from promptkit.lint.known import Imports, Literals, offset_of, place_in, text_of_node
from promptkit.lint.properties import unknown_properties
from promptkit.prompt_files.types import ValueType, value_type
from promptkit.renderers.base import TemplateRenderer, spelling

__all__ = ["check_typed_class"]

_SCALARS = ("str", "int", "float", "bool")
_RECORDS = ("frozen", "define", "mutable", "dataclass", "s", "attrs")
"""Decorators that make records of classes."""


class _Typed(NamedTuple):
    """Hold what a class says."""

    source: ast.expr
    text: str
    renderer: TemplateRenderer
    fields: dict[str, ast.AnnAssign]
    computed: bool
    """Whether properties may stand behind placeholders."""

    def place(self, offset: int) -> tuple[int, int]:
        """Give line and column in the program of an offset in the text."""
        return place_in(self.source, self.text, offset)


def check_typed_class(
    node: ast.ClassDef, tree: ast.Module, file: str, imports: Imports, literals: Literals
) -> Iterator[Finding]:
    """Check a class that inherits from `TypedPromptTemplate` alone, and states its template literally."""
    if [imports.name_of(base) for base in node.bases] != ["TypedPromptTemplate"]:
        return
    typed = _read(node, literals)
    if typed is None:
        return
    try:
        compiled = typed.renderer.compile(typed.text)
    except TemplateError as error:
        offset = offset_of(typed.text, error.line, error.column)
        yield Finding(file, *typed.place(offset), "PK102", str(error.args[0]))
        return
    if not typed.computed:
        yield from _compared(typed, (*compiled.variables, *compiled.optional_variables), file)
    records = _Records(tree)
    types = {name: records.type_of(item.annotation) for name, item in typed.fields.items()}
    for found in unknown_properties(typed.text, typed.renderer, types):
        hint = "" if found.meant is None else f" (did you mean {found.meant!r}?)"
        yield Finding(file, *typed.place(found.offset), "PK204", f"there is no property {found.path!r}{hint}")


def _read(node: ast.ClassDef, literals: Literals) -> _Typed | None:
    source, renderer, computed = None, None, False
    fields: dict[str, ast.AnnAssign] = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if "ClassVar" not in ast.unparse(item.annotation):
                fields[item.target.id] = item
            elif item.target.id == "template":
                source = item.value
            elif item.target.id == "renderer":
                renderer = item.value
        computed = computed or (isinstance(item, ast.FunctionDef) and bool(item.decorator_list))
    text, language = text_of_node(literals.resolved(source)), literals.renderer(renderer)
    if source is None or text is None or language is None:
        return None
    return _Typed(source, text, language, fields, computed)


def _compared(typed: _Typed, names: tuple[str, ...], file: str) -> Iterator[Finding]:
    """Hold placeholders against fields."""
    place = (typed.source.lineno, typed.source.col_offset + 1)
    unused = [name for name in typed.fields if name not in names]
    for name in (name for name in names if name not in typed.fields):
        meant = spelling(name, unused)
        if meant is not None:
            unused.remove(meant)
            yield Finding(file, *place, "PK203", f"there is no field {name!r}; did you mean {meant!r}?")
        else:
            yield Finding(file, *place, "PK201", f"there is no field for the placeholder {name!r}")
    for name in unused:
        item = typed.fields[name]
        message = f"the template does not use the field {name!r}"
        yield Finding(file, item.lineno, item.col_offset + 1, "PK202", message)


class _Records:
    """Know the record classes of a program, as far as all their names stand in it."""

    def __init__(self, tree: ast.Module) -> None:
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._types: dict[str, ValueType | None] = {}

    def type_of(self, node: ast.expr | None) -> ValueType | None:
        """Give the type that an annotation says, if it is known."""
        match node:
            case ast.Constant(value=str(text)):
                try:
                    return self.type_of(ast.parse(text, mode="eval").body)
                except SyntaxError:
                    return None
            case ast.Name(id=name):
                return value_type(name) if name in _SCALARS else self._record(name)
            case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
                return self.type_of(left)
            case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in (
                "list",
                "Sequence",
                "Iterable",
                "Optional",
            ):
                item = self.type_of(inner)
                return item if name == "Optional" else ValueType("list", list, item)
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[inner, ast.Constant()])):
                return ValueType("list", list, self.type_of(inner))
            case _:
                return None

    def _record(self, name: str) -> ValueType | None:
        if name not in self._types:
            self._types[name] = None  # a class inside itself is not followed
            self._types[name] = self._built(self._classes.get(name))
        return self._types[name]

    def _built(self, node: ast.ClassDef | None) -> ValueType | None:
        if node is None:
            return None
        bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        marks = {ast.unparse(mark).partition("(")[0].rpartition(".")[2] for mark in node.decorator_list}
        if not (bases in (["BaseModel"], ["TypedDict"], ["NamedTuple"]) or (not bases and marks & set(_RECORDS))):
            return None
        fields: dict[str, ValueType] = {}
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                fields[item.target.id] = self.type_of(item.annotation) or _ANY
            elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                fields[item.name] = _ANY
            elif isinstance(item, ast.Assign):
                fields.update({target.id: _ANY for target in item.targets if isinstance(target, ast.Name)})
        return ValueType("record", dict, fields=fields)


_ANY = ValueType("any", object)
