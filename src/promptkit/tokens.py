"""Count tokens: what a counter is, and one that needs no vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from attrs import frozen

from promptkit._frozen import Value
from promptkit.content import Content, Media, Opaque
from promptkit.messages import AssistantMessage, InvalidToolCall, Message, ToolCall, ToolResponseMessage, as_builtin

__all__ = ["ApproximateTokenCounter", "TokenCounter", "message_tokens"]


class TokenCounter(Protocol):
    """Count the tokens of one message; a conversation is the sum plus ``overhead``."""

    @property
    def overhead(self) -> int:
        """Tokens that a conversation costs beside its messages."""

    def count(self, message: Message) -> int:
        """Count the tokens of one message, its framing included."""


@frozen(repr=False, kw_only=True)
class ApproximateTokenCounter(Value):
    """Estimate tokens by the length of the text, without any vocabulary.

    Text of Latin script is taken at ``chars_per_token``, Chinese, Japanese and Korean characters at one token each; a
    medium costs a constant, since its bytes are not text.

    Args:
        chars_per_token: Characters of Latin text per token.
        tokens_per_message: Tokens of framing for each message.
        tokens_per_media: Tokens of an image, sound, film or document, or a function from the `Media` to them.
        overhead: Tokens of a conversation beside its messages.

    >>> from promptkit.messages import UserMessage
    >>> ApproximateTokenCounter().count(UserMessage("What is the capital of France?"))
    11
    """

    chars_per_token: float = 4.0
    tokens_per_message: int = 3
    tokens_per_media: int | Callable[[Media], int] = 800
    overhead: int = 3

    def count(self, message: Message) -> int:
        """Estimate the tokens of one message."""
        return message_tokens(message, self._text, per_message=self.tokens_per_message, per_media=self.tokens_per_media)

    def _text(self, text: str) -> int:
        if not text:
            return 0
        dense = 0 if text.isascii() else sum("\u2e80" <= char <= "\uffef" or char > "\U00020000" for char in text)
        return dense - int(-(len(text) - dense) // self.chars_per_token)


def message_tokens(
    message: Message, tokens: Callable[[str], int], *, per_message: int, per_media: int | Callable[[Media], int]
) -> int:
    """Count a message by its texts: its name, content, calls with their arguments, and results.

    Args:
        message: Any message.
        tokens: Counts a text.
        per_message: Framing of the message, of each call and of each result.
        per_media: A constant, or a function from the `Media`; its bytes are never taken for text.
    """

    def of_content(content: Content | None) -> int:
        if content is None or isinstance(content, str):
            return tokens(content) if content else 0
        total = 0
        for part in content:
            if isinstance(part, Media):
                total += per_media(part) if callable(per_media) else per_media
            else:
                total += tokens(str(part.payload) if isinstance(part, Opaque) else part.text)
        return total

    builtin = as_builtin(message)
    total = per_message + of_content(builtin.content)
    if builtin.name:
        total += tokens(builtin.name)
    if isinstance(builtin, AssistantMessage):
        calls: tuple[ToolCall | InvalidToolCall, ...] = (*builtin.tool_calls, *builtin.invalid_tool_calls)
        for call in calls:
            total += per_message + tokens(call.name or "") + tokens(call.arguments or "")
    elif isinstance(builtin, ToolResponseMessage):
        for response in builtin.responses:
            total += per_message + tokens(response.name or "") + of_content(response.content)
    return total
