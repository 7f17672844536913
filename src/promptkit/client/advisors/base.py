"""Define what an advisor is, and make advisors of functions."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol

from promptkit.client.request import ChatClientRequest
from promptkit.response import ChatChunk, ChatResponse

__all__ = [
    "Advisor",
    "AdvisorLike",
    "AsyncAdvisor",
    "AsyncCallNext",
    "AsyncStreamNext",
    "CallNext",
    "StreamNext",
    "async_only",
    "is_async",
]

CallNext = Callable[[ChatClientRequest], ChatResponse]
"""The rest of the way to the model; an advisor may call it once, again with another request, or not at all."""
StreamNext = Callable[[ChatClientRequest], Iterator[ChatChunk]]
"""The same for a stream."""
AsyncCallNext = Callable[[ChatClientRequest], Awaitable[ChatResponse]]
"""The same for an async call."""
AsyncStreamNext = Callable[[ChatClientRequest], AsyncIterator[ChatChunk]]
"""The same for an async stream."""


class Advisor(Protocol):
    """Stand between a client and its model: change the request, the answer, or answer oneself.

    One method, ``advise``, is enough: a stream then comes in one piece a generation, and an async call runs it in a
    thread. Where that is not good enough, an advisor has further forms beside it: ``advise_stream(request, next)``, a
    generator of chunks; ``aadvise`` and ``aadvise_stream``, their async twins. A stream alone is joined where an answer
    is wanted whole. An attribute ``order``, 0 if absent,
    places it: the lowest order is the outermost, and of equals the one that was given first.

    >>> class Shout:
    ...     order = 10
    ...     def advise(self, request: ChatClientRequest, next: CallNext) -> ChatResponse:
    ...         louder = request.prompt.augment_user_message(lambda message: message.mutate(content=message.text.upper()))
    ...         return next(request.mutate(prompt=louder))
    >>> from promptkit import ChatClient
    >>> from promptkit.testing import EchoChatModel
    >>> ChatClient(EchoChatModel(), advisors=[Shout()]).prompt("hello").call().content()
    'HELLO'
    """

    def advise(self, request: ChatClientRequest, next: CallNext, /) -> ChatResponse:
        """Answer a request, as a rule by ``next(request)``."""


class AsyncAdvisor(Protocol):
    """Be an advisor for async calls alone; see `Advisor`."""

    async def aadvise(self, request: ChatClientRequest, next: AsyncCallNext, /) -> ChatResponse:
        """Answer a request, as a rule by ``await next(request)``."""


AdvisorLike = (
    Advisor
    | AsyncAdvisor
    | Callable[[ChatClientRequest, CallNext], ChatResponse]
    | Callable[[ChatClientRequest, AsyncCallNext], Awaitable[ChatResponse]]
)
"""An advisor, or a function that is its ``advise`` (or, async, its ``aadvise``)."""


def is_async(function: Any) -> bool:
    """Tell whether calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def async_only(what: object) -> TypeError:
    """Make the error of a sync call that meets something async."""
    return TypeError(f"{what!r:.200} is async only: use acall() or astream() of the client's request")
