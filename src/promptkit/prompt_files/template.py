"""Be the template that a prompt file gives: named, versioned, its variables brought to their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Self

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, freeze_mapping, shown
from promptkit.content import Media, Part, Text
from promptkit.errors import TemplateError
from promptkit.messages import Message, UserMessage
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.prompt_files.cases import PromptCase
from promptkit.prompt_files.variables import PromptVariable
from promptkit.templates.actions import Variables
from promptkit.templates.base import NOTHING_BOUND, BoundVariables, VariablesReport, bound_variables, variables_of
from promptkit.templates.chat import ChatPromptTemplate
from promptkit.templates.prompt_template import PromptTemplate

__all__ = ["BlockTemplate", "MediaSlot", "NamedPromptTemplate", "TextPiece"]


class TextPiece(NamedTuple):
    """Hold a piece of text as a template, and the file and line of each of its lines."""

    template: PromptTemplate
    places: tuple[tuple[str, int], ...]

    def located(self, error: TemplateError) -> TemplateError:
        """Let an error speak of the file instead of the piece."""
        if error.template_name is None and self.places:
            at = min(error.line or 1, len(self.places)) - 1
            error.template_name, line = self.places[at]
            error.line = line
            if error.column is None:
                error.excerpt = None
        return error


class MediaSlot(NamedTuple):
    """Hold the place of the media of a variable."""

    name: str
    optional: bool
    gap: str = ""
    """What joins the texts around it when there are no media."""


@frozen(repr=False)
class BlockTemplate(Value):
    """Make the message of one block.

    >>> BlockTemplate((TextPiece(PromptTemplate("Hi {name}"), (("hi.prompt.md", 1),)),)).create_messages({"name": "Ada"})
    (UserMessage('Hi Ada'),)
    """

    pieces: tuple[TextPiece | MediaSlot, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that must be given."""
        return tuple(dict.fromkeys(name for piece in self.pieces for name in _names(piece, "variables")))

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that may be given."""
        required = self.variables
        names = dict.fromkeys(name for piece in self.pieces for name in _names(piece, "optional_variables"))
        return tuple([name for name in names if name not in required])

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Fill in the block.

        Raises:
            TemplateError: With the file and the line.
        """
        variables = {} if model is None else variables_of(model)
        first = self.pieces[0]
        if len(self.pieces) == 1 and isinstance(first, TextPiece):
            return (_filled(first, lambda template: template.create_message(variables)),)
        parts: list[Part] = []
        gap: str | None = None
        for piece in self.pieces:
            if isinstance(piece, MediaSlot):
                media = _media_of(piece, variables)
                gap = None if media else piece.gap if gap is None else max(gap, piece.gap)
                parts += media
                continue
            text = _filled(piece, lambda template: template.render(variables))
            if gap is not None and parts and isinstance(parts[-1], Text):
                parts[-1] = Text(f"{parts[-1].text}{gap}{text}")
            elif text:
                parts.append(Text(text))
            gap = None
        return (UserMessage(parts),)


def _names(piece: TextPiece | MediaSlot, kind: str) -> tuple[str, ...]:
    if isinstance(piece, TextPiece):
        return getattr(piece.template, kind)  # type: ignore[no-any-return]
    return (piece.name,) if piece.optional is (kind == "optional_variables") else ()


def _filled(piece: TextPiece, fill: Callable[[PromptTemplate], Any]) -> Any:
    try:
        return fill(piece.template)
    except TemplateError as error:
        piece.located(error)
        raise


def _media_of(slot: MediaSlot, variables: Mapping[str, Any]) -> tuple[Media, ...]:
    value = variables.get(slot.name)
    if value is None:
        if slot.optional or slot.name in variables:
            return ()
        # An empty template of this variable says what is missing, as all do.
        PromptTemplate(f"{{{slot.name}}}").render(variables)
    media = (value,) if isinstance(value, Media) else value
    if isinstance(media, list | tuple) and all(isinstance(item, Media) for item in media):
        return tuple(media)
    raise TemplateError(f"the variable {slot.name!r} must hold Media, not {shown(value)}")


def _mapping(value: Mapping[str, Any]) -> FrozenDict:
    return freeze_mapping(value)


