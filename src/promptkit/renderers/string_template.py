"""Render StringTemplate templates, Spring AI's language: names in braces, properties, lists, conditions, layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import itemgetter

from attrs import field, frozen

from promptkit._frozen import FrozenDict, Value
from promptkit.errors import TemplateError, TemplateSyntaxError
from promptkit.renderers._st_code import Rules
from promptkit.renderers._st_fill import Fill, UnfitError
from promptkit.renderers._st_layout import Layout
from promptkit.renderers._st_nodes import FUNCTIONS, INDEXES, Newline, Text, free_names, sure_names
from promptkit.renderers._st_parser import Parser, Syntax
from promptkit.renderers._st_rendering import Op, Rendering
from promptkit.renderers._st_slots import Filler
from promptkit.renderers.base import (
    TemplateRenderer,
    ValidationMode,
    fault,
    missing_variables,
    refuse_variables,
    warn_missing,
)

__all__ = ["StringTemplate", "StringTemplateRenderer"]


@frozen(eq=False)
class StringTemplate:
    """Hold a parsed template; a `CompiledTemplate`.

    It pickles by its source and renderer.
    """

    source: str = field(repr=False)
    renderer: StringTemplateRenderer
    variables: tuple[str, ...]
    """The names that must be given, in order of first appearance."""
    optional_variables: tuple[str, ...]
    """No name: what an if tests must be given too, ``None`` if need be."""
    literals: tuple[str, ...]
    """The groups that ``literal_braces`` took as text, in order."""
    _places: Mapping[str, int] = field(repr=False)
    _count: int = field(repr=False)
    _unsure: Callable[[Mapping[str, object]], object] | None = field(repr=False)
    """Raise `KeyError` if a name is not given that filling may not come to."""
    _fill: Filler | None = field(repr=False)
    _ops: Callable[[], tuple[Op, ...]] = field(repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        return _parsed, (self.renderer, self.source)

    def render(self, variables: Mapping[str, object], /) -> str:
        """Fill in the variables."""
        kind = type(variables)
        if self._fill is not None and (kind is dict or kind is FrozenDict):
            try:
                if self._unsure is not None:
                    self._unsure(variables)
                if len(variables) == self._count or "." not in "".join(variables):
                    return self._fill(variables)
            except Exception:  # noqa: BLE001, S110 - the careful way finds it again, and says what it is
                pass
        return self._render_carefully(variables)

    def _render_carefully(self, variables: Mapping[str, object]) -> str:
        refuse_variables(variables)
        dotted = next((name for name in variables if "." in name), None)
        if dotted is not None:
            raise TemplateError(f"The variable {dotted!r} has a dot in its name, so no tag could reach it. Rename it.")
        try:
            return self._print(self._given(variables), variables)
        except RecursionError as error:
            raise TemplateError("The template, or a value in it, nests too deeply to be printed.") from error

    def _given(self, variables: Mapping[str, object]) -> dict[str, object]:
        given = {}
        for name, offset in self._places.items():
            try:
                if name in variables:
                    given[name] = variables[name]
            except Exception as error:
                message = f"Looking up the variable {name!r} raised {type(error).__name__}: {error!s:.200}"
                raise fault(TemplateError, message, self.source, offset) from error
        return given

    def _print(self, given: dict[str, object], variables: Mapping[str, object]) -> str:
        renderer = self.renderer
        mode = renderer.validation
        absent = [name for name in self._places if name not in given]
        run = Rendering({**dict.fromkeys(absent), **given}, frozenset(absent), renderer.rules)
        failure: Exception | None = None
        try:
            run.run_ops(self._ops())
        except Exception as error:  # noqa: BLE001 - what is missing is the better news
            failure = error
        lost = {name: self._places[name] for name in absent if name not in self.optional_variables}
        lost.update((label, offset) for label, (offset, _) in run.misses.items())
        names = sorted(lost, key=lost.__getitem__)
        if lost and mode is ValidationMode.THROW:
            meant = {label: meant for label, (_, meant) in run.misses.items() if meant}
            raise missing_variables(names, variables, self.source, lost[names[0]], meant=meant)
        if failure is not None:
            raise failure
        if lost and mode is ValidationMode.WARN:
            warn_missing(names)
        return "".join(run.out)


@frozen(repr=False, cache_hash=True)
class StringTemplateRenderer(Value, TemplateRenderer):
    r"""Render the language of StringTemplate 4 as Spring AI uses it, with braces and without silent losses.

    A tag is ``{name}``, ``{user.name}``, ``{names; separator=", "}``, ``{names:{name|- {name}}}``,
    ``{if(name)}…{else}…{endif}`` or the call of a function as in ``{first(names)}``; ``\{`` prints a brace.
    A line whose tags all print nothing vanishes, and the later lines of a value get the indent of its tag. Values are
    printed as they are, never parsed. Where StringTemplate drops text or stops without a word this renderer raises.
    A template nests at most 50 levels deep; how much its loops print is bounded only by the values.
    The renderer is a value: it compares, hashes and pickles by its options.

    Args:
        start: The character that opens a tag.
        end: The character that closes it; it may be the same.
        validation: What to do with a variable or property that was not given.
        literal_braces: Take a group in delimiters that is no clean expression as text, so that JSON needs no escapes;
            `StringTemplate.literals` lists what was taken. What looks like a misspelt name or directive is refused.
        auto_indent: Whether the later lines of a value are indented as its tag is.
        compat: Print what StringTemplate 4.3.4 prints wherever it prints anything: unknown letters and calls are
            dropped, missing properties print nothing, ``{{x}}`` prints ``x``, carriage returns vanish.

    >>> render = StringTemplateRenderer().apply
    >>> render("Dear {user.name}, {topics; separator=' and '}.".replace("'", '"'), {
    ...     "user": {"name": "Ada"}, "topics": ["tea", "cats"]})
    'Dear Ada, tea and cats.'
    """

    start: str = field(default="{", kw_only=True)
    end: str = field(default="}", kw_only=True)
    validation: ValidationMode = field(default=ValidationMode.THROW, kw_only=True)
    literal_braces: bool = field(default=False, kw_only=True)
    auto_indent: bool = field(default=True, kw_only=True)
    compat: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for option, delimiter in (("start", self.start), ("end", self.end)):
            if not isinstance(delimiter, str) or not _is_delimiter(delimiter):
                message = f"The delimiter {option}={delimiter!r:.40} must be one character that is no letter, digit"
                raise TemplateError(f"{message}, space, '_', '-', '\\\\' or '\"'.")
        if not isinstance(self.validation, ValidationMode):
            raise TemplateError(f"The validation mode must be a ValidationMode, not {self.validation!r:.40}.")
        if self.compat and self.literal_braces:
            raise TemplateError("compat=True drops the braces that literal_braces=True keeps. Choose one of them.")

    @property
    def rules(self) -> Rules:
        """How values are treated while printing."""
        return Rules(
            compat=self.compat,
            blank=self.compat or self.validation is ValidationMode.NONE,
            keep=self.validation is ValidationMode.KEEP,
            auto_indent=self.auto_indent,
        )

    def parse(self, source: str) -> StringTemplate:
        """Parse a source into its compiled form."""
        try:
            return self._parse(source)
        except RecursionError as error:
            message = "The template nests too deeply for what is left of the stack."
            raise fault(TemplateSyntaxError, message, source, 0) from error

    def _parse(self, source: str) -> StringTemplate:
        syntax = Parser(source, self.start, self.end, compat=self.compat, literal=self.literal_braces).parse()
        places: dict[str, int] = {}
        tags = [element for element in syntax.template if not isinstance(element, Text | Newline)]
        for tag in tags:
            for name, offset in free_names(tag):
                places.setdefault(name, offset)
        if self.compat:  # there these two never mean a variable, and a function's name never must be given
            places = {name: offset for name, offset in places.items() if name not in INDEXES}
        sure = {name for tag in tags for name in sure_names(tag)}
        unsure = [name for name in places if name not in sure]
        optional = tuple([name for name in places if self.compat and name in FUNCTIONS])
        return StringTemplate(
            source=syntax.source,
            renderer=self,
            variables=tuple([name for name in places if name not in optional]),
            optional_variables=optional,
            literals=syntax.literals,
            places=places,
            count=len(places),
            unsure=itemgetter(*unsure) if unsure else None,
            fill=self._filler(syntax),
            ops=cache(lambda: Layout(syntax.source, self.rules).program(syntax.template)),
        )

    def _filler(self, syntax: Syntax) -> Filler | None:
        try:
            return Fill(syntax.source, self.rules).filler(syntax.template)
        except UnfitError:
            return None


def _is_delimiter(delimiter: str) -> bool:
    return len(delimiter) == 1 and not (f"_{delimiter}".isidentifier() or delimiter.isspace() or delimiter in '-\\"')


def _parsed(renderer: StringTemplateRenderer, source: str) -> StringTemplate:
    return renderer.parse(source)
