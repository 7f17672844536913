"""Hold the shape of the project: who may import whom, how long things are, and what stands at the top."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "promptkit"

LAYERS = (
    {"errors", "_json", "_frozen"},
    {"content", "messages", "options", "prompt", "_joining", "response", "tokens"},
    {"renderers", "templates"},
    {"contracts"},
    {"serialization", "history", "_schema", "tools", "converters", "adapters"},
    {"models", "memory", "testing"},
    {"client", "prompt_files", "lint", "display"},
    {"cli", "mypy_plugin", "pytest_plugin", "__main__"},
)
"""Modules and folders, lowest first; an import points to a lower layer or along an arrow."""

ARROWS = {
    "_frozen": {"errors"},
    "_json": {"errors"},
    "messages": {"content"},
    "options": {"content", "messages"},
    "prompt": {"content", "messages", "options"},
    "_joining": {"content", "messages"},
    "response": {"_joining", "content", "messages", "options", "prompt"},
    "tokens": {"content", "messages", "options", "prompt"},
    "templates": {"renderers"},
    "tools": {"_schema"},
    "converters": {"_schema"},
    "adapters": {"_schema", "history", "serialization"},
    "lint": {"prompt_files"},
    "__main__": {"cli"},
}
"""Imports inside one layer."""

SEAMS = {
    ("renderers", "by_name"): "renderers",
    ("models.registry", "*"): "models",
    ("*", "_repr_html_"): "display",
    ("adapters.langchain", "__getattr__"): "adapters.langchain.interop",
}
"""Functions, by module and name, that may import our own modules, and below what; the root is the fifth seam."""

THIRD_PARTY = {
    "attrs": ("attrs", {"*"}),
    "jinja2": ("jinja2", {"renderers"}),
    "msgspec": ("msgspec", {"_schema"}),
    "pydantic": ("pydantic", {"_schema"}),
    "tiktoken": ("tiktoken", {"history"}),
    "tiktoken_ext": ("tiktoken", {"history"}),
    "psycopg": ("psycopg", {"memory"}),
    "psycopg_pool": ("psycopg", {"memory"}),
    "redis": ("redis", {"memory"}),
    "ruamel": ("ruamel.yaml", {"prompt_files"}),
    "click": ("click", {"cli"}),
    "mypy": ("mypy", {"mypy_plugin"}),
    "pytest": ("pytest", {"pytest_plugin"}),
    "syrupy": ("syrupy", {"pytest_plugin"}),
    "langchain_core": ("langchain-core", {"adapters.langchain"}),
    "xllamacpp": ("xllamacpp", {"models"}),
    "openai": ("openai", {"adapters", "models"}),
    "anthropic": ("anthropic", {"adapters", "models"}),
    "google": ("google-genai", {"adapters", "models"}),
    "httpx": ("google-genai", {"models"}),
}
"""Packages by import name: the distribution that the core or an extra names, and the parts that may import it."""

EAGER = {
    "attrs": {"*"},
    "click": {"cli"},
    "langchain_core": {"adapters.langchain.interop"},
    "mypy": {"mypy_plugin"},
    "pytest": {"pytest_plugin"},
    "syrupy": {"pytest_plugin"},
}
"""Packages that are imported when a module is loaded, and by which; all others are imported in functions."""

MAX_LINES = 450
MAX_FUNCTION_LINES = 50
TOP_LEVEL = {"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "examples", "pyproject.toml", "src", "tests"}


@frozen
class Import:
    """Hold one import statement's target, by the full name of a module."""

    source: str
    target: str
    line: int
    function: str | None
    type_checking: bool

    @property
    def package(self) -> str:
        return self.target.partition(".")[0]

    def stands_in(self, parts: Iterable[str]) -> bool:
        return any(is_below(self.source, part) for part in parts)

    def __str__(self) -> str:
        place = f" in {self.function}()" if self.function else ""
        return f"{self.source}:{self.line}{place} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text("utf-8"), str(path)) for name, path in SOURCES.items()}


def is_below(module: str, part: str) -> bool:
    return part in {"*", module} or module.startswith(f"{part}.")


def nodes(
    tree: ast.AST, function: str | None = None, *, checking: bool = False
) -> Iterator[tuple[ast.AST, str | None, bool]]:
    """Give every node with the function it stands in and whether only type checkers see it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            yield from nodes(ast.Module(node.body, []), function, checking=True)
            yield from nodes(ast.Module(node.orelse, []), function, checking=checking)
            continue
        yield node, function, checking
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from nodes(node, inner, checking=checking)


def targets(node: ast.AST, module: str) -> Iterator[str]:
    """Give the full names of the modules that a node imports; a constant `import_module("…")` counts."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=source, names=names, level=level):
            if level:
                package = module if SOURCES[module].name == "__init__.py" else module.rpartition(".")[0]
                base = ".".join(["promptkit", *package.split(".")][: -(level - 1) or None]).rstrip(".")
                source = f"{base}.{source}" if source else base
            for alias in names:
                full = f"{source}.{alias.name}"
                yield full if full.removeprefix("promptkit.") in SOURCES else str(source)
        case ast.Call(
            func=ast.Name(id="__import__") | ast.Name(id="import_module"), args=[ast.Constant(value=name), *_]
        ):
            yield str(name)
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=name), *_]):
            yield str(name)


