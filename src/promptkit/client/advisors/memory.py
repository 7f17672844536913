"""Let a conversation go on: show the model what was said before, and keep what is said now."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from promptkit._frozen import shown
from promptkit.client.advisors._steps import Ask, Do, SteppedAdvisor, Steps, Tell
from promptkit.client.request import ChatClientRequest, calls_tools, identified, new_id
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
        self._locks = tuple([Lock() for _ in range(64)])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._memory).__name__}, order={self.order})"

    def _steps(self, request: ChatClientRequest) -> Steps:
        conversation_id = request.conversation_id
        if conversation_id is None:
            raise PromptError("memory needs to know the conversation: give the request one with .conversation(id)")
        given = [as_builtin(identified(message)) for message in request.prompt.messages]
        earlier, new = _compared(given, (yield self._get(conversation_id)))
        wanted = [message for message in new if self._store_system or not _is_system(message)]
        if wanted:
            yield self._add(conversation_id, wanted)
            if earlier:  # a window may show less of it now
                earlier, _ = _compared(given, (yield self._get(conversation_id)))
        messages = _in_order(given, earlier)
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
        results = [result.mutate(output=as_builtin(identified(result.output))) for result in response.results]
        answers = [result.output for result in results if not calls_tools(result.output)]
        if answers:
            yield self._add(conversation_id, answers)
        for choice, (result, old) in enumerate(zip(results, response.results, strict=True)):
            if result.output.id != old.output.id:
                yield Tell(ChatChunk(choice=choice, message_id=result.output.id))
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
            with self._locks[hash(conversation_id) % len(self._locks)]:  # one writer a conversation
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


def _is_system(message: Message) -> bool:
    return message.message_type == MessageType.SYSTEM


def _bare(message: BuiltinMessage) -> BuiltinMessage:
    return message.mutate(id=None)


def _compared(given: list[BuiltinMessage], stored: Sequence[Message]) -> tuple[list[BuiltinMessage], ...]:
    """Give what the memory shows and the prompt does not hold, then what the prompt holds and the memory does not show.

    System texts are told apart by what they say, other messages by id.
    """
    shown_now = list(map(as_builtin, stored))
    told, texts = ({_bare(message) for message in side if _is_system(message)} for side in (shown_now, given))
    before = [message for message in shown_now if not _is_system(message)]
    spoken = [message for message in given if not _is_system(message)]
    ids, given_ids = {message.id for message in before}, {message.id for message in spoken}
    repeated = _repeated(before, spoken)
    known = set(map(id, repeated))
    earlier = [
        message
        for message in shown_now
        if (_bare(message) not in texts if _is_system(message) else not repeated and message.id not in given_ids)
    ]
    new = [
        message
        for message in given
        if (_bare(message) not in told if _is_system(message) else message.id not in ids and id(message) not in known)
    ]
    return earlier, new


def _repeated(before: list[BuiltinMessage], spoken: list[BuiltinMessage]) -> list[BuiltinMessage]:
    """Find the messages of the prompt that repeat the whole memory, where that has no ids."""
    for start in range(len(spoken) - len(before) + 1) if before else ():
        run = spoken[start : start + len(before)]
        if all(map(_same, before, run)):
            return run
    return []


def _same(stored: BuiltinMessage, given: BuiltinMessage) -> bool:
    return stored.id == given.id if stored.id is not None else stored == _bare(given)


def _in_order(given: list[BuiltinMessage], earlier: list[BuiltinMessage]) -> list[BuiltinMessage]:
    """Put the system text first, then the memory, then the rest of the prompt."""
    lead = next((at for at, message in enumerate(given) if not _is_system(message)), len(given))
    messages = [*given[:lead], *earlier, *given[lead:]]
    first = next((at for at, message in enumerate(messages) if _is_system(message)), 0)
    return messages[first : first + 1] + messages[:first] + messages[first + 1 :]


def _unfinished(partial: ChatResponse | None) -> list[AssistantMessage]:
    """Give the texts that came of an answer that broke off, without calls that will have no results."""
    kept = []
    for result in () if partial is None else partial.results:
        output = result.output
        if result.finish_reason is None or calls_tools(output):
            metadata = {**output.metadata, "partial": True}
            output = output.mutate(tool_calls=(), invalid_tool_calls=(), metadata=metadata)
        if output.content:
            kept.append(output.mutate(id=output.id or new_id()))
    return kept
