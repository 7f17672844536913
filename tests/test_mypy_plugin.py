"""Run mypy with the plugin over programs that change: messages, the cache, other plugins, hostile text.

What is reported where is held by `tests/typing/plugin`, over which `tests/test_typing.py` runs as well. `make test-mypy`
runs this file with the oldest mypy that is supported.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIG = """
[mypy]
plugins = pydantic.mypy, promptkit.mypy_plugin
strict = True
[mypy-anthropic.*,google.*,jinja2.*,langchain_core.*,openai.*,psycopg.*,psycopg_pool.*,redis.*,tiktoken.*,xllamacpp.*]
follow_imports = skip
"""
LETTERS = """
from typing import ClassVar
from attrs import frozen
from promptkit import PromptTemplate, TypedPromptTemplate

LETTER = PromptTemplate("Dear {name}")

@frozen
class Letter(TypedPromptTemplate):
    template: ClassVar[str] = "Dear {name}"
    name: str
"""
SENDING = """
from attrs import frozen
from letters import LETTER, Letter

@frozen
class Reminder(Letter):
    pass

LETTER.create({"name": "Ada"})
Reminder("Ada").partial({"name": "Bob"})
"""
MESSAGES = r"""
from typing import ClassVar
from attrs import frozen
from promptkit import PromptTemplate, TypedPromptTemplate

order = PromptTemplate("{name} ordered {item} at {shop}.")
order.create({"nmae": "Ada", "item": "tea"})
order.create()
order.create({"name": "Ada", "item": "tea"})
PromptTemplate("Hi\n {name")

@frozen
class Letter(TypedPromptTemplate):
    template: ClassVar[str] = "Dear {nmae} of {place}"
    name: str
    tone: str = "plain"

Letter("Ada").partial({"tones": "loud"})
"""
EXPECTED = """
7: Missing template variable "shop"; given "nmae", "item"  [template-variables]
7: The template has no variable "nmae"; did you mean "name"?  [template-variables]
8: Missing template variables "name", "item", "shop"  [template-variables]
9: Missing template variable "shop"; given "name", "item"  [template-variables]
10: Expected '}' to end the tag, found the end of the template. To print '{' itself, write '\\{' in the template, or \
take such groups as text with literal_braces=True. (line 2, column 2)  [template-syntax]
14: "Letter" has no field for the placeholder "nmae"; did you mean "name"?  [template-fields]
14: "Letter" has no field for the placeholder "place"  [template-fields]
16: The template of "Letter" has no placeholder for the field "tone"  [template-fields]
18: The template has no field "tones"; did you mean "tone"?  [template-fields]
"""
OTHERS = """
from attrs import frozen
from pydantic import BaseModel
from promptkit import PromptTemplate

@frozen
class Point:
    x: int

class Order(BaseModel):
    item: str

Point(y=1)
Order(itme="tea")
PromptTemplate("{item}").create(Order(item="tea"))
PromptTemplate("{item}").create({"itme": Point(1)})
"""
HOSTILE = r"""
from typing import Any, ClassVar
from attrs import frozen
from promptkit import PromptTemplate, TypedPromptTemplate

PromptTemplate("{" * 100_000)
PromptTemplate("{a}" + "{if(a)}" * 60 + "{endif}" * 60)
PromptTemplate("{{ " + "(" * 300 + "a" + ")" * 300 + " }}", renderer="jinja")
PromptTemplate("{a}\ud800").create({"\ud800": 1, "\u202e": 2, "\n": 3})
PromptTemplate("{a}", renderer="none").create()
def unknown(options: Any) -> None: PromptTemplate("{a}", **options).create()
PromptTemplate(*["{a}"]).create()
PromptTemplate("{a}").create(*[{"a": 1}])

@frozen
class Letter(TypedPromptTemplate):
    template: ClassVar[str] = "Dear {name} \ud800\u202e"
    name: str

