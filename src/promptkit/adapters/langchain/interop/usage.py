"""Translate what a call cost between promptkit and LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit._frozen import EMPTY
from promptkit.response import Usage

__all__ = ["from_usage_metadata", "to_usage_metadata"]


def to_usage_metadata(usage: Usage) -> dict[str, Any] | None:
    """Write a usage; ``None`` where it counts nothing."""
    if not usage:
        return None
    found: dict[str, Any] = {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    details = {"cache_read": usage.cache_read_tokens, "cache_creation": usage.cache_write_tokens}
    for name, counts in (
        ("input_token_details", details),
        ("output_token_details", {"reasoning": usage.reasoning_tokens}),
    ):
        stated = {key: count for key, count in counts.items() if count is not None}
        if stated:
            found[name] = stated
    return found


def from_usage_metadata(usage: Mapping[str, Any] | None) -> Usage:
    """Read a usage; ``None`` counts nothing."""
    if not usage:
        return Usage()
    given, made = usage.get("input_token_details", EMPTY), usage.get("output_token_details", EMPTY)
    return Usage(
        usage["input_tokens"],
        usage["output_tokens"],
        total_tokens=usage["total_tokens"],
        cache_read_tokens=given.get("cache_read"),
        cache_write_tokens=given.get("cache_creation"),
        reasoning_tokens=made.get("reasoning"),
    )
