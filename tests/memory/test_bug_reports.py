"""Hold memories and stores against the bug reports of other projects."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from promptkit import AssistantMessage, MemoryStoreError, SystemMessage, ToolResponseMessage, UserMessage, serialization
from promptkit.memory._repository import BaseRepository
from promptkit.memory.window import MessageWindowChatMemory
from tests import oracles
from tests.memory.forms import Form
from tests.memory.neutral import message

ROWS = {row["id"]: row for row in oracles.rows("bug_reports_memory.jsonl")}
ROUND_TRIPS = [row_id for row_id, row in ROWS.items() if row.get("expect") == {"roundtrip_equal": True}]
OTHERS = {"B071", "B119", "B121", "B123", "B124", "B128", "B130", "B133"}


def given(row_id: str) -> dict[str, Any]:
    case: dict[str, Any] = ROWS[row_id]["input"]
    return case


def test_every_case_has_a_test() -> None:
    assert {*ROUND_TRIPS, *OTHERS} == set(ROWS)


@pytest.mark.parametrize("row_id", ROUND_TRIPS)
def test_messages_come_back_equal(row_id: str, repository: Form) -> None:
    case = given(row_id)
    saved = [message(each) for each in case.get("save", [case.get("message")])]
    repository.append("c1", saved)

    assert [stored.message for stored in repository.read("c1")] == saved


def test_text_is_stored_readable() -> None:
    text = given("B132")["save"][0]["text"]

    assert text in serialization.dumps(UserMessage(text))


def test_size_is_linear_in_the_text() -> None:
    text = given("B071")["message"]["text"]
    for _ in range(10):
        text += "y"

    assert len(serialization.dumps(SystemMessage(text))) <= ROWS["B071"]["expect"]["max_bytes"]


def test_the_window_opens_on_a_turn() -> None:
    memory = MessageWindowChatMemory(given("B119")["window"])
    for each in given("B119")["adds"]:
        memory.add("c1", message(each))

    assert list(memory.get("c1")) == [message(each) for each in ROWS["B119"]["expect"]["kept"]]


def test_an_exchange_that_is_stored_again_is_stored_once(repository: Form) -> None:
    known, prompt = ([message(each) for each in given("B121")[key]] for key in ("memory", "prompt"))
    repository.append("c1", [each.mutate(id=f"m{number}") for number, each in enumerate(known)])
    repository.append("c1", [each.mutate(id=f"m{number}") for number, each in enumerate(prompt)])

    assert repository.count("c1") == ROWS["B121"]["expect"]["count"]


def test_every_new_message_is_stored() -> None:
    memory = MessageWindowChatMemory()
    memory.add("c1", [message(each) for each in given("B123")["prompt"]])

    assert [each.content for each in memory.get("c1")] == ROWS["B123"]["expect"]["stored_user"]


def test_a_whole_turn_is_stored(repository: Form) -> None:
    turn = [message(each) for each in given("B124")["turn"]]
    repository.append("c1", turn)

    assert [stored.message for stored in repository.read("c1")] == turn
    assert len(turn) == ROWS["B124"]["expect"]["stored"]


def test_order_is_by_number_never_by_clock(repository: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    repository.append("c1", [UserMessage(str(number)) for number in range(50)])
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0 - 3_600)
    repository.append("c1", UserMessage("50"))

    assert [stored.message.content for stored in repository.read("c1")] == [str(number) for number in range(51)]


def test_threads_lose_nothing_and_turns_stay_together(open_store: Callable[[], BaseRepository]) -> None:
    case, expect = given("B130"), ROWS["B130"]["expect"]
    rounds = expect["total"] // case["threads"] // 3
    failures: list[BaseException] = []
    with open_store() as repository:

        def write(thread: int) -> None:
            try:
                for turn in range(rounds):
                    name = f"{thread}-{turn}"
                    repository.append("c1", [UserMessage(name), AssistantMessage(name), UserMessage(f"{name} thanks")])
                    if turn < 50:
                        repository.append(f"first-{turn}", UserMessage(name))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(case["threads"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert not failures
        contents = [str(stored.message.content) for stored in repository.read("c1")]
        turns = [contents[at : at + 3] for at in range(0, len(contents), 3)]
        assert len(contents) == expect["total"]
        assert all(turn == [turn[0], turn[0], f"{turn[0]} thanks"] for turn in turns)
        for thread_number in range(case["threads"]):
            mine = [turn[0] for turn in turns if turn[0].startswith(f"{thread_number}-")]
            assert mine == [f"{thread_number}-{turn}" for turn in range(rounds)]
        assert [repository.count(f"first-{turn}") for turn in range(50)] == [case["threads"]] * 50


def test_ids_are_names_and_nothing_else(repository: Form) -> None:
    ids = given("B133")["ids"]
    for name in ids:
        if name.strip():
            repository.append(name, UserMessage(name))
        else:
            with pytest.raises(MemoryStoreError, match="blank"):
                repository.append(name, UserMessage(name))

    assert repository.conversation_ids() == tuple(sorted(filter(str.strip, ids)))


def test_a_result_alone_is_kept_as_it_is(repository: Form) -> None:
    case = json.loads('{"role": "tool", "for": "c9", "text": "late"}')
    repository.append("c1", message(case))

    (stored,) = repository.last("c1", 1)
    assert isinstance(stored.message, ToolResponseMessage)
