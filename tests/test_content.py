from __future__ import annotations

import copy
import pickle
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text, content_text, freeze_content
from promptkit.errors import PromptError
from tests import strategies

PNG = b"\x89PNG\r\n\x1a\n"


class Name(str):
    """A str of a user's own."""

    __slots__ = ()


@given(strategies.parts())
def test_parts_are_values(part: Part) -> None:
    again: Any = pickle.loads(pickle.dumps(part))

    assert again == copy.deepcopy(part) == part.mutate() == part
    assert hash(again) == hash(part)
    with pytest.raises(AttributeError):
        part.metadata = {}  # type: ignore[misc,assignment]


@given(strategies.contents())
def test_content_has_one_form(content: Content) -> None:
    assert freeze_content(content) == content
    assert freeze_content(list(content) if isinstance(content, tuple) else content) == content
    assert hash(content) == hash(freeze_content(content))


@pytest.mark.parametrize(
    ("given_content", "content"),
    [
        ("hi", "hi"),
        (Name("hi"), "hi"),
        (["hi"], "hi"),
        (Text("hi"), "hi"),
        ([Text("hi")], "hi"),
        ([Text("hi", metadata={"k": 1})], (Text("hi", metadata={"k": 1}),)),
        (["a", "b"], (Text("a"), Text("b"))),
        (Media(PNG), (Media(PNG),)),
        (Reasoning("hm"), (Reasoning("hm"),)),
        (iter(["a", Media(PNG)]), (Text("a"), Media(PNG))),
        ([], ()),
    ],
    ids=strategies.label,
)
def test_content_is_text_or_parts(given_content: Any, content: Content) -> None:
    found = freeze_content(given_content)

    assert found == content
    assert type(found) in {str, tuple}


def broken() -> Iterator[str]:
    yield "a"
    raise OSError("the disk is gone")


