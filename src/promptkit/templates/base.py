"""Build prompts from one template, one role and bound variables: what all templates but chats share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar

import attrs

from promptkit._frozen import EMPTY, FrozenDict, shown, tuple_of
from promptkit.content import ContentLike, Media, Text
from promptkit.errors import PromptkitError, TemplateError
from promptkit.messages import AssistantMessage, Message, MessageType, SystemMessage, UserMessage
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.renderers.base import CompiledTemplate
from promptkit.templates.actions import Variables
from promptkit.templates.parts import CompiledParts

__all__ = ["BasePromptTemplate", "BoundVariables", "VariablesReport", "variables_of"]


Template = TypeVar("Template")


class VariablesReport(NamedTuple):
    """Hold what `BasePromptTemplate.check` found; both empty when all is well."""

    missing: tuple[str, ...]
    """Required names that were not given."""
    unused: tuple[str, ...]
    """Given names that the template does not use."""


def check_names(variables: Mapping[Any, object], what: str) -> None:
    """Refuse a variable name that is not a ``str``."""
    for name in variables:
        if not isinstance(name, str):
            raise TemplateError(f"the keys of {what} must be str, not {shown(name)}")


def variables_of(model: Variables | None, what: str = "the model") -> Mapping[str, Any]:
    """Give the variables that an object stands for: a mapping's items, or an object's fields by name.

    Raises:
        TemplateError: It is neither a mapping nor an attrs, dataclass or pydantic object.
    """
    if isinstance(model, Mapping):
        return model
    kind = type(model)
    for marker, names in _FIELD_NAMES.items():
        if hasattr(kind, marker):
            return {name: getattr(model, name) for name in names(kind)}
    hint = f"; give {{'name': {model!r:.40}}}" if isinstance(model, str) else ""
    raise TemplateError(
        f"{what} must be a mapping, or an attrs, dataclass or pydantic object, not {shown(model)}{hint}"
    )


def laid_over(own: Mapping[str, Any], model: Variables | None) -> Mapping[str, Any]:
    """Lay a call's variables over a template's own."""
    if model is None:
        return own
    try:
        given = model if type(model) is dict else variables_of(model)
        return {**own, **given} if own else given  # noqa: TRY300 - reading it is what may raise
    except TemplateError:
        raise
    except Exception as error:
        raise TemplateError(f"the model raised {type(error).__name__} while it was read: {error!s:.200}") from error


_FIELD_NAMES: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "__attrs_attrs__": lambda kind: [attribute.name for attribute in kind.__attrs_attrs__],
    "__dataclass_fields__": lambda kind: kind.__dataclass_fields__,
    "model_fields": lambda kind: kind.model_fields,
}


class BoundVariables(FrozenDict):
    """Hold variables that a template already has: a read-only mapping whose values may be anything.

    >>> BoundVariables({"user": object}).keys()
    dict_keys(['user'])
    """

    __slots__ = ()

    def __new__(cls, items: Variables = EMPTY, /) -> Self:
        """Read the variables of a mapping or an object; `variables_of` says which."""
        bound = dict.__new__(cls)
        try:
            given = variables_of(items, "the bound variables")
            check_names(given, "the bound variables")
            dict.update(bound, given)
        except TemplateError:
            raise
        except Exception as error:
            raise TemplateError(
                f"the bound variables cannot be read: {type(error).__name__}: {error!s:.200}"
            ) from error
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:  # type: ignore[override]
        from copy import deepcopy

        return type(self)(deepcopy(dict(self), memo))


NOTHING_BOUND = BoundVariables()


def bound_variables(value: Variables) -> BoundVariables:
    """Freeze a mapping of bound variables."""
    return value if isinstance(value, BoundVariables) else BoundVariables(value)


MESSAGE_CLASSES: Mapping[MessageType, Callable[..., Message]] = {
    MessageType.SYSTEM: SystemMessage,
    MessageType.USER: UserMessage,
    MessageType.ASSISTANT: AssistantMessage,
}


class Nestable:
    """Mark what is filled in as text when a template has it as the value of a variable."""

    __slots__ = ()


class BasePromptTemplate(ABC, Nestable):
    """Make text, a message or a prompt out of one template; its role is a class variable.

    Subclass `PromptTemplate` or `TypedPromptTemplate` rather than this class. Everything goes through `create_message`:
    override it, and `create` and `create_messages` follow.
    """

    __slots__ = ()

    message_type: ClassVar[MessageType] = MessageType.USER
    """The role of the message that the template makes."""

    @property
    @abstractmethod
    def _compiled(self) -> CompiledTemplate:
        """The parsed template."""

    @property
    @abstractmethod
    def _given(self) -> Mapping[str, Any]:
        """The variables that the template already has."""

    @property
    def _label(self) -> str | None:
        """The template's name in errors."""
        return None

    @property
    def _nested(self) -> Mapping[str, Any]:
        """The templates and examples among the variables that it already has: they are filled in with the rest."""
        return {name: value for name, value in self._given.items() if isinstance(value, Nestable)}

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that must still be given, in order of first appearance; those of nested templates come last."""
        return self._open_names("variables")

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that may still be given."""
        required = self._open_names("variables")
        return tuple([name for name in self._open_names("optional_variables") if name not in required])

    def _open_names(self, kind: str) -> tuple[str, ...]:
        sources = (self._compiled, *self._nested.values())
        names = dict.fromkeys(name for source in sources for name in getattr(source, kind))
        return tuple([name for name in names if name not in self._given])

    def check(self, model: Variables | None = None) -> VariablesReport:
        """Compare a model with what the template needs, without rendering it."""
        given = {} if model is None else variables_of(model)
        missing = [name for name in self.variables if name not in given]
        used = {
            *self._compiled.variables,
            *self._compiled.optional_variables,
            *self.variables,
            *self.optional_variables,
        }
        return VariablesReport(tuple(missing), tuple([name for name in given if name not in used]))

    def _values(self, model: Variables | None) -> Mapping[str, Any]:
        """Lay the call's variables over the template's own, and fill in the templates among those."""
        own = self._given
        values = laid_over(own, model)
        nested = [name for name, value in own.items() if isinstance(value, Nestable) and values[name] is value]
        if not nested:
            return values
        rest = {name: value for name, value in values.items() if name not in nested}  # a template is no value
        return {**rest, **{name: own[name].render(rest) for name in nested}}

    def render(self, model: Variables | None = None) -> str:
        """Fill in the template.

        Args:
            model: The variables: a mapping, or an attrs, dataclass or pydantic object whose fields are the variables.
                They win over bound ones; those that the template does not use are ignored.

        Raises:
            MissingVariablesError: Required variables are missing; all are named.
            TemplateError: A value cannot be printed.
        """
        try:
            return self._compiled.render(self._values(model))
        except Exception as error:  # noqa: BLE001 - values run code of their own
            self._fail(error)

    def create_message(self, model: Variables | None = None, *, media: Iterable[Media] = ()) -> Message:
        """Fill in the template as a message of its role.

        Args:
            model: The variables; see `render`.
            media: Media that follow the text.
        """
        compiled = self._compiled
        added = () if media == () else tuple_of(Media, media, "media")
        if isinstance(compiled, CompiledParts):
            try:
                return self._make((*compiled.fill(self._values(model)), *added))
            except Exception as error:  # noqa: BLE001 - values run code of their own
                self._fail(error)
        text = self.render(model)
        return self._make((Text(text), *added) if added else text)

    @property
    def _make(self) -> Callable[[ContentLike], Message]:
        """What makes a message of the template's role out of content."""
        return MESSAGE_CLASSES[self.message_type]

    def create(self, model: Variables | None = None, *, options: ChatOptions | None = None) -> Prompt:
        """Fill in the template as a prompt of one message.

        Args:
            model: The variables; see `render`.
            options: The options of the call.
        """
        return Prompt((self.create_message(model),), options)

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Fill in the template as one message, in a tuple."""
        return (self.create_message(model),)

    def _shortcut(self) -> Callable[[Mapping[str, Any]], Message]:
        """Give the shortest way from variables to the message: past the methods that no subclass has replaced."""
        kind, base = type(self), BasePromptTemplate
        own = kind.create_message is not base.create_message or kind.render is not base.render
        if own or isinstance(self._compiled, CompiledParts) or self._given:
            return self.create_message
        render, make = self._compiled.render, self._make

        def shortcut(variables: Mapping[str, Any]) -> Message:
            try:
                return make(render(variables))
            except Exception as error:  # noqa: BLE001 - values run code of their own
                self._fail(error)

        return shortcut

    def _fail(self, error: Exception) -> NoReturn:
        if isinstance(error, TemplateError):
            raise error.named(self._label)
        if isinstance(error, PromptkitError):
            raise error
        raise TemplateError(
            f"a variable raised {type(error).__name__} while it was filled in: {error!s:.200}",
            template_name=self._label,
        ) from error

    def mutate(self, **changes: Any) -> Self:
        """Make a changed copy; the original stays as it is.

        Args:
            changes: New values by field name.

        Raises:
            TypeError: A name is not a field.
        """
        return changed(self, changes)


def changed(template: Template, changes: Mapping[str, Any]) -> Template:
    """Copy a template with some fields changed, without its ``__init__``, which an application may have replaced."""
    fields = attrs.fields_dict(type(template))  # type: ignore[arg-type]
    unknown = [name for name in changes if name not in fields]
    if unknown:
        raise TypeError(f"{type(template).__name__} has no field {unknown[0]!r}; it has {', '.join(fields)}")
    copy = object.__new__(type(template))
    for name, value in getattr(template, "__dict__", {}).items():
        if not isinstance(getattr(type(template), name, None), cached_property):
            object.__setattr__(copy, name, value)
    for name, field in fields.items():
        value = changes[name] if name in changes else getattr(template, name)
        object.__setattr__(copy, name, _converted(value, field, copy) if name in changes else value)
    attrs.validate(copy)  # type: ignore[arg-type]
    getattr(copy, "__attrs_post_init__", _nothing)()
    return copy


def _converted(value: Any, field: attrs.Attribute[Any], template: object) -> Any:
    if field.converter is None:
        return value
    if isinstance(field.converter, attrs.Converter):
        return field.converter(value, template, field)  # type: ignore[operator]
    return field.converter(value)


def _nothing() -> None:
    """Stand for an absent hook."""
