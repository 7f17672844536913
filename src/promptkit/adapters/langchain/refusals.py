"""Refuse what is no message, with the place where it stands and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from promptkit._frozen import shown
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.errors import AdapterError

__all__ = ["PAIR_ROLES", "check_several", "no_message", "refused"]

PAIR_ROLES = frozenset(("human", "user", "ai", "assistant", "system", "developer", "function", "tool", "remove"))
"""The roles by which a pair ``(role, content)`` is told from two texts."""


def refused(path: str, problem: str) -> AdapterError:
    """Make the error of what is no message."""
    return AdapterError(problem, format="langchain", path=path)


def no_message(value: object, path: str, wanted: str = "a message") -> AdapterError:
    """Make the error of what is no message of this layer, and name the function that would make it one."""
    if hasattr(value, "message_type"):
        return refused(path, "is a message of promptkit: see to_messages")
    if hasattr(value, "model_dump"):
        return refused(path, "is an object of LangChain's own: see from_langchain_core")
    return refused(path, f"must be {wanted}, not {shown(value)}")


def check_several(messages: Any, path: str = "messages") -> None:
    """Refuse a single message, and what is no iterable, where several are meant.

    Raises:
        AdapterError: It is one of these.
    """
    pair = (
        isinstance(messages, (list, tuple)) and len(messages) == 2 and all(isinstance(item, str) for item in messages)
    )
    if isinstance(messages, (str, bytes, Mapping, BaseMessage)) or (pair and messages[0] in PAIR_ROLES):
        hint = "a pair (role, content)" if pair else f"one {type(messages).__name__}"
        raise refused(path, f"a list of messages is meant, and this is {hint}: put it in a list, [{shown(messages)}]")
    if not isinstance(messages, Iterable):
        raise refused(path, f"must be a list of messages, not {shown(messages)}")