IMPORTS = [
    Import(module, target, getattr(node, "lineno", 0), function, checking)
    for module, tree in TREES.items()
    for node, function, checking in nodes(tree)
    for target in targets(node, module)
]
OURS = [found for found in IMPORTS if found.package == "promptkit"]
THEIRS = [
    found
    for found in IMPORTS
    if found.package not in {"promptkit", *sys.stdlib_module_names}
    and not (found.type_checking and found.package == "typing_extensions")  # checkers know it, nobody installs it
]


def inner(found: Import) -> str:
    """Give the target without the name of the package: ``""`` for the root."""
    return found.target.removeprefix("promptkit").lstrip(".")


def is_seam(found: Import) -> bool:
    return any(
        is_below(found.source, module) and function in {"*", found.function} and is_below(inner(found), goal)
        for (module, function), goal in SEAMS.items()
    )


def may_import(source: str, target: str) -> bool:
    here, there = source.partition(".")[0], target.partition(".")[0]
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    return here == there or level.get(there, len(LAYERS)) < level.get(here, 0) or there in ARROWS.get(here, ())


def listing(problems: Iterable[object]) -> str:
    return "\n".join(map(str, problems))


def test_every_module_has_a_layer() -> None:
    parts = {name.partition(".")[0] for name in SOURCES} - {""}

    assert parts <= set().union(*LAYERS)


def test_imports_point_down_or_along_an_arrow() -> None:
    wrong = [
        found
        for found in OURS
        if found.source and not found.type_checking and not is_seam(found)
        if not inner(found) or not may_import(found.source, inner(found))
    ]

    assert not wrong, listing(wrong)


def test_client_knows_no_vendor() -> None:
    wrong = [
        found
        for found in OURS
        if is_below(found.source, "client") and (is_below(inner(found), "models") or is_below(inner(found), "adapters"))
    ]

    assert not wrong, listing(wrong)


def test_imports_run_in_no_circle() -> None:
    edges: dict[str, set[str]] = {name: set() for name in SOURCES}
    for found in OURS:
        if found.source and inner(found) and not found.type_checking and not is_seam(found):
            edges[found.source].add(inner(found))

    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_imports_of_ours_in_functions_are_the_named_seams() -> None:
    wrong = [found for found in OURS if found.source and found.function and not is_seam(found)]

    assert not wrong, listing(wrong)


def test_blocks_for_type_checkers_name_third_party_types() -> None:
    allowed = {("errors", "response"), ("adapters.langchain", "adapters.langchain.interop")}
    wrong = [
        found for found in OURS if found.source and found.type_checking and (found.source, inner(found)) not in allowed
    ]

    assert not wrong, listing(wrong)


def test_packages_are_imported_where_they_belong() -> None:
    wrong = [
        found
        for found in THEIRS
        if found.package not in THIRD_PARTY or not found.stands_in(THIRD_PARTY[found.package][1])
    ]

    assert not wrong, listing(wrong)


def test_packages_are_imported_in_the_functions_that_use_them() -> None:
    wrong = [
        found
        for found in THEIRS
        if not found.function and not found.type_checking
        if not found.stands_in(EAGER.get(found.package, ()))
    ]

    assert not wrong, listing(wrong)


def test_packages_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = chain(project["dependencies"], *project["optional-dependencies"].values())
    declared = {re.split(r"[\[>=]", requirement)[0] for requirement in required}
    imported = {THIRD_PARTY[found.package][0] for found in THEIRS if found.package in THIRD_PARTY}

    assert imported - declared <= {"mypy"}  # its plugin runs inside mypy


@pytest.mark.parametrize("module", SOURCES, ids=lambda name: name or "promptkit")
def test_files_and_functions_are_short(module: str) -> None:
    lines = len(SOURCES[module].read_text("utf-8").splitlines())
    long = [
        f"{node.name} has {length} lines"
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := code_lines(node)) > MAX_FUNCTION_LINES
    ]

    assert lines <= MAX_LINES
    assert not long, listing(long)


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function without its docstring."""
    first = function.body[0]
    doc = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(function) is not None else 0
    return (function.end_lineno or 0) - function.lineno + 1 - doc


@pytest.mark.parametrize("module", SOURCES, ids=lambda name: name or "promptkit")
def test_public_things_have_a_docstring(module: str) -> None:
    missing = [name for name, node in public(TREES[module], module) if not is_documented(node)]

    assert not missing, listing(missing)


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public(node: Documented, name: str) -> Iterator[tuple[str, Documented]]:
    yield name, node
    for child in [] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            marks = {ast.unparse(mark).rpartition(".")[2] for mark in child.decorator_list}
            if not marks & {"overload", "override", "setter"}:
                yield from public(child, f"{name}.{child.name}")


def is_documented(node: Documented) -> bool:
    first = (ast.get_docstring(node) or "").partition("\n")[0]
    return first.endswith((".", ":", "?"))


def test_what_coverage_leaves_out_has_a_reason() -> None:
    bare = re.compile(r"#\s*pragma:\s*no (cover|branch)\s*$")
    found = [
        f"{module}:{number}"
        for module, path in SOURCES.items()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if bare.search(line)
    ]

    assert not found, listing(found)


def test_the_top_of_the_repository_holds_what_is_listed() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = {name.partition("/")[0] for name in tracked.stdout.split("\0") if name and not name.startswith(".")}

    assert names <= TOP_LEVEL
