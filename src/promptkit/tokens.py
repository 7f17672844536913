"""Count tokens: what a counter is, and one that needs no vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil, inf
from typing import Protocol

from attrs import frozen

from promptkit._frozen import Value, shown
from promptkit.content import Content, Media, Opaque
from promptkit.errors import PromptError
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

    Against the vocabularies cl100k_base and o200k_base, of which the older one needs more tokens for most scripts, the
    estimate of a text is off by so much: English +25 to +35 %, German, French and Polish -35 to +30 %, Russian -15 to
    +80 %, Greek, Arabic and Hebrew -60 to +55 %, Hindi and Thai -45 to +110 %, Chinese, Japanese and Korean -30 to +45 %,
    code +20 to +35 %, JSON -15 to +10 %, base64 0 to +15 %, emoji -25 to +45 %; long runs of blanks or digits far more.
    Media cost a constant, whatever their bytes.

    Args:
        chars_per_token: Latin letters and blanks per token.
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

    def __attrs_post_init__(self) -> None:
        if not (isinstance(self.chars_per_token, int | float) and 0 < self.chars_per_token < inf):
            raise PromptError(
                f"ApproximateTokenCounter.chars_per_token must be a positive number, not {shown(self.chars_per_token)}"
            )
        for name in ("tokens_per_message", "tokens_per_media", "overhead"):
            value = getattr(self, name)
            if (type(value) is not int or value < 0) and not (name == "tokens_per_media" and callable(value)):
                raise PromptError(f"ApproximateTokenCounter.{name} must be an int from 0 on, not {shown(value)}")

    def count(self, message: Message) -> int:
        """Estimate the tokens of one message."""
        return message_tokens(message, self._text, per_message=self.tokens_per_message, per_media=self.tokens_per_media)

    def _text(self, text: str) -> int:
        data = text.encode("utf-8", "surrogatepass")
        tokens = 0.0
        if len(data) >= _LONG_RUN and (found := re.findall(_ENCODED, data)):
            tokens = 0.75 * sum(map(len, found))
            data = re.sub(_ENCODED, b"", data)
        letters = len(data) - len(data := data.translate(None, _LETTERS))
        tokens += letters / self.chars_per_token
        for lead_bytes, weight in _WEIGHTS:
            if not data:
                break
            tokens += weight * (len(data) - len(data := data.translate(None, lead_bytes)))
        return ceil(tokens)


_LONG_RUN = 40
_ENCODED = rb"[A-Za-z0-9+/=_-]{%d,}" % _LONG_RUN
_LETTERS = bytes([*b" ", *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1), *range(0xC2, 0xCA)])
# Tokens of a character by the first byte of its UTF-8 form, fitted to cl100k_base and o200k_base.
_WEIGHTS = (
    (bytes(range(0x80)), 0.5),  # digits, punctuation, line ends
    (bytes(range(0x80, 0xC0)), 0.0),  # the other bytes of a character
    (bytes(range(0xC0, 0xE0)), 0.45),  # Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xE1)), 0.7),  # Indic scripts, Thai
    (bytes(range(0xE1, 0xF0)), 1.0),  # Chinese, Japanese, Korean, symbols
    (bytes(range(0xF0, 0x100)), 2.5),  # emoji, rare characters
)


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
    builtin = as_builtin(message)
    content = builtin.content
    total = per_message + (tokens(content) if type(content) is str else _content_tokens(content, tokens, per_media))
    if builtin.name:
        total += tokens(builtin.name)
    if isinstance(builtin, AssistantMessage):
        if builtin.tool_calls or builtin.invalid_tool_calls:
            calls: tuple[ToolCall | InvalidToolCall, ...] = (*builtin.tool_calls, *builtin.invalid_tool_calls)
            for call in calls:
                total += per_message + tokens(call.name or "") + tokens(call.arguments or "")
    elif isinstance(builtin, ToolResponseMessage):
        for response in builtin.responses:
            total += per_message + tokens(response.name or "") + _content_tokens(response.content, tokens, per_media)
    return total


def _content_tokens(
    content: Content | None, tokens: Callable[[str], int], per_media: int | Callable[[Media], int]
) -> int:
    if content is None or isinstance(content, str):
        return tokens(content) if content else 0
    total = 0
    for part in content:
        if isinstance(part, Media):
            total += per_media(part) if callable(per_media) else per_media
        else:
            total += tokens(str(part.payload) if isinstance(part, Opaque) else part.text)
    return total
