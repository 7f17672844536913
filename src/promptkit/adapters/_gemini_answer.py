"""Read what generateContent gives back: whole answers, and the events of a stream."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from promptkit import _json
from promptkit._frozen import EMPTY, freeze, freeze_mapping, shown
from promptkit.adapters._gemini_body import own_around, read_part
from promptkit.adapters._gemini_tables import FORMAT, PASSING_ERRORS
from promptkit.adapters._reading import own_of
from promptkit.adapters.base import damaged, read_events, text_of
from promptkit.content import Reasoning, Text
from promptkit.errors import (
    AdapterError,
    ContextLengthError,
    ModelError,
    PromptError,
    ResponseFormatError,
    TransportError,
)
from promptkit.response import ChatChunk, ChatResponse, ToolCallChunk, Usage

__all__ = ["ChunkReader", "error_of", "to_chunks", "to_response"]


def to_response(payload: Mapping[str, Any]) -> ChatResponse:
    """Read a whole answer; texts that follow each other join, as they do in a stream.

    Args:
        payload: The JSON of the answer.

    Raises:
        ModelError: It is the record of an error, or says that the prompt was blocked.
        ResponseFormatError: It is damaged; the message says where.

    >>> answer = {"content": {"parts": [{"text": "Hi"}], "role": "model"}, "finishReason": "STOP"}
    >>> to_response({"candidates": [answer]}).text
    'Hi'
    """
    reader = ChunkReader(whole=True)
    return ChatResponse.from_chunks(read_events(reader, (payload,)))


def to_chunks(events: Iterable[Any]) -> Generator[ChatChunk, None, None]:
    """Read the events of a stream as they come; closing the result closes the events.

    Usage is a running total here, counter by counter: the last report of each counts, and is given at the end.

    Args:
        events: The JSON of each event.

    Raises:
        ModelError: The stream reported an error, is damaged or was cut off, or the prompt was blocked; ``partial``
            holds what had arrived.

    >>> candidate = {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    >>> ChatResponse.from_chunks(to_chunks([{"candidates": [candidate]}])).text
    'Hi'
    """
    return read_events(ChunkReader(), events)


class _Answer:
    """Hold what is known of one answer but stands complete only at its end."""

    __slots__ = ("called", "citations", "finish_reason", "grounding", "logprobs", "metadata", "open", "run", "spoken",
                 "thinking")  # fmt: skip

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.called = 0
        self.spoken = False
        self.open = False  # whether pieces of the last call are still to come
        self.thinking = False
        self.run = 0  # of thoughts that follow each other
        self.metadata: dict[str, Any] = {}
        self.citations: dict[str, dict[str, Any]] = {}
        self.logprobs: dict[str, Any] = {}
        self.grounding: dict[str, Any] = {}


class ChunkReader:
    """Turn the events of one stream into chunks, one at a time; an async stream uses it directly.

    Args:
        whole: The one event is a whole answer.

    >>> reader = ChunkReader()
    >>> [chunk.text for chunk in reader.read({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]})]
    ['Hi']
    """

    __slots__ = ("_answers", "_done", "_head", "_keys", "_metadata", "_repeated", "_usage")

    def __init__(self, *, whole: bool = False) -> None:
        self._answers: dict[int, _Answer] = {}
        self._done = whole
        self._head: tuple[Any, Any] = (None, None)
        self._metadata: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._keys: AbstractSet[str] = frozenset()
        self._repeated: list[tuple[str, Any]] = []

    def read(self, event: Any) -> list[ChatChunk]:
        """Give what is new in one event.

        Raises:
            ModelError: The event reports an error, or that the prompt was blocked.
            ResponseFormatError: It is damaged; the message says where.
        """
        if type(event) is dict and (text := self._only_text(event)) is not None:
            return [ChatChunk(text)]
        if event == "[DONE]":
            self._done = True
            return []
        if not isinstance(event, Mapping):
            damaged("the answer" if self._done else "the event", "a mapping", event)
        if event.get("error") is not None:
            raise error_of(event["error"])
        self._count(event.get("usageMetadata"))
        candidates = event.get("candidates")
        if candidates is not None and not isinstance(candidates, list | tuple):
            damaged("candidates", "a list", candidates)
        if not candidates:
            _check_blocked(event.get("promptFeedback"))
        chunks: list[ChatChunk] = []
        for place, candidate in enumerate(candidates or ()):
            self._candidate(candidate, place, chunks)
        common = self._common(event)
        self._keys = event.keys()
        self._repeated = [(key, value) for key, value in event.items() if key not in _CHANGING]
        if common:
            if not chunks:
                chunks.append(ChatChunk(choice=None))
            chunks[0] = chunks[0].mutate(**common)
        return chunks

    def _only_text(self, event: dict[str, Any]) -> str | None:
        """Give the text of an event that has nothing else new in it but usage, as nearly all have."""
        candidates = event.get("candidates")
        if type(candidates) is not list or len(candidates) != 1 or event.keys() != self._keys:
            return None
        for key, value in self._repeated:
            if event[key] != value:
                return None
        candidate, answer = candidates[0], self._answers.get(0)
        if type(candidate) is not dict or answer is None or not answer.spoken or answer.thinking:
            return None
        content = candidate.get("content")
        if type(content) is not dict or candidate.get("index") not in (0, None) or len(candidate) > 2:
            return None
        if not candidate.keys() <= _PLAIN_CANDIDATE or not content.keys() <= _SPOKEN:
            return None
        parts = content.get("parts")
        if type(parts) is not list or len(parts) != 1 or type(parts[0]) is not dict or len(parts[0]) != 1:
            return None
        text = parts[0].get("text")
        if type(text) is not str or not text:
            return None
        self._count(event.get("usageMetadata"))
        return text

    def _count(self, usage: Any) -> None:
        if usage is None:
            return
        if type(usage) is not dict and not isinstance(usage, Mapping):
            damaged("usageMetadata", "a mapping", usage)
        for key, value in usage.items():
            if type(value) is int and 0 <= value < _MANY and type(key) is str:
                self._usage[key] = value
            elif value is not None:
                self._usage |= freeze_mapping({key: value}, "usageMetadata")

    def _common(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Collect what is new of the call as a whole."""
        common: dict[str, Any] = {}
        head = (event.get("responseId"), event.get("modelVersion"))
        if head != self._head:
            self._head = head
            common["id"] = text_of(event, "responseId")
            common["model"] = text_of(event, "modelVersion")
        metadata = {key: value for key, value in event.items() if key not in _EVENT_KEYS and value is not None}
        if metadata != self._metadata:
            self._metadata = metadata
            common["metadata"] = metadata
        return common

    def _candidate(self, candidate: Any, place: int, chunks: list[ChatChunk]) -> None:
        path = f"candidates[{place}]"
        if not isinstance(candidate, Mapping):
            damaged(path, "a mapping", candidate)
        index = candidate.get("index")
        index = place if index is None else index
        if type(index) is not int:
            damaged(f"{path}.index", "an int", index)
        answer = self._answers.get(index)
        if answer is None:
            answer = self._answers[index] = _Answer()
        content = candidate.get("content")
        content = {} if content is None else content
        if not isinstance(content, Mapping):
            damaged(f"{path}.content", "a mapping", content)
        parts = content.get("parts")
        if parts is not None and not isinstance(parts, list | tuple):
            damaged(f"{path}.content.parts", "a list", parts)
        for at, part in enumerate(parts or ()):
            chunk = _read_part(part, answer, index, f"{path}.content.parts[{at}]")
            if chunk is not None:
                chunks.append(chunk)
        rest: dict[str, Any] = {}
        if finish_reason := text_of(candidate, "finishReason", path):
            answer.finish_reason = rest["finish_reason"] = finish_reason
        if own := own_of(FORMAT, content, _SPOKEN):
            rest["message_metadata"] = own
        metadata = _metadata(candidate, answer, path)
        if metadata != answer.metadata:
            answer.metadata = rest["generation_metadata"] = metadata
        if rest:
            chunks.append(ChatChunk(choice=index, **rest))

    def rest(self) -> list[ChatChunk]:
        """Give what is known only at the end: usage, citations, log probabilities, that nothing was said."""
        chunks = [ChatChunk(choice=None, usage=_read_usage(self._usage))] if self._usage else []
        for index, answer in sorted(self._answers.items()):
            metadata: dict[str, Any] = {}
            if answer.citations:
                lists = {key: list(found.values()) for key, found in answer.citations.items()}
                metadata["citationMetadata"] = lists
            if answer.logprobs:
                metadata["logprobsResult"] = answer.logprobs
            if answer.grounding:
                metadata["groundingMetadata"] = answer.grounding
            content = None if answer.spoken or answer.called else ""
            if metadata or content is not None:
                chunks.append(ChatChunk(content, choice=index, generation_metadata=metadata or EMPTY))
        return chunks

    def check(self) -> None:
        """Raise unless the stream ended as its format says.

        Raises:
            TransportError: It is cut off.
            ResponseFormatError: It holds no answer.
        """
        open_answers = [index for index, answer in self._answers.items() if answer.finish_reason is None]
        if not self._done and (open_answers or not self._answers):
            raise TransportError("the stream ended before the answer did; .partial holds what had arrived")
        if not self._answers:
            raise ResponseFormatError("the answer is damaged: candidates must be a list with an answer in it")


