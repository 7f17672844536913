"""Let LangChain's runnables keep their history in promptkit's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage as CoreMessage

from promptkit._frozen import shown
from promptkit.adapters.langchain.core import from_core, to_core
from promptkit.adapters.langchain.native import from_messages, to_messages
from promptkit.adapters.langchain.parts import VENDOR
from promptkit.contracts import ChatMemoryRepository, StoredMessage
from promptkit.errors import AdapterError
from promptkit.messages import Message

__all__ = ["RepositoryHistory", "as_chat_message_history"]


class RepositoryHistory(BaseChatMessageHistory):
    """Be one conversation of a repository, in LangChain's words; see `as_chat_message_history`.

    >>> from langchain_core.messages import HumanMessage
    >>> from promptkit.memory.in_memory import InMemoryChatMemoryRepository
    >>> history = as_chat_message_history(InMemoryChatMemoryRepository(), "session-1")
    >>> history.add_messages([HumanMessage("Hi")])
    >>> [message.content for message in history.messages]
    ['Hi']
    """

    def __init__(self, repository: ChatMemoryRepository, conversation_id: str) -> None:
        self.repository = repository
        self.conversation_id = conversation_id

    @property
    def messages(self) -> list[CoreMessage]:  # type: ignore[override]  # LangChain declares a list that it never sets
        """The messages of the conversation: a new list each time."""
        return _to_core([stored.message for stored in self.repository.read(self.conversation_id)])

    async def aget_messages(self) -> list[CoreMessage]:
        """Give the messages without blocking."""
        found: list[StoredMessage] = [stored async for stored in self.repository.aread(self.conversation_id)]
        return _to_core([stored.message for stored in found])

    def add_messages(self, messages: Sequence[CoreMessage]) -> None:
        """Append messages."""
        self.repository.append(self.conversation_id, _from_core(messages))

    async def aadd_messages(self, messages: Sequence[CoreMessage]) -> None:
        """Append messages without blocking."""
        await self.repository.aappend(self.conversation_id, _from_core(messages))

    def clear(self) -> None:
        """Delete the conversation."""
        self.repository.delete(self.conversation_id)

    async def aclear(self) -> None:
        """Delete the conversation without blocking."""
        await self.repository.adelete(self.conversation_id)


def _to_core(messages: Sequence[Message]) -> list[CoreMessage]:
    return to_core(to_messages(messages, losses=[]), [])


def _from_core(messages: Sequence[Any]) -> tuple[Message, ...]:
    return from_messages(from_core(messages, []), losses=[]).messages


def as_chat_message_history(repository: ChatMemoryRepository, conversation_id: str) -> RepositoryHistory:
    """Make a chat message history of LangChain's over one conversation of a repository.

    ``RunnableWithMessageHistory(chain, lambda session_id: as_chat_message_history(repository, session_id))`` keeps its
    sessions in promptkit's memory. A message with an id is stored once.

    Args:
        repository: Any store of promptkit's.
        conversation_id: The conversation: LangChain's session id.

    Raises:
        AdapterError: It is no repository.
    """
    if not all(hasattr(repository, name) for name in ("append", "read", "delete")):
        problem = "is no repository of conversations: it lacks append, read or delete"
        raise AdapterError(f"{shown(repository)} {problem}", format=VENDOR)
    return RepositoryHistory(repository, conversation_id)
