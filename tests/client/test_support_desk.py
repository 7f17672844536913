"""Run the support desk of the examples: with a script here, with the embedded model as a program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from support_desk.desk import SupportDesk
from support_desk.templates import Ticket

from promptkit import AssistantMessage, MessageType, SQLiteChatMemoryRepository, ToolCall, ToolResponseMessage
from promptkit.history import check_history
from promptkit.testing import ScriptedChatModel

PROGRAM = Path(__file__).parents[2] / "examples" / "60_support_desk.py"


def calling(name: str, number: str) -> AssistantMessage:
    return AssistantMessage(tool_calls=[ToolCall("c1", name, arguments={"number": number})])


def results(chat_model: ScriptedChatModel) -> list[str]:
    last = chat_model.prompts[-1].messages[-1]
    assert isinstance(last, ToolResponseMessage)
    return [response.text for response in last.responses]


def test_an_answer_uses_a_tool_and_is_remembered(tmp_path: Path) -> None:
    chat_model = ScriptedChatModel([calling("find_order", "A17"), "It arrives tomorrow.", "You are welcome."])
    with SupportDesk(chat_model, tmp_path / "desk.db") as desk:
        first = "".join(desk.answer("Ada", "Where is A17?"))

        assert first == "It arrives tomorrow."
        assert results(chat_model) == ["The order A17 has left the warehouse and arrives tomorrow."]

    with SupportDesk(chat_model, tmp_path / "desk.db") as desk:  # a restart
        assert desk.remembered("Ada") == 4
        assert asyncio.run(desk.answer_later("Ada", "Thank you.")) == "You are welcome."

    heard = chat_model.prompts[-1]
    assert [message.message_type.value for message in heard] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert not check_history(heard.messages)


def test_a_tool_that_fails_is_told_to_the_model(tmp_path: Path) -> None:
    chat_model = ScriptedChatModel([calling("refund", "B2"), "The bank is closed."])
    with SupportDesk(chat_model, tmp_path / "desk.db", bank_is_open=False) as desk:
        assert list(desk.answer("Ben", "I want my money for B2.")) == ["The ", "bank ", "is ", "closed."]
        assert results(chat_model) == ["The bank is closed; the money of B2 cannot be sent today."]
        assert desk.remembered("Ben") == 4
        assert desk.remembered("Ada") == 0


def test_a_ticket_is_asked_for_until_it_is_one(tmp_path: Path) -> None:
    right = '{"topic": "delivery", "order": "A17", "urgent": true}'
    chat_model = ScriptedChatModel(["A delivery.", right])
    with SupportDesk(chat_model, tmp_path / "desk.db") as desk:
        assert desk.ticket("Where is A17? Hurry!") == Ticket("delivery", "A17", urgent=True)

    assert "holds no JSON" in chat_model.prompts[1].text


def test_the_program_remembers_what_an_earlier_process_heard(tmp_path: Path) -> None:
    def run(message: str) -> str:
        command = [sys.executable, "-W", "error", str(PROGRAM), "Ada", message]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, timeout=120
        )
        assert not done.returncode, done.stderr
        return done.stdout

    assert "known by 0 messages" in run("Where is my order A17?")
    second = run("I want the money of order B2 back.")

    assert "known by 4 messages" in second
    assert "Ticket(topic='refund', order='B2'" in second
    with SQLiteChatMemoryRepository(tmp_path / "support_desk.db") as repository:
        kept = [stored.message for stored in repository.read("Ada")]
    assert len(kept) == 8
    assert sum(message.message_type is MessageType.TOOL for message in kept) == 2
    assert not check_history(kept)
