"""Print a template exactly: compile its elements into operations on a `Rendering`.

Whether a newline of the template is printed depends on what came just before it, which is known here except behind an
if, and on whether the line is still empty, which the rendering knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from promptkit.errors import TemplateError
from promptkit.renderers._st_code import Code, Getter, Rules, Scope
from promptkit.renderers._st_nodes import (
    INDEXES,
    Body,
    Element,
    Expression,
    If,
    Indented,
    Literal,
    Map,
    Newline,
    Tag,
    Template,
    Text,
    free_names,
    has_body,
    loop_of,
)
from promptkit.renderers._st_rendering import BodyCode, Op, Rendering
from promptkit.renderers._st_values import Cut, Keep, elements_of, spread
from promptkit.renderers.base import fault, place_of

__all__ = ["Layout"]

_NEWLINE = "newline"
_OTHER = "other"
_IF = "if"


class Layout(Code):
    """Compile a template into operations on a `Rendering`."""

    def __init__(self, source: str, rules: Rules) -> None:
        super().__init__(source, rules)
        self._count = 0

    def program(self, template: Template) -> tuple[Op, ...]:
        """Compile the outermost template; a newline that begins it is printed."""
        return self._block(template, Scope({}), _NEWLINE)[0]

    def body(self, node: Body, scope: Scope, *, live: bool) -> BodyCode:
        """Compile a body."""
        keys = tuple(range(self._count, self._count + len(node.names)))
        from_one, from_zero = self._count + len(keys), self._count + len(keys) + 1
        self._count = from_zero + 1
        names = {**scope.names, **dict(zip(node.names, keys, strict=True))}
        if node.mapped or self.rules.compat:
            names.update(zip(INDEXES, (from_one, from_zero), strict=True))
        inherited = scope.live.difference(node.names)
        ops, _ = self._block(node.template, Scope(names, inherited.union(node.names) if live else inherited), _OTHER)
        return BodyCode(keys, from_one, from_zero, ops)

    def to_text(self, node: Expression, scope: Scope, *, lenient: bool) -> Getter:
        """Compile an expression whose value becomes text at once."""
        get = self.value(node, scope, lenient=lenient)
        show = self.rules.show
        if not has_body(node, scope.live):
            return lambda run: None if (value := get(run)) is None else spread(run, value, None, None, show)

        def captured(run: Rendering) -> str | None:
            value = get(run)
            return None if value is None else run.capture(lambda: run.put_any(value, None, None))

        return captured

    # Elements: each adds its operation and says what the next newline comes after.

    def _block(self, template: Template, scope: Scope, before: str) -> tuple[tuple[Op, ...], str]:
        ops: list[Op] = []
        for element in template:
            op, before = self._element(element, scope, before)
            if op is not None:
                ops.append(op)
        return tuple(ops), before

    def _element(self, element: Element, scope: Scope, before: str) -> tuple[Op | None, str]:
        match element:
            case Text(text):
                if self.rules.compat:
                    text = text.replace("\r", "")
                return _text(text) if text else None, _OTHER
            case Newline():
                return {_NEWLINE: _newline, _OTHER: _newline_if_printed, _IF: _newline_after_if}[before], _NEWLINE
            case Indented(indent, inner):
                return self._indented(indent, inner, scope), _OTHER
            case Tag():
                used = [element.value, *(option for _, option in element.options)]
                return self._kept(self._placed(self._tag(element, scope), element.start), element, used, scope), _OTHER
            case If():
                return self._if(element, scope)

    def _indented(self, indent: str, inner: Element | None, scope: Scope) -> Op | None:
        if inner is None:
            return None
        op, _ = self._element(inner, scope, _NEWLINE)
        if op is None:
            return None

        def indented(run: Rendering) -> None:
            outer = run.indent
            run.set_prefix(outer + indent, run.anchor)
            op(run)
            run.set_prefix(outer, run.anchor)

        return indented

    def _if(self, node: If, scope: Scope) -> tuple[Op, str]:
        branches = []
        for branch in node.branches:
            ops, before = self._block(branch.template, scope, _OTHER)
            # StringTemplate jumps from the end of a branch to the end of the if, but not from the last one.
            before = before if branch is node.branches[-1] else _OTHER
            branches.append((self.test(branch.test, scope), ops, before))

        def choose(run: Rendering) -> None:
            run.follows_newline = False
            for test, ops, before in branches:
                if test(run):
                    for op in ops:
                        op(run)
                    if before is not _IF:
                        run.follows_newline = before is _NEWLINE
                    return

        used = [branch.test for branch in node.branches]
        op = self._kept(self._placed(choose, node.start), node, used, scope)
        return op, _OTHER if branches[-1][2] is _OTHER else _IF

    def _kept(self, op: Op, node: Tag | If, used: list[Expression], scope: Scope) -> Op:
        """Let a tag stay as it is written when a name or property that it uses itself is missing."""
        if not self.rules.keep:
            return op
        own = frozenset(name for tree in used for name, _ in _own_names(tree) if name not in scope.names)
        source = self.source[node.start : node.end]

        def kept(run: Rendering) -> None:
            if own.isdisjoint(run.absent):
                try:
                    op(run)
                except Keep:
                    pass
                else:
                    return
            run.put(source, verbatim=True)

        return kept

    def _placed(self, op: Op, start: int) -> Op:
        """Give an error of a value the place of its tag."""

        def placed(run: Rendering) -> None:
            try:
                op(run)
            except (Cut, Keep, RecursionError):
                raise
            except TemplateError as error:
                if error.line is None:
                    error.line, error.column, error.excerpt = place_of(self.source, start)
                raise
            except Exception as error:
                message = f"A value raised {type(error).__name__} while it was printed: {error!s:.200}"
                raise fault(TemplateError, message, self.source, start) from error

        return placed

    # Tags

    def _tag(self, node: Tag, scope: Scope) -> Op:
        options = dict(node.options)
        separator = self._option(options.get("separator"), scope)
        null = self._option(options.get("null"), scope)
        lenient = "null" in options
        loop = loop_of(node.value)
        if loop is not None:
            op = self._loop(*loop, scope, separator, null, lenient=lenient)
        else:
            op = self._print(node.value, scope, separator, null, lenient=lenient)
        anchor = options.get("anchor")
        return op if anchor is None else self._anchored(op, self.value(anchor, scope))

    def _option(self, node: Expression | None, scope: Scope) -> Getter:
        if node is None:
            return lambda _: None
        if isinstance(node, Literal) and isinstance(node.value, str):
            text = node.value
            return lambda _: text
        return self.to_text(node, scope, lenient=False)

    def _anchored(self, op: Op, anchor: Getter) -> Op:
        def anchored(run: Rendering) -> None:
            if anchor(run) is None:
                op(run)
                return
            outer = run.anchor
            run.set_prefix(run.indent, run.column())
            op(run)
            run.set_prefix(run.indent, outer)

        return anchored

    def _print(self, node: Expression, scope: Scope, separator: Getter, null: Getter, *, lenient: bool) -> Op:
        get = self.value(node, scope, lenient=lenient)
        show = self.rules.show
        if has_body(node, scope.live):

            def print_any(run: Rendering) -> None:
                value = get(run)
                if run.put_any(value, separator(run), null(run)):
                    run.mark = -1

            return print_any

        def print_value(run: Rendering) -> None:
            value = get(run)
            if type(value) is not str:
                value = spread(run, value, separator(run), null(run), show)
            if value:
                run.put_value(value)

        return print_value

    def _loop(
        self, value: Expression, body: Body, scope: Scope, separator: Getter, null: Getter, *, lenient: bool
    ) -> Op:
        """Compile the usual loop: print each element at once."""
        get = self.value(value, scope, lenient=lenient)
        code = self.body(body, scope, live=has_body(value, scope.live))
        ops = code.ops
        key = code.keys[0]

        def loop(run: Rendering) -> None:
            value = get(run)
            between, instead = separator(run), null(run)
            elements = elements_of(run, value)
            if elements is None:
                elements = (value,)
            before = run.printed
            seen = False
            number = 0
            for element in elements:
                if element is None:
                    if instead is None:
                        continue
                    if seen and between:
                        run.put_within(between)
                    if instead:
                        run.put_within(instead)
                        seen = True
                    continue
                if seen and between:
                    run.put_within(between)
                run[key] = element
                run[code.from_zero] = number
                number += 1
                run[code.from_one] = number
                start = run.printed
                try:
                    for op in ops:
                        op(run)
                except Cut:
                    pass
                seen = seen or run.printed > start
            if run.printed > before:
                run.mark = -1

        return loop


def _own_names(tree: Expression) -> Iterator[tuple[str, int]]:
    """Give the names that an expression takes from outside, apart from those in the bodies it applies."""
    if isinstance(tree, Map):
        for value in tree.values:
            yield from _own_names(value)
    elif not isinstance(tree, Body):
        yield from free_names(tree)


def _text(text: str) -> Op:
    def put(run: Rendering) -> None:
        if run.prefix:
            run.put(text)
        else:
            run.out.append(text)

    return put


def _newline(run: Rendering) -> None:
    run.break_line()
    run.mark = len(run.out)


def _newline_if_printed(run: Rendering) -> None:
    if len(run.out) > run.mark:
        run.break_line()
    run.mark = len(run.out)


def _newline_after_if(run: Rendering) -> None:
    if run.follows_newline or len(run.out) > run.mark:
        run.break_line()
    run.mark = len(run.out)
