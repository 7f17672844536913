from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.content import Media, Opaque, Text
from promptkit.errors import MissingVariablesError, PromptError, TemplateError, TemplateSyntaxError
from promptkit.messages import AssistantMessage, Message, SystemMessage, UserMessage
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.templates.actions import Actions, MessageActions, StringActions, Variables
from promptkit.templates.parts import MediaTemplate
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate
from promptkit.templates.resource import TextResource

PNG = Media(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (PromptTemplate("Hi {who}"), UserMessage("Hi Ada")),
        (SystemPromptTemplate("Hi {who}"), SystemMessage("Hi Ada")),
        (AssistantPromptTemplate("Hi {who}"), AssistantMessage("Hi Ada")),
    ],
    ids=["user", "system", "assistant"],
)
def test_role_belongs_to_the_template(template: PromptTemplate, message: Message) -> None:
    model = {"who": "Ada"}
    options = ChatOptions(temperature=0)

    assert template.create_message(model) == message
    assert template.create(model, options=options) == Prompt(message, options)
    assert template.create_messages(model) == (message,)
    assert template.mutate(bound=model).create().messages == (message,)
    assert template.partial(model).create_message(media=[PNG]).message_type == message.message_type


@attrs.frozen
class _AttrsModel:
    who: str = "Ada"


@dataclass
class _DataModel:
    who: str = "Ada"


class _PydanticModel(pydantic.BaseModel):
    who: str = "Ada"


class _LazyMapping(Mapping[str, object]):
    def __getitem__(self, name: str) -> object:
        if name != "who":
            raise KeyError(name)
        return "Ada"

    def __iter__(self) -> Iterator[str]:
        return iter(("who",))

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "model",
    [{"who": "Ada"}, _AttrsModel(), _DataModel(), _PydanticModel(), _LazyMapping()],
    ids=["dict", "attrs", "dataclass", "pydantic", "mapping"],
)
def test_model_may_be_a_mapping_or_an_object(model: Variables) -> None:
    assert PromptTemplate("Hi {who}").render(model) == "Hi Ada"


@pytest.mark.parametrize("model", ["Ada", 3, ["Ada"], object()], ids=["str", "int", "list", "object"])
def test_other_models_are_refused(model: Any) -> None:
    with pytest.raises(TemplateError, match="the model must be a mapping"):
        PromptTemplate("Hi {who}").render(model)


@pytest.mark.parametrize("source", [None, "", " \n\t", 3, b"x", {}, []], ids=repr)
def test_what_is_no_template_is_refused(source: Any) -> None:
    with pytest.raises(TemplateError, match="template"):
        PromptTemplate(source)


def test_mistakes_are_found_when_the_template_is_built_and_name_it() -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        PromptTemplate("Hello!\nDear {name", template_name="letter")

    assert caught.value.template_name == "letter"
    assert caught.value.line == 2
    assert "letter" in str(caught.value)
    assert "^" in str(caught.value)


def test_a_missing_variable_names_the_template_and_the_nearest_name() -> None:
    template = PromptTemplate("Dear {name}, {age}", template_name="letter")

    with pytest.raises(MissingVariablesError) as caught:
        template.render({"nmae": "Ada"})

    assert caught.value.missing == ("name", "age")
    assert caught.value.available == ("nmae",)
    assert caught.value.template_name == "letter"
    assert "'nmae'" in str(caught.value)


def test_partial_binds_and_a_call_wins() -> None:
    template = PromptTemplate("{a}-{b}")
    bound = template.partial({"a": 1})

    assert template.variables == ("a", "b")
    assert bound.variables == ("b",)
    assert bound.render({"b": 2}) == "1-2"
    assert bound.render({"a": 9, "b": 2}) == "9-2"
    assert bound.partial({"a": 5, "b": 6}).render() == "5-6"


def test_bound_variables_may_be_anything_and_cannot_be_changed() -> None:
    values = [1, 2]
    template = PromptTemplate("{x}", bound={"x": values})

    with pytest.raises(TypeError, match="cannot be changed"):
        template.bound["x"] = 3
    assert template.bound["x"] is values
    assert copy.deepcopy(template).bound["x"] is not values


@pytest.mark.parametrize("bound", [None, 3, {None: 1}, {1: 2}], ids=repr)
def test_bound_variables_are_checked(bound: Any) -> None:
    with pytest.raises(TemplateError, match="variables"):
        PromptTemplate("{x}", bound=bound)


def test_check_reports_missing_and_unused() -> None:
    template = PromptTemplate("{a} {b}", bound={"a": 1})

    assert template.check({"c": 1}) == (("b",), ("c",))
    assert template.check({"a": 2, "b": 1}) == ((), ())
    assert template.check() == (("b",), ())


