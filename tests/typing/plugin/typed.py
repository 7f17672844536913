"""Declare typed templates: every placeholder has a field, every field a placeholder."""

from __future__ import annotations

import typing as t
from functools import cached_property
from typing import ClassVar, Final

import attrs
from attrs import frozen
from snippets.plugin.shared import Greeting

from promptkit import JinjaRenderer, StringTemplateRenderer, TextResource, TypedPromptTemplate

TEXT: Final = "Greet {name}."


@frozen
class Loud(Greeting):
    template = "GREET {name} IN {language}!"


@frozen
class Misspelt(Greeting):
    template = "GREET {nmae} IN {language}!"  # expect: mypy=template-fields


@frozen
class Unused(Loud):
    tone: str = "loud"  # expect: mypy=template-fields


@frozen
class Less(Greeting):
    template = "Greet {name}."  # expect: mypy=template-fields


@frozen
class Broken(TypedPromptTemplate):
    template: ClassVar[str] = "Greet {name."  # expect: mypy=template-syntax
    name: str


@frozen
class Constant(TypedPromptTemplate):
    template: t.ClassVar[str] = TEXT  # expect: mypy=template-fields
    nmae: str


@frozen
class InJinja(TypedPromptTemplate):
    template: ClassVar[str] = "Greet {{ name }} {{ tone }}."  # expect: mypy=template-fields
    renderer: ClassVar[str] = "jinja"
    name: str


@frozen
class InOwnDelimiters(TypedPromptTemplate):
    template: ClassVar[str] = "Greet <name> {name}."
    renderer = StringTemplateRenderer(start="<", end=">")
    name: str = attrs.field(kw_only=True)


@frozen
class Computed(TypedPromptTemplate):
    template: ClassVar[str] = "GREET {shout} {cached}!"
    name: str

    @property
    def shout(self) -> str:
        return self.name.upper()

    @cached_property
    def cached(self) -> str:
        return self.name


@frozen
class Abstract(TypedPromptTemplate):
    name: str


@frozen
class Concrete(Abstract):
    template: ClassVar[str] = "Greet {name}, {place}."  # expect: mypy=template-fields


@frozen
class Mixin:
    place: str


@frozen
class Mixed(Abstract, Mixin):
    template: ClassVar[str] = "Greet {name} in {place}."


@frozen
class OfFile(TypedPromptTemplate):
    template: ClassVar[TextResource] = TextResource("promptkit", "py.typed")
    renderer: ClassVar[JinjaRenderer] = JinjaRenderer()
    name: str


def inside() -> None:
    @frozen
    class Local(Greeting):
        template = "Greet {name} {place}."  # expect: mypy=template-fields

    Local("Ada").create()
