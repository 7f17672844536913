"""Ask a client: an entity has the type that was asked for, unions too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from attrs import frozen

from promptkit import ChatClient, ChatOptions, ChatResponse, Prompt, PromptTemplate, ResponseEntity
from promptkit.client import ChatClientRequest, ChatClientRequestSpec
from promptkit.client.advisors import AsyncCallNext, CallNext, LoggingAdvisor, MemoryAdvisor, StreamNext, advisor
from promptkit.converters import ListOutputConverter, TypedOutputConverter
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.memory.window import MessageWindowChatMemory
from promptkit.response import ChatChunk
from promptkit.testing import EchoChatModel
from promptkit.tools import tool


@frozen
class Order:
    item: str


@frozen
class Refund:
    order: int


@tool
def look_up(order: int) -> str:
    """Look an order up."""
    return str(order)


def through(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return next(request)


async def athrough(request: ChatClientRequest, next: AsyncCallNext) -> ChatResponse:
    return await next(request)


class Streaming:
    def advise(self, request: ChatClientRequest, next: CallNext) -> ChatResponse:
        return next(request)

    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Iterator[ChatChunk]:
        return next(request)


memory = MemoryAdvisor(MessageWindowChatMemory())
client = ChatClient(EchoChatModel(), system="Be brief.", tools=[look_up], advisors=[memory, LoggingAdvisor()])
templated = ChatClient(EchoChatModel(), user=PromptTemplate("Hi {name}"), options=ChatOptions(temperature=0))
request = client.prompt("Where is my order?").conversation("c1").advisors(through, athrough, Streaming())
request.user("Hi {name}", {"name": "Ada"}).tools(look_up, context={"tenant": 7}).options(ChatOptions(top_k=1))
advisor(before=lambda request: request.mutate(conversation_id="c2"), after=lambda request, response: response)

assert_type(request, ChatClientRequestSpec)
assert_type(request.call().content(), str)
assert_type(request.call().entity(Order), Order)
assert_type(request.call().entity(Order | Refund), Order | Refund)
assert_type(request.call().entity(list[Order]), list[Order])
assert_type(request.call().entity(TypedOutputConverter(Refund)), Refund)
assert_type(request.call().entity(ListOutputConverter()), list[str])
assert_type(request.call().response(), ChatResponse)
assert_type(request.call().response_entity(Order | Refund), ResponseEntity[Order | Refund])
assert_type(request.call().response_entity(Order).entity, Order)
assert_type(request.stream().content(), Iterator[str])
assert_type(request.stream().chunks(), Iterator[ChatChunk])


async def main() -> None:
    assert_type(await request.acall().content(), str)
    assert_type(await request.acall().entity(Order), Order)
    assert_type(await request.acall().entity(Order | Refund), Order | Refund)
    assert_type(await request.acall().response_entity(Order), ResponseEntity[Order])
    assert_type(await request.acall().response(), ChatResponse)
    assert_type(request.astream().content(), AsyncIterator[str])


ChatClient(InMemoryChatMemoryRepository())  # expect: mypy=arg-type pyright=reportArgumentType
ChatClient(EchoChatModel(), advisor=memory)  # expect: mypy=call-arg pyright=reportCallIssue
client.prompt(Prompt("Hi")).user(3)  # expect: mypy=arg-type pyright=reportArgumentType
client.prompt("Hi").advisors(memory, 3)  # expect: mypy=arg-type pyright=reportArgumentType
client.prompt("Hi").tools(len)  # expect: mypy=arg-type pyright=reportArgumentType
client.prompt("Hi").options(temperature=1)  # expect: mypy=call-arg pyright=reportCallIssue
request.call().entity(Order).order  # expect: mypy=attr-defined pyright=reportAttributeAccessIssue
