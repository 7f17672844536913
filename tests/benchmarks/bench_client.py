"""Measure a client's call over the model's own: with advisors that only pass on, with memory, tools and validation."""

from __future__ import annotations

from typing import Any

from promptkit import (
    ChatClient,
    ChatResponse,
    Generation,
    MemoryAdvisor,
    MessageWindowChatMemory,
    OutputValidationAdvisor,
    Prompt,
)
from promptkit.client.advisors.base import CallNext
from promptkit.client.request import ChatClientRequest
from promptkit.messages import AssistantMessage, UserMessage
from promptkit.tools import tool
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved

ANSWER = ChatResponse(Generation(AssistantMessage("42"), "stop"))


class Ready:
    """Answer at once, always the same."""

    def call(self, prompt: Prompt) -> ChatResponse:
        return ANSWER


class PassesOn:
    """Do nothing."""

    def advise(self, request: ChatClientRequest, next: CallNext) -> ChatResponse:
        return next(request)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _langchain() -> Call:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages([("system", "You are brief."), ("user", "{question}")])
    chain = prompt | FakeListChatModel(responses=["42"]) | StrOutputParser()
    return lambda: chain.invoke({"question": "6 times 7?"})


def _pydantic_ai(*, typed: bool) -> Call:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    if not typed:
        agent: Any = Agent(TestModel(custom_output_text="42"), instructions="You are brief.")
        return lambda: agent.run_sync("6 times 7?")
    agent = Agent(TestModel(), instructions="You are brief.", output_type=int)
    history: list[Any] = []
    return lambda: agent.run_sync("6 times 7?", message_history=history)


def bench_passing_advisors() -> list[Row]:
    model = Ready()
    client = ChatClient(model, system="You are brief.", advisors=[PassesOn(), PassesOn(), PassesOn()])
    calls: dict[str, Call] = {"ours": lambda: client.prompt("6 times 7?").call().content()}
    calls |= installed({"langchain-core chain": _langchain, "pydantic-ai run_sync": lambda: _pydantic_ai(typed=False)})
    return compare(
        "client call, 3 advisors",
        interleaved(calls),
        faster={"langchain-core chain": 10, "pydantic-ai run_sync": 1},
    )


def bench_memory_tools_validation() -> list[Row]:
    memory = MessageWindowChatMemory(10)
    model = Ready()
    client = ChatClient(
        model, system="You are brief.", tools=[add], advisors=[MemoryAdvisor(memory), OutputValidationAdvisor()]
    )

    def ours() -> object:
        return client.prompt("6 times 7?").conversation("c1").call().entity(int)

    calls: dict[str, Call] = {"ours": ours}
    calls |= installed({"langchain-core chain": _langchain, "pydantic-ai run_sync": lambda: _pydantic_ai(typed=True)})
    return compare(
        "client call, memory, tools, validation",
        interleaved(calls),
        faster={"langchain-core chain": 4, "pydantic-ai run_sync": 1},
    )


def bench_long_conversation() -> list[Row]:
    def make(size: int) -> Call:
        memory = MessageWindowChatMemory(10)
        turns = ((UserMessage(f"question {n}"), AssistantMessage(f"answer {n}")) for n in range(size // 2))
        memory.add("c1", [message for turn in turns for message in turn])
        client = ChatClient(Ready(), advisors=[MemoryAdvisor(memory)])
        return lambda: client.prompt("6 times 7?").conversation("c1").call().content()

    return [growth("client call, length of the conversation", make, (100, 1_000, 10_000), at_most=0.2)]
