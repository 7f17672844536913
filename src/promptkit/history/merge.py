"""Merge neighbours of one speaker into one message."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from promptkit.content import Content, Part, Text
from promptkit.errors import HistoryError
from promptkit.history._messages import as_sequence, describe
from promptkit.history.select import merge_runs
from promptkit.history.step import stepwise
from promptkit.messages import AssistantMessage, Message, as_builtin

__all__ = ["merge_message_runs", "merged"]


@stepwise
def merge_message_runs(messages: Iterable[Message], *, separator: str = "\n") -> tuple[Message, ...]:
    """Merge messages that follow each other from one speaker; results of tools never merge.

    One speaker is one role with one name (and one ``role`` in the metadata, where a foreign history had free roles).

    Texts are joined by the separator. Where a message has parts, the parts stand one after the other. Calls are kept in
    order. The id is the first that is set. Metadata merge key by key: mappings and lists are joined, of other values
    the last stays that is not ``None``.

    Args:
        separator: Stands between two texts, neither of them empty.

    Returns:
        The messages; those that had nothing to merge with are the same objects.

    >>> from promptkit.messages import UserMessage
    >>> merge_message_runs([UserMessage("Hi."), UserMessage("Who are you?")], separator=" ")
    (UserMessage('Hi. Who are you?'),)
    """
    if not isinstance(separator, str):
        raise HistoryError(f"separator must be a str, not {separator!r:.80}")
    history = as_sequence(messages)
    keys = [_key(message, index) for index, message in enumerate(history)]
    return tuple(
        [
            history[run.start] if len(run) == 1 else merged(history[run.start : run.stop], separator)
            for run in merge_runs(keys)
        ]
    )


def _key(message: Message, index: int) -> Hashable:
    item = describe(message, index)
    free_role = message.metadata.get("role")
    return None if item.role == "tool" else (item.role, getattr(message, "name", None), str(free_role))


def merged(messages: Sequence[Message], separator: str) -> Message:
    """Make one message of several of one role; see `merge_message_runs`."""
    run = [as_builtin(message) for message in messages]
    first = run[0]
    changes: dict[str, Any] = {
        "id": next((message.id for message in run if message.id is not None), None),
        "metadata": _merged_values([message.metadata for message in run]),
        "content": _merged_content([message.content for message in run], separator),
    }
    if isinstance(first, AssistantMessage):
        for name in ("tool_calls", "invalid_tool_calls"):
            changes[name] = [call for message in run for call in getattr(message, name)]
    return first.mutate(**changes)


def _merged_content(contents: Sequence[Content | None], separator: str) -> Content | None:
    said = [content for content in contents if content]
    texts = [content for content in said if isinstance(content, str)]
    if len(texts) < len(said):
        parts: list[Part] = []
        for content in said:
            parts += (Text(content),) if isinstance(content, str) else content
        return tuple(parts)
    if texts:
        return separator.join(texts)
    return next((content for content in contents if content is not None), None)


def _merged_values(values: Sequence[Any]) -> Any:
    given = [value for value in values if value is not None]
    if len(given) < 2:
        return given[0] if given else None
    if all(isinstance(value, Mapping) for value in given):
        grouped: dict[str, list[Any]] = {}
        for value in given:
            for key, item in value.items():
                grouped.setdefault(key, []).append(item)
        return {key: _merged_values(items) for key, items in grouped.items()}
    if all(isinstance(value, list | tuple) for value in given):
        return [item for value in given for item in value]
    return given[-1]
