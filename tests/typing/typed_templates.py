"""Declare templates as classes: checkers see the fields as the constructor's parameters, without a plugin."""

from __future__ import annotations

from typing import ClassVar, assert_type

from attrs import frozen

from promptkit import JinjaRenderer, Prompt, TextResource, TypedPromptTemplate


@frozen
class Greeting(TypedPromptTemplate):
    template: ClassVar[str] = "Greet {name} in {language}."
    name: str
    language: str = "English"


@frozen
class Loud(Greeting):
    template = "GREET {name} in {language}!"
    renderer = "st"


@frozen
class House(TypedPromptTemplate):
    template: ClassVar[TextResource] = TextResource("promptkit", "py.typed")
    renderer: ClassVar[JinjaRenderer] = JinjaRenderer()


assert_type(Greeting("Ada").create(), Prompt)
assert_type(Loud("Ada", language="French").mutate(name="Bob"), Loud)
Greeting("Ada", "French")
Greeting()  # expect: mypy=call-arg pyright=reportCallIssue
Greeting(name=3)  # expect: mypy=arg-type pyright=reportArgumentType
Greeting("Ada", tone="loud")  # expect: mypy=call-arg pyright=reportCallIssue
Greeting("Ada").name = "Bob"  # expect: mypy=misc pyright=reportAttributeAccessIssue
