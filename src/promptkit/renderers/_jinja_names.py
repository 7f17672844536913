"""Find what a jinja2 template asks for, by a walk over its syntax tree that knows scopes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from attrs import Factory, define, frozen

from promptkit.errors import TemplateNotFoundError, TemplateSyntaxError, UnsafeTemplateError
from promptkit.renderers.base import fault, nearest

if TYPE_CHECKING:
    from jinja2 import nodes

__all__ = ["Survey", "Use", "survey"]


@frozen
class Use:
    """Hold one place where a template reads a name from outside, itself or through an include (`foreign`)."""

    name: str
    offset: int
    required: bool
    foreign: bool = False


@frozen
class _Block:
    """Stand for a block, which a child template may replace; `_SUPER` stands for what it replaced."""

    name: str


_SUPER = _Block("")

Piece = list["Use | _Block"]
"""What a template, or one of its blocks, reads, in the order of the text."""


@define
class Survey:
    """Hold what the walk found.

    Args:
        pieces: What the text (``""``) and each block read.
        assigned: Names that the text sets for itself and for its blocks.
        accesses: Attribute name → the places where it is read, as offset and dotted path.
        globals: Names of the environment's globals that the text uses.
        resolved: Names that jinja2's compiler looks up from outside; filled in when the text is compiled. What a text
            sets anywhere may hide a variable in blocks before, and only the compiler knows where.
        links: Whether it includes, imports or extends other templates.
        parent: The survey of the template that it extends, when that is a constant.
        parent_offset: Where it says so.
    """

    pieces: dict[str, Piece] = Factory(dict)
    assigned: set[str] = Factory(set)
    accesses: dict[str | int, list[tuple[int, str]]] = Factory(dict)
    globals: set[str] = Factory(set)
    resolved: set[str] = Factory(set)
    links: bool = False
    parent: Survey | None = None
    parent_offset: int = 0

    def uses(self) -> list[Use]:
        """Give each name once: its first required use, else its first optional one, in order of appearance."""
        first: dict[str, Use] = {}
        for use in sorted(self._all(), key=lambda use: use.offset):
            known = first.get(use.name)
            if known is None or (use.required and not known.required):
                first[use.name] = Use(use.name, known.offset if known else use.offset, use.required)
        return sorted(first.values(), key=lambda use: use.offset)

    def _all(self) -> Iterator[Use]:
        chain = [self]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        bound = set[str]().union(*(link.assigned for link in chain)) if len(chain) > 1 else set()
        for index, link in enumerate(chain):
            piece: Piece = link.pieces[""]
            if link.parent is not None:
                piece = [item for item in piece if isinstance(item, Use)]
            for use, level in _flat(chain, piece, index, set()):
                if use.name not in bound and (use.foreign or use.name in chain[level].resolved):
                    yield use if level == 0 else Use(use.name, self.parent_offset, use.required)


def _flat(
    chain: Sequence[Survey], piece: Piece, level: int, seen: set[tuple[int, str]], block: str = ""
) -> Iterator[tuple[Use, int]]:
    """Follow blocks to the most derived template that has them, and ``super()`` to the next one."""
    for item in piece:
        if isinstance(item, Use):
            yield item, level
            continue
        name, start = (block, level + 1) if item is _SUPER else (item.name, 0)
        for index in range(start, len(chain)):
            if name in chain[index].pieces:
                if (index, name) not in seen:
                    yield from _flat(chain, chain[index].pieces[name], index, seen | {(index, name)}, name)
                break


class Templates(Protocol):
    """Say what the walk needs of an environment."""

    filters: dict[str, Any]
    tests: dict[str, Any]
    globals: Any
    own_globals: frozenset[str]

    def survey_of(self, name: str, stack: tuple[str, ...]) -> Survey | None:
        """Give another template's survey, or ``None`` when it is being walked already."""


