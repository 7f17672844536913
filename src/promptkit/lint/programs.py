"""Check a Python program: literal templates, typed templates, and the calls that fill them in literally."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptkit.errors import TemplateError, TemplateSyntaxError
from promptkit.lint.findings import Finding
from promptkit.lint.known import MESSAGES, ROLES, Imports, Literals, keys_of, keyword, offset_of, place_in, text_of_node
from promptkit.lint.prompts import order_problems
from promptkit.lint.properties import unknown_properties
from promptkit.lint.texts import Spot, context_of, doubled_text, placeholders, secrets, token_count
from promptkit.lint.typed import check_typed_class
from promptkit.prompt_files.types import ValueType
from promptkit.renderers.base import spelling

__all__ = ["check_program_text"]

_FILLING = ("check", "create", "create_message", "create_messages", "partial", "render")
_CHAT_ROLES = ("system", "user", "assistant")


def check_program_text(text: str, file: str, *, context: int | None = None) -> list[Finding]:
    """Check the text of a Python program; one that does not import promptkit has nothing to find.

    Args:
        text: The text.
        file: The file.
        context: The size of the model's context in tokens; else the model of the chat's options says it.
    """
    if "promptkit" not in text:
        return []
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return [Finding(file, error.lineno or 1, error.offset or 1, "PK102", f"this is no Python: {error.msg}")]
    except (ValueError, RecursionError, MemoryError) as error:
        return [Finding(file, 1, 1, "PK102", f"this is no Python: {error!s:.80}")]
    imports = Imports(tree)
    if not imports.names and not imports.modules:
        return []
    try:
        return sorted(set(_Check(tree, file, imports, context).findings()))
    except RecursionError:
        return [Finding(file, 1, 1, "PK102", "the program nests too deep to be checked")]


def _docstring(node: ast.AST) -> ast.expr | None:
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    return first.value if isinstance(first, ast.Expr) else None


class _Check:
    def __init__(self, tree: ast.Module, file: str, imports: Imports, context: int | None) -> None:
        self.tree = tree
        self.file = file
        self.imports = imports
        self.context = context
        self.literals = Literals(tree, imports)

    def findings(self) -> Iterator[Finding]:
        """Walk the program."""
        documentation = {id(_docstring(node)) for node in ast.walk(self.tree)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                yield from check_typed_class(node, self.tree, self.file, self.imports, self.literals)
                yield from self._class_text(node)
            elif isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                for spot in secrets(node.value):
                    message = f"this looks like {spot.text}; give it at run time, not in a program"
                    yield self._spot("PK401", node, spot, message)

    def at(self, code: str, node: ast.expr, message: str) -> Finding:
        return Finding(self.file, node.lineno, node.col_offset + 1, code, message)

    def _spot(self, code: str, node: ast.expr, spot: Spot, message: str) -> Finding:
        line, column = place_in(node, text_of_node(node) or "", spot.offset)
        return Finding(self.file, line, column, code, message)

    def _call(self, call: ast.Call) -> Iterator[Finding]:
        name = self.imports.name_of(call.func)
        if name in ROLES:
            template = keyword(call, "template", 0)
            yield from self._source(template, keyword(call, "renderer"))
            yield from self._size([template], call)
        elif name in ("ChatPromptTemplate", "Prompt"):
            yield from self._list(call, name)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _FILLING:
            yield from self._filled(call, call.func)
        if name in (*ROLES, "ChatPromptTemplate"):
            yield from self._bound(call)

    def _source(self, node: ast.expr | None, renderer: ast.expr | None) -> Iterator[Finding]:
        """Check a literal template text."""
        node = self.literals.resolved(node)
        text = text_of_node(node)
        if node is None or text is None:
            return
        language = self.literals.renderer(renderer)
        if language is not None:
            try:
                if not text.strip():
                    raise TemplateSyntaxError("the template is blank")
                language.compile(text)
            except TemplateError as error:
                line, column = place_in(node, text, offset_of(text, error.line, error.column))
                yield Finding(self.file, line, column, "PK102", str(error.args[0]))
        yield from self._doubled(node, text)

    def _doubled(self, node: ast.expr, text: str) -> Iterator[Finding]:
        for found in doubled_text(text):
            line, _ = place_in(node, text, found.first)
            message = f"this stands already in line {line}: {found.text}"
            yield self._spot("PK303", node, Spot(found.offset, ""), message)

    def _class_text(self, node: ast.ClassDef) -> Iterator[Finding]:
        for item in node.body:
            value = item.value if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) == "template" else None
            text = text_of_node(value)
            if value is not None and text is not None and any(map(self.imports.name_of, node.bases)):
                yield from self._doubled(value, text)

    def _size(self, sources: list[ast.expr | None], call: ast.Call) -> Iterator[Finding]:
        options = self.literals.resolved(keyword(call, "options"))
        model = text_of_node(keyword(options, "model")) if isinstance(options, ast.Call) else None
        limit = self.context or (None if model is None else context_of(model))
        tokens = sum(token_count(text) for node in sources if (text := text_of_node(self.literals.resolved(node))))
        if limit is not None and tokens > limit:
            yield self.at("PK402", call, f"about {tokens:,} tokens of text do not fit a context of {limit:,}")

    # -- lists of messages and templates

    def _list(self, call: ast.Call, name: str) -> Iterator[Finding]:
        parts = self.literals.parts(call)
        if parts is None:
            return
        kinds = [self._kind(part) for part in parts]
        for index, message in order_problems(kinds):
            yield self.at("PK302", parts[index], message)
        sources: list[ast.expr | None] = []
        for part in parts:
            if isinstance(part, ast.Tuple) and len(part.elts) == 2 and name == "ChatPromptTemplate":
                role = text_of_node(part.elts[0])
                if role is not None and role not in _CHAT_ROLES:
                    message = f"there is no role {role!r:.40}; roles are {', '.join(_CHAT_ROLES)}"
                    yield self.at("PK102", part.elts[0], message)
                yield from self._source(part.elts[1], keyword(call, "renderer"))
                sources.append(part.elts[1])
            elif isinstance(part, ast.Call) and self.imports.name_of(part.func) in MESSAGES:
                yield from self._literal(part)
                sources.append(keyword(part, "content", 0))
        yield from self._size(sources, call)

    def _kind(self, part: ast.expr) -> str:
        part = self.literals.resolved(part) or part
        if isinstance(part, ast.Tuple) and part.elts:
            return text_of_node(part.elts[0]) or "other"
        if isinstance(part, ast.Call):
            name = self.imports.name_of(part.func)
            slots = {"MessagesPlaceholder": "messages", "FewShotExamples": "examples"}
            return {**ROLES, **MESSAGES, **slots}.get(name, "other")
        return "other"

    def _literal(self, call: ast.Call) -> Iterator[Finding]:
        content = keyword(call, "content", 0)
        text = text_of_node(content)
        if content is None or text is None:
            return
        for spot in placeholders(text):
            message = f"{spot.text} stays as it is: a message is text, and no template; write ('user', '…') for one"
            yield self._spot("PK301", content, spot, message)

    # -- calls that fill in

    def _bound(self, call: ast.Call) -> Iterator[Finding]:
        bound = keyword(call, "bound")
        known = self.literals.known(call)
        if bound is not None and known is not None and known.complete:
            for name in keys_of(bound) or ():
                if name not in known.used:
                    yield self.at("PK202", bound, f"the template does not use {name!r}")

    def _filled(self, call: ast.Call, method: ast.Attribute) -> Iterator[Finding]:
        known = self.literals.known(method.value)
        if known is None:
            return
        model = keyword(call, "model", 0)
        if model is None and (call.args or any(item.arg is None for item in call.keywords)):
            return
        given = [] if model is None else keys_of(model)
        if given is None:
            return
        node: ast.expr = call if model is None else model
        unused = [name for name in given if name not in known.used] if known.complete else []
        missing = [] if method.attr in ("partial", "check") else [name for name in known.required if name not in given]
        for name in missing:
            meant = spelling(name, unused)
            if meant is None:
                yield self.at("PK201", node, f"the variable {name!r} is not given")
            else:
                unused.remove(meant)
                yield self.at("PK203", node, f"{meant!r} is given; did you mean {name!r}?")
        for name in unused:
            meant = spelling(name, [one for one in known.used if one not in given])
            if meant is not None:
                yield self.at("PK203", node, f"{name!r} is given; did you mean {meant!r}?")
            else:
                yield self.at("PK202", node, f"the template does not use {name!r}")
        yield from self._properties(method.value, model)

    def _properties(self, template: ast.expr, model: ast.expr | None) -> Iterator[Finding]:
        """Hold the paths of one literal template against literal mappings in the model."""
        made = self.literals.resolved(template)
        if (
            not isinstance(made, ast.Call)
            or self.imports.name_of(made.func) not in ROLES
            or not isinstance(model, ast.Dict)
        ):
            return
        text = text_of_node(self.literals.resolved(keyword(made, "template", 0)))
        renderer = self.literals.renderer(keyword(made, "renderer"))
        if text is None or renderer is None or self.literals.known(made) is None:
            return
        types = {text_of_node(key) or "": _shape(value) for key, value in zip(model.keys, model.values, strict=True)}
        for found in unknown_properties(text, renderer, types):
            hint = "" if found.meant is None else f" (did you mean {found.meant!r}?)"
            yield self.at("PK204", model, f"the template reads {found.path!r}, which is not given{hint}")


def _shape(node: ast.expr) -> ValueType | None:
    """Give the type of a literal value, as far as it has properties."""
    if isinstance(node, ast.Dict) and keys_of(node) is not None and node.keys:
        fields = {
            text_of_node(key) or "": _shape(value) or _ANY for key, value in zip(node.keys, node.values, strict=True)
        }
        return ValueType("record", dict, fields=fields)
    if isinstance(node, ast.List) and len(node.elts) == 1:
        return ValueType("list", list, _shape(node.elts[0]))
    return None


_ANY = ValueType("any", object)
