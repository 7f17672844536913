"""Drop from an adapter, one after the other, each field that it writes or reads and each statement that stands alone."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import promptkit.adapters

STEMS: Mapping[str, str | tuple[str, ...]] = {
    "openai": "_openai_",
    "openai_responses": "_responses_",
    "anthropic": "_anthropic_",
    "gemini": "_gemini_",
    "all": ("_reading", "_order", "base"),
}
FOLDER = Path(promptkit.adapters.__file__ or "").parent
NOT_OF_REQUESTS = ("__all__", "ECHOED", "NOTES", "PASSING_ERRORS", "damaged", "read_events", "text_of", "_broken")
FUTURE = ast.parse("from __future__ import annotations").body


def mutants(format: str) -> Iterator[str]:
    """Give the name of each mutant of what turns prompts into bodies and back; the last one named is in force."""
    for module in _modules():
        stem = module.__name__.rpartition(".")[2]
        if stem.startswith(STEMS[format]) and not stem.endswith(("_answer", "_records")):
            for name, node in _scopes(ast.parse((FOLDER / f"{stem}.py").read_text("utf-8")).body):
                for what in _drops(node):
                    with _in_force(module, name, node):
                        yield f"{stem}.{name}: {what}"


def _modules() -> list[ModuleType]:
    stems = sorted(path.stem for path in FOLDER.glob("_*.py") if path.stem != "__init__")
    return [importlib.import_module(f"promptkit.adapters.{stem}") for stem in ["base", *stems]]


def _scopes(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Give the functions, methods and tables of a module, each with its name there."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) if name not in NOT_OF_REQUESTS:
                yield f"{within}{name}", node
            case ast.ClassDef():
                yield from _scopes(node.body, f"{node.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                if not within and name not in NOT_OF_REQUESTS:
                    yield name, node


def _drops(node: ast.AST) -> Iterator[str]:
    """Drop each thing in a syntax tree, say what, and put it back when the next is asked for."""
    types = {id(inner.slice) for inner in ast.walk(node) if isinstance(inner, ast.Subscript)}
    for inner in [inner for inner in ast.walk(node) if id(inner) not in types]:
        match inner:
            case ast.Dict(keys=keys, values=values):
                for at, key in enumerate(keys):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield from _without(f"{key.value!r} of {{…}}", (keys, at), (values, at))
            case ast.Tuple(elts=items) | ast.Set(elts=items):
                for at, item in enumerate(items):
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield from _without(f"{item.value!r} of (…)", (items, at))
            case ast.Call(func=called, keywords=words) if not ast.unparse(called).endswith(("Error", "zip")):
                for at, word in enumerate(words):
                    yield from _without(f"{word.arg}= of {ast.unparse(called)}", (words, at))
        for name in ("body", "orelse"):
            found = getattr(inner, name, None)
            block: list[ast.stmt] = found if isinstance(found, list) else []  # a lambda's body is an expression
            for at, statement in enumerate(block):
                if _stands_alone(statement):
                    block[at] = ast.copy_location(ast.Pass(), statement)
                    yield ast.unparse(statement)
                    block[at] = statement


def _without(what: str, *places: tuple[list[Any], int]) -> Iterator[str]:
    items = [found.pop(at) for found, at in places]
    yield what
    for (found, at), item in zip(places, items, strict=True):
        found.insert(at, item)


def _stands_alone(statement: ast.stmt) -> bool:
    """Tell whether a statement can go: a call for its effect, or the writing of a field."""
    match statement:
        case ast.Expr(value=ast.Call()):
            return True
        case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign(target=ast.Subscript()):
            return True
    return False


@contextmanager
def _in_force(module: ModuleType, name: str, node: ast.stmt) -> Iterator[None]:
    """Put a changed function or table in the place of what a module has under a name."""
    code = compile(ast.Module([*FUTURE, node], []), str(module.__file__), "exec")
    holder, _, last = name.rpartition(".")
    old = vars(getattr(module, holder) if holder else module)[last]
    scope: dict[str, Any] = {}
    if isinstance(node, ast.FunctionDef):
        made = next(const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == last)
        places: list[tuple[Any, str, Any]] = [(old, "__code__", old.__code__)]
        new: Any = made
    else:
        exec(code, vars(module), scope)
        places, new = [(found, key, old) for found, key in _holders(old)], scope[last]
    for found, key, _ in places:
        _put(found, key, new)
    try:
        yield
    finally:
        for found, key, kept in places:
            _put(found, key, kept)


def _put(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        setattr(holder, key, value)


def _holders(table: object) -> Iterator[tuple[Any, str]]:
    """Find what has a table: modules, and functions whose parameter it is by default."""
    for module in _modules():
        for key, found in [*vars(module).items()]:
            if found is table:
                yield module, key
            elif isinstance(found, FunctionType):
                yield from (
                    (found.__kwdefaults__, word)
                    for word, given in (found.__kwdefaults__ or {}).items()
                    if given is table
                )
