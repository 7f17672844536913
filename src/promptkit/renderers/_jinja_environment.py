"""Teach jinja2's sandbox what promptkit asks for: exact places, blank ``None``, bounded widths, rooted includes.

The classes are mixins; `build_environment` completes them, so that jinja2 is loaded with the first Jinja template.

What jinja2 takes for line numbers are offsets here, plus one. Nodes, syntax errors and the table that leads from
compiled code back to the template carry them along unread, and so every error has its column.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from attrs import frozen

from promptkit.errors import PromptkitError, TemplateNotFoundError, TemplateSyntaxError
from promptkit.renderers._jinja_limits import bound_filters, check_format, check_operands, check_widths
from promptkit.renderers._jinja_names import Survey, survey
from promptkit.renderers._jinja_undefined import Forgiving, Strict, collecting
from promptkit.renderers.base import fault, nearest

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.compiler import CodeGenerator as CodeGeneratorBase
    from jinja2.lexer import Lexer as LexerBase
    from jinja2.sandbox import ImmutableSandboxedEnvironment as EnvironmentBase
else:
    CodeGeneratorBase = LexerBase = EnvironmentBase = object

__all__ = ["Sandbox", "Unit", "build_environment"]

_DICT_ATTRIBUTES = frozenset(dir(dict))
_PLAIN = frozenset((str, int, float, bool, type(None)))
_GUARDED = ("_", "co_", "f_", "tb_", "gi_", "cr_", "ag_")
"""How the private names and those of code, frames, tracebacks and generators begin; jinja2's own checks judge them."""


@frozen(eq=False)
class Unit:
    """Hold a compiled template with its text and what the walk over it found."""

    template: Template
    source: str
    survey: Survey


