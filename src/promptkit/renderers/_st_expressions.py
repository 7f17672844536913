"""Parse the inside of tags by recursive descent: values, bodies, functions, conditions and options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from promptkit.errors import TemplateError, TemplateSyntaxError, UnsafeTemplateError
from promptkit.renderers._st_lexer import Lexer, TagError, Token
from promptkit.renderers._st_nodes import (
    FUNCTIONS,
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
    Template,
    ToText,
)
from promptkit.renderers.base import fault, nearest

__all__ = ["CONSTANTS", "DIRECTIVES", "MAX_DEPTH", "ExpressionParser", "Stop"]

MAX_DEPTH = 50
"""Deepest nesting of bodies, conditions, parentheses and lists, and longest chain of bodies."""

DIRECTIVES = ("if", "elseif", "else", "endif")
"""The names that are no variables because they steer the template."""

CONSTANTS = {"true": True, "false": False}
"""The names that are no variables because they are values."""

_OPTIONS = ("separator", "null", "anchor", "wrap", "format")
_DEFAULTS = {"anchor": Literal(value=True), "wrap": Literal("\n")}


class Stop(NamedTuple):
    """Say what ended a run of elements: ``end``, ``close`` or a directive, with its condition."""

    kind: str
    start: int
    test: Expression | None = None


class ExpressionParser(ABC):
    """Parse what stands in tags; a subclass parses what stands between them.

    Args:
        source: The template's text.
        start: The delimiter that opens a tag.
        end: The delimiter that closes it.
        compat: Accept what StringTemplate accepts.
        literal: Accept only what cannot be meant as text.
    """

    def __init__(self, source: str, start: str, end: str, *, compat: bool, literal: bool) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.compat = compat
        self.literal = literal
        self.lexer = Lexer(source, start, end, compat=compat, literal=literal)
        self.depth = 0
        self.bodies = 0
        """How many bodies were read: a tag that has one is meant as a tag, whatever is wrong with it."""
        self.in_body = False

    @abstractmethod
    def _elements(self) -> tuple[Template, Stop]:
        """Parse up to the end of the source, of the body or of the branch."""

    def _options(self) -> tuple[tuple[str, Expression], ...]:
        options = [self._option()]
        while self._accept(","):
            options.append(self._option())
        return tuple([option for option in options if option is not None])

    def _option(self) -> tuple[str, Expression] | None:
        token = self._expect("name", "Expected the name of an option")
        known = token.text in _OPTIONS
        if not known and not self.compat:
            hint = nearest(token.text, _OPTIONS)
            message = f"There is no option {token.text!r}{hint}. The options are {', '.join(_OPTIONS)}."
            raise TagError(message, token.start, fatal=bool(hint))
        if self._accept("="):
            value = self._simple(in_option=True)
            return (token.text, value) if known else None
        if token.text in _DEFAULTS:
            return token.text, _DEFAULTS[token.text]
        if self.compat:
            return None
        raise TagError(f'The option {token.text!r} needs a value: {token.text}="…".', token.start, fatal=True)

    # Expressions

    def _value(self, *, inner: bool = True) -> Expression:
        """Parse members and the bodies that are applied to them; ``inner`` ones are not the tag's own value."""
        values = [self._member(inner=inner)]
        while self._accept(","):
            values.append(self._member(inner=inner))
        stages: list[tuple[Body | Include, ...]] = []
        while self._accept(":"):
            stage = [self._target(1 if stages else len(values))]
            while len(values) == 1 and self._accept(","):
                stage.append(self._target(1))
            stages.append(tuple(stage))
        if len(values) > 1 and not stages:
            token = self.lexer.peek()
            raise TagError("Several values need a body that takes them: {a,b:{x,y|…}}.", token.start)
        if len(stages) > MAX_DEPTH:
            self._too_deep(self.lexer.position)
        return Map(tuple(values), tuple(stages)) if stages else values[0]

    def _simple(self, *, in_option: bool = False) -> Expression:
        value = self._member(inner=True, in_option=in_option)
        return Map((value,), ((self._target(1),),)) if self._accept(":") else value

    def _target(self, arguments: int) -> Body | Include:
        token = self.lexer.token()
        if token.kind == "{":
            return self._body(token, arguments)
        if self.compat and token.kind == "name" and self._accept("("):
            return self._include()
        if self.compat and token.kind == "(":
            value = self._value()
            self._expect(")", "Expected ')'")
            self._expect("(", "Expected '('")
            return Include((value, *self._include().arguments))
        raise TagError("Expected a body behind ':', as in {names:{name|…}}.", token.start)

    def _body(self, token: Token, arguments: int) -> Body:
        """Parse a body; ``arguments`` is how many values it is applied to, 0 for one that stands alone."""
        names = tuple(self.lexer.body_names())
        if not self.compat and len(names) != arguments:
            self._refuse_names(token, names, arguments)
        if len(set(names)) < len(names) or not set(INDEXES).isdisjoint(names):
            raise TagError(
                "The names of a body must differ from each other, and from 'i' and 'i0'.", token.start, fatal=True
            )
        self._deepen(token.start)
        self.bodies += 1
        outer = self.in_body, self.lexer.groups
        self.in_body, self.lexer.groups = True, []
        template, stop = self._elements()
        if stop.kind != "close":
            ended = stop.kind == "end"
            problem = "This body is never closed. Write '}'." if ended else f"This body has {stop.kind!r} without if."
            raise self._error(problem, token.start)
        self.in_body, self.lexer.groups = outer
        self.depth -= 1
        return Body(names, template, mapped=arguments > 0)

    def _refuse_names(self, token: Token, names: tuple[str, ...], arguments: int) -> NoReturn:
        if not names:
            raise TagError("This body names no value, so it cannot print one. Name it: {names:{name|…}}.", token.start)
        message = f"This body names {len(names)} value(s) but gets {arguments}."
        raise TagError(message, token.start, fatal=True)

    def _member(self, *, inner: bool, in_option: bool = False, in_condition: bool = False) -> Expression:
        start = self.lexer.peek().start
        may_be_body = self.compat or in_option or (inner and not self.literal)
        owner = self._primary(may_be_body=may_be_body, in_condition=in_condition)
        path: list[tuple[str | Expression, int]] = []
        while self._accept("."):
            token = self.lexer.token()
            if token.kind == "(":
                self._deepen(token.start)
                step: str | Expression = self._value()
                self._expect(")", "Expected ')' behind the expression that names the property")
                self.depth -= 1
            elif token.kind == "name" and not (self.compat and self._is_reserved(token.text)):
                step = token.text
            else:
                raise TagError(f"Expected the name of a property behind '.', found {token.text!r}.", token.start)
            self._refuse_private(step, token)
            path.append((step, token.start))
        return Member(owner, tuple(path), start) if path else owner

    def _refuse_private(self, step: str | Expression, token: Token) -> None:
        name = step.value if isinstance(step, Literal) else step
        if isinstance(name, str) and name.startswith("_"):
            message = f"The property {name!r} is private: no template reaches a name that begins with '_'."
            raise self._error(message, token.start, UnsafeTemplateError)

    def _is_reserved(self, name: str) -> bool:
        return name in DIRECTIVES or name in CONSTANTS or (self.compat and name == "super")

    def _primary(self, *, may_be_body: bool, in_condition: bool) -> Expression:
        token = self.lexer.token()
        match token.kind:
            case "name":
                return self._named(token)
            case "string":
                return Literal(token.text)
            case "(":
                return self._parenthesised(token, in_condition=in_condition)
            case "[":
                return self._items(token)
            case "{" if may_be_body:
                return self._body(token, 0)
            case "{":
                raise TagError(
                    "A body alone in a tag would print without its braces, and doubled braces are no escape.",
                    token.start,
                )
        found = "the end of the template" if token.kind == "end" else repr(token.text)
        raise TagError(f"Expected an expression, found {found}.", token.start)

    def _named(self, token: Token) -> Expression:
        if token.text in CONSTANTS:
            return Literal(CONSTANTS[token.text])
        if self._is_reserved(token.text):
            raise TagError(f"{token.text!r} is a directive and no name.", token.start)
        if self.lexer.peek().kind == "(":
            return self._call(token)
        if not self._is_name(token.text):
            raise TagError(f"{token.text!r} is no name: it begins or ends with '-'.", token.start)
        return Name(token.text, token.start)

    def _call(self, token: Token) -> Expression:
        self.lexer.token()
        self._deepen(token.start)
        if token.text in FUNCTIONS:
            argument = None if self.compat and self.lexer.peek().kind == ")" else self._value()
            self._expect(")", f"Expected ')' behind the argument of {token.text!r}")
            self.depth -= 1
            return Call(token.text, argument)
        if not self.compat:
            hint = nearest(token.text, (*FUNCTIONS, *DIRECTIVES))
            message = f"There is no function {token.text!r}{hint}. The functions are {', '.join(FUNCTIONS)}."
            raise TagError(message, token.start, fatal=bool(hint))
        include = self._include()
        self.depth -= 1
        return include

    def _include(self) -> Include:
        """Parse the arguments of a named template, which does not exist."""
        arguments: list[Expression] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",", "Expected ',' between arguments")
            value = self._simple()
            arguments.append(self._simple() if isinstance(value, Name) and self._accept("=") else value)
        return Include(tuple(arguments))

    def _is_name(self, name: str) -> bool:
        if self.compat:
            return name != "super"
        return not (self.literal and (name.startswith("-") or name.endswith("-")))

    def _parenthesised(self, token: Token, *, in_condition: bool) -> Expression:
        self._deepen(token.start)
        value = self._condition() if in_condition else self._value()
        self._expect(")", "Expected ')'")
        if not in_condition and self.compat and self._accept("("):
            value = Include((value, *self._include().arguments))
        elif not in_condition:
            value = ToText(value)
        self.depth -= 1
        return value

    def _items(self, token: Token) -> Expression:
        self._deepen(token.start)
        items: list[Expression] = []
        if not self._accept("]"):
            items.append(self._item())
            while self._accept(","):
                items.append(self._item())
            self._expect("]", "Expected ']' to end the list")
        self.depth -= 1
        return Items(tuple(items))

    def _item(self) -> Expression:
        return Literal(None) if self.lexer.peek().kind in (",", "]") else self._simple()

    def _condition(self) -> Expression:
        return self._logic("||", lambda: self._logic("&&", self._negation))

    def _logic(self, sign: str, operand: Callable[[], Expression]) -> Expression:
        values = [operand()]
        while self._accept(sign):
            values.append(operand())
        return Logic(sign == "&&", tuple(values)) if len(values) > 1 else values[0]

    def _negation(self) -> Expression:
        negated = False
        while self._accept("!"):
            negated = not negated
        value = self._member(inner=True, in_condition=True)
        return Not(value) if negated else value

    # Tokens

    def _accept(self, kind: str) -> bool:
        token = self.lexer.peek()
        if token.kind == kind:
            self.lexer.position = token.end
        return token.kind == kind

    def _expect(self, kind: str, message: str) -> Token:
        token = self.lexer.token()
        if token.kind != kind:
            found = "the end of the template" if token.kind == "end" else repr(token.text)
            raise TagError(f"{message}, found {found}.", token.start)
        return token

    def _deepen(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._too_deep(at)

    def _too_deep(self, at: int) -> NoReturn:
        raise self._error(f"The template nests deeper than {MAX_DEPTH} levels.", at)

    def _error(self, message: str, at: int, kind: type[TemplateError] = TemplateSyntaxError) -> TemplateError:
        return fault(kind, message, self.source, at)