class Unfinished(TypedPromptTemplate):
    template: ClassVar[str]
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Mypy:
    folder = tmp_path_factory.mktemp("plugin")
    snippets = ROOT / "tests" / "typing" / "plugin"
    shutil.copytree(snippets, folder / "snippets" / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "mypy.ini").write_text(CONFIG, "utf-8")
    mypy = Mypy(folder, str(Path(request.config.getoption("--mypy") or sys.executable).absolute()))
    mypy.write(letters=LETTERS, sending=SENDING, messages=MESSAGES, others=OTHERS, hostile=HOSTILE)
    return mypy


class Mypy:
    """Run mypy over a folder, and remember what the first run said: all tests share it."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.python = python
        self._first: list[str] | None = None

    def write(self, **modules: str) -> None:
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(text, "utf-8")

    def run(self) -> list[str]:
        options = ("--explicit-package-bases", "--namespace-packages", "--no-error-summary", "--hide-error-context")
        files = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.py"))
        # The cache outlives the test run, as the user's does; the plugin's code and the files' are part of its key.
        command = [self.python, "-m", "mypy", f"--cache-dir={ROOT / '.mypy_cache' / 'plugin'}", *options, *files]
        environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment)
        assert done.returncode == 1, done.stdout + done.stderr
        assert not done.stderr
        found = [line.split(":", 2) for line in done.stdout.splitlines() if ": error: " in line]
        return [":".join(parts) for parts in sorted(found, key=lambda parts: (parts[0], int(parts[1]), parts[2]))]

    def first(self) -> list[str]:
        if self._first is None:
            self._first = self.run()
        return self._first

    def errors(self, module: str) -> list[str]:
        start = f"{module}.py:"
        return [line.removeprefix(start).replace(" error:", "") for line in self.first() if line.startswith(start)]


def test_snippets_are_judged(mypy: Mypy) -> None:
    found = {
        (match[1], int(match[2]), match[3])
        for line in mypy.first()
        if (match := re.fullmatch(r"snippets/plugin/(\w+\.py):(\d+): error: .*\[([\w-]+)\]", line))
    }
    wanted = {
        (path.name, number, match[1])
        for path in (mypy.folder / "snippets" / "plugin").glob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if (match := re.search(r"# expect: mypy=([\w-]+)", line))
    }

    assert found == wanted


def test_messages_name_what_is_wrong_and_what_was_meant(mypy: Mypy) -> None:
    assert mypy.errors("messages") == EXPECTED.strip().splitlines()


def test_the_readme_shows_what_is_said(mypy: Mypy) -> None:
    shown = re.findall(r"^shop.py:(\d+: )error: (.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)

    assert shown
    assert {line + message for line, message in shown} <= set(mypy.errors("messages"))


def test_other_plugins_go_on(mypy: Mypy) -> None:
    found = mypy.errors("others")

    assert [re.sub(r": .*  ", " ", line) for line in found] == [
        "13 [call-arg]",
        "14 [call-arg]",
        "16 [template-variables]",
    ]


def test_hostile_text_does_no_harm(mypy: Mypy) -> None:
    assert [re.sub(r": .*  ", " ", line) for line in mypy.errors("hostile")] == [
        "6 [template-syntax]",
        "7 [template-syntax]",
        "9 [template-variables]",
    ]
    assert r'"\u202e", "\n"' in mypy.errors("hostile")[2]


def test_a_run_from_the_cache_says_the_same(mypy: Mypy) -> None:
    assert mypy.run() == mypy.first()


def test_a_changed_text_is_held_against_cached_modules(mypy: Mypy) -> None:
    mypy.first()
    # Another size: within one second mypy takes files of one size for unchanged.
    mypy.write(letters=LETTERS.replace("{name}", "{names}").replace("    name: str", "    names: str"))
    changed = [line for line in mypy.run() if line.startswith("sending")]
    mypy.write(letters=LETTERS)

    assert changed == [
        'sending.py:9: error: The template has no variable "name"; did you mean "names"?  [template-variables]',
        'sending.py:10: error: The template has no field "name"; did you mean "names"?  [template-fields]',
    ]
    assert mypy.run() == mypy.first()


def test_the_oldest_mypy_is_the_one_that_is_declared() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    tested = re.search(r"^OLDEST_MYPY := mypy==(\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

    assert tested
    assert extras["mypy"] == [f"mypy>={tested[1]}"]
