"""Hook into mypy: where templates are made, filled in and bound, and where typed ones are declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from attrs import evolve
from mypy.checker import TypeChecker
from mypy.nodes import (
    CallExpr,
    Decorator,
    FuncDef,
    ListExpr,
    MemberExpr,
    OverloadedFuncDef,
    TupleExpr,
    TypeInfo,
)
from mypy.options import Options
from mypy.plugin import ClassDefContext, FunctionContext, MethodContext, Plugin, ReportConfigContext
from mypy.types import Instance, Type, get_proper_type

from promptkit.mypy_plugin._flow import Flow
from promptkit.mypy_plugin._known import Names, forget, remember
from promptkit.mypy_plugin._literals import Call, Item
from promptkit.mypy_plugin._report import FIELDS, VARIABLES, listed, meant, quoted
from promptkit.mypy_plugin._typed import TYPED, check_class, fields_of
from promptkit.renderers.base import spelling

__all__ = ["PromptkitPlugin", "plugin"]

_BASE = "promptkit.templates.base.BasePromptTemplate"
_CHAT = "promptkit.templates.chat.ChatPromptTemplate"
_SINGLE = "promptkit.templates.prompt_template."
_PROMPT = f"{_SINGLE}PromptTemplate"
_FILLING = {"create", "create_message", "create_messages", "render"}
_METHODS = _FILLING | {"mutate", "partial"}
_COPIES = {"attr.evolve", "attrs.evolve", "copy.replace"}


def plugin(release: str) -> type[Plugin]:  # noqa: ARG001 - mypy's own release, on which no hook depends
    """Give mypy the plugin."""
    return PromptkitPlugin


class PromptkitPlugin(Plugin):
    """Check literal and typed templates, and the calls that fill them in."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._flow: Flow | None = None
        self._digest = _digest()
        self._hooks: dict[str, Callable[[MethodContext], Type]] = {
            **{f"{owner}.{method}": self._fill for owner in (_BASE, _CHAT) for method in _FILLING},
            **{f"{owner}.mutate": _forget for owner in (_BASE, _CHAT)},
            **{f"{owner}.partial": self._bind for owner in (_PROMPT, _CHAT)},
            f"{TYPED}.partial": self._bind_fields,
        }

    def report_config_data(self, ctx: ReportConfigContext) -> str:  # noqa: ARG002
        """Tell mypy what its cache was judged by."""
        return self._digest

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Hold a typed template's text against its fields."""
        return check_class if self._descends(fullname, TYPED) else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Learn the variables of a template that is made."""
        if fullname in _COPIES:
            return _forget
        if fullname == _CHAT:
            return self._make_chat
        return self._make_single if self._descends(fullname, _PROMPT) else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Hold a call's mapping against the template's variables."""
        kind, _, method = fullname.rpartition(".")
        if method not in _METHODS:
            return None
        info = self._class(kind)
        owner = info and info.get_containing_type_info(method)
        return self._hooks.get(f"{owner.fullname}.{method}") if owner else None

    def _class(self, fullname: str) -> TypeInfo | None:
        symbol = self.lookup_fully_qualified(fullname)
        return symbol.node if symbol and isinstance(symbol.node, TypeInfo) else None

    def _descends(self, fullname: str, base: str) -> bool:
        info = self._class(fullname)
        return info is not None and info.has_base(base)

    def _make_single(self, ctx: FunctionContext) -> Type:
        call = self._call(ctx)
        made = get_proper_type(ctx.default_return_type)
        source, renderer = call.argument("template"), call.renderer()
        if source is None or renderer is None or not isinstance(made, Instance) or _has_methods(made.type):
            return made
        return _made(call, call.names_of_source(source, renderer))

    def _make_chat(self, ctx: FunctionContext) -> Type:
        call = self._call(ctx)
        parts, renderer = call.argument("parts"), call.renderer()
        if renderer is None or not isinstance(parts, ListExpr | TupleExpr):
            return ctx.default_return_type
        names: Names | None = Names()
        for part in parts.items:
            added = call.names_of_part(part, renderer)
            names = None if names is None or added is None else names + added
        return _made(call, names)

    def _fill(self, ctx: MethodContext) -> Type:
        call = self._call(ctx)
        names, items = _names_of_receiver(call), call.items(call.argument("model"))
        if names is not None and items is not None:
            given = [item.name for item in items]
            misspelt = _check_spelling(call, names, items)
            missing = [name for name in names.required if name not in given and name not in misspelt]
            if missing:
                hint = f"; given {listed(given)}" if given else ""
                plural = "s" if len(missing) > 1 else ""
                call.report(f"Missing template variable{plural} {listed(missing)}{hint}", ctx.context, VARIABLES)
        return ctx.default_return_type

    def _bind(self, ctx: MethodContext) -> Type:
        call = self._call(ctx)
        names, items = _names_of_receiver(call), call.items(call.argument("model"))
        if names is None or items is None:
            return forget(ctx.default_return_type)
        _check_spelling(call, names, items)
        return _remembered(call, call.bound(names, items))

    def _bind_fields(self, ctx: MethodContext) -> Type:
        call = self._call(ctx)
        names = _names_of_receiver(call)
        for item in (names and call.items(call.argument("model"))) or ():
            if names and item.name not in names.all:
                message = f"The template has no field {quoted(item.name)}{meant(item.name, names.all)}"
                call.report(message, item.where, FIELDS)
        return ctx.default_return_type

    def _call(self, ctx: FunctionContext | MethodContext) -> Call:
        assert isinstance(ctx.api, TypeChecker)
        if self._flow is None or self._flow.tree is not ctx.api.tree:
            self._flow = Flow(ctx.api.tree)
        return Call(ctx, self._flow)


