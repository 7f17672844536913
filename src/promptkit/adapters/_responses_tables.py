"""Hold what is data in the Responses format: option names, kinds of items, what an answer repeats of its request.

Source: the types of the SDK `openai` 3.57.0 and the API reference of Responses, read in November 2026. The rules of
order are those of `promptkit.history.doctor`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CLIENT_ITEMS", "CONTINUING", "ECHOED", "FORMAT", "OPTION_KEYS", "is_part_type"]

FORMAT = "openai_responses"
"""The name of the format, in errors, in `Opaque.vendor` and as the key of a vendor's own fields in metadata."""

OPTION_KEYS: Mapping[str, str] = {
    "model": "model",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
}
"""The options of `ChatOptions` that are one field of the format, and its name there."""

CONTINUING = ("previous_response_id", "conversation", "prompt")
"""The settings beside which a request needs no input: the vendor has what comes before it."""

CLIENT_ITEMS = frozenset(
    (
        "additional_tools",
        "apply_patch_call_output",
        "compaction_trigger",
        "computer_call_output",
        "custom_tool_call_output",
        "function_call_output",
        "local_shell_call_output",
        "mcp_approval_response",
        "shell_call_output",
    )
)
"""The items that the program writes, not the model."""

ECHOED = frozenset(
    (
        "background",
        "image",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "parallel_tool_calls",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "store",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    )
)
"""The fields of an answer that only repeat what the request said."""


def is_part_type(kind: object) -> bool:
    """Tell whether a type is that of a part of a message, not of an item: the vendor names them so."""
    return isinstance(kind, str) and (kind == "refusal" or kind.startswith(("input_", "output_")))
