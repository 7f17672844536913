"""Hold what every repository must do: one suite, over each store, sync and async."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from promptkit import (
    AssistantMessage,
    Media,
    MemoryStoreError,
    MessageType,
    PromptError,
    SerializationError,
    SystemMessage,
    UserMessage,
)
from promptkit.memory._repository import BaseRepository
from promptkit.messages import BuiltinMessage
from tests.memory.forms import Form
from tests.memory.samples import HOSTILE_IDS, KINDS
from tests.strategies import messages as any_messages


def users(*texts: str) -> list[UserMessage]:
    return [UserMessage(text) for text in texts]


def kept(repository: Form, conversation_id: str = "c1") -> list[tuple[int, Any]]:
    return [(stored.sequence, stored.message) for stored in repository.read(conversation_id)]


def texts(stored: Any) -> list[str]:
    return [each.message.text for each in stored]


@pytest.mark.parametrize("message", KINDS.values(), ids=KINDS)
def test_every_message_comes_back_equal(repository: Form, message: BuiltinMessage) -> None:
    assert repository.append("c1", message) == (1,)
    assert kept(repository) == [(1, message)]
    assert repository.last("c1", 1) == ((1, message),)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(message=any_messages())
def test_any_message_comes_back_equal(repository: Form, message: BuiltinMessage) -> None:
    repository.delete("c1")
    repository.append("c1", message)

    assert kept(repository) == [(1, message)]


def test_numbers_grow_in_order(repository: Form) -> None:
    assert repository.append("c1", users("a", "b")) == (1, 2)
    assert repository.append("c2", users("x")) == (1,)
    assert repository.append("c1", users("c")) == (3,)
    assert texts(repository.read("c1")) == ["a", "b", "c"]


def test_a_generator_of_messages_is_taken(repository: Form) -> None:
    assert repository.append("c1", (UserMessage(str(n)) for n in range(3))) == (1, 2, 3)


def test_nothing_to_append_makes_no_conversation(repository: Form) -> None:
    assert repository.append("c1", []) == ()
    assert repository.conversation_ids() == ()


def test_unknown_conversation_is_empty(repository: Form) -> None:
    assert repository.last("never", 5) == ()
    assert list(repository.read("never")) == []
    assert repository.count("never") == 0
    repository.delete("never")


def test_equal_text_twice_is_two_messages(repository: Form) -> None:
    repository.append("c1", users("yes", "yes"))
    repository.append("c1", users("yes"))

    assert texts(repository.read("c1")) == ["yes"] * 3


def test_last(repository: Form) -> None:
    repository.append("c1", users(*map(str, range(9))))

    assert repository.last("c1", 3) == tuple((n + 1, UserMessage(str(n))) for n in (6, 7, 8))
    assert repository.last("c1", 0) == ()
    assert texts(repository.last("c1", 50)) == list("012345678")


def test_last_with_system_messages_before_it(repository: Form) -> None:
    log = [SystemMessage("s1"), SystemMessage("s2"), *users("a", "b"), SystemMessage("s5"), *users("c", "d")]
    repository.append("c1", log)

    assert texts(repository.last("c1", 2, system=1)) == ["s5", "c", "d"]
    assert texts(repository.last("c1", 2, system=2)) == ["s2", "s5", "c", "d"]
    assert texts(repository.last("c1", 3, system=1)) == ["s2", "s5", "c", "d"]
    assert texts(repository.last("c1", 3, system=9)) == ["s1", "s2", "s5", "c", "d"]
    assert texts(repository.last("c1", 0, system=1)) == ["s5"]
    assert texts(repository.last("c1", 9, system=9)) == ["s1", "s2", "a", "b", "s5", "c", "d"]
    assert [stored.sequence for stored in repository.last("c1", 2, system=2)] == [2, 5, 6, 7]


@pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 700])
def test_read_streams_all(repository: Form, length: int) -> None:
    repository.append("c1", users(*map(str, range(length))))

    assert texts(repository.read("c1")) == [str(n) for n in range(length)]


def test_read_after_a_number_and_with_a_limit(repository: Form) -> None:
    repository.append("c1", users(*map(str, range(600))))

    assert [stored.sequence for stored in repository.read("c1", after=597)] == [598, 599, 600]
    assert texts(repository.read("c1", after=2, limit=2)) == ["2", "3"]
    assert texts(repository.read("c1", limit=300)) == [str(n) for n in range(300)]
    assert list(repository.read("c1", limit=0)) == []
    assert list(repository.read("c1", after=600)) == []
    assert list(repository.read("c1", after=2**62)) == []


def test_read_sees_what_is_appended_meanwhile(repository: Form) -> None:
    repository.append("c1", users(*map(str, range(300))))
    reading = repository.read("c1")
    first = next(reading)
    repository.append("c1", users("late"))

    assert texts([first, *reading]) == [*map(str, range(300)), "late"]


def test_read_tells_its_progress(repository: Form) -> None:
    repository.append("c1", users(*map(str, range(600))))
    heard: list[tuple[int, int]] = []
    assert len(list(repository.read("c1", after=10, progress=lambda *now: heard.append(now)))) == 590
    assert heard[-1] == (590, 590)
    assert len(heard) > 1
    assert heard == sorted(heard)
    assert {total for _, total in heard} == {590}

    heard.clear()
    list(repository.read("c1", limit=7, progress=lambda *now: heard.append(now)))
    assert heard == [(7, 7)]


def test_count_and_delete(repository: Form) -> None:
    repository.append("c1", users("a", "b"))
    repository.append("c2", users("x"))
    assert (repository.count("c1"), repository.count("c2")) == (2, 1)

    repository.delete("c1")

    assert (repository.count("c1"), repository.count("c2")) == (0, 1)
    assert repository.conversation_ids() == ("c2",)
    assert repository.append("c1", users("new")) == (1,)
    assert kept(repository) == [(1, UserMessage("new"))]


def test_deletion_forgets_ids_and_system_messages(repository: Form) -> None:
    repository.append("c1", [SystemMessage("old", id="m1"), UserMessage("x")])
    repository.delete("c1")

    assert repository.append("c1", UserMessage("new", id="m1")) == (1,)
    assert texts(repository.last("c1", 0, system=5)) == []


def test_conversation_ids_in_order_and_pages(repository: Form) -> None:
    names = [f"c{n:02}" for n in range(30)]
    for name in reversed(names):
        repository.append(name, users("x"))

    assert repository.conversation_ids() == tuple(names)
    assert repository.conversation_ids(limit=7) == tuple(names[:7])
    assert repository.conversation_ids(after="c06", limit=2) == ("c07", "c08")
    assert repository.conversation_ids(after="c06x", limit=1) == ("c07",)
    assert repository.conversation_ids(after="c29") == ()
    assert repository.conversation_ids(limit=0) == ()


def test_hostile_ids_stay_apart(repository: Form) -> None:
    for name in HOSTILE_IDS:
        assert repository.append(name, UserMessage(name)) == (1,)

    assert repository.conversation_ids() == tuple(sorted(HOSTILE_IDS))
    listed: list[str] = []
    while page := repository.conversation_ids(after=listed[-1] if listed else None, limit=4):
        listed += page
    assert listed == sorted(HOSTILE_IDS)
    for name in HOSTILE_IDS:
        assert kept(repository, name) == [(1, UserMessage(name))]
    repository.delete("a")
    assert set(repository.conversation_ids()) == {*HOSTILE_IDS} - {"a"}


def test_hostile_message_ids_stay_apart(repository: Form) -> None:
    assert len(set(repository.append("c1", [UserMessage("x", id=name) for name in HOSTILE_IDS]))) == len(HOSTILE_IDS)
    for number, name in enumerate(HOSTILE_IDS, 1):
        assert repository.append("c1", UserMessage("x", id=name)) == (number,)


@pytest.mark.parametrize("name", ["", " ", "\n\t", None, 7, b"c1"], ids=repr)
def test_wrong_conversation_id_is_refused(repository: Form, name: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: repository.append(name, users("x")),
        lambda: repository.last(name, 1),
        lambda: list(repository.read(name)),
        lambda: repository.count(name),
        lambda: repository.delete(name),
    ]
    for call in calls:
        with pytest.raises(MemoryStoreError, match="conversation_id must be a str"):
            call()


@pytest.mark.parametrize(
    "messages", [None, "text", {"role": "user"}, 3, [None], ["x"], [UserMessage("a"), {}]], ids=repr
)
def test_wrong_messages_are_refused_and_nothing_stored(repository: Form, messages: Any) -> None:
    with pytest.raises(PromptError, match="message"):
        repository.append("c1", messages)
    assert repository.conversation_ids() == ()


@pytest.mark.parametrize("number", [-1, 1.5, None, True, "3"], ids=repr)
def test_wrong_numbers_are_refused(repository: Form, number: Any) -> None:
    with pytest.raises(MemoryStoreError, match="n must be an int"):
        repository.last("c1", number)
    with pytest.raises(MemoryStoreError, match="system must be an int"):
        repository.last("c1", 1, system=number)
    with pytest.raises(MemoryStoreError, match="after must be an int"):
        list(repository.read("c1", after=number))
    if number is not None:
        with pytest.raises(MemoryStoreError, match="limit must be an int"):
            list(repository.read("c1", limit=number))
        with pytest.raises(MemoryStoreError, match="limit must be an int"):
            repository.conversation_ids(limit=number)


def test_append_again_with_ids_stores_once(repository: Form) -> None:
    turn = [UserMessage("q", id="m1"), AssistantMessage("a", id="m2")]
    assert repository.append("c1", turn) == (1, 2)
    assert repository.append("c1", turn) == (1, 2)
    assert repository.append("c1", [UserMessage("new", id="m3"), turn[1], UserMessage("no id")]) == (3, 2, 4)
    assert texts(repository.read("c1")) == ["q", "a", "new", "no id"]


def test_ids_belong_to_a_conversation(repository: Form) -> None:
    repository.append("c1", UserMessage("one", id="m1"))

    assert repository.append("c2", UserMessage("two", id="m1")) == (1,)


def test_an_id_twice_in_one_append_is_one_message(repository: Form) -> None:
    twice = UserMessage("q", id="m1")

    assert repository.append("c1", [twice, UserMessage("x"), twice]) == (1, 2, 1)
    assert repository.count("c1") == 2


def test_an_equal_message_spelt_in_another_order_is_the_same(repository: Form) -> None:
    repository.append("c1", UserMessage("q", id="m1", metadata={"a": 1, "b": [2, {"c": 3}]}))

    again = UserMessage("q", id="m1", metadata={"b": [2, {"c": 3}], "a": 1})
    assert repository.append("c1", [UserMessage("new"), again, again]) == (2, 1, 1)


def test_an_empty_message_id_is_none_at_all(repository: Form) -> None:
    assert repository.append("c1", [UserMessage("a", id=""), UserMessage("b", id="")]) == (1, 2)


@pytest.mark.parametrize(
    "other",
    [UserMessage("other", id="m1"), AssistantMessage("q", id="m1"), UserMessage("q", id="m1", metadata={"k": 1})],
    ids=["text", "role", "metadata"],
)
def test_an_id_with_other_content_is_refused(repository: Form, other: BuiltinMessage) -> None:
    repository.append("c1", UserMessage("q", id="m1"))
    with pytest.raises(MemoryStoreError, match="'m1', as number 1; nothing was stored") as caught:
        repository.append("c1", [UserMessage("new"), other])
    assert caught.value.conversation_id == "c1"
    assert texts(repository.read("c1")) == ["q"]


def test_an_id_with_two_contents_in_one_append_is_refused(repository: Form) -> None:
    with pytest.raises(MemoryStoreError, match="'m1'"):
        repository.append("c1", [UserMessage("q", id="m1"), UserMessage("r", id="m1")])
    assert repository.conversation_ids() == ()


def test_the_same_turn_from_many_threads_is_stored_once(open_store: Callable[[], BaseRepository]) -> None:
    with open_store() as repository:
        repository.count("c0")
        for number in range(10):
            turn: list[BuiltinMessage] = [UserMessage("q", id="m1"), AssistantMessage("a", id="m2")]
            start = threading.Barrier(6)

            def write(name: str, turn: list[BuiltinMessage], start: threading.Barrier) -> tuple[int, ...]:
                start.wait()
                return repository.append(name, turn)

            with ThreadPoolExecutor(6) as pool:
                written = [pool.submit(write, f"c{number}", turn, start) for _ in range(6)]
            assert {each.result() for each in written} == {(1, 2)}
            assert repository.count(f"c{number}") == 2


def test_a_message_that_json_cannot_hold_is_refused_with_its_place(store: str, repository: Form) -> None:
    if store == "memory":
        return  # it keeps the message itself
    bad = UserMessage("x", metadata={"emoji": ["\ud83d" + "\ude42"]})  # JSON would join the two
    with pytest.raises(SerializationError) as caught:
        repository.append("c1", [UserMessage("a"), bad])
    assert caught.value.path == "messages[1].metadata.emoji[0]"
    assert str(caught.value).count("messages[1]") == 1
    assert repository.conversation_ids() == ()


class Note:
    """Be a message class of an application."""

    message_type = MessageType.USER
    content = "noted"
    metadata: dict[str, Any] = {"k": 1}  # noqa: RUF012


def test_a_message_class_of_an_application_is_stored_as_ours(repository: Form) -> None:
    repository.append("c1", Note())

    assert kept(repository) == [(1, UserMessage("noted", metadata={"k": 1}))]


def test_a_message_of_20_megabytes(repository: Form) -> None:
    big = [UserMessage("é" * 5_000_000), UserMessage([Media(bytes(range(256)) * 80_000, "image/png")])]
    repository.append("c1", [*big, *users("small")])

    assert [stored.message for stored in repository.read("c1")] == [*big, *users("small")]
    assert [stored.message for stored in repository.last("c1", 3)] == [*big, *users("small")]


def test_another_opening_sees_the_same(repository: Form, open_store: Callable[[], BaseRepository]) -> None:
    repository.append("c1", users("a"))
    with open_store() as other:
        assert texts(other.read("c1")) == ["a"]
        other.append("c1", users("b"))
    assert texts(repository.read("c1")) == ["a", "b"]


def test_close_may_be_called_at_any_time(repository: Form) -> None:
    repository.close()
    repository.append("c1", users("a"))
    repository.close()
    repository.close()

    assert texts(repository.read("c1")) == ["a"]
