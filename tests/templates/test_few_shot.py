from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from promptkit.errors import MissingVariablesError, TemplateError
from promptkit.messages import AssistantMessage, UserMessage
from promptkit.templates.chat import ChatPromptTemplate
from promptkit.templates.few_shot import Example, FewShotExamples, LengthSelector, ScoreSelector, TokenBudgetSelector
from promptkit.templates.prompt_template import PromptTemplate
from promptkit.tokens import ApproximateTokenCounter

WORDS = [{"word": "happy", "antonym": "sad"}, {"word": "tall", "antonym": "short"}]
TEXT = FewShotExamples(
    WORDS, "Word: {word}\nAntonym: {antonym}", prefix="Give the antonym", suffix="Word: {input}\nAntonym:"
)


def test_examples_as_text() -> None:
    expected = "Give the antonym\n\nWord: happy\nAntonym: sad\n\nWord: tall\nAntonym: short\n\nWord: big\nAntonym:"

    assert TEXT.render({"input": "big"}) == expected
    assert TEXT.variables == ("input",)
    assert PromptTemplate("{few}!").partial({"few": TEXT}).render({"input": "big"}) == expected + "!"


def test_blank_pieces_are_left_out() -> None:
    assert FewShotExamples([], "x {y}", suffix="end").render() == "end"
    assert FewShotExamples(WORDS, "{word}", separator=", ").render() == "happy, tall"


def test_example_text_is_never_parsed_again() -> None:
    examples = FewShotExamples([{"q": "to json", "a": "[{'amt': 1}]"}], "Q: {q}\nA: {a}", suffix="Q: {ask}\nA:")

    assert examples.render({"ask": "{x}"}) == "Q: to json\nA: [{'amt': 1}]\n\nQ: {x}\nA:"


def test_examples_may_be_messages() -> None:
    pair = (UserMessage("{1}"), AssistantMessage("2"))
    examples = FewShotExamples([pair, pair])

    assert examples.create_messages() == pair * 2
    assert ChatPromptTemplate([examples]).create().messages == pair * 2
    assert examples.render() == "{1}\n2\n\n{1}\n2"


def test_examples_are_values() -> None:
    assert pickle.loads(pickle.dumps(TEXT)) == TEXT


def test_examples_are_filled_in_once() -> None:
    class Counting:
        prints = 0

        def __str__(self) -> str:
            Counting.prints += 1
            return "1"

    examples = FewShotExamples([{"q": Counting()}], [("user", "{q}")])
    examples.create_messages()
    examples.create_messages()

    assert Counting.prints == 1


def test_examples_cannot_be_changed_from_outside() -> None:
    given = {"q": "1"}
    examples = FewShotExamples([given], "{q}")
    given["q"] = "2"

    assert examples == FewShotExamples([{"q": "1"}], "{q}")
    assert hash(examples) == hash(FewShotExamples([{"q": "1"}], "{q}"))
    assert examples.render() == "1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"examples": None}, "list of examples, not None"),
        ({"examples": "text"}, "list of examples, not 'text'"),
        ({"examples": [UserMessage("x")]}, r"examples\[0\] must be a list of messages"),
        ({"examples": [{"q": 1}, 3], "template": "{q}"}, r"examples\[1\] must be a mapping"),
        ({"examples": [], "prefix": None}, "prefix of FewShotExamples"),
        ({"examples": [], "separator": 3}, "separator of FewShotExamples"),
        ({"examples": [], "selector": 3}, "no method select"),
    ],
    ids=["None", "text", "messages in no list", "no variables", "prefix", "separator", "selector"],
)
def test_examples_are_checked_when_they_are_made(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        FewShotExamples(**arguments)


def test_an_incomplete_example_is_an_error() -> None:
    with pytest.raises(MissingVariablesError, match="output"):
        FewShotExamples([{"input": "a"}], [("user", "{input}"), ("assistant", "{output}")]).create_messages()


@pytest.mark.parametrize("template", [3, {"a": 1}], ids=repr)
def test_what_is_no_template_is_refused(template: Any) -> None:
    with pytest.raises(TemplateError, match="the template of an example"):
        FewShotExamples([], template)


def test_a_length_selector_counts_the_call_as_well() -> None:
    examples = FewShotExamples(WORDS, "{word}", selector=LengthSelector(9))

    assert examples.render({"input": ""}) == "happy\n\ntall"
    assert examples.render({"input": "x"}) == "happy"
    assert examples.render({"input": "xxxxx"}) == ""
    words = LengthSelector(1, lambda text: len(text.split()))
    assert examples.mutate(selector=words).render() == "happy"


def test_a_token_budget_selector_counts_messages() -> None:
    counter = ApproximateTokenCounter()
    one = counter.count(UserMessage("happy"))
    examples = FewShotExamples(WORDS, [("user", "{word}")], selector=TokenBudgetSelector(one, counter))

    assert examples.create_messages() == (UserMessage("happy"),)


def test_a_score_selector_gives_the_best_first_and_ties_in_order() -> None:
    numbers = [{"n": 1}, {"n": 5}, {"n": 3}, {"n": 7}]
    selector = ScoreSelector(lambda example, model: -abs(example["n"] - model["n"]), 3)

    examples = FewShotExamples(numbers, "{n}", selector=selector, separator=" ")
    assert examples.render({"n": 4}) == "5 3 1"


@pytest.mark.parametrize("score", [float("nan"), None, "high"], ids=repr)
def test_a_score_is_a_number(score: Any) -> None:
    examples = FewShotExamples(WORDS, "{word}", selector=ScoreSelector(lambda example, model: score, 1))

    with pytest.raises(TemplateError, match="score of example 0"):
        examples.render()


class Last:
    """Be an application's selector."""

    def select(self, examples: Sequence[Example], model: Mapping[str, Any]) -> Sequence[Example]:
        return examples[-1:]


def test_an_application_selects_as_it_likes() -> None:
    assert FewShotExamples(WORDS, "{word}", selector=Last()).render() == "tall"


@pytest.mark.parametrize("count", [-1, 1.5, True], ids=repr)
def test_a_count_is_checked(count: Any) -> None:
    with pytest.raises(TemplateError, match="count"):
        ScoreSelector(lambda example, model: 1, count)
