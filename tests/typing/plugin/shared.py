"""Make templates that other modules fill in."""

from __future__ import annotations

from typing import ClassVar, Final

from attrs import frozen

from promptkit import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate, SystemMessage, TypedPromptTemplate

TEXT: Final = "Translate {text} into {language}."
TRANSLATE = PromptTemplate(TEXT)
HELLO = PromptTemplate("Hi {name}" + " from {place}.")
FROM_PARIS = HELLO.partial({"place": "Paris"})
SUPPORT = ChatPromptTemplate(
    [
        ("system", "You are {name}."),
        SystemMessage("Braces {stay}."),
        MessagesPlaceholder("history", optional=True),
        HELLO,
        ("user", ["{question}"]),
    ]
)

again = PromptTemplate("{a} {b}")
again = again.partial({"a": 1})
again.create({"b": 2})
again.create({"a": 2})  # expect: mypy=template-variables


@frozen
class Greeting(TypedPromptTemplate):
    template: ClassVar[str] = "Greet {name} in {language}."
    name: str
    language: str = "English"