class _Scope:
    """Know which names are bound here, and which are known to be given because a test said so."""

    __slots__ = ("bound", "parent", "present")

    def __init__(self, parent: _Scope | None = None, bound: Iterable[str] = (), present: Iterable[str] = ()) -> None:
        self.parent = parent
        self.bound = set(bound)
        self.present = set(present)

    def knows(self, name: str) -> str:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound:
                return "bound"
            if name in scope.present:
                return "present"
            scope = scope.parent
        return ""


def survey(
    tree: nodes.Template, source: str, environment: Templates, name: str | None, stack: tuple[str, ...]
) -> Survey:
    """Walk a template.

    Raises:
        UnsafeTemplateError: It names a double-underscore attribute.
        TemplateSyntaxError: It names a filter or test that does not exist.
        TemplateNotFoundError: It names a template that does not exist.
    """
    walk = _Walk(source, environment, name, stack)
    walk.run(tree)
    return walk.found


class _Walk:
    def __init__(self, source: str, environment: Templates, name: str | None, stack: tuple[str, ...]) -> None:
        self.source = source
        self.environment = environment
        self.name = name
        self.stack = stack
        self.found = Survey()
        self.top = _Scope(bound=("self",))
        self.piece: Piece = []
        self.later: deque[tuple[Any, _Scope, Piece]] = deque()

    def run(self, tree: Any) -> None:
        self.found.pieces[""] = self.piece
        child = any(type(node).__name__ == "Extends" for node in tree.body)
        for node in tree.body:
            # A child's text outside its blocks is never printed.
            if not (child and type(node).__name__ == "Output"):
                self.visit(node, self.top)
        while self.later:
            node, scope, self.piece = self.later.popleft()
            self.body(node.body, scope)
        self.found.assigned = self.top.bound

    def visit(self, node: Any, scope: _Scope) -> None:
        handler: Callable[[Any, _Scope], None] | None = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if handler is not None:
            handler(node, scope)
            return
        for child in node.iter_child_nodes():
            self.visit(child, scope)

    def body(self, body: Iterable[Any], scope: _Scope) -> None:
        for node in body:
            self.visit(node, scope)

    def use(self, name: str, offset: int, scope: _Scope, *, required: bool = True, foreign: bool = False) -> None:
        known = scope.knows(name)
        if known == "bound":
            return
        if name in self.environment.own_globals:
            self.found.globals.add(name)
            return
        self.piece.append(Use(name, offset, required and not known, foreign))

    def bind(self, target: Any, scope: _Scope) -> None:
        kind = type(target).__name__
        if kind == "Name":
            scope.bound.add(target.name)
        elif kind == "NSRef":
            self.use(target.name, target.lineno - 1, scope)
        else:
            for item in target.items:
                self.bind(item, scope)

    # -- expressions

    def visit_name(self, node: Any, scope: _Scope) -> None:
        self.use(node.name, node.lineno - 1, scope)

    def visit_call(self, node: Any, scope: _Scope) -> None:
        callee = node.node
        name = callee.name if type(callee).__name__ == "Name" else ""
        if name == "super" and self.piece is not self.found.pieces[""]:
            self.piece.append(_SUPER)
        elif name in self.environment.globals and not scope.knows(name):
            self.found.globals.add(name)
        else:
            self.visit(callee, scope)
        for argument in (*node.args, *node.kwargs, node.dyn_args, node.dyn_kwargs):
            if argument is not None:
                self.visit(argument, scope)

    def visit_getattr(self, node: Any, scope: _Scope) -> None:
        if node.attr.startswith("__"):
            raise fault(
                UnsafeTemplateError,
                f"A template never reads {node.attr!r}. Pass what you need as a variable.",
                self.source,
                node.lineno,
                template_name=self.name,
            )
        self.access(node, node.attr)
        self.visit(node.node, scope)

    def visit_getitem(self, node: Any, scope: _Scope) -> None:
        if type(node.arg).__name__ == "Const" and isinstance(node.arg.value, str | int):
            self.access(node, node.arg.value)
        self.visit(node.node, scope)
        self.visit(node.arg, scope)

    def access(self, node: Any, attribute: str | int) -> None:
        self.found.accesses.setdefault(attribute, []).append((node.lineno - 1, _path(node) or f"….{attribute}"))

    def visit_filter(self, node: Any, scope: _Scope) -> None:
        self.exists(node, "filter", self.environment.filters)
        optional = node.name in {"default", "d"}
        self.operand(node, scope, optional=optional)

    def visit_test(self, node: Any, scope: _Scope) -> None:
        self.exists(node, "test", self.environment.tests)
        self.operand(node, scope, optional=node.name in {"defined", "undefined"})

    def operand(self, node: Any, scope: _Scope, *, optional: bool) -> None:
        if optional and type(node.node).__name__ == "Name":
            self.use(node.node.name, node.node.lineno - 1, scope, required=False)
        elif node.node is not None:
            self.visit(node.node, scope)
        for argument in (*node.args, *node.kwargs, node.dyn_args, node.dyn_kwargs):
            if argument is not None:
                self.visit(argument, scope)

    def exists(self, node: Any, kind: str, known: dict[str, Any]) -> None:
        if node.name not in known:
            message = f"There is no {kind} {node.name!r}{nearest(node.name, known)}. Use another, or give it to JinjaRenderer({kind}s=…)."
            raise fault(TemplateSyntaxError, message, self.source, node.lineno - 1, template_name=self.name)

    def visit_and(self, node: Any, scope: _Scope) -> None:
        self.visit(node.left, scope)
        self.visit(node.right, _Scope(scope, present=_given(node.left, truth=True)))

    def visit_or(self, node: Any, scope: _Scope) -> None:
        self.visit(node.left, scope)
        self.visit(node.right, _Scope(scope, present=_given(node.left, truth=False)))

    def visit_condexpr(self, node: Any, scope: _Scope) -> None:
        self.visit(node.test, scope)
        self.visit(node.expr1, _Scope(scope, present=_given(node.test, truth=True)))
        if node.expr2 is not None:
            self.visit(node.expr2, _Scope(scope, present=_given(node.test, truth=False)))

    # -- statements

    def visit_if(self, node: Any, scope: _Scope) -> None:
        ends: list[_Scope] = []
        facts: set[str] = set()  # what the failed tests so far prove given
        for branch in (node, *node.elif_):
            self.visit(branch.test, _Scope(scope, present=facts))
            ends.append(_Scope(scope, present=facts | _given(branch.test, truth=True)))
            self.body(branch.body, ends[-1])
            facts = facts | _given(branch.test, truth=False)
        ends.append(_Scope(scope, present=facts))
        self.body(node.else_, ends[-1])
        bound = set.intersection(*(end.bound for end in ends))
        scope.bound |= bound
        scope.present |= set.intersection(*(end.bound | end.present for end in ends)) - bound

    def visit_for(self, node: Any, scope: _Scope) -> None:
        self.visit(node.iter, scope)
        inner = _Scope(scope)
        self.bind(node.target, inner)
        if node.test is not None:
            self.visit(node.test, inner)
        inner.bound.add("loop")
        self.body(node.body, inner)
        self.body(node.else_, _Scope(scope))

    def visit_with(self, node: Any, scope: _Scope) -> None:
        for value in node.values:
            self.visit(value, scope)
        inner = _Scope(scope)
        for target in node.targets:
            self.bind(target, inner)
        self.body(node.body, inner)

    def visit_assign(self, node: Any, scope: _Scope) -> None:
        self.visit(node.node, scope)
        self.bind(node.target, scope)

    def visit_assignblock(self, node: Any, scope: _Scope) -> None:
        if node.filter is not None:
            self.visit(node.filter, scope)
        self.body(node.body, _Scope(scope))
        self.bind(node.target, scope)

    def visit_filterblock(self, node: Any, scope: _Scope) -> None:
        self.visit(node.filter, scope)
        self.body(node.body, _Scope(scope))

    def visit_scope(self, node: Any, scope: _Scope) -> None:
        self.body(node.body, _Scope(scope))

    def visit_macro(self, node: Any, scope: _Scope) -> None:
        scope.bound.add(node.name)
        self.later.append((node, self.parameters(node, scope, "caller", "kwargs", "varargs"), self.piece))

    def visit_callblock(self, node: Any, scope: _Scope) -> None:
        self.visit(node.call, scope)
        self.body(node.body, self.parameters(node, scope))

    def parameters(self, node: Any, scope: _Scope, *names: str) -> _Scope:
        inner = _Scope(scope, names)
        for target in node.args:
            self.bind(target, inner)
        for default in node.defaults:
            self.visit(default, inner)
        return inner

    def visit_block(self, node: Any, scope: _Scope) -> None:
        # Without `scoped`, a block sees the template's own names, not those of the loop around it.
        outer = self.piece
        outer.append(_Block(node.name))
        self.piece = self.found.pieces[node.name] = []
        self.body(node.body, _Scope(scope if node.scoped else self.top, ("self",)))
        self.piece = outer

    def visit_extends(self, node: Any, scope: _Scope) -> None:
        self.found.parent, self.found.parent_offset = self.link(node, scope), node.lineno - 1

    def visit_include(self, node: Any, scope: _Scope) -> None:
        linked = self.link(node, scope)
        if linked is not None and node.with_context:
            self.adopt(linked, node.lineno - 1, scope)

    def visit_import(self, node: Any, scope: _Scope) -> None:
        self.visit_include(node, scope)
        scope.bound.add(node.target)

    def visit_fromimport(self, node: Any, scope: _Scope) -> None:
        self.visit_include(node, scope)
        scope.bound.update(name if isinstance(name, str) else name[1] for name in node.names)

    def adopt(self, linked: Survey, offset: int, scope: _Scope) -> None:
        for use in linked.uses():
            self.use(use.name, offset, scope, required=use.required, foreign=True)

    def link(self, node: Any, scope: _Scope) -> Survey | None:
        self.found.links = True
        names = _constant(node.template)
        if names is None:
            self.visit(node.template, scope)
            return None
        for name in names:
            try:
                return self.environment.survey_of(name, self.stack)
            except TemplateNotFoundError as error:
                missing = error
        if names and not getattr(node, "ignore_missing", False):
            raise fault(TemplateNotFoundError, missing.args[0], self.source, node.lineno - 1, template_name=self.name)
        return None


def _constant(template: Any) -> list[str] | None:
    """Give the names that an include tries in turn, if they stand in the text."""
    kind = type(template).__name__
    items = template.items if kind in {"List", "Tuple"} else [template]
    if all(type(item).__name__ == "Const" and isinstance(item.value, str) for item in items):
        return [item.value for item in items]
    return None


def _path(node: Any) -> str | None:
    names: list[str] = []
    while True:
        kind = type(node).__name__
        if kind == "Name":
            return ".".join([node.name, *reversed(names)])
        if kind == "Getattr":
            names.append(node.attr)
        elif kind == "Getitem" and type(node.arg).__name__ == "Const":
            names.append(str(node.arg.value))
        else:
            return None
        node = node.node


def _given(test: Any, *, truth: bool) -> set[str]:
    """Give the names that are certainly given when a test has come out this way."""
    kind = type(test).__name__
    if kind == "Not":
        return _given(test.node, truth=not truth)
    if kind == ("And" if truth else "Or"):
        return _given(test.left, truth=truth) | _given(test.right, truth=truth)
    if kind == "Test" and test.name == ("defined" if truth else "undefined") and type(test.node).__name__ == "Name":
        return {test.node.name}
    return set()
