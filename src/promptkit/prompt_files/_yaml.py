"""Read the YAML that a prompt file needs: plain data with places, nothing that grows or runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from promptkit.errors import MissingDependencyError, TemplateError, TemplateSyntaxError
from promptkit.renderers.base import fault

__all__ = ["Document", "Path", "Scalar", "load_yaml_library", "read_yaml"]

MAX_DEPTH = 20
"""Deepest nesting of lists and mappings, in levels."""

MAX_ITEMS = 5_000
"""Most values, lists and mappings in one document."""

MAX_CHARS = 100_000
"""Longest document, in characters."""

Path = tuple[str | int, ...]
"""Where a value stands: keys and indexes."""

_CONVERTED = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))


class Scalar(NamedTuple):
    """Hold how a scalar is written."""

    text: str
    plain: bool
    """Whether it stands without quotes."""


class Document(NamedTuple):
    """Hold what was read."""

    value: Any
    """``None``, bool, int, float, str, lists, and dicts with str keys; a date stays text."""
    lines: dict[Path, int]
    """The line of each value, or of its key; lines count from 1."""
    scalars: dict[Path, Scalar]
    """The text of each scalar."""


def load_yaml_library() -> Any:
    """Import ruamel.yaml.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        import ruamel.yaml
    except ImportError as error:
        raise MissingDependencyError("ruamel.yaml", extra="files", reason="Reading YAML") from error
    return ruamel.yaml


def read_yaml(text: str, name: str | None = None, *, above: int = 0) -> Document:
    """Read one document of YAML 1.2: ``NO`` and ``2026-01-31`` are text.

    Args:
        text: The document.
        name: The file, for errors.
        above: Lines of the file above the text.

    Raises:
        TemplateSyntaxError: It breaks YAML, has a key twice, nests too deep or is too long.
        TemplateError: It has an anchor, an alias or a tag, or is too long.
    """
    if len(text) > MAX_CHARS:
        raise TemplateError(f"the YAML has {len(text):,} characters, over {MAX_CHARS:,}", template_name=name)
    return _Reader(text, name, above).read()


class _Reader:
    def __init__(self, text: str, name: str | None, above: int) -> None:
        self.library = load_yaml_library()
        self.text = text
        self.name = name
        self.above = above
        self.count = 0
        self.document = Document(None, {}, {})

    def fail(self, message: str, mark: Any, kind: type[TemplateError] = TemplateSyntaxError) -> NoReturn:
        error = fault(kind, message, self.text, min(mark.index, len(self.text)), template_name=self.name)
        assert error.line is not None
        error.line += self.above
        raise error from None

    def read(self) -> Document:
        yaml = self.library.YAML(typ="safe", pure=True)
        self.resolver, self.constructor = yaml.resolver, yaml.constructor
        try:
            events = iter(yaml.parse(self.text))
            next(events)
            if type(next(events)).__name__ == "StreamEndEvent":
                return self.document
            value = self.value(next(events), events, ())
            next(events)  # the document's end
            if type(more := next(events)).__name__ != "StreamEndEvent":
                self.fail("a second YAML document begins here; a file has one", more.start_mark)
        except self.library.error.MarkedYAMLError as error:
            problem = " ".join(filter(None, (error.context, error.problem)))
            if "flow" in problem and "'['" in problem:
                problem += "; put quotes around text with brackets"
            self.fail(f"this is no YAML: {problem:.200}", error.problem_mark or error.context_mark)
        except (self.library.error.YAMLError, RecursionError) as error:
            raise TemplateSyntaxError(f"this is no YAML: {error!s:.200}", template_name=self.name) from None
        return self.document._replace(value=value)

    def value(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        kind = type(event).__name__
        self.count += 1
        self.document.lines.setdefault(path, event.start_mark.line + 1 + self.above)
        if kind == "AliasEvent" or event.anchor is not None:
            self.fail(
                "anchors and aliases are refused: write the value where it is needed", event.start_mark, TemplateError
            )
        if event.tag is not None:
            self.fail(
                f"the tag {event.tag!s:.80} is refused: prompt files hold plain data", event.start_mark, TemplateError
            )
        if len(path) > MAX_DEPTH or self.count > MAX_ITEMS:
            self.fail(f"this nests deeper than {MAX_DEPTH} levels or has over {MAX_ITEMS:,} values", event.start_mark)
        if kind == "ScalarEvent":
            return self.scalar(event, path)
        return self.sequence(events, path) if kind == "SequenceStartEvent" else self.mapping(events, path)

    def sequence(self, events: Iterator[Any], path: Path) -> list[Any]:
        items: list[Any] = []
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            items.append(self.value(event, events, (*path, len(items))))
        return items

    def mapping(self, events: Iterator[Any], path: Path) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while type(event := next(events)).__name__ != "MappingEndEvent":
            if type(event).__name__ != "ScalarEvent":
                self.fail("a key must be text", event.start_mark)
            key = event.value
            self.document.lines[(*path, key)] = event.start_mark.line + 1 + self.above
            if key in items or (key == "<<" and not event.style):
                self.fail(f"the key {key!r:.80} stands here twice, or is a merge", event.start_mark)
            if event.anchor is not None or event.tag is not None:
                self.value(event, events, path)
            items[key] = self.value(next(events), events, (*path, key))
        return items

    def scalar(self, event: Any, path: Path) -> Any:
        node = self.library.nodes.ScalarNode
        tag = self.resolver.resolve(node, event.value, event.implicit)
        self.document.scalars[path] = Scalar(event.value, not event.style)
        if str(tag) not in _CONVERTED:
            return event.value
        try:
            return self.constructor.construct_object(node(tag, event.value, event.start_mark, event.end_mark))
        except ValueError:
            self.fail(f"the number {event.value!r:.80} is too long", event.start_mark)
