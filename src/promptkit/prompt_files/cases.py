"""Hold the test cases that stand in a prompt file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, freeze_mapping, shown
from promptkit.errors import PromptkitError, TemplateError
from promptkit.prompt import Prompt
from promptkit.renderers.base import nearest
from promptkit.templates.actions import Actions
from promptkit.tokens import ApproximateTokenCounter, TokenCounter

__all__ = ["PromptCase", "tokens_of"]


def _texts(value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise TemplateError(f"a test case looks for texts, not for {shown(value)}")
    return tuple(texts)


@frozen(repr=False)
class PromptCase(Value):
    """Say what a prompt must be for some variables.

    Args:
        name: What the case shows.
        variables: The variables.
        contains: Texts that stand in the prompt.
        excludes: Texts that do not.
        text: The whole text of the prompt, its messages joined by newlines.
        max_tokens: The most tokens that it may have.

    >>> from promptkit import PromptTemplate
    >>> PromptCase("greets", {"name": "Ada"}, contains="Bob").failures(PromptTemplate("Hi {name}"))
    ("the text 'Bob' is not in the prompt",)
    """

    name: str
    variables: FrozenDict = field(default=EMPTY, hash=False, converter=freeze_mapping)
    contains: tuple[str, ...] = field(default=(), kw_only=True, converter=_texts)
    excludes: tuple[str, ...] = field(default=(), kw_only=True, converter=_texts)
    text: str | None = field(default=None, kw_only=True)
    max_tokens: int | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.text, str | None):
            raise TemplateError("the name and the text of a test case must be text; put quotes around it")
        if self.max_tokens is not None and (type(self.max_tokens) is not int or self.max_tokens < 1):
            raise TemplateError(f"max_tokens of a test case must be a positive int, not {shown(self.max_tokens)}")

    @classmethod
    def from_data(cls, data: Any, number: int) -> PromptCase:
        """Read a case from a prompt file.

        Raises:
            TemplateError: It is none.
        """
        if not isinstance(data, Mapping):
            raise TemplateError(f"a test case must be a mapping, not {shown(data)}")
        for key in data:
            if key not in _KEYS:
                raise TemplateError(f"a test case has no {key!r}{nearest(key, _KEYS)}; it has {', '.join(_KEYS)}")
        given = {key: value for key, value in data.items() if value is not None}
        if not isinstance(given.get("variables", {}), Mapping):
            raise TemplateError(f"the variables of a test case must be a mapping, not {shown(given['variables'])}")
        return cls(given.pop("name", f"case {number}"), **given)

    def failures(self, template: Actions, counter: TokenCounter | None = None) -> tuple[str, ...]:
        """Say what is wrong with the prompt that a template makes; nothing if all is well.

        Args:
            template: The template.
            counter: What counts tokens; an estimate without it.
        """
        try:
            prompt = template.create(self.variables)
        except PromptkitError as error:
            return (f"the prompt cannot be made: {error}",)
        text = prompt.text
        found = [f"the text {shown(part)} is not in the prompt" for part in self.contains if part not in text]
        found += [f"the text {shown(part)} is in the prompt" for part in self.excludes if part in text]
        if self.text is not None and self.text.rstrip("\n") != text.rstrip("\n"):
            found.append(f"the prompt is not {shown(self.text)} but {shown(text)}")
        if self.max_tokens is not None:
            count = tokens_of(prompt, counter or ApproximateTokenCounter())
            if count > self.max_tokens:
                found.append(f"the prompt has {count} tokens, over {self.max_tokens}")
        return tuple(found)


_KEYS = ("name", "variables", "contains", "excludes", "text", "max_tokens")


def tokens_of(prompt: Prompt, counter: TokenCounter) -> int:
    """Count the tokens of a prompt."""
    return counter.overhead + sum(map(counter.count, prompt.messages))
