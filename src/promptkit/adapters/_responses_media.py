"""Write media as parts of the Responses format, and read such parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit.adapters._reading import type_of_url
from promptkit.adapters._responses_tables import FORMAT
from promptkit.content import Media
from promptkit.errors import PromptError

__all__ = ["read_file", "read_image", "write_medium"]


def write_medium(part: Media) -> dict[str, Any] | str:
    """Write a medium as a part, or say why there is none."""
    if part.kind == "image":
        body: dict[str, Any] = {"type": "input_image", "detail": "auto"}
        if part.file_id is not None:
            body["file_id"] = part.file_id
        else:
            body["image_url"] = part.data_uri if part.url is None else part.url
        return body
    if part.kind != "document":
        return f"{FORMAT} takes no {part.kind}"
    body = {"type": "input_file"}
    if part.file_id is not None:
        body["file_id"] = part.file_id
    elif part.url is not None:
        body["file_url"] = part.url
    else:
        body["file_data"] = part.data_uri
        body["filename"] = "file.pdf" if part.mime_type == "application/pdf" else "file"
    if part.name is not None:
        body["filename"] = part.name
    return body


def read_image(part: Mapping[str, Any]) -> Media | None:
    """Read an image; ``None`` says that it is none that `Media` can hold.

    Raises:
        PromptError: A field has a value that it cannot have.
    """
    url, file_id = part.get("image_url"), part.get("file_id")
    if (url is None) == (file_id is None):
        return None
    if file_id is not None:
        return Media(file_id=file_id, mime_type="image/*")
    if not isinstance(url, str):
        raise PromptError("image_url must be a str")
    return Media(url=url, mime_type=None if url[:5].lower() == "data:" else type_of_url(url, "image"))


def read_file(part: Mapping[str, Any]) -> Media | None:
    """Read a file; ``None`` says that it is none that `Media` can hold.

    Raises:
        PromptError: A field has a value that it cannot have.
    """
    given = [key for key in ("file_data", "file_id", "file_url") if part.get(key) is not None]
    if len(given) != 1:
        return None
    value, name = part[given[0]], part.get("filename")
    if not isinstance(value, str):
        raise PromptError(f"{given[0]} must be a str")
    if given[0] == "file_id":
        known = Media(file_id=value, name=name)
        return known if known.kind == "document" else known.mutate(mime_type="application/*")
    if given[0] == "file_url":
        return Media(url=value, name=name, mime_type=type_of_url(value, "document"))
    return Media(url=value, name=name) if value[:5].lower() == "data:" else Media.from_base64(value, name=name)
