"""Show a model the part of a conversation that fits: windows over a repository, which itself forgets nothing."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Generator, Iterable
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar

from promptkit.contracts import ChatMemoryRepository, StoredMessage
from promptkit.errors import HistoryError
from promptkit.history import CounterLike, count_tokens, trim_messages, trim_to_window
from promptkit.memory._arguments import ForkSafeLock, as_builtins, check_id
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.messages import BuiltinMessage, Message, MessageType, as_builtin
from promptkit.tokens import ApproximateTokenCounter

__all__ = ["MessageWindowChatMemory", "TokenWindowChatMemory"]

SystemPolicy = Literal["latest", "all"]

_RUN = 16
"""System messages that are asked for at first; almost always there are fewer."""

_ALL = 1 << 31
"""More system messages than a conversation has."""

_REMEMBERED = 10_000
"""Conversations of which a window remembers where it began."""


class _Ask(NamedTuple):
    """Ask a repository for its last messages, and system messages before them."""

    n: int
    system: int


Result = TypeVar("Result")
_Steps = Generator[_Ask, tuple[StoredMessage, ...], Result]
"""Ask a repository until the answer is known; sync and async memories ask alike."""


class _WindowChatMemory:
    """Show the end of a conversation that fits a budget; see the two windows below."""

    def __init__(
        self,
        high: int,
        low: int,
        counter: CounterLike,
        first: int,
        repository: ChatMemoryRepository | None,
        system: SystemPolicy,
    ) -> None:
        if system not in ("latest", "all"):
            raise HistoryError(f"system must be 'latest' or 'all', not {system!r:.80}")
        count_tokens((), counter)  # refuses what cannot count
        self.repository = InMemoryChatMemoryRepository() if repository is None else repository
        self._high = high
        self._low = low
        self._counter = counter
        self._first = first
        self._system = system
        self._places: dict[str, tuple[int, int]] = {}  # the number that a window began with, and how many it asked for
        self._lock = ForkSafeLock()

    def add(self, conversation_id: str, messages: Message | Iterable[Message]) -> None:
        """Remember messages; see `ChatMemoryRepository.append`.

        System messages that equal the system text in force are not stored again.
        """
        batch = as_builtins(messages)
        if any(map(_is_system, batch)):
            batch = self._run(conversation_id, self._adding(batch))
        self.repository.append(check_id(conversation_id), batch)

    def get(self, conversation_id: str) -> tuple[Message, ...]:
        """Give the window of the conversation that goes to the model, oldest first."""
        return tuple(self._run(conversation_id, self._viewing(conversation_id)))

    def clear(self, conversation_id: str) -> None:
        """Forget a conversation, in the repository too."""
        self._places.pop(conversation_id, None)
        self.repository.delete(check_id(conversation_id))

    async def aadd(self, conversation_id: str, messages: Message | Iterable[Message]) -> None:
        """Do `add` without blocking."""
        batch = as_builtins(messages)
        if any(map(_is_system, batch)):
            batch = await self._arun(conversation_id, self._adding(batch))
        await self.repository.aappend(check_id(conversation_id), batch)

    async def aget(self, conversation_id: str) -> tuple[Message, ...]:
        """Do `get` without blocking."""
        return tuple(await self._arun(conversation_id, self._viewing(conversation_id)))

    async def aclear(self, conversation_id: str) -> None:
        """Do `clear` without blocking."""
        self._places.pop(conversation_id, None)
        await self.repository.adelete(check_id(conversation_id))

    def _run(self, conversation_id: str, steps: _Steps[Result]) -> Result:
        check_id(conversation_id)
        try:
            ask = next(steps)
            while True:
                ask = steps.send(self.repository.last(conversation_id, ask.n, system=ask.system))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _arun(self, conversation_id: str, steps: _Steps[Result]) -> Result:
        check_id(conversation_id)
        try:
            ask = next(steps)
            while True:
                ask = steps.send(await self.repository.alast(conversation_id, ask.n, system=ask.system))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _adding(self, batch: list[BuiltinMessage]) -> _Steps[list[BuiltinMessage]]:
        """Leave out system messages that are in force; several that stand together are one text."""
        wanted = self._most
        while (force := self._in_force((yield _Ask(0, wanted)), wanted)) is None:
            wanted *= 2
        known = {_bare(stored.message) for stored in force}
        fresh: list[BuiltinMessage] = []
        for system, group in groupby(batch, _is_system):
            messages = list(group)
            if system:
                given = set(map(_bare, messages))
                if given <= known:
                    continue
                known = known | given if self._system == "all" else given
            fresh += messages
        return fresh

    @property
    def _most(self) -> int:
        return _RUN if self._system == "latest" else _ALL

    def _in_force(self, stored: tuple[StoredMessage, ...], wanted: int) -> list[StoredMessage] | None:
        """Choose the system messages that count, each once; ``None`` when there may be more of them than came."""
        system = [each for each in stored if _is_system(each.message)]
        if self._system == "latest":
            begin = len(system) - 1
            while begin > 0 and system[begin - 1].sequence == system[begin].sequence - 1:
                begin -= 1
            if begin == 0 and len(system) >= wanted and system[0].sequence > 1:
                return None
            system = system[max(begin, 0) :]
        distinct: dict[BuiltinMessage, StoredMessage] = {}
        for each in system:
            distinct.setdefault(_bare(each.message), each)
        return list(distinct.values())

    def _viewing(self, conversation_id: str) -> _Steps[list[Message]]:
        """Ask for more and more until the window is known: until something does not fit, or there is no more."""
        start, n = self._places.get(conversation_id, (0, self._first))
        wanted = self._most
        while True:
            stored = yield _Ask(n, wanted)
            force = self._in_force(stored, wanted)
            if force is None:
                wanted *= 2
                continue
            if stored and stored[-1].sequence < start:
                start = 0  # it is another conversation of this name
            tail = stored[-n:]
            rest = [each for each in tail if each.sequence >= start and not _is_system(each.message)]
            kept, is_cut = self._cut(force, rest)
            if len(tail) < n or tail[0].sequence <= max(start, 1) or (is_cut and any(map(_is_user, rest))):
                break
            n *= 2
        self._remember(conversation_id, kept[0].sequence if kept and self._low < self._high else 0, n)
        self._warn(force, kept)
        return _placed(force, kept)

    def _cut(self, force: list[StoredMessage], rest: list[StoredMessage]) -> tuple[list[StoredMessage], bool]:
        """Choose what of the rest fits beside the system text, and tell whether something did not."""
        messages = [each.message for each in (*force, *rest)]
        window = trim_to_window(messages, self._high, self._low, self._counter, oversize="keep")
        if any(map(_is_user, rest)) or self._size(messages) <= self._high:
            return rest[len(window.cut) :], bool(window.cut)
        chosen = set(map(id, trim_messages(messages, max_tokens=self._high, counter=self._counter, oversize="keep")))
        return [each for each in rest if id(each.message) in chosen], True

    def _size(self, messages: list[Message]) -> int:
        return count_tokens(messages, self._counter)

    def _remember(self, conversation_id: str, start: int, n: int) -> None:
        with self._lock:
            self._places.pop(conversation_id, None)
            if start or n != self._first:
                self._places[conversation_id] = (start, n)
            if len(self._places) > _REMEMBERED:
                del self._places[next(iter(self._places))]

    def _warn(self, force: list[StoredMessage], kept: list[StoredMessage]) -> None:
        """Log that the system text and the current turn alone are over the budget."""
        if sum(map(_is_user, kept)) > 1:
            return
        size = self._size([each.message for each in (*force, *kept)])
        if size > self._high:
            import logging

            logging.getLogger("promptkit.memory").warning(
                "the system text and the current turn need %d, and the window is %d: they stay whole", size, self._high
            )


class MessageWindowChatMemory(_WindowChatMemory):
    """Show the last messages of a conversation, in whole turns, after its system text.

    A turn begins with a user's message. When not all fits, the window begins with a turn, and the current one stays
    whole even where it is larger than the window, with a warning in the log. The window is a view: it removes nothing
    from the repository, and reads no more of it than it shows and at most as much again.

    The system text in force is the last system messages that stand together in the log (``"latest"``), as a new system
    text replaces the one before; with ``"all"`` it is every system message. It stays whatever else is cut, where it
    was added or else in front. System messages that equal those in force are not stored again.

    Args:
        max_messages: The most messages to show, system text included.
        repository: Where the conversations are kept; in this process when left out.
        system: Which system messages count.

    Raises:
        HistoryError: ``max_messages`` is below 1.

    >>> from promptkit import AssistantMessage, UserMessage
    >>> memory = MessageWindowChatMemory(3)
    >>> memory.add("c1", [UserMessage("1"), AssistantMessage("2"), UserMessage("3"), AssistantMessage("4")])
    >>> [message.text for message in memory.get("c1")], memory.repository.count("c1")
    (['3', '4'], 4)
    """

    def __init__(
        self,
        max_messages: int = 20,
        *,
        repository: ChatMemoryRepository | None = None,
        system: SystemPolicy = "latest",
    ) -> None:
        most = _checked(max_messages, "max_messages", 1)
        super().__init__(most, most, "messages", most + 1, repository, system)

    def _cut(self, force: list[StoredMessage], rest: list[StoredMessage]) -> tuple[list[StoredMessage], bool]:
        """Choose by counting alone: the first turn from which on all fits, else the current one."""
        turns = [at for at, each in enumerate(rest) if _is_user(each)]
        room = self._high - len(force)
        if len(rest) <= room or not turns:
            return super()._cut(force, rest)
        start = next((at for at in turns if len(rest) - at <= room), turns[-1])
        return rest[start:], start > 0


class TokenWindowChatMemory(_WindowChatMemory):
    """Show the end of a conversation that fits a budget of tokens; see `MessageWindowChatMemory` for turns and system.

    With ``low``, the window grows up to ``max_tokens`` and is then cut down to ``low``, so that most turns only add to
    what the model saw before and a provider's prompt cache serves the rest. Where a window began is remembered in this
    process; after a restart it begins anew.

    Args:
        max_tokens: The most tokens to show, in what ``counter`` counts.
        counter: Counts the tokens; an estimate when left out.
        low: Tokens to cut down to; ``max_tokens`` when left out.
        repository: Where the conversations are kept; in this process when left out.
        system: Which system messages count.

    Raises:
        HistoryError: A number is below 1, ``low`` is above ``max_tokens``, or the counter is none.

    >>> from promptkit import AssistantMessage, UserMessage
    >>> memory = TokenWindowChatMemory(20)
    >>> memory.add("c1", [UserMessage("What is the capital of France?"), AssistantMessage("Paris."), UserMessage("Why?")])
    >>> [message.text for message in memory.get("c1")]
    ['Why?']
    """

    def __init__(
        self,
        max_tokens: int,
        counter: CounterLike = ApproximateTokenCounter(),  # noqa: B008 - a value
        *,
        low: int | None = None,
        repository: ChatMemoryRepository | None = None,
        system: SystemPolicy = "latest",
    ) -> None:
        high = _checked(max_tokens, "max_tokens", 1)
        least = high if low is None else _checked(low, "low", 1)
        if least > high:
            raise HistoryError(f"low must be at most max_tokens ({high}), not {low!r}")
        super().__init__(high, least, counter, 32, repository, system)


def _checked(value: int, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise HistoryError(f"{name} must be an int of at least {least}, not {value!r:.80}")
    return value


def _is_system(message: Message) -> bool:
    return message.message_type is MessageType.SYSTEM


def _is_user(stored: StoredMessage) -> bool:
    return stored.message.message_type is MessageType.USER


def _bare(message: Message) -> BuiltinMessage:
    """Give what a message says: two that differ in nothing but their ids say the same."""
    return as_builtin(message).mutate(id=None)


def _placed(system: list[StoredMessage], kept: list[StoredMessage]) -> list[Message]:
    """Put system messages where they were added, or in front, but never between a call and its result."""
    view = [each.message for each in kept]
    numbers = [each.sequence for each in kept]
    for each in reversed(system):
        at = bisect(numbers, each.sequence)
        while 0 < at < len(kept) and kept[at].message.message_type is MessageType.TOOL:
            at -= 1
        view.insert(at, each.message)
    return view
