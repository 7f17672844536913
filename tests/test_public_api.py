"""Hold the public names: one table, sorted, importable, documented, seen alike by type checkers and at run time."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import promptkit

PACKAGE = Path(promptkit.__file__).parent
TABLE: dict[str, str] = vars(promptkit)["_MODULES"]
MODULES = sorted(
    ".".join(["promptkit", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.name != "__main__.py"
)


def test_names_are_sorted() -> None:
    assert list(TABLE) == sorted(TABLE)
    assert promptkit.__all__ == list(TABLE)
    assert set(promptkit.__all__) <= set(dir(promptkit))


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = [
        (alias.asname, alias.name, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]

    assert sorted(seen) == [(name, name, module) for name, module in TABLE.items()]


@pytest.mark.parametrize("name", TABLE)
def test_a_name_is_what_its_module_exports(name: str) -> None:
    module = importlib.import_module(TABLE[name])

    assert name in module.__all__
    assert getattr(promptkit, name) is getattr(module, name)


@pytest.mark.parametrize("name", TABLE)
def test_a_name_comes_from_the_module_that_defines_it(name: str) -> None:
    value = getattr(promptkit, name)

    assert getattr(value, "__module__", TABLE[name]) == TABLE[name]


@pytest.mark.parametrize("name", TABLE)
def test_a_name_is_documented(name: str) -> None:
    value = getattr(promptkit, name)
    described = inspect.getdoc(value) if inspect.isclass(value) or inspect.isroutine(value) else constant_doc(name)

    assert described


def constant_doc(name: str) -> str | None:
    """Give the string that stands under a constant or a type alias."""
    tree = ast.parse(inspect.getsource(importlib.import_module(TABLE[name])))
    for node, after in zip(tree.body, tree.body[1:], strict=False):
        found = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(found, ast.Name) and found.id == name:
            return ast.literal_eval(after.value) if isinstance(after, ast.Expr) else None
    return None


def test_no_root_name_is_a_modules_name() -> None:
    stems = {part for module in MODULES for part in module.split(".")[1:]}

    assert not stems & TABLE.keys()


def test_a_misspelt_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Promt'") as caught:
        promptkit.Promt  # type: ignore[attr-defined]

    assert caught.value.name == "Promt"
    assert caught.value.obj is promptkit


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_exports(name: str) -> None:
    module = importlib.import_module(name)
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name
    }

    assert hasattr(module, "__all__") or not defined
