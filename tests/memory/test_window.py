"""Hold what windows show, what they ask of a repository, and what they leave in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit import (
    ApproximateTokenCounter,
    AssistantMessage,
    HistoryError,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.contracts import StoredMessage
from promptkit.history import ListTokenCounter, count_tokens
from promptkit.memory import window
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.memory.window import MessageWindowChatMemory, TokenWindowChatMemory
from promptkit.messages import BuiltinMessage
from tests.strategies import conversations, system_messages, valid_conversations

Window = MessageWindowChatMemory | TokenWindowChatMemory


class Counting(InMemoryChatMemoryRepository):
    """Count what is asked and given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.given = 0

    def last(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]:
        found = super().last(conversation_id, n, system=system)
        self.asked += 1
        self.given += len(found)
        return found


def talk(*words: str) -> list[BuiltinMessage]:
    """Write a conversation: s… is system, u… a user, a… an assistant, c… a call, t… its result."""
    kinds: dict[str, Callable[[str], BuiltinMessage]] = {"s": SystemMessage, "u": UserMessage, "a": AssistantMessage}
    return [
        AssistantMessage(tool_calls=[ToolCall(word, "f")])
        if word[0] == "c"
        else ToolResponseMessage(ToolResponse(word.replace("t", "c"), "f", content="ok"))
        if word[0] == "t"
        else kinds[word[0]](word)
        for word in words
    ]


def shown(memory: Window) -> list[object]:
    return [message.content for message in memory.get("c1")]


def filled(memory: Window, *batches: list[BuiltinMessage]) -> Window:
    for batch in batches:
        memory.add("c1", batch)
    return memory


def test_a_window_evicts_nothing_from_the_store() -> None:
    memory = filled(MessageWindowChatMemory(2), talk("u1", "a1", "u2", "a2"))
    assert shown(memory) == ["u2", "a2"]
    assert memory.repository.count("c1") == 4


def test_what_fits_is_shown_as_it_is() -> None:
    log = talk("a0", "t9", "u1", "a1")

    assert list(filled(MessageWindowChatMemory(4), log).get("c1")) == log


def test_an_equal_system_message_is_not_stored_twice() -> None:
    memory = filled(MessageWindowChatMemory(), talk("s", "u1", "a1"), talk("s", "u2"))
    memory.add("c1", [SystemMessage("s", id="other id"), *talk("u3")])

    assert shown(memory) == ["s", "u1", "a1", "u2", "u3"]
    assert memory.repository.count("c1") == 5


def test_a_new_system_text_replaces_the_one_before() -> None:
    memory = filled(MessageWindowChatMemory(), talk("s1", "s2", "u1", "a1"), talk("s3", "u2"))
    assert shown(memory) == ["u1", "a1", "s3", "u2"]

    memory.add("c1", talk("a2", "s1", "s3", "u3"))
    assert shown(memory) == ["u1", "a1", "u2", "a2", "s1", "s3", "u3"]

    memory.add("c1", talk("s3", "u4"))
    assert shown(memory)[-3:] == ["s3", "u3", "u4"]


def test_every_system_message_stays_where_that_is_the_policy() -> None:
    memory = filled(
        MessageWindowChatMemory(4, system="all"),
        talk("s1", "s2", "u1", "a1"),
        talk("s3", "s1", "u2"),
        talk("s1", "s2", "s3", "u3"),
    )
    assert shown(memory) == ["s1", "s2", "s3", "u3"]
    assert memory.repository.count("c1") == 8


def test_the_system_text_leads_once_its_place_is_cut() -> None:
    memory = filled(MessageWindowChatMemory(3), talk("u1", "a1"), talk("s", "u2", "a2"), talk("u3", "a3"))

    assert shown(memory) == ["s", "u3", "a3"]


def test_a_system_message_never_parts_a_call_from_its_result() -> None:
    memory = filled(MessageWindowChatMemory(), talk("u1", "c1", "s", "t1", "a1"))

    assert [type(message) for message in memory.get("c1")][:3] == [UserMessage, SystemMessage, AssistantMessage]


