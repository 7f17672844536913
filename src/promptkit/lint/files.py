"""Check files and folders: find what there is to check, and leave out what is to be ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from promptkit.errors import TemplateError, TemplateNotFoundError
from promptkit.lint.findings import CODES, Finding
from promptkit.lint.programs import check_program_text
from promptkit.lint.prompts import check_prompt_text
from promptkit.prompt_files._reading import Folder, read_text
from promptkit.prompt_files.loading import SUFFIX, split_front_matter

__all__ = ["Report", "check_paths"]

_SKIPPED = frozenset(("__pycache__", "build", "dist", "node_modules", "site-packages", "venv"))
_IGNORE = re.compile(r"#\s*promptkit:\s*ignore(?:\[(?P<codes>[A-Z0-9, ]*)\])?")


class Report(NamedTuple):
    """Hold what was found, and in how many files it was looked for."""

    findings: tuple[Finding, ...]
    files: int


def check_paths(
    paths: Iterable[str | PathLike[str]],
    *,
    ignore: Iterable[str] = (),
    root: str | PathLike[str] | None = None,
    context: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Check prompt files and Python programs.

    A comment ``# promptkit: ignore[PK202]`` leaves out findings: in a program those of its line, in the front matter of
    a prompt file those of the file; without brackets it is all of them.

    Args:
        paths: Files, and folders to look for ``*.prompt.md`` and ``*.py`` in; hidden ones and installed packages are
            left out.
        ignore: Codes to leave out; see `codes_of`.
        root: The folder that partials are named from; else the folder among ``paths`` that a file stands in, or its own.
        context: The size of the model's context in tokens, where the files do not say which model it is.
        progress: Is told the number of files that are done.

    Raises:
        TemplateNotFoundError: A path is not there.
    """
    left_out = frozenset(ignore)
    findings: list[Finding] = []
    count = 0
    for file, folder in _files(paths):
        home = folder if root is None else Path(root)
        findings += [one for one in _check_file(file, home, context) if one.code not in left_out]
        count += 1
        if progress is not None:
            progress(count)
    return Report(tuple(sorted(set(findings))), count)


def _files(paths: Iterable[str | PathLike[str]]) -> Iterator[tuple[Path, Path]]:
    """Give each file once, with the folder that its partials are named from."""
    seen: set[Path] = set()
    for given in map(Path, paths):
        try:
            found = sorted(_below(given)) if given.is_dir() else [given]
            missing = not found or (found == [given] and not given.exists())
        except (OSError, ValueError) as error:
            raise TemplateNotFoundError(f"the path {str(given)!r} cannot be read: {error}") from None
        if missing and not given.is_dir():
            raise TemplateNotFoundError(f"there is no file or folder {str(given)!r}")
        for file in found:
            key = file.absolute()
            if key not in seen:
                seen.add(key)
                yield file, given if given.is_dir() else file.parent


def _below(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        for entry in waiting.pop().iterdir():
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            if entry.is_dir():
                if not entry.is_symlink() and not (entry / "pyvenv.cfg").exists():
                    waiting.append(entry)
            elif entry.name.endswith((SUFFIX, ".py")):
                yield entry


def _check_file(file: Path, folder: Path, context: int | None) -> list[Finding]:
    label = str(file)
    try:
        text = read_text(file, label)
    except TemplateError as error:
        return [Finding(label, error.line or 1, 1, "PK101", str(error.args[0]))]
    if file.suffix == ".py":
        lines = text.split("\n")
        found = check_program_text(text, label, context=context)
        return [one for one in found if one.code not in _ignored(lines[one.line - 1] if one.line <= len(lines) else "")]
    found = check_prompt_text(text, label, Folder(folder), context=context)
    try:
        ignored = _ignored(split_front_matter(text, label)[0])
    except TemplateError:
        ignored = frozenset()
    return [one for one in found if one.code not in ignored]


def _ignored(text: str) -> frozenset[str]:
    found = list(_IGNORE.finditer(text))
    if any(one["codes"] is None for one in found):
        return frozenset(CODES)
    return frozenset(code.strip() for one in found for code in one["codes"].split(","))
