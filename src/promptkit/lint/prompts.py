"""Check one prompt file: what is declared, what is used, what stands where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from promptkit.errors import MissingVariablesError, TemplateError
from promptkit.lint.findings import Finding
from promptkit.lint.properties import unknown_properties
from promptkit.lint.texts import Spot, context_of, doubled_text, placeholders, secrets, token_count
from promptkit.prompt_files._reading import Folder
from promptkit.prompt_files.blocks import ROLES, Block, Line, pieces_of
from promptkit.prompt_files.loading import Draft, draft_prompt, uses_of
from promptkit.prompt_files.template import BlockTemplate
from promptkit.prompt_files.types import MisfitError
from promptkit.renderers.base import place_of, spelling
from promptkit.templates.few_shot import FewShotExamples

__all__ = ["check_prompt_text", "order_problems"]


def check_prompt_text(
    text: str, file: str, folder: Folder | None = None, *, context: int | None = None
) -> list[Finding]:
    """Check the text of a prompt file.

    Args:
        text: The text.
        file: The file.
        folder: Where its partials are.
        context: The size of the model's context in tokens; else the file's own model says it, if it is known.
    """
    draft = draft_prompt(text, file, folder)
    check = _Check(draft, text, file)
    return sorted(
        {
            *check.problems(),
            *check.unused(),
            *check.examples(),
            *check.cases(),
            *check.properties(),
            *check.structure(),
            *check.roles(),
            *check.texts(),
            *check.secrets(),
            *check.size(context),
        }
    )


class _Check:
    def __init__(self, draft: Draft, text: str, file: str) -> None:
        self.draft = draft
        self.text = text
        self.file = file
        self.header = draft.header
        self.declared = {variable.name: variable for variable in draft.header.variables}

    def at(self, code: str, line: int, message: str) -> Finding:
        return Finding(self.file, line, 1, code, message)

    def on(self, code: str, line: Line, column: int, message: str) -> Finding:
        return Finding(line.file, line.number, column, code, message)

    def problems(self) -> Iterator[Finding]:
        """Give what no loader would take."""
        unused = [name for name in self.declared if name not in self.used]
        for error in self.draft.problems:
            code, message = "PK102", str(error.args[0])
            if isinstance(error, MissingVariablesError):
                code = "PK203" if spelling(error.missing[0], unused or self.declared) else "PK201"
            elif isinstance(error, MisfitError):
                code = "PK205"
            yield Finding(error.template_name or self.file, error.line or 1, error.column or 1, code, message)

    @property
    def used(self) -> set[str]:
        """The names that the text uses."""
        return {name for name, _ in uses_of(self.draft.blocks, self.draft.parts)}

    def unused(self) -> Iterator[Finding]:
        """Find declarations that the text does not use."""
        if None in self.draft.parts or not self.draft.blocks:
            return
        used = self.used
        open_names = [name for name in used if name not in self.declared]
        for name in self.declared:
            if name not in used and not spelling(name, open_names):
                line = self.header.line("variables", name)
                yield self.at("PK202", line, f"the variable {name!r} is declared, and the text does not use it")

    def examples(self) -> Iterator[Finding]:
        """Hold the examples against their template."""
        few_shot = self.header.few_shot
        if few_shot is None:
            return
        for index, example in enumerate(few_shot.examples):
            line = self.header.line("few_shot", "examples", index)
            if few_shot.template is None:
                for message in example:
                    for spot in placeholders(message.text, self.declared):
                        hint = f"the example is text, so {spot.text} stays as it is; give 'few_shot' a 'template'"
                        yield self.at("PK301", line, hint)
            else:
                yield from self._names(few_shot.template, example, line, f"example {index + 1}")

    def _names(self, template: Any, given: Mapping[str, Any], line: int, label: str) -> Iterator[Finding]:
        missing, unused = template.check(given)
        for name in missing:
            meant = spelling(name, unused)
            if meant is None:
                yield self.at("PK201", line, f"{label} does not give the variable {name!r}")
            else:
                unused = [other for other in unused if other != meant]
                yield self.at("PK203", line, f"{label} gives {meant!r}; did you mean {name!r}?")
        for name in unused:
            if name not in self.declared:
                yield self.at("PK202", line, f"{label} gives {name!r}, which the text does not use")

    def cases(self) -> Iterator[Finding]:
        """Hold the variables of the test cases against the declarations."""
        if self.draft.problems:
            return
        template = self.draft.template("")
        for index, case in enumerate(self.header.cases):
            line = self.header.line("tests", index)
            label = f"the test {case.name!r}"
            yield from self._names(template, case.variables, line, label)
            for name, value in case.variables.items():
                try:
                    if name in self.declared:
                        self.declared[name].read(value)
                except TemplateError as error:
                    yield self.at(
                        "PK205", self.header.line("tests", index, "variables", name), f"{label}: {error.args[0]}"
                    )

    def properties(self) -> Iterator[Finding]:
        """Hold property paths against the declared types."""
        types = {name: variable.value_type for name, variable in self.declared.items()}
        for block, part in zip(self.draft.blocks, self.draft.parts, strict=True):
            if not isinstance(part, BlockTemplate):
                continue
            for piece in pieces_of(block):
                if isinstance(piece, Block):
                    for found in unknown_properties(piece.text, self.header.renderer, types):
                        line, column = _line_of(piece, found.offset)
                        hint = "" if found.meant is None else f" (did you mean {found.meant!r}?)"
                        yield self.on("PK204", line, column, f"there is no property {found.path!r}{hint}")

    def structure(self) -> Iterator[Finding]:
        """Find lines that look like structure and are text."""
        for block in self.draft.blocks:
            for line in block.lines:
                if not line.fenced and (problem := _stray(line.text)):
                    yield self.on("PK103", line, 1, problem)

    def roles(self) -> Iterator[Finding]:
        """Find roles in an order that asks nothing."""
        blocks = self.draft.blocks
        for index, message in order_problems([block.kind for block in blocks]):
            yield self.on("PK302", blocks[index].heading, 1, message)

    def texts(self) -> Iterator[Finding]:
        """Find doubled text, and placeholders of another language."""
        blocks = [block for block in self.draft.blocks if block.lines]
        whole = "\n\n".join([block.text for block in blocks])
        lines = [line for block in blocks for line in (*block.lines, _GAP)]
        for found in doubled_text(whole):
            first = lines[whole.count("\n", 0, found.first)]
            place = f"line {first.number}" if first.file == self.file else f"{first.file}, line {first.number}"
            yield self._spot("PK303", whole, found.offset, lines, f"this stands already in {place}: {found.text}")
        if self.draft.problems:
            return
        stray = self.declared.keys() - self.used
        for spot in placeholders(whole, stray):
            yield self._spot(
                "PK301", whole, spot.offset, lines, f"{spot.text} is text to this renderer, and stays as it is"
            )

    def _spot(self, code: str, text: str, offset: int, lines: list[Line], message: str) -> Finding:
        number, column, _ = place_of(text, offset)
        return self.on(code, lines[number - 1], column, message)

    def secrets(self) -> Iterator[Finding]:
        """Find secrets anywhere in the file, and in its partials."""
        for spot in secrets(self.text):
            number, column, _ = place_of(self.text, spot.offset)
            yield Finding(self.file, number, column, "PK401", _secret(spot))
        for block in self.draft.blocks:
            for line in block.lines:
                if line.file != self.file:
                    yield from (self.on("PK401", line, spot.offset + 1, _secret(spot)) for spot in secrets(line.text))

    def size(self, context: int | None) -> Iterator[Finding]:
        """Compare the fixed text and the longest answer with the model's context."""
        options = self.header.options
        models = [options.model] if options.model else [name for name in self.header.models if "*" not in name]
        sizes = [size for name in models if (size := context_of(name)) is not None]
        limit = context or min(sizes, default=None)
        if limit is None:
            return
        fixed = sum(token_count(block.text) for block in self.draft.blocks)
        if isinstance(self.header.few_shot, FewShotExamples):
            fixed += sum(token_count(str(example)) for example in self.header.few_shot.examples)
        needed = fixed + (options.max_tokens or 0)
        if needed > limit:
            answer = f" and {options.max_tokens:,} for the answer" if options.max_tokens else ""
            message = f"about {fixed:,} tokens of text{answer} do not fit a context of {limit:,}"
            yield self.at("PK402", self.header.line("options", "max_tokens"), message)


