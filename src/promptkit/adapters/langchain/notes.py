"""Keep what one family's messages cannot say in the metadata of the other's.

LangChain's ``response_metadata`` are promptkit's metadata. The rest of what only LangChain has stands under the key
``langchain``, the role of a `ChatMessage` under ``role``. Metadata that happen to look like that are put one level
deeper: whatever is packed unpacks as it was, and the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, freeze_mapping
from promptkit.adapters.langchain.calls import check_usage
from promptkit.adapters.langchain.parts import VENDOR
from promptkit.errors import PromptError

__all__ = ["Notes", "pack", "unpack"]


@frozen(repr=False, weakref_slot=False)
class Notes(Value):
    """Hold what LangChain's messages have beside content, calls, name and id.

    >>> pack(Notes(additional_kwargs={"refusal": "No."}))
    {'langchain': {'additional_kwargs': {'refusal': 'No.'}}}
    """

    response_metadata: FrozenDict = field(default=EMPTY, converter=freeze_mapping)
    additional_kwargs: FrozenDict = field(default=EMPTY, kw_only=True, converter=freeze_mapping)
    usage_metadata: FrozenDict | None = field(default=None, kw_only=True)
    role: str | None = field(default=None, kw_only=True)
    is_function: bool = field(default=False, kw_only=True)
    id: str | None = field(default=None, kw_only=True)


_KEYS = frozenset(("response_metadata", "additional_kwargs"))


def pack(notes: Notes, allowed: frozenset[str] = frozenset()) -> FrozenDict:
    """Write notes as metadata.

    Args:
        notes: The notes.
        allowed: What the place has beside the two mappings: ``usage_metadata``, ``role``, ``type``, ``id``.
    """
    flat = notes.response_metadata
    own: dict[str, Any] = {}
    if notes.additional_kwargs:
        own["additional_kwargs"] = notes.additional_kwargs
    if notes.usage_metadata is not None:
        own["usage_metadata"] = notes.usage_metadata
    if notes.is_function:
        own["type"] = "function"
    if notes.id is not None:
        own["id"] = notes.id
    taken = (VENDOR in flat and own) or ("role" in flat and notes.role is not None)
    if taken or unpack(flat, allowed).response_metadata != flat:
        own["response_metadata"], flat = flat, EMPTY
    role = {} if notes.role is None else {"role": notes.role}
    return freeze_mapping({**flat, **({VENDOR: own} if own else {}), **role})


def unpack(metadata: Mapping[str, Any], allowed: frozenset[str] = frozenset()) -> Notes:
    """Read notes from metadata; see `pack`."""
    rest = dict(metadata)
    role = rest.pop("role") if "role" in allowed and isinstance(rest.get("role"), str) else None
    if VENDOR in rest:
        own = rest.pop(VENDOR)
        notes = _read(own, rest, role) if isinstance(own, Mapping) and own.keys() <= _KEYS | allowed else None
        if notes is not None and pack(notes, allowed) == metadata:
            return notes
        rest[VENDOR] = own
    return Notes(rest, role=role)


def _read(own: Mapping[str, Any], rest: Mapping[str, Any], role: str | None) -> Notes | None:
    try:
        return Notes(
            own.get("response_metadata", rest),
            additional_kwargs=own.get("additional_kwargs", EMPTY),
            usage_metadata=check_usage(own["usage_metadata"]) if "usage_metadata" in own else None,
            role=role,
            is_function=own.get("type") == "function",
            id=own.get("id"),
        )
    except PromptError:
        return None