def test_templates_are_values() -> None:
    template = PromptTemplate("Hi {who}", bound={"x": 1}, message_metadata={"cache": "ephemeral"}, message_name="n")
    twin = PromptTemplate("Hi {who}", bound={"x": 1}, message_metadata={"cache": "ephemeral"}, message_name="n")

    assert template == twin
    assert hash(template) == hash(twin)
    assert pickle.loads(pickle.dumps(template)) == template
    assert copy.copy(template) == copy.deepcopy(template) == template
    assert PromptTemplate("Hi") != SystemPromptTemplate("Hi")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        template.template = "other"  # type: ignore[misc]


def test_name_and_metadata_carry_over_to_the_message() -> None:
    template = SystemPromptTemplate("Be {how}", message_metadata={"cache": "ephemeral"}, message_name="n1")

    assert template.create_message({"how": "kind"}) == SystemMessage(
        "Be kind", metadata={"cache": "ephemeral"}, name="n1"
    )


def test_repr_shows_what_differs_from_the_default() -> None:
    assert repr(PromptTemplate("Hi {who}")) == "PromptTemplate('Hi {who}')"


def test_media_follow_the_text() -> None:
    assert PromptTemplate("Look").create_message(media=[PNG]) == UserMessage([Text("Look"), PNG])


class Poem(PromptTemplate):
    """Be an application's template: a default text, a method, its own message."""

    def __init__(self, template: str = "A poem about {topic}") -> None:
        super().__init__(template)

    def about(self, topic: str) -> Prompt:
        return self.create({"topic": topic})

    def create_message(self, model: Variables | None = None, *, media: Iterable[Media] = ()) -> Message:
        return UserMessage(self.render(model).upper(), metadata={"by": "poem"})


def test_an_application_subclasses_templates() -> None:
    poem = Poem()

    assert poem.about("rain") == Prompt(UserMessage("A POEM ABOUT RAIN", metadata={"by": "poem"}))
    assert poem.create_messages({"topic": "sun"})[0].content == "A POEM ABOUT SUN"
    assert pickle.loads(pickle.dumps(poem)) == poem
    assert isinstance(poem.partial({"topic": "x"}), Poem)
    assert poem.partial({"topic": "x"}).render() == "A poem about x"
    assert poem.mutate(template="{topic}!").about("sun").text == "SUN!"
    with pytest.raises(TypeError, match="no field 'topic'"):
        poem.mutate(topic="x")


@attrs.frozen
class Signed(SystemPromptTemplate):
    """Add a field of one's own."""

    author: str = attrs.field(default="anon", kw_only=True)


def test_an_application_adds_fields() -> None:
    signed = Signed("Hi {x}", author="Ada")

    assert signed.partial({"x": 1}) == Signed("Hi {x}", author="Ada", bound={"x": 1})
    assert pickle.loads(pickle.dumps(signed)) == signed
    assert signed.create({"x": 1}).messages == (SystemMessage("Hi 1"),)


def test_templates_follow_the_protocols() -> None:
    text: StringActions = PromptTemplate("a")
    message: MessageActions = PromptTemplate("a")
    prompt: Actions = PromptTemplate("a")

    assert (text.render(), message.create_message(), prompt.create()) == ("a", UserMessage("a"), Prompt("a"))


def test_a_resource_is_a_template_and_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "body.txt"
    file.write_bytes("\ufeffuse {who} — 中文\r\n".encode())
    resource = TextResource(file)

    assert PromptTemplate(resource).render({"who": "Ada"}).strip() == "use Ada — 中文"
    assert PromptTemplate("Q: {body}").render({"body": resource}) == "Q: use {who} — 中文\r\n"
    assert PromptTemplate("{p}").render({"p": file}) == str(file)


def test_a_mistake_in_a_resource_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("Hi {", encoding="utf-8")

    with pytest.raises(TemplateSyntaxError) as caught:
        PromptTemplate(TextResource(file))

    assert caught.value.template_name == str(file)


class _Raising(dict[str, object]):
    def __getitem__(self, name: str) -> object:
        raise RuntimeError(f"no {name} today")


def test_a_mapping_that_raises_is_reported() -> None:
    with pytest.raises(TemplateError, match="RuntimeError") as caught:
        PromptTemplate("{a}", template_name="t").render(_Raising(a=1))

    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.template_name == "t"


