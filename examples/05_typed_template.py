"""Declare a template as a class: type checkers check its variables, and a wrong placeholder fails at import."""

from typing import ClassVar

from attrs import field, frozen, validators

from promptkit import ChatPromptTemplate, MessageType, TemplateError, TypedPromptTemplate


@frozen
class Translator(TypedPromptTemplate):
    """Tell the model to translate."""

    template: ClassVar[str] = "Translate into {language}{if(formal)}, politely{endif}."
    message_type: ClassVar[MessageType] = MessageType.SYSTEM
    language: str = field(validator=validators.min_len(2))
    formal: bool = False


prompt = ChatPromptTemplate([Translator("French", formal=True), ("user", "{text}")]).create({"text": "I love code."})
for message in prompt:
    print(f"{message.message_type.value}: {message.content}")

letter = "Dear {nmae}"  # no constant, and ignored below: else promptkit's checkers would find the mistake first
try:

    @frozen
    class Broken(TypedPromptTemplate):
        """Misspell a placeholder."""

        template: ClassVar[str] = letter  # promptkit: ignore[PK203]
        name: str
except TemplateError as error:
    print(error)
