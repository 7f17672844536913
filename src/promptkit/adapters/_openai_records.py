"""Read what is no content in an answer of Chat Completions: usage and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit.adapters.base import damaged
from promptkit.errors import ContextLengthError, ModelError
from promptkit.response import Usage

__all__ = ["error_of", "read_usage"]


def error_of(error: object) -> ModelError:
    """Make our error of the ``error`` object in an answer or an event.

    >>> error_of({"message": "busy", "type": "server_error"}).retryable
    True
    """
    record: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    text = str(record.get("message") or record.get("type") or "no reason given")
    message = f"the model refused: {text[:300]}"
    names = (record.get("code"), record.get("type"))
    if not _CONTEXT_ERRORS.isdisjoint(name for name in names if isinstance(name, str)):
        needed, available = record.get("n_prompt_tokens"), record.get("n_ctx")
        return ContextLengthError(
            message,
            needed=needed if isinstance(needed, int) else None,
            available=available if isinstance(available, int) else None,
        )
    return ModelError(message, retryable=any(name in _PASSING_ERRORS for name in names if isinstance(name, str | int)))


_CONTEXT_ERRORS = frozenset(("context_length_exceeded", "exceed_context_size_error"))
_PASSING_ERRORS: frozenset[str | int] = frozenset(
    ("rate_limit_error", "rate_limit_exceeded", "server_error", "overloaded_error", "unavailable_error", 429, 500, 503)
)


_DETAILS = (
    ("cache_read_tokens", "prompt_tokens_details", "cached_tokens"),
    ("cache_write_tokens", "prompt_tokens_details", "cache_write_tokens"),
    ("reasoning_tokens", "completion_tokens_details", "reasoning_tokens"),
)


def read_usage(usage: Any) -> Usage:
    """Read a report of usage; a counter that is no number of tokens counts as not reported, ``native`` keeps it.

    Raises:
        ResponseFormatError: It is no mapping.
    """
    if not isinstance(usage, Mapping):
        damaged("usage", "a mapping", usage)
    counts: dict[str, Any] = {
        name: _count(usage, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    }
    for name, group, key in _DETAILS:
        details = usage.get(group)
        counts[name] = _count(details, key) if isinstance(details, Mapping) else None
    return Usage(**counts, native=usage)


def _count(usage: Mapping[str, Any], key: str) -> int | None:
    value = usage.get(key)
    return value if type(value) is int and value >= 0 else None
