"""Turn expressions of the StringTemplate dialect into functions of a rendering's variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

from promptkit.errors import TemplateError, UnsafeTemplateError
from promptkit.renderers._st_nodes import (
    INDEXES,
    Body,
    Call,
    Expression,
    Include,
    Items,
    Literal,
    Logic,
    Map,
    Member,
    Name,
    Not,
    ToText,
    has_body,
)
from promptkit.renderers._st_values import (
    ABSENT,
    DENIED,
    FUNCTIONS,
    Cut,
    Keep,
    Retry,
    Variables,
    elements_of,
    java_text,
    look_up,
    plain_text,
    truth,
)
from promptkit.renderers.base import fault

__all__ = ["Code", "Getter", "Pending", "Reader", "Rules", "Scope", "Test"]

Getter = Callable[[Any], Any]
"""Give an expression's value in a rendering."""

Reader = Callable[[Any, object, object, int], Any]
"""Read a property of a value by its name and its number in the chain, or say what is wrong with it."""

Test = Callable[[Any], bool]
"""Say whether a condition holds in a rendering."""


class Rules(NamedTuple):
    """Say how a template treats what is not there, and how values look."""

    compat: bool
    blank: bool
    """Whether a missing property prints nothing, without a word."""
    keep: bool
    """Whether a tag with something missing stays as it is written."""
    auto_indent: bool
    """Whether the later lines of a value get the indent of its tag."""

    @property
    def show(self) -> Callable[[object], str]:
        """How a single value looks."""
        return java_text if self.compat else plain_text


class Scope(NamedTuple):
    """Hold the loop names that are visible at a place, each with the number of its value."""

    names: Mapping[str, int]
    live: frozenset[str] = frozenset()
    """Those that may hold a body which is still to be printed."""

    def key(self, name: str) -> int | str:
        """Give the key of a name's value among the variables."""
        return self.names.get(name, name)


class Pending:
    """Hold a body with its arguments and its place in a loop, to be printed where the value is."""

    __slots__ = ("arguments", "code", "number")

    def __init__(self, code: Any, arguments: tuple[Any, ...], number: int | None) -> None:
        self.code = code
        self.arguments = arguments
        self.number = number


