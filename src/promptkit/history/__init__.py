"""Keep conversations small and valid: trim, filter, merge, count, check and repair them."""

from __future__ import annotations

from promptkit.history.counters import (
    CounterLike,
    ListTokenCounter,
    MessageCounter,
    TiktokenCounter,
    count_tokens,
)
from promptkit.history.doctor import (
    RULES,
    Change,
    Finding,
    HistoryRules,
    Repair,
    check_history,
    repair_history,
)
from promptkit.history.filter import filter_messages
from promptkit.history.merge import merge_message_runs
from promptkit.history.step import Step
from promptkit.history.trim import Window, trim_messages, trim_to_window

__all__ = [
    "RULES",
    "Change",
    "CounterLike",
    "Finding",
    "HistoryRules",
    "ListTokenCounter",
    "MessageCounter",
    "Repair",
    "Step",
    "TiktokenCounter",
    "Window",
    "check_history",
    "count_tokens",
    "filter_messages",
    "merge_message_runs",
    "repair_history",
    "trim_messages",
    "trim_to_window",
]
