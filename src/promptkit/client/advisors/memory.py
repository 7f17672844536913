"""Let a conversation go on: show the model what was said before, and keep what is said now."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from promptkit._frozen import shown
from promptkit.client.advisors._steps import Ask, Do, SteppedAdvisor, Steps, Tell
from promptkit.client.request import ChatClientRequest, identified, new_id
from promptkit.contracts import ChatMemory
from promptkit.errors import PromptError
from promptkit.messages import AssistantMessage, BuiltinMessage, Message, MessageType, as_builtin
from promptkit.response import ChatChunk, ChatResponse

__all__ = ["MemoryAdvisor"]


class MemoryAdvisor(SteppedAdvisor):
    """Put a conversation's memory before the messages of a request, and add to it what is new.

    Every new message is kept, in order: before the model is asked what the application and tools said, after it what
    the model said. A message is known by its id; those of a conversation get one, so that equal texts stay two
    messages. Messages that a memory without ids already holds, where the prompt repeats them all, are not doubled.
    System text goes first, and is not kept. The model's calls of tools are kept together with their results.

    The user's turn stays when the model fails. Of an answer that breaks off, or that nobody reads to its end, the text
    that came is kept, with ``"partial": True`` in its metadata.

    Args:
        memory: Where conversations are kept; a window of one decides how much of them the model sees. A memory with
            ``aadd`` and ``aget`` is not blocked on in async calls; another one runs in a thread.
        store_system: Whether system messages are kept too.
        order: Its place; the lowest is the outermost. By default tool rounds stand around it, and are all kept;
            outside of them (an order below 200) only the question and the last answer are.

    Raises:
        PromptError: The memory is none; from a call, the request has no conversation.

    >>> from promptkit import ChatClient, MessageWindowChatMemory
    >>> from promptkit.testing import ScriptedChatModel
    >>> chat_model = ScriptedChatModel(["Hello, Ada.", "Ada."])
    >>> client = ChatClient(chat_model, advisors=[MemoryAdvisor(MessageWindowChatMemory())])
    >>> answers = [client.prompt(text).conversation("c1").call().content() for text in ("I am Ada.", "Who am I?")]
    >>> [message.text for message in chat_model.prompts[1]]
    ['I am Ada.', 'Hello, Ada.', 'Who am I?']
    """

    __slots__ = ("_locks", "_memory", "_store_system")

    def __init__(self, memory: ChatMemory, *, store_system: bool = False, order: int = 300) -> None:
        super().__init__(order)
        if isinstance(memory, type) or not all(callable(getattr(memory, name, None)) for name in ("add", "get")):
            raise PromptError(
                f"a MemoryAdvisor takes a ChatMemory (a MessageWindowChatMemory, say), not {shown(memory)}"
            )
        self._memory: Any = memory
        self._store_system = store_system
        self._locks: WeakValueDictionary[str, Any] = WeakValueDictionary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._memory).__name__}, order={self.order})"

    def _steps(self, request: ChatClientRequest) -> Steps:
        conversation_id = request.conversation_id
        if conversation_id is None:
            raise PromptError("memory needs to know the conversation: give the request one with .conversation(id)")
        given = list(map(as_builtin, request.prompt.messages))
        stored = yield self._get(conversation_id)
        new, whole = _new_messages(given, stored, store_system=self._store_system)
        if new:
            yield self._add(conversation_id, new)
            if not whole:
                stored = yield self._get(conversation_id)
        messages = given if whole else _joined(given, stored)
        ask = Ask(request.mutate(prompt=request.prompt.mutate(messages=messages)))
        try:
            response: ChatResponse = yield ask
        except BaseException:
            if kept := _unfinished(ask.partial):
                yield self._add(conversation_id, kept)
            raise
        return (yield from self._after(conversation_id, response))

    def _after(self, conversation_id: str, response: ChatResponse) -> Steps:
        """Give the answers ids, and keep those that call no tool: a call waits for its results."""
        results = []
        for choice, result in enumerate(response.results):
            if result.output.id is None:
                result = result.mutate(output=result.output.mutate(id=new_id()))  # noqa: PLW2901
                yield Tell(ChatChunk(choice=choice, message_id=result.output.id))
            results.append(result)
        answers = [result.output for result in results if not _calls(result.output)]
        if answers:
            yield self._add(conversation_id, answers)
        return response.mutate(results=results)

    def _get(self, conversation_id: str) -> Do:
        memory = self._memory

        async def later() -> Any:
            if hasattr(memory, "aget"):
                return await memory.aget(conversation_id)
            return await _in_thread(memory.get, conversation_id)

        return Do(lambda: memory.get(conversation_id), later)

    def _add(self, conversation_id: str, messages: Sequence[Message]) -> Do:
        def run() -> None:
            with self._locks.setdefault(conversation_id, Lock()):  # one writer a conversation
                self._memory.add(conversation_id, messages)

        async def later() -> None:
            if hasattr(self._memory, "aadd"):
                await self._memory.aadd(conversation_id, messages)
            else:
                await _in_thread(run)

        return Do(run, later)


async def _in_thread(function: Any, *arguments: Any) -> Any:
    import asyncio

    return await asyncio.to_thread(function, *arguments)


def _calls(message: AssistantMessage) -> bool:
    return bool(message.tool_calls or message.invalid_tool_calls)


def _is_system(message: Message) -> bool:
    return message.message_type == MessageType.SYSTEM


def _same(stored: BuiltinMessage, given: BuiltinMessage) -> bool:
    """Tell whether they are one message: by id, or by what they say where the stored one has no id."""
    return stored.id == given.id if stored.id is not None else stored == given.mutate(id=None)


def _new_messages(
    given: list[BuiltinMessage], stored: Sequence[Message], *, store_system: bool
) -> tuple[list[BuiltinMessage], bool]:
    """Find what the memory does not have, and tell whether the prompt already holds all that it shows.

    Replaces messages in ``given`` by themselves with an id.
    """
    given[:] = [as_builtin(identified(message)) for message in given]
    shown_before = [as_builtin(message) for message in stored if not _is_system(message)]
    spoken = [message for message in given if not _is_system(message)]
    ids = {message.id for message in shown_before if message.id is not None}
    known: list[BuiltinMessage] = []
    for start in range(len(spoken) - len(shown_before) + 1) if shown_before else ():
        run = spoken[start : start + len(shown_before)]
        if all(map(_same, shown_before, run)):
            known = run
            break
    marks = {id(message) for message in known}
    wanted = given if store_system else spoken
    return [message for message in wanted if message.id not in ids and id(message) not in marks], bool(known)


def _joined(given: list[BuiltinMessage], stored: Sequence[Message]) -> list[Message]:
    """Put the system text first, then the memory, then what it does not show."""
    lead = next((at for at, message in enumerate(given) if not _is_system(message)), len(given))
    system, rest = given[:lead], given[lead:]
    texts = {message.mutate(id=None) for message in given if _is_system(message)}
    shown_now = [m for m in map(as_builtin, stored) if not (_is_system(m) and m.mutate(id=None) in texts)]
    ids = {message.id for message in shown_now}
    return [*system, *shown_now, *[message for message in rest if message.id not in ids]]


def _unfinished(partial: ChatResponse | None) -> list[AssistantMessage]:
    """Give the texts that came of an answer that broke off, without calls that will have no results."""
    outputs = [] if partial is None else [result.output for result in partial.results]
    return [
        output.mutate(
            id=output.id or new_id(),
            tool_calls=(),
            invalid_tool_calls=(),
            metadata={**output.metadata, "partial": True},
        )
        for output in outputs
        if output.content
    ]
