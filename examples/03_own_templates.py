"""Subclass templates in an application: a default text, a method, a message of one's own."""

from collections.abc import Iterable

from promptkit import Media, Message, Prompt, PromptTemplate, UserMessage
from promptkit.templates.actions import Variables


class ReviewTemplate(PromptTemplate):
    """Ask for a review of a text, with the day's house rules in front."""

    def __init__(self, template: str = "Review this text in {words} words:\n{text}") -> None:
        super().__init__(template)

    def create_message(self, model: Variables | None = None, *, media: Iterable[Media] = ()) -> Message:
        message = super().create_message(model, media=media)
        return UserMessage(message.content or "", metadata={"template": "review"})

    def review(self, text: str, *, words: int = 50) -> Prompt:
        return self.create({"text": text, "words": words})


prompt = ReviewTemplate().review("It was a dark and stormy {night}.")
print(prompt.text)
print(prompt.messages[0].metadata)
