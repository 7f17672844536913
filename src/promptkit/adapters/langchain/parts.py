"""Turn parts of promptkit's messages into LangChain's content blocks and back."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from promptkit import serialization
from promptkit._frozen import EMPTY, FrozenDict, freeze_mapping, thaw
from promptkit.adapters.langchain.base import MessageContent
from promptkit.adapters.langchain.blocks import standard_block
from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text
from promptkit.errors import PromptError, SerializationError

__all__ = ["VENDOR", "from_block", "from_content", "to_block", "to_content"]

VENDOR = "langchain"
"""The name under which what only LangChain knows stands in opaque parts and in metadata."""

_OURS = "promptkit"
"""The key under which a part stands as it is, where no block of LangChain's could say it."""

_MEDIA_TYPES = {"image": "image", "audio": "audio", "video": "video", "document": "file"}


def to_content(content: Content) -> str | Sequence[Mapping[str, Any]]:
    """Write content: text as text, parts as blocks."""
    return content if isinstance(content, str) else [to_block(part) for part in content]


def from_content(content: MessageContent) -> str | list[Part]:
    """Read content; texts among blocks become parts."""
    if isinstance(content, str):
        return content
    return [Text(item) if isinstance(item, str) else from_block(item) for item in content]


def to_block(part: Part) -> FrozenDict:
    """Write a part as a standard block.

    Metadata become the block's further keys, those of reasoning its ``extras``. A part that would not come back from
    that stands in a ``non_standard`` block as it is.
    """
    block = freeze_mapping(_written(part))
    if (part.metadata or isinstance(part, Opaque)) and from_block(block) != part:
        return FrozenDict({"type": "non_standard", "value": {_OURS: serialization.to_dict(part)}})
    return block


def _written(part: Part) -> Mapping[str, Any]:
    if isinstance(part, Text):
        return {**part.metadata, "type": "text", "text": part.text}
    if isinstance(part, Reasoning):
        extras = {"extras": part.metadata} if part.metadata else {}
        return {"type": "reasoning", "reasoning": part.text, **extras}
    if isinstance(part, Media):
        return _written_media(part)
    if part.vendor == VENDOR and not part.metadata:
        return part.payload
    return {**part.metadata, "type": "non_standard", "value": part.payload, "vendor": part.vendor}


def _written_media(part: Media) -> dict[str, Any]:
    kind = _MEDIA_TYPES[part.kind]
    block: dict[str, Any] = {**part.metadata, "type": kind}
    implied = None if part.data is not None else _implied_type(kind, part.url, part.file_id)
    if part.mime_type is not None and part.mime_type != implied:
        block["mime_type"] = part.mime_type
    named = {"id": part.id, "filename": part.name, "url": part.url, "file_id": part.file_id}
    block.update({key: value for key, value in named.items() if value is not None})
    if part.data is None:
        return block
    text = _plain_text(part)
    return {**block, "base64": part.base64} if text is None else {**block, "type": "text-plain", "text": text}


def _plain_text(part: Media) -> str | None:
    if part.mime_type != "text/plain":
        return None
    try:
        return part.bytes.decode()
    except UnicodeDecodeError:
        return None


def _implied_type(kind: str, url: str | None, file_id: str | None) -> str | None:
    """Say what a block without ``mime_type`` is: what its URL tells, or no more than its kind."""
    if url is not None:
        try:
            found = Media(url=url).mime_type or ""
        except PromptError:
            found = ""
        if found and _MEDIA_TYPES[Media(url=url, mime_type=found).kind] == kind:
            return found
    if kind == "file":
        return "application/*" if file_id is None else None
    return f"{kind}/*"


def from_block(block: Mapping[str, Any]) -> Part:
    """Read a block in any of the forms that LangChain knows; one that says nothing here becomes an `Opaque`."""
    try:
        return _ours(block) or _read(block) or Opaque(VENDOR, block)
    except (PromptError, SerializationError, ValueError, TypeError, LookupError, AttributeError):  # broken, wrong types
        return Opaque(VENDOR, block)


def _ours(block: Mapping[str, Any]) -> Part | None:
    value = block.get("value")
    if block.get("type") != "non_standard" or not isinstance(value, Mapping):
        return None
    if block.keys() == {"type", "value"} and value.keys() == {_OURS}:
        part: Part = serialization.from_dict(thaw(value[_OURS]))
        return part
    vendor = block.get("vendor")
    if not isinstance(vendor, str):
        return None
    return Opaque(vendor, value, metadata=_without(block, "type", "value", "vendor"))


def _read(block: Mapping[str, Any]) -> Part | None:
    if block.get("type") == "thinking":
        return Reasoning(block["thinking"], metadata=_without(block, "type", "thinking"))
    found = standard_block(block)
    kind = found["type"]
    if kind == "text":
        return Text(found["text"], metadata=_without(found, "type", "text"))
    if kind == "reasoning":
        extras = found.get("extras", EMPTY)
        return Reasoning(found["reasoning"], metadata={**_without(found, "type", "reasoning", "extras"), **extras})
    if kind == "text-plain":
        mime_type = found.get("mime_type") or "text/plain"
        return _medium(found, found["text"].encode(), mime_type, _without(found, "type", "text", "mime_type"))
    if kind not in _MEDIA_TYPES.values():
        return None
    data = b64decode(found["base64"], validate=True) if "base64" in found else None
    mime_type = found.get("mime_type")
    if mime_type is None and data is None:
        mime_type = _implied_type(kind, found.get("url"), found.get("file_id"))
    rest = _without(found, "type", "base64", "url", "file_id", "mime_type")
    medium = _medium(found, data, mime_type, rest)
    return medium if _MEDIA_TYPES[medium.kind] == kind else None


def _medium(block: Mapping[str, Any], data: bytes | None, mime_type: str | None, rest: dict[str, Any]) -> Media:
    """Build a medium; a file's name and OpenAI's detail are looked for where their forms put them."""
    name, extras = rest.pop("filename", None), dict(rest.pop("extras", EMPTY))
    if name is None:
        name = extras.pop("filename", None)
    if "detail" in extras and "openai" not in rest:
        rest["openai"] = {"image_url": {"detail": extras.pop("detail")}}
    return Media(
        data,
        mime_type,
        url=block.get("url") if data is None else None,
        file_id=block.get("file_id") if data is None else None,
        name=name,
        id=rest.pop("id", None),
        metadata=rest | ({"extras": extras} if extras else {}),
    )


def _without(block: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in keys}
