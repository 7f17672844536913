"""Render Jinja templates in jinja2's immutable sandbox: strict about names, and about what a value prints as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Any, Self

import attrs
from attrs import field, frozen

from promptkit._frozen import FrozenDict, Value, freeze_mapping
from promptkit.errors import (
    PromptkitError,
    TemplateError,
    TemplateNotFoundError,
    UnsafeTemplateError,
)
from promptkit.renderers._jinja_environment import Sandbox, Unit, build_environment
from promptkit.renderers._jinja_undefined import Seen, collecting
from promptkit.renderers._slots import require_mode
from promptkit.renderers.base import (
    TemplateRenderer,
    ValidationMode,
    fault,
    missing_variables,
    refuse_variables,
    spelling,
    warn_missing,
)

__all__ = ["JinjaRenderer"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SCALARS = (str, int, float, bool, type(None))


def _named(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TemplateError(f"Filters, tests and globals are mappings from names, not {value!r:.80}.")
    return MappingProxyType(dict(value))


def _identity(value: Mapping[str, Any]) -> frozenset[tuple[str, type, object]]:
    """Compare functions and objects by identity: two that do the same cannot be told from two that do not."""
    return frozenset((name, type(item), item if type(item) in _SCALARS else id(item)) for name, item in value.items())


def _root(value: str | Path | None) -> Path | None:
    if not isinstance(value, str | Path | None):
        raise TemplateError(f"The directory must be a path, not {value!r:.80}.")
    return None if value is None else Path(value)


def _texts(value: Mapping[str, str] | None) -> FrozenDict | None:
    if value is None:
        return None
    texts = freeze_mapping(value, "templates")
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TemplateError(f"The template {name!r} must be text, not {type(text).__name__!r}.")
    return texts


@frozen(repr=False, cache_hash=True)
class JinjaRenderer(Value, TemplateRenderer):
    """Fill Jinja templates in jinja2's immutable sandbox, without HTML escaping; line ends stay as they are.

    A template reads variables, their attributes, items and methods, and nothing private. A missing name or attribute
    is an error; names that it sets, loops over, imports or tests with ``is defined`` need not be given. ``None`` prints
    nothing. A value that has no text of its own (a list, a dict, a plain object, a function) is refused where it is
    printed: use ``|join``, ``|tojson`` or ``|string``, or set ``print_objects``.

    One step cannot blow up: ``range`` ends at 100,000 items, widths at 100,000 characters, ``text * n`` at a million,
    powers at 100,000 bits. Loops inside loops still multiply, so give templates of strangers a process with limits of
    time and memory.

    ``include``, ``import`` and ``extends`` find templates in one root: ``templates``, ``directory`` or ``package``. They
    are read once a renderer. It pickles when its filters, tests and globals do, as functions at the top of a module do.

    Args:
        validation: What to do with a variable that was not given. ``KEEP`` leaves ``{{ … }}``; a loop or condition
            over a missing name is empty or false.
        templates: Other templates by name.
        directory: The folder of other templates.
        package: The package whose resources are other templates, by its dotted name.
        filters: Functions for ``{{ value|name }}``.
        tests: Functions for ``{% if value is name %}``.
        globals: Names that every template knows.
        print_objects: Whether what has no text of its own prints as Python writes it.

    >>> renderer = JinjaRenderer(templates={"sign": "-- {{ author }}"})
    >>> renderer.apply("{% for x in items %}{{ loop.index }}. {{ x }} {% endfor %}{% include 'sign' %}",
    ...                {"items": ["tea", "rye"], "author": "Ada"})
    '1. tea 2. rye -- Ada'
    """

    validation: ValidationMode = field(default=ValidationMode.THROW, kw_only=True, validator=require_mode)
    templates: FrozenDict | None = field(default=None, kw_only=True, converter=_texts)
    directory: Path | None = field(default=None, kw_only=True, converter=_root)
    package: str | None = field(default=None, kw_only=True)
    filters: Mapping[str, Callable[..., Any]] = field(default=_NOTHING, kw_only=True, converter=_named, eq=_identity)
    tests: Mapping[str, Callable[..., Any]] = field(default=_NOTHING, kw_only=True, converter=_named, eq=_identity)
    globals: Mapping[str, Any] = field(default=_NOTHING, kw_only=True, converter=_named, eq=_identity)
    print_objects: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if sum(root is not None for root in (self.templates, self.directory, self.package)) > 1:
            raise TemplateError("Other templates have one root. Give one of templates=, directory= and package=.")

    def parse(self, source: str) -> _JinjaTemplate:
        """Compile the source, and the templates that it names."""
        with _environments_lock:
            environment = _environment(self)
        return _JinjaTemplate(self, environment, environment.build(source, None))

    def __reduce__(self) -> tuple[Any, ...]:
        import pickle

        values = {name: getattr(self, name) for name in (a.name for a in attrs.fields(type(self)) if a.init)}
        for kind in ("filters", "tests", "globals"):
            values[kind] = dict(values[kind])
            for name, value in values[kind].items():
                try:
                    pickle.dumps(value)
                except Exception as error:
                    message = (
                        f"This JinjaRenderer cannot be pickled: {kind}[{name!r}] cannot. "
                        "Define it at the top of a module, or build the renderer where it is used."
                    )
                    raise pickle.PicklingError(message) from error
        return _restore, (type(self), values)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _restore(cls: type[JinjaRenderer], values: dict[str, Any]) -> JinjaRenderer:
    return cls(**values)


# -- environments and the root of other templates

_environments_lock = Lock()


@lru_cache(maxsize=64)
def _environment(renderer: JinjaRenderer) -> Sandbox:
    """Give the environment of equal renderers, which holds the other templates that they have read."""
    return build_environment(
        finalize=_finalize_anything if renderer.print_objects else _finalize,
        filters=renderer.filters,
        tests=renderer.tests,
        own_globals=renderer.globals,
        forgiving=renderer.validation is not ValidationMode.THROW,
        keep=renderer.validation is ValidationMode.KEEP,
        read=_reader(renderer),
        names=renderer.templates or (),
    )


def _reader(renderer: JinjaRenderer) -> Callable[[str], str | None] | None:
    if renderer.templates is not None:
        return renderer.templates.get
    if renderer.directory is not None:
        root: Traversable = renderer.directory
    elif renderer.package is not None:
        try:
            root = resources.files(renderer.package)
        except (ImportError, TypeError, ValueError) as error:
            raise TemplateNotFoundError(f"There is no package {renderer.package!r} to read templates from.") from error
    else:
        return None
    return lambda name: _read(root, name)


def _read(root: Traversable, name: str) -> str | None:
    """Read a template below the root, or give ``None`` when there is none of this name."""
    parts = name.split("/")
    if any(part in {"", ".", ".."} or not set(part).isdisjoint("\\:\0") for part in parts):
        message = (
            f"The template name {name!r:.80} leaves its root. Write it from the root on, as in 'parts/header.txt'."
        )
        raise UnsafeTemplateError(message)
    try:
        target = root.joinpath(*parts)
        if isinstance(root, Path) and isinstance(target, Path):
            real = target.resolve()
            if not real.is_relative_to(root.resolve()):
                raise UnsafeTemplateError(f"The template {name!r:.80} is a link that leaves its root. Copy the file.")
        if not target.is_file():
            return None
        return target.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TemplateError(f"The template {name!r} is not UTF-8: {error}.") from error
    except (OSError, RuntimeError) as error:
        raise TemplateNotFoundError(f"The template {name!r:.80} cannot be read: {error!s:.200}.") from error


# -- printing


def _finalize_anything(value: Any) -> Any:
    if value is None:
        return ""
    return str.__str__(value) if isinstance(value, str) else value


def _finalize(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int:
        return value
    if value is None:
        return ""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray) or (
        _prints_as_object(kind) and not isinstance(value, int | float | complex)
    ):
        raise TemplateError(
            f"A value of type {kind.__name__!r} has no text of its own. Print a part of it, use |join, |tojson or "
            "|string, or set JinjaRenderer(print_objects=True)."
        )
    return value


def _prints_as_object(kind: type[Any]) -> bool:
    return getattr(kind, "__str__") is object.__str__  # noqa: B009 - mypy compares the wrong signatures


# -- rendering

_PLACELESS = (TemplateError, TemplateNotFoundError, UnsafeTemplateError)
"""Kinds of error that limits, printing and reading raise without knowing where."""


@frozen(eq=False)
class _JinjaTemplate:
    """Hold a compiled template, and what it needs from its environment at each render."""

    renderer: JinjaRenderer
    environment: Sandbox = field(repr=False)
    unit: Unit = field(repr=False)
    variables: tuple[str, ...] = field(init=False)
    optional_variables: tuple[str, ...] = field(init=False)
    _offsets: Mapping[str, int] = field(init=False, repr=False)
    _globals: Mapping[str, Any] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        uses = self.unit.survey.uses()
        known = self.environment.globals
        # Templates that others name see every global; one on its own is given those that it uses.
        used = known if self.unit.survey.links else self.unit.survey.globals
        object.__setattr__(self, "variables", tuple([use.name for use in uses if use.required]))
        object.__setattr__(self, "optional_variables", tuple([use.name for use in uses if not use.required]))
        object.__setattr__(self, "_offsets", {use.name: use.offset for use in uses})
        object.__setattr__(self, "_globals", {name: known[name] for name in used})

    def render(self, variables: Mapping[str, object], /) -> str:
        """Fill in the variables."""
        refuse_variables(variables)
        missing = [name for name in self.variables if name not in variables]
        validation = self.renderer.validation
        if validation is ValidationMode.THROW:
            if missing:
                offset = self._offsets[missing[0]]
                raise missing_variables(missing, variables, self.unit.source, offset)
            return self._fill(variables)
        text, touched = self._fill_forgiving(variables)
        if validation is ValidationMode.WARN and (missing or touched):
            warn_missing(dict.fromkeys([*missing, *touched]))
        return text

    def _fill(self, variables: Mapping[str, object]) -> str:
        unit = self.unit
        values = variables if type(variables) is dict and not self._globals else {**self._globals, **variables}
        context = self.environment.context_class(self.environment, values, None, unit.template.blocks)
        try:
            return "".join(unit.template.root_render_func(context))
        except Exception as error:
            placeless = type(error) in _PLACELESS and getattr(error, "line", None) is None
            if isinstance(error, PromptkitError) and not placeless:
                raise
            raise self._failure(error, variables) from error

    def _fill_forgiving(self, variables: Mapping[str, object]) -> tuple[str, list[str]]:
        """Render around what is missing, and name it."""
        seen = Seen()
        token = collecting.set(seen)
        try:
            text = self._fill(variables)
        finally:
            collecting.reset(token)
        paths = [self._path(value, 0, variables) for value in seen.touched if not value._undefined_hint]
        return text, list(dict.fromkeys(paths))

    def _path(self, undefined: Any, offset: int, variables: Mapping[str, object]) -> str:
        """Give the name of what is missing; for an attribute the dotted name that most likely led there."""
        from jinja2.utils import missing

        name, owner = undefined._undefined_name, undefined._undefined_obj
        if owner is missing:
            return str(name)
        units = (self.unit, *self.environment.units.values())
        places = [place for unit in units for place in unit.survey.accesses.get(name, ())]
        likeliest = min(
            places,
            key=lambda place: (not self._leads(place[1], variables, owner), abs(place[0] - offset)),
            default=(0, f"….{name}"),
        )
        return likeliest[1]

    def _leads(self, path: str, variables: Mapping[str, object], owner: object) -> bool:
        root, *names = path.split(".")[:-1] or [""]
        value = variables.get(root)
        try:
            for name in names:
                value = self.environment.getattr(value, name)
        except Exception:  # noqa: BLE001 - only a better message is at stake
            return False
        return value is owner

    # -- what went wrong

    def _failure(self, error: Exception, variables: Mapping[str, object]) -> TemplateError:
        """Turn what jinja2 or a value raised into an error of ours, with its place."""
        from jinja2 import TemplateNotFound, UndefinedError
        from jinja2.exceptions import SecurityError

        unit, offset = self._place(error.__traceback__)
        kind, message = TemplateError, f"{type(error).__name__}: {_sentence(error)}"
        if isinstance(error, TemplateError):
            kind, message = type(error), str(error.args[0])
        elif isinstance(error, UndefinedError):
            undefined = getattr(error.args[0], "undefined", None)
            if undefined is not None and not undefined._undefined_hint:
                return self._missing(undefined, variables, unit, offset)
            message = _sentence(error)
        elif isinstance(error, SecurityError):
            kind, message = UnsafeTemplateError, f"{_sentence(error)} Pass what you need as a variable."
        elif isinstance(error, TemplateNotFound):
            kind, message = TemplateNotFoundError, self.environment.absent(str(error.name))
        elif isinstance(error, RecursionError):
            message = "Includes or macros call themselves without end."
        return fault(kind, message, unit.source, offset, template_name=unit.template.name)

    def _place(self, traceback: TracebackType | None) -> tuple[Unit, int]:
        """Find the innermost template text that was being filled in."""
        unit, offset = self.unit, 0
        while traceback is not None:
            template = traceback.tb_frame.f_globals.get("__jinja_template__")
            if template is not None and template.environment is self.environment:
                unit = self.unit if template is self.unit.template else self.environment.units[template.name]
                offset = template.get_corresponding_lineno(traceback.tb_lineno) - 1
            traceback = traceback.tb_next
        return unit, offset

    def _missing(self, undefined: Any, variables: Mapping[str, object], unit: Unit, offset: int) -> TemplateError:
        """Name what was missing and ended the render, and what would have ended it later."""
        first = self._path(undefined, offset, variables)
        hidden = first not in unit.survey.resolved or first in variables
        if hidden and first == undefined._undefined_name:
            message = f"{first!r} is read before the template sets it, and setting it hides the variable. Rename one."
            return fault(TemplateError, message, unit.source, offset, template_name=unit.template.name)
        others: list[str] = []
        forgiving = self.renderer.mutate(validation=ValidationMode.NONE).compile(self.unit.source)
        with suppress(TemplateError):
            others = forgiving._fill_forgiving(variables)[1]  # type: ignore[attr-defined]
        owner = undefined._undefined_obj
        keys = [key for key in owner if isinstance(key, str)] if isinstance(owner, Mapping) else dir(owner)
        parent, _, name = first.rpartition(".")
        near = spelling(name, [key for key in keys if not key.startswith("_")])
        meant = {first: f"{parent}.{near}" if parent else near} if near else {}
        names = [first, *[name for name in others if name != first]]
        return missing_variables(names, variables, unit.source, offset, meant=meant).named(unit.template.name)


def _sentence(error: Exception) -> str:
    text = f"{error!s:.300}".rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
