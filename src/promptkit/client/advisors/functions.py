"""Make advisors of functions before and after a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from promptkit.client.advisors._steps import Ask, Do, SteppedAdvisor, Steps
from promptkit.client.advisors.base import async_only, is_async
from promptkit.client.request import ChatClientRequest
from promptkit.errors import PromptError
from promptkit.response import ChatResponse

__all__ = ["After", "Before", "FunctionAdvisor", "advisor"]

Before = Callable[[ChatClientRequest], ChatClientRequest] | Callable[[ChatClientRequest], Awaitable[ChatClientRequest]]
After = (
    Callable[[ChatClientRequest, ChatResponse], ChatResponse]
    | Callable[[ChatClientRequest, ChatResponse], Awaitable[ChatResponse]]
)


class FunctionAdvisor(SteppedAdvisor):
    """Be an advisor of a function before the call and one after it; `advisor` makes it."""

    __slots__ = ("_after", "_before")

    def __init__(self, before: Before | None, after: After | None, *, order: int) -> None:
        super().__init__(order)
        self._before = before
        self._after = after

    def __repr__(self) -> str:
        names = [
            f"{name}={function!r}" for name, function in (("before", self._before), ("after", self._after)) if function
        ]
        return f"advisor({', '.join(names)}, order={self.order})"

    def _steps(self, request: ChatClientRequest) -> Steps:
        if self._before is not None:
            request = yield _doing(self._before, request)
            if not isinstance(request, ChatClientRequest):
                raise PromptError(f"{self!r}: before gave {request!r:.80}, not a ChatClientRequest")
        response: ChatResponse = yield Ask(request)
        if self._after is not None:
            response = yield _doing(self._after, request, response)
            if not isinstance(response, ChatResponse):
                raise PromptError(f"{self!r}: after gave {response!r:.80}, not a ChatResponse")
        return response


def _doing(function: Callable[..., Any], *arguments: Any) -> Do:
    if is_async(function):
        return Do(lambda: _refuse(function), lambda: function(*arguments))

    async def later() -> Any:
        return function(*arguments)

    return Do(lambda: function(*arguments), later)


def _refuse(function: object) -> None:
    raise async_only(function)


def advisor(*, before: Before | None = None, after: After | None = None, order: int = 0) -> SteppedAdvisor:
    """Make an advisor of functions, good for calls, streams and their async twins alike.

    In a stream the chunks pass as they come; when ``after`` then gives another answer than these make, it follows as
    an answer that starts over. An async function makes the advisor one for async calls alone.

    Args:
        before: Gives the request that goes on.
        after: Gives the answer, from the request that went on and its answer.
        order: Its place; the lowest is the outermost.

    Raises:
        PromptError: Neither is a function.

    >>> from promptkit import ChatClient, ChatOptions
    >>> from promptkit.testing import EchoChatModel
    >>> cold = advisor(before=lambda request: request.mutate(
    ...     prompt=request.prompt.mutate(options=request.prompt.options.merge(ChatOptions(temperature=0)))))
    >>> ChatClient(EchoChatModel(), advisors=[cold]).prompt("hello").call().content()
    'hello'
    """
    given = [function for function in (before, after) if function is not None]
    if not given or not all(map(callable, given)):
        raise PromptError("an advisor is made of a function before the call, one after it, or both")
    return FunctionAdvisor(before, after, order=order)