def itself() -> list[Any]:
    parts: list[Any] = []
    parts.append(parts)
    return parts


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "^content must hold str or Text or Media or Reasoning or Opaque objects, not None$"),
        (b"hi", "^content must hold"),
        (5, "^content must hold"),
        ({"type": "text"}, "^content must hold"),
        (["a", None], r"^content\[1\] is no str or Text or Media or Reasoning or Opaque: None$"),
        ([{"type": "text"}], r"^content\[0\] is no "),
        (itself(), r"^content\[0\] is no "),
        (broken(), "^content cannot be read: OSError: the disk is gone$"),
    ],
    ids=strategies.label,
)
def test_what_is_no_content_is_refused(content: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        freeze_content(content)


def test_text_of_parts_is_joined_without_a_separator() -> None:
    assert content_text((Text("b"), Media(PNG), Reasoning("hm"), Text("c"))) == "bc"
    assert content_text("a") == "a"


@pytest.mark.parametrize("kind", [Text, Reasoning], ids=lambda kind: kind.__name__)
def test_text_is_a_str(kind: type[Text]) -> None:
    assert type(kind(Name("hi")).text) is str
    for wrong in (None, 5, b"hi", ["hi"]):
        with pytest.raises(PromptError, match=rf"^{kind.__name__}\.text must be a str, not "):
            kind(wrong)  # type: ignore[arg-type]
    with pytest.raises(PromptError, match=rf"^{kind.__name__}\.metadata must be a mapping, not None$"):
        kind("hi", metadata=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        kind("hi", {"k": 1})  # type: ignore[call-arg]


def test_an_opaque_block_names_its_vendor() -> None:
    block = {"type": "server_tool_use", "input": {"q": [1]}}
    opaque = Opaque("anthropic", block)
    block["type"] = "changed"

    assert opaque.payload == {"type": "server_tool_use", "input": {"q": [1]}}
    assert hash(opaque) == hash(Opaque("anthropic", {}))
    assert opaque != Opaque("anthropic", {})
    for vendor in ("", None, 5):
        with pytest.raises(PromptError, match=r"^Opaque\.vendor "):
            Opaque(vendor, {})  # type: ignore[arg-type]
    with pytest.raises(PromptError, match=r"^Opaque\.payload must be a mapping, not None$"):
        Opaque("anthropic", None)  # type: ignore[arg-type]


# Media


@given(st.binary(min_size=1, max_size=50))
def test_bytes_come_in_by_every_door(data: bytes) -> None:
    media = Media(data, "image/png")
    encoded = b64encode(data).decode()

    assert media.data is data
    assert media.base64 == encoded
    assert media.data_uri == f"data:image/png;base64,{encoded}"
    for same in (
        Media(bytearray(data), "image/png"),  # type: ignore[arg-type]
        Media(memoryview(data), "image/png"),  # type: ignore[arg-type]
        Media.from_base64(encoded, "image/png"),
        Media(url=media.data_uri),
        Media(url=f"DATA:Image/PNG;charset=binary;BASE64,{quote(encoded, safe='')}"),
        Media(url=f"data:image/png,{quote(data)}"),
    ):
        assert (same, hash(same), type(same.data)) == (media, hash(media), bytes)
    assert media != Media(data + b"x", "image/png")
    assert media != Media(data, "image/gif")


def test_a_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "cat.jpeg"
    file.write_bytes(b"\xff\xd8\xff\xe0")
    media = Media.from_path(file, metadata={"k": 1})
    file.unlink()

    assert media == Media(b"\xff\xd8\xff\xe0", "image/jpeg", name="cat.jpeg", metadata={"k": 1})
    for path in (file, tmp_path, "nul\0byte", None, 5):
        with pytest.raises(PromptError, match="cannot be read"):
            Media.from_path(path)
    file.touch()
    with pytest.raises(PromptError, match=r"^Media\.data is empty$"):
        Media.from_path(file)


RIFF = b"RIFF\x24\0\0\0"
MP4 = b"\0\0\0\x18"
EBML = b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88"


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe1", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (RIFF + b"WEBP", "image/webp"),
        (RIFF + b"WAVE", "audio/wav"),
        (RIFF + b"AVI LIST", "video/x-msvideo"),
        (b"BM\x36\0\0\0\0\0\0\0", "image/bmp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"ID3\4", "audio/mpeg"),
        (b"\xff\xfb\x90", "audio/mpeg"),
        (b"OggS\0", "audio/ogg"),
        (b"fLaC\0", "audio/flac"),
        (MP4 + b"ftypM4A ", "audio/mp4"),
        (MP4 + b"ftypqt  ", "video/quicktime"),
        (MP4 + b"ftypheic", "image/heic"),
        (MP4 + b"ftypmif1", "image/heif"),
        (MP4 + b"ftypavif", "image/avif"),
        (MP4 + b"ftyp3gp5", "video/3gpp"),
        (MP4 + b"ftypisom", "video/mp4"),
        (EBML + b"webm", "video/webm"),
        (EBML + b"matroska", "video/x-matroska"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bytes_tell_their_type(data: bytes, mime_type: str) -> None:
    assert Media(data).mime_type == Media(data, name="wrong.txt").mime_type == mime_type
    assert Media(data, "text/plain").mime_type == "text/plain"


@pytest.mark.parametrize("data", [b"BMW is a car", b"12345678WEBP", b"ftyp", b"who knows"])
def test_bytes_that_only_look_so_do_not_tell(data: bytes) -> None:
    assert Media(data, name="notes.TXT").mime_type == "text/plain"
    with pytest.raises(PromptError, match=r"^Media needs a mime_type: neither the bytes nor the name tell it"):
        Media(data)


@pytest.mark.parametrize(
    ("source", "mime_type", "kind"),
    [
        ({"url": "https://example.org/cat.PNG?size=1#top"}, "image/png", "image"),
        ({"url": "https://example.org/report.docx"}, None, "document"),
        ({"url": "https://example.org/a", "mime_type": "image/*"}, "image/*", "image"),
        ({"url": "gs://bucket/film.mov"}, "video/quicktime", "video"),
        ({"file_id": "file-1"}, None, "document"),
        ({"file_id": "file-1", "name": "a.wav"}, "audio/wav", "audio"),
        ({"data": b"x", "mime_type": " Text/Plain; charset=UTF-8"}, "text/plain; charset=UTF-8", "document"),
    ],
    ids=str,
)
def test_names_tell_the_type(source: dict[str, Any], mime_type: str | None, kind: str) -> None:
    media = Media(**source)

    assert mime_type is None or media.mime_type == mime_type
    assert media.kind == kind


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({}, "takes exactly one of data, url and file_id, not none"),
        ({"data": PNG, "url": "https://example.org/a.png"}, "not data and url"),
        ({"data": PNG, "url": "data:image/png;base64,AAAA"}, "not both"),
        ({"url": "data:image/png;base64,AAAA", "file_id": "f"}, "not data and file_id"),
        ({"url": "https://example.org/a.png", "file_id": "f"}, "not url and file_id"),
        ({"data": b"", "mime_type": "image/png"}, r"^Media\.data is empty$"),
        ({"data": "text", "mime_type": "image/png"}, r"^Media\.data must be bytes, not str; see Media\.from_path"),
        ({"data": 5, "mime_type": "image/png"}, "must be bytes, not int"),
        ({"url": "cat.png"}, r"^Media\.url must be an absolute URL, not 'cat\.png'; see Media\.from_path"),
        ({"url": ""}, r"^Media\.url is empty"),
        ({"url": 5}, r"^Media\.url must be a str, not 5$"),
        ({"url": "data:image/png;base64,===="}, "is not base64"),
        ({"url": "data:image/png;base64,"}, r"^Media\.data is empty$"),
        ({"url": "data:image/png;base64"}, "is not a data URL: it has no comma"),
        ({"url": "data:text/plain,\ud83e"}, "holds a lone surrogate"),
        ({"url": "data:;base64,AAAA"}, "needs a mime_type"),
        ({"file_id": ""}, r"^Media\.file_id is empty"),
        ({"data": PNG, "name": ""}, r"^Media\.name is empty"),
        ({"data": PNG, "metadata": None}, r"^Media\.metadata must be a mapping, not None$"),
        *[
            ({"data": PNG, "mime_type": wrong}, r"^Media\.mime_type must look like 'image/png', not ")
            for wrong in ("png", "/png", "image/", "image / png", ";", "image/png x")
        ],
    ],
    ids=str,
)
def test_media_without_one_sound_source_are_refused(source: dict[str, Any], words: str) -> None:
    with pytest.raises(PromptError, match=words):
        Media(**source)


@pytest.mark.parametrize("text", ["not base64", "AAA", "AAAA\n", "é", None, 5])
def test_base64_is_read_strictly(text: Any) -> None:
    with pytest.raises(PromptError, match=r"^the media data is not base64"):
        Media.from_base64(text, "image/png")


def test_media_elsewhere_have_no_bytes_here() -> None:
    for media, source in ((Media(url="https://example.org/a.png"), "the URL"), (Media(file_id="f"), "the file id 'f'")):
        for view in ("bytes", "base64", "data_uri"):
            with pytest.raises(PromptError, match=rf"^media given by {source}.* has no bytes here"):
                getattr(media, view)


@pytest.mark.parametrize(
    ("media", "shown"),
    [
        (Media(PNG * 10**6), "Media(<8000000 bytes>, 'image/png')"),
        (
            Media(PNG, name="a", id="1", metadata={"k": 1}),
            "Media(<8 bytes>, 'image/png', name='a', id='1', metadata={'k': 1})",
        ),
        (Media(file_id="f"), "Media(mime_type=None, file_id='f')"),
        (
            Media(url="https://e.org/" + "a" * 500, mime_type="image/*"),
            f"Media(mime_type='image/*', url='https://e.org/{'a' * 186}')",
        ),
    ],
    ids=["bytes", "all", "file", "url"],
)
def test_media_show_no_payload(media: Media, shown: str) -> None:
    assert repr(media) == shown
