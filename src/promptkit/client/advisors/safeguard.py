"""Answer oneself where a request holds words that must not reach the model."""

from __future__ import annotations

from collections.abc import Iterable

from promptkit._frozen import tuple_of
from promptkit.client.advisors._steps import SteppedAdvisor, Steps, passing
from promptkit.client.request import ChatClientRequest
from promptkit.errors import PromptError
from promptkit.messages import AssistantMessage
from promptkit.response import ChatResponse, Generation

__all__ = ["SafeguardAdvisor"]


class SafeguardAdvisor(SteppedAdvisor):
    """Answer with a fixed text where the prompt holds one of some words, upper and lower case alike.

    The model is not asked, and memory inside of it hears nothing. The answer's finish reason is ``"safeguard"``.

    Args:
        words: Words or phrases, looked for anywhere in the text of the prompt.
        answer: What to answer.
        order: Its place; the lowest is the outermost.

    Raises:
        PromptError: A word is blank or no text.

    >>> from promptkit import ChatClient
    >>> from promptkit.testing import EchoChatModel
    >>> client = ChatClient(EchoChatModel(), advisors=[SafeguardAdvisor(["password"])])
    >>> client.prompt("What is her PASSWORD?").call().content()
    'I cannot help with that.'
    """

    __slots__ = ("_answer", "_words")

    def __init__(self, words: Iterable[str], *, answer: str = "I cannot help with that.", order: int = 100) -> None:
        super().__init__(order)
        if isinstance(words, str):
            raise PromptError(f"words must be a list of texts, not one text; one word is [{words!r:.80}]")
        given = tuple_of(str, words, "words")
        if not all(word.strip() for word in given):
            raise PromptError("words must not be blank: a blank word would be found in every prompt")
        self._words = tuple([word.casefold() for word in given])
        self._answer = ChatResponse(Generation(AssistantMessage(answer), "safeguard"))

    def _steps(self, request: ChatClientRequest) -> Steps:
        text = request.prompt.text.casefold()
        if any(word in text for word in self._words):
            return self._answer
        return (yield from passing(request))