_MANY = 1 << 60  # no count is higher
_CHANGING = frozenset(("candidates", "usageMetadata"))
_EVENT_KEYS = frozenset(("candidates", "usageMetadata", "responseId", "modelVersion", "error"))
_PLAIN_CANDIDATE = frozenset(("content", "index"))
_SPOKEN = frozenset(("role", "parts"))
_CANDIDATE_KEYS = frozenset(
    ("content", "index", "finishReason", "citationMetadata", "logprobsResult", "groundingMetadata")
)
_CALL_KEYS = frozenset(("id", "name", "args"))


def _check_blocked(feedback: Any) -> None:
    """Raise if the prompt was blocked: its answer would be nothing at all."""
    reason = feedback.get("blockReason") if isinstance(feedback, Mapping) else None
    if reason is not None:
        text = feedback.get("blockReasonMessage")
        more = f", {text[:300]}" if isinstance(text, str) and text else ""
        raise ModelError(f"the model refused: the prompt was blocked for {shown(reason)}{more}")


def _read_part(part: Any, answer: _Answer, choice: int, path: str) -> ChatChunk | None:
    """Read one part of an answer; thoughts that follow each other join, as texts do, unless one is signed."""
    if not isinstance(part, Mapping):
        damaged(path, "a mapping", part)
    if part.get("functionCall") is not None:
        return _read_call(part, answer, choice, f"{path}.functionCall")
    try:
        read = read_part(part)
    except (AdapterError, PromptError) as error:
        raise ResponseFormatError(f"the answer is damaged: {path}: {error}") from None
    plain = not read.metadata
    if plain and isinstance(read, Text | Reasoning) and not read.text:
        return None
    answer.spoken = True
    if plain and isinstance(read, Reasoning):
        answer.run += not answer.thinking
        answer.thinking = True
        return ChatChunk([read], block=answer.run, choice=choice)
    answer.thinking = False
    return ChatChunk(read.text if plain and isinstance(read, Text) else [read], choice=choice)


