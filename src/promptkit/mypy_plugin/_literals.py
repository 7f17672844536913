"""Read what is written down literally: text, names of mappings, renderers, templates and their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from mypy.checker import TypeChecker
from mypy.constant_fold import constant_fold_expr
from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    CallExpr,
    Context,
    DictExpr,
    EllipsisExpr,
    Expression,
    ListExpr,
    MemberExpr,
    NameExpr,
    RefExpr,
    TupleExpr,
)
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import Instance, LiteralType, get_proper_type

from promptkit.errors import TemplateError
from promptkit.mypy_plugin._flow import Flow
from promptkit.mypy_plugin._known import Holder, Names, known_names
from promptkit.mypy_plugin._report import SYNTAX
from promptkit.renderers import by_name
from promptkit.renderers.base import CompiledTemplate, TemplateRenderer, ValidationMode
from promptkit.templates.prompt_template import compile_source

__all__ = ["Call", "Item", "compiled", "literal", "names_of_compiled", "renderer_key", "renderer_of"]

_LANGUAGES = ("st", "jinja", "fstring", "mustache", "noop")
RendererKey = tuple[str, Mapping[str, Any]]
"""A renderer's short name, or the full name of its class, and its options."""
_ROLES = ("system", "user", "assistant")
_MODE = "promptkit.renderers.base.ValidationMode."
_SLOT = "promptkit.templates.chat.MessagesPlaceholder"
_MEDIA = "promptkit.templates.parts.MediaTemplate"


def literal(expression: Expression, module: str) -> object:
    """Give the value of a constant expression, the name of a `ValidationMode`; ``None`` for anything else."""
    if isinstance(expression, MemberExpr) and expression.fullname.startswith(_MODE):
        return expression.name
    if isinstance(expression, NameExpr) and expression.fullname in {"builtins.True", "builtins.False"}:
        return expression.name == "True"
    return constant_fold_expr(expression, module)


def renderer_key(expression: Expression | None, module: str) -> RendererKey | None:
    """Read a short name, or the call of a renderer of ours with constants."""
    if not isinstance(expression, CallExpr):
        name = "st" if expression is None else literal(expression, module)
        return (name, {}) if isinstance(name, str) else None
    kind = expression.callee.fullname if isinstance(expression.callee, RefExpr) else ""
    options = {name: literal(value, module) for name, value in zip(expression.arg_names, expression.args, strict=True)}
    if None in options.values():
        return None
    return kind, {str(name): value for name, value in options.items()}


def renderer_of(key: RendererKey | None) -> TemplateRenderer | None:
    """Make the renderer; ``None`` for one that is not ours, or that mypy or the program will refuse."""
    if key is None:
        return None
    name, options = key
    kinds = {short: type(by_name(short)) for short in _LANGUAGES}
    kinds |= {f"{kind.__module__}.{kind.__qualname__}": kind for kind in kinds.values()}
    try:
        if "validation" in options:
            options = {**options, "validation": ValidationMode[options["validation"]]}
        return kinds[name](**options)
    except (KeyError, TemplateError, TypeError):
        return None


def compiled(source: str, renderer: TemplateRenderer) -> CompiledTemplate | str:
    """Compile a literal, or say what breaks its language."""
    try:
        return compile_source(source, renderer, None)
    except TemplateError as error:
        place = f" (line {error.line}, column {error.column})" if error.line else ""
        return f"{error.args[0]}{place}"


def names_of_compiled(template: CompiledTemplate, renderer: TemplateRenderer) -> Names:
    """Give the names of a template; none is required by a renderer that leaves missing variables blank."""
    required, optional = template.variables, template.optional_variables
    if getattr(renderer, "validation", ValidationMode.THROW) is not ValidationMode.THROW:
        return Names((), (*required, *optional))
    return Names(required, tuple([name for name in optional if name not in required]))


@frozen
class Item:
    """Hold one name of a literal mapping."""

    name: str
    where: Context
    value: Expression


