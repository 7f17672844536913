"""Hold what is data in the Messages format: option names, media types, limits, tool choices.

Source: the types of the SDK `anthropic` 2.14.0 and the vendor's reference of the Messages API, read in November 2026.
The rules of roles and order are those of `promptkit.history.doctor`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CACHE_MARKS", "CHOICES", "FORMAT", "IMAGE_TYPES", "INVALID", "MAX_TOKENS", "OPTION_KEYS", "is_id"]

FORMAT = "anthropic"
"""The name of the format, in errors, in `Opaque.vendor` and as the key of a vendor's own fields in metadata."""

OPTION_KEYS = ("model", "temperature", "top_p", "top_k", "max_tokens", "stop_sequences")
"""The options of `ChatOptions` that the format has, under the same names.

Models since Claude Opus 4.7 refuse ``temperature``, ``top_p`` and ``top_k``, and the SDK has no parameters for them
since 1.0 (its ``extra_body`` takes them); older models go on taking them.
"""

MAX_TOKENS = 4096
"""What is sent where nobody set ``max_tokens``, which the format requires; every model of the vendor allows it."""

CACHE_MARKS = 4
"""How many ``cache_control`` marks a request may have."""

IMAGE_TYPES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
"""The images that it takes by their bytes."""

CHOICES: Mapping[str, str] = {"auto": "auto", "none": "none", "required": "any"}
"""The tool choices that are no tool's name, and what the format calls them."""

INVALID = "INVALID_JSON"
"""The key under which broken arguments go back to the model, as the vendor's page on streamed tool input says."""


def is_id(text: str | None) -> bool:
    """Tell whether the vendor takes a text for the id of a call: letters, digits, ``_`` and ``-``."""
    return text is not None and text.isascii() and text.replace("_", "a").replace("-", "a").isalnum()
