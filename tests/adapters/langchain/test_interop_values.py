"""Messages, chunks, prompt values and histories of langchain-core, both ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import langchain_core.messages as core
import pytest
from hypothesis import given
from langchain_core import prompt_values as core_values
from langchain_core.runnables import RunnableLambda, RunnableSequence
from langchain_core.runnables.history import RunnableWithMessageHistory

from promptkit import Prompt
from promptkit.adapters.base import Loss
from promptkit.adapters.langchain import (
    AIMessage,
    BaseMessage,
    ChatPromptValue,
    ChatPromptValueConcrete,
    HumanMessage,
    ImagePromptValue,
    StringPromptValue,
    ToolMessage,
    as_chat_message_history,
    as_langchain_model,
    filter_messages,
    from_langchain_core,
    merge_chunks,
    to_langchain_core,
    trim_messages,
)
from promptkit.errors import AdapterError
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.messages import (
    AssistantMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions
from promptkit.testing import EchoChatModel, ScriptedChatModel
from tests.adapters.langchain import strategies
from tests.adapters.langchain.test_chunks import ai_chunks


@given(strategies.histories(strategies.plain_texts()))
def test_messages_become_those_of_the_package_and_come_back(messages: list[BaseMessage]) -> None:
    theirs = to_langchain_core(messages)

    assert [type(message).__module__.partition(".")[0] for message in theirs] == ["langchain_core"] * len(messages)
    assert [type(message).__name__ for message in theirs] == [type(message).__name__ for message in messages]
    assert from_langchain_core(theirs) == messages
    assert [from_langchain_core(to_langchain_core(message)) for message in messages] == messages


@given(ai_chunks())
def test_chunks_become_those_of_the_package_and_come_back(chunk: Any) -> None:
    their: Any = to_langchain_core(chunk)

    assert isinstance(their, core.AIMessageChunk)
    back: Any = from_langchain_core(their)
    assert back.tool_call_chunks == chunk.tool_call_chunks
    assert (back.content, back.usage_metadata, back.id) == (chunk.content, chunk.usage_metadata, chunk.id)
    assert merge_chunks([back, back]).content == from_langchain_core(their + their).content


VALUES: dict[str, tuple[Any, Any]] = {
    "text": (StringPromptValue("hi"), core_values.StringPromptValue(text="hi")),
    "chat": (ChatPromptValue([HumanMessage("hi")]), core_values.ChatPromptValue(messages=[core.HumanMessage("hi")])),
    "concrete chat": (
        ChatPromptValueConcrete([AIMessage("hi")]),
        core_values.ChatPromptValueConcrete(messages=[core.AIMessage("hi")]),
    ),
    "image": (
        ImagePromptValue({"url": "u", "detail": "low"}),
        core_values.ImagePromptValue(image_url={"url": "u", "detail": "low"}),
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_prompt_values_become_those_of_the_package_and_come_back(case: str) -> None:
    ours, theirs = VALUES[case]
    made = to_langchain_core(ours)

    assert type(made) is type(theirs)
    assert made == theirs
    assert from_langchain_core(theirs) == ours


def test_prompts_and_messages_of_promptkit_become_those_of_the_package() -> None:
    losses: list[Loss] = []

    assert to_langchain_core(Prompt("hi")).to_messages() == [core.HumanMessage("hi")]
    assert to_langchain_core(UserMessage("hi")) == core.HumanMessage("hi")
    assert to_langchain_core([UserMessage("hi"), AssistantMessage("yo")]) == [
        core.HumanMessage("hi"),
        core.AIMessage("yo"),
    ]
    assert to_langchain_core(Prompt("hi", ChatOptions(model="m")), losses=losses) == core_values.ChatPromptValue(
        messages=[core.HumanMessage("hi")]
    )
    assert [loss.what for loss in losses] == ["options"]


class Own(core.HumanMessage):
    mood: str = "good"


def test_what_only_classes_of_your_own_have_is_kept_beside() -> None:
    losses: list[Loss] = []
    message = from_langchain_core(Own(content="hi", mood="bad"), losses=losses)

    assert message == HumanMessage("hi", additional_kwargs={"mood": "bad"})
    assert [str(loss) for loss in losses] == ["messages[0]: the Own becomes a HumanMessage"]


def test_what_is_no_json_is_left_out_with_a_loss() -> None:
    losses: list[Loss] = []
    message = core.ToolMessage(
        "3",
        tool_call_id="1",
        artifact=object(),
        additional_kwargs={"at": datetime.now(UTC), "k": 1},
        response_metadata={3: 4},
    )
    assert from_langchain_core(message, losses=losses) == ToolMessage("3", tool_call_id="1", additional_kwargs={"k": 1})
    assert [(loss.path, loss.what) for loss in losses] == [
        ("messages[0].additional_kwargs.at", "metadata"),
        ("messages[0].response_metadata.3", "metadata"),
        ("messages[0].artifact", "artifact"),
    ]


def test_further_keys_of_calls_have_no_place_in_the_package() -> None:
    losses: list[Loss] = []
    call: Any = {"name": "f", "args": {}, "id": "1", "signature": "s"}
    message: Any = to_langchain_core(AIMessage("", tool_calls=[call]), losses=losses)

    assert message.tool_calls == [{"name": "f", "args": {}, "id": "1", "type": "tool_call"}]
    assert [loss.path for loss in losses] == ["messages[0].tool_calls[0].signature"]


TWO_RESULTS = ToolResponseMessage([ToolResponse("1", content="a"), ToolResponse("2", content="b")])

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing of ours": (lambda: to_langchain_core(3), "3 is neither a message, a prompt"),
    "nothing of theirs": (lambda: from_langchain_core(3), "3 is neither a message, a prompt value nor a template"),
    "ours for theirs": (
        lambda: from_langchain_core([HumanMessage("hi")]),
        r"messages\[0\]: must be a message of langchain-core",
    ),
    "content that is no JSON": (
        lambda: from_langchain_core(core.HumanMessage([{"type": "x", "y": object()}])),
        r"messages\[0\]: .*content",
    ),
    "one that becomes two": (lambda: to_langchain_core(TWO_RESULTS), "the message becomes several of LangChain's"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_counterpart_is_refused(case: str) -> None:
    make, message = REFUSED[case]
    with pytest.raises(AdapterError, match=message):
        make()


def test_steps_take_messages_of_the_package_and_give_the_same_objects_back() -> None:
    chat = [core.SystemMessage("s"), core.HumanMessage("a"), core.HumanMessage("b", name="x")]

    kept = trim_messages(max_tokens=2, token_counter=len, include_system=True).invoke(chat)
    assert kept[0] is chat[0]
    assert kept[1] is chat[2]
    assert filter_messages(exclude_names=["x"]).invoke(core_values.ChatPromptValue(messages=chat)) == chat[:2]


def test_steps_stand_in_chains_of_the_package() -> None:
    model = as_langchain_model(EchoChatModel())
    trimmer = trim_messages(max_tokens=1, token_counter=len)
    chain: Any = RunnableLambda(lambda text: [core.HumanMessage("old"), core.HumanMessage(text)]) | trimmer | model

    assert isinstance(chain, RunnableSequence)
    assert chain.invoke("new").content == "new"
    assert asyncio.run(chain.ainvoke("new")).content == "new"
    assert (trimmer | model).invoke([HumanMessage("old"), HumanMessage("new")]).content == "new"
    assert asyncio.run((trimmer | model).ainvoke([core.HumanMessage("new")])).content == "new"
    assert (trimmer | model).invoke(Prompt("new")).content == "new"


def test_a_chat_model_of_the_package_counts() -> None:
    class Counting(type(as_langchain_model(EchoChatModel()))):  # type: ignore[misc]
        def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
            return sum(len(message.content) for message in messages)

    chat = [HumanMessage("long"), HumanMessage("hi")]
    assert trim_messages(chat, max_tokens=3, token_counter=Counting(chat_model=EchoChatModel())) == chat[1:]


def test_two_sessions_keep_their_histories_in_promptkits_memory() -> None:
    repository = InMemoryChatMemoryRepository()
    model = ScriptedChatModel(["Hello Ada.", "Hello Bob.", "You are Ada."])
    with pytest.warns(DeprecationWarning, match="LangGraph"):  # still what programs use, says LangChain
        chain: Any = RunnableWithMessageHistory(
            as_langchain_model(model), lambda session_id: as_chat_message_history(repository, session_id)
        )

    def ask(session: str, text: str) -> str:
        answer = chain.invoke([core.HumanMessage(text)], config={"configurable": {"session_id": session}})
        return str(answer.content)

    assert ask("a", "I am Ada.") == "Hello Ada."
    assert ask("b", "I am Bob.") == "Hello Bob."
    assert ask("a", "Who am I?") == "You are Ada."
    assert model.prompts[2].text == "I am Ada.\nHello Ada.\nWho am I?"
    assert repository.conversation_ids() == ("a", "b")
    assert repository.count("a") == 4


def test_a_history_is_one_conversation_of_the_repository() -> None:
    repository = InMemoryChatMemoryRepository()
    history = as_chat_message_history(repository, "a")
    calls = [{"name": "f", "args": {}, "id": "1"}, {"name": "g", "args": {}, "id": "2"}]
    chat = [
        core.HumanMessage("q", id="m1"),
        core.AIMessage("", tool_calls=calls),
        core.ToolMessage("r", tool_call_id="1"),
        core.ToolMessage("s", tool_call_id="2", status="error"),
    ]
    history.add_messages(chat)

    assert history.messages == chat
    assert [type(stored.message).__name__ for stored in repository.read("a")] == [
        "UserMessage", "AssistantMessage", "ToolResponseMessage",
    ]  # fmt: skip
    history.messages.clear()
    history.add_messages(chat[:1])  # a message with an id is stored once
    assert history.messages == chat
    history.clear()
    assert history.messages == []
    assert not repository.conversation_ids()


def test_a_history_has_async_twins() -> None:
    async def run() -> list[list[Any]]:
        history = as_chat_message_history(InMemoryChatMemoryRepository(), "a")
        await history.aadd_messages([core.HumanMessage("hi")])
        first = await history.aget_messages()
        await history.aclear()
        return [first, await history.aget_messages()]

    assert asyncio.run(run()) == [[core.HumanMessage("hi")], []]


def test_messages_stored_by_promptkit_are_read_by_the_package() -> None:
    repository = InMemoryChatMemoryRepository()
    repository.append("a", [UserMessage("q"), AssistantMessage(tool_calls=[ToolCall("1", "f")]), TWO_RESULTS])

    assert [message.type for message in as_chat_message_history(repository, "a").messages] == [
        "human",
        "ai",
        "tool",
        "tool",
    ]