class OffsetLexer(LexerBase):
    """Give each token its offset in the text, and text as it stands, line ends included."""

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Tokenize a source."""
        from jinja2 import TemplateSyntaxError as Refusal

        text = source.replace("\r\n", "\n").replace("\r", "\n")
        folded = [match.start() - index for index, match in enumerate(re.finditer("\r\n", source))]

        def original(position: int) -> int:
            return position + bisect_left(folded, position)

        start = end = 0
        try:
            for _, kind, value in super().tokeniter(source, name, filename, state):
                start = text.index(value, end)
                end = start + len(value)
                offset = original(start) + 1
                if kind == "name" and not value.isascii() and normalize("NFKC", value) != value:
                    end = start
                    raise Refusal(f"write {value!r} as {normalize('NFKC', value)!r}", offset)
                yield offset, kind, source[offset - 1 : original(end)] if kind == "data" else value
        except Refusal as error:
            error.lineno = original(start if "Missing end" in str(error.message) else end) + 1
            raise

    def _normalize_newlines(self, value: str) -> str:
        return value


class Generator(CodeGeneratorBase):
    """Print through the environment where missing names are forgiven, and blank ``None`` in ``~``."""

    def visit_Template(self, node: Any, frame: Any = None) -> None:  # noqa: N802 - jinja2's name
        """Write the module."""
        self.resolved: set[str] = node.resolved
        super().visit_Template(node, frame)

    def enter_frame(self, frame: Any) -> None:
        """Write a frame's beginning, and note the names that it looks up from outside."""
        super().enter_frame(frame)
        self.resolved.update(name for action, name in frame.symbols.loads.values() if action == "resolve")

    def visit_Output(self, node: Any, frame: Any) -> None:  # noqa: N802 - jinja2's name
        """Write ``{{ a }}`` and text."""
        if not self.environment.forgiving:  # type: ignore[attr-defined]
            super().visit_Output(node, frame)
            return
        for child in node.nodes:
            if type(child).__name__ == "TemplateData":
                super().visit_Output(type(node)([child], lineno=child.lineno), frame)
            elif not (frame.require_output_check and self.has_known_extends):
                self._print_forgiving(child, frame)

    def _print_forgiving(self, node: Any, frame: Any) -> None:
        written = repr(getattr(node, "written", ""))
        if frame.require_output_check:
            self.writeline("if parent_template is None:")
            self.indent()
        self.writeline("_mark = environment.mark()")
        self.writeline("try:")
        self.indent()
        self.writeline("_printed = environment.printed(_mark, ", node)
        self.visit(node, frame)
        self.write(f", {written})")
        self.outdent()
        self.writeline("except Exception:")
        self.indent()
        self.writeline(f"_printed = environment.excused(_mark, {written})")
        self.outdent()
        self.start_write(frame)
        finalize = self._make_finalize()
        self._output_child_pre(node, frame, finalize)
        self.write("_printed")
        self._output_child_post(node, frame, finalize)
        self.end_write(frame)
        if frame.require_output_check:
            self.outdent()

    def visit_Concat(self, node: Any, frame: Any) -> None:  # noqa: N802 - jinja2's name
        """Write ``a ~ b``."""
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_Concat(node, frame)
            return
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Sandbox(EnvironmentBase):
    """Compile and hold the templates of one renderer.

    Args:
        read: Gives the text of another template by name, or ``None``; raises when a name leaves the root.
        forgiving: Whether missing names print nothing, or with ``keep`` what was written.
    """

    intercepted_binops = frozenset({"*", "**", "%"})
    lexer_class: type[OffsetLexer]
    finalize: Callable[[Any], Any]

    def __init__(
        self,
        *,
        read: Callable[[str], str | None] | None,
        names: Iterable[str],
        own_globals: frozenset[str],
        forgiving: bool,
        keep: bool,
        **settings: Any,
    ) -> None:
        super().__init__(keep_trailing_newline=True, cache_size=0, loader=_Loader(), **settings)
        self.read = read
        self.names = names
        self.own_globals = own_globals
        self.forgiving = forgiving
        self.keep = keep
        self.units: dict[str, Unit] = {}
        self.lock = RLock()
        del self.globals["lipsum"]  # random text, as long as the template likes
        bound_filters(self.filters)

    @cached_property
    def lexer(self) -> OffsetLexer:
        """Give the lexer."""
        return self.lexer_class(self)

    # -- compiling

    def unit(self, name: str, stack: tuple[str, ...] = ()) -> Unit:
        """Give another template, compiled once."""
        from jinja2 import TemplateNotFound

        with self.lock:
            if name not in self.units:
                source = None if self.read is None else self.read(name)
                if source is None:
                    raise TemplateNotFound(name)
                self.units[name] = self.build(source, name, stack)
            return self.units[name]

    def survey_of(self, name: str, stack: tuple[str, ...]) -> Survey | None:
        """Give what another template asks for."""
        from jinja2 import TemplateNotFound

        if name in stack:
            return None
        try:
            return self.unit(name, stack).survey
        except TemplateNotFound as error:
            raise TemplateNotFoundError(self.absent(str(error.name))) from None

    def absent(self, name: str) -> str:
        """Say that a template does not exist."""
        if self.read is None:
            return f"There is no template {name!r}. Give JinjaRenderer the others: templates=, directory= or package=."
        return f"There is no template {name!r}{nearest(name, self.names)}. Add it, or name another."

    def build(self, source: str, name: str | None, stack: tuple[str, ...] = ()) -> Unit:
        """Parse, walk and compile a source.

        Raises:
            TemplateSyntaxError: With its place.
        """
        from jinja2 import TemplateSyntaxError as Refusal

        try:
            tree = self._parse(source, name, None)
            found = survey(tree, source, self, name, (*stack, name) if name else stack)
            tree.resolved = found.resolved  # type: ignore[attr-defined]
            if self.keep:
                self._note_placeholders(tree, source)
            code = self._compile(self._generate(tree, name, None), name or "<template>")
        except Refusal as error:
            message = re.sub(r" at \d+$", "", str(error.message)).rstrip(".")
            raise fault(
                TemplateSyntaxError,
                f"{message[:1].upper()}{message[1:]}.",
                source,
                error.lineno - 1,
                template_name=name,
            ) from None
        except PromptkitError:
            raise
        except Exception as error:
            deep = isinstance(error, RecursionError | MemoryError) or "nested" in str(error)
            reason = "it nests deeper than Python can compile" if deep else f"{error!s:.200}".partition(" (")[0]
            message = f"The template does not compile: {reason}. Split it with macros or includes, or correct it."
            raise fault(TemplateSyntaxError, message, source, 0, template_name=name) from error
        return Unit(self.template_class.from_code(self, code, self.make_globals(None)), source, found)

    def _note_placeholders(self, tree: Any, source: str) -> None:
        """Write onto each printed expression the text of its placeholder."""
        from jinja2.nodes import Output, TemplateData

        begins: list[int] = []
        ends: list[int] = []
        for offset, kind, value in self.lexer.tokeniter(source, None):
            if kind in {"variable_begin", "block_begin"}:
                begins.append(offset)
            elif kind in {"variable_end", "block_end"}:
                ends.append(offset - 1 + len(value.rstrip()))
        for output in tree.find_all(Output):
            for node in output.nodes:
                if not isinstance(node, TemplateData):
                    index = bisect_left(begins, node.lineno) - 1
                    node.written = source[begins[index] - 1 : ends[index]]

    # -- rendering

    def mark(self) -> tuple[int, int]:
        """Count what was seen before an expression."""
        seen = collecting.get()
        return len(seen.touched), len(seen.made)

    def printed(self, mark: tuple[int, int], value: Any, written: str) -> Any:
        """Give an expression's value, or what stands for it when it touched a missing name."""
        seen = collecting.get()
        if isinstance(value, self.undefined):
            seen.touched.append(value)
            return written
        return written if self.keep and len(seen.touched) > mark[0] else value

    def excused(self, mark: tuple[int, int], written: str) -> str:
        """Give what stands for an expression that failed over a missing name; let other failures through."""
        seen = collecting.get()
        if (len(seen.touched), len(seen.made)) == mark:
            raise  # noqa: PLE0704 - called while the failure is handled
        seen.touched += seen.made[mark[1] :]
        return written

    def joined(self, values: Iterable[Any]) -> str:
        """Join the operands of ``~``."""
        return "".join([str(self.finalize(value)) for value in values])

    # -- the sandbox

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Read ``obj.attribute`` as jinja2 does, with a short way for plain values in dicts and objects."""
        if type(obj) is dict and attribute not in _DICT_ATTRIBUTES:
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        try:
            value = getattr(obj, attribute)
        except AttributeError:
            try:
                return obj[attribute]
            except (TypeError, LookupError):
                return self.undefined(obj=obj, name=attribute)
        if type(value) in _PLAIN and not attribute.startswith(_GUARDED):
            return value
        formatter = self.wrap_str_format(value)
        if formatter is not None:
            return formatter
        return value if self.is_safe_attribute(obj, attribute, value) else self.unsafe_undefined(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Read ``obj[argument]``; a missing argument gives itself, so that the error names it."""
        return argument if isinstance(argument, self.undefined) else super().getitem(obj, argument)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Any:
        """Refuse at once: an undefined value could still be tested."""
        from jinja2.exceptions import SecurityError

        raise SecurityError(f"A template never reads {attribute!r} of {type(obj).__name__!r}")

    def call(self, context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what the template calls."""
        from jinja2.exceptions import SecurityError

        if not self.is_safe_callable(function):
            name = getattr(type(function), "__name__", "object")
            raise SecurityError(f"A template never calls this {name!r}: it is marked as unsafe")
        if isinstance(getattr(function, "__self__", None), str | bytes | int):
            check_widths(args, kwargs)
        return context.call(function, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Apply ``*``, ``**`` and ``%`` within their bounds."""
        check_operands(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Any:
        """Bound the widths of ``str.format`` beside keeping it inside the sandbox."""
        function = super().wrap_str_format(value)
        if function is not None:
            check_format(value.__self__)
        return function


class _Loader:
    """Lead jinja2's ``include``, ``import`` and ``extends`` to the renderer's own reader."""

    def load(self, environment: Sandbox, name: str, _: object = None) -> Template:
        return environment.unit(name).template


def build_environment(
    *,
    finalize: Callable[[Any], Any],
    filters: Mapping[str, Callable[..., Any]],
    tests: Mapping[str, Callable[..., Any]],
    own_globals: Mapping[str, Any],
    forgiving: bool,
    keep: bool,
    read: Callable[[str], str | None] | None,
    names: Iterable[str],
) -> Sandbox:
    """Make the environment of one renderer."""
    from jinja2.compiler import CodeGenerator
    from jinja2.lexer import Lexer
    from jinja2.runtime import StrictUndefined, Undefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    bases: dict[type, type] = {
        Generator: CodeGenerator,
        OffsetLexer: Lexer,
        Sandbox: ImmutableSandboxedEnvironment,
        Strict: StrictUndefined,
        Forgiving: Undefined,
    }
    ready = {mixin: type(mixin.__name__, (mixin, base), {"__slots__": ()}) for mixin, base in bases.items()}
    ready[Sandbox].code_generator_class = ready[Generator]  # type: ignore[attr-defined]
    ready[Sandbox].lexer_class = ready[OffsetLexer]  # type: ignore[attr-defined]
    environment: Sandbox = ready[Sandbox](
        finalize=finalize,
        undefined=ready[Forgiving if forgiving else Strict],
        read=read,
        names=names,
        own_globals=frozenset(own_globals),
        forgiving=forgiving,
        keep=keep,
    )
    environment.filters.update(filters)
    environment.tests.update(tests)
    environment.globals.update(own_globals)
    return environment
