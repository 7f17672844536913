"""Hold memories and stores against Spring AI's recorded behaviour (area MEM)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptkit import HistoryError, MemoryStoreError, PromptError, ToolResponseMessage
from promptkit.memory._repository import BaseRepository
from promptkit.memory.window import MessageWindowChatMemory
from tests import oracles
from tests.memory.forms import Form
from tests.memory.neutral import message

ROWS = {row["id"]: row for row in oracles.rows("spring_memory.jsonl")}
KINDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "construct": lambda row: row["when"].startswith("construct"),
    "bad id": lambda row: row["when"] == "add / get / clear",
    "bad messages": lambda row: row["when"].startswith("add") and "conversation_id" not in row["given"],
    "window": lambda row: row["when"] == "get",
    "store": lambda row: "repo" in row["given"],
}


def of_kind(kind: str) -> list[str]:
    return [row_id for row_id, row in ROWS.items() if KINDS[kind](row)]


def neutral(messages: Any) -> list[Any]:
    return [message(case) for case in messages]


def test_every_case_is_of_one_kind() -> None:
    assert sorted(row_id for kind in KINDS for row_id in of_kind(kind)) == sorted(ROWS)


@pytest.mark.parametrize("row_id", of_kind("construct"))
def test_construction(row_id: str) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    if "error" in then:
        with pytest.raises(HistoryError) as caught:
            MessageWindowChatMemory(**given)
        assert all(word in str(caught.value) for word in then["mentions"])
        return
    memory = MessageWindowChatMemory(**given)
    memory.add("c1", neutral({"role": "user", "text": str(n)} for n in range(then["max_messages"] + 1)))
    assert len(memory.get("c1")) == then["max_messages"]


@pytest.mark.parametrize("row_id", of_kind("bad id"))
def test_a_wrong_id_is_refused(row_id: str) -> None:
    memory = MessageWindowChatMemory()
    name, mentions = ROWS[row_id]["given"]["conversation_id"], ROWS[row_id]["then"]["mentions"]
    for call in (lambda: memory.add(name, []), lambda: memory.get(name), lambda: memory.clear(name)):
        with pytest.raises(MemoryStoreError) as caught:
            call()
        assert all(word in str(caught.value) for word in mentions)


@pytest.mark.parametrize("row_id", of_kind("bad messages"))
def test_what_is_no_message_is_refused(row_id: str) -> None:
    given, mentions = ROWS[row_id]["given"], ROWS[row_id]["then"]["mentions"]
    memory = MessageWindowChatMemory()
    with pytest.raises(PromptError) as caught:
        memory.add("c1", given.get("messages", given.get("message")))
    words = [{"null": "None"}.get(word, word) for word in mentions]
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("row_id", of_kind("window"))
def test_window(row_id: str) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    memory = MessageWindowChatMemory(given.get("max_messages", 20))
    name = given.get("conversation_id", "c1")
    for batch in given.get("adds", ()):
        memory.add(name, neutral(batch))
    window = memory.get(name)
    if row_id == "SC-MEM-021":
        assert row_id in oracles.decided()
        assert [each.content for each in window] == ["s1", "s2", "s3"]
    elif "never" in then:
        assert not isinstance(window[0], ToolResponseMessage)
        assert len(window) == 5
    else:
        assert list(window) == neutral(then["messages"])
    if "after_clear" in then:
        memory.clear(name)
        assert list(memory.get(name)) == then["after_clear"]


@pytest.mark.parametrize("row_id", of_kind("store"))
def test_store(row_id: str, repository: Form, open_store: Callable[[], BaseRepository]) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    for name, messages in given.get("save", {}).items():
        repository.append(name, neutral(messages))
    for operation, name, *messages in given.get("ops", ()):
        getattr(repository, operation)(name, *map(neutral, messages))
    if "save_count" in given:
        repository.append("c1", neutral({"role": "user", "text": f"m{n}"} for n in range(given["save_count"])))
    if "before" in then:
        assert list(repository.conversation_ids()) == then["before"]
        for name in given["delete"]:
            repository.delete(name)
        assert list(repository.conversation_ids()) == then["after"]
        return
    stored = list(repository.read("c1"))
    if "messages" in then:
        assert [each.message for each in stored] == neutral(then["messages"])
    elif "texts" in then:
        assert [each.message.content for each in stored] == then["texts"]
        assert [each.message.message_type for each in stored] == then["roles"]
    elif "texts_in_order" in then:
        assert [each.message.content for each in stored] == [f"m{n}" for n in range(given["save_count"])]
    else:
        assert then == {"unchanged": True}
        first, second = neutral([{"role": "user", "text": "first"}, {"role": "assistant", "text": "second"}])
        repository.append("c1", first.mutate(id="m1"))
        read_back = [each.message for each in repository.read("c1")]
        assert repository.append("c1", [*read_back, second]) == (1, 2)
        assert [each.sequence for each in repository.read("c1")] == [1, 2]
