"""Write media as blocks of the Messages format, and read such blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit.adapters._anthropic_tables import FORMAT, IMAGE_TYPES
from promptkit.adapters._reading import type_of_url
from promptkit.content import Media

__all__ = ["read_medium", "write_medium"]

_KNOWN = {
    "base64": {"type", "media_type", "data"},
    "text": {"type", "media_type", "data"},
    "url": {"type", "url"},
    "file": {"type", "file_id"},
}


def write_medium(part: Media) -> dict[str, Any] | str:
    """Write a medium as a block, or say why there is none."""
    kind, mime_type = part.kind, (part.mime_type or "").partition(";")[0].strip()
    source: dict[str, Any]
    if kind not in ("image", "document"):
        return f"{FORMAT} takes no {kind}"
    if part.file_id is not None:
        source = {"type": "file", "file_id": part.file_id}
    elif part.url is not None:
        if kind == "document" and mime_type != "application/pdf":
            return f"{FORMAT} fetches no documents but PDF: load it and give its bytes"
        source = {"type": "url", "url": part.url}
    elif mime_type in IMAGE_TYPES or mime_type == "application/pdf":
        source = {"type": "base64", "media_type": mime_type, "data": part.base64}
    elif kind == "image":
        return f"{FORMAT} takes images as JPEG, PNG, GIF or WebP only, not {mime_type}"
    else:
        try:
            text = part.bytes.decode()
        except UnicodeDecodeError:
            return f"{FORMAT} takes documents as PDF or UTF-8 text only, not {mime_type}"
        source = {"type": "text", "media_type": "text/plain", "data": text}
    block: dict[str, Any] = {"type": kind, "source": source}
    if part.name is not None and kind == "document":
        block["title"] = part.name
    return block


def read_medium(block: Mapping[str, Any]) -> tuple[Media, dict[str, Any]] | None:
    """Read a block of an image or a document, with its fields that `Media` does not have.

    ``None`` says that it is none of those that `Media` can hold.

    Raises:
        PromptError: A field has a value that it cannot have.
    """
    kind, source = block["type"], block.get("source")
    form = source.get("type") if isinstance(source, Mapping) else None
    if not isinstance(source, Mapping) or not isinstance(form, str) or set(source) != _KNOWN.get(form):
        return None
    name = block.get("title") if kind == "document" else None
    if form == "file":
        medium = Media(file_id=source["file_id"], name=name, mime_type="image/*" if kind == "image" else None)
    elif form == "url":
        if not isinstance(source["url"], str) or source["url"][:5].lower() == "data:":
            return None
        medium = Media(
            url=source["url"],
            name=name,
            mime_type="application/pdf" if kind == "document" else type_of_url(source["url"], kind),
        )
    elif form == "base64":
        medium = Media.from_base64(source["data"], source["media_type"], name=name)
    else:
        try:
            medium = Media(str(source["data"]).encode(), source["media_type"], name=name)
        except UnicodeEncodeError:
            return None
    if medium.kind != kind or (form == "text" and medium.mime_type != "text/plain"):
        return None
    known = ("type", "source", "title") if kind == "document" else ("type", "source")
    own = {key: value for key, value in block.items() if key not in known and value is not None}
    return medium, own