class Code(ABC):
    """Compile the expressions of one template.

    Args:
        source: The template's text, for the places of errors.
        rules: How values are treated.
    """

    def __init__(self, source: str, rules: Rules) -> None:
        self.source = source
        self.rules = rules

    @abstractmethod
    def body(self, node: Body, scope: Scope, *, live: bool) -> Any:
        """Compile a body; ``live`` says that its arguments may be bodies themselves."""

    @abstractmethod
    def to_text(self, node: Expression, scope: Scope, *, lenient: bool) -> Getter:
        """Compile an expression whose value becomes text at once; ``None`` stays ``None``."""

    def value(self, node: Expression, scope: Scope, *, lenient: bool = False) -> Getter:
        """Compile an expression; ``lenient`` lets a missing property be ``None``."""
        match node:
            case Name(name):
                if self.rules.compat and name in INDEXES and name not in scope.names:
                    return _nothing
                return itemgetter(scope.key(name))
            case Literal(constant):
                return lambda _: constant
            case Member():
                return self._member(node, scope, lenient=lenient)
            case Call(function, argument):
                given = None if argument is None else self.value(argument, scope, lenient=lenient)
                return self._call(function, given)
            case ToText(inner):
                return self.to_text(inner, scope, lenient=lenient)
            case Items(items):
                return self._items([self.value(item, scope, lenient=lenient) for item in items])
            case Not() | Logic():
                return self.test(node, scope)
            case Map(values):
                return self._map(node, [self.value(value, scope, lenient=lenient) for value in values], scope)
            case Body():
                pending = Pending(self.body(node, scope, live=False), (), None)
                return lambda _: pending
            case Include():
                nothing = Pending(self._target(node, scope, live=False), (), None)
                return lambda _: nothing

    def test(self, node: Expression, scope: Scope) -> Test:
        """Compile a condition."""
        match node:
            case Not(value):
                negated = self.test(value, scope)
                return lambda run: not negated(run)
            case Logic(every, values):
                tests = [self.test(value, scope) for value in values]
                if every:
                    return lambda run: all(test(run) for test in tests)
                return lambda run: any(test(run) for test in tests)
            case _:
                get = self.value(node, scope, lenient=True)
                return lambda run: found if type(found := get(run)) is bool else truth(run, found)

    def _call(self, function: str, given: Getter | None) -> Getter:
        apply = FUNCTIONS[function]
        if not self.rules.compat:
            assert given is not None
            return lambda run: apply(run, given(run))

        def call(run: Any) -> Any:
            value = None if given is None else given(run)
            if given is None or (value is None and function in ("trim", "strlen")):
                raise Cut
            if function == "last" and isinstance(value, list | tuple) and not value:
                raise Cut
            if function == "strlen" and isinstance(value, str):
                return len(value.encode("utf-16-le", "surrogatepass")) // 2
            return apply(run, value)

        return call

    def _items(self, getters: list[Getter]) -> Getter:
        def items(run: Any) -> list[Any]:
            values: list[Any] = []
            for get in getters:
                value = get(run)
                elements = elements_of(run, value)
                values.extend([value] if elements is None else elements)
            return values

        return items

    # Properties

    def _member(self, node: Member, scope: Scope, *, lenient: bool) -> Getter:
        owner = self.value(node.owner, scope, lenient=lenient)
        read = self.reader(node, scope, lenient=lenient)
        if len(node.path) == 1 and isinstance(node.path[0][0], str):
            name = node.path[0][0]

            def one(run: Any) -> Any:
                base = owner(run)
                if type(base) is dict and name in base:
                    return base[name]
                found = read(run, base, name, 0)
                return None if found is ABSENT else found

            return one
        steps = [
            (index, step, None) if isinstance(step, str) else (index, "", self.value(step, scope, lenient=lenient))
            for index, (step, _) in enumerate(node.path)
        ]

        def chain(run: Any) -> Any:
            base = owner(run)
            for index, static, dynamic in steps:
                if dynamic is None and type(base) is dict and static in base:
                    base = base[static]
                    continue
                base = read(run, base, static if dynamic is None else dynamic(run), index)
                if base is ABSENT:
                    return None
            return base

        return chain

    def reader(self, node: Member, scope: Scope, *, lenient: bool) -> Reader:
        """Make the function that reads a property the slow way, and says what is wrong with it."""
        lenient = lenient or self.rules.blank
        root = node.owner.name if isinstance(node.owner, Name) and node.owner.name not in scope.names else None
        owner = self.source[node.start : node.path[0][1]].rstrip(" \t\r\n.")

        def label(index: int, name: object) -> str:
            steps = [step if isinstance(step, str) else "(…)" for step, _ in node.path[:index]]
            return ".".join([owner, *steps, f"{name!s:.80}"])

        def read(run: Any, base: object, name: object, index: int) -> Any:
            offset = node.path[index][1]
            try:
                found = look_up(base, name)
            except TemplateError:
                raise
            except Exception as error:
                if self.rules.compat:
                    return ABSENT
                message = f"Reading the property {label(index, name)!r} raised {type(error).__name__}."
                raise fault(TemplateError, message, self.source, offset) from error
            if found is DENIED:
                message = f"The property {label(index, name)!r} is not for templates: they read data, nothing inner."
                raise fault(UnsafeTemplateError, message, self.source, offset)
            if found is ABSENT and not lenient:
                if not isinstance(run, Variables):
                    raise Retry
                if self.rules.keep:
                    raise Keep
                if base is not None or root not in run.absent:
                    run.miss(label(index, name), offset, base, name)
            return found

        return read

    # Bodies

    def _map(self, node: Map, getters: list[Getter], scope: Scope) -> Getter:
        live = any(has_body(value, scope.live) for value in node.values)
        stages = [
            [self._target(target, scope, live=live or index > 0) for target in stage]
            for index, stage in enumerate(node.stages)
        ]

        def mapped(run: Any) -> Any:
            if len(getters) > 1:
                value: Any = _zipped(run, [get(run) for get in getters], stages[0][0])
                rest = stages[1:]
            else:
                value = getters[0](run)
                rest = stages
            for codes in rest:
                value = _applied(run, value, codes)
            return value

        return mapped

    def _target(self, target: Body | Include, scope: Scope, *, live: bool) -> Any:
        return self.body(target if isinstance(target, Body) else Body((), (), mapped=False), scope, live=live)


def _nothing(_: Any) -> None:
    return None


def _applied(run: Any, value: Any, codes: list[Any]) -> Any:
    """Apply bodies in turn to each element of a value; ``None`` elements stay, uncounted."""
    if value is None:
        return None
    elements = elements_of(run, value)
    if elements is None:
        return Pending(codes[0], (value,), 1)
    pending: list[Pending | None] = []
    number = 0
    for element in elements:
        if element is None:
            pending.append(None)
        else:
            number += 1
            pending.append(Pending(codes[(number - 1) % len(codes)], (element,), number))
    return pending


def _zipped(run: Any, values: list[Any], code: Any) -> list[Pending]:
    """Apply a body to values side by side until the longest ends; what is missing is ``None``."""
    columns = []
    for value in values[: len(code.keys) + len(INDEXES)]:
        elements = () if value is None else elements_of(run, value)
        columns.append([value] if elements is None else [*elements])
    return [Pending(code, row, number) for number, row in enumerate(zip_longest(*columns), 1)]
