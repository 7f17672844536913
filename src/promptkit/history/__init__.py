"""Keep conversations small and valid: trim, filter, merge, count, check and repair them."""

from __future__ import annotations

from promptkit.history.counters import (
    CounterLike,
    ListTokenCounter,
    MessageCounter,
    TiktokenCounter,
    count_tokens,
)
from promptkit.history.filter import filter_messages
from promptkit.history.merge import merge_message_runs
from promptkit.history.step import Step
from promptkit.history.trim import Window, trim_messages, trim_to_window

__all__ = [
    "CounterLike",
    "ListTokenCounter",
    "MessageCounter",
    "Step",
    "TiktokenCounter",
    "Window",
    "count_tokens",
    "filter_messages",
    "merge_message_runs",
    "trim_messages",
    "trim_to_window",
]
