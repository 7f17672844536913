"""Hold that LangChain's `RunnableWithMessageHistory` keeps its sessions in every store, without losing turns."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda

from promptkit.adapters.langchain import as_chat_message_history
from promptkit.memory._repository import BaseRepository


@pytest.fixture
def repository(open_store: Callable[[], BaseRepository]) -> Iterator[BaseRepository]:
    """Give an empty repository of each store."""
    with open_store() as opened:
        yield opened


def with_history(step: Runnable[Any, Any], repository: BaseRepository, **keys: str) -> Runnable[Any, Any]:
    from langchain_core.runnables.history import RunnableWithMessageHistory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain deprecates it in favour of its own persistence
        return RunnableWithMessageHistory(
            step,
            lambda session_id: as_chat_message_history(repository, session_id),
            **keys,  # type: ignore[arg-type]
        )


def session(name: str) -> Any:
    return {"configurable": {"session_id": name}}


def answer(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(f"{len(messages)}: {messages[-1].content}")


def texts(repository: BaseRepository, name: str) -> list[object]:
    return [stored.message.content for stored in repository.read(name)]


def test_sessions_are_conversations(repository: BaseRepository) -> None:
    chat = with_history(RunnableLambda(answer), repository)

    assert chat.invoke([HumanMessage("a")], config=session("s1")).content == "1: a"
    assert chat.invoke([HumanMessage("b")], config=session("s1")).content == "3: b"
    assert chat.invoke([HumanMessage("c")], config=session("s'2\x00")).content == "1: c"
    assert texts(repository, "s1") == ["a", "1: a", "b", "3: b"]
    assert repository.conversation_ids() == ("s'2\x00", "s1")


def test_sessions_are_conversations_without_blocking(repository: BaseRepository) -> None:
    chat = with_history(RunnableLambda(answer), repository)

    async def story() -> list[object]:
        async with repository:
            await chat.ainvoke([HumanMessage("a")], config=session("s1"))
            await chat.ainvoke([HumanMessage("b")], config=session("s1"))
            return [stored.message.content async for stored in repository.aread("s1")]

    assert asyncio.run(story()) == ["a", "1: a", "b", "3: b"]


def test_a_whole_exchange_comes_back_as_it_was(repository: BaseRepository) -> None:
    exchange: list[BaseMessage] = [
        SystemMessage("Be brief.", id="m1"),
        HumanMessage([{"type": "text", "text": "q"}, {"type": "image", "url": "https://e.org/x.png"}]),
        AIMessage("", tool_calls=[{"id": "c1", "name": "f", "args": {"x": 1}, "type": "tool_call"}], id="m3"),
        ToolMessage("r", tool_call_id="c1", status="error", artifact={"raw": [1, 2]}, name="f"),
        AIMessage("done", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ]
    history = as_chat_message_history(repository, "s1")
    history.add_messages(exchange)

    assert history.messages == exchange
    history.add_messages([exchange[0], exchange[2]])
    assert history.messages == exchange
    history.clear()
    assert history.messages == []


def test_a_turn_beside_another_loses_nothing(repository: BaseRepository) -> None:
    def slow(given: dict[str, list[BaseMessage]]) -> AIMessage:
        as_chat_message_history(repository, "s1").add_messages([HumanMessage("beside"), AIMessage("answered")])
        return answer([*given["history"], *given["question"]])

    chat = with_history(RunnableLambda(slow), repository, input_messages_key="question", history_messages_key="history")
    chat.invoke({"question": [HumanMessage("q")]}, config=session("s1"))

    assert texts(repository, "s1") == ["beside", "answered", "q", "1: q"]