def test_many_system_messages_take_no_quadratic_time() -> None:
    memory = MessageWindowChatMemory(3, system="all")
    memory.add("c1", talk(*(f"s{number}" for number in range(20_000))))
    memory.add("c1", talk(*(f"s{number}" for number in range(20_000)), "u1"))

    assert memory.repository.count("c1") == 20_001


def test_a_long_run_of_system_messages_stays_whole() -> None:
    system = [f"s{number}" for number in range(40)]
    memory = filled(MessageWindowChatMemory(3), talk(*system), talk("u1", "a1", "u2", "a2"))

    assert shown(memory) == [*system, "u2", "a2"]


@pytest.mark.parametrize("calls", [1, 5, 40])
def test_the_current_turn_stays_whole_with_a_warning(calls: int, caplog: pytest.LogCaptureFixture) -> None:
    turn = talk("u1", *(f"{kind}{number}" for number in range(calls) for kind in "ct"))
    memory = filled(MessageWindowChatMemory(2), talk("s", "u0", "a0"), turn)
    with caplog.at_level(logging.DEBUG):
        assert list(memory.get("c1")) == [*talk("s"), *turn]

    (record,) = caplog.records
    assert (record.name, record.levelname) == ("promptkit.memory", "WARNING")
    assert record.getMessage() == (
        f"the system text and the current turn need {2 + 2 * calls}, and the window is 2: they stay whole"
    )


def test_nothing_is_logged_when_all_fits(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        filled(MessageWindowChatMemory(2), talk("u0", "a0", "u1", "a1")).get("c1")
    assert not caplog.records


def test_a_conversation_without_users_is_cut_where_the_budget_says() -> None:
    memory = filled(MessageWindowChatMemory(3), talk(*(f"a{number}" for number in range(100))))

    assert shown(memory) == ["a97", "a98", "a99"]


@pytest.mark.parametrize("length", [50, 5_000])
def test_a_window_reads_no_more_than_it_shows_and_as_much_again(length: int) -> None:
    repository = Counting()
    memory = MessageWindowChatMemory(20, repository=repository)
    repository.append("c1", talk("s", *(f"{kind}{number}" for number in range(length) for kind in "ua")))
    memory.get("c1")

    assert repository.asked == 1
    assert repository.given <= 22


@pytest.mark.parametrize("length", [50, 2_000])
def test_a_token_window_remembers_how_far_it_reached(length: int) -> None:
    repository = Counting()
    memory = TokenWindowChatMemory(400, repository=repository)
    repository.append("c1", talk(*(f"{kind}{number}" for number in range(length) for kind in "ua")))
    first = memory.get("c1")
    repository.asked = repository.given = 0

    assert memory.get("c1") == first
    assert repository.asked == 1
    assert repository.given <= 4 * len(first)


def test_a_token_window_counts_with_its_counter() -> None:
    memory = filled(TokenWindowChatMemory(5, lambda message: len(str(message.content))), talk("u1", "a1", "u2", "a2"))

    assert shown(memory) == ["u2", "a2"]


def test_a_token_window_takes_a_counter_of_lists() -> None:
    counter = ListTokenCounter(lambda messages: 1 + 2 * len(messages))

    assert shown(filled(TokenWindowChatMemory(5, counter), talk("u1", "a1", "u2", "a2"))) == ["u2", "a2"]


def test_a_low_mark_keeps_the_prefix_in_most_turns() -> None:
    memory = TokenWindowChatMemory(20, "messages", low=6)
    changes = 0
    before: list[object] = []
    for number in range(100):
        memory.add("c1", talk(f"u{number}", f"a{number}"))
        window = shown(memory)
        assert window[-2:] == [f"u{number}", f"a{number}"]
        assert len(window) <= 20
        changes += window[: len(before)] != before
        before = window
    assert changes == 1 + (200 - 22) // (22 - 6)


def test_a_low_mark_begins_anew_after_a_restart() -> None:
    repository = InMemoryChatMemoryRepository()
    repository.append("c1", talk(*(f"{kind}{number}" for number in range(50) for kind in "ua")))
    memory = TokenWindowChatMemory(20, "messages", low=6, repository=repository)

    assert shown(memory) == ["u47", "a47", "u48", "a48", "u49", "a49"]


def test_another_conversation_of_the_same_name_is_seen_from_its_beginning() -> None:
    repository = InMemoryChatMemoryRepository()
    memory = TokenWindowChatMemory(8, "messages", low=4, repository=repository)
    filled(memory, talk(*(f"{kind}{number}" for number in range(50) for kind in "ua"))).get("c1")
    repository.delete("c1")
    memory.add("c1", talk("u1", "a1"))

    assert shown(memory) == ["u1", "a1"]


def test_clear_forgets_in_the_store_too() -> None:
    memory = filled(MessageWindowChatMemory(), talk("s", "u1"))
    memory.clear("c1")

    assert memory.get("c1") == ()
    assert memory.repository.conversation_ids() == ()


def test_many_conversations_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "_REMEMBERED", 10)
    memory = TokenWindowChatMemory(2, "messages", low=1)
    for number in range(50):
        memory.add(str(number), talk("u1", "a1", "u2"))
        memory.get(str(number))

    assert list(memory._places) == [str(number) for number in range(40, 50)]


