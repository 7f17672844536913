"""Stand in for a chat model in tests: one that says what a script says, one that says what it hears."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from threading import Lock
from typing import Any

from promptkit.content import content_text
from promptkit.errors import ModelError, PromptError
from promptkit.messages import AssistantMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, Usage
from promptkit.tokens import ApproximateTokenCounter

__all__ = ["Answer", "EchoChatModel", "ScriptedChatModel"]

Answer = (
    str
    | AssistantMessage
    | ChatResponse
    | Exception
    | Sequence[ChatChunk | str | Exception]
    | Callable[[Prompt], "str | AssistantMessage | ChatResponse"]
)
"""One answer of a script: text, a message, a whole response; an error to raise; the pieces of a stream, text standing
for a chunk of it and an error for its break; or a function of the prompt."""


class ScriptedChatModel:
    """Answer as a script says, one answer a call, and remember the prompts.

    It has all four forms of a call, and may be shared between threads: each answer is given once.

    Args:
        answers: The answers, in order.

    Raises:
        PromptError: An answer is none.
        ModelError: From a call, when the script has no answer left.

    >>> chat_model = ScriptedChatModel(["Ahoy!", ModelError("busy", retryable=True)])
    >>> chat_model.call(Prompt("Hello")).text
    'Ahoy!'
    >>> chat_model.prompts
    (Prompt([UserMessage('Hello')]),)
    """

    __slots__ = ("_answers", "_lock", "_prompts")

    def __init__(self, answers: Iterable[Answer]) -> None:
        if isinstance(answers, str | AssistantMessage | ChatResponse):
            raise PromptError(f"a script is a list of answers: write ScriptedChatModel([{answers!r:.40}])")
        self._answers = [_checked(answer, index) for index, answer in enumerate(answers)]
        self._prompts: list[Prompt] = []
        self._lock = Lock()

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts that it got, in order."""
        with self._lock:
            return tuple(self._prompts)

    @property
    def left(self) -> int:
        """How many answers nobody has asked for yet."""
        with self._lock:
            return len(self._answers) - len(self._prompts)

    def _next(self, prompt: Prompt) -> Any:
        with self._lock:
            at = len(self._prompts)
            if at >= len(self._answers):
                raise ModelError(f"the script has {at} answers, and this call asks for one more")
            self._prompts.append(prompt)
        answer = self._answers[at]
        if not callable(answer):
            return answer
        made = _checked(answer(prompt), at)
        if callable(made):
            raise PromptError(f"the function of answer {at} gave a function, not an answer: {made!r:.80}")
        return made

    def call(self, prompt: Prompt) -> ChatResponse:
        """Give the next answer, whole."""
        answer = self._next(prompt)
        if isinstance(answer, Exception):
            raise answer
        return ChatResponse.from_chunks(_chunks(answer)) if isinstance(answer, tuple) else _response(answer)

    def stream(self, prompt: Prompt) -> Generator[ChatChunk, None, None]:
        """Give the next answer in chunks: those of the script, else one a word."""
        answer = self._next(prompt)
        if isinstance(answer, Exception):
            raise answer
        yield from _chunks(answer)

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Do `call`; nothing in it waits."""
        return self.call(prompt)

    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        """Do `stream`; nothing in it waits."""
        for chunk in self.stream(prompt):
            yield chunk


class EchoChatModel:
    """Answer with the text of the last user message, and count tokens approximately.

    >>> EchoChatModel().call(Prompt("Is there an echo?")).text
    'Is there an echo?'
    """

    __slots__ = ()

    def call(self, prompt: Prompt) -> ChatResponse:
        """Give the last user's words back."""
        heard = prompt.user_message
        text = "" if heard is None or heard.content is None else content_text(heard.content)
        output = AssistantMessage(text)
        usage = Usage(self.count_tokens(prompt), ApproximateTokenCounter().count(output))
        return ChatResponse(Generation(output, "stop"), model="echo", usage=usage)

    def stream(self, prompt: Prompt) -> Generator[ChatChunk, None, None]:
        """Give the last user's words back, one by one."""
        yield from _chunks(self.call(prompt))

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Do `call`; nothing in it waits."""
        return self.call(prompt)

    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        """Do `stream`; nothing in it waits."""
        for chunk in self.stream(prompt):
            yield chunk

    def count_tokens(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt, approximately."""
        counter = ApproximateTokenCounter()
        return counter.overhead + sum(counter.count(message) for message in prompt)


def _checked(answer: Any, index: int) -> Any:
    if isinstance(answer, str | AssistantMessage | ChatResponse | Exception) or callable(answer):
        return answer
    if isinstance(answer, Sequence) and all(isinstance(piece, ChatChunk | str | Exception) for piece in answer):
        return tuple(answer)
    raise PromptError(
        f"answer {index} is no text, message, response, list of chunks, error or function: {answer!r:.80}"
    )


def _response(answer: str | AssistantMessage | ChatResponse) -> ChatResponse:
    if isinstance(answer, ChatResponse):
        return answer
    output = AssistantMessage(answer) if isinstance(answer, str) else answer
    return ChatResponse(Generation(output, "tool_calls" if output.tool_calls else "stop"))


def _chunks(answer: Any) -> Generator[ChatChunk, None, None]:
    """Give an answer in chunks: text word by word, then all the rest in one."""
    if isinstance(answer, tuple):
        for piece in answer:
            if isinstance(piece, Exception):
                raise piece
            yield ChatChunk(piece) if isinstance(piece, str) else piece
        return
    response = _response(answer)
    for choice, chunk in enumerate(response.to_chunks()):
        if not isinstance(chunk.content, str):
            yield chunk
            continue
        words = re.findall(r"^\s+|\S+\s*", chunk.content) or [""]
        for word in words[:-1]:
            yield ChatChunk(word, choice=choice)
        yield chunk.mutate(content=words[-1])
