"""Read files below a root: small ones, UTF-8, and none that leaves the root."""

from __future__ import annotations

from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from attrs import frozen

from promptkit.errors import TemplateError, TemplateNotFoundError

__all__ = ["MAX_BYTES", "Entry", "Folder", "read_text"]

MAX_BYTES = 1_000_000
"""Largest file that is read, and longest text that includes may make of it, in bytes and characters."""


Entry = Path | Traversable
"""A file or a folder, of the disk or of a package."""


def read_text(file: Entry, name: str) -> str:
    r"""Read a file's text, without a byte order mark, each ``\r\n`` as ``\n``.

    Raises:
        TemplateNotFoundError: It cannot be read.
        TemplateError: It is too large, or not UTF-8.
    """
    try:
        if isinstance(file, Path):
            with file.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        else:
            data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise TemplateNotFoundError(f"the file {name!r} cannot be read: {_reason(error)}") from error
    if len(data) > MAX_BYTES:
        raise TemplateError(
            f"the file {name!r} is larger than {MAX_BYTES:,} bytes; a prompt is not", template_name=name
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8: {error.reason} at byte {error.start}; save it as UTF-8"
        raise TemplateError(message, template_name=name, line=line) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


@frozen
class Folder:
    """Hold the root that names of files are relative to, and that none of them leaves."""

    root: Entry

    def find(self, name: str) -> Entry:
        """Give the file of a relative name.

        Raises:
            TemplateError: The name leaves the folder.
            TemplateNotFoundError: There is no such file.
        """
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or not set(name).isdisjoint("\\:\0"):
            raise TemplateError(f"the file name {name!r:.80} leaves its folder; name a file inside it")
        file = self.root.joinpath(*path.parts)
        if not self.holds(file):
            raise TemplateError(f"the file {name!r:.80} is a link that leaves its folder; copy the file")
        try:
            found = file.is_file()
        except OSError:
            found = False
        if not found:
            raise TemplateNotFoundError(f"there is no file {name!r:.80} in the folder of the prompts")
        return file

    def holds(self, file: Entry) -> bool:
        """Tell whether a file is inside, also when links are followed."""
        if not (isinstance(file, Path) and isinstance(self.root, Path)):
            return True
        try:
            return file.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):
            return False