def _read_call(part: Mapping[str, Any], answer: _Answer, choice: int, path: str) -> ChatChunk | None:
    """Read a call, which comes whole; one in pieces, which a server sends only if asked to, is invalid."""
    call = part["functionCall"]
    if not isinstance(call, Mapping):
        damaged(path, "a mapping", call)
    name, given = text_of(call, "name", path), call.get("args")
    continued = answer.open and name is None
    cut = bool(call.get("partialArgs") or call.get("willContinue"))
    answer.open = bool(call.get("willContinue"))
    if continued:
        return None
    if given is not None and not isinstance(given, Mapping):
        damaged(f"{path}.args", "a mapping", given)
    try:
        arguments = _json.dumps(given or {})
    except (TypeError, ValueError) as error:
        raise ResponseFormatError(f"the answer is damaged: {path}.args is no JSON: {error}") from None
    piece = ToolCallChunk(
        answer.called,
        text_of(call, "id", path),
        name=name,
        arguments=arguments,
        error="its arguments came in pieces, which are not read" if cut else None,
        metadata=own_around(part, "functionCall", _CALL_KEYS),
    )
    answer.called += 1
    return ChatChunk(tool_calls=[piece], choice=choice)


def _metadata(candidate: Mapping[str, Any], answer: _Answer, path: str) -> dict[str, Any]:
    """Collect what else is said of an answer; what comes in pieces waits for the end.

    Citations add up, each once; log probabilities add up; of the sources each field's last report counts.
    """
    for key in ("citationMetadata", "logprobsResult", "groundingMetadata"):
        found = candidate.get(key)
        if found is None:
            continue
        if not isinstance(found, Mapping):
            damaged(f"{path}.{key}", "a mapping", found)
        for name, value in freeze(found, f"{path}.{key}", 3).items():  # now, as `rest` must not fail
            if value is None:
                continue
            if key == "citationMetadata" and isinstance(value, list | tuple):
                answer.citations.setdefault(name, {}).update((repr(item), item) for item in value)
            elif key == "logprobsResult" and isinstance(value, list | tuple):
                answer.logprobs.setdefault(name, []).extend(value)
            else:
                (answer.grounding if key == "groundingMetadata" else answer.logprobs)[name] = value
    return {key: value for key, value in candidate.items() if key not in _CANDIDATE_KEYS and value is not None}


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    """Read a report of usage, whose counters of the prompt and of the answer leave out tools and thoughts."""
    counts = {key: _number(usage, f"{key}TokenCount") for key in _COUNTERS}
    return Usage(
        (counts["prompt"] or 0) + (counts["toolUsePrompt"] or 0),
        (counts["candidates"] or 0) + (counts["thoughts"] or 0),
        total_tokens=counts["total"],
        cache_read_tokens=counts["cachedContent"],
        reasoning_tokens=counts["thoughts"],
        native=usage,
    )


_COUNTERS = ("prompt", "toolUsePrompt", "candidates", "thoughts", "total", "cachedContent")


def _number(usage: Mapping[str, Any], key: str) -> int | None:
    value = usage.get(key)
    return value if type(value) is int and value >= 0 else None


def error_of(error: object) -> ModelError:
    """Make our error of the ``error`` object in an answer or an event.

    >>> error_of({"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}).retryable
    True
    """
    record: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    text = str(record.get("message") or record.get("status") or "no reason given")[:300]
    message = f"the model refused: {text}"
    if "token count" in text and "exceeds the maximum" in text:
        words = text.replace("(", " ").replace(")", " ").rstrip(".").split()
        numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
        needed, available = numbers if len(numbers) == 2 else (None, None)
        return ContextLengthError(message, needed=needed, available=available)
    names = [name for name in (record.get("status"), record.get("code")) if isinstance(name, str | int)]
    return ModelError(message, retryable=not PASSING_ERRORS.isdisjoint(names))
