"""Write media as parts of Chat Completions, and read such parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit.adapters._openai_tables import AUDIO_FORMATS, AUDIO_TYPES, FORMAT
from promptkit.adapters._reading import type_of_url
from promptkit.content import Media
from promptkit.errors import PromptError

__all__ = ["MEDIA_READERS", "write_medium"]


def _bare_type(mime_type: str | None) -> str | None:
    return None if mime_type is None else mime_type.partition(";")[0].strip()


Written = tuple[dict[str, Any], str | None] | str
"""The part and the media type that it reads back with, or why there is none."""


def _write_image(part: Media) -> Written:
    if part.url is not None:
        return {"type": "image_url", "image_url": {"url": part.url}}, type_of_url(part.url, "image")
    return {"type": "image_url", "image_url": {"url": part.data_uri}}, _bare_type(part.mime_type)


def _write_audio(part: Media) -> Written:
    name = AUDIO_FORMATS.get(_bare_type(part.mime_type) or "")
    if name is None or part.data is None:
        return f"{FORMAT} takes sound as bytes of WAV or MP3 only"
    return {"type": "input_audio", "input_audio": {"data": part.base64, "format": name}}, AUDIO_TYPES[name]


def _write_document(part: Media) -> Written:
    if part.data is None:
        return f"{FORMAT} fetches no documents: load it and give its bytes"
    return {"type": "file", "file": {"file_data": part.data_uri}}, _bare_type(part.mime_type)


def write_medium(part: Media) -> Written:
    """Write a medium; a file that the vendor has is named by its id, whatever is in it."""
    write = _write_by_id if part.file_id is not None else _WRITERS.get(part.kind)
    written = f"{FORMAT} takes no {part.kind}" if write is None else write(part)
    if not isinstance(written, str) and part.name is not None and "file" in written[0]:
        written[0]["file"]["filename"] = part.name
    return written


def _write_by_id(part: Media) -> Written:
    read_type = Media(file_id=part.file_id, name=part.name).mime_type
    return {"type": "file", "file": {"file_id": part.file_id}}, read_type


_WRITERS: Mapping[str, Callable[[Media], Written]] = {
    "image": _write_image,
    "audio": _write_audio,
    "document": _write_document,
}


def _read_image(image: Mapping[str, Any]) -> Media:
    url = image["url"]
    if not isinstance(url, str):
        raise PromptError("url must be a str")
    return Media(url=url, mime_type=None if url[:5].lower() == "data:" else type_of_url(url, "image"))


def _read_audio(audio: Mapping[str, Any]) -> Media:
    name = audio["format"]
    return Media.from_base64(audio["data"], AUDIO_TYPES.get(name, f"audio/{name}"))


def _read_file(file: Mapping[str, Any]) -> Media:
    name = file.get("filename")
    if file.get("file_id") is not None:
        return Media(file_id=file["file_id"], name=name)
    data = file["file_data"]
    if isinstance(data, str) and data[:5].lower() == "data:":
        return Media(url=data, name=name)
    return Media.from_base64(data, name=name)


MEDIA_READERS: Mapping[str, tuple[Callable[[Mapping[str, Any]], Media], frozenset[str]]] = {
    "image_url": (_read_image, frozenset(("url",))),
    "input_audio": (_read_audio, frozenset(("data", "format"))),
    "file": (_read_file, frozenset(("file_data", "file_id", "filename"))),
}
"""How the object under the key of each type of part reads, and which of its fields that uses."""
