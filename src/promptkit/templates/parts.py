"""Fill in the parts of a message one by one: text templates, media whose source is a template, foreign blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from promptkit._frozen import Value, shown
from promptkit.content import Media, Opaque, Part, Text
from promptkit.errors import TemplateError
from promptkit.renderers.base import CompiledTemplate, TemplateRenderer

__all__ = ["CompiledParts", "MediaTemplate", "PartTemplate"]


@frozen(repr=False, kw_only=True)
class MediaTemplate(Value):
    """Make a medium whose source is filled in: every field is a template.

    Args:
        url: The URL, a ``data:`` URL included.
        data: The bytes as base64 text.
        file_id: The vendor's file id.
        mime_type: The media type.
        name: The file's name.

    >>> from promptkit.templates.prompt_template import PromptTemplate
    >>> template = PromptTemplate(["What is this {thing}?", MediaTemplate(url="https://example.org/{id}.png")])
    >>> template.create_message({"thing": "animal", "id": 7}).media[0].url
    'https://example.org/7.png'
    """

    url: str | None = None
    data: str | None = None
    file_id: str | None = None
    mime_type: str | None = None
    name: str | None = None

    def __attrs_post_init__(self) -> None:
        if sum(source is not None for source in (self.url, self.data, self.file_id)) != 1:
            raise TemplateError("a MediaTemplate takes exactly one of url, data and file_id")


PartTemplate = str | MediaTemplate | Mapping[str, Any] | Part
"""A part of a message template: text and `MediaTemplate` are filled in; so are the strings of a mapping, which becomes
an `Opaque` block of LangChain's; parts that are finished (`Text`, `Media`…) stay as they are."""


class CompiledParts:
    """Hold the compiled parts of one message: immutable, safe between threads."""

    __slots__ = ("_parts", "optional_variables", "variables")

    def __init__(self, parts: Iterable[PartTemplate], renderer: TemplateRenderer) -> None:
        compiled: list[CompiledTemplate] = []

        def compile_text(text: str) -> CompiledTemplate:
            compiled.append(renderer.compile(text))
            return compiled[-1]

        self._parts = tuple([_compile_part(part, index, compile_text) for index, part in enumerate(parts)])
        self.variables = tuple(dict.fromkeys(name for template in compiled for name in template.variables))
        optional = dict.fromkeys(name for template in compiled for name in template.optional_variables)
        self.optional_variables = tuple(name for name in optional if name not in self.variables)

    def fill(self, variables: Mapping[str, object]) -> tuple[Part, ...]:
        """Fill in every part; text that comes out empty leaves no part."""
        filled = (part if isinstance(part, Part) else part(variables) for part in self._parts)
        return tuple([part for part in filled if part != Text("")])

    def render(self, variables: Mapping[str, object], /) -> str:
        """Fill in every part and join the text."""
        return "".join([part.text for part in self.fill(variables) if isinstance(part, Text)])


def _compile_part(part: Any, index: int, compile_text: Any) -> Any:
    """Turn a part into itself, if it is finished, or into a function of the variables."""
    if isinstance(part, str):
        text = compile_text(part)
        return lambda variables: Text(text.render(variables))
    if isinstance(part, MediaTemplate):
        fields = {name: compile_text(value) for name in _MEDIA_FIELDS if (value := getattr(part, name)) is not None}
        return lambda variables: _media({name: text.render(variables) for name, text in fields.items()})
    if isinstance(part, Mapping):
        payload = _compile_tree(part, compile_text, in_list=False)
        return lambda variables: Opaque("langchain", payload(variables))
    if isinstance(part, Part):
        return part
    raise TemplateError(
        f"part {index} of the template must be a str, a part, a MediaTemplate or a mapping: {shown(part)}"
    )


_MEDIA_FIELDS = ("url", "data", "file_id", "mime_type", "name")


def _media(fields: dict[str, str]) -> Media:
    if "data" in fields:
        return Media.from_base64(fields["data"], fields.get("mime_type"), name=fields.get("name"))
    return Media(None, **fields)  # type: ignore[arg-type]


def _compile_tree(value: Any, compile_text: Any, *, in_list: bool) -> Any:
    """Compile the strings of a mapping: at any depth of mappings, and in lists that stand in a mapping.

    Lists inside lists stay as they are: those are the depths at which LangChain fills in its dict templates.
    """
    if isinstance(value, str):
        text = compile_text(value)
        return text.render
    if isinstance(value, Mapping):
        items = {key: _compile_tree(item, compile_text, in_list=False) for key, item in value.items()}
        return lambda variables: {key: fill(variables) for key, fill in items.items()}
    if isinstance(value, list | tuple) and not in_list:
        fills = [_compile_tree(item, compile_text, in_list=True) for item in value]
        return lambda variables: [fill(variables) for fill in fills]
    return lambda _: value
