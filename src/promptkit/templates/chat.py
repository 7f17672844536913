"""Make a conversation out of templates, finished messages and slots for histories, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol, Self, overload

from attrs import field, frozen

from promptkit._frozen import Value, items_of, shown
from promptkit.errors import MissingVariablesError, TemplateError
from promptkit.messages import Message, MessageType, check_message
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from promptkit.renderers import by_name
from promptkit.renderers.base import TemplateRenderer, nearest
from promptkit.templates.actions import Variables
from promptkit.templates.base import (
    NOTHING_BOUND,
    BasePromptTemplate,
    BoundVariables,
    VariablesReport,
    bound_variables,
    changed,
    laid_over,
    variables_of,
)
from promptkit.templates.parts import PartTemplate
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate
from promptkit.templates.resource import TextResource

__all__ = ["ChatPart", "ChatPromptTemplate", "MessagesPlaceholder"]


class _Messages(Protocol):
    """Be any part that makes messages: a template, a chat template, examples, a slot, or a class of your own."""

    @property
    def variables(self) -> tuple[str, ...]: ...
    @property
    def optional_variables(self) -> tuple[str, ...]: ...
    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]: ...


ChatPart = _Messages | Message | tuple[str, str | TextResource | Iterable[PartTemplate]]
"""A part of a chat: a template, a finished message, a slot, examples, or ``(role, template)``."""


@frozen(repr=False)
class MessagesPlaceholder(Value):
    """Hold the place of a list of messages in a chat template, as a rule the history.

    Args:
        name: The variable that gives the messages: an iterable of messages, a `Prompt`, or ``None`` for none.
        optional: Whether it may be absent, which gives no messages.
        last: Take at most so many from the end. Tool results whose call is cut off are left out too.

    >>> chat = ChatPromptTemplate([MessagesPlaceholder("history", optional=True), ("user", "{question}")])
    >>> chat.variables, chat.optional_variables
    (('question',), ('history',))
    """

    name: str
    optional: bool = field(default=False, kw_only=True)
    last: int | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TemplateError(f"MessagesPlaceholder.name must be the name of a variable, not {shown(self.name)}")
        if self.last is not None and (type(self.last) is not int or self.last < 1):
            raise TemplateError(f"MessagesPlaceholder.last must be a positive int, not {shown(self.last)}")

    @property
    def variables(self) -> tuple[str, ...]:
        """Its name, unless it is optional."""
        return () if self.optional else (self.name,)

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """Its name, if it is optional."""
        return (self.name,) if self.optional else ()

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Give the messages of the variable.

        Raises:
            MissingVariablesError: It was not given.
            PromptError: It holds what is no message.
            TemplateError: It is text.
        """
        given = {} if model is None else variables_of(model)
        value = self._value(given)
        if value is _ABSENT:
            if self.optional:
                return ()
            known = tuple(sorted(map(str, given)))
            raise MissingVariablesError(
                f"the messages of {self.name!r} are missing{nearest(self.name, known)}; give a list of messages, or "
                "make the slot optional",
                missing=(self.name,),
                available=known,
            )
        if value is None:
            return ()
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise TemplateError(f"the variable {self.name!r} must hold messages, not {shown(value)}")
        items = items_of(value, f"the variable {self.name!r}")
        messages = tuple([check_message(item, f"{self.name}[{index}]") for index, item in enumerate(items)])
        return messages if self.last is None else _last(messages, self.last)

    def _value(self, given: Mapping[str, Any]) -> Any:
        try:
            return given.get(self.name, _ABSENT)
        except Exception as error:
            message = f"looking up the variable {self.name!r} raised {type(error).__name__}: {error!s:.200}"
            raise TemplateError(message) from error


_ABSENT = object()


def _last(messages: tuple[Message, ...], count: int) -> tuple[Message, ...]:
    kept = messages[-count:]
    start = 0 if len(kept) == len(messages) else _first_answerable(kept)
    return kept[start:]


def _first_answerable(messages: tuple[Message, ...]) -> int:
    return next((at for at, item in enumerate(messages) if item.message_type is not MessageType.TOOL), len(messages))


_ROLES: Mapping[str, type[PromptTemplate]] = {
    "system": SystemPromptTemplate,
    "user": PromptTemplate,
    "assistant": AssistantPromptTemplate,
}

_FOREIGN_ROLES = {"human": "user", "ai": "assistant", "developer": "system"}