_GAP = Line("", "", 1)


def _secret(spot: Spot) -> str:
    return f"this looks like {spot.text}; give it at run time, not in a file"


def _line_of(block: Block, offset: int) -> tuple[Line, int]:
    number, column, _ = place_of(block.text, offset)
    return block.lines[min(number, len(block.lines)) - 1], column


_HEADING = re.compile(r"#{1,6}[ \t]*(?P<word>[A-Za-z]+)[ \t]*:?[ \t]*(?P<name>[A-Za-z_]\w*)?[ \t]*#*[ \t]*")
_FOREIGN = {"human": "user", "ai": "assistant", "developer": "system", "model": "assistant", "bot": "assistant"}
_STRUCTURE = (*ROLES, "history", "examples", "messages")
_COMMENT = re.compile(r"<!--[ \t]*(?P<word>[A-Za-z]+)[ \t]+\S+[ \t]*-->[ \t]*")
_MEDIA = re.compile(r"!\[[^\]\n]*\]\([ \t]*(?P<word>[A-Za-z]+):[ \t]*[A-Za-z_]\w*[ \t]*\)")


def _stray(text: str) -> str:
    """Say what a line of text was most likely meant to be."""
    found = _HEADING.fullmatch(text)
    if found:
        word = found["word"].lower()
        meant = word if word in _STRUCTURE else _FOREIGN.get(word) or _close(word, _STRUCTURE)
        if meant and (found["name"] is None or meant == "messages"):
            name = f": {found['name'] or 'name'}" if meant == "messages" else ""
            return f"this heading is text; write '# {meant}{name}' to begin a block, or '\\# …' to keep it"
    found = _COMMENT.fullmatch(text)
    if found and found["word"] != "include" and _close(found["word"].lower(), ("include",)):
        return "this comment is text; write '<!-- include name -->' to include a partial"
    found = _MEDIA.search(text)
    if found and found["word"] != "media" and _close(found["word"].lower(), ("media",)):
        return "this is text; write '![](media:name)' for media"
    return ""


def _close(word: str, known: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1, cutoff=0.8)), None)


def order_problems(kinds: list[str]) -> Iterator[tuple[int, str]]:
    """Find what is wrong with the order of roles; a slot at the end may hold the question.

    Args:
        kinds: ``system``, ``user``, ``assistant``, ``messages`` (a slot), ``examples``, or ``other``, behind which nothing is sure.
    """
    begun = False
    system = False
    for index, kind in enumerate(kinds):
        if kind == "other":
            return
        if kind == "system":
            if begun:
                yield index, "system text stands first: some vendors refuse it below other messages"
            elif system:
                yield index, "a second system text: some vendors take one only; join the two"
            system = True
        elif kind == "assistant" and not begun:
            yield index, "the assistant speaks before the user: some vendors refuse that"
        begun = begun or kind != "system"
    if kinds and kinds[-1] == "examples":
        yield len(kinds) - 1, "the prompt ends with examples and asks nothing"