@frozen
class Call:
    """Read a call while mypy checks it."""

    ctx: FunctionContext | MethodContext
    flow: Flow

    @property
    def checker(self) -> TypeChecker:
        """What checks the file."""
        assert isinstance(self.ctx.api, TypeChecker)
        return self.ctx.api

    def report(self, message: str, where: Context, code: ErrorCode) -> None:
        """Report an error."""
        self.ctx.api.fail(message, where, code=code)

    def argument(self, name: str) -> Expression | None:
        """Give what is passed for a parameter; an expression without a value where ``*`` or ``**`` may pass it."""
        for formal, given, kinds in zip(self.ctx.callee_arg_names, self.ctx.args, self.ctx.arg_kinds, strict=False):
            if formal == name and given:
                return EllipsisExpr() if kinds[0].is_star() else given[0]
        return None

    def type_of(self, expression: Expression) -> Instance | None:
        """Give the type of a checked expression, if it is an instance of a class."""
        known = get_proper_type(self.checker.lookup_type_or_none(expression))
        return known if isinstance(known, Instance) else None

    def names_at(self, template: Expression) -> Names | None:
        """Give what is known of a template that an expression gives, if it is sure to be true there."""
        kind = self.type_of(template)
        names = known_names(kind) if kind else None
        if names is None or names.holder is Holder.SURE or isinstance(template, CallExpr):
            return names
        is_true = names.holder is Holder.FIRST and self.flow.is_first_value_read(template)
        return names if is_true else None

    def text(self, expression: Expression) -> str | None:
        """Give constant text, here or behind an imported ``Final``."""
        value = literal(expression, self.checker.tree.fullname)
        if value is None:
            known = get_proper_type(self.checker.lookup_type_or_none(expression))
            known = known.last_known_value if isinstance(known, Instance) else known
            value = known.value if isinstance(known, LiteralType) else None
        return value if isinstance(value, str) else None

    def renderer(self) -> TemplateRenderer | None:
        """Give the renderer of a template that is made."""
        return renderer_of(renderer_key(self.argument("renderer"), self.checker.tree.fullname))

    def items(self, mapping: Expression | None) -> list[Item] | None:
        """Give the names of a literal mapping; ``None`` if there may be others."""
        if mapping is None:
            return []
        found: list[Item] = []
        if isinstance(mapping, DictExpr):
            for key, value in mapping.items:
                name = None if key is None else self.text(key)
                if key is None or name is None:
                    return None
                found.append(Item(name, key, value))
            return found
        if isinstance(mapping, CallExpr) and isinstance(mapping.callee, RefExpr):
            if mapping.callee.fullname != "builtins.dict":
                return None
            for name, value in zip(mapping.arg_names, mapping.args, strict=True):
                if name is None:
                    return None
                found.append(Item(name, value, value))
            return found
        return None

    def bound(self, names: Names, items: Sequence[Item]) -> Names:
        """Give the names of a template with variables bound; templates among these add their own names."""
        rest = names.without(item.name for item in items)
        for item in items:
            rest += self.names_at(item.value) or Names()
        return rest.without(item.name for item in items)

    def names_of_source(self, source: Expression, renderer: TemplateRenderer) -> Names | None:
        """Give the names of a template's text, or of its parts."""
        if not isinstance(source, ListExpr | TupleExpr):
            return self._names_of_text(source, renderer)
        names = Names()
        for part in source.items:
            kind = self.type_of(part)
            if kind is None:
                return None
            if kind.type.fullname == _MEDIA and isinstance(part, CallExpr):
                added = [self._names_of_text(value, renderer) for value in part.args]
            elif kind.type.module_name == "promptkit.content":
                continue
            else:
                added = [self._names_of_text(part, renderer)]
            for each in added:
                if each is None:
                    return None
                names += each
        return names

    def names_of_part(self, part: Expression, renderer: TemplateRenderer) -> Names | None:
        """Give the names of a part of a chat template."""
        if isinstance(part, TupleExpr) and len(part.items) == 2:
            role, source = part.items
            return self.names_of_source(source, renderer) if self.text(role) in _ROLES else None
        kind = self.type_of(part)
        if kind is None:
            return None
        if kind.type.module_name == "promptkit.messages":
            return Names()
        if kind.type.fullname == _SLOT and isinstance(part, CallExpr):
            return self._names_of_slot(part)
        return self.names_at(part)

    def _names_of_text(self, source: Expression, renderer: TemplateRenderer) -> Names | None:
        text = self.text(source)
        if text is None:
            return None
        template = compiled(text, renderer)
        if isinstance(template, str):
            self.report(template, source, SYNTAX)
            return None
        return names_of_compiled(template, renderer)

    def _names_of_slot(self, slot: CallExpr) -> Names | None:
        given = dict(zip(slot.arg_names, slot.args, strict=True))
        name = self.text(given.get(None, given.get("name", slot)))
        optional = literal(given["optional"], self.checker.tree.fullname) if "optional" in given else False
        if name is None or not isinstance(optional, bool):
            return None
        return Names((), (name,)) if optional else Names((name,))
