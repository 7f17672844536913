"""Ask again where a call failed in a way that may pass."""

from __future__ import annotations

import random
from typing import Any

from promptkit._frozen import shown
from promptkit.client.advisors._steps import Ask, Do, SteppedAdvisor, Steps, passing
from promptkit.client.advisors.validation import checked_count
from promptkit.client.request import ChatClientRequest, calls_tools
from promptkit.errors import ModelError, PromptError, RateLimitError
from promptkit.response import ChatResponse

__all__ = ["RetryAdvisor"]


class RetryAdvisor(SteppedAdvisor):
    """Ask the model again after a `ModelError` that is ``retryable``.

    Before it asks again it waits: what a `RateLimitError` says, else a time that doubles with each failure, by chance
    up to a quarter less, so that clients do not come back all at once. A stream of which something has arrived is not
    begun anew. The vendors' SDKs retry on their own; this is for models that do not, and for longer waits.

    Args:
        attempts: How often the model is asked, at most.
        wait: Seconds before the second attempt.
        max_wait: Seconds of any wait, at most; where a server wants a longer one, its error is raised at once.
        order: Its place; the lowest is the outermost.

    Raises:
        PromptError: A number is wrong.

    >>> from promptkit import ChatClient
    >>> from promptkit.errors import TransportError
    >>> from promptkit.testing import ScriptedChatModel
    >>> client = ChatClient(ScriptedChatModel([TransportError("reset"), "Here."]), advisors=[RetryAdvisor(wait=0)])
    >>> client.prompt("Are you there?").call().content()
    'Here.'
    """

    __slots__ = ("_attempts", "_max_wait", "_wait")

    def __init__(self, attempts: int = 3, *, wait: float = 0.5, max_wait: float = 60.0, order: int = 500) -> None:
        super().__init__(order)
        self._attempts = checked_count(attempts, "attempts")
        for name, seconds in (("wait", wait), ("max_wait", max_wait)):
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
                raise PromptError(f"{name} must be a number of seconds, 0 or more, not {shown(seconds)}")
        self._wait = wait
        self._max_wait = max_wait

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._attempts}, order={self.order})"

    def _steps(self, request: ChatClientRequest) -> Steps:
        for failures in range(1, self._attempts):
            ask = Ask(request)
            try:
                response: ChatResponse = yield ask
            except ModelError as error:
                seconds = self._seconds(error, failures)
                if not error.retryable or seconds > self._max_wait or _has_arrived(ask):
                    raise
            else:
                return response
            yield _waiting(seconds)
        return (yield from passing(request))

    def _seconds(self, error: ModelError, failures: int) -> float:
        if isinstance(error, RateLimitError) and error.retry_after is not None:
            return error.retry_after
        seconds: float = min(self._max_wait, self._wait * 2 ** (failures - 1)) * random.uniform(0.75, 1)  # noqa: S311
        return seconds


def _has_arrived(ask: Ask) -> bool:
    results = ask.partial.results if ask.partial else ()
    return any(result.output.content or calls_tools(result.output) for result in results)


def _waiting(seconds: float) -> Do:
    def run() -> None:
        import time

        time.sleep(seconds)

    def arun() -> Any:
        import asyncio

        return asyncio.sleep(seconds)

    return Do(run, arun)