def test_parts_interleave_text_and_media() -> None:
    template = PromptTemplate(
        ["Is {a}", MediaTemplate(url="https://x.test/{id}.png"), "like", PNG, "{none}?", Text("{lit}")]
    )

    message = template.create_message({"a": "it", "id": 3, "none": ""})

    assert template.variables == ("a", "id", "none")
    picture = Media(url="https://x.test/3.png")
    assert message.content == (Text("Is it"), picture, Text("like"), PNG, Text("?"), Text("{lit}"))
    assert template.render({"a": "it", "id": 3, "none": ""}) == "Is itlike?{lit}"


def test_media_templates_take_base64_and_file_ids() -> None:
    template = PromptTemplate([MediaTemplate(data="{d}", mime_type="image/png"), MediaTemplate(file_id="f-{n}")])

    first, second = template.create_message({"d": "QUJD", "n": 1}).media  # type: ignore[attr-defined]
    assert (first.bytes, second.file_id) == (b"ABC", "f-1")
    with pytest.raises(PromptError, match="base64"):
        template.create_message({"d": "%", "n": 1})


def test_a_mapping_part_is_filled_in_at_the_depths_of_langchain() -> None:
    template = PromptTemplate([{"type": "t", "a": {"b": "{x}"}, "list": ["{x}", ["{x}"]], "n": 1}])

    expected = Opaque("langchain", {"type": "t", "a": {"b": "1"}, "list": ["1", ["{x}"]], "n": 1})
    assert template.create_message({"x": 1}).content == (expected,)


@pytest.mark.parametrize("sources", [{}, {"url": "a", "data": "b"}], ids=["none", "two"])
def test_a_media_template_has_one_source(sources: dict[str, str]) -> None:
    with pytest.raises(TemplateError, match="exactly one"):
        MediaTemplate(**sources)


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(TemplateError, match="part 1"):
        PromptTemplate(["a", 3])  # type: ignore[list-item]


def test_nested_templates_are_filled_in_with_the_same_model() -> None:
    inner = PromptTemplate("[{who}]")
    outer = PromptTemplate("{greeting} {inner}").partial({"inner": inner})

    assert outer.variables == ("greeting", "who")
    assert outer.render({"greeting": "Hi", "who": "{Ada}"}) == "Hi [{Ada}]"
    assert outer.render({"greeting": "Hi", "inner": "plain"}) == "Hi plain"


def test_a_nested_template_is_no_value_of_its_own_placeholder() -> None:
    template = PromptTemplate("{a}").partial({"a": PromptTemplate("[{a}]")})

    with pytest.raises(MissingVariablesError, match="'a'"):
        template.render()


def test_deeply_nested_templates_end_in_an_error() -> None:
    template = PromptTemplate("{x}")
    for _ in range(5000):
        template = PromptTemplate("{x}", bound={"x": template})

    with pytest.raises(TemplateError):
        template.render()


@given(st.text())
def test_values_come_out_as_they_are(value: str) -> None:
    template = PromptTemplate("{x}", renderer="fstring")

    assert template.create_message({"x": value}) == UserMessage(value)


def test_templates_are_safe_between_threads() -> None:
    template = PromptTemplate("{x}-{x}")
    wrong: list[str] = []

    def render(own: int) -> None:
        wrong.extend(text for text in (template.render({"x": own}) for _ in range(500)) if text != f"{own}-{own}")

    threads = [threading.Thread(target=render, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.parametrize("media", [None, ["a"], "ab", 3], ids=repr)
@pytest.mark.parametrize("source", ["text", ["text"]], ids=["text", "parts"])
def test_media_are_checked(source: Any, media: Any) -> None:
    with pytest.raises(PromptError, match="media"):
        PromptTemplate(source).create_message(media=media)


def test_mapping_parts_are_values() -> None:
    part = {"type": "{x}"}
    template = PromptTemplate([part])
    twin = PromptTemplate([{"type": "{x}"}])
    part["type"] = "other"

    assert template == twin
    assert hash(template) == hash(twin)


class Counted(PromptTemplate):
    """Be an application's template with something computed once."""

    @cached_property
    def size(self) -> int:
        return len(str(self.template))


def test_a_changed_copy_computes_anew() -> None:
    template = Counted("four")

    assert template.size == 4
    assert template.mutate(template="seventh").size == 7


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


def test_an_error_shows_what_cannot_be_shown() -> None:
    with pytest.raises(TemplateError, match="Unprintable without a repr"):
        PromptTemplate(Unprintable())  # type: ignore[arg-type]


def test_bound_variables_that_raise_are_reported() -> None:
    class Raising(dict[str, Any]):
        def keys(self) -> Any:
            raise RuntimeError("not today")

        def __iter__(self) -> Iterator[str]:
            raise RuntimeError("not today")

    with pytest.raises(TemplateError, match="bound variables cannot be read: RuntimeError: not today"):
        PromptTemplate("{a}").partial(Raising(a=1))
