"""Hold what is data in the generateContent format: option names, media types, limits, modes of calling.

Source: the types of the SDK `google-genai` 3.6.1 and the vendor's reference of generateContent
(ai.google.dev/api/generate-content, ai.google.dev/gemini-api/docs), read in November 2026.
The rules of roles and order are those of `promptkit.history.doctor`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "CHOICES",
    "DATA",
    "FIELDS",
    "FILES",
    "FORMAT",
    "INVALID",
    "JSON_TYPE",
    "OPTION_KEYS",
    "PASSING_ERRORS",
    "STOPS",
    "is_taken",
]

FORMAT = "gemini"
"""The name of the format, in errors, in `Opaque.vendor` and as the key of a vendor's own fields in metadata."""

OPTION_KEYS: Mapping[str, str] = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop_sequences": "stopSequences",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
}
"""The name in ``generationConfig`` of each option of `ChatOptions` that stands there."""

STOPS = 5
"""How many ``stopSequences`` a request may have."""

CHOICES: Mapping[str, str] = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
"""The tool choices that are no tool's name, and the mode that the format calls them."""

JSON_TYPE = "application/json"
"""The ``responseMimeType`` of an answer that follows a schema."""

INVALID = "INVALID_JSON"
"""The key under which broken arguments go back to the model; the format has no place for text that is no object."""

FILES = "https://generativelanguage.googleapis.com/"
"""How the URI of a file begins that the vendor keeps."""

DATA = frozenset(
    (
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
        "toolCall", "toolResponse",
    )
)  # fmt: skip
"""The fields of a part of which it has one; all others say something of it."""

FIELDS: Mapping[str, frozenset[str]] = {
    "functionCall": frozenset(("id",)),
    "functionResponse": frozenset(("id", "parts")),
    "fileData": frozenset(("mimeType",)),
}
"""The fields of the data of a part that may be absent, and that fields of ours stand for."""

_IMAGES = frozenset(("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"))
_DOCUMENTS = frozenset(("application/pdf", JSON_TYPE, "application/rtf", "application/x-javascript", "application/xml"))


def is_taken(mime_type: str) -> bool:
    """Tell whether the vendor takes media of a type; of sound and films it takes more types than it lists."""
    family = mime_type.partition("/")[0]
    return family in ("audio", "video", "text") or mime_type in _IMAGES or mime_type in _DOCUMENTS


PASSING_ERRORS: frozenset[str | int] = frozenset(
    ("RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", 429, 500, 503, 504)
)
"""The errors, by status and code, after which another try may succeed."""