def test_async_twins() -> None:
    async def story(memory: Window) -> tuple[Message, ...]:
        await memory.aadd("c1", talk("s", "u1", "a1"))
        await memory.aadd("c1", talk("s", "u2", "a2"))
        window = await memory.aget("c1")
        await memory.aclear("c1")
        assert await memory.aget("c1") == ()
        return window

    assert list(asyncio.run(story(MessageWindowChatMemory(3)))) == talk("s", "u2", "a2")


@pytest.mark.parametrize(
    ("arguments", "named", "match"),
    [
        ((True,), {}, "max_tokens must be an int"),
        ((2.5,), {}, "max_tokens must be an int"),
        ((0,), {}, "max_tokens must be an int of at least 1, not 0"),
        ((5,), {"low": 0}, "low must be an int of at least 1"),
        ((5,), {"low": 6}, r"low must be at most max_tokens \(5\), not 6"),
        ((5, "words"), {}, "counter must be"),
        ((5,), {"system": "first"}, "system must be 'latest' or 'all', not 'first'"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(arguments: Any, named: Any, match: str) -> None:
    with pytest.raises(HistoryError, match=match):
        TokenWindowChatMemory(*arguments, **named)


@given(
    log=valid_conversations(max_turns=4),
    late=st.lists(system_messages(), max_size=2),
    budget=st.integers(1, 12),
    system=st.sampled_from(("latest", "all")),
)
def test_a_window_of_a_valid_conversation_is_valid(
    log: tuple[BuiltinMessage, ...],
    late: list[BuiltinMessage],
    budget: int,
    system: Literal["latest", "all"],
) -> None:
    memory = MessageWindowChatMemory(budget, system=system)
    for message in (*log, *late):
        memory.add("c1", message.mutate(id=None))
    window = memory.get("c1")
    rest = [message for message in window if not isinstance(message, SystemMessage)]
    turn = current_turn([message.mutate(id=None) for message in log if not isinstance(message, SystemMessage)])

    assert rest[len(rest) - len(turn) :] == turn
    assert len(window) <= budget or len(rest) == len(turn)
    if rest:
        assert isinstance(rest[0], UserMessage)
    calls = [call for message in rest if isinstance(message, AssistantMessage) for call in message.tool_calls]
    results = [each for message in rest if isinstance(message, ToolResponseMessage) for each in message.responses]
    assert [call.id for call in calls] == [result.id for result in results]


def current_turn(log: list[BuiltinMessage]) -> list[BuiltinMessage]:
    starts = [index for index, message in enumerate(log) if isinstance(message, UserMessage)]
    return log[starts[-1] :] if starts else log


@given(log=conversations(max_size=8), budget=st.integers(1, 60), low=st.integers(1, 60))
def test_any_window_is_within_its_budget_or_the_current_turn(
    log: tuple[BuiltinMessage, ...], budget: int, low: int
) -> None:
    memory = TokenWindowChatMemory(budget, low=min(budget, low))
    for message in log:
        memory.add("c1", message.mutate(id=None))
        window = memory.get("c1")
        users = sum(isinstance(each, UserMessage) for each in window)
        assert users <= 1 or count_tokens(window, ApproximateTokenCounter()) <= budget
        assert not isinstance(message, UserMessage) or window[-1] == message.mutate(id=None)
