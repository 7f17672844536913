"""Hold what a request says in one role: text as it is, or a template with its variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from promptkit._frozen import Value, shown
from promptkit.content import Media, Text
from promptkit.errors import PromptError
from promptkit.messages import Message, SystemMessage, UserMessage, as_builtin
from promptkit.renderers.base import TemplateRenderer
from promptkit.templates.actions import MessageActions, Variables
from promptkit.templates.base import variables_of
from promptkit.templates.prompt_template import PromptTemplate, SystemPromptTemplate
from promptkit.templates.resource import TextResource

__all__ = ["NOTHING_SAID", "Said", "TextLike", "said_of"]

TextLike = str | TextResource | MessageActions
"""Text, the text of a file, or a template."""

_TEMPLATES: Mapping[type[Message], type[PromptTemplate]] = {
    SystemMessage: SystemPromptTemplate,
    UserMessage: PromptTemplate,
}


@frozen(repr=False, eq=False)
class Said(Value):
    """Hold a text or template, its variables and media.

    Variables, even none of them, make a template of a text; a text given without any is never parsed.
    """

    source: TextLike | None = None
    variables: Mapping[str, Any] | None = None
    media: tuple[Media, ...] = field(default=(), kw_only=True)

    def again(self, text: TextLike | None, variables: Variables | None, media: tuple[Media, ...] = ()) -> Said:
        """Say another text, or the same with more variables and media."""
        if text is not None and not isinstance(text, str | TextResource) and not hasattr(text, "create_message"):
            raise PromptError(f"a text must be a str, a TextResource or a template, not {shown(text)}")
        given = None if isinstance(text, str | TextResource) else self.variables
        if variables is not None:
            given = {**(self.variables or {}), **variables_of(variables)}
        return Said(self.source if text is None else text, given, media=(*self.media, *media))

    def message(self, kind: Any, renderer: TemplateRenderer | str) -> Message | None:
        """Make the message, or ``None`` where nothing is said."""
        source: Any = self.source
        text: Any = source.text if isinstance(source, TextResource) else source
        if source is not None and not isinstance(text, str):
            message = self._from_template(source, kind)
        elif text and text.strip() and self.variables is not None:
            message = _TEMPLATES[kind](source, renderer=renderer).create_message(self.variables, media=self.media)
        else:
            message = kind((Text(text or ""), *self.media) if text and text.strip() else self.media)
        content = as_builtin(message).content
        return message if content and (not isinstance(content, str) or content.strip()) else None

    def _from_template(self, template: Any, kind: Any) -> Message:
        message: Message = template.create_message(self.variables, media=self.media)
        if message.message_type is not kind.message_type:
            role, wanted = message.message_type.value, kind.message_type.value
            raise PromptError(
                f"{type(template).__name__} makes a message of the {role}, and stands where the {wanted} speaks"
            )
        return message


NOTHING_SAID = Said()
"""What a role says that says nothing."""


def said_of(given: Said | TextLike | None) -> Said:
    """Take a client's default text."""
    return given if isinstance(given, Said) else NOTHING_SAID.again(given, None)
