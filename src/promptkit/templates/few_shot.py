"""Show the model examples: all of them, or those that a selector picks for the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import isnan
from typing import Any, NamedTuple, Protocol

from attrs import field, frozen

from promptkit._frozen import Value, shown
from promptkit.errors import TemplateError
from promptkit.messages import Message, check_message
from promptkit.prompt import Prompt
from promptkit.renderers import by_name
from promptkit.renderers.base import TemplateRenderer
from promptkit.templates.actions import Variables
from promptkit.templates.base import BasePromptTemplate, BoundVariables, Nestable, variables_of
from promptkit.templates.chat import ChatPart, ChatPromptTemplate
from promptkit.templates.prompt_template import PromptTemplate
from promptkit.tokens import TokenCounter

__all__ = ["Example", "ExampleSelector", "FewShotExamples", "LengthSelector", "ScoreSelector", "TokenBudgetSelector"]


class Example(NamedTuple):
    """Hold one example, filled in."""

    given: Any
    """What the application gave: variables, or messages."""
    messages: tuple[Message, ...]
    """It as messages."""
    text: str
    """It as text."""


class ExampleSelector(Protocol):
    """Pick the examples of a call."""

    def select(self, examples: Sequence[Example], model: Mapping[str, Any]) -> Iterable[Example]:
        """Give the examples to show, in the order to show them.

        Args:
            examples: All of them, in the order given.
            model: The call's variables.
        """


@frozen(repr=False)
class LengthSelector(Value):
    """Pick examples from the start as long as their texts and the call's own variables fit; stop at the first that does not.

    Args:
        max_length: The most that fits, in the unit of ``length``.
        length: How a text is measured; characters unless you say otherwise.

    >>> picked = LengthSelector(7).select([Example(None, (), "1234"), Example(None, (), "56789")], {"q": "hi"})
    >>> [example.text for example in picked]
    ['1234']
    """

    max_length: int
    length: Callable[[str], int] = len

    def select(self, examples: Sequence[Example], model: Mapping[str, Any]) -> list[Example]:
        """Give the examples that fit, in the order given."""
        taken = sum(self.length(value) for value in model.values() if isinstance(value, str))
        return _fitting(examples, self.max_length - taken, lambda example: self.length(example.text))


@frozen(repr=False)
class TokenBudgetSelector(Value):
    """Pick examples from the start as long as their messages fit a budget; stop at the first that does not.

    Args:
        max_tokens: The budget, in tokens.
        counter: What counts them.

    >>> from promptkit import ApproximateTokenCounter, UserMessage
    >>> short, long = (Example(None, (UserMessage(text),), text) for text in ("hi", "word " * 100))
    >>> [example.text for example in TokenBudgetSelector(50, ApproximateTokenCounter()).select([short, long], {})]
    ['hi']
    """

    max_tokens: int
    counter: TokenCounter

    def select(self, examples: Sequence[Example], model: Mapping[str, Any]) -> list[Example]:  # noqa: ARG002
        """Give the examples that fit, in the order given."""
        return _fitting(examples, self.max_tokens, lambda example: sum(map(self.counter.count, example.messages)))


def _fitting(examples: Sequence[Example], budget: int, size: Callable[[Example], int]) -> list[Example]:
    kept = []
    for example in examples:
        budget -= size(example)
        if budget < 0:
            break
        kept.append(example)
    return kept


@frozen(repr=False)
class ScoreSelector(Value):
    """Pick the examples that a function scores highest for the call: best first, ties in the order given.

    Args:
        score: From an example as it was given and the call's variables to a number; higher is better.
        count: How many to pick, at most.

    Raises:
        TemplateError: A score is not a number.

    >>> closest = ScoreSelector(lambda example, model: -abs(example["n"] - model["n"]), 1)
    >>> examples = FewShotExamples([{"n": 1}, {"n": 8}], [("user", "{n}")], selector=closest)
    >>> examples.create_messages({"n": 6})
    (UserMessage('8'),)
    """

    score: Callable[[Any, Mapping[str, Any]], float]
    count: int

    def __attrs_post_init__(self) -> None:
        if type(self.count) is not int or self.count < 0:
            raise TemplateError(f"ScoreSelector.count must be an int of at least 0, not {shown(self.count)}")

    def select(self, examples: Sequence[Example], model: Mapping[str, Any]) -> list[Example]:
        """Give the best examples."""
        scores = [self.score(example.given, model) for example in examples]
        for index, score in enumerate(scores):
            if not isinstance(score, int | float) or isnan(score):
                raise TemplateError(f"the score of example {index} must be a number, not {shown(score)}")
        order = sorted(range(len(examples)), key=lambda index: -scores[index])
        return [examples[index] for index in order[: self.count]]


def _as_tuple(examples: Iterable[Variables | Iterable[Message]]) -> tuple[Any, ...]:
    if isinstance(examples, str | bytes | Mapping) or not isinstance(examples, Iterable):
        raise TemplateError(f"FewShotExamples takes a list of examples, not {shown(examples)}")
    return tuple(examples)


def _as_template(value: str | BasePromptTemplate | ChatPromptTemplate | Sequence[ChatPart] | None) -> Any:
    return value  # made a template when the renderer is known


@frozen(repr=False)
class FewShotExamples(Nestable, Value):
    """Hold examples for the model, as messages in a chat template or as text in a text template.

    Each example is filled in once, when it is first needed. Its text is never parsed again, so braces in it stay.
    In a `ChatPromptTemplate` it is a part. In a `PromptTemplate` it is a bound variable:
    ``PromptTemplate("{examples}…").partial({"examples": FewShotExamples(…)})``; ``prefix`` and ``suffix`` are then
    templates over the call's variables, and blank pieces are left out.

    Args:
        examples: Each the variables of ``template``; or, without one, the messages themselves.
        template: The parts of one example's chat, a chat template, or a text template.
        selector: What picks the examples of a call; all in order without one.
        renderer: The language of template text given as ``str``, or its short name.
        prefix: Text before the examples.
        suffix: Text after them.
        separator: What stands between two pieces of text.

    >>> sums = FewShotExamples([{"q": "1+1", "a": 2}], [("user", "{q}"), ("assistant", "{a}")])
    >>> ChatPromptTemplate([sums, ("user", "{q}")]).create({"q": "2+2"}).messages
    (UserMessage('1+1'), AssistantMessage('2'), UserMessage('2+2'))
    """

    examples: tuple[Any, ...] = field(hash=False, converter=_as_tuple)
    template: Any = field(default=None, converter=_as_template)
    selector: ExampleSelector | None = field(default=None, kw_only=True)
    renderer: TemplateRenderer = field(default="st", kw_only=True, converter=by_name)  # type: ignore[assignment]
    prefix: str = field(default="", kw_only=True)
    suffix: str = field(default="", kw_only=True)
    separator: str = field(default="\n\n", kw_only=True)

    def __attrs_post_init__(self) -> None:
        template = self.template
        if isinstance(template, str):
            template = PromptTemplate(template, renderer=self.renderer)
        elif isinstance(template, list | tuple):
            template = ChatPromptTemplate(template, renderer=self.renderer)
        if template is not None and not isinstance(template, BasePromptTemplate | ChatPromptTemplate):
            raise TemplateError(f"the template of an example must be text, a template or parts, not {shown(template)}")
        object.__setattr__(self, "template", template)
        for name in ("prefix", "suffix", "separator"):
            if not isinstance(getattr(self, name), str):
                raise TemplateError(f"{name} of FewShotExamples must be text, not {getattr(self, name)!r:.80}")
        if self.selector is not None and not hasattr(self.selector, "select"):
            raise TemplateError(f"the selector of FewShotExamples has no method select: {shown(self.selector)}")
        object.__setattr__(self, "examples", tuple([self._own(one, at) for at, one in enumerate(self.examples)]))
        self._frame  # noqa: B018 - mistakes are found now

    @cached_property
    def _frame(self) -> tuple[PromptTemplate | None, PromptTemplate | None]:
        """The prefix and the suffix as templates."""
        ends = (self.prefix, self.suffix)
        before, after = (PromptTemplate(text, renderer=self.renderer) if text.strip() else None for text in ends)
        return before, after

    def _own(self, given: Any, index: int) -> Any:
        """Keep a copy of an example, so that nobody can change it."""
        if self.template is None:
            if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
                raise TemplateError(
                    f"examples[{index}] must be a list of messages, since there is no template, not {shown(given)}"
                )
            return tuple([check_message(item, f"examples[{index}]") for item in given])
        variables = variables_of(given, f"examples[{index}]")
        return BoundVariables(variables) if isinstance(given, Mapping) else given

    @cached_property
    def _filled(self) -> tuple[Example, ...]:
        return tuple([self._fill(example) for example in self.examples])

    def _fill(self, given: Any) -> Example:
        messages = given if self.template is None else self.template.create_messages(given)
        return Example(given, messages, Prompt(messages).join_text("\n"))

    def _selected(self, model: Variables | None) -> Iterable[Example]:
        if self.selector is None:
            return self._filled
        return self.selector.select(self._filled, {} if model is None else variables_of(model))

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that prefix and suffix need."""
        return tuple(dict.fromkeys(name for end in self._frame if end is not None for name in end.variables))

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that prefix and suffix can use."""
        names = dict.fromkeys(name for end in self._frame if end is not None for name in end.optional_variables)
        return tuple([name for name in names if name not in self.variables])

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Give the messages of the selected examples, in their order; prefix and suffix are for text."""
        return tuple([message for example in self._selected(model) for message in example.messages])

    def render(self, model: Variables | None = None) -> str:
        """Give prefix, selected examples and suffix as one text."""
        before, after = (None if end is None else end.render(model) for end in self._frame)
        pieces = (before, *(example.text for example in self._selected(model)), after)
        return self.separator.join([piece for piece in pieces if piece])
