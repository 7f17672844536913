"""Hold pieces of messages as a stream brings them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal, cast

from attrs import field, fields, frozen

from promptkit._frozen import EMPTY, FrozenDict, FrozenList, shown
from promptkit.adapters.langchain._joining import (
    join_calls,
    join_values,
)
from promptkit.adapters.langchain.arguments import parse_arguments
from promptkit.adapters.langchain.base import BaseMessage, ContentLike
from promptkit.adapters.langchain.calls import (
    NOTHING,
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    UsageMetadata,
    add_usage,
    check_usage,
    freeze_calls,
    parse_calls,
    pieces_of,
    read_openai_pieces,
)
from promptkit.adapters.langchain.folding import HAS_CALLS, HAS_POSITION, HAS_USAGE, BaseMessageChunk
from promptkit.adapters.langchain.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from promptkit.errors import AdapterError, PromptError

__all__ = [
    "AIMessageChunk",
    "ChatMessageChunk",
    "FunctionMessageChunk",
    "HumanMessageChunk",
    "SystemMessageChunk",
    "ToolMessageChunk",
    "message_chunk_to_message",
]

_set = object.__setattr__


@frozen(init=False, repr=False, weakref_slot=False)
class SystemMessageChunk(SystemMessage, BaseMessageChunk):
    """Hold a piece of a `SystemMessage`.

    >>> message_chunk_to_message(SystemMessageChunk("Be ") + SystemMessageChunk("brief."))
    SystemMessage('Be brief.')
    """

    type: ClassVar[str] = "SystemMessageChunk"


@frozen(init=False, repr=False, weakref_slot=False)
class HumanMessageChunk(HumanMessage, BaseMessageChunk):
    """Hold a piece of a `HumanMessage`.

    >>> message_chunk_to_message(HumanMessageChunk("H") + HumanMessageChunk("i"))
    HumanMessage('Hi')
    """

    type: ClassVar[str] = "HumanMessageChunk"


@frozen(init=False, repr=False, weakref_slot=False)
class AIMessageChunk(AIMessage, BaseMessageChunk):
    """Hold a piece of an `AIMessage`.

    ``tool_calls`` and ``invalid_tool_calls`` follow from ``tool_call_chunks``, when they are asked for: strictly in
    the chunk that is the last, before that as far as the arguments can be told.

    Args:
        tool_call_chunks: Pieces of tool calls. Left out, they are made of the calls.
        chunk_position: ``last`` on the last chunk of a stream.

    >>> start = AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": '{"a": [1', "id": "c1", "index": 0}])
    >>> start.tool_calls[0]["args"], (start + AIMessageChunk("", chunk_position="last")).tool_calls
    ({'a': [1]}, [])
    """

    type: ClassVar[str] = "AIMessageChunk"

    tool_call_chunks: Sequence[ToolCallChunk] = field(default=NOTHING, kw_only=True)
    chunk_position: Literal["last"] | None = field(default=None, kw_only=True)

    def __init__(
        self,
        content: ContentLike | None = None,
        *,
        content_blocks: Iterable[Mapping[str, Any]] | None = None,
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        name: str | None = None,
        id: str | float | None = None,
        tool_calls: Iterable[ToolCall] | None = None,
        invalid_tool_calls: Iterable[InvalidToolCall] | None = None,
        usage_metadata: UsageMetadata | None = None,
        tool_call_chunks: Iterable[ToolCallChunk] | None = None,
        chunk_position: Literal["last"] | None = None,
    ) -> None:
        self._fill_common(content, content_blocks, additional_kwargs, response_metadata, name, id)
        if chunk_position not in (None, "last"):
            raise PromptError(f"{self._path('chunk_position')} must be 'last' or None, not {shown(chunk_position)}")
        pieces = freeze_calls(tool_call_chunks or (), "tool_call_chunks")
        if not pieces and not tool_calls and not invalid_tool_calls and "tool_calls" in self.additional_kwargs:
            pieces = freeze_calls(read_openai_pieces(self.additional_kwargs["tool_calls"]), "tool_call_chunks")
        if not pieces:
            calls = freeze_calls(tool_calls or (), "tool_calls")
            invalid = freeze_calls(invalid_tool_calls or (), "invalid_tool_calls")
            _set(self, "tool_calls", calls)
            _set(self, "invalid_tool_calls", invalid)
            pieces = freeze_calls(pieces_of(calls, invalid), "tool_call_chunks") if calls or invalid else NOTHING
        _set(self, "usage_metadata", None if usage_metadata is None else check_usage(usage_metadata))
        _set(self, "tool_call_chunks", pieces)
        _set(self, "chunk_position", chunk_position)
        if chunk_position is not None:
            _set(self, "content", _finished(self.content, self.response_metadata, pieces))
        _set(self, "_state", self._own_bits())

    @property
    def content_blocks(self) -> list[Mapping[str, Any]]:
        """The content as standard blocks; pieces of calls stand for the calls while there is nothing else.

        See `AIMessage.content_blocks`.
        """
        if not self.tool_call_chunks or self.content or self.chunk_position == "last":
            return super().content_blocks
        pieces = cast("Sequence[Mapping[str, Any]]", self.tool_call_chunks)
        return [{key: piece[key] for key in piece if key != "index" or piece[key] is not None} for piece in pieces]

    def _joined(self, chunks: Sequence[Any], bits: int) -> dict[str, Any]:
        values = BaseMessageChunk._joined(self, chunks, bits)
        values["tool_call_chunks"] = values["tool_calls"] = values["invalid_tool_calls"] = NOTHING
        if bits & HAS_CALLS:
            columns = [chunk.tool_call_chunks for chunk in chunks if chunk._state & HAS_CALLS]
            values["tool_call_chunks"] = join_calls(chain.from_iterable(columns))
            del values["tool_calls"], values["invalid_tool_calls"]
        usages = [chunk.usage_metadata for chunk in chunks if chunk._state & HAS_USAGE] if bits & HAS_USAGE else []
        values["usage_metadata"] = usages[0] if usages else None
        for usage in usages[1:]:
            values["usage_metadata"] = add_usage(values["usage_metadata"], usage)
        values["chunk_position"] = "last" if bits & HAS_POSITION else None
        if bits & HAS_POSITION:
            known = (values["response_metadata"], values["tool_call_chunks"])
            values["content"] = _finished(values["content"], *known)
        return values

    def _own_bits(self) -> int:
        bits = super()._own_bits()
        bits |= HAS_CALLS if self.tool_call_chunks else 0
        bits |= HAS_USAGE if self.usage_metadata is not None else 0
        return bits | (HAS_POSITION if self.chunk_position is not None else 0)

    @staticmethod
    def choose_id(ids: Iterable[str | None]) -> str | None:
        """Give the first id of a vendor, failing that the first of a run, failing that the first."""
        run = other = None
        for value in ids:
            if value and not value.startswith("lc_"):
                return value
            if value and value.startswith("lc_run-"):
                run = run or value
            other = other or value or None
        return run or other

    def _derive(self, name: str) -> None:
        if name in ("tool_calls", "invalid_tool_calls"):
            calls, invalid = parse_calls(join_calls(self.tool_call_chunks), final=self.chunk_position == "last")
            _set(self, "tool_calls", calls)
            _set(self, "invalid_tool_calls", invalid)


def _finished(content: Any, metadata: Mapping[str, Any], pieces: Iterable[Mapping[str, Any]]) -> Any:
    """Give the content of a last chunk in the standard form, its pieces of calls made whole."""
    if metadata.get("output_version") != "v1" or not isinstance(content, tuple):
        return content
    calls = {call["id"]: call for call in parse_calls(join_calls(pieces), final=True)[0] if call["id"]}
    return FrozenList([_finished_block(item, calls) for item in content])


def _finished_block(item: Any, calls: Mapping[str, ToolCall]) -> Any:
    kind = item.get("type") if isinstance(item, Mapping) else None
    if kind == "tool_call_chunk" and item.get("id") in calls:
        call = calls[item["id"]]
        form = {"type": "tool_call", "name": call["name"], "args": call["args"], "id": call["id"]}
        return FrozenDict(form | ({"extras": item["extras"]} if "extras" in item else {}))
    if kind in ("server_tool_call", "server_tool_call_chunk") and isinstance(item.get("args") or "{}", str):
        try:
            args = parse_arguments(item.get("args") or "{}")
        except ValueError:
            return item
        return FrozenDict({**item, "type": "server_tool_call", "args": args}) if isinstance(args, dict) else item
    return item


def _checked_add(self: Any, other: Any) -> Any:
    if isinstance(other, BaseMessageChunk):
        self._check(other)
    return BaseMessageChunk.__add__(self, other)


@frozen(init=False, repr=False, weakref_slot=False)
class ToolMessageChunk(ToolMessage, BaseMessageChunk):
    """Hold a piece of a `ToolMessage`.

    >>> (ToolMessageChunk("3 ", tool_call_id="c1") + ToolMessageChunk("degrees", tool_call_id="c1")).content
    '3 degrees'
    """

    type: ClassVar[str] = "ToolMessageChunk"

    __add__ = _checked_add

    def _check(self, other: BaseMessageChunk) -> None:
        if not isinstance(other, ToolMessageChunk):
            return
        _same(self, "tool_call_id", other.tool_call_id)
        if other.artifact is not None and self.artifact is not None:
            kinds = (Mapping, str, tuple)
            joinable = any(isinstance(self.artifact, kind) and isinstance(other.artifact, kind) for kind in kinds)
            if not joinable and self.artifact != other.artifact:
                raise AdapterError(
                    "two artifacts cannot be joined: they must be equal, or both text, lists or mappings"
                )

    def _joined(self, chunks: Sequence[Any], bits: int) -> dict[str, Any]:
        artifact = None
        for found in [chunk.artifact for chunk in chunks if isinstance(chunk, ToolMessageChunk)]:
            artifact = join_values(artifact, found) if found is not None and artifact is not None else found or artifact
        failed = any(isinstance(chunk, ToolMessageChunk) and chunk.status == "error" for chunk in chunks)
        values = BaseMessageChunk._joined(self, chunks, bits)
        status = "error" if failed else "success"
        return {**values, "tool_call_id": chunks[0].tool_call_id, "artifact": artifact, "status": status}


@frozen(init=False, repr=False, weakref_slot=False)
class FunctionMessageChunk(FunctionMessage, BaseMessageChunk):
    """Hold a piece of a `FunctionMessage`.

    >>> (FunctionMessageChunk("3 ", name="f") + FunctionMessageChunk("degrees", name="f")).content
    '3 degrees'
    """

    type: ClassVar[str] = "FunctionMessageChunk"

    __add__ = _checked_add

    def _check(self, other: BaseMessageChunk) -> None:
        if isinstance(other, FunctionMessageChunk):
            _same(self, "name", other.name)


@frozen(init=False, repr=False, weakref_slot=False)
class ChatMessageChunk(ChatMessage, BaseMessageChunk):
    """Hold a piece of a `ChatMessage`.

    >>> (ChatMessageChunk("Looks ", role="Reviewer") + ChatMessageChunk("good.", role="Reviewer")).content
    'Looks good.'
    """

    type: ClassVar[str] = "ChatMessageChunk"

    __add__ = _checked_add

    def _check(self, other: BaseMessageChunk) -> None:
        if isinstance(other, ChatMessageChunk):
            _same(self, "role", other.role)

    def _joined(self, chunks: Sequence[Any], bits: int) -> dict[str, Any]:
        return {**BaseMessageChunk._joined(self, chunks, bits), "role": chunks[0].role}


def _same(chunk: BaseMessageChunk, name: str, other: str | None) -> None:
    own = getattr(chunk, name)
    if own != other:
        raise AdapterError(
            f"chunks of different messages: {name} is {shown(own)} in one and {shown(other)} in the other"
        )


_WHOLE: Mapping[type[BaseMessage], type[BaseMessage]] = {
    SystemMessageChunk: SystemMessage,
    HumanMessageChunk: HumanMessage,
    AIMessageChunk: AIMessage,
    ToolMessageChunk: ToolMessage,
    FunctionMessageChunk: FunctionMessage,
    ChatMessageChunk: ChatMessage,
}


def message_chunk_to_message(chunk: BaseMessage) -> BaseMessage:
    """Make a message of a chunk; a message comes back as it is.

    Of the pieces of tool calls only those that are whole JSON make calls, the others make invalid ones.

    >>> message_chunk_to_message(AIMessageChunk("hi", chunk_position="last"))
    AIMessage('hi')
    """
    whole = next((_WHOLE[base] for base in type(chunk).__mro__ if base in _WHOLE), None)
    if whole is None:
        return chunk
    values: dict[str, Any] = {entry.name: getattr(chunk, entry.name) for entry in fields(whole)}
    if isinstance(chunk, AIMessageChunk) and chunk.tool_call_chunks:
        values["tool_calls"], values["invalid_tool_calls"] = parse_calls(join_calls(chunk.tool_call_chunks), final=True)
    return whole(**values)
