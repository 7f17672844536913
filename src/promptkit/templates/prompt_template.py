"""Make a user's, system's or assistant's message out of template text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, freeze_mapping, shown
from promptkit.content import ContentLike
from promptkit.errors import TemplateError
from promptkit.messages import Message, MessageType
from promptkit.renderers import by_name
from promptkit.renderers.base import CompiledTemplate, TemplateRenderer
from promptkit.templates.actions import Variables
from promptkit.templates.base import MESSAGE_CLASSES, NOTHING_BOUND, BasePromptTemplate, BoundVariables, bound_variables
from promptkit.templates.parts import CompiledParts, PartTemplate
from promptkit.templates.resource import TextResource

__all__ = ["AssistantPromptTemplate", "PromptTemplate", "SystemPromptTemplate", "compile_source"]

TemplateSource = str | TextResource | tuple[PartTemplate, ...]


def _source(value: str | TextResource | Iterable[PartTemplate]) -> TemplateSource:
    """Bring template text, a text resource or parts to the form that is kept."""
    if type(value) is str or isinstance(value, (str, TextResource)):
        return value
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        return tuple([freeze_mapping(part, "a part") if isinstance(part, Mapping) else part for part in value])
    raise TemplateError(f"the template must be text, a resource (TextResource) or a list of parts, not {shown(value)}")


def compile_source(source: TemplateSource, renderer: TemplateRenderer, label: str | None) -> CompiledTemplate:
    """Compile a template's source, whatever its form.

    Raises:
        TemplateError: It is blank, or breaks its language; with the template's name.
    """
    try:
        if isinstance(source, tuple):
            if not source:
                raise TemplateError("the template has no parts")
            return CompiledParts(source, renderer)
        text = source.text if isinstance(source, TextResource) else source
        if not isinstance(text, str):
            raise TemplateError(f"the template must be text or a resource (TextResource), not {shown(text)}")
        if not text or text.isspace():
            raise TemplateError("the template is blank: it must have at least one character that is not white space")
        return renderer.compile(text)
    except TemplateError as error:
        error.named(source.name if isinstance(source, TextResource) else label)
        raise


@frozen(repr=False)
class PromptTemplate(BasePromptTemplate, Value):
    """Make a user message, or a prompt of one, out of a template.

    It is a value: it compares, hashes and pickles by its fields, and never changes. In application code it is there to
    be subclassed: add methods, override `create_message`, give ``template`` a default.

    Args:
        template: The text; or a `TextResource`; or parts in order, for a message with media (see `PartTemplate`).
        renderer: The template language: a renderer, or the short name of one (``st``, ``jinja``, ``fstring``,
            ``mustache``, ``noop``).
        bound: Variables that it already has; those of a call win.
        template_name: Its name in errors.
        message_name: The speaker's name on the message.
        message_metadata: The message's metadata.

    Raises:
        TemplateError: The text is blank or breaks its language, with line and column; the mistakes of a template are
            found here, not at the call.

    >>> template = PromptTemplate("Tell me a {adjective} joke about {topic}.")
    >>> template.create({"adjective": "short", "topic": "rain"}).text
    'Tell me a short joke about rain.'
    >>> template.variables
    ('adjective', 'topic')
    """

    template: TemplateSource = field(converter=_source)
    renderer: TemplateRenderer = field(default="st", kw_only=True, converter=by_name)  # type: ignore[assignment]
    bound: BoundVariables = field(default=NOTHING_BOUND, kw_only=True, hash=False, converter=bound_variables)
    template_name: str | None = field(default=None, kw_only=True)
    message_name: str | None = field(default=None, kw_only=True)
    message_metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        self._compiled  # noqa: B018 - mistakes are found now

    @cached_property
    def _compiled(self) -> CompiledTemplate:
        return compile_source(self.template, self.renderer, self.template_name)

    @property
    def _given(self) -> Mapping[str, Any]:
        return self.bound

    @property
    def _label(self) -> str | None:
        return self.template_name or (self.template.name if isinstance(self.template, TextResource) else None)

    def _values(self, model: Variables | None) -> Mapping[str, Any]:
        return super()._values(model) if self.bound or type(model) is not dict else model

    @cached_property
    def _make(self) -> Callable[[ContentLike], Message]:
        kind = MESSAGE_CLASSES[self.message_type]
        if self.message_name is None and not self.message_metadata:
            return kind
        return partial(kind, name=self.message_name, metadata=self.message_metadata)

    def partial(self, model: Variables) -> Self:
        """Bind more variables; those given later win. The template itself stays as it is.

        >>> PromptTemplate("{greeting} {name}").partial({"greeting": "Hello"}).render({"name": "Ada"})
        'Hello Ada'
        """
        return self.mutate(bound={**self.bound, **bound_variables(model)})


@frozen(repr=False)
class SystemPromptTemplate(PromptTemplate):
    """Make a system message out of a template; see `PromptTemplate`.

    >>> SystemPromptTemplate("Answer in {language}.").create_message({"language": "French"})
    SystemMessage('Answer in French.')
    """

    message_type: ClassVar[MessageType] = MessageType.SYSTEM


@frozen(repr=False)
class AssistantPromptTemplate(PromptTemplate):
    """Make an assistant message out of a template, as an example of an answer; see `PromptTemplate`.

    >>> AssistantPromptTemplate("I count {n}.").create_message({"n": 3})
    AssistantMessage('I count 3.')
    """

    message_type: ClassVar[MessageType] = MessageType.ASSISTANT
