"""Add up chunks: the base of all of them, and the sum of a whole stream.

Adding is cheap: a sum only remembers its pieces, in a list that it shares with the sums before it, and joins them when
it is first looked at. So a whole stream is added up in linear time, and arguments of tools are parsed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Self, TypeVar, cast

from promptkit.adapters.langchain._joining import join_content, join_mappings, join_metadata
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.refusals import check_several
from promptkit.errors import AdapterError

__all__ = ["HAS_CALLS", "HAS_POSITION", "HAS_USAGE", "BaseMessageChunk", "merge_chunks"]

_BLOCKS, _KWARGS, _METADATA, _NAME, _ID, HAS_CALLS, HAS_USAGE, HAS_POSITION = (1 << bit for bit in range(8))
"""What a chunk has beside plain text, as bits: joining looks at the fields that some chunk has."""

_get = object.__getattribute__
_new = object.__new__
_set = object.__setattr__

Chunk = TypeVar("Chunk", bound="BaseMessageChunk")


class BaseMessageChunk(BaseMessage):
    """Be the base of all chunks: ``chunk + chunk`` and ``chunk + [chunks]`` give a chunk of the class on the left.

    Raises:
        AdapterError: The chunks belong to different messages: another role, function or tool call.

    >>> from promptkit.adapters.langchain import HumanMessageChunk
    >>> (HumanMessageChunk("Hel") + HumanMessageChunk("lo")).content
    'Hello'
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        # Reached for a slot that is not filled: of a sum that nobody has looked at, or of calls that nobody asked for.
        if name == "_state":
            _set(self, "_state", self._own_bits())
        elif type(self._state) is tuple:
            chunks, count = self._state
            self._fill(chunks[:count], _bits(chunks[:count]))
            return getattr(self, name)
        else:
            self._derive(name)
        return _get(self, name)

    def __add__(self, other: Any) -> Self:
        """Add a chunk, or a list of chunks."""
        if not isinstance(other, BaseMessageChunk):
            return cast("Self", merge_chunks([self, *other])) if isinstance(other, (list, tuple)) else NotImplemented
        if type(other._state) is tuple:
            _ = other.content
        state = self._state
        if type(state) is tuple:
            chunks, count = state
            if len(chunks) != count:
                chunks = chunks[:count]
            chunks.append(other)
            if chunks[count] is not other:  # another thread added first
                chunks = [*chunks[:count], other]
        else:
            chunks, count = [self, other], 1
        total = _new(type(self))
        _set(total, "_state", (chunks, count + 1))
        return total

    def _check(self, other: BaseMessageChunk) -> None:
        """Refuse a chunk that belongs to another message."""

    def _fill(self, chunks: Sequence[BaseMessageChunk], bits: int) -> None:
        """Become the sum of chunks; the bits are those of all of them."""
        for name, value in self._joined(chunks, bits).items():
            _set(self, name, value)
        _set(self, "_state", self._own_bits())

    def _joined(self, chunks: Sequence[Any], bits: int) -> dict[str, Any]:
        """Join chunks field by field; a field that no chunk has costs nothing."""
        contents = [chunk.content for chunk in chunks]
        kwargs = [chunk.additional_kwargs for chunk in chunks] if bits & _KWARGS else ()
        metadata = [chunk.response_metadata for chunk in chunks] if bits & _METADATA else ()
        return {
            "content": join_content(contents) if bits & _BLOCKS else "".join(contents),
            "additional_kwargs": join_mappings(kwargs),
            "response_metadata": join_metadata(metadata),
            "name": _first(chunk.name for chunk in chunks) if bits & _NAME else None,
            "id": self.choose_id(chunk.id for chunk in chunks) if bits & _ID else None,
        }

    @staticmethod
    def choose_id(ids: Iterable[str | None]) -> str | None:
        """Give the id that a sum has: the first."""
        return _first(ids)

    def _derive(self, name: str) -> None:
        """Fill a slot whose value follows from others."""

    def _own_bits(self) -> int:
        bits = _BLOCKS if type(_get(self, "content")) is not str else 0
        bits |= _KWARGS if _get(self, "additional_kwargs") else 0
        bits |= _METADATA if _get(self, "response_metadata") else 0
        bits |= _NAME if _get(self, "name") is not None else 0
        return bits | (_ID if _get(self, "id") is not None else 0)


def _first(values: Iterable[str | None]) -> str | None:
    """Give the first text; an empty one where there is no other."""
    last = None
    for value in values:
        if value:
            return value
        last = value if last is None else last
    return last


def _bits(pieces: Sequence[Any]) -> Any:
    """Say what any of the pieces has, and see that all are chunks with values of their own."""
    try:
        return reduce(or_, {piece._state for piece in pieces})
    except (AttributeError, TypeError):  # no chunk has no state, and a sum that nobody has looked at holds a list
        pass
    for index, piece in enumerate(pieces):
        if not isinstance(piece, BaseMessageChunk):
            raise TypeError(f"chunks[{index}]: only chunks of messages can be merged, not {type(piece).__name__}")
        if type(piece._state) is tuple:
            _ = piece.content
    return reduce(or_, {piece._state for piece in pieces})


def merge_chunks(chunks: Iterable[Chunk], *, running_total: bool = False) -> Chunk:
    """Add up the chunks of a stream at once.

    Args:
        chunks: The chunks, in order; the first one gives its class.
        running_total: Whether each usage counts all tokens so far; then the last one stands instead of their sum.

    Raises:
        AdapterError: There are none, they belong to different messages, or one stands where a list is meant.
        TypeError: Something among them is no chunk.

    >>> from promptkit.adapters.langchain import AIMessageChunk
    >>> merge_chunks([AIMessageChunk("Hel"), AIMessageChunk("lo")]).content
    'Hello'
    """
    check_several(chunks, "chunks")
    pieces = list(chunks)
    if not pieces:
        raise AdapterError("there are no chunks to merge, and so no class of message to give", format="langchain")
    bits = _bits(pieces)
    first: Any = pieces[0]
    if len(pieces) == 1:
        return cast("Chunk", first)
    if type(first)._check is not BaseMessageChunk._check:
        for piece in pieces[1:]:
            first._check(piece)
    total = _new(type(first))
    total._fill(pieces, bits)
    if running_total and bits & HAS_USAGE:
        usages = [usage for piece in pieces if (usage := getattr(piece, "usage_metadata", None)) is not None]
        total = total.mutate(usage_metadata=usages[-1])
    return cast("Chunk", total)
