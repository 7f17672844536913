"""Hold a prompt: the messages that go to a model, and the options that go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, overload

from attrs import field, frozen

from promptkit._frozen import ShownValue, bare_fields, items_of, shown
from promptkit.content import content_text
from promptkit.errors import PromptError
from promptkit.messages import (
    AssistantMessage,
    Message,
    MessageType,
    SystemMessage,
    ToolResponseMessage,
    UserMessage,
    check_message,
    with_text,
)
from promptkit.options import NO_OPTIONS, ChatOptions

__all__ = ["Prompt", "PromptLike"]

_BUILTINS = (UserMessage, SystemMessage, AssistantMessage, ToolResponseMessage)

PromptLike = str | Message | Iterable[Message]
"""What a prompt is built from: a user's text, a message, or messages in order."""


def _messages(value: PromptLike) -> tuple[Message, ...]:
    kind = type(value)
    if kind is str:
        return (UserMessage(value),)  # type: ignore[arg-type]
    messages: tuple[Any, ...] = tuple(value) if kind is tuple or kind is list else _odd_messages(value)  # type: ignore[arg-type]
    for index, message in enumerate(messages):
        if type(message) not in _BUILTINS:
            check_message(message, f"messages[{index}]")
    return messages


def _odd_messages(value: Any) -> tuple[Message, ...]:
    if isinstance(value, str):
        return (UserMessage(value),)
    if isinstance(value, Prompt):
        raise PromptError(
            "messages of a Prompt must not be a Prompt, whose options would be lost: use prompt.mutate(…)"
        )
    if value is None or isinstance(value, bytes | Mapping):
        raise PromptError(f"content or messages of a Prompt must be a text, a message or messages, not {shown(value)}")
    if not isinstance(value, Iterable) or hasattr(value, "message_type"):
        return (check_message(value, "messages"),)
    return items_of(value, "messages")


def _options(value: ChatOptions | None) -> ChatOptions:
    if value is None:
        return NO_OPTIONS
    if not isinstance(value, ChatOptions):
        raise PromptError(f"options of a Prompt must be ChatOptions, not {shown(value)}")
    return value


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class Prompt(ShownValue):
    """Hold messages in order and the options of the call: what every chat model takes.

    Args:
        messages: A text (of a user), a message, or messages in order. The sequence is copied.
        options: The options of this call; a model lays them over its own.

    Raises:
        PromptError: Something in it is no message.

    >>> prompt = Prompt([SystemMessage("Be brief."), UserMessage("Hi")], options=ChatOptions(temperature=0))
    >>> prompt.system_message.text, len(prompt), prompt.options.temperature
    ('Be brief.', 2, 0)
    """

    messages: tuple[Message, ...] = field(converter=_messages)
    options: ChatOptions = field(default=NO_OPTIONS, converter=_options)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "messages", _messages(self.messages))
        if type(self.options) is not ChatOptions:
            object.__setattr__(self, "options", _options(self.options))

    def __len__(self) -> int:
        return len(self.messages)

    def __bool__(self) -> bool:
        """Be true, with or without messages: a prompt is a value, not a container that may be absent."""
        return True

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self.messages[index]

    @property
    def text(self) -> str:
        """The text of all messages, a newline between two; absent text adds nothing."""
        return self.join_text("\n")

    def join_text(self, separator: str) -> str:
        """Join the text of all messages that have any."""
        texts = [content_text(message.content) for message in self.messages if message.content is not None]
        return separator.join([text for text in texts if text])

    def _of_type(self, *kinds: MessageType) -> tuple[Message, ...]:
        return tuple([message for message in self.messages if message.message_type in kinds])

    @property
    def system_messages(self) -> tuple[Message, ...]:
        """All system messages, in order."""
        return self._of_type(MessageType.SYSTEM)

    @property
    def user_messages(self) -> tuple[Message, ...]:
        """All user messages, in order."""
        return self._of_type(MessageType.USER)

    @property
    def system_message(self) -> Message | None:
        """The first system message, or ``None``."""
        return next(iter(self.system_messages), None)

    @property
    def user_message(self) -> Message | None:
        """The last user message, or ``None``."""
        return next(reversed(self.user_messages), None)

    @property
    def last_user_or_tool_response_message(self) -> Message | None:
        """The last message that speaks to the model: of a user or of a tool; or ``None``."""
        return next(reversed(self._of_type(MessageType.USER, MessageType.TOOL)), None)

    def augment_system_message(self, change: str | Callable[[Message], Message]) -> Prompt:
        """Make a prompt whose first system message is changed, where it stands; without one, put one in front.

        Args:
            change: The new text, which keeps metadata and media; or a function from the old message to the new one
                (an empty `SystemMessage` stands for an absent one).
        """
        at = self._index(MessageType.SYSTEM, range(len(self.messages)))
        if at is None:
            return self.mutate(messages=(_changed(SystemMessage(""), change), *self.messages))
        return self._replaced(at, change)

    def augment_user_message(self, change: str | Callable[[Message], Message]) -> Prompt:
        """Make a prompt whose last user message is changed, where it stands; without one, append one.

        Args:
            change: The new text, which keeps metadata and media; or a function from the old message to the new one
                (an empty `UserMessage` stands for an absent one).
        """
        at = self._index(MessageType.USER, range(len(self.messages) - 1, -1, -1))
        if at is None:
            return self.mutate(messages=(*self.messages, _changed(UserMessage(""), change)))
        return self._replaced(at, change)

    def _index(self, kind: MessageType, order: range) -> int | None:
        return next((at for at in order if self.messages[at].message_type == kind), None)

    def _replaced(self, at: int, change: str | Callable[[Message], Message]) -> Prompt:
        changed = _changed(self.messages[at], change)
        return self.mutate(messages=(*self.messages[:at], changed, *self.messages[at + 1 :]))

    def __repr__(self) -> str:
        """Show the messages as a list, and the options where any are set."""
        options = "" if self.options == NO_OPTIONS else f", options={self.options!r}"
        return f"Prompt({list(self.messages)!r}{options})"


def _changed(message: Message, change: str | Callable[[Message], Message]) -> Message:
    if isinstance(change, str):
        return with_text(message, change)
    if not callable(change):
        raise PromptError(f"the change of a message must be its new text or a function, not {shown(change)}")
    return change(message)
