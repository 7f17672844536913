"""Read what Responses gives back: whole answers, and the events of a stream."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any

from promptkit.adapters._openai_records import error_of
from promptkit.adapters._reading import MAPPINGS, own_of
from promptkit.adapters._responses_items import (
    fields_of,
    marked,
    read_said,
    read_thought,
)
from promptkit.adapters._responses_tables import ECHOED, FORMAT
from promptkit.adapters.base import damaged, read_events, text_of
from promptkit.content import Opaque, Reasoning, Text
from promptkit.errors import AdapterError, PromptError, ResponseFormatError, TransportError
from promptkit.response import ChatChunk, ChatResponse, ToolCallChunk, Usage

__all__ = ["ChunkReader", "to_chunks", "to_response"]


def to_response(payload: Mapping[str, Any]) -> ChatResponse:
    """Read a whole answer.

    Args:
        payload: The JSON of the answer.

    Raises:
        ModelError: It failed, was cancelled, or is the record of an error.
        ResponseFormatError: It is damaged or has not ended; the message says where.

    >>> said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    >>> to_response({"status": "completed", "output": [said]}).text
    'Hi'
    """
    if not isinstance(payload, MAPPINGS):
        damaged("the answer", "a mapping", payload)
    return ChatResponse.from_chunks(read_events(ChunkReader(), ({"type": "response.completed", "response": payload},)))


def to_chunks(events: Iterable[Any]) -> Generator[ChatChunk, None, None]:
    """Read the events of a stream as they come; closing the result closes the events.

    Usage comes once, at the end.

    Args:
        events: The JSON of each event.

    Raises:
        ModelError: The stream reported an error, is damaged or was cut off; ``partial`` holds what had arrived.

    >>> delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"}
    >>> ChatResponse.from_chunks(to_chunks([delta, {"type": "response.completed", "response": {}}])).text
    'Hi'
    """
    return read_events(ChunkReader(), events)


class _Piece:
    """Hold what has come of one text, thought or call."""

    __slots__ = ("given", "notes", "number", "pieces", "place")

    def __init__(self, number: int) -> None:
        self.number = number
        self.given = False
        self.pieces: list[str] = []
        self.place = 0  # of the part of a summary that came last
        self.notes: list[Any] = []  # annotations

    def rest(self, text: str, path: str) -> str:
        """Give what had not come of a text that is whole now.

        Raises:
            ResponseFormatError: It is another text.
        """
        come = "".join(self.pieces)
        if not text.startswith(come):
            raise ResponseFormatError(f"the answer is damaged: {path} ended as another text than it began")
        self.pieces = [text]
        return text[len(come) :]


class ChunkReader:
    """Turn the events of one stream into chunks, one at a time; an async stream uses it directly.

    >>> reader = ChunkReader()
    >>> delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"}
    >>> [chunk.text for chunk in reader.read(delta)]
    ['Hi']
    """

    __slots__ = (
        "_answered",
        "_called",
        "_calls",
        "_done",
        "_ended",
        "_last",
        "_number",
        "_parts",
        "_said",
        "_stopped",
        "_texts",
    )

    def __init__(self) -> None:
        self._answered = self._done = self._stopped = False
        self._texts: dict[tuple[int, Any], _Piece] = {}
        self._calls: dict[int, _Piece] = {}
        self._ended: set[int] = set()
        self._parts: list[int] = []  # the item of each part of the content, in order
        self._called: list[tuple[int, int]] = []  # the number of each call and the parts before it
        self._said: int | None = None  # the first message item
        self._last = 0
        self._number = 0

    def read(self, event: Any) -> list[ChatChunk]:
        """Give what is new in one event; an event of a type that nobody knows says nothing.

        Raises:
            ModelError: The event reports an error.
            ResponseFormatError: It is damaged; the message says where.
        """
        if type(event) is dict and event.get("type") == "response.output_text.delta" and not self._done:
            index, place = event.get("output_index"), event.get("content_index")
            text: Any = event.get("delta")
            plain = type(index) is int and type(place) is int and type(text) is str and text
            piece = self._texts.get((index, place)) if plain else None  # type: ignore[arg-type]
            if piece is not None and piece.given and index not in self._ended:
                piece.pieces.append(text)
                return [ChatChunk(text, block=piece.number)]
        if not isinstance(event, MAPPINGS):
            if event == "[DONE]":
                self._done = True
                return []
            damaged("the event", "a mapping", event)
        if self._done:
            return []
        kind = event.get("type")
        if kind == "error" or (event.get("error") is not None and kind != "response.failed"):
            raise error_of(event if event.get("error") is None else event["error"])
        if kind in _ENDS:
            return self._end(event)
        if kind == "response.created":
            response = event.get("response")
            return [ChatChunk(**_head(response))] if isinstance(response, MAPPINGS) else []
        if kind == "response.output_item.added":
            return self._begin(self._index(event), _mapping(event, "item"))
        if kind == "response.output_item.done":
            return self._finish(self._index(event), _mapping(event, "item"))
        return self._delta(kind, event)

    def _index(self, event: Mapping[str, Any]) -> int:
        index = event.get("output_index")
        index = self._last if index is None else index
        if type(index) is not int:
            damaged("output_index", "an int", index)
        self._last = index
        return index

    def _delta(self, kind: Any, event: Mapping[str, Any]) -> list[ChatChunk]:
        if kind == "response.output_text.annotation.added":
            self._text(*self._place(event)).notes.append(event.get("annotation"))
            return []
        if kind not in _DELTAS:
            return []
        index = self._index(event)
        text = text_of(event, "delta", f"output[{index}]")
        if not text or index in self._ended:
            return []
        if kind == "response.function_call_arguments.delta":
            call = self._call(index)
            call.pieces.append(text)
            return [ChatChunk(tool_calls=[ToolCallChunk(call.number, arguments=text)])]
        if kind in _THOUGHTS:
            return self._think(index, _THOUGHTS[kind], event, text)
        piece = self._text(*self._place(event))
        piece.pieces.append(text)
        if kind == "response.output_text.delta":
            return self._give(piece, index, Text(text))
        return self._give(piece, index, Text(text, metadata={"refusal": True}))

    def _place(self, event: Mapping[str, Any], key: str = "content_index") -> tuple[int, int]:
        index, place = self._index(event), event.get(key) or 0
        if type(place) is not int:
            damaged(f"output[{index}].{key}", "an int", place)
        return index, place

    def _think(self, index: int, key: str, event: Mapping[str, Any], text: str) -> list[ChatChunk]:
        """Give a piece of thought; where the vendor shows both thoughts and a summary, those that came first."""
        other = "content" if key == "summary" else "summary"
        if (index, other) in self._texts:
            return []
        piece = self._text(index, key)
        _, place = self._place(event, f"{key}_index")
        if place > piece.place:
            text = "\n\n" * min(place - piece.place, 1_000) + text
            piece.place = place
        piece.pieces.append(text)
        return self._give(piece, index, Reasoning(text))

    def _text(self, index: int, place: Any) -> _Piece:
        piece = self._texts.get((index, place))
        if piece is None:
            piece = self._texts[index, place] = self._new()
        return piece

    def _call(self, index: int) -> _Piece:
        call = self._calls.get(index)
        if call is None:
            call = self._calls[index] = self._new()
            self._called.append((call.number, len(self._parts)))
        return call

    def _new(self) -> _Piece:
        self._number += 1
        return _Piece(self._number)

    def _give(self, piece: _Piece, index: int, part: Text | Reasoning) -> list[ChatChunk]:
        """Give a piece of text or thought, or what is said of it at its end."""
        if not part.text and not part.metadata:
            return []
        if not piece.given:
            piece.given = True
            self._parts.append(index)
        if type(part) is Text and not part.metadata:
            return [ChatChunk(part.text, block=piece.number)]
        return [ChatChunk([part], block=piece.number)]

    def _begin(self, index: int, item: Mapping[str, Any]) -> list[ChatChunk]:
        if item.get("type") != "function_call" or index in self._calls:
            return []
        call = self._call(index)
        path = f"output[{index}]"
        named = ToolCallChunk(call.number, text_of(item, "call_id", path), name=text_of(item, "name", path))
        return [ChatChunk(tool_calls=[named])]

    def _finish(self, index: int, item: Mapping[str, Any]) -> list[ChatChunk]:
        """Give what had not come of an item that is whole now."""
        if index in self._ended:
            return []
        self._ended.add(index)
        path = f"output[{index}]"
        kind = item.get("type")
        try:
            if kind == "function_call":
                return self._finish_call(index, item, path)
            if kind == "message":
                return self._finish_message(index, item, path)
            if kind == "reasoning":
                thought = read_thought(item)
                key = "content" if (index, "content") in self._texts or item.get("content") else "summary"
                key = "summary" if (index, "summary") in self._texts else key
                piece = self._text(index, key)
                return self._give(piece, index, thought.mutate(text=piece.rest(thought.text, path)))
        except (AdapterError, PromptError) as error:
            raise ResponseFormatError(f"the answer is damaged: {path}: {error}") from None
        self._parts.append(index)
        return [ChatChunk([Opaque(FORMAT, item)])]

    def _finish_call(self, index: int, item: Mapping[str, Any], path: str) -> list[ChatChunk]:
        call = self._call(index)
        arguments = item.get("arguments")
        if not isinstance(arguments, str):
            damaged(f"{path}.arguments", "JSON text", arguments)
        begun = item.get("status") in ("in_progress", "incomplete")
        chunk = ToolCallChunk(
            call.number,
            text_of(item, "call_id", path),
            name=text_of(item, "name", path),
            arguments=call.rest(arguments, f"{path}.arguments"),
            error="the answer ended before the call did" if begun else None,
            metadata=own_of(FORMAT, item, _CALL_KEYS),
        )
        return [ChatChunk(tool_calls=[chunk])]

    def _finish_message(self, index: int, item: Mapping[str, Any], path: str) -> list[ChatChunk]:
        content = item.get("content")
        if not isinstance(content, list | tuple):
            damaged(f"{path}.content", "a list of parts", content)
        fields = fields_of(item)
        chunks: list[ChatChunk] = []
        mark: Mapping[str, Any] = {}
        if self._said is None:
            self._said = index
            message_id = fields.pop("id", None)
            if message_id is not None or fields:
                chunks.append(ChatChunk(message_id=message_id, message_metadata={FORMAT: fields} if fields else {}))
        else:
            mark = fields
        for place, body in enumerate(content):
            part = read_said(body)
            part = marked(part, mark) if mark else part
            if isinstance(part, Text):
                piece = self._text(index, place)
                rest = piece.rest(part.text, f"{path}.content[{place}]")
                chunks += self._give(piece, index, part.mutate(text=rest))
            else:
                self._parts.append(index)
                chunks.append(ChatChunk([part]))
        return chunks

    def _end(self, event: Mapping[str, Any]) -> list[ChatChunk]:
        """Read the answer that the last event carries: what came of it before is not said again."""
        response = _mapping(event, "response")
        status = response.get("status")
        chunks: list[ChatChunk] = []
        output = response.get("output")
        if output is None and not (self._texts or self._calls or self._ended) and status not in _FAILED:
            if response.get("error") is not None:
                raise error_of(response["error"])
            damaged("output", "a list of items", output)
        if output is not None and not isinstance(output, list | tuple):
            damaged("output", "a list of items", output)
        for index, item in enumerate(output or ()):
            if not isinstance(item, MAPPINGS):
                damaged(f"output[{index}]", "a mapping", item)
            chunks += self._finish(index, item)
        if event.get("type") == "response.failed" or status in _FAILED or response.get("error") is not None:
            error = response.get("error")
            raise error_of(f"the answer was {status}" if error is None else error)
        if status in ("queued", "in_progress"):
            raise ResponseFormatError(
                f"the answer has not ended: its status is {status!r}; ask the vendor for it again"
            )
        details = response.get("incomplete_details")
        reason = text_of(details, "reason", "incomplete_details") if isinstance(details, MAPPINGS) else None
        self._answered = self._done = True
        self._stopped = status == "incomplete" or event.get("type") == "response.incomplete"
        call = _head(response)
        metadata = {key: value for key, value in response.items() if key not in _KNOWN and value is not None}
        usage = response.get("usage")
        if usage is not None:
            call["usage"] = _read_usage(usage)
        chunks.append(ChatChunk(finish_reason=reason or text_of(response, "status"), metadata=metadata, **call))
        return chunks

    def rest(self) -> list[ChatChunk]:
        """Give what is known only at the end: citations without their text's end, places of calls, that nothing is said."""
        chunks = []
        for (index, _), piece in self._texts.items():
            if piece.notes and index not in self._ended and piece.given:
                part = Text("", metadata={FORMAT: {"annotations": piece.notes}})
                chunks.append(ChatChunk([part], block=piece.number))
        ended = {self._calls[index].number for index in self._ended if index in self._calls}
        for number, place in self._called:
            error = "the answer ended before the call did" if self._stopped and number not in ended else None
            moved = {"position": place} if place < len(self._parts) else {}
            if moved or error:
                chunks.append(ChatChunk(tool_calls=[ToolCallChunk(number, error=error, metadata=moved)]))
        if self._done and not self._parts and not self._called:
            chunks.append(ChatChunk(""))
        return chunks

    def check(self) -> None:
        """Raise unless the stream ended as its format says.

        Raises:
            TransportError: It is cut off.
            ResponseFormatError: It holds no answer.
        """
        if not self._done:
            raise TransportError("the stream ended before the answer did; .partial holds what had arrived")
        if not self._answered and not self._parts and not self._called:
            raise ResponseFormatError("the stream ended without an answer")


