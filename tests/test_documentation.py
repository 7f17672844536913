"""Run what the documentation shows: doctests, README blocks, examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import promptkit
from tests import readme
from tests.test_public_api import MODULES

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAMS = [
    *sorted(path for path in EXAMPLES.glob("*.py") if not path.name.startswith("_")),
    *sorted(path.parent for path in EXAMPLES.glob("*/__main__.py")),
]
SECONDS = 120
"""Time that an example may take, with the embedded model on a busy machine."""
EXAMPLE_LINES = 40


def run(program: Path, folder: Path) -> str:
    """Run a program as a user would, in an empty folder, and give what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert not done.returncode, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("name", MODULES)
def test_doctests_hold(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    output: list[str] = []
    for case in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(case, out=output.append)

    assert not runner.failures, "".join(output)


@pytest.mark.parametrize("name", [name for name in promptkit.__all__ if inspect.isclass(getattr(promptkit, name))])
def test_public_classes_show_an_example(name: str) -> None:
    value = getattr(promptkit, name)

    assert is_exempt(value) or ">>> " in value.__doc__


def is_exempt(value: type) -> bool:
    """Say whether a class is raised by others or only describes what others are."""
    return issubclass(value, BaseException) or inspect.isabstract(value) or getattr(value, "_is_protocol", False)


@pytest.mark.parametrize("name", readme.programs())
def test_readme_runs(name: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(readme.programs()[name], "utf-8")

    run(program, tmp_path)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_examples_run(program: Path, tmp_path: Path) -> None:
    assert run(program, tmp_path)


@pytest.mark.parametrize("program", sorted(EXAMPLES.glob("[0-9]*.py")), ids=lambda path: path.name)
def test_numbered_examples_are_short(program: Path) -> None:
    assert len(program.read_text("utf-8").splitlines()) <= EXAMPLE_LINES
