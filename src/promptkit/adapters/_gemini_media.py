"""Write media as parts of the generateContent format, and read such parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from promptkit.adapters._gemini_tables import FILES, FORMAT, is_taken
from promptkit.adapters.base import Loss, Losses
from promptkit.content import Media
from promptkit.errors import PromptError

__all__ = ["read_medium", "write_medium"]


def _is_file(uri: str) -> bool:
    """Tell whether a URI is the id of a file that the vendor keeps, and no URL that it fetches."""
    return "://" not in uri or uri.startswith(FILES) or uri[:5].lower() == "data:"


def _type_of_url(url: str) -> str:
    """Tell the family of a medium from its URL, which is all that the format says of it without a type."""
    try:
        family = (Media(url=url).mime_type or "").partition("/")[0]
    except PromptError:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
        family = "video" if host in ("youtu.be", "youtube.com", "www.youtube.com") else "application"
    return f"{family}/*"


def _bare(mime_type: str) -> str:
    return mime_type.partition(";")[0].strip().lower()


def write_medium(part: Media, path: str, losses: Losses, *, named: bool) -> dict[str, Any] | None:
    """Write a medium as a part.

    Args:
        part: The medium.
        path: Where it stands, for the losses.
        losses: Where losses go.
        named: Whether the place has names of media, as results of tools have.
    """
    bare = _bare(part.mime_type or "")
    exact = bool(bare) and not bare.endswith("/*")
    if (exact and not is_taken(bare)) or (not exact and part.data is not None):
        why = f"takes no {bare}" if exact else f"wants the exact type of bytes, not {bare}"
        losses.append(Loss(path, part.kind, f"{FORMAT} {why}"))
        return None
    inner: dict[str, Any] = {"mimeType": part.mime_type} if exact else {}
    if part.data is not None:
        inner["data"] = part.base64
    else:
        uri = inner["fileUri"] = part.file_id or part.url or ""
        if _is_file(uri) != (part.file_id is not None):
            losses.append(Loss(path, "spelling", f"{FORMAT} tells URLs and ids of files apart by how they begin"))
        elif not exact and part.mime_type != (None if _is_file(uri) else _type_of_url(uri)):
            why = f"{FORMAT} wants the exact type or none"
            losses.append(Loss(f"{path}.mime_type", "mime_type", why))
    if part.name is not None:
        if named:
            inner["displayName"] = part.name
        else:
            losses.append(Loss(f"{path}.name", "name", f"{FORMAT} has no names of media here"))
    if part.id is not None:
        losses.append(Loss(f"{path}.id", "id", f"{FORMAT} has no ids of media"))
    return {"fileData" if part.data is None else "inlineData": inner}


def read_medium(part: Mapping[str, Any], key: str, *, named: bool) -> tuple[Media, dict[str, Any]] | None:
    """Read the ``inlineData`` or ``fileData`` of a part, with its fields that `Media` does not have.

    ``None`` says that it is none of those that `Media` can hold.

    Raises:
        PromptError: A field has a value that it cannot have.
    """
    inner = part[key]
    source = inner.get("data" if key == "inlineData" else "fileUri") if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(source, str) or not source:
        return None
    mime_type = inner.get("mimeType") or None
    if mime_type is not None and (not isinstance(mime_type, str) or not is_taken(_bare(mime_type))):
        return None
    if mime_type is not None and _bare(mime_type).endswith("/*"):
        return None
    name = inner.get("displayName") or None if named else None
    if key == "inlineData":
        if mime_type is None:
            return None
        medium = Media.from_base64(_standard(source), mime_type, name=name)
    elif _is_file(source):
        medium = Media(file_id=source, mime_type=mime_type, name=name)
    else:
        medium = Media(url=source, mime_type=mime_type or _type_of_url(source), name=name)
    known = ("data", "fileUri", "mimeType", *(("displayName",) if named else ()))
    rest = {name: item for name, item in inner.items() if name not in known and item is not None}
    own = {name: item for name, item in part.items() if name != key and item is not None}
    return medium, own | ({key: rest} if rest else {})


def _standard(text: str) -> str:
    """Spell base64 text in the standard way; JSON of protocol buffers may be in that of URLs, without its end."""
    text = text.replace("-", "+").replace("_", "/")
    return text + "=" * (-len(text) % 4)
