"""Filter conversations by role, name, id and tool call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from promptkit.content import Content, Opaque
from promptkit.errors import HistoryError
from promptkit.history._messages import Kinds, as_sequence, describe, is_empty, matcher
from promptkit.history.select import Criteria, Item, Test, exchanges, link_responses, select_matching
from promptkit.history.step import stepwise
from promptkit.messages import AssistantMessage, Message, ToolResponseMessage, as_builtin

__all__ = ["filter_messages"]

Stays = Mapping[int, Sequence[int]]
"""The positions that stay of a message's calls, or of its responses, by the message's index."""


@stepwise
def filter_messages(
    messages: Iterable[Message],
    *,
    include_types: Kinds = (),
    include_names: Iterable[str] = (),
    include_ids: Iterable[str] = (),
    exclude_types: Kinds = (),
    exclude_names: Iterable[str] = (),
    exclude_ids: Iterable[str] = (),
    exclude_tool_calls: bool | Iterable[str] = False,
    pairs: bool = True,
) -> tuple[Message, ...]:
    """Keep the messages that nothing excludes and something includes; nothing to include by means all.

    A message that loses its only call keeps its text, and goes only when there is none.

    Args:
        include_types: Roles or message classes.
        include_names: Names of speakers, or of the tool of a single result.
        include_ids: Ids of messages.
        exclude_types: As ``include_types``; what is excluded stays out.
        exclude_names: As ``include_names``.
        exclude_ids: As ``include_ids``.
        exclude_tool_calls: Ids of calls that go with their results, or ``True`` for all.
        pairs: Take out the call of a result that goes, the result of a call that goes, and what never had the other.

    Raises:
        HistoryError: An option is wrong.

    >>> from promptkit.messages import ToolCall, ToolResponse, UserMessage
    >>> chat = [
    ...     UserMessage("How warm is it?"),
    ...     AssistantMessage("I will look.", tool_calls=[ToolCall("c1", "weather")]),
    ...     ToolResponseMessage(ToolResponse("c1", content="3 degrees")),
    ... ]
    >>> filter_messages(chat, exclude_types="tool")
    (UserMessage('How warm is it?'), AssistantMessage('I will look.'))
    """
    history = as_sequence(messages)
    items = [describe(message, index) for index, message in enumerate(history)]
    include = Criteria(
        _texts(include_names, "include_names"),
        _texts(include_ids, "include_ids"),
        _test(include_types, "include_types", history),
    )
    exclude = Criteria(
        _texts(exclude_names, "exclude_names"),
        _texts(exclude_ids, "exclude_ids"),
        _test(exclude_types, "exclude_types", history),
    )
    goes = _excluded_calls(exclude_tool_calls)
    chosen = select_matching(
        len(history),
        lambda index: _name(history[index]),
        lambda index: getattr(history[index], "id", None),
        include=include,
        exclude=exclude,
    )
    stays = _paired(items, frozenset(chosen), goes) if pairs else _listed(items, chosen, goes)
    kept = (_reduced(history[index], items[index], stays.get(index, ())) for index in chosen)
    return tuple([message for message in kept if message is not None])


def _texts(values: Iterable[str], option: str) -> frozenset[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise HistoryError(f"{option} takes several str, not {values!r:.80}; one stands in a list: [{values!r:.80}]")
    texts = tuple(values)
    for text in texts:
        if not isinstance(text, str):
            raise HistoryError(f"{option} takes str, not {text!r:.80}")
    return frozenset(texts)


def _test(kinds: Kinds, option: str, history: Sequence[Message]) -> Test | None:
    given = kinds if isinstance(kinds, str | type) or not isinstance(kinds, Iterable) else tuple(kinds)
    matches = matcher(given or None, option)
    return None if matches is None else lambda index: matches(history[index])


def _excluded_calls(option: bool | Iterable[str]) -> Callable[[str | None], bool]:
    if isinstance(option, bool):
        return lambda _: option
    ids = _texts(option, "exclude_tool_calls")
    return lambda call_id: call_id in ids


def _name(message: Message) -> str | None:
    name: str | None = getattr(message, "name", None)
    if name is None and isinstance(message, ToolResponseMessage) and len(message.responses) == 1:
        return message.responses[0].name
    return name


def _listed(items: Sequence[Item], chosen: Iterable[int], goes: Callable[[str | None], bool]) -> Stays:
    """Judge each call and each result by its own id."""
    return {
        index: [
            position
            for position, call_id in enumerate((*items[index].calls, *items[index].responses))
            if not goes(call_id)
        ]
        for index in chosen
    }


def _paired(items: Sequence[Item], chosen: frozenset[int], goes: Callable[[str | None], bool]) -> Stays:
    """Keep a call with its result when neither goes."""
    stays: dict[int, Sequence[int]] = {}
    for run in exchanges(items):
        calls = items[run.start].calls
        if run.start not in chosen:
            continue
        alive: list[int] = []
        for at, link in enumerate(link_responses(items[run.start], items[run.start + 1 : run.stop]), run.start + 1):
            pairs = [
                (own, position)
                for own, position in enumerate(link)
                if at in chosen and position is not None and not goes(calls[position])
            ]
            stays[at] = [own for own, _ in pairs]
            alive += [position for _, position in pairs]
        stays[run.start] = sorted(alive)
    return stays


def _reduced(message: Message, item: Item, stays: Sequence[int]) -> Message | None:
    """Take out of a message what does not stay; ``None`` when nothing is left."""
    ids = (*item.calls, *item.responses)
    if len(stays) == len(ids):
        return message
    builtin = as_builtin(message)
    if isinstance(builtin, ToolResponseMessage):
        return builtin.mutate(responses=[builtin.responses[own] for own in stays]) if stays else None
    assert isinstance(builtin, AssistantMessage)
    left = frozenset(stays)
    gone = [call_id for position, call_id in enumerate(ids) if position not in left and call_id is not None]
    content = _without_calls(builtin.content, gone)
    if not stays and is_empty(content):
        return None
    calls = [call for position, call in enumerate(builtin.tool_calls) if position in left]
    invalid = [
        call for position, call in enumerate(builtin.invalid_tool_calls, len(builtin.tool_calls)) if position in left
    ]
    return builtin.mutate(content=content, tool_calls=calls, invalid_tool_calls=invalid)


def _without_calls(content: Content | None, gone: Collection[str]) -> Content | None:
    """Take out a vendor's own blocks of the calls that go."""
    if not isinstance(content, tuple):
        return content
    return tuple([part for part in content if not isinstance(part, Opaque) or part.payload.get("id", part) not in gone])
