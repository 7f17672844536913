"""Read what the Messages API gives back: whole answers, and the events of a stream."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any

from promptkit import _json
from promptkit.adapters._anthropic_body import read_block
from promptkit.adapters._anthropic_tables import FORMAT, INVALID
from promptkit.adapters._reading import MAPPINGS, own_of
from promptkit.adapters.base import damaged, read_events, text_of
from promptkit.content import Part, Reasoning, Text
from promptkit.errors import AdapterError, ContextLengthError, ModelError, ResponseFormatError, TransportError
from promptkit.response import ChatChunk, ChatResponse, ToolCallChunk, Usage

__all__ = ["ChunkReader", "error_of", "to_chunks", "to_response"]


def to_response(payload: Mapping[str, Any]) -> ChatResponse:
    """Read a whole answer.

    Args:
        payload: The JSON of the answer.

    Raises:
        ModelError: It is the record of an error.
        ResponseFormatError: It is damaged; the message says where.

    >>> to_response({"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}).text
    'Hi'
    """
    if not isinstance(payload, Mapping):
        damaged("the answer", "a mapping", payload)
    if payload.get("error") is not None:
        raise error_of(payload["error"])
    if not isinstance(payload.get("content"), list | tuple):
        damaged("content", "a list of blocks", payload.get("content"))
    reader = ChunkReader(whole=True)
    return ChatResponse.from_chunks(read_events(reader, ({"type": "message_start", "message": payload},)))


def to_chunks(events: Iterable[Any]) -> Generator[ChatChunk, None, None]:
    """Read the events of a stream as they come; closing the result closes the events.

    Usage is a running total here, counter by counter: the last report of each counts.

    Args:
        events: The JSON of each event.

    Raises:
        ModelError: The stream reported an error, is damaged or was cut off; ``partial`` holds what had arrived.

    >>> delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    >>> ChatResponse.from_chunks(to_chunks([delta, {"type": "message_stop"}])).text
    'Hi'
    """
    return read_events(ChunkReader(), events)


class _Block:
    """Hold what is known of one block but stands complete only at its end."""

    __slots__ = ("body", "citations", "kind", "number", "pieces", "texts")

    def __init__(self, body: dict[str, Any], number: int) -> None:
        self.body = body
        self.kind = body.get("type")
        self.number = number
        self.citations: list[Any] = []
        self.pieces: list[str] = []  # of the JSON of an input
        self.texts: dict[str, list[str]] = {}  # of a field that comes in pieces


class ChunkReader:
    """Turn the events of one stream into chunks, one at a time; an async stream uses it directly.

    Args:
        whole: The one event carries a whole answer.

    >>> reader = ChunkReader()
    >>> delta = {"type": "text_delta", "text": "Hi"}
    >>> [chunk.text for chunk in reader.read({"type": "content_block_delta", "index": 0, "delta": delta})]
    ['Hi']
    """

    __slots__ = ("_begun", "_blocks", "_called", "_done", "_finish_reason", "_last", "_number", "_spoken", "_usage")

    def __init__(self, *, whole: bool = False) -> None:
        self._done = whole
        self._begun = self._called = self._spoken = False
        self._finish_reason: str | None = None
        self._blocks: dict[int, _Block] = {}
        self._last = -1
        self._number = 0
        self._usage: dict[str, Any] = {}

    def read(self, event: Any) -> list[ChatChunk]:
        """Give what is new in one event; an event of a type that nobody knows says nothing.

        Raises:
            ModelError: The event reports an error.
            ResponseFormatError: It is damaged; the message says where.
        """
        if type(event) is dict and event.get("type") == "content_block_delta" and not self._done:
            delta, block = event.get("delta"), self._blocks.get(event.get("index", self._last))
            if block is not None and block.kind == "text" and type(delta) is dict and delta.get("type") == "text_delta":
                text = delta.get("text")
                if type(text) is str and text and event.get("error") is None:
                    self._spoken = True
                    return [ChatChunk(text, block=block.number)]
        if not isinstance(event, MAPPINGS):
            if event == "[DONE]":
                self._done = True
                return []
            damaged("the event", "a mapping", event)
        kind = event.get("type")
        if kind == "error" or event.get("error") is not None:
            raise error_of(event.get("error"))
        if self._done and kind != "message_start":
            return []
        if kind == "content_block_delta":
            return self._delta(event)
        if kind == "content_block_start":
            return self._start(_mapping(event, "content_block"), _index(event, self._last + 1))
        if kind == "content_block_stop":
            block = self._blocks.pop(_index(event, self._last), None)
            return [] if block is None else self._stop(block)
        if kind == "message_start" and not self._begun:
            return self._message(_mapping(event, "message"))
        if kind == "message_delta":
            return [self._head(_mapping(event, "delta"), event.get("usage"), {})]
        self._done = self._done or kind == "message_stop"
        return []

    def _message(self, message: Mapping[str, Any]) -> list[ChatChunk]:
        """Read the message of a stream's beginning, which is a whole answer when it has content."""
        self._begun = True
        call: dict[str, Any] = {}
        for name in ("id", "model"):
            if message.get(name) is not None:
                call[name] = text_of(message, name, "")
        rest = {key: value for key, value in message.items() if key not in _MESSAGE_KEYS and value is not None}
        if rest:
            call["metadata"] = rest
        head = self._head({key: message.get(key) for key in _ANSWER_KEYS}, message.get("usage"), call)
        chunks = [head]
        content = message.get("content") or ()
        if not isinstance(content, list | tuple):
            damaged("content", "a list of blocks", content)
        for index, body in enumerate(content):
            if not isinstance(body, Mapping):
                damaged(f"content[{index}]", "a mapping", body)
            chunks += self._start(body, index)
            chunks += self._stop(self._blocks.pop(index))
        return chunks

    def _head(self, delta: Mapping[str, Any], usage: Any, call: dict[str, Any]) -> ChatChunk:
        """Read what is said of the answer and the call."""
        if delta.get("stop_reason") is not None:
            self._finish_reason = call["finish_reason"] = text_of(delta, "stop_reason", "")
        rest = {key: value for key, value in delta.items() if key != "stop_reason" and value is not None}
        if rest:
            call["generation_metadata"] = rest
        if usage is not None:
            if not isinstance(usage, Mapping):
                damaged("usage", "a mapping", usage)
            self._usage.update((key, value) for key, value in usage.items() if value is not None)
            call["usage"] = _read_usage(self._usage)
        return ChatChunk(**call)

    def _start(self, body: Mapping[str, Any], index: int) -> list[ChatChunk]:
        chunks = self._stop(self._blocks.pop(index)) if index in self._blocks else []
        block = self._blocks[index] = _Block(dict(body), self._number)
        self._number += 1
        self._last = index
        path = f"content[{index}]"
        if block.kind == "tool_use":
            self._called = True
            own = own_of(FORMAT, body, _CALL_KEYS)
            piece = ToolCallChunk(
                block.number, text_of(body, "id", path), name=text_of(body, "name", path), metadata=own
            )
            return [*chunks, ChatChunk(tool_calls=[piece])]
        if block.kind in ("text", "thinking"):
            return chunks + self._piece(block, text_of(body, str(block.kind), path) or "")
        return chunks

    def _piece(self, block: _Block, text: str) -> list[ChatChunk]:
        """Give a piece of text or thought."""
        if not text:
            return []
        self._spoken = True
        if block.kind == "text":
            return [ChatChunk(text, block=block.number)]
        return [ChatChunk([Reasoning(text)], block=block.number)]

    def _delta(self, event: Mapping[str, Any]) -> list[ChatChunk]:
        delta = event.get("delta")
        index = _index(event, max(self._last, 0))
        path = f"content[{index}]"
        if not isinstance(delta, MAPPINGS):
            damaged(f"{path}.delta", "a mapping", delta)
        kind = delta.get("type")
        block = self._blocks.get(index)
        if block is None:
            chunks = self._start({"type": _BEGUN_BY.get(str(kind), "unknown")}, index)
            return chunks + self._add(self._blocks[index], delta, kind, path)
        return self._add(block, delta, kind, path)

    def _add(self, block: _Block, delta: Mapping[str, Any], kind: Any, path: str) -> list[ChatChunk]:
        if kind in ("text_delta", "thinking_delta"):
            key = "text" if kind == "text_delta" else "thinking"
            if block.kind != key:
                damaged(path, f"a block of {key}, as its pieces are,", block.kind)
            return self._piece(block, text_of(delta, key, path) or "")
        if kind == "input_json_delta":
            piece = text_of(delta, "partial_json", path)
            if not piece:
                return []
            block.pieces.append(piece)
            return (
                [ChatChunk(tool_calls=[ToolCallChunk(block.number, arguments=piece)])]
                if block.kind == "tool_use"
                else []
            )
        if kind == "citations_delta":
            block.citations.append(delta.get("citation"))
            return []
        for key, value in delta.items():  # a signature, or what blocks of tomorrow have
            if isinstance(value, str) and key != "type":
                block.texts.setdefault(key, []).append(value)
            elif key != "type" and value is not None:
                block.body[key] = value
        return []

    def _stop(self, block: _Block) -> list[ChatChunk]:
        """Give what a block says only at its end."""
        body, kind = block.body, block.kind
        for key, pieces in block.texts.items():
            body[key] = "".join([body[key] if isinstance(body.get(key), str) else "", *pieces])
        if block.citations:
            body["citations"] = [*(body.get("citations") or ()), *block.citations]
        if kind == "tool_use":
            if block.pieces:
                return []
            given = body.get("input")
            if given is not None and not isinstance(given, Mapping):
                damaged("input of a tool_use block", "a mapping", given)
            return [ChatChunk(tool_calls=[ToolCallChunk(block.number, arguments=_json.dumps(given or {}))])]
        if kind == "text":
            metadata = own_of(FORMAT, body, frozenset(("type", "text")))
            part: Part = Text("", metadata=metadata)
        elif kind == "thinking":
            metadata = own_of(FORMAT, body, frozenset(("type", "thinking", "signature")))
            if signature := text_of(body, "signature", "thinking"):
                metadata["signature"] = signature
            part = Reasoning(metadata=metadata)
        else:
            self._spoken = True
            return [ChatChunk([_whole_part(block)])]
        if not metadata:
            return []
        self._spoken = True
        return [ChatChunk([part], block=block.number)]

    def rest(self) -> list[ChatChunk]:
        """Give what is known only at the end: blocks that nobody ended, and that nothing was said.

        Of a broken stream only texts are given: half a signature or half a block of the vendor's is none.
        """
        blocks, self._blocks = sorted(self._blocks.items()), {}
        ended = self._done or self._finish_reason is not None
        chunks = [chunk for _, block in blocks if ended or block.kind == "text" for chunk in self._stop(block)]
        if self._begun and not self._spoken and not self._called:
            chunks.append(ChatChunk(""))
        return chunks

    def check(self) -> None:
        """Raise unless the stream ended as its format says.

        Raises:
            TransportError: It is cut off.
            ResponseFormatError: It holds no answer, or promises calls and has none.
        """
        if not self._done and self._finish_reason is None:
            raise TransportError("the stream ended before the answer did; .partial holds what had arrived")
        if not self._begun and not self._number:
            raise ResponseFormatError("the stream ended without an answer")
        if self._finish_reason == "tool_use" and not self._called:
            raise ResponseFormatError("the answer ended for 'tool_use' but has no calls")


_ANSWER_KEYS = ("stop_reason", "stop_sequence", "stop_details", "container")
_MESSAGE_KEYS = frozenset(("id", "model", "type", "role", "content", "usage", *_ANSWER_KEYS))
_CALL_KEYS = frozenset(("type", "id", "name", "input"))
_BEGUN_BY = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
}


def _whole_part(block: _Block) -> Part:
    """Make a part of a block that is neither text, thought nor call."""
    if block.pieces:
        text = "".join(block.pieces)
        try:
            block.body["input"] = _json.loads(text)
        except ValueError:
            block.body["input"] = {INVALID: text}
    try:
        return read_block(block.body)
    except AdapterError as error:
        raise ResponseFormatError(f"the answer is damaged: a block of the type {block.kind!r:.80}: {error}") from None


def _index(event: Mapping[str, Any], missing: int) -> int:
    index = event.get("index")
    if index is None:
        return missing
    if type(index) is not int:
        damaged("index", "an int", index)
    return index


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    if not isinstance(found, MAPPINGS):
        damaged(key, "a mapping", found)
    return found


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    """Read a report of usage, whose ``input_tokens`` leave out what the cache took part in."""
    details = usage.get("output_tokens_details")
    read, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    return Usage(
        (_count(usage, "input_tokens") or 0) + (read or 0) + (written or 0),
        _count(usage, "output_tokens") or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_count(details, "thinking_tokens") if isinstance(details, Mapping) else None,
        native=usage,
    )


def _count(usage: Mapping[str, Any], key: str) -> int | None:
    value = usage.get(key)
    return value if type(value) is int and value >= 0 else None


def error_of(error: object) -> ModelError:
    """Make our error of the ``error`` object in an answer or an event.

    >>> error_of({"type": "overloaded_error", "message": "Overloaded"}).retryable
    True
    """
    record: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    kind = record.get("type")
    text = str(record.get("message") or kind or "no reason given")
    message = f"the model refused: {text[:300]}"
    if text.startswith("prompt is too long"):
        numbers = [int(word) for word in text[:300].split() if word.isascii() and word.isdigit()]
        needed, available = numbers if len(numbers) == 2 else (None, None)
        return ContextLengthError(message, needed=needed, available=available)
    return ModelError(message, retryable=isinstance(kind, str) and kind in _PASSING_ERRORS)


_PASSING_ERRORS = frozenset(("rate_limit_error", "api_error", "overloaded_error", "timeout_error"))
