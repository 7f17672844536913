"""Count tokens: what a counter is, and one that needs no vocabulary."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from promptkit._frozen import Value
from promptkit.content import Content, Media, Opaque
from promptkit.messages import AssistantMessage, InvalidToolCall, Message, ToolCall, ToolResponseMessage, as_builtin

__all__ = ["ApproximateTokenCounter", "TokenCounter"]


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
        tokens_per_media: Tokens of an image, sound, film or document.
        overhead: Tokens of a conversation beside its messages.

    >>> from promptkit.messages import UserMessage
    >>> ApproximateTokenCounter().count(UserMessage("What is the capital of France?"))
    11
    """

    chars_per_token: float = 4.0
    tokens_per_message: int = 3
    tokens_per_media: int = 800
    overhead: int = 3

    def count(self, message: Message) -> int:
        """Estimate the tokens of one message."""
        builtin = as_builtin(message)
        tokens = self.tokens_per_message + self._text(builtin.name or "") + self._content(builtin.content)
        if isinstance(builtin, AssistantMessage):
            calls: tuple[ToolCall | InvalidToolCall, ...] = (*builtin.tool_calls, *builtin.invalid_tool_calls)
            for call in calls:
                tokens += self._text(call.name or "") + self._text(call.arguments or "") + self.tokens_per_message
        elif isinstance(builtin, ToolResponseMessage):
            for response in builtin.responses:
                tokens += self._text(response.name or "") + self._content(response.content) + self.tokens_per_message
        return tokens

    def _content(self, content: Content | None) -> int:
        if content is None or isinstance(content, str):
            return self._text(content or "")
        tokens = 0
        for part in content:
            if isinstance(part, Media):
                tokens += self.tokens_per_media
            else:
                tokens += self._text(str(part.payload) if isinstance(part, Opaque) else part.text)
        return tokens

    def _text(self, text: str) -> int:
        if not text:
            return 0
        dense = 0 if text.isascii() else sum("\u2e80" <= char <= "\uffef" or char > "\U00020000" for char in text)
        return dense - int(-(len(text) - dense) // self.chars_per_token)
