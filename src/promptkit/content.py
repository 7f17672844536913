"""Hold the parts that a message is made of: text, media, reasoning, and what only one vendor understands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, bare_fields, exact_str, freeze_mapping, settle, shown, tuple_of
from promptkit.errors import PromptError

__all__ = [
    "Content",
    "ContentLike",
    "Media",
    "Opaque",
    "Part",
    "Reasoning",
    "Text",
    "content_text",
    "freeze_content",
    "freeze_optional_content",
]

Bytes = bytes  # `Media.bytes` hides the builtin inside its class


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class Text(Value):
    """Hold a run of text inside a message that has more than text.

    Args:
        text: The text, kept as it is.
        metadata: Cache marks, citations and the like.

    >>> Text("Look here:")
    Text('Look here:')
    """

    text: str
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        _freeze_part(self)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class Reasoning(Value):
    """Hold what a model thought before it answered.

    Args:
        text: The thoughts, or ``""`` where the vendor keeps them encrypted.
        metadata: The vendor's signature or encrypted form, which must go back as it came.

    >>> Reasoning("The user wants a joke.", metadata={"signature": "c2ln"}).text
    'The user wants a joke.'
    """

    text: str = ""
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        _freeze_part(self)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class Opaque(Value):
    """Hold a block that only one vendor understands, word for word; it goes back to that vendor alone.

    Args:
        vendor: The wire format it came from, for example ``anthropic``.
        payload: The block itself.

    >>> Opaque("anthropic", {"type": "server_tool_use", "id": "s1"}).payload["id"]
    's1'
    """

    vendor: str
    payload: FrozenDict = field(hash=False, converter=freeze_mapping)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "vendor", exact_str(self.vendor, "Opaque.vendor"))
        if not self.vendor:
            raise PromptError("Opaque.vendor is empty: name the wire format that the block came from")
        object.__setattr__(self, "payload", freeze_mapping(self.payload, "Opaque.payload"))
        settle(self)


def _freeze_part(part: Text | Reasoning) -> None:
    kind = type(part).__name__
    if type(part.text) is not str:
        object.__setattr__(part, "text", exact_str(part.text, f"{kind}.text"))
    settle(part)


_TYPES_BY_ENDING = {
    "aac": "audio/aac", "avi": "video/x-msvideo", "bmp": "image/bmp", "csv": "text/csv", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "flac": "audio/flac",
    "flv": "video/x-flv", "gif": "image/gif", "heic": "image/heic", "heif": "image/heif", "htm": "text/html",
    "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json", "m4a": "audio/mp4",
    "md": "text/markdown", "mkv": "video/x-matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
    "mpeg": "video/mpeg", "mpg": "video/mpeg", "ogg": "audio/ogg", "opus": "audio/opus", "pdf": "application/pdf",
    "png": "image/png", "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain", "wav": "audio/wav",
    "webm": "video/webm", "webp": "image/webp", "wmv": "video/x-ms-wmv", "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
    "yaml": "application/yaml", "yml": "application/yaml", "3gp": "video/3gpp", "avif": "image/avif",
}  # fmt: skip
# Names from the IANA media type registry. The standard library's table is left out: it reads files of the machine.

_MAGIC: tuple[tuple[bytes, int, int, bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, 0, b"", "image/png"),
    (b"\xff\xd8\xff", 0, 0, b"", "image/jpeg"),
    (b"GIF87a", 0, 0, b"", "image/gif"),
    (b"GIF89a", 0, 0, b"", "image/gif"),
    (b"RIFF", 8, 12, b"WEBP", "image/webp"),
    (b"RIFF", 8, 12, b"WAVE", "audio/wav"),
    (b"RIFF", 8, 12, b"AVI ", "video/x-msvideo"),
    (b"BM", 6, 10, b"\0\0\0\0", "image/bmp"),
    (b"%PDF-", 0, 0, b"", "application/pdf"),
    (b"ID3", 0, 0, b"", "audio/mpeg"),
    (b"\xff\xfb", 0, 0, b"", "audio/mpeg"),
    (b"\xff\xf3", 0, 0, b"", "audio/mpeg"),
    (b"OggS", 0, 0, b"", "audio/ogg"),
    (b"fLaC", 0, 0, b"", "audio/flac"),
    (b"", 4, 11, b"ftypM4A", "audio/mp4"),
    (b"", 4, 10, b"ftypqt", "video/quicktime"),
    (b"", 4, 11, b"ftyphei", "image/heic"),
    (b"", 4, 12, b"ftypmif1", "image/heif"),
    (b"", 4, 11, b"ftypavi", "image/avif"),
    (b"", 4, 10, b"ftyp3g", "video/3gpp"),
    (b"", 4, 8, b"ftyp", "video/mp4"),
    (b"\x1a\x45\xdf\xa3", 4, 64, b"matroska", "video/x-matroska"),
    (b"\x1a\x45\xdf\xa3", 4, 64, b"webm", "video/webm"),
)
# How a file begins, and what stands between two offsets of it; as the formats' own specifications say.


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class Media(Value):
    """Hold an image, a sound, a film or a document: as bytes, by URL, or by a vendor's file id.

    Exactly one source is given. A ``data:`` URL is decoded at once. `from_path` and `from_base64` read other forms.

    Args:
        data: The bytes; a ``bytes`` object is kept, not copied.
        mime_type: The media type; found in the bytes or in the name when left out. ``image/*`` (and the like) says
            the kind of a URL whose exact type nobody knows.
        url: An absolute URL that the vendor will fetch; promptkit never does.
        file_id: The id of a file that the vendor already has.
        name: A file name.
        id: An id of your own.

    Raises:
        PromptError: No source or two, empty or wrong data, a type that is missing and cannot be told.

    >>> Media(b"%PDF-1.7").mime_type
    'application/pdf'
    """

    data: Bytes | None = None
    mime_type: str | None = None
    url: str | None = field(default=None, kw_only=True)
    file_id: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        texts = ("mime_type", "url", "file_id", "name", "id")
        settle(self, *texts)
        if empty := [name for name in texts if getattr(self, name) == ""]:
            raise PromptError(f"Media.{empty[0]} is empty; leave out what is not known")
        if self.url is not None and self.url[:5].lower() == "data:":
            self._decode_data_url(self.url)
        given = [name for name in ("data", "url", "file_id") if getattr(self, name) is not None]
        if len(given) != 1:
            raise PromptError(f"Media takes exactly one of data, url and file_id, not {' and '.join(given) or 'none'}")
        if self.data is not None:
            object.__setattr__(self, "data", _checked_bytes(self.data))
        if self.url is not None and "://" not in self.url:
            raise PromptError(
                f"Media.url must be an absolute URL, not {shown(self.url)}; see Media.from_path for files"
            )
        object.__setattr__(self, "mime_type", self._known_type())

    def _decode_data_url(self, url: str) -> None:
        if self.data is not None:
            raise PromptError("Media takes exactly one of data and url, not both")
        mime_type, data = _split_data_url(url)
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "url", None)
        object.__setattr__(self, "mime_type", self.mime_type or mime_type)

    def _known_type(self) -> str | None:
        if self.mime_type is not None:
            name, semicolon, parameters = self.mime_type.partition(";")
            name = name.strip().lower()
            if not all(name.partition("/")) or len(name.split()) != 1:
                raise PromptError(f"Media.mime_type must look like 'image/png', not {shown(self.mime_type)}")
            return name + semicolon + parameters
        found = None if self.data is None else _type_of_bytes(self.data)
        found = found or _type_of_name(self.name) or _type_of_name(self.url)
        if found is None and self.file_id is None:
            raise PromptError(
                "Media needs a mime_type: neither the bytes nor the name tell it; say mime_type='image/png'"
            )
        return found

    @classmethod
    def from_path(cls, path: Any, mime_type: str | None = None, *, metadata: Mapping[str, Any] = EMPTY) -> Self:
        """Read a file now; its name and bytes tell the type.

        Args:
            path: A ``str`` or path object.

        Raises:
            PromptError: The file cannot be read or is empty.
        """
        from pathlib import Path

        try:
            file = Path(path)
            data = file.read_bytes()
        except (OSError, TypeError, ValueError) as error:
            raise PromptError(f"the media file {shown(path)} cannot be read: {error}") from error
        return cls(data, mime_type, name=file.name, metadata=metadata)

    @classmethod
    def from_base64(
        cls, text: str, mime_type: str | None = None, *, name: str | None = None, metadata: Mapping[str, Any] = EMPTY
    ) -> Self:
        """Decode base64 text, strictly.

        Raises:
            PromptError: It is not base64, or empty.
        """
        return cls(_decode_base64(text), mime_type, name=name, metadata=metadata)

    @property
    def kind(self) -> str:
        """Tell what it is: ``image``, ``audio``, ``video``, or ``document`` for all else."""
        family = (self.mime_type or "").partition("/")[0]
        return family if family in ("image", "audio", "video") else "document"

    @property
    def bytes(self) -> Bytes:
        """Give the bytes.

        Raises:
            PromptError: The media is a URL or a file id: promptkit fetches nothing.
        """
        if self.data is None:
            source = f"the file id {shown(self.file_id)}" if self.url is None else f"the URL {shown(self.url)}"
            raise PromptError(f"media given by {source} has no bytes here; load them and give data=…")
        return self.data

    @property
    def base64(self) -> str:
        """Give the bytes as base64 text; see `bytes`."""
        from base64 import b64encode

        return b64encode(self.bytes).decode("ascii")

    @property
    def data_uri(self) -> str:
        """Give the bytes as a ``data:`` URI; see `bytes`."""
        return f"data:{self.mime_type};base64,{self.base64}"

    def __repr__(self) -> str:
        """Show where the media comes from, never its bytes."""
        shown = [] if self.data is None else [f"<{len(self.data)} bytes>"]
        shown.append(repr(self.mime_type) if shown else f"mime_type={self.mime_type!r}")
        names = ("file_id", "name", "id")
        shown += [f"{name}={value!r}" for name in names if (value := getattr(self, name)) is not None]
        if self.url is not None:
            shown.append(f"url={self.url[:200]!r}")
        if self.metadata:
            shown.append(f"metadata={self.metadata!r}")
        return f"Media({', '.join(shown)})"


def _checked_bytes(data: object) -> Bytes:
    if not isinstance(data, Bytes | bytearray | memoryview):
        raise PromptError(
            f"Media.data must be bytes, not {type(data).__name__}; see Media.from_path and Media.from_base64"
        )
    if type(data) is not Bytes:
        data = Bytes(memoryview(data))
    if not data:
        raise PromptError("Media.data is empty")
    return data


def _decode_base64(text: object) -> Bytes:
    from base64 import b64decode
    from binascii import Error

    try:
        return b64decode(text, validate=True)  # type: ignore[arg-type]
    except (Error, ValueError, TypeError) as error:
        raise PromptError(f"the media data is not base64: {error}") from None


def _split_data_url(url: str) -> tuple[str | None, Bytes]:
    from urllib.parse import unquote_to_bytes

    head, comma, body = url[5:].partition(",")
    mime_type, *parameters = [part.strip().lower() for part in head.split(";")]
    if not comma:
        raise PromptError(f"{shown(url)} is not a data URL: it has no comma before its data")
    try:
        data = unquote_to_bytes(body)
    except UnicodeEncodeError:
        raise PromptError("the data URL holds a lone surrogate") from None
    if "base64" in parameters:
        return mime_type or None, _decode_base64(data)
    return mime_type or "text/plain", data


def _type_of_bytes(data: Bytes) -> str | None:
    for start, begin, end, inside, mime_type in _MAGIC:
        if data.startswith(start) and inside in data[begin:end]:
            return mime_type
    return None


def _type_of_name(name: str | None) -> str | None:
    if name is None:
        return None
    path = name.partition("?")[0].partition("#")[0]
    return _TYPES_BY_ENDING.get(path.rpartition("/")[2].rpartition(".")[2].lower())


Part = Text | Media | Reasoning | Opaque
"""One part of a message."""

Content = str | tuple[Part, ...]
"""What a message holds: text, or parts in order."""

ContentLike = str | Part | Iterable[str | Part]
"""What a message is built from."""


def freeze_content(value: ContentLike) -> Content:
    """Bring content to its one form: ``str``, or a tuple of parts.

    A single `Text` without metadata becomes its ``str``; a ``str`` among parts becomes a `Text`.

    Raises:
        PromptError: It is ``None``, or something in it is no part.
    """
    if isinstance(value, str):
        return str.__str__(value)
    parts = tuple([Text(part) if isinstance(part, str) else part for part in tuple_of(str | Part, value, "content")])
    if len(parts) == 1 and type(parts[0]) is Text and not parts[0].metadata:
        return parts[0].text
    return parts


def freeze_optional_content(value: ContentLike | None) -> Content | None:
    """Bring content that may be absent to its one form; see `freeze_content`."""
    return None if value is None else freeze_content(value)


def content_text(content: Content) -> str:
    """Join the text of content: its `Text` parts one after the other, nothing between them."""
    if isinstance(content, str):
        return content
    return "".join([part.text for part in content if isinstance(part, Text)])
