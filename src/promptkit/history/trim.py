"""Trim conversations to a budget so that providers still accept them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any, Literal

from attrs import field, frozen

from promptkit._frozen import Value
from promptkit.content import Content, Part, Text
from promptkit.errors import HistoryError
from promptkit.history._messages import Kinds, as_sequence, describe, matcher
from promptkit.history.counters import CounterLike, Meter
from promptkit.history.select import (
    Exact,
    Item,
    Selection,
    Test,
    largest,
    longest_piece,
    oversized,
    select_first,
    select_last,
    select_turns,
)
from promptkit.history.step import stepwise
from promptkit.messages import (
    BuiltinMessage,
    Message,
    ToolResponseMessage,
    as_builtin,
    check_message,
)

__all__ = ["Window", "trim_messages", "trim_to_window"]


class _History:
    """Answer what a selection asks about messages, by index."""

    def __init__(self, messages: Iterable[Message], counter: CounterLike) -> None:
        self.messages = as_sequence(messages)
        self.meter = Meter(counter)
        self.size = self.meter.sizes(self.messages)

    def item(self, index: int) -> Item:
        return describe(self.messages[index], index)

    def is_user(self, index: int) -> bool:
        return self.item(index).role == "user"

    def leading_system(self) -> int:
        """Count the system messages in front."""
        return sum(1 for _ in takewhile(lambda index: self.item(index).role == "system", range(len(self.messages))))

    def test(self, kinds: Kinds | None, option: str) -> Test | None:
        matches = matcher(kinds, option)
        return (
            None
            if matches is None
            else lambda index: matches(check_message(self.messages[index], f"messages[{index}]"))
        )

    def exact(self) -> Exact | None:
        measure = self.meter.exact
        return None if measure is None else lambda selection: measure(selection.pick(self.messages))


@stepwise
def trim_messages(
    messages: Iterable[Message],
    *,
    max_tokens: int,
    counter: CounterLike,
    strategy: Literal["last", "first"] = "last",
    start_on: Kinds | None = None,
    end_on: Kinds | None = None,
    include_system: bool | None = None,
    allow_partial: bool = False,
    splitter: Callable[[str], Sequence[str]] | None = None,
    pairs: bool = True,
    oversize: Literal["raise", "keep"] = "raise",
) -> tuple[Message, ...]:
    """Keep the last (or first) messages that fit a budget, in an order that providers accept.

    The system text in front stays, and the last turns that fit, the current one whole. A turn begins with a user's
    message. Calls stay with their results; a call without a result, or a result without its call, is left out, except
    that the current turn is not touched unless an option asks for it (``start_on``, ``end_on``, ``allow_partial``,
    ``oversize="keep"``). Only the kept messages and those of the first turn that does not fit are counted.

    Args:
        max_tokens: The budget, in what ``counter`` counts.
        counter: Counts; see `CounterLike`.
        strategy: Which end to keep.
        start_on: Roles or classes that the kept part may start with, instead of ``"user"``; for ``"last"`` only.
        end_on: Roles or classes that the kept part must end with; what follows is left out.
        include_system: Keep the system text in front whatever else is cut; without ``pairs`` only its first message,
            and for ``"last"`` only. ``None`` means yes, where that is possible.
        allow_partial: Keep a part of the first message that does not fit: its last (or first) parts, or else pieces of
            its last (or first) text.
        splitter: Cuts a text into pieces for ``allow_partial``; after each newline when left out.
        pairs: Protect calls, results and the current turn. Without, a cut may go anywhere and nothing raises for size.
        oversize: What to do when system text and current turn do not fit: raise, or keep them over the budget.

    Returns:
        The kept messages themselves, and for a part a copy.

    Raises:
        HistoryError: System text and current turn are over the budget, an option is wrong, or the counter failed.

    >>> from promptkit import AssistantMessage, SystemMessage, UserMessage
    >>> chat = [SystemMessage("Be brief."), UserMessage("Hi"), AssistantMessage("Hello"), UserMessage("Who are you?")]
    >>> [message.text for message in trim_messages(chat, max_tokens=3, counter="messages")]
    ['Be brief.', 'Who are you?']
    """
    history = _History(messages, counter)
    first = _checked_options(strategy, oversize, max_tokens, first_only=start_on is not None)
    if first and include_system and not pairs:
        raise HistoryError("include_system has no meaning for strategy='first' with pairs=False: leave it out")
    length = len(history.messages)
    starts, ends = history.test(start_on, "start_on"), history.test(end_on, "end_on")
    if not length:
        return ()
    lead = history.leading_system() if pairs else int(not first and history.item(0).role == "system")
    common: dict[str, Any] = {
        "overhead": history.meter.overhead,
        "head": lead if include_system is not False else 0,
        "ends": ends,
        "part": _Parts(history, splitter, from_end=not first, pairs=pairs) if allow_partial else None,
        "exact": history.exact(),
    }
    if pairs:
        common |= {"describe": history.item, "keep": oversize == "keep"}
    if first:
        chosen = select_first(length, history.size, max_tokens, **common)
    elif pairs:
        whole = start_on is None and end_on is None and not allow_partial and oversize == "raise"
        chosen = select_turns(length, history.size, max_tokens, starts=starts, lead=lead, whole=whole, **common)
    else:
        chosen = select_last(length, history.size, max_tokens, starts=starts, **common)
    return tuple(chosen.pick(history.messages))


def _checked_options(strategy: str, oversize: str, max_tokens: int, *, first_only: bool) -> bool:
    """Check options, and tell whether the first messages are wanted."""
    if strategy not in ("last", "first"):
        raise HistoryError(f"strategy must be 'last' or 'first', not {strategy!r:.80}")
    if strategy == "first" and first_only:
        raise HistoryError("start_on has no meaning for strategy='first', which starts at the first message")
    if oversize not in ("raise", "keep"):
        raise HistoryError(f"oversize must be 'raise' or 'keep', not {oversize!r:.80}")
    if not isinstance(max_tokens, int):
        raise HistoryError(f"max_tokens must be an int, not {max_tokens!r:.80}")
    return strategy == "first"


@frozen
class _Parts:
    """Cut a message so that a part of it fits."""

    history: _History
    splitter: Callable[[str], Sequence[str]] | None
    from_end: bool = field(kw_only=True)
    pairs: bool = field(kw_only=True)

    def __call__(self, index: int, room: int) -> Message | None:
        message = as_builtin(self.history.messages[index])
        if isinstance(message, ToolResponseMessage) and len(message.responses) > 1:
            return None
        item = describe(message)
        if self.pairs and (item.calls or item.responses):
            return None
        content = message.responses[0].content if isinstance(message, ToolResponseMessage) else message.content
        parts = (Text(content),) if isinstance(content, str) else content or ()

        def fits(content: Content) -> bool:
            return self.history.meter.sizes((_with_content(message, content),))(0) <= room

        number = largest(1, len(parts) - 1, lambda number: fits(self._side(parts, number)))
        if number is not None:
            return _with_content(message, self._side(parts, number))
        return self._cut_text(message, parts, fits)

    def _side(self, parts: tuple[Part, ...], number: int) -> tuple[Part, ...]:
        return parts[-number:] if self.from_end else parts[:number]

    def _cut_text(
        self, message: BuiltinMessage, parts: tuple[Part, ...], fits: Callable[[Content], bool]
    ) -> Message | None:
        # Without pairs any text will do, as in LangChain; with them nothing between the cut and the kept end is lost.
        texts = [part for part in (self._side(parts, 1) if self.pairs else parts) if isinstance(part, Text)]
        if not texts:
            return None
        chosen = texts[-1 if self.from_end else 0]
        piece = longest_piece(
            self._pieces(chosen.text), lambda text: fits((chosen.mutate(text=text),)), from_end=self.from_end
        )
        return _with_content(message, (chosen.mutate(text=piece),)) if piece else None

    def _pieces(self, text: str) -> Sequence[str]:
        if self.splitter is None:
            return re.findall(r"[^\n]*\n|[^\n]+", text)
        pieces = self.splitter(text)
        if not all(isinstance(piece, str) for piece in pieces) or "".join(pieces) != text:
            raise HistoryError("the splitter must give pieces of text that join to the text it was given")
        return pieces


def _with_content(message: BuiltinMessage, content: Content) -> BuiltinMessage:
    if isinstance(message, ToolResponseMessage):
        return message.mutate(responses=(message.responses[0].mutate(content=content),))
    return message.mutate(content=content)


@frozen(repr=False)
class Window(Value):
    """Hold what `trim_to_window` kept and cut; it iterates over the kept messages.

    >>> from promptkit import UserMessage
    >>> window = Window((UserMessage("Bye"),), cut=(UserMessage("Hi"),))
    >>> [*window], len(window.cut)
    ([UserMessage('Bye')], 1)
    """

    messages: tuple[Message, ...]
    cut: tuple[Message, ...] = field(default=(), kw_only=True)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)


@stepwise
def trim_to_window(
    messages: Iterable[Message],
    high: int,
    low: int,
    counter: CounterLike,
    *,
    oversize: Literal["raise", "keep"] = "raise",
) -> Window:
    """Leave a conversation as it is up to a high mark, and cut it down to a low mark when it passes that.

    A provider's prompt cache serves a prefix that did not change. Hand the window back with the new messages, and the
    prefix stays the same in all turns but the few that cut. A cut removes the oldest turns after the system text in
    front, each whole; nothing else changes.

    Args:
        high: The size that is allowed, in what ``counter`` counts.
        low: The size to cut down to; the current turn stays even where it is larger.
        counter: Counts; see `CounterLike`.
        oversize: What to do when system text and current turn are over ``high``: raise, or keep them.

    Raises:
        HistoryError: System text and current turn are over ``high``, the marks are wrong, or the counter failed.

    >>> from promptkit import AssistantMessage, UserMessage
    >>> chat = [UserMessage("1"), AssistantMessage("2"), UserMessage("3"), AssistantMessage("4"), UserMessage("5")]
    >>> window = trim_to_window(chat, 4, 3, "messages")
    >>> [message.text for message in window], len(window.cut)
    (['3', '4', '5'], 2)
    """
    history = _History(messages, counter)
    _checked_options("last", oversize, high, first_only=False)
    if not isinstance(low, int) or low > high:
        raise HistoryError(f"low must be an int of at most high ({high}), not {low!r:.80}")
    length = len(history.messages)
    if not length:
        return Window(())
    size = cache(history.size)
    exact, overhead = history.exact(), history.meter.overhead
    if _fits(reversed(range(length)), size, high - overhead) and (
        exact is None or exact(Selection(range(length))) <= high
    ):
        return Window(tuple(history.messages))
    head = history.leading_system()
    chosen = select_last(length, size, low, overhead=overhead, head=head, starts=history.is_user, exact=exact)
    if len(chosen.kept) <= head:
        turn = next((index for index in range(length - 1, head, -1) if history.is_user(index)), head)
        chosen = Selection([*range(head), *range(turn, length)])
        needed = exact(chosen) if exact else overhead + sum(map(size, chosen.kept))
        if needed > high and oversize == "raise":
            raise oversized(high, needed)
    start = length - len(chosen.kept) + head
    return Window(tuple(chosen.pick(history.messages)), cut=tuple(history.messages[head:start]))


def _fits(indices: Iterable[int], size: Callable[[int], int], room: int) -> bool:
    for index in indices:
        room -= size(index)
        if room < 0:
            return False
    return True
