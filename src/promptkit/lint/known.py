"""Find out what a program's templates are, as far as they are written down literally."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from promptkit.errors import TemplateError
from promptkit.renderers import by_name
from promptkit.renderers.base import TemplateRenderer, ValidationMode, place_of
from promptkit.renderers.fstring import FStringRenderer
from promptkit.renderers.jinja import JinjaRenderer
from promptkit.renderers.mustache import MustacheRenderer
from promptkit.renderers.noop import NoOpRenderer
from promptkit.renderers.string_template import StringTemplateRenderer

__all__ = [
    "MESSAGES",
    "ROLES",
    "Imports",
    "KnownTemplate",
    "Literals",
    "Scopes",
    "keys_of",
    "keyword",
    "offset_of",
    "place_in",
    "text_of_node",
]

ROLES = {"PromptTemplate": "user", "SystemPromptTemplate": "system", "AssistantPromptTemplate": "assistant"}
"""Template classes and their roles."""

MESSAGES = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}
"""Message classes and their roles."""

_RENDERERS: Mapping[str, type[TemplateRenderer]] = {
    kind.__name__: kind
    for kind in (FStringRenderer, JinjaRenderer, MustacheRenderer, NoOpRenderer, StringTemplateRenderer)
}


class KnownTemplate(NamedTuple):
    """Hold which variables a template takes."""

    required: tuple[str, ...]
    used: frozenset[str]
    """Every name that it can use."""
    complete: bool = True
    """Whether all its parts are known."""

    def without(self, names: Iterable[str]) -> KnownTemplate:
        """Give it with some variables bound."""
        bound = set(names)
        return self._replace(required=tuple([name for name in self.required if name not in bound]))


class Imports(ast.NodeVisitor):
    """Know what a file calls the things of promptkit."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: dict[str, str] = {}
        self.modules: set[str] = set()
        self.visit(tree)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note ``from promptkit… import …``."""
        if node.module and node.module.partition(".")[0] == "promptkit":
            for alias in node.names:
                self.names[alias.asname or alias.name] = alias.name

    def visit_Import(self, node: ast.Import) -> None:
        """Note ``import promptkit``."""
        for alias in node.names:
            if alias.name.partition(".")[0] == "promptkit":
                self.modules.add(alias.asname or "promptkit")

    def name_of(self, node: ast.expr) -> str:
        """Give the name of the thing of promptkit that an expression is, else nothing."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in self.modules:
                return node.attr
        return ""


