"""Stand in for a chat model in tests: by a script, by an echo, by recordings of what a real model said."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from promptkit import _json, contracts
from promptkit._frozen import shown
from promptkit.content import content_text
from promptkit.errors import ModelError, PromptError, SerializationError
from promptkit.messages import AssistantMessage, as_builtin
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, Usage
from promptkit.serialization import from_dict, to_dict
from promptkit.tokens import ApproximateTokenCounter

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Answer", "EchoChatModel", "RecordingChatModel", "ReplayChatModel", "ScriptedChatModel"]

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


def _canonical(prompt: Prompt) -> dict[str, Any]:
    """Give what a request asks: the prompt without the ids of its messages, which no model sees."""
    return to_dict(prompt.mutate(messages=[as_builtin(message).mutate(id=None) for message in prompt]))


class RecordingChatModel:
    """Pass calls on to a chat model, and write each request with its answer as a line of JSON.

    `ReplayChatModel` answers from the file without the model. A call that fails, or a stream that is left before its
    end, is not written. Keys and headers are never in the file, the prompt's text and media are.

    Args:
        chat_model: Any chat model; it stays yours to close.
        path: The file; lines are added at its end.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     said = RecordingChatModel(ScriptedChatModel(["Ahoy!"]), path).call(Prompt("Hello")).text
    ...     said, ReplayChatModel(path).call(Prompt("Hello")).text
    ('Ahoy!', 'Ahoy!')
    """

    __slots__ = ("_chat_model", "_lock", "_path")

    def __init__(self, chat_model: contracts.AnyChatModel, path: str | PathLike[str]) -> None:
        self._chat_model = chat_model
        self._path = Path(path)
        self._lock = Lock()

    def _write(self, prompt: Prompt, answer: ChatResponse | list[ChatChunk]) -> None:
        chunks = isinstance(answer, list)
        written = [to_dict(chunk) for chunk in answer] if isinstance(answer, list) else to_dict(answer)
        line = {"request": _canonical(prompt), "chunks" if chunks else "response": written}
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(_json.dumps(line) + "\n")

    def call(self, prompt: Prompt) -> ChatResponse:
        """Call the model, and write its answer."""
        response = contracts.call(self._chat_model, prompt)
        self._write(prompt, response)
        return response

    def stream(self, prompt: Prompt) -> Generator[ChatChunk, None, None]:
        """Stream from the model, and write the chunks when they have all come."""
        chunks = []
        with closing(contracts.stream(self._chat_model, prompt)) as arriving:
            for chunk in arriving:
                chunks.append(chunk)
                yield chunk
        self._write(prompt, chunks)

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Do `call` without blocking on the model."""
        response = await contracts.acall(self._chat_model, prompt)
        self._write(prompt, response)
        return response

    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        """Do `stream` without blocking on the model."""
        chunks = []
        async with aclosing(contracts.astream(self._chat_model, prompt)) as arriving:
            async for chunk in arriving:
                chunks.append(chunk)
                yield chunk
        self._write(prompt, chunks)


class ReplayChatModel:
    """Answer from what a `RecordingChatModel` wrote, without model, network or key.

    A request is found by what it asks; ids of messages and the form of the call do not matter. Of several recordings
    of one request each is given once, in order, then the last one again. A whole answer streams in one chunk a
    generation, a streamed one in its own chunks.

    Args:
        path: The file; it is read when the model is made.

    Raises:
        SerializationError: A line cannot be read, or a newer version of promptkit wrote it.
        ModelError: From a call, when there is no recording; it names the nearest one and the first difference.
        OSError: The file cannot be read.
    """

    __slots__ = ("_lock", "_path", "_recordings")

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = Lock()
        self._recordings: dict[str, list[_Recording]] = {}
        for number, line in enumerate(self._path.read_bytes().split(b"\n"), 1):
            if line.strip():
                recording = _read_recording(line, f"line {number}")
                self._recordings.setdefault(_json.dumps(recording.request), []).append(recording)

    def _next(self, prompt: Prompt) -> ChatResponse | tuple[ChatChunk, ...]:
        request = _canonical(prompt)
        with self._lock:
            found = self._recordings.get(_json.dumps(request))
            if found is not None:
                return (found.pop(0) if len(found) > 1 else found[0]).answer
        raise ModelError(self._miss(request))

    def _miss(self, request: dict[str, Any]) -> str:
        known = [recordings[0] for recordings in self._recordings.values()]
        if not known:
            return f"{self._path.name} holds no recordings"
        wanted = dict(_leaves(request))
        nearest = min(known, key=lambda recording: len(set(_leaves(recording.request)) ^ wanted.items()))
        recorded = dict(_leaves(nearest.request))
        place = next(name for name in (*wanted, *recorded) if wanted.get(name) != recorded.get(name))
        return (
            f"{self._path.name} holds no recording of this request; the nearest, {nearest.place}, differs at {place}: "
            f"recorded {recorded.get(place, 'nothing'):.80}, asked {wanted.get(place, 'nothing'):.80}"
        )

    def call(self, prompt: Prompt) -> ChatResponse:
        """Give the recorded answer, whole."""
        answer = self._next(prompt)
        return answer if isinstance(answer, ChatResponse) else ChatResponse.from_chunks(answer)

    def stream(self, prompt: Prompt) -> Generator[ChatChunk, None, None]:
        """Give the recorded answer in chunks."""
        answer = self._next(prompt)
        yield from answer.to_chunks() if isinstance(answer, ChatResponse) else answer

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Do `call`; nothing in it waits."""
        return self.call(prompt)

    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        """Do `stream`; nothing in it waits."""
        for chunk in self.stream(prompt):
            yield chunk


class _Recording(NamedTuple):
    place: str
    request: dict[str, Any]
    answer: ChatResponse | tuple[ChatChunk, ...]


def _read_recording(line: bytes, place: str) -> _Recording:
    try:
        data = _json.loads(line)
        if not isinstance(data, dict):
            raise SerializationError(f"a recording is an object, not {shown(data)}")
        if "chunks" in data:
            answer: Any = tuple(map(from_dict, data["chunks"]))
            kinds: type = ChatChunk
        else:
            answer = from_dict(data["response"])
            kinds = ChatResponse
        request = to_dict(from_dict(data["request"]))
        if not all(isinstance(part, kinds) for part in (answer if isinstance(answer, tuple) else (answer,))):
            raise SerializationError("its answer is none")
    except SerializationError as error:
        raise error.below(place) from None
    except (ValueError, KeyError, TypeError) as error:
        raise SerializationError(f"this is no recording: {type(error).__name__}: {error}", path=place) from error
    return _Recording(place, request, answer)


def _leaves(data: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Give each plain value in JSON data with its place, both as text."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, f"{place}.{key}" if place else key)
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _leaves(value, f"{place}[{index}]")
    else:
        yield place, _json.dumps(data)
