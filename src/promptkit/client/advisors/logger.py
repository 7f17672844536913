"""Log what a model is asked and what it answers, without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import perf_counter
from typing import Any

from promptkit.client.advisors._steps import Ask, SteppedAdvisor, Steps
from promptkit.client.request import ChatClientRequest
from promptkit.errors import PromptError
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse

__all__ = ["LoggingAdvisor", "redact_secrets"]

_SECRETS = (
    r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|hf)[-_][\w-]{16,}",  # keys that say what they are
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bAIza[\w-]{35}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+",  # signed tokens
    r"(?i:(?<=bearer )[\w.~+/=-]{8,})",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)


def redact_secrets(text: str) -> str:
    """Put ``[redacted]`` in the place of keys, tokens and private keys that show their kind.

    >>> redact_secrets("My key is sk-0123456789abcdefghij.")
    'My key is [redacted].'
    """
    return re.sub("|".join(_SECRETS), "[redacted]", text)


class LoggingAdvisor(SteppedAdvisor):
    """Write a record before and after each call to the log ``promptkit.client``.

    At INFO: how many messages go, then the finish reason, the tokens and the seconds; at DEBUG besides the texts,
    redacted. A call that fails is a WARNING with the error's class, and goes on failing.

    Args:
        redact: Takes what nobody may read out of a text, before it is logged.
        order: Its place; the lowest is the outermost. By default it is the innermost, and sees what the model sees.

    >>> from promptkit import ChatClient
    >>> from promptkit.testing import EchoChatModel
    >>> ChatClient(EchoChatModel(), advisors=[LoggingAdvisor()]).prompt("Hello").call().content()
    'Hello'
    """

    __slots__ = ("_redact",)

    def __init__(self, *, redact: Callable[[str], str] = redact_secrets, order: int = 600) -> None:
        super().__init__(order)
        if not callable(redact):
            raise PromptError(f"redact must be a function from text to text, not {redact!r:.80}")
        self._redact = redact

    def _steps(self, request: ChatClientRequest) -> Steps:
        import logging

        log = logging.getLogger("promptkit.client")
        log.info("asking with %d messages, %d tools", len(request.prompt), len(request.prompt.options.tools or ()))
        self._show(log, "asked", request.prompt)
        begin = perf_counter()
        try:
            response: ChatResponse = yield Ask(request)
        except BaseException as error:
            level = logging.WARNING if isinstance(error, Exception) else logging.INFO  # else somebody left
            log.log(level, "the call ended with %s after %.2f s", type(error).__name__, perf_counter() - begin)
            raise
        reason = response.result.finish_reason if response.result else None
        usage = response.usage
        log.info(
            "answered (%s) with %d + %d tokens after %.2f s",
            reason,
            usage.prompt_tokens,
            usage.completion_tokens,
            perf_counter() - begin,
        )
        self._show(log, "answered", response)
        return response

    def _show(self, log: Any, what: str, said: Prompt | ChatResponse) -> None:
        if log.isEnabledFor(10):
            log.debug("%s: %s", what, self._redact(said.text))
