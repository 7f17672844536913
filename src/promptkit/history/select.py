"""Choose the messages of a history by index: over roles, ids and sizes, knowing no message class.

Every tool that trims, filters or merges builds on these functions, whatever its messages look like. A message is asked
for only when the choice depends on it, and its size is asked for once, so that the work for a small budget does not
grow with the history.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import Any, NamedTuple

from promptkit.errors import HistoryError

__all__ = [
    "Criteria",
    "Item",
    "Run",
    "Selection",
    "exchange_runs",
    "exchanges",
    "largest",
    "link_responses",
    "longest_piece",
    "merge_runs",
    "oversized",
    "select_first",
    "select_last",
    "select_matching",
    "select_turns",
    "single_runs",
]


class Item(NamedTuple):
    """Describe a message as far as pairing needs it."""

    role: str
    """``system``, ``user``, ``assistant``, ``tool``, or another word."""
    calls: tuple[str | None, ...] = ()
    """The ids of its tool calls, in order, those that cannot be carried out last."""
    responses: tuple[str | None, ...] = ()
    """The ids of the calls that it answers, in order."""


class Run(NamedTuple):
    """Hold neighbours that no cut may separate."""

    start: int
    stop: int
    kept: Sequence[int]
    """The indices that stay when the run stays: none of a call without its results or a result without its call."""
    role: str = ""
    """The role of its first message, where that matters."""


class Selection(NamedTuple):
    """Hold the indices of the kept messages, ascending, and the one that is replaced by a part of itself."""

    kept: Sequence[int] = ()
    partial_at: int | None = None
    partial: Any = None

    def pick(self, messages: Sequence[Any]) -> list[Any]:
        """Give the kept messages."""
        return [self.partial if index == self.partial_at else messages[index] for index in self.kept]


Describe = Callable[[int], Item]
"""Describe the message at an index."""

Size = Callable[[int], int]
"""Give the size of the message at an index."""

Test = Callable[[int], bool]
"""Tell whether the message at an index matches."""

Part = Callable[[int, int], Any]
"""Give a part of the message at an index that is at most so large, or ``None``."""

Exact = Callable[[Selection], int]
"""Measure a selection as a whole, where sizes do not simply add up."""


def link_responses(caller: Item, run: Iterable[Item]) -> list[list[int | None]]:
    """Say which call each response of the messages after it answers: by id, the first open call first.

    Returns:
        A list for each message, an entry for each of its responses: the position of the call, or ``None`` where nothing
        is left to answer.
    """
    open_calls: dict[str | None, list[int]] = {}
    for position, call_id in reversed([*enumerate(caller.calls)]):
        open_calls.setdefault(call_id, []).append(position)
    return [
        [positions.pop() if (positions := open_calls.get(call_id)) else None for call_id in item.responses]
        for item in run
    ]


def single_runs(start: int, stop: int, *, backward: bool) -> Iterator[Run]:
    """Give each index alone: a cut may go anywhere."""
    for index in reversed(range(start, stop)) if backward else range(start, stop):
        yield Run(index, index + 1, (index,))


def exchange_runs(describe: Describe, start: int, stop: int, *, backward: bool) -> Iterator[Run]:
    """Give each message alone, but calls together with their results, which are the tool messages directly after.

    A call that lacks a result and a result without a call make runs that keep nothing.
    """
    while start < stop:
        first, end = (stop - 1, stop) if backward else (start, start + 1)
        item = describe(first)
        if backward:
            while item.role == "tool" and first > start:
                first -= 1
                item = describe(first)
        elif item.calls or item.role == "tool":
            while end < stop and describe(end).role == "tool":
                end += 1
        if item.role == "tool":
            run = Run(first, end, ())
        elif item.calls:
            run = _exchange(describe, first, end)
        elif end > first + 1:
            run = Run(first + 1, end, ())
        else:
            run = Run(first, end, (first,), item.role)
        yield run
        start, stop = (start, run.start) if backward else (run.stop, stop)


def exchanges(items: Sequence[Item]) -> Iterator[range]:
    """Give where each message with calls stands, together with the tool messages directly after it."""
    for caller, item in enumerate(items):
        if item.calls:
            stop = caller + 1
            while stop < len(items) and items[stop].role == "tool":
                stop += 1
            yield range(caller, stop)


def _exchange(describe: Describe, caller: int, stop: int) -> Run:
    item = describe(caller)
    links = link_responses(item, [describe(index) for index in range(caller + 1, stop)])
    answered = {position for link in links for position in link}
    mixed = any(None in link and len(set(link)) > 1 for link in links)
    if mixed or not answered.issuperset(range(len(item.calls))):
        return Run(caller, stop, (), item.role)
    kept = (caller, *[caller + 1 + at for at, link in enumerate(links) if None not in link])
    return Run(caller, stop, kept, item.role)


def select_first(
    length: int,
    size: Size,
    budget: int,
    *,
    overhead: int = 0,
    describe: Describe | None = None,
    head: int = 0,
    ends: Test | None = None,
    part: Part | None = None,
    exact: Exact | None = None,
    keep: bool = False,
) -> Selection:
    """Keep the longest beginning that fits and ends where it may.

    Args:
        length: The number of messages.
        size: Asked once for each message that is kept, and for the first that is not.
        budget: The most that the sizes and ``overhead`` may come to.
        describe: Given, calls stay with their results, and the head must fit.
        head: The number of messages in front that stay whatever follows.
        ends: Tells where the kept part may end; anywhere when left out.
        part: Cuts the first message that does not fit; asked only where a cut is possible.
        exact: Checks the choice, which gives up what is too much.
        keep: Keep a head that is too large instead of raising.

    Raises:
        HistoryError: The head alone is over the budget.
    """
    fixed = overhead + sum(map(size, range(head)))
    if fixed > budget:
        return Selection() if describe is None else _refuse_or_keep(range(head), budget, fixed, keep=keep)
    runs = single_runs(head, length, backward=False)
    if describe is not None:
        runs = exchange_runs(describe, head, length, backward=False)
    states = _States(head, budget - fixed)
    states.grow(runs, size, lambda run: ends is None or ends(run.kept[-1]), part)
    return states.largest(exact, budget) or Selection()


def select_last(
    length: int,
    size: Size,
    budget: int,
    *,
    overhead: int = 0,
    head: int = 0,
    starts: Test | None = None,
    ends: Test | None = None,
    part: Part | None = None,
    exact: Exact | None = None,
) -> Selection:
    """Keep the head and the longest end that fits and starts where it may, wherever that cuts; see `select_first`.

    What follows the last message that ``ends`` accepts is left out first. A head over the budget leaves nothing.
    """
    fixed = overhead + sum(map(size, range(head)))
    if fixed > budget:
        return Selection()
    runs = _ending(single_runs(head, length, backward=True), ends)
    states = _States(head, budget - fixed)
    states.grow(runs, size, lambda run: starts is None or starts(run.kept[0]), part)
    return states.largest(exact, budget) or Selection()


def select_turns(
    length: int,
    size: Size,
    budget: int,
    *,
    describe: Describe,
    overhead: int = 0,
    head: int = 0,
    lead: int = 0,
    starts: Test | None = None,
    ends: Test | None = None,
    part: Part | None = None,
    exact: Exact | None = None,
    keep: bool = False,
    whole: bool = False,
) -> Selection:
    """Keep the head and the last turns that fit, calls with their results; see `select_first`.

    A turn begins with a user's message; without any, the kept part begins where the budget says. The current turn is
    the last one and must fit.

    Args:
        lead: The number of messages in front, the head aside, that may stand before the first turn.
        starts: Tells where the kept part may start, instead.
        keep: Keep head and current turn where they are too large, instead of raising.
        whole: Keep the current turn as it is, even a call that still waits for its result.

    Raises:
        HistoryError: Head and current turn are over the budget.
    """
    fixed = overhead + sum(map(size, range(head)))
    runs = _ending(exchange_runs(describe, head, length, backward=True), ends)
    turn: list[Run] = []
    found = False
    for run in runs:
        turn.append(run)
        if found := run.role == "user":
            break
    if whole and found:
        turn = [run._replace(kept=range(run.start, run.stop)) for run in turn]
    sizes = {index: size(index) for run in turn for index in run.kept} if found else {}
    needed = fixed + sum(sizes.values())
    clean = True

    def accepts(run: Run) -> bool:
        nonlocal clean
        clean = not found or run.role == "user" or (clean and run.start < lead)
        return starts(run.kept[0]) if starts else clean

    states = _States(head, budget - fixed)
    if states.grow(turn, sizes.__getitem__ if found else size, accepts, part):
        states.grow(runs, size, accepts, part)
    smallest = 1 if found and starts is None else 0
    chosen = states.largest(exact, budget, smallest) if needed <= budget or states.partial is not None else None
    if chosen is not None:
        return chosen
    must = [*range(head), *sorted(sizes)]
    return _refuse_or_keep(must, budget, max(needed, exact(Selection(must)) if exact else 0), keep=keep)


def _ending(runs: Iterator[Run], ends: Test | None) -> Iterator[Run]:
    return runs if ends is None else dropwhile(lambda run: not (run.kept and ends(run.kept[-1])), runs)


def _refuse_or_keep(must: Sequence[int], budget: int, needed: int, *, keep: bool) -> Selection:
    if keep or not must:
        return Selection(must)
    raise oversized(budget, needed)


def oversized(budget: int, needed: int) -> HistoryError:
    """Make the error of a system text and a current turn that do not fit."""
    return HistoryError(
        f"the system text and the current turn need {needed}, and the budget is {budget}: give a larger one, shorten "
        "them, or pass oversize='keep'",
        budget=budget,
        needed=needed,
    )


class _States:
    """Add runs to a head while they fit, and remember each state that could be the choice."""

    def __init__(self, head: int, room: int) -> None:
        self.head = head
        self.room = room
        self.taken: list[int] = []
        self.marks = [0]
        self.partial: tuple[int, Any] | None = None

    def grow(self, runs: Iterable[Run], size: Size, accepts: Callable[[Run], bool], part: Part | None) -> bool:
        """Take runs in order up to the first that does not fit, and of that a part where one is possible.

        Returns:
            Whether all of them fit.
        """
        for run in runs:
            left = self.room
            for index in run.kept:
                left -= size(index)
                if left < 0:
                    break
            if left >= 0:
                self.room = left
                self.taken += run.kept
                if run.kept and accepts(run):
                    self.marks.append(len(self.taken))
                continue
            piece = part(index, self.room) if part is not None and len(run.kept) == 1 and accepts(run) else None
            if piece is not None:
                self.partial = index, piece
                self.taken.append(index)
                self.marks.append(len(self.taken))
            return False
        return True

    def _state(self, mark: int) -> Selection:
        kept = [*range(self.head), *sorted(self.taken[: self.marks[mark]])]
        if self.partial is None or mark < len(self.marks) - 1:
            return Selection(kept)
        return Selection(kept, *self.partial)

    def largest(self, exact: Exact | None, budget: int, smallest: int = 0) -> Selection | None:
        """Give the last state, unless ``exact`` measures more than the sizes came to; ``None`` when no state fits."""
        top = len(self.marks) - 1
        if top < smallest:
            return None
        if exact is None:
            return self._state(top)

        def fits(mark: int) -> bool:
            state = self._state(mark)
            return not state.kept or exact(state) <= budget

        best = top if fits(top) else largest(smallest, top - 1, fits)
        return None if best is None else self._state(best)


def largest(low: int, high: int, fits: Test) -> int | None:
    """Find the largest number of a range for which something fits, when it fits for all smaller ones; else ``None``."""
    best = None
    while low <= high:
        middle = (low + high) // 2
        if fits(middle):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def longest_piece(pieces: Sequence[str], fits: Callable[[str], bool], *, from_end: bool) -> str | None:
    """Join the most pieces from one end, in their own order, that fit; ``None`` when not even one does."""

    def joined(number: int) -> str:
        return "".join(pieces[-number:] if from_end else pieces[:number])

    number = largest(1, len(pieces), lambda number: fits(joined(number)))
    return None if number is None else joined(number)


class Criteria(NamedTuple):
    """Hold what messages are chosen by; any one of them is enough."""

    names: Collection[str] = ()
    ids: Collection[str] = ()
    types: Test | None = None


def select_matching(
    length: int,
    name: Callable[[int], str | None],
    message_id: Callable[[int], str | None],
    *,
    include: Criteria,
    exclude: Criteria,
) -> list[int]:
    """Give the indices that nothing excludes and something includes; nothing to include by means all."""

    def matches(index: int, criteria: Criteria) -> bool:
        names, ids, types = criteria
        return bool((names and name(index) in names) or (ids and message_id(index) in ids) or (types and types(index)))

    everything = not any(include)
    return [index for index in range(length) if not matches(index, exclude) and (everything or matches(index, include))]


def merge_runs(keys: Iterable[Hashable]) -> Iterator[range]:
    """Give the ranges of neighbours with equal keys; a key of ``None`` stands alone."""
    start, previous, stop = 0, None, 0
    for index, key in enumerate(keys):
        if index and (key is None or key != previous):
            yield range(start, index)
            start = index
        previous, stop = key, index + 1
    if stop:
        yield range(start, stop)