_ENDS = ("response.completed", "response.incomplete", "response.failed")
_FAILED = ("failed", "cancelled")
_THOUGHTS = {
    "response.reasoning_summary_text.delta": "summary",
    "response.reasoning_text.delta": "content",
}
_DELTAS = frozenset(
    (
        "response.output_text.delta",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
        *_THOUGHTS,
    )
)
_CALL_KEYS = frozenset(("type", "call_id", "name", "arguments"))
_KNOWN = ECHOED | {"id", "model", "object", "output", "usage", "error", "status"}


def _head(response: Mapping[str, Any]) -> dict[str, Any]:
    return {key: text_of(response, key) for key in ("id", "model") if response.get(key) is not None}


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    if not isinstance(found, MAPPINGS):
        damaged(key, "a mapping", found)
    return found


def _read_usage(usage: Any) -> Usage:
    """Read a report of usage; a counter that is no number of tokens counts as not reported, ``native`` keeps it."""
    if not isinstance(usage, MAPPINGS):
        damaged("usage", "a mapping", usage)
    read, written = (_count(usage, "input_tokens_details", key) for key in ("cached_tokens", "cache_write_tokens"))
    counts: Any = {"prompt": "input_tokens", "completion": "output_tokens", "total": "total_tokens"}
    return Usage(
        **{f"{name}_tokens": _count(usage, None, key) for name, key in counts.items()},
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_count(usage, "output_tokens_details", "reasoning_tokens"),
        native=usage,
    )


def _count(usage: Mapping[str, Any], group: str | None, key: str) -> Any:
    details = usage if group is None else usage.get(group)
    value = details.get(key) if isinstance(details, Mapping) else None
    return value if type(value) is int and value >= 0 else None
