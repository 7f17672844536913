"""Type-check what users write: snippets with their expected errors, README blocks and examples, by two checkers.

A line of `tests/typing/*.py` says what it must be refused for:
``Prompt(3)  # expect: mypy=arg-type pyright=reportArgumentType``; a checker may say more about that line, and every
other line must pass. README blocks and examples must pass whole. mypy runs with promptkit's plugin.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests import readme

TESTS = Path(__file__).parent
SNIPPETS = sorted((TESTS / "typing").rglob("*.py"))
Errors = dict[tuple[str, int], dict[str, str]]
"""The checker's messages by code, by file in the workspace and line."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay what is checked into one folder outside the project, as a user's code is."""
    folder = tmp_path_factory.mktemp("typing")
    shutil.copytree(TESTS / "typing", folder / "snippets", ignore=shutil.ignore_patterns("__pycache__"))
    if (TESTS.parent / "examples").exists():
        shutil.copytree(TESTS.parent / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name, program in readme.programs().items():
        (folder / f"readme_{name}.py").write_text(program, "utf-8")
    return folder


def check(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "MYPYPATH": "examples"}  # a program imports what stands beside it
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout


def run_mypy(folder: Path) -> Errors:
    (folder / "mypy.ini").write_text("[mypy]\nplugins = promptkit.mypy_plugin\n", "utf-8")
    options = ("--strict", "--output=json", "--explicit-package-bases", "--namespace-packages")
    cache = f"--cache-dir={TESTS.parent / '.mypy_cache' / 'snippets'}"
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py"))
    found = [json.loads(line) for line in check(folder, "mypy", *options, cache, *files).splitlines()]
    return by_line(
        (each["file"], each["line"], each["code"], each["message"]) for each in found if each["severity"] == "error"
    )


def run_pyright(folder: Path) -> Errors:
    (folder / "pyrightconfig.json").write_text(
        '{"typeCheckingMode": "strict", "reportUnusedExpression": false}', "utf-8"
    )
    output = check(folder, "pyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(output)["generalDiagnostics"]
    return by_line(
        (file, each["range"]["start"]["line"] + 1, each.get("rule", "syntax"), each["message"])
        for each in found
        if each["severity"] == "error" and (file := str(Path(each["file"]).relative_to(folder)))
    )


def by_line(found: Iterable[tuple[str, int, str, str]]) -> Errors:
    errors: Errors = {}
    for file, line, code, message in found:
        errors.setdefault((file, line), {})[code] = message
    return errors


def expected(checker: str) -> Errors:
    pattern = re.compile(rf"# expect:.*\b{checker}=([\w-]+)")
    return by_line(
        (f"snippets/{path.relative_to(TESTS / 'typing')}", number, match[1], "is expected")
        for path in SNIPPETS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if (match := pattern.search(line))
    )


@pytest.mark.parametrize(("checker", "run"), [("mypy", run_mypy), ("pyright", run_pyright)], ids=["mypy", "pyright"])
def test_what_users_write_type_checks(checker: str, run: Callable[[Path], Errors], workspace: Path) -> None:
    wanted, found = expected(checker), run(workspace)
    surprises = {place: errors for place, errors in found.items() if not wanted.get(place, {}).keys() & errors.keys()}
    silent = {place: errors for place, errors in wanted.items() if place not in found}

    assert not surprises, listing(surprises)
    assert not silent, listing(silent)


def listing(errors: Errors) -> str:
    return "\n".join(f"{file}:{line} {codes}" for (file, line), codes in sorted(errors.items()))
