"""Hold the text of a typed template against the fields of its class."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import attrs
from attrs import Factory, define
from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ClassDef,
    Context,
    Decorator,
    NameExpr,
    OverloadedFuncDef,
    RefExpr,
    TypeInfo,
)
from mypy.plugin import ClassDefContext
from mypy.types import UnboundType

from promptkit.mypy_plugin._literals import RendererKey, compiled, literal, renderer_key, renderer_of
from promptkit.mypy_plugin._report import FIELDS, SYNTAX, Finding, meant, quoted
from promptkit.renderers.base import spelling

__all__ = ["TYPED", "check_class", "fields_of"]

TYPED = "promptkit.templates.typed.TypedPromptTemplate"
_METADATA = "promptkit"  # mypy keeps it in its cache, and checks again what depends on a class whose facts change
_FIELDS_WITHOUT_TYPE = {"attr.attrib", "attr.field", "attr.ib", "attrs.field"}
_OUTSIDE = ("abc.", "builtins.", "promptkit.", "typing.")


@define
class _Facts:
    """Hold what a typed template and its bases declare."""

    fields: list[str] = Factory(list)
    computed: list[str] = Factory(list)
    text: str | None = None
    renderer: RendererKey | None = ("st", {})
    is_open: bool = False
    """Whether there may be other fields, of a base that is no template."""

    def take_over(self, base: _Facts) -> None:
        self.add(base.fields, base.computed)
        self.text, self.renderer, self.is_open = base.text, base.renderer, self.is_open or base.is_open

    def add(self, fields: Iterable[str], computed: Iterable[str]) -> None:
        self.fields = [*dict.fromkeys((*self.fields, *fields))]
        self.computed = [*dict.fromkeys((*self.computed, *computed))]


def fields_of(info: TypeInfo) -> list[str] | None:
    """Give the fields of a typed template; ``None`` for any other class, and when some of them are unknown."""
    facts = _facts_of(info)
    return None if facts is None or facts.is_open else facts.fields


def check_class(ctx: ClassDefContext) -> None:
    """Note what a typed template declares, and compare its placeholders with its fields."""
    body, module = ctx.cls, ctx.api.cur_mod_id
    statements = dict(_assignments(body))
    own = {name: statement for name, statement in statements.items() if _is_field(statement)}
    facts = _Facts()
    for base in reversed(body.info.mro[1:]):
        known = _facts_of(base)
        if known:
            facts.take_over(known)
        elif not base.fullname.startswith(_OUTSIDE):
            facts.is_open = True
    facts.add(own, _computed(body))
    where: Context = body
    if "template" in statements:
        where = statements["template"].rvalue
        text = literal(statements["template"].rvalue, module)
        facts.text = text if isinstance(text, str) else None
    if "renderer" in statements:
        facts.renderer = renderer_key(statements["renderer"].rvalue, module)
    body.info.metadata[_METADATA] = {_METADATA: json.dumps(attrs.asdict(facts))}
    for message, place, code in _findings(body.name, facts, where, own):
        ctx.api.fail(message, place, code=code)


def _facts_of(info: TypeInfo) -> _Facts | None:
    kept = info.metadata.get(_METADATA)
    return _Facts(**json.loads(kept[_METADATA])) if kept else None


def _assignments(body: ClassDef) -> Iterator[tuple[str, AssignmentStmt]]:
    for statement in body.defs.body:
        if isinstance(statement, AssignmentStmt) and isinstance(target := statement.lvalues[0], NameExpr):
            yield target.name, statement


def _is_field(statement: AssignmentStmt) -> bool:
    kind, value = statement.unanalyzed_type, statement.rvalue
    if kind is None:
        callee = value.callee if isinstance(value, CallExpr) else None
        return isinstance(callee, RefExpr) and callee.fullname in _FIELDS_WITHOUT_TYPE
    return not isinstance(kind, UnboundType) or kind.name.rpartition(".")[2] != "ClassVar"


def _computed(body: ClassDef) -> Iterator[str]:
    for statement in body.defs.body:
        first = statement.items[0] if isinstance(statement, OverloadedFuncDef) else statement
        if isinstance(first, Decorator) and first.func.is_property and not first.name.startswith("_"):
            yield first.name


def _findings(name: str, facts: _Facts, where: Context, own: Mapping[str, Context]) -> Iterator[Finding]:
    renderer = renderer_of(facts.renderer)
    if facts.text is None or renderer is None:
        return
    template = compiled(facts.text, renderer)
    if isinstance(template, str):
        yield template, where, SYNTAX
        return
    placeholders = dict.fromkeys((*template.variables, *template.optional_variables))
    unfilled = [each for each in placeholders if each not in facts.fields and each not in facts.computed]
    unused = [each for each in facts.fields if each not in placeholders]
    for each in () if facts.is_open else unfilled:
        near = meant(each, [*unused, *facts.computed])
        yield f'"{name}" has no field for the placeholder {quoted(each)}{near}', where, FIELDS
    for each in () if facts.is_open or facts.computed else unused:
        if not any(spelling(placeholder, [each]) for placeholder in unfilled):
            yield f'The template of "{name}" has no placeholder for the field "{each}"', own.get(each, where), FIELDS