@frozen(repr=False)
class NamedPromptTemplate(Value):
    r"""Make prompts as a prompt file says: its roles, its slots, its options, its variables by their types.

    It is a value, and a part of a `ChatPromptTemplate` if you like. `load_prompt` and `PromptLibrary` make it.

    Args:
        name: Its name, in errors too.
        chat: Its parts and options.
        version: Its version, as it is written.
        description: What it is for.
        declared: Its variables; a value given for one is brought to its type.
        cases: Its test cases.
        locale: The language that it is written in.
        models: Patterns of the models that it is written for.
        metadata: What else the file says.
        bound: Variables that it already has; those of a call win.

    >>> from promptkit.prompt_files import parse_prompt
    >>> template = parse_prompt("---\nvariables: {n: int}\n---\nCount to {n}.", "count")
    >>> template.create({"n": 3}).text
    'Count to 3.'
    """

    name: str
    chat: ChatPromptTemplate
    version: str | None = field(default=None, kw_only=True)
    description: str = field(default="", kw_only=True)
    declared: tuple[PromptVariable, ...] = field(default=(), kw_only=True)
    cases: tuple[PromptCase, ...] = field(default=(), kw_only=True)
    locale: str | None = field(default=None, kw_only=True)
    models: tuple[str, ...] = field(default=(), kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=_mapping)
    bound: BoundVariables = field(default=NOTHING_BOUND, kw_only=True, hash=False, converter=bound_variables)

    def __attrs_post_init__(self) -> None:
        if self.bound:
            object.__setattr__(self, "bound", BoundVariables(self._read(self.bound)))

    @cached_property
    def _declared(self) -> Mapping[str, PromptVariable]:
        return {variable.name: variable for variable in self.declared}

    @cached_property
    def _defaults(self) -> Mapping[str, Any]:
        return {one.name: one.read(one.default) for one in self.declared if not one.required}

    @property
    def options(self) -> ChatOptions:
        """The options of every prompt it makes."""
        return self.chat.options

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that must still be given, in order of first appearance."""
        return tuple([name for name in self.chat.variables if name not in self._defaults and name not in self.bound])

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that may still be given: those with a default, too."""
        required = self.variables
        names = (*self.chat.variables, *self.chat.optional_variables)
        return tuple([name for name in names if name not in required and name not in self.bound])

    def check(self, model: Variables | None = None) -> VariablesReport:
        """Compare a model with what the prompt needs, without making it."""
        given = {} if model is None else variables_of(model)
        missing = self.chat.check({**self._defaults, **self.bound, **given}).missing
        return VariablesReport(missing, self.chat.check(given).unused)

    def _read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        declared = self._declared
        try:
            return {name: declared[name].read(value) if name in declared else value for name, value in given.items()}
        except TemplateError as error:
            raise error.named(self.name) from None

    def _values(self, model: Variables | None) -> Mapping[str, Any]:
        given = {} if model is None else variables_of(model)
        return {**self._defaults, **self.bound, **self._read(given)}

    def create(self, model: Variables | None = None, *, options: ChatOptions | None = None) -> Prompt:
        """Make the prompt.

        Args:
            model: The variables: a mapping, or an object whose fields are the variables.
            options: Options that win over the file's own.

        Raises:
            MissingVariablesError: Required variables are missing; all are named, with file and line.
            TemplateError: A value is not of its variable's type.
        """
        return self.chat.create(self._values(model), options=options)

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Make the messages, in order; see `create`."""
        return self.chat.create_messages(self._values(model))

    def create_message(self, model: Variables | None = None, *, media: Iterable[Media] = ()) -> Message:
        """Make the only message.

        Args:
            model: The variables; see `create`.
            media: Media that follow the text.

        Raises:
            TemplateError: The prompt has several messages, or none.
        """
        messages = self.create_messages(model)
        if len(messages) != 1:
            message = f"the prompt has {len(messages)} messages, not one; use create or create_messages"
            raise TemplateError(message, template_name=self.name)
        added = tuple(media)
        if not added:
            return messages[0]
        content = messages[0].content
        parts = [Text(content)] if isinstance(content, str) else [*(content or ())]
        return messages[0].mutate(content=(*parts, *added))  # type: ignore[attr-defined, no-any-return]

    def render(self, model: Variables | None = None) -> str:
        """Make the messages and join their texts, with nothing between them; see `create`."""
        return self.chat.render(self._values(model))

    def partial(self, model: Variables) -> Self:
        """Bind more variables; those given later win. The template itself stays as it is."""
        return self.mutate(bound={**self.bound, **variables_of(model)})
