"""Read messages as the history tools need them: as a sequence, by role and ids, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from promptkit.content import Content, Media, Opaque, Reasoning, Text, freeze_content
from promptkit.errors import HistoryError
from promptkit.history.select import Item
from promptkit.messages import (
    AssistantMessage,
    Message,
    MessageType,
    SystemMessage,
    ToolResponseMessage,
    UserMessage,
    as_builtin,
    check_message,
)
from promptkit.prompt import Prompt

__all__ = [
    "Kind",
    "Kinds",
    "as_sequence",
    "describe",
    "is_empty",
    "matcher",
    "says_nothing",
    "without_blanks",
]

Kind = str | MessageType | type
"""A role, as ``"user"`` or `MessageType`, or a message class."""

Kinds = Kind | Iterable[Kind]
"""One kind or several."""

_USER = Item("user")
_SYSTEM = Item("system")
_ANSWER = Item("assistant")


def describe(message: Message, index: int = 0) -> Item:
    """Describe a message to the selection.

    Args:
        index: Where it stands, for the error.

    Raises:
        PromptError: It is no message.
    """
    kind = type(message)
    if kind is UserMessage:
        return _USER
    if kind is SystemMessage:
        return _SYSTEM
    if kind is not AssistantMessage and kind is not ToolResponseMessage:
        message = as_builtin(check_message(message, f"messages[{index}]"))
    if isinstance(message, AssistantMessage):
        if not message.tool_calls and not message.invalid_tool_calls:
            return _ANSWER
        invalid = [call.id for call in message.invalid_tool_calls]
        return Item("assistant", (*[call.id for call in message.tool_calls], *invalid))
    if isinstance(message, ToolResponseMessage):
        return Item("tool", responses=tuple([response.id for response in message.responses]))
    return Item(message.message_type.value)


def matcher(kinds: Kinds | None, option: str) -> Callable[[Message], bool] | None:
    """Make a test for messages of some kinds; ``None`` gives ``None``.

    Raises:
        HistoryError: Something is neither a role nor a class.
    """
    if kinds is None:
        return None
    given = (kinds,) if isinstance(kinds, str | type) or not isinstance(kinds, Iterable) else tuple(kinds)
    for kind in given:
        if not isinstance(kind, str | type):
            raise HistoryError(f"{option} takes roles such as 'user' and message classes, not {kind!r:.80}")
    roles = {str.__str__(kind) for kind in given if isinstance(kind, str)}
    classes = tuple(kind for kind in given if isinstance(kind, type))
    return lambda message: message.message_type.value in roles or isinstance(message, classes)


def as_sequence(messages: Iterable[Message]) -> Sequence[Message]:
    """Give messages an order and a length; a list, a tuple and a `Prompt` are not copied.

    Raises:
        HistoryError: It is one message, a text or no messages at all.
    """
    if isinstance(messages, list | tuple):
        return messages
    if isinstance(messages, Prompt):
        return messages.messages
    if isinstance(messages, str | bytes | Mapping) or hasattr(messages, "message_type"):
        raise HistoryError(
            f"messages must be several messages in order, not {messages!r:.80}; one stands in a list: [m]"
        )
    if not isinstance(messages, Iterable):
        raise HistoryError(f"messages must be messages in order, not {messages!r:.80}")
    return tuple(messages)


def is_empty(content: Content | None) -> bool:
    """Tell whether content says nothing: no text but blanks, and nothing else but thoughts."""
    if content is None or isinstance(content, str):
        return not content or content.isspace()
    return all(isinstance(part, Reasoning) or (isinstance(part, Text) and not part.text.strip()) for part in content)


def says_nothing(content: Content | None) -> bool:
    """Tell whether there is nothing that a provider takes for content, be it an empty text."""
    return content is None or (
        isinstance(content, tuple) and not any(isinstance(part, Text | Media | Opaque) for part in content)
    )


def without_blanks(content: Content | None) -> Content | None:
    """Take blank texts out of content; an empty str is no text."""
    if isinstance(content, str):
        return "" if content.isspace() else content
    if content is None:
        return None
    return freeze_content([part for part in content if not isinstance(part, Text) or part.text.strip()])
