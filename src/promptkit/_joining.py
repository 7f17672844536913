"""Collect the pieces of a streamed answer and join them once; `promptkit.response` is the way to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit._frozen import FrozenDict
from promptkit.content import Content, Part, Reasoning, Text
from promptkit.errors import ToolError
from promptkit.messages import AssistantMessage, InvalidToolCall, ToolCall

__all__ = ["OpenAnswer", "last_of", "lay_over", "shape_of"]


def last_of(old: Any, new: Any) -> Any:
    """Give the new value, unless it is absent or empty and the old one is not absent."""
    return new if new or old is None else old


def lay_over(old: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Lay a mapping over another: of each key the last value that is not ``None`` stays."""
    for key, value in new.items():
        if value is not None or key not in old:
            old[key] = value


def _joined(pieces: list[str]) -> str:
    """Join pieces; a character that was cut into two surrogates becomes one again."""
    text = "".join(pieces)
    if len(pieces) > 1 and not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


class _OpenPart:
    """Collect the pieces of one text or one thought."""

    __slots__ = ("kind", "metadata", "pieces")

    def __init__(self, kind: type[Text | Reasoning]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.metadata: dict[str, Any] = {}

    def close(self) -> Part | None:
        text = _joined(self.pieces)
        return self.kind(text, metadata=FrozenDict(self.metadata)) if text or self.metadata else None


class _OpenCall:
    """Collect the pieces of one tool call."""

    __slots__ = ("arguments", "error", "id", "metadata", "name")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.error: str | None = None
        self.arguments: list[str] = []
        self.metadata: dict[str, Any] = {}

    def add(self, piece: Any) -> None:
        self.id = last_of(piece.id, self.id)  # the first one counts
        self.name = last_of(piece.name, self.name)
        self.error = last_of(self.error, piece.error)
        if piece.arguments is not None:
            self.arguments.append(piece.arguments)
        lay_over(self.metadata, piece.metadata)

    def close(self, *, complete: bool) -> ToolCall | InvalidToolCall:
        """Give the call if it is whole; JSON of an object cannot be cut and still parse, nothing at all can."""
        arguments = _joined(self.arguments)
        metadata = FrozenDict(self.metadata)
        error = self.error
        if error is None and not self.name:
            error = "the call has no tool name"
        if error is None and not complete and not arguments.strip():
            error = "the stream broke before the arguments came"
        if error is None:
            call = ToolCall(self.id, self.name or "", arguments=arguments, metadata=metadata)
            try:
                call.parsed_arguments  # noqa: B018 - it raises where they are broken
            except ToolError as broken:
                error = str(broken)
            else:
                return call
        text = arguments if self.arguments else None
        return InvalidToolCall(self.id, self.name, arguments=text, error=error, metadata=metadata)


class OpenAnswer:
    """Collect the pieces of one answer; `message` joins them.

    Text without a block continues the text before it, whatever tool calls came between. The texts and the thoughts of
    one block join. Every other part stands as it came.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.metadata: dict[str, Any] = {}
        self.message_metadata: dict[str, Any] = {}
        self.id: str | None = None
        self.name: str | None = None
        self.open_arguments: dict[int | None, list[str]] = {}  # by the call's index
        self._parts: list[_OpenPart | Part] = []
        self._blocks: dict[tuple[type[Part], int], _OpenPart] = {}
        self._text: _OpenPart | None = None
        self._empty: Content | None = None
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}

    def open_text(self) -> list[str]:
        """Give the list that takes further pieces of text, until any other content is added."""
        if self._text is None:
            self._text = _OpenPart(Text)
            self._parts.append(self._text)
        return self._text.pieces

    def _block(self, kind: type[Text | Reasoning], block: int) -> _OpenPart:
        part = self._blocks.get((kind, block))
        if part is None:
            part = self._blocks[kind, block] = _OpenPart(kind)
            self._parts.append(part)
            self._text = None
        return part

    def add_content(self, content: Content, block: int | None) -> None:
        """Add text or parts."""
        if not content:
            self._empty = content
        elif isinstance(content, str):
            (self.open_text() if block is None else self._block(Text, block).pieces).append(content)
        else:
            for whole in content:
                if block is None or not isinstance(whole, Text | Reasoning):
                    self._parts.append(whole)
                    self._text = None
                else:
                    part = self._block(type(whole), block)
                    part.pieces.append(whole.text)
                    lay_over(part.metadata, whole.metadata)

    def add_call(self, piece: Any) -> None:
        """Add a `ToolCallChunk` to the call that it continues, or open one."""
        call = self._continued(piece)
        if call is None:
            call = _OpenCall()
            self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
            self.open_arguments[piece.index] = call.arguments
        if piece.id:
            self._by_id[piece.id] = call
        call.add(piece)

    def _continued(self, piece: Any) -> _OpenCall | None:
        """Find the call by index, by id, else take the one before; an unknown index or id continues none."""
        if piece.index is not None:
            call = self._by_index.get(piece.index)
            if call is None or not piece.id or not call.id or call.id == piece.id:
                return call
            return self._by_id.get(piece.id)  # some servers number every call 0
        if piece.id:
            return self._by_id.get(piece.id)
        # A second name without an id is a second call: so come whole calls of vendors that give no ids.
        return self._calls[-1] if self._calls and not (piece.name and self._calls[-1].name) else None

    def message(self, *, complete: bool) -> AssistantMessage:
        """Join all that came.

        Args:
            complete: Whether the stream has ended; if not, a call without arguments is not taken for whole.
        """
        parts = [part.close() if isinstance(part, _OpenPart) else part for part in self._parts]
        calls = [call.close(complete=complete) for call in self._calls]
        return AssistantMessage(
            [part for part in parts if part is not None] or ("" if parts else self._empty),
            tool_calls=[call for call in calls if isinstance(call, ToolCall)],
            invalid_tool_calls=[call for call in calls if isinstance(call, InvalidToolCall)],
            metadata=self.message_metadata,
            name=self.name,
            id=self.id,
        )


def shape_of(chunk: Any) -> str:
    """Tell what alone is in a chunk: ``text``, ``arguments`` of one call, or ``mixed``."""
    if not chunk.tool_calls:
        return "text" if type(chunk.content) is str else "mixed"
    piece = chunk.tool_calls[0]
    more = chunk.content is not None or len(chunk.tool_calls) > 1 or piece.id or piece.name or piece.metadata
    return "mixed" if more or piece.index is None or not piece.arguments or piece.error is not None else "arguments"
