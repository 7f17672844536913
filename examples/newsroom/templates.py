"""Declare the newsroom's templates."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from promptkit import (
    ChatPromptTemplate,
    FewShotExamples,
    MessagesPlaceholder,
    MessageType,
    TextResource,
    TypedPromptTemplate,
)


@frozen
class Fact:
    """Hold one fact of a story and where it comes from."""

    text: str
    source: str | None = None


@frozen
class Story:
    """Hold a story."""

    lead: str
    facts: tuple[Fact, ...] = ()


@frozen(kw_only=True)
class NewsroomTemplate(TypedPromptTemplate):
    """Be the base of all templates of the paper; it shares what they all need, and has no text of its own."""

    paper: str = "The Daily"
    language: str = "English"


@frozen
class HouseRules(NewsroomTemplate):
    """Tell the model how the paper writes."""

    template: ClassVar[TextResource] = TextResource("newsroom", "texts/house_rules.st")
    message_type: ClassVar[MessageType] = MessageType.SYSTEM
    rules: tuple[str, ...] = ("No exclamation marks.", "Numbers below ten are words.")


@frozen
class Headline(NewsroomTemplate):
    """Ask for a headline."""

    template: ClassVar[TextResource] = TextResource("newsroom", "texts/headline.st")
    story: Story
    words: int = 8


EXAMPLES = FewShotExamples(
    [
        {"lead": "The council voted for the new bridge.", "headline": "Council backs bridge"},
        {"lead": "It rained for {three} weeks.", "headline": "Rain will not stop"},
    ],
    [("user", "{lead}"), ("assistant", "{headline}")],
)


def desk(rules: HouseRules, headline: Headline) -> ChatPromptTemplate:
    """Put a whole conversation together: rules, examples, what was said before, the task."""
    return ChatPromptTemplate([rules, EXAMPLES, MessagesPlaceholder("history", optional=True), headline])