def _digest() -> str:
    """Sum up the code that judges: this plugin and the template languages."""
    package = Path(__file__).parents[1]
    sources = sorted([*package.glob("mypy_plugin/*.py"), *package.glob("renderers/*.py")])
    return sha256(b"".join([source.read_bytes() for source in sources])).hexdigest()


def _names_of_receiver(call: Call) -> Names | None:
    """Give what is known of the template whose method is called."""
    assert isinstance(call.ctx, MethodContext)
    kind, node = get_proper_type(call.ctx.type), call.ctx.context
    fields = fields_of(kind.type) if isinstance(kind, Instance) else None
    if fields is not None:
        return Names((), tuple(fields))
    if isinstance(node, CallExpr) and isinstance(node.callee, MemberExpr):
        return call.names_at(node.callee.expr)
    return None


def _made(call: Call, names: Names | None) -> Type:
    items = call.items(call.argument("bound"))
    return (
        call.ctx.default_return_type if names is None or items is None else _remembered(call, call.bound(names, items))
    )


def _remembered(call: Call, names: Names) -> Type:
    made = get_proper_type(call.ctx.default_return_type)
    if not isinstance(made, Instance):
        return made
    names = evolve(names, holder=call.flow.holder_of(call.ctx.context))
    return remember(made, names, call.ctx.api.named_generic_type("builtins.str", []))


def _check_spelling(call: Call, names: Names, items: Sequence[Item]) -> set[str]:
    """Report names that are given, unknown, and near to one that is not given; give those that were meant."""
    given = {item.name for item in items}
    wanted = [name for name in names.all if name not in given]
    found = set()
    for item in items:
        near = None if item.name in names.all else spelling(item.name, wanted)
        if near:
            found.add(near)
            message = f"The template has no variable {quoted(item.name)}; did you mean {quoted(near)}?"
            call.report(message, item.where, VARIABLES)
    return found


def _forget(ctx: FunctionContext | MethodContext) -> Type:
    return forget(ctx.default_return_type)


def _has_methods(info: TypeInfo) -> bool:
    """Tell whether a user's class has methods: they may fill in more than callers give."""
    theirs = [base for base in info.mro if base.has_base(_PROMPT) and not base.fullname.startswith(_SINGLE)]
    kinds = FuncDef | Decorator | OverloadedFuncDef
    return any(
        isinstance(symbol.node, kinds) and not symbol.plugin_generated
        for base in theirs
        for symbol in base.names.values()
    )
