from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from attrs import frozen

from promptkit.errors import TemplateError, TemplateSyntaxError
from promptkit.messages import MessageType, SystemMessage, UserMessage
from promptkit.templates.chat import ChatPromptTemplate
from promptkit.templates.few_shot import FewShotExamples
from promptkit.templates.resource import TextResource
from promptkit.templates.typed import TypedPromptTemplate


@frozen
class Greeting(TypedPromptTemplate):
    template: ClassVar[str] = "Greet {name} in {language}."
    name: str
    language: str = "English"


def _strings(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


@frozen
class Rules(TypedPromptTemplate):
    template: ClassVar[str] = "{% for rule in rules %}- {{ rule }}\n{% endfor %}"
    renderer: ClassVar[str] = "jinja"
    message_type: ClassVar[MessageType] = MessageType.SYSTEM
    rules: tuple[str, ...] = attrs.field(converter=_strings)


def test_fields_are_the_variables() -> None:
    assert Greeting("Ada").create().messages == (UserMessage("Greet Ada in English."),)
    assert Greeting("Ada").render({"language": "French"}) == "Greet Ada in French."
    assert Rules(["a", "b"]).create_message() == SystemMessage("- a\n- b\n")


def test_an_instance_is_a_value() -> None:
    greeting = Greeting("Ada")

    assert greeting == Greeting("Ada") != Greeting("Bo")
    assert hash(greeting) == hash(Greeting("Ada"))
    assert pickle.loads(pickle.dumps(greeting)) == copy.deepcopy(greeting) == greeting
    assert greeting.mutate(name="Bo") == Greeting("Bo") == greeting.partial({"name": "Bo"})
    assert greeting.variables == greeting.optional_variables == ()


def test_a_typed_template_is_part_of_a_chat() -> None:
    chat = ChatPromptTemplate([Rules(["be kind"]), Greeting("Ada"), ("user", "{q}")])

    assert chat.variables == ("q",)
    assert len(chat.create({"q": "hi"})) == 3


def test_a_placeholder_needs_a_field() -> None:
    with pytest.raises(TemplateError, match="placeholder 'nmae'") as caught:

        @frozen
        class Wrong(TypedPromptTemplate):
            template: ClassVar[str] = "Dear\n  {nmae}"
            name: str

    assert caught.value.template_name is not None
    assert caught.value.template_name.endswith("Wrong")
    assert (caught.value.line, caught.value.column) == (2, 4)
    assert "'name'" in str(caught.value)


def test_a_field_needs_a_placeholder() -> None:
    with pytest.raises(TemplateError, match="the field 'age' has no placeholder"):

        @frozen
        class Wrong(TypedPromptTemplate):
            template: ClassVar[str] = "Dear {name}"
            name: str
            age: int


def test_a_syntax_error_is_found_when_the_class_is_made() -> None:
    with pytest.raises(TemplateSyntaxError) as caught:

        @frozen
        class Wrong(TypedPromptTemplate):
            template: ClassVar[str] = "Dear {name"
            name: str

    assert (caught.value.line, caught.value.column) != (None, None)
    assert "Wrong" in str(caught.value)


@pytest.mark.parametrize("name", ["render", "variables", "create", "mutate", "_compiled"])
def test_a_field_may_not_hide_a_method(name: str) -> None:
    namespace = {"__annotations__": {name: str}, "template": "{" + name + "}", "__module__": __name__}

    with pytest.raises(TemplateError, match=name):
        frozen(type("Wrong", (TypedPromptTemplate,), namespace))


def test_a_template_that_is_a_field_gets_a_hint() -> None:
    with pytest.raises(TemplateError, match="ClassVar"):

        @frozen
        class Wrong(TypedPromptTemplate):
            template: str = "Hi {x}"  # type: ignore[misc]
            x: str = ""


def test_a_class_without_template_is_abstract() -> None:
    @frozen
    class Base(TypedPromptTemplate):
        tone: str = "kind"

    @frozen
    class Child(Base):
        template: ClassVar[str] = "Be {tone} to {who}"
        who: str = "all"

    assert Child(who="me").render() == "Be kind to me"
    with pytest.raises(TemplateError, match="abstract"):
        Base()


def test_a_forgotten_decorator_is_reported_at_the_first_instance() -> None:
    class Forgotten(TypedPromptTemplate):
        template: ClassVar[str] = "Hi {x}"
        x: str

    class Grandchild(Greeting):
        template: ClassVar[str] = "Bye {name}"

    with pytest.raises(TemplateError, match="frozen"):
        Forgotten()
    with pytest.raises(TemplateError, match="frozen"):
        Grandchild("Ada")


def test_a_child_states_another_text() -> None:
    @frozen
    class Farewell(Greeting):
        template: ClassVar[str] = "Bye {name} ({language})"

    assert Farewell("Ada").render() == "Bye Ada (English)"
    assert Greeting("Ada").render() == "Greet Ada in English."


def test_computed_variables_are_properties() -> None:
    @frozen
    class Invoice(TypedPromptTemplate):
        template: ClassVar[str] = "{count} items, {total} euros"
        prices: tuple[int, ...]

        @property
        def count(self) -> int:
            return len(self.prices)

        @cached_property
        def total(self) -> int:
            return sum(self.prices)

    assert Invoice((1, 2)).render() == "2 items, 3 euros"


def test_validators_and_converters_run() -> None:
    @frozen
    class Age(TypedPromptTemplate):
        template: ClassVar[str] = "{age}"
        age: int = attrs.field(converter=int, validator=attrs.validators.gt(0))

    assert Age("7").render() == "7"
    with pytest.raises(ValueError, match="must be > 0"):
        Age(-1)


def test_text_beside_the_module(tmp_path: Path) -> None:
    file = tmp_path / "hi.st"
    file.write_text("Hi {who}", encoding="utf-8")

    @frozen
    class Hi(TypedPromptTemplate):
        template: ClassVar[TextResource] = TextResource(file)
        who: str

    assert Hi("Ada").render() == "Hi Ada"


def test_examples_as_a_field() -> None:
    @frozen
    class Task(TypedPromptTemplate):
        template: ClassVar[str] = "{examples}\nQ: {question}"
        question: str
        examples: FewShotExamples = FewShotExamples([{"q": "{1}"}], "Q: {q}")  # noqa: RUF009 - a frozen value

    assert Task("2").render() == "Q: {1}\nQ: 2"


def test_a_property_that_raises_is_reported() -> None:
    @frozen
    class Bad(TypedPromptTemplate):
        template: ClassVar[str] = "{x}"

        @property
        def x(self) -> Any:
            raise RuntimeError("no x")

    with pytest.raises(TemplateError, match="no x"):
        Bad().render()


def test_a_computed_variable_is_computed_once_and_may_be_examples() -> None:
    @frozen
    class Task(TypedPromptTemplate):
        template: ClassVar[str] = "{examples}|{question}"
        computed: ClassVar[list[str]] = []
        question: str

        @property
        def examples(self) -> FewShotExamples:
            self.computed.append(self.question)
            return FewShotExamples([{"q": "{1}"}], "Q: {q}", suffix="for {question}", separator=" ")

    assert Task("2").render() == "Q: {1} for 2|2"
    assert Task.computed == ["2"]


def test_a_field_may_not_hide_a_method_of_the_application() -> None:
    @frozen
    class Base(TypedPromptTemplate):
        def tone(self) -> str:
            return "kind"

    with pytest.raises(TemplateError, match="'tone'"):

        @frozen
        class Wrong(Base):
            template: ClassVar[str] = "Be {tone}"
            tone: str = "x"  # type: ignore[assignment]


def test_a_class_that_can_be_changed_is_refused() -> None:
    with pytest.raises(TemplateError, match="templates are values"):

        @attrs.define
        class Wrong(TypedPromptTemplate):
            template: ClassVar[str] = "{x}"
            x: str


@pytest.mark.parametrize(
    ("members", "words"),
    [({"template": 5}, "must be text"), ({"template": "x", "message_type": "tool"}, "message_type must be one of")],
    ids=["text", "role"],
)
def test_class_variables_are_checked(members: dict[str, Any], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        frozen(type("Wrong", (TypedPromptTemplate,), members))
