"""Put the desk together around any chat model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from promptkit import (
    ChatClient,
    ChatModel,
    ChatOptions,
    LoggingAdvisor,
    MemoryAdvisor,
    MessageWindowChatMemory,
    OutputValidationAdvisor,
    SQLiteChatMemoryRepository,
    ToolCallingAdvisor,
)
from support_desk.templates import DeskRules, Ticket, TicketRequest
from support_desk.tools import find_order, refund


class SupportDesk:
    """Answer customers, one conversation each, and sort what they write into tickets."""

    def __init__(self, chat_model: ChatModel, memory_file: Path, *, bank_is_open: bool = True) -> None:
        self._repository = SQLiteChatMemoryRepository(memory_file)
        self._memory = MessageWindowChatMemory(8, repository=self._repository)
        # One round of tools, then words: a small model would go on calling.
        desk = ChatClient(
            chat_model,
            system=DeskRules("the Corner Shop"),
            options=ChatOptions(max_tokens=60),
            tools=[find_order, refund],
            advisors=[ToolCallingAdvisor(max_rounds=1, then="answer"), MemoryAdvisor(self._memory), LoggingAdvisor()],
        )
        self._desk = desk.prompt().tools(context={"bank_is_open": bank_is_open})
        self._sorter = ChatClient(chat_model, advisors=[OutputValidationAdvisor(), LoggingAdvisor()])

    def answer(self, customer: str, message: str) -> Iterator[str]:
        """Answer a customer, piece by piece."""
        request = self._desk.user(message).tools(context={"customer": customer})
        return request.conversation(customer).stream().content()

    async def answer_later(self, customer: str, message: str) -> str:
        """Answer a customer without blocking."""
        request = self._desk.user(message).tools(context={"customer": customer})
        return await request.conversation(customer).acall().content()

    def ticket(self, message: str) -> Ticket:
        """Sort a message."""
        return self._sorter.prompt().user(TicketRequest(message)).call().entity(Ticket)

    def remembered(self, customer: str) -> int:
        """Count the messages of a customer's conversation, over all runs of the program."""
        return self._repository.count(customer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._repository.close()
