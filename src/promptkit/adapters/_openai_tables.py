"""Hold what is data in the Chat Completions format: dialects, option names, media types.

Source: the types of the SDK `openai` 3.57.0 and the API reference of Chat Completions, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from promptkit._frozen import FrozenDict, Value, freeze_mapping

__all__ = [
    "AUDIO_FORMATS",
    "AUDIO_TYPES",
    "FORMAT",
    "LEGACY",
    "MODES",
    "OPENAI",
    "REASONING_KEYS",
    "Dialect",
    "schema_name",
]

FORMAT = "openai"
"""The name of the format, in errors, in `Opaque.vendor` and as the key of a vendor's own fields in metadata."""


@frozen(repr=False, weakref_slot=False)
class Dialect(Value):
    """State how a server spells Chat Completions, and what it cannot take.

    Args:
        name: Who speaks it, for losses and errors.
        option_keys: The wire name of each option of `ChatOptions`; an option without one is a loss.
        system_role: The role that system messages go out with.
        reasoning_key: The field of an assistant message that takes its reasoning; ``None`` sends none.
        refuses: The kinds of content it does not take: ``image``, ``audio``, ``document``, ``tools``.

    >>> OPENAI.mutate(system_role="developer").system_role
    'developer'
    """

    name: str
    option_keys: FrozenDict = field(hash=False, converter=freeze_mapping)
    system_role: Literal["system", "developer", "user"] = field(default="system", kw_only=True)
    reasoning_key: str | None = field(default=None, kw_only=True)
    refuses: frozenset[str] = field(default=frozenset(), kw_only=True)


OPENAI = Dialect(
    FORMAT,
    {
        "model": "model",
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_completion_tokens",
        "stop_sequences": "stop",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
        "seed": "seed",
    },
)
"""OpenAI's own."""

MODES = ("auto", "none", "required")
"""The tool choices that are no tool's name."""

REASONING_KEYS = ("reasoning_content", "reasoning")
"""Where servers of this format put a model's reasoning; OpenAI's own shows none."""

LEGACY = {"deprecated": True}
"""A vendor's own field of a call or result in the form of before ``tool_calls``: ``function_call``, role ``function``."""

AUDIO_FORMATS: Mapping[str, str] = {
    "audio/mp3": "mp3",
    "audio/mpeg": "mp3",
    "audio/vnd.wave": "wav",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
}

AUDIO_TYPES: Mapping[str, str] = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def schema_name(schema: Mapping[str, Any]) -> str:
    """Name the format of a structured answer by its title, where that is a name to the vendor."""
    title = schema.get("title")
    allowed = isinstance(title, str) and title.isascii() and title.replace("_", "").replace("-", "").isalnum()
    return str(title) if allowed and len(str(title)) <= 64 else "answer"
