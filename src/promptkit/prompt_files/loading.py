"""Read prompt files: front matter and blocks become a template, and every mistake has its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from promptkit._frozen import shown
from promptkit.errors import MissingVariablesError, TemplateError, TemplateSyntaxError
from promptkit.prompt_files._reading import Entry, Folder, read_text
from promptkit.prompt_files._yaml import Document, read_yaml
from promptkit.prompt_files.blocks import Block, Line, MediaMark, lines_of, pieces_of, split_blocks
from promptkit.prompt_files.header import Header, read_header
from promptkit.prompt_files.template import BlockTemplate, MediaSlot, NamedPromptTemplate, TextPiece
from promptkit.prompt_files.variables import PromptVariable
from promptkit.renderers.base import nearest
from promptkit.renderers.mustache import MustacheRenderer
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate

__all__ = [
    "SUFFIX",
    "Draft",
    "draft_file",
    "draft_prompt",
    "load_prompt",
    "name_of",
    "parse_prompt",
    "split_front_matter",
    "uses_of",
]

SUFFIX = ".prompt.md"
"""What the name of a prompt file ends with."""

_KINDS: dict[str, type[PromptTemplate]] = {
    "system": SystemPromptTemplate,
    "user": PromptTemplate,
    "assistant": AssistantPromptTemplate,
}


class Draft(NamedTuple):
    """Hold what was read of a prompt file, and all mistakes in it; a checker reads on where a loader stops."""

    header: Header
    blocks: tuple[Block, ...]
    parts: tuple[Any, ...]
    """The parts of the chat; ``None`` where one is broken."""
    problems: tuple[TemplateError, ...]
    """The mistakes, in the order of the file."""

    def template(self, name: str) -> NamedPromptTemplate:
        """Give the template.

        Args:
            name: What it is called if its file does not say.

        Raises:
            TemplateError: The first mistake.
        """
        if self.problems:
            raise self.problems[0]
        header = self.header
        own = header.name or name
        return NamedPromptTemplate(
            own,
            ChatPromptTemplate(self.parts, options=header.options, renderer=header.renderer, template_name=own),
            version=header.version,
            description=header.description,
            declared=header.variables,
            cases=header.cases,
            locale=header.locale,
            models=header.models,
            metadata=header.metadata,
        )


def load_prompt(path: str | PathLike[str], *, root: str | PathLike[str] | None = None) -> NamedPromptTemplate:
    """Read a prompt file as a template.

    Args:
        path: The file, as a rule ``name.prompt.md``.
        root: The folder that partials are named from; that of the file without it.

    Raises:
        TemplateNotFoundError: There is no such file, or no such partial.
        TemplateError: It has a mistake, with file and line, or it is refused: too large, or it leaves its folder.
        MissingDependencyError: ruamel.yaml is not installed.
    """
    file = _path(path)
    folder = Folder(file.parent if root is None else _path(root))
    return draft_file(file, str(file), folder).template(name_of(file.name))


def parse_prompt(text: str, name: str, *, root: str | PathLike[str] | None = None) -> NamedPromptTemplate:
    """Read the text of a prompt file as a template.

    Args:
        text: The text.
        name: Its name, in errors too.
        root: The folder that partials are named from; without it there are none.

    Raises:
        TemplateError: See `load_prompt`.
    """
    if not isinstance(text, str):
        raise TemplateError(f"the text of a prompt must be a str, not {shown(text)}")
    return draft_prompt(text, name, None if root is None else Folder(_path(root))).template(name)


def _path(path: str | PathLike[str]) -> Path:
    try:
        given = fspath(path)
    except TypeError:
        given = None
    if not isinstance(given, str) or not given or "\0" in given:
        raise TemplateError(f"the path of a prompt file must be a path, not {shown(path)}")
    return Path(given)


def name_of(file: str) -> str:
    """Give the name of a prompt by that of its file."""
    return file.removesuffix(SUFFIX) if file.endswith(SUFFIX) else file.partition(".")[0] or file


def draft_file(file: Entry, label: str, folder: Folder | None) -> Draft:
    """Read a file as far as it can be read; see `draft_prompt`.

    Raises:
        TemplateError: It cannot be read at all.
    """
    return draft_prompt(read_text(file, label), label, folder)


def draft_prompt(text: str, file: str, folder: Folder | None) -> Draft:
    """Read the text of a prompt file as far as it can be read.

    Args:
        text: The text.
        file: The file, for errors.
        folder: Where its partials are.
    """
    problems: list[TemplateError] = []
    header = read_header(Document(None, {}, {}), file)
    blocks: tuple[Block, ...] = ()
    try:
        front, body, above = split_front_matter(text, file)
        header = read_header(read_yaml(front, file, above=1) if above else header.document, file)
        blocks = split_blocks(lines_of(body, file, above=above, include=_includer(folder)))
    except TemplateError as error:
        problems.append(error.named(file))
    parts = tuple([_part(block, header, problems) for block in blocks])
    problems += header.problems
    problems += _disagreements(header, blocks, parts) if blocks else ()
    problems.sort(key=lambda error: (error.template_name != file, error.line or 0, error.column or 0))
    return Draft(header, blocks, parts, tuple(problems))


def split_front_matter(text: str, file: str | None) -> tuple[str, str, int]:
    """Split a file at its ``---`` lines: front matter, body, and the number of lines above the body.

    Raises:
        TemplateSyntaxError: The front matter never ends.
    """
    first, newline, rest = text.partition("\n")
    if first.rstrip() != "---":
        return "", text, 0
    found = re.search(r"^---[ \t]*$", rest, re.MULTILINE) if newline else None
    if found is None:
        message = "the front matter never ends; write a line '---' below it"
        raise TemplateSyntaxError(message, template_name=file, line=1, column=1, excerpt="---")
    front = rest[: found.start()]
    return front, rest[found.end() + 1 :], front.count("\n") + 2


def _includer(folder: Folder | None) -> Callable[[str], tuple[str, str]] | None:
    if folder is None:
        return None

    def include(name: str) -> tuple[str, str]:
        label = f"{name}.md"
        return read_text(folder.find(label), label), label

    return include


def _part(block: Block, header: Header, problems: list[TemplateError]) -> Any:
    """Make a part of the chat, or note what is wrong with it."""
    declared = {variable.name: variable for variable in header.variables}
    try:
        if block.kind == "examples":
            if header.few_shot is None and not any("few_shot" in str(problem) for problem in header.problems):
                raise _at(block.heading, "there are no examples; write them under 'few_shot' in the front matter")
            return header.few_shot
        if block.kind == "messages":
            return _slot(block, declared.get(block.name))
        pieces = [
            _text(piece, header) if isinstance(piece, Block) else _media(piece, declared.get(piece.name))
            for piece in pieces_of(block)
        ]
        return BlockTemplate(tuple(pieces))
    except TemplateError as error:
        problems.append(error)
        return None


def _at(line: Line, message: str) -> TemplateError:
    return TemplateError(message, template_name=line.file, line=line.number, column=1, excerpt=line.text[:200])


def _slot(block: Block, declared: PromptVariable | None) -> MessagesPlaceholder:
    if declared is None:
        return MessagesPlaceholder(block.name, optional=block.name == "history")
    if declared.value_type.kind not in ("messages", "any"):
        raise _at(block.heading, f"the variable {block.name!r} is of type {declared.value_type}; a slot takes messages")
    return MessagesPlaceholder(block.name, optional=not declared.required, last=declared.last)


def _media(mark: MediaMark, declared: PromptVariable | None) -> MediaSlot:
    kind = "any" if declared is None else str(declared.value_type)
    if declared is not None and "media" not in kind and kind != "any":
        raise _at(mark.line, f"the variable {mark.name!r} is of type {kind}; media are of type media or list[media]")
    return MediaSlot(mark.name, declared is not None and not declared.required, mark.gap)


def _text(piece: Block, header: Header) -> TextPiece:
    places = tuple((line.file, line.number) for line in piece.lines)
    try:
        template = _KINDS[piece.kind](piece.text, renderer=header.renderer)
    except TemplateError as error:
        TextPiece(_NOTHING, places).located(error)
        raise
    return TextPiece(template, places)


_NOTHING = PromptTemplate("-", renderer="noop")


def uses_of(blocks: tuple[Block, ...], parts: tuple[Any, ...]) -> Iterator[tuple[str, Line]]:
    """Give every name that the parts use, in order, each once a part, and the line where it most likely stands."""
    for block, part in zip(blocks, parts, strict=True):
        for name in (*getattr(part, "variables", ()), *getattr(part, "optional_variables", ())):
            word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            lines = [line for line in block.lines if word.search(line.text)]
            opened = [line for line in lines if re.search(rf"[{{<$%#:(&!|][^\n]*?{word.pattern}", line.text)]
            yield name, (*opened, *lines, *block.lines, block.heading)[0]


def _disagreements(header: Header, blocks: tuple[Block, ...], parts: tuple[Any, ...]) -> Iterator[TemplateError]:
    """Hold declarations against the text."""
    places = [block.heading for block in blocks if block.kind == "examples"]
    if header.few_shot is not None and len(places) != 1:
        message = "the examples need a place: write one heading '# examples' where they stand"
        yield TemplateError(message, template_name=header.file, line=header.line("few_shot"))
    declared = {variable.name: variable.value_type for variable in header.variables}
    slots = {name for block in blocks for name in [block.name, *(mark.name for mark in _marks(block))] if name}
    required = {name for part in parts for name in getattr(part, "variables", ())}
    told: set[str] = set()
    for name, line in uses_of(blocks, parts):
        if name in told:
            continue
        told.add(name)
        # A name inside a section of mustache's may be a property of the section's item.
        nested = isinstance(header.renderer, MustacheRenderer) and name not in required
        if header.declares and name not in declared and name != "history" and not nested:
            hint = nearest(name, declared)
            message = f"the variable {name!r} is not declared{hint}; add it to 'variables' in the front matter"
            yield MissingVariablesError(
                message,
                missing=(name,),
                available=tuple(declared),
                template_name=line.file,
                line=line.number,
                column=line.text.find(name) + 1,
                excerpt=line.text[:200],
            )
        elif name not in slots and name in declared and str(declared[name]) in ("media", "list[media]", "messages"):
            how = f"a heading '# messages: {name}'" if str(declared[name]) == "messages" else f"'![](media:{name})'"
            yield _at(line, f"the variable {name!r} holds {declared[name]} and is no text; write {how}")


def _marks(block: Block) -> list[MediaMark]:
    if block.kind != "user":
        return []
    return [piece for piece in pieces_of(block) if isinstance(piece, MediaMark)]
