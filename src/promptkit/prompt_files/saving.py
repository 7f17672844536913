"""Write prompt files back: what is not changed stays as it is, comments and order too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any

from promptkit._frozen import shown, thaw
from promptkit.errors import TemplateError
from promptkit.options import UNSET
from promptkit.prompt_files._reading import Folder, read_text
from promptkit.prompt_files._yaml import load_yaml_library, read_yaml
from promptkit.prompt_files.loading import draft_prompt, name_of, split_front_matter
from promptkit.prompt_files.template import NamedPromptTemplate

__all__ = ["edit_prompt", "save_prompt"]


def save_prompt(
    path: str | PathLike[str],
    changes: Mapping[str, Any],
    *,
    body: str | None = None,
    root: str | PathLike[str] | None = None,
) -> NamedPromptTemplate:
    """Change a prompt file in place, and give its new template.

    The new text is read before it takes the place of the old one, in one step: a mistake leaves the file as it was.

    Args:
        path: The file.
        changes: What the front matter says anew, by key; a mapping changes keys inside, `UNSET` removes.
        body: The new text below the front matter.
        root: The folder that partials are named from; that of the file without it.

    Raises:
        TemplateError: The new text has a mistake, or the file cannot be written.
    """
    file = Path(path)
    old = read_text(file, str(file))
    new = edit_prompt(old, changes, body=body, name=str(file))
    template = draft_prompt(new, str(file), Folder(file.parent if root is None else Path(root))).template(
        name_of(file.name)
    )
    _replace(file, new.replace("\n", "\r\n") if b"\r\n" in file.read_bytes()[:10_000] else new)
    return template


def _replace(file: Path, text: str) -> None:
    import os
    import tempfile

    target = file.resolve()  # a link goes on to point at the file
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(target.stat().st_mode & 0o777)
        os.replace(temporary, target)  # noqa: PTH105 - Path.replace names the target first, and reads the wrong way
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise TemplateError(f"the file {str(file)!r} cannot be written: {error.strerror}") from error


def edit_prompt(text: str, changes: Mapping[str, Any], *, body: str | None = None, name: str | None = None) -> str:
    r"""Give the text of a prompt file with some changes.

    Args:
        text: The text of the file.
        changes: See `save_prompt`.
        body: The new text below the front matter.
        name: The file, for errors.

    Raises:
        TemplateError: The front matter is no mapping, or breaks YAML.

    >>> print(edit_prompt("---\nversion: 1 # the first\n---\nHi", {"version": "2"}))
    ---
    version: '2' # the first
    ---
    Hi
    """
    front, old_body, above = split_front_matter(text, name)
    value = read_yaml(front, name, above=1).value if above else None
    if not isinstance(value, dict | None):
        raise TemplateError(f"the front matter must be a mapping, not {shown(value)}", template_name=name)
    if changes:
        front = _edited(front, changes)
    if not front.strip() and not above:
        return old_body if body is None else body
    return f"---\n{front}---\n{old_body if body is None else body}"


def _edited(front: str, changes: Mapping[str, Any]) -> str:
    yaml = load_yaml_library().YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000  # no line is folded that the author did not fold
    if re.search(r"^( *)\S.*:[ \t]*(?:#.*)?\n\1  +- ", front, re.MULTILINE):
        yaml.indent(mapping=2, sequence=4, offset=2)
    data = yaml.load(front)
    comments = front if data is None else ""
    data = {} if data is None else data
    _lay_over(data, changes)
    out = StringIO()
    yaml.dump(data, out)
    return comments + out.getvalue()


def _lay_over(data: Any, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if not isinstance(key, str):
            raise TemplateError(f"the keys of the changes must be str, not {shown(key)}")
        if value is UNSET:
            data.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(data.get(key), Mapping):
            _lay_over(data[key], value)
        else:
            data[key] = thaw(value)
