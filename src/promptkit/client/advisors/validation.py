"""Ask again where an answer is no value of the type that was asked for."""

from __future__ import annotations

from typing import Any

from promptkit._frozen import shown
from promptkit.client.advisors._steps import Ask, SteppedAdvisor, Steps, passing
from promptkit.client.request import ChatClientRequest, calls_tools
from promptkit.converters import StructuredOutputConverter
from promptkit.errors import OutputConversionError, PromptError
from promptkit.messages import UserMessage
from promptkit.response import ChatResponse, Usage

__all__ = ["OutputValidationAdvisor"]


class OutputValidationAdvisor(SteppedAdvisor):
    """Read the answer as ``entity`` will, and where it cannot be read, tell the model why and ask again.

    Works where a request asks for a value (``entity``, ``response_entity``, ``partials``); an answer that calls tools
    passes. The usage is that of all attempts. When the last one fails too, its answer passes, and reading it raises
    `OutputConversionError`. In a stream an answer is held back until it is read.

    Args:
        attempts: How often the model is asked, at most.
        order: Its place; the lowest is the outermost. Memory stands outside of it by default, and keeps no attempt
            but the last.

    Raises:
        PromptError: ``attempts`` is below 1.

    >>> from promptkit import ChatClient
    >>> from promptkit.testing import ScriptedChatModel
    >>> client = ChatClient(ScriptedChatModel(["Forty-two.", "42"]), advisors=[OutputValidationAdvisor()])
    >>> client.prompt("6 times 7?").call().entity(int)
    42
    """

    __slots__ = ("_attempts",)

    def __init__(self, attempts: int = 3, *, order: int = 400) -> None:
        super().__init__(order)
        self._attempts = checked_count(attempts, "attempts")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._attempts}, order={self.order})"

    def _steps(self, request: ChatClientRequest) -> Steps:
        output = request.output
        if output is None or request.answer is not None:
            return (yield from passing(request))
        usage = Usage()
        left = self._attempts
        while True:
            response: ChatResponse = yield Ask(request, hold=True)
            usage += response.usage
            left -= 1
            problem = _problem(output, response) if left else None
            if problem is None:
                return response if usage == response.usage else response.mutate(usage=usage)
            if response.text:  # there is nothing to say about an empty answer, and providers refuse one
                correction = UserMessage(f"Your answer cannot be used: {problem}. Answer again, as you were asked to.")
                request = request.followed_by(response.results[0].output, correction)


def _problem(output: StructuredOutputConverter[Any], response: ChatResponse) -> str | None:
    if not response.results or any(calls_tools(result.output) for result in response.results):
        return None
    try:
        output.convert(response.text)
    except OutputConversionError as error:
        return str(error)
    return None


def checked_count(value: int, name: str) -> int:
    """Refuse a number that counts nothing."""
    if type(value) is not int or value < 1:
        raise PromptError(f"{name} must be a positive int, not {shown(value)}")
    return value
