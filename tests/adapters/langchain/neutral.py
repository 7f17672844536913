"""Read and write the neutral messages of the recorded answers: ``{"type", "data"}``, and marks for other values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from promptkit.adapters import langchain
from promptkit.adapters.langchain import (
    BaseMessage,
    ChatPromptValue,
    StringPromptValue,
    messages_from_dict,
    messages_to_dict,
)
from promptkit.adapters.langchain.stored import CLASSES
from promptkit.errors import PromptkitError

ERRORS = (PromptkitError, TypeError, ValueError)
"""What stands for an error of theirs: ours are typed, a call with unknown arguments is Python's."""


def message(neutral: dict[str, Any]) -> BaseMessage:
    """Build one message."""
    kind = CLASSES.get(neutral["type"])
    return messages_from_dict([neutral])[0] if kind is None else kind(**neutral["data"])


def messages(neutral: Iterable[dict[str, Any]]) -> list[BaseMessage]:
    """Build messages."""
    return [message(item) for item in neutral]


def value(neutral: Any) -> Any:
    """Build any argument."""
    if isinstance(neutral, list):
        return [value(item) for item in neutral]
    if not isinstance(neutral, dict):
        return neutral
    for mark, read in _MARKS.items():
        if mark in neutral:
            return read(neutral[mark])
    return {key: value(item) for key, item in neutral.items()}


_MARKS: dict[str, Callable[[Any], Any]] = {
    "$message": message,
    "$tuple": lambda items: tuple(value(items)),
    "$class": lambda name: getattr(langchain, name),
    "$prompt": lambda items: ChatPromptValue(messages(items)),
    "$string_prompt": StringPromptValue,
}


def plain(given: Any) -> Any:
    """Give what a case compares: JSON, the presence of empty values and the ids that somebody makes up aside."""
    if isinstance(given, BaseMessage):
        return plain(messages_to_dict([given])[0])
    if isinstance(given, dict):
        cleaned = {key: plain(item) for key, item in given.items()}
        kept = {key: item for key, item in cleaned.items() if item not in _EMPTY or key in _ALWAYS}
        if isinstance(kept.get("id"), str) and re.fullmatch(r"lc_[-0-9a-f]{30,}", kept["id"]):
            kept["id"] = "<generated>"
        return kept
    return [plain(item) for item in given] if isinstance(given, list | tuple) else given


_EMPTY: tuple[Any, ...] = (None, {}, [], "")
_ALWAYS = ("content", "args")


def one(message: BaseMessage) -> int:
    """Count the characters of a message; the annotation makes it a counter of single messages."""
    return len(message.text)


def _ten(history: Sequence[BaseMessage]) -> int:
    return sum(10 if isinstance(item.content, str) else 6 + 4 * len(item.content) for item in history)


COUNTERS: dict[str, Any] = {
    "len": len,
    "approximate": "approximate",
    "bogus": "bogus",
    "chars": lambda history: sum(len(item.text) for item in history),
    "words": lambda history: sum(len(item.text.split()) for item in history),
    "chars_per_message": one,
    "ten": _ten,
}

SPLITTERS: dict[str | None, Callable[[str], list[str]] | None] = {
    None: None,
    "words": lambda text: re.findall(r"\S+\s*", text),
    "chars": list,
}
