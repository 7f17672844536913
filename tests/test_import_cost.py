"""Hold the causes of a slow import: which modules are loaded and how many attrs classes are built."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from attrs import frozen

from tests.test_architecture import EAGER, SOURCES, is_below

MESSAGES_AND_TEMPLATES = (
    "from promptkit import PromptTemplate, ChatPromptTemplate, SystemMessage, UserMessage, Prompt, ChatOptions"
)
HEAVY = {
    *(
        "anthropic",
        "asyncio",
        "google.genai",
        "http.client",
        "jinja2",
        "langchain_core",
        "logging",
        "msgspec",
        "openai",
    ),
    *("pathlib", "psycopg", "pydantic", "redis", "sqlite3", "tiktoken", "urllib.request", "xllamacpp"),
}
MAX_ATTRS_CLASSES = 35
MAX_MODULES = 30
"""Modules of our own that the message and template names load."""

PROBE = """
import json, sys
from attr import _make
import attrs

built = []
build = _make._ClassBuilder.build_class
_make._ClassBuilder.build_class = lambda self: built.append(self._cls.__qualname__) or build(self)
before = set(sys.modules)
exec(sys.argv[1])
after = set(sys.modules)
print(json.dumps({"present": sorted(after), "loaded": sorted(after - before), "built": built}))
"""


@frozen
class Cost:
    """Hold what was loaded after a statement, what of it by the statement, and the attrs classes it built."""

    present: set[str]
    loaded: set[str]
    built: list[str]

    @property
    def ours(self) -> list[str]:
        return sorted(name for name in self.loaded if name.partition(".")[0] == "promptkit")

    @property
    def theirs(self) -> set[str]:
        return {name.partition(".")[0] for name in self.loaded} - {"promptkit"} - sys.stdlib_module_names


def cost(statement: str) -> Cost:
    """Run a statement in a fresh interpreter."""
    # Measured coverage would load modules of its own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, "-c", PROBE, statement], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    return Cost(set(found["present"]), set(found["loaded"]), found["built"])


def test_the_package_alone_loads_nothing() -> None:
    alone = cost("import promptkit")

    assert alone.ours == ["promptkit"]
    assert not alone.theirs
    assert alone.built == []


def test_message_and_template_names_load_attrs_and_our_modules_only() -> None:
    names = cost(MESSAGES_AND_TEMPLATES)

    assert not names.present & HEAVY
    assert not names.theirs
    assert len(names.ours) <= MAX_MODULES, names.ours


def test_message_and_template_names_build_few_attrs_classes() -> None:
    names = cost(MESSAGES_AND_TEMPLATES)

    assert len(names.built) <= MAX_ATTRS_CLASSES, names.built


def test_a_module_loads_no_package_that_its_user_may_not_need() -> None:
    derived = {name for package, parts in EAGER.items() if package != "attrs" for name in parts}
    # B174 of the bug reports: heavy packages are installed here, and none is loaded before its first use.
    names = [name for name in SOURCES if name != "__main__" and not any(is_below(name, part) for part in derived)]

    early = cost("\n".join(f"import promptkit.{name}".rstrip(".") for name in names))

    assert not early.theirs
