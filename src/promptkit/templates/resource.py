"""Read text from files and packages, to be used as a template or as a variable."""

from __future__ import annotations

from os import PathLike, fspath

from attrs import field, frozen

from promptkit._frozen import Value, shown
from promptkit.errors import TemplateError, TemplateNotFoundError

__all__ = ["TextResource"]


def _location(value: str | PathLike[str]) -> str:
    location = fspath(value) if isinstance(value, PathLike) else value
    if not isinstance(location, str) or not location:
        raise TemplateError(f"TextResource needs a path, or a package and a resource name, not {shown(value)}")
    return location


@frozen(repr=False)
class TextResource(Value):
    """Hold the text of a file, or of a resource inside a package: read once, when it is made.

    It stands where a template's text stands, and as the value of a variable prints its text, which is never parsed.
    A bare `Path` prints as its path. A byte order mark at the start is dropped; line endings stay.

    Args:
        location: The file's path; with ``resource``, the package's dotted name.
        resource: The file inside the package, with ``/`` between folders.
        encoding: The text's encoding.

    Raises:
        TemplateNotFoundError: There is no such file, package or resource.
        TemplateError: The text does not follow the encoding, or the name leaves the package.

    >>> TextResource("promptkit", "py.typed").text
    ''
    """

    location: str = field(converter=_location)
    resource: str | None = None
    encoding: str = field(default="utf-8", kw_only=True)
    text: str = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for name, value in (("resource", self.resource or ""), ("encoding", self.encoding)):
            if not isinstance(value, str):
                raise TemplateError(f"TextResource.{name} must be a str, not {shown(value)}")
        data = _read_file(self.location) if self.resource is None else _read_resource(self.location, self.resource)
        try:
            text = data.decode(self.encoding)
        except (UnicodeError, LookupError) as error:
            raise TemplateError(f"the text of {self.name!r} is not {self.encoding}: {error}") from None
        object.__setattr__(self, "text", text.removeprefix("\ufeff"))

    @property
    def name(self) -> str:
        """The place it was read from, for people."""
        return self.location if self.resource is None else f"{self.location}:{self.resource}"

    def __str__(self) -> str:
        return self.text


def _read_file(location: str) -> bytes:
    from pathlib import Path

    try:
        return Path(location).read_bytes()
    except (OSError, ValueError) as error:
        raise TemplateNotFoundError(f"the text file {location!r} cannot be read: {error}") from error


def _read_resource(package: str, name: str) -> bytes:
    from importlib.resources import files
    from pathlib import PurePosixPath

    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name:
        raise TemplateError(f"the resource name {name!r} leaves its package {package!r}; name a file inside it")
    try:
        return files(package).joinpath(*path.parts).read_bytes()
    except (OSError, ImportError, TypeError, ValueError) as error:
        raise TemplateNotFoundError(f"the package {package!r} has no readable text {name!r}: {error}") from error