def text_of_node(node: ast.expr | None) -> str | None:
    """Give the text that stands literally in a program."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def keyword(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """Give an argument by its name, or by its position."""
    if (
        position is not None
        and len(call.args) > position
        and not any(isinstance(arg, ast.Starred) for arg in call.args)
    ):
        return call.args[position]
    return next((item.value for item in call.keywords if item.arg == name), None)


class Scopes:
    """Know what the names of a program stand for, where that is one expression."""

    def __init__(self, tree: ast.Module) -> None:
        self._values: dict[tuple[ast.AST, str], list[ast.expr | None]] = {}
        self._around: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self._lost: set[str] = set()
        waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, (tree,))]
        while waiting:
            node, around = waiting.pop()
            plain = _plain_targets(node)
            for child in ast.iter_child_nodes(node):
                inner = around
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    self._set(around[-1], child.name, None)
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                    inner = (*around, child)
                elif isinstance(child, ast.arg):
                    self._set(around[-1], child.arg, None)
                elif isinstance(child, ast.Global | ast.Nonlocal):
                    self._lost.update(child.names)
                elif isinstance(child, ast.Name):
                    self._around[child] = around
                    if not isinstance(child.ctx, ast.Load):
                        self._set(around[-1], child.id, plain.get(child))
                waiting.append((child, inner))

    def _set(self, scope: ast.AST, name: str, value: ast.expr | None) -> None:
        self._values.setdefault((scope, name), []).append(value)

    def value_of(self, name: ast.Name) -> ast.expr | None:
        """Give the only expression that a name stands for, if there is one."""
        around = self._around.get(name, ())
        for depth, scope in enumerate(reversed(around)):
            values = self._values.get((scope, name.id))
            if values is not None and not (depth and isinstance(scope, ast.ClassDef)):
                return values[0] if len(values) == 1 and name.id not in self._lost else None
        return None


def _plain_targets(node: ast.AST) -> dict[ast.AST, ast.expr | None]:
    match node:
        case ast.Assign(targets=targets, value=value):
            return dict.fromkeys(targets, value)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return {target: value}
        case _:
            return {}


class Literals:
    """Know the templates of a program; what is not written down literally is not known.

    Args:
        tree: The program.
        imports: What it calls the things of promptkit.
    """

    def __init__(self, tree: ast.Module, imports: Imports) -> None:
        self.imports = imports
        self._scopes = Scopes(tree)
        self._memo: dict[ast.AST, KnownTemplate | None] = {}

    def resolved(self, node: ast.expr | None) -> ast.expr | None:
        """Give the expression that a name stands for; another expression is given back."""
        for _ in range(10):
            if not isinstance(node, ast.Name):
                break
            node = self._scopes.value_of(node)
        return node

    def known(self, node: ast.expr | None) -> KnownTemplate | None:
        """Give the template that an expression makes, if it is known."""
        node = self.resolved(node)
        if not isinstance(node, ast.Call):
            return None
        if node not in self._memo:
            self._memo[node] = None  # what contains itself is not known
            self._memo[node] = self._called(node)
        return self._memo[node]

    def _called(self, call: ast.Call) -> KnownTemplate | None:
        name = self.imports.name_of(call.func)
        if name in ROLES:
            source = text_of_node(self.resolved(keyword(call, "template", 0)))
            found = None if source is None else self.compiled(source, keyword(call, "renderer"))
            return self._bound(call, found)
        if name == "ChatPromptTemplate":
            return self._bound(call, self._chat(call))
        if isinstance(call.func, ast.Attribute) and call.func.attr == "partial":
            base = self.known(call.func.value)
            keys = keys_of(call.args[0]) if len(call.args) == 1 else None
            return None if base is None or keys is None else base.without(keys)
        return None

    def _bound(self, call: ast.Call, found: KnownTemplate | None) -> KnownTemplate | None:
        bound = keyword(call, "bound")
        if bound is None or found is None:
            return found
        keys = keys_of(bound)
        return None if keys is None else found.without(keys)

    def compiled(self, source: str, renderer: ast.expr | None) -> KnownTemplate | None:
        """Give what a literal text needs, if it compiles and its language is known."""
        language = self.renderer(renderer)
        if language is None:
            return None
        try:
            form = language.compile(source)
        except TemplateError:
            return None
        used = frozenset((*form.variables, *form.optional_variables))
        silent = getattr(language, "validation", ValidationMode.THROW) is not ValidationMode.THROW
        return KnownTemplate(() if silent else form.variables, used)

    def renderer(self, node: ast.expr | None) -> TemplateRenderer | None:
        """Give the renderer that an expression makes; StringTemplate where none is said."""
        if node is None:
            return by_name("st")
        node = self.resolved(node)
        try:
            if (name := text_of_node(node)) is not None:
                return by_name(name)
            if isinstance(node, ast.Call) and not node.args and self.imports.name_of(node.func) in _RENDERERS:
                return _RENDERERS[self.imports.name_of(node.func)](
                    **{str(item.arg): _option(item.value) for item in node.keywords}
                )
        except (TemplateError, TypeError, ValueError):
            pass
        return None

    def parts(self, call: ast.Call) -> list[ast.expr] | None:
        """Give the parts of a chat or prompt that is a literal list."""
        node = self.resolved(keyword(call, "parts" if self.imports.name_of(call.func) != "Prompt" else "messages", 0))
        return node.elts if isinstance(node, ast.List | ast.Tuple) else None

    def _chat(self, call: ast.Call) -> KnownTemplate | None:
        parts = self.parts(call)
        if parts is None:
            return None
        found = [self._part(part, keyword(call, "renderer")) for part in parts]
        known = [part for part in found if part is not None]
        return KnownTemplate(
            tuple(dict.fromkeys(name for part in known for name in part.required)),
            frozenset(name for part in known for name in part.used),
            len(known) == len(found) and all(part.complete for part in known),
        )

    def _part(self, part: ast.expr, renderer: ast.expr | None) -> KnownTemplate | None:
        part = self.resolved(part) or part
        if isinstance(part, ast.Tuple) and len(part.elts) == 2:
            source = text_of_node(self.resolved(part.elts[1]))
            return None if source is None else self.compiled(source, renderer)
        if not isinstance(part, ast.Call):
            return None
        name = self.imports.name_of(part.func)
        if name in MESSAGES:
            return KnownTemplate((), frozenset())
        if name == "MessagesPlaceholder":
            slot = text_of_node(keyword(part, "name", 0))
            optional = keyword(part, "optional")
            if slot is None or not isinstance(optional, ast.Constant | None):
                return None
            return KnownTemplate(() if optional is not None and optional.value else (slot,), frozenset((slot,)))
        if name == "FewShotExamples" and keyword(part, "prefix") is None and keyword(part, "suffix") is None:
            return KnownTemplate((), frozenset())
        return self.known(part)


def keys_of(node: ast.expr) -> list[str] | None:
    """Give the keys of a mapping that is written down literally."""
    if not isinstance(node, ast.Dict):
        return None
    keys = [text_of_node(key) for key in node.keys]
    return None if None in keys else [key for key in keys if key is not None]


def _option(node: ast.expr) -> Any:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        return ValidationMode[node.attr] if node.attr in ValidationMode.__members__ else _unknown(node)
    return ast.literal_eval(node)


def _unknown(node: ast.expr) -> Any:
    raise ValueError(ast.dump(node))


def offset_of(text: str, line: int | None, column: int | None) -> int:
    """Give the offset in a text of a line and a column."""
    lines = text.split("\n")
    above = sum(len(one) + 1 for one in lines[: (line or 1) - 1])
    return above + (column or 1) - 1


def place_in(node: ast.expr, text: str, offset: int) -> tuple[int, int]:
    """Give line and column in a program of an offset in a literal text; exact for lines that the program has, too."""
    number, column, _ = place_of(text, min(offset, len(text)))
    spread = (node.end_lineno or node.lineno) - node.lineno
    if number > 1 and text.count("\n") == spread:
        return node.lineno + number - 1, column
    return node.lineno, node.col_offset + 1