def _checked_parts(value: Iterable[ChatPart]) -> tuple[Any, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TemplateError(f"a ChatPromptTemplate takes a list of parts, not {shown(value)}")
    return tuple(value)


@frozen(repr=False)
class ChatPromptTemplate(Value):
    """Make a prompt of several messages: one model of variables for all, each part filled in once.

    Args:
        parts: In order: templates, ``(role, template)`` with the role ``system``, ``user`` or ``assistant``, finished
            messages (never parsed), `MessagesPlaceholder`, `FewShotExamples`, other chat templates.
        options: The options of every prompt it makes; those of `create` win.
        renderer: The template language of the ``(role, template)`` parts, or its short name.
        bound: Variables that it already has; those of a call win. Both win over what a part has bound.
        template_name: Its name in errors.

    Raises:
        TemplateError: A part is none, or its text breaks its language.

    >>> chat = ChatPromptTemplate([("system", "Translate into {language}."), ("user", "{text}")])
    >>> chat.create({"language": "French", "text": "Braces {stay} as they are."}).messages
    (SystemMessage('Translate into French.'), UserMessage('Braces {stay} as they are.'))
    """

    parts: tuple[Any, ...] = field(converter=_checked_parts)
    options: ChatOptions = field(default=NO_OPTIONS, kw_only=True)
    renderer: TemplateRenderer = field(default="st", kw_only=True, converter=by_name)  # type: ignore[assignment]
    bound: BoundVariables = field(default=NOTHING_BOUND, kw_only=True, hash=False, converter=bound_variables)
    template_name: str | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple([self._part(part, index) for index, part in enumerate(self.parts)]))
        if not isinstance(self.options, ChatOptions):
            raise TemplateError(f"options of a ChatPromptTemplate must be ChatOptions, not {shown(self.options)}")

    def _part(self, part: Any, index: int) -> Any:
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str):
            kind = _ROLES.get(part[0])
            if kind is None:
                other = _FOREIGN_ROLES.get(part[0], "one of system, user, assistant")
                raise TemplateError(f"part {index} has the unknown role {part[0]!r}; write {other!r}")
            return kind(part[1], renderer=self.renderer, template_name=self.template_name)
        if hasattr(type(part), "create_messages") and hasattr(type(part), "variables"):
            return part
        if hasattr(part, "message_type"):
            return check_message(part, f"part {index}")
        raise TemplateError(
            f"part {index} is neither a template, a message, a slot nor (role, template): {shown(part)}; "
            "template text is ('user', '…'), finished text is UserMessage('…')"
        )

    @cached_property
    def _steps(self) -> tuple[tuple[bool, Callable[[Variables], Any]], ...]:
        """What fills in each part, and whether it gives a single message: most do, and need no tuple around it."""
        return tuple([_step(part) for part in self.parts])

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that must still be given, in order of first appearance."""
        names = dict.fromkeys(name for part in self.parts for name in getattr(part, "variables", ()))
        return tuple([name for name in names if name not in self.bound])

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that may still be given."""
        required = {name for part in self.parts for name in getattr(part, "variables", ())}
        names = dict.fromkeys(name for part in self.parts for name in getattr(part, "optional_variables", ()))
        return tuple([name for name in names if name not in required and name not in self.bound])

    def check(self, model: Variables | None = None) -> VariablesReport:
        """Compare a model with what the parts need, without rendering them."""
        given = {} if model is None else variables_of(model)
        missing = [name for name in self.variables if name not in given]
        used = {name for part in self.parts for name in _used(part)}
        return VariablesReport(tuple(missing), tuple([name for name in given if name not in used]))

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Fill in every part, in order.

        Raises:
            MissingVariablesError: Required variables are missing; those of all parts are named.
        """
        values = laid_over(self.bound, model)
        messages: list[Message] = []
        try:
            for single, step in self._steps:
                if single:
                    messages.append(step(values))
                else:
                    messages += step(values)
        except MissingVariablesError as error:
            raise self._all_missing(error, values) from None
        except TemplateError as error:
            error.named(self.template_name)
            raise
        except RecursionError:
            raise TemplateError("chat templates nest too deep", template_name=self.template_name) from None
        return tuple(messages)

    def _all_missing(self, error: MissingVariablesError, given: Variables) -> MissingVariablesError:
        """Add to one part's error what the other parts miss."""
        others = [name for name in self.check(given).missing if name not in error.missing]
        if not others:
            return error.named(self.template_name)
        return MissingVariablesError(
            f"{error.args[0]} Other parts of the chat miss {', '.join(map(repr, others))}.",
            missing=(*error.missing, *others),
            available=error.available,
            template_name=error.template_name or self.template_name,
            line=error.line,
            column=error.column,
            excerpt=error.excerpt,
        )

    def create(self, model: Variables | None = None, *, options: ChatOptions | None = None) -> Prompt:
        """Fill in every part as one prompt.

        Args:
            model: The variables of all parts.
            options: Options that win over the template's own.
        """
        return Prompt(self.create_messages(model), self.options if options is None else self.options.merge(options))

    def render(self, model: Variables | None = None) -> str:
        """Fill in every part and join the texts, with nothing between them."""
        return Prompt(self.create_messages(model)).join_text("")

    def partial(self, model: Variables) -> Self:
        """Bind more variables; those given later win. The template itself stays as it is."""
        return self.mutate(bound={**self.bound, **bound_variables(model)})

    def mutate(self, **changes: Any) -> Self:
        """Make a changed copy; the original stays as it is."""
        return changed(self, changes)

    def __add__(self, other: ChatPromptTemplate | ChatPart) -> ChatPromptTemplate:
        """Append another chat's parts, or one part; the other chat's options and bound variables win."""
        if not isinstance(other, ChatPromptTemplate):
            return self.mutate(parts=(*self.parts, other))
        return self.mutate(
            parts=(*self.parts, *other.parts),
            options=self.options.merge(other.options),
            bound={**self.bound, **other.bound},
        )

    def __len__(self) -> int:
        return len(self.parts)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> ChatPromptTemplate: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Give a part, or a chat of some parts with the same options and bound variables."""
        return self.mutate(parts=self.parts[index]) if isinstance(index, slice) else self.parts[index]


def _step(part: Any) -> tuple[bool, Callable[[Variables], Any]]:
    if getattr(type(part), "create_messages", None) is BasePromptTemplate.create_messages:
        return True, part._shortcut()
    fill = getattr(part, "create_messages", None)
    return (True, lambda _: part) if fill is None else (False, fill)


def _used(part: Any) -> Iterable[str]:
    """Give every name that a part can use, its bound ones included."""
    sources = (part, getattr(part, "_compiled", part))
    names = [
        name for source in sources for kind in ("variables", "optional_variables") for name in getattr(source, kind, ())
    ]
    return (*names, *(name for nested in getattr(part, "parts", ()) for name in _used(nested)))
