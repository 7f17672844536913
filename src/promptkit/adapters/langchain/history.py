"""Trim, filter and merge histories by LangChain's names and options, over its messages.

`promptkit.history` has the same tools for promptkit's own messages, with protection of tool calls and turns; here a cut
goes where the options say, as in LangChain. Called without messages, each function gives a step for chains.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

from promptkit._frozen import shown
from promptkit.adapters.langchain._joining import join_content, join_mappings
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.calls import add_usage
from promptkit.adapters.langchain.chunks import AIMessageChunk, message_chunk_to_message
from promptkit.adapters.langchain.convert import LanguageModelInput, to_language_model_input
from promptkit.adapters.langchain.counting import Counter, Meter, meter_of
from promptkit.adapters.langchain.messages import AIMessage, ChatMessage, RemoveMessage, SystemMessage, ToolMessage
from promptkit.adapters.langchain.steps import langchain_stepwise
from promptkit.errors import AdapterError, HistoryError
from promptkit.history.select import (
    Criteria,
    Test,
    largest,
    longest_piece,
    merge_runs,
    select_first,
    select_last,
    select_matching,
)

__all__ = ["filter_messages", "merge_message_runs", "trim_messages"]

Kind = str | type[BaseMessage]
Kinds = Kind | Sequence[Kind]


def _matcher(kinds: Kinds | None, messages: Sequence[BaseMessage], option: str) -> Test | None:
    """Make a test for the message at an index; a chunk is of the type of its message, and of its own."""
    if kinds is not None and not isinstance(kinds, (str, type, Iterable)):
        raise HistoryError(f"{option} takes types such as 'human' and message classes, not {shown(kinds)}")
    given = (kinds,) if isinstance(kinds, (str, type)) else tuple(kinds or ())
    for kind in given:
        if not isinstance(kind, (str, type)):
            raise HistoryError(f"{option} takes types such as 'human' and message classes, not {shown(kind)}")
    if not given:
        return None
    words = {kind for kind in given if isinstance(kind, str)}
    classes = tuple(kind for kind in given if isinstance(kind, type))

    def matches(index: int) -> bool:
        message = messages[index]
        return message.kind in words or message.type in words or isinstance(message, classes)

    return matches


@langchain_stepwise
def trim_messages(
    messages: LanguageModelInput,
    *,
    max_tokens: int,
    token_counter: Counter,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Kinds | None = None,
    start_on: Kinds | None = None,
    include_system: bool = False,
    text_splitter: Any = None,
    per_message: bool | None = None,
) -> list[BaseMessage]:
    """Keep the last (or first) messages that fit a budget.

    Nothing goes over the budget: a system message that alone is too large leaves nothing.

    Args:
        messages: Messages, or what stands for them.
        max_tokens: The budget, in what ``token_counter`` counts.
        token_counter: ``"approximate"``, a chat model of promptkit's or LangChain's, a `TokenCounter`, or a function
            of a list of messages; one whose parameter is annotated as `BaseMessage` counts one message. ``len`` counts
            messages.
        strategy: Which end to keep.
        allow_partial: Keep a part of the first message that does not fit: its last (or first) blocks, or else pieces of
            one text.
        end_on: Types or classes that the kept part must end with.
        start_on: Types or classes that the kept part must start with, after the system message; for ``"last"`` only.
        include_system: Keep a system message that comes first; for ``"last"`` only.
        text_splitter: Cuts a text into pieces for ``allow_partial``: a function, or an object with ``split_text``;
            after each newline when left out.
        per_message: Whether a function counts one message, where its annotation does not say so.

    Returns:
        The kept messages themselves, and for a part a copy.

    Raises:
        HistoryError: An option is wrong, or the counter failed.

    >>> from promptkit.adapters.langchain import HumanMessage
    >>> chat = [SystemMessage("Be brief."), HumanMessage("Hi"), AIMessage("Hello"), HumanMessage("Who are you?")]
    >>> [message.text for message in trim_messages(chat, max_tokens=2, token_counter=len, include_system=True)]
    ['Be brief.', 'Who are you?']
    """
    history = to_language_model_input(messages).to_messages()
    if strategy not in ("first", "last"):
        raise HistoryError(f"strategy must be 'first' or 'last', not {shown(strategy)}")
    if strategy == "first" and (start_on or include_system):
        raise HistoryError("start_on and include_system have no meaning for strategy='first'")
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, (int, float)) or not max_tokens <= math.inf:
        raise HistoryError(f"max_tokens must be a number, not {shown(max_tokens)}")
    if text_splitter is not None and not callable(getattr(text_splitter, "split_text", text_splitter)):
        raise HistoryError(f"text_splitter must be a function or have split_text, not {shown(text_splitter)}")
    meter = meter_of(token_counter, per_message=per_message)
    common: dict[str, Any] = {
        "overhead": meter.overhead,
        "ends": _matcher(end_on, history, "end_on"),
        "part": _Parts(history, meter, text_splitter, strategy == "last") if allow_partial else None,
        "exact": (lambda chosen: meter.measure(chosen.pick(history))) if meter.of_lists else None,
    }
    sizes: list[int | None] = [None] * len(history)

    def size(index: int) -> int:
        known = sizes[index]
        if known is None:
            known = sizes[index] = meter.size(history[index])
        return known

    if strategy == "first":
        return select_first(len(history), size, max_tokens, **common).pick(history)
    head = int(bool(include_system and history) and isinstance(history[0], SystemMessage))
    starts = _matcher(start_on, history, "start_on")
    return select_last(len(history), size, max_tokens, head=head, starts=starts, **common).pick(history)


@frozen
class _Parts:
    """Cut a message so that a part of it fits."""

    history: Sequence[BaseMessage]
    meter: Meter
    splitter: Any
    from_end: bool = field()

    def __call__(self, index: int, room: int) -> BaseMessage | None:
        message = self.history[index]
        content = message.content

        def fits(part: Any) -> bool:
            return self.meter.size(message.mutate(content=part)) <= room

        if isinstance(content, tuple):
            number = largest(1, len(content) - 1, lambda number: fits(self._side(content, number)))
            if number is not None:
                return message.mutate(content=self._side(content, number))
        text = self._text(content)
        piece = longest_piece(self._pieces(text), fits, from_end=self.from_end) if text else None
        return message.mutate(content=piece) if piece else None

    def _side(self, items: Any, number: int) -> Any:
        return items[-number:] if self.from_end else items[:number]

    def _text(self, content: Any) -> str:
        if isinstance(content, str):
            return content
        texts = [item if isinstance(item, str) else item.get("text") for item in content if _is_text(item)]
        return str(texts[-1 if self.from_end else 0] or "") if texts else ""

    def _pieces(self, text: str) -> Sequence[str]:
        if self.splitter is None:
            return re.findall(r"[^\n]*\n|[^\n]+", text)
        split: Callable[[str], Sequence[str]] = getattr(self.splitter, "split_text", self.splitter)
        pieces = split(text)
        if not isinstance(pieces, (list, tuple)) or not all(isinstance(piece, str) for piece in pieces):
            raise HistoryError(f"the text_splitter must give a list of str, not {shown(pieces)}")
        return pieces


def _is_text(item: Any) -> bool:
    return isinstance(item, str) or item.get("type") == "text"


@langchain_stepwise
def filter_messages(
    messages: LanguageModelInput,
    *,
    include_names: Sequence[str] | None = None,
    exclude_names: Sequence[str] | None = None,
    include_types: Kinds | None = None,
    exclude_types: Kinds | None = None,
    include_ids: Sequence[str] | None = None,
    exclude_ids: Sequence[str] | None = None,
    exclude_tool_calls: Collection[str] | bool | None = None,
) -> list[BaseMessage]:
    """Keep the messages that nothing excludes and something includes; nothing to include by means all.

    Args:
        messages: Messages, or what stands for them.
        include_names: Names of speakers.
        exclude_names: Names of speakers.
        include_types: Types or message classes.
        exclude_types: Types or message classes.
        include_ids: Ids of messages.
        exclude_ids: Ids of messages.
        exclude_tool_calls: Ids of calls that go with their results, or ``True`` for all. A message that loses its
            calls goes only if it says nothing else.

    Raises:
        HistoryError: A single text stands where several are meant.

    >>> from promptkit.adapters.langchain import HumanMessage
    >>> filter_messages([HumanMessage("Hi", name="Ada"), AIMessage("Hello")], include_types="human")
    [HumanMessage('Hi', name='Ada')]
    """
    history = to_language_model_input(messages).to_messages()
    include = Criteria(
        _texts(include_names, "include_names"),
        _texts(include_ids, "include_ids"),
        _matcher(include_types, history, "include_types"),
    )
    exclude = Criteria(
        _texts(exclude_names, "exclude_names"),
        _texts(exclude_ids, "exclude_ids"),
        _matcher(exclude_types, history, "exclude_types"),
    )
    chosen = select_matching(
        len(history),
        lambda index: history[index].name,
        lambda index: history[index].id,
        include=include,
        exclude=exclude,
    )
    if not exclude_tool_calls:
        return [history[index] for index in chosen]
    ids = None if exclude_tool_calls is True else _texts(exclude_tool_calls, "exclude_tool_calls")
    left = [_without_calls(history[index], ids) for index in chosen]
    return [message for message in left if message is not None]


def _texts(value: Any, option: str) -> frozenset[str]:
    if isinstance(value, (str, bytes)) or (value is not None and not isinstance(value, Iterable)):
        raise HistoryError(f"{option} takes several str, not {shown(value)}; one stands in a list")
    texts = tuple(value or ())
    for text in texts:
        if text is not None and not isinstance(text, str):
            raise HistoryError(f"{option} takes several str, and {shown(text)} among them is none")
    return frozenset(texts)


def _without_calls(message: BaseMessage, ids: frozenset[str] | None) -> BaseMessage | None:
    """Take calls out of a message, all or those with an id; ``None`` when it says nothing else."""

    def goes(call_id: Any) -> bool:
        return ids is None or call_id in ids

    if isinstance(message, ToolMessage):
        return None if goes(message.tool_call_id) else message
    if not isinstance(message, AIMessage) or not (message.tool_calls or message.invalid_tool_calls):
        return message
    gone = {call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls) if goes(call["id"])}
    if not gone:
        return message
    content = message.content
    if isinstance(content, tuple):
        content = tuple([item for item in content if not _is_call_of(item, gone)])
    changes: dict[str, Any] = {
        "content": content,
        "tool_calls": [call for call in message.tool_calls if not goes(call["id"])],
        "invalid_tool_calls": [call for call in message.invalid_tool_calls if not goes(call["id"])],
        "additional_kwargs": {key: _less(key, value, gone) for key, value in message.additional_kwargs.items()},
    }
    if isinstance(message, AIMessageChunk):
        changes["tool_call_chunks"] = [piece for piece in message.tool_call_chunks if not goes(piece["id"])]
    silent = not content and not changes["tool_calls"] and not changes["invalid_tool_calls"]
    return None if silent else message.mutate(**changes)


def _is_call_of(item: Any, ids: Collection[Any]) -> bool:
    return (
        isinstance(item, Mapping)
        and item.get("type") in ("tool_use", "tool_call", "function_call")
        and (item.get("id") in ids or item.get("call_id", item) in ids)
    )


def _less(key: str, value: Any, ids: Collection[Any]) -> Any:
    if key != "tool_calls" or not isinstance(value, tuple):
        return value
    return [call for call in value if not isinstance(call, Mapping) or call.get("id") not in ids]


@langchain_stepwise
def merge_message_runs(messages: LanguageModelInput, *, chunk_separator: str = "\n") -> list[BaseMessage]:
    r"""Merge messages that follow each other from one speaker; results of tools never merge.

    One speaker is one type with one name, and one role of chat messages. A run with chunks gives a whole message.

    Args:
        messages: Messages, or what stands for them.
        chunk_separator: Stands between two texts, neither of them empty.

    Raises:
        AdapterError: Two messages follow each other that only remove others.

    >>> from promptkit.adapters.langchain import HumanMessage
    >>> merge_message_runs([HumanMessage("Hi."), HumanMessage("Who are you?")], chunk_separator=" ")
    [HumanMessage('Hi. Who are you?')]
    """
    history = to_language_model_input(messages).to_messages()
    return [
        history[run.start] if len(run) == 1 else _merged(history[run.start : run.stop], chunk_separator)
        for run in merge_runs(map(_speaker, history))
    ]


def _speaker(message: BaseMessage) -> Hashable:
    if isinstance(message, ToolMessage):
        return None
    return message.kind, message.name, message.role if isinstance(message, ChatMessage) else None


def _merged(run: Sequence[BaseMessage], separator: str) -> BaseMessage:
    """Make one message of several of one speaker; the first one gives id, metadata and class."""
    whole = [message_chunk_to_message(message) for message in run]
    first = whole[0]
    if isinstance(first, RemoveMessage):
        raise AdapterError("messages that remove others say nothing, and cannot be merged", format="langchain")
    lead = next((at for at, message in enumerate(whole) if not isinstance(message.content, str)), len(whole))
    texts = [str(message.content) for message in whole[:lead]]
    text = separator.join([text for text in texts if text])
    changes: dict[str, Any] = {
        "content": join_content([*([text] if texts else ()), *(message.content for message in whole[lead:])]),
        "additional_kwargs": join_mappings([message.additional_kwargs for message in whole]),
        "id": next((message.id for message in whole if message.id), first.id),
    }
    if isinstance(first, AIMessage):
        answers = [message for message in whole if isinstance(message, AIMessage)]
        usages = [message.usage_metadata for message in answers if message.usage_metadata is not None]
        total = usages[0] if usages else None
        for usage in usages[1:]:
            total = add_usage(total, usage)
        broken = [{**call, "error": None} for message in answers for call in message.invalid_tool_calls]
        changes |= {
            "id": AIMessageChunk.choose_id(message.id for message in answers),
            "usage_metadata": total,
            "tool_calls": [call for message in answers for call in message.tool_calls],
            "invalid_tool_calls": broken,
        }
    return first.mutate(**changes)
