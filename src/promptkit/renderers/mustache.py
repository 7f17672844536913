"""Render mustache as its specification says, for prompts: nothing is escaped for HTML, nothing of a value is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any

from attrs import define, field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, freeze_mapping
from promptkit.errors import PromptkitError, TemplateError
from promptkit.renderers._mustache_parser import Node, Origin, Partial, Section, Tag, Variable, parse
from promptkit.renderers._slots import Slot, SlotTemplate, require_mode
from promptkit.renderers.base import (
    CompiledTemplate,
    TemplateRenderer,
    ValidationMode,
    missing_variables,
    refuse_variables,
    spelling,
    text_of,
    warn_missing,
)

__all__ = ["MAX_DEPTH", "MustacheRenderer"]

MAX_DEPTH = 200
"""Deepest nesting of sections and partials together while a template is filled in."""

_ABSENT = object()
_SIMPLE = frozenset((bool, type(None), list, dict, str, int))
"""Types whose truth cannot fail, and which are a list or are none."""


def _partials(value: Mapping[str, str]) -> FrozenDict:
    frozen_partials = freeze_mapping(value, "partials")
    for name, text in frozen_partials.items():
        if not isinstance(text, str):
            raise TemplateError(f"The partial {name!r} must be text, not {type(text).__name__!r}.")
    return frozen_partials


@frozen(repr=False, cache_hash=True)
class MustacheRenderer(Value, TemplateRenderer):
    r"""Fill mustache tags: ``{{name}}``, ``{{#section}}…{{/section}}``, ``{{^inverted}}…{{/inverted}}``, ``{{>partial}}``.

    ``{{x}}``, ``{{{x}}}`` and ``{{&x}}`` print the same: nothing is escaped. Dotted names read mappings and nothing
    else, and a function among the values is refused, not run. A name outside of sections must be given; inside a
    section it may be absent. The renderer pickles. Sections over lists multiply: a template of strangers can print as
    much as the lists in its variables allow.

    Args:
        validation: What to do with a variable that was not given.
        partials: The texts that ``{{>name}}`` may include, by name; parsed when a template names them.

    >>> renderer = MustacheRenderer(partials={"line": "- {{name}}\n"})
    >>> print(renderer.apply("{{#users}}{{>line}}{{/users}}", {"users": [{"name": "Ada"}, {"name": "<Bob>"}]}))
    - Ada
    - <Bob>
    <BLANKLINE>
    """

    validation: ValidationMode = field(default=ValidationMode.THROW, kw_only=True, validator=require_mode)
    partials: FrozenDict = field(default=EMPTY, kw_only=True, converter=_partials)

    def parse(self, source: str) -> CompiledTemplate:
        """Parse the source and the partials that it names."""
        nodes = parse(Origin(source), self.partials)
        if all(isinstance(node, str) or (type(node) is Variable and len(node.path) == 1) for node in nodes):
            return _slots(source, nodes, self.validation)
        library: dict[tuple[str, bool], tuple[Node, ...]] = {}
        named = [*_partials_in(nodes)]
        while named:
            partial = named.pop()
            key = (partial.name, partial.marked)
            if key not in library:
                origin = Origin(self.partials[partial.name], partial.name)
                library[key] = parse(origin, self.partials, marked=partial.marked)
                named += _partials_in(library[key])
        return _MustacheTemplate(source, nodes, library, self.validation)


def _slots(source: str, nodes: Sequence[Node], validation: ValidationMode) -> SlotTemplate:
    parts = tuple([node if isinstance(node, str) else "" for node in nodes])
    variables = [(index, node) for index, node in enumerate(nodes) if isinstance(node, Variable)]
    slots = [Slot(index, node.name, node.offset, node.written, _text_of) for index, node in variables]
    return SlotTemplate(source, parts, tuple(slots), validation)


def _text_of(value: object) -> str:
    if callable(value):
        raise TemplateError("It is a function, and mustache runs none. Pass what it returns.")
    return "" if isinstance(value, Sized) and not value else text_of(value)


def _partials_in(nodes: Sequence[Node]) -> Iterator[Partial]:
    for node in nodes:
        if isinstance(node, Partial):
            yield node
        elif isinstance(node, Section):
            yield from _partials_in(node.nodes)


@frozen(eq=False)
class _MustacheTemplate:
    """Hold the nodes of a template and of its partials."""

    source: str = field(repr=False)
    nodes: tuple[Node, ...]
    library: Mapping[tuple[str, bool], tuple[Node, ...]]
    validation: ValidationMode
    variables: tuple[str, ...] = field(init=False)
    optional_variables: tuple[str, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        names = self._names()
        object.__setattr__(self, "variables", tuple([name for name in names if names[name]]))
        object.__setattr__(self, "optional_variables", tuple([name for name in names if not names[name]]))

    def _names(self) -> dict[str, bool]:
        """Give the first part of each name, and whether it is required: whether it stands outside of sections."""
        names: dict[str, bool] = {}
        seen: set[tuple[str, bool]] = set()
        open_nodes = [(iter(self.nodes), True)]
        while open_nodes:
            nodes, required = open_nodes[-1]
            node = next(nodes, _ABSENT)
            if node is _ABSENT:
                open_nodes.pop()
            elif isinstance(node, Partial):
                if (node.name, required) not in seen:
                    seen.add((node.name, required))
                    open_nodes.append((iter(self.library[node.name, node.marked]), required))
            elif isinstance(node, Variable | Section):
                if node.path:
                    names[node.path[0]] = names.get(node.path[0], False) or required
                if isinstance(node, Section):
                    open_nodes.append((iter(node.nodes), False))
        return names

    def render(self, variables: Mapping[str, object], /) -> str:
        """Fill in the variables."""
        refuse_variables(variables)
        filling = _Filling(self.library, self.validation)
        try:
            filling.fill(self.nodes, [variables], "")
        except PromptkitError:
            raise
        except Exception as error:
            raise TemplateError(f"A value failed while it was read: {error!s:.200}") from error
        if filling.missing and self.validation is ValidationMode.THROW:
            first = next(iter(filling.missing.values()))
            missing = missing_variables(
                [*filling.missing], variables, first.origin.source, first.offset, meant=filling.meant
            )
            raise missing.named(first.origin.name)
        if filling.missing and self.validation is ValidationMode.WARN:
            warn_missing(filling.missing)
        return "".join(filling.out)


@define
class _Filling:
    """Fill in one template once.

    Args:
        missing: The first tag of each missing name outside of sections.
        meant: The likely spelling of a missing dotted name.
        read: What iterators among the values gave, so that a section and its inverted twin agree.
    """

    library: Mapping[tuple[str, bool], tuple[Node, ...]]
    validation: ValidationMode
    out: list[str] = field(factory=list)
    missing: dict[str, Tag] = field(factory=dict)
    meant: dict[str, str] = field(factory=dict)
    read: dict[int, tuple[Any, list[Any]]] = field(factory=dict)
    depth: int = 0

    def fill(self, nodes: Sequence[Node], scopes: list[Any], indent: str, *, inside: bool = False) -> None:
        """Print the nodes; `scopes` holds the variables and then the items of the open sections."""
        for node in nodes:
            if type(node) is str:
                self.out.append(node)
            elif type(node) is Variable:
                value = self._find(node, scopes, inside=inside)
                if type(value) is str:
                    self.out.append(value)
                else:
                    self.out.append(node.written if value is _ABSENT else self._text(node, value))
            elif type(node) is Section:
                value = self._find(node, scopes, inside=inside)
                if value is _ABSENT:
                    self.out.append(node.written)
                else:
                    self._section(node, value, scopes, indent)
            elif type(node) is Partial:
                self._partial(node, scopes, indent, inside=inside)
            else:
                self.out.append(indent)

    def _partial(self, node: Partial, scopes: list[Any], indent: str, *, inside: bool) -> None:
        self._enter(node)
        inner = indent + node.indent if node.marked else ""
        self.fill(self.library[node.name, node.marked], scopes, inner, inside=inside)
        self.depth -= 1

    def _section(self, node: Section, value: Any, scopes: list[Any], indent: str) -> None:
        if type(value) not in _SIMPLE:
            value = self._condition(node, value)
        if (not value) is not node.inverted:
            return
        self._enter(node)
        if node.inverted:
            self.fill(node.nodes, scopes, indent, inside=True)
        else:
            for item in value if type(value) is list else (value,):
                scopes.append(item)
                self.fill(node.nodes, scopes, indent, inside=True)
                scopes.pop()
        self.depth -= 1

    def _condition(self, node: Section, value: Any) -> Any:
        """Give a value that is a list if it can be gone through, and that is true or false."""
        if callable(value):
            node.fail(TemplateError, f"{node.name!r} is a function, and mustache runs none. Pass what it returns.")
        if isinstance(value, Iterator):
            value = self.read.setdefault(id(value), (value, [*value]))[1]
        try:
            shown = bool(value)
        except Exception as error:  # noqa: BLE001 - arrays refuse, a value may do anything
            node.fail(TemplateError, f"{node.name!r} is neither true nor false: {error!s:.200}", error)
        if isinstance(value, Sequence | AbstractSet | ValuesView) and not isinstance(value, str | bytes | bytearray):
            return [*value]
        return value if shown else False

    def _text(self, node: Variable, value: object) -> str:
        try:
            return _text_of(value)
        except TemplateError as error:
            node.fail(TemplateError, f"{node.name!r} cannot be printed. {error.args[0]}", error)

    def _find(self, node: Variable | Section, scopes: list[Any], *, inside: bool) -> Any:
        """Give a name's value, what stands for it when it is missing, or `_ABSENT` when its tag stays."""
        path = node.path
        if not path:
            return scopes[-1] if len(scopes) > 1 else self._missing(node, None, inside=inside)
        value: Any = None
        for scope in reversed(scopes):
            if (type(scope) is dict or isinstance(scope, Mapping)) and path[0] in scope:
                value = scope[path[0]]
                break
        else:
            return self._missing(node, scopes[0], inside=inside)
        for name in path[1:]:
            if value is None and type(node) is Section:
                return None
            if (type(value) is not dict and not isinstance(value, Mapping)) or name not in value:
                return self._missing(node, value, inside=inside)
            value = value[name]
        return value

    def _missing(self, node: Variable | Section, owner: object, *, inside: bool) -> Any:
        if self.validation is ValidationMode.KEEP:
            return _ABSENT
        if not inside and node.name not in self.missing:
            self.missing[node.name] = node
            if len(node.path) > 1 and isinstance(owner, Mapping):
                *parents, name = node.path
                meant = spelling(name, [key for key in owner if isinstance(key, str)])
                if meant:
                    self.meant[node.name] = ".".join([*parents, meant])
        return None

    def _enter(self, node: Tag) -> None:
        if self.depth == MAX_DEPTH:
            node.fail(TemplateError, f"Sections and partials nest deeper than {MAX_DEPTH} levels at {node.name!r}.")
        self.depth += 1
