"""Define what a template can do, as protocols: to text, to one message, to a prompt, to messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

from attrs import AttrsInstance

from promptkit.content import Media
from promptkit.messages import Message
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt

__all__ = ["Actions", "ChatActions", "MessageActions", "StringActions", "Variables"]


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


class _PydanticModel(Protocol):
    def model_dump(self) -> dict[str, Any]: ...


Variables = Mapping[str, Any] | AttrsInstance | _Dataclass | _PydanticModel
"""What a template takes its variables from: a mapping, or an object whose fields are the variables."""


class StringActions(Protocol):
    """Turn variables into text."""

    def render(self, model: Variables | None = None) -> str:
        """Fill in the template.

        Args:
            model: The variables: a mapping, or an attrs, dataclass or pydantic object whose fields are the variables.
        """


class MessageActions(Protocol):
    """Turn variables into one message."""

    def create_message(self, model: Variables | None = None, *, media: Iterable[Media] = ()) -> Message:
        """Fill in the template as a message of its role.

        Args:
            model: The variables; see `StringActions.render`.
            media: Media that follow the text.
        """


class Actions(StringActions, Protocol):
    """Turn variables into a prompt."""

    def create(self, model: Variables | None = None, *, options: ChatOptions | None = None) -> Prompt:
        """Fill in the template as a prompt.

        Args:
            model: The variables; see `StringActions.render`.
            options: The options of the call.
        """


class ChatActions(Protocol):
    """Turn variables into messages."""

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Fill in the template as messages, in order.

        Args:
            model: The variables; see `StringActions.render`.
        """
