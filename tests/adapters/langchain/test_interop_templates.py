"""Templates of langchain-core, both ways: the same language, and the same text whoever fills it in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import langchain_core.messages as core
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import prompts
from langchain_core.example_selectors import BaseExampleSelector, LengthBasedExampleSelector
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts.structured import StructuredPrompt

from promptkit import Prompt
from promptkit.adapters.base import Loss
from promptkit.adapters.langchain import (
    HumanMessage,
    as_langchain_model,
    as_runnable,
    from_langchain_core,
    from_messages,
    to_langchain_core,
    to_messages,
)
from promptkit.content import Media, Text
from promptkit.errors import AdapterError, MissingVariablesError, TemplateError, UnsupportedContentError
from promptkit.messages import AssistantMessage, Message, SystemMessage, UserMessage
from promptkit.options import ChatOptions
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.few_shot import FewShotExamples
from promptkit.templates.parts import MediaTemplate
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate
from promptkit.testing import EchoChatModel

EXAMPLES: Any = [{"q": "1+1", "a": "2"}, {"q": "{x}", "a": "<b>"}]
EXAMPLE = prompts.PromptTemplate.from_template("Q: {q}\nA: {a}")


def text(source: str, form: Any = "f-string", **more: Any) -> prompts.PromptTemplate:
    return prompts.PromptTemplate.from_template(source, template_format=form, **more)


TEXTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "f-string": (text("{{literal}} {a} {b:>4} {c!r}"), {"a": "{b}", "b": 3, "c": "4"}),
    "f-string, partial": (text("{a} {b}").partial(a="x"), {"b": "y"}),
    "f-string, a partial function": (text("{a} {b}").partial(a=lambda: "now"), {"b": "y"}),
    "jinja2": (text("{% for x in xs %}{{ x }},{% endfor %}{{ m.k }}\n", "jinja2"), {"xs": [1, 2], "m": {"k": "v"}}),
    "jinja2, partial": (text("{{ a }} {% if b %}b{% endif %}", "jinja2").partial(a="x"), {"b": True}),
    "mustache": (text("{{{a}}} {{&a}} {{#xs}}<{{{.}}}>{{/xs}}{{^ys}}none{{/ys}}", "mustache"), {"a": "<&>", "xs": "12", "ys": []}),
    "mustache, nested": (text("{{#p}}{{{name}}}{{/p}}", "mustache"), {"p": {"name": "Ada"}}),
    "examples": (
        prompts.FewShotPromptTemplate(
            examples=EXAMPLES[:1], example_prompt=EXAMPLE, prefix="Be {how}.", suffix="Q: {input}\nA:", input_variables=["how", "input"]
        ),
        {"how": "brief", "input": "2+2"},
    ),
    "examples with templates": (
        prompts.FewShotPromptWithTemplates(
            examples=EXAMPLES[:1], example_prompt=EXAMPLE, prefix=text("Be {how}."), suffix=text("Q: {input}"), input_variables=["how", "input"]
        ),
        {"how": "brief", "input": "2+2"},
    ),
    "selected examples": (
        prompts.FewShotPromptTemplate(
            example_selector=LengthBasedExampleSelector(examples=EXAMPLES[:1] * 3, example_prompt=EXAMPLE, max_length=6),
            example_prompt=EXAMPLE,
            suffix="Q: {input}",
            input_variables=["input"],
        ),
        {"input": "2+2"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_text_templates_render_the_same_here_and_back_again(case: str) -> None:
    template, variables = TEXTS[case]
    losses: list[Loss] = []
    expected = template.invoke(variables).to_string()

    ours = from_langchain_core(template, losses=losses)

    assert losses == []
    assert ours.render(variables) == expected
    assert to_langchain_core(ours).invoke(variables).to_string() == expected


@pytest.mark.parametrize("case", [case for case in TEXTS if "example" not in case and "function" not in case])
def test_text_templates_come_back_as_what_they_were(case: str) -> None:
    template, _ = TEXTS[case]
    back = to_langchain_core(from_langchain_core(template))

    assert type(back) is prompts.PromptTemplate
    assert (back.template_format, back.partial_variables) == (template.template_format, template.partial_variables)
    assert sorted(back.input_variables) == sorted(template.input_variables)


PIECES = ("{a}", "{b}", "{{", "}}", " ", "x", "\n", "{a:>5}", "{a!r}", "<", "%", "é")


@given(st.lists(st.sampled_from(PIECES), min_size=1).map("".join).filter(str.strip), st.text(max_size=5), st.integers())
def test_any_f_string_renders_the_same(source: str, a: str, b: int) -> None:
    template = text(source)
    ours = from_langchain_core(template)

    assert ours.render({"a": a, "b": b}) == template.format(a=a, b=b)
    assert to_langchain_core(ours).format(a=a, b=b) == template.format(a=a, b=b)


def mustaches() -> st.SearchStrategy[str]:
    tags = st.sampled_from(("{{{a}}}", "{{& b }}", "{{#xs}}{{{.}}}{{/xs}}", "{{! no }}", " ", "x", "\n", "<"))
    section = "{{{{#{0}}}}}{1}{{{{/{0}}}}}".format
    return st.recursive(
        tags,
        lambda inner: (
            st.lists(inner, max_size=4).map("".join) | st.builds(section, st.sampled_from(("xs", "p", "ys")), inner)
        ),
        max_leaves=6,
    )


@given(mustaches(), st.text(max_size=5), st.lists(st.text(min_size=1, max_size=3), max_size=2))
def test_any_mustache_renders_the_same(source: str, a: str, xs: list[str]) -> None:
    variables = {"a": a, "b": "<&>", "xs": xs, "p": {"a": "in"}, "ys": []}
    source = "{{{a}}}" + source
    expected = text(source, "mustache").format(**variables)

    assert from_langchain_core(text(source, "mustache")).render(variables) == expected
    assert to_langchain_core(PromptTemplate(source, renderer="mustache")).format(**variables) == expected


def chat(parts: Iterable[Any], **options: Any) -> Any:
    return prompts.ChatPromptTemplate(list(parts), **options)


SLOT = prompts.MessagesPlaceholder("h", optional=True, n_messages=2)
IMAGE: Any = [
    {"type": "text", "text": "What is {q}?"},
    {"type": "image_url", "image_url": {"url": "https://e.org/{q}.png"}},
]
HISTORY = [core.HumanMessage("a {q}"), core.AIMessage("b"), core.HumanMessage("c")]

CHATS: dict[str, tuple[Any, dict[str, Any]]] = {
    "roles": (chat([("system", "Be {how}."), ("human", "{q}"), ("ai", "{{yes}}")]), {"how": "brief", "q": "{how}"}),
    "a history": (chat([("system", "s"), SLOT, ("human", "{q}")]), {"h": HISTORY, "q": "d"}),
    "no history": (chat([("system", "s"), SLOT, ("human", "{q}")]), {"q": "d"}),
    "a finished message": (chat([core.SystemMessage("You are {q}"), ("human", "{q}")]), {"q": "d"}),
    "a partial": (chat([("system", "Be {how}."), ("human", "{q}")]).partial(how="kind"), {"q": "d"}),
    "a partial history": (chat([SLOT, ("human", "{q}")]).partial(h=HISTORY), {"q": "d"}),
    "a free role": (chat([prompts.ChatMessagePromptTemplate.from_template("{q}", role="Critic")]), {"q": "d"}),
    "jinja2": (chat([("system", "{{ how }}"), ("human", "{% if q %}{{ q }}{% endif %}")], template_format="jinja2"), {"how": "x", "q": "y"}),
    "mustache": (chat([("human", "{{{q}}} {{#xs}}{{{.}}}{{/xs}}")], template_format="mustache"), {"q": "<", "xs": ["1"]}),
    "a chat in a chat": (chat([("system", "s"), chat([("human", "{q}")])]), {"q": "d"}),
    "examples": (
        chat(
            [
                ("system", "s"),
                prompts.FewShotChatMessagePromptTemplate(examples=EXAMPLES, example_prompt=chat([("human", "{q}"), ("ai", "{a}")])),
                ("human", "{input}"),
            ]
        ),
        {"input": "d"},
    ),
    "an empty text": (chat([("system", ""), ("human", "{q}")]), {"q": "d"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CHATS)
def test_chat_templates_fill_in_the_same_here_and_back_again(case: str) -> None:
    template, variables = CHATS[case]
    losses: list[Loss] = []
    expected = template.invoke(variables).to_messages()

    ours = from_langchain_core(template, losses=losses)
    back = to_langchain_core(ours)

    assert losses == []
    mine = {
        name: from_messages(from_langchain_core(value)) if name == "h" else value for name, value in variables.items()
    }
    assert to_langchain_core(to_messages(ours.create(mine))) == expected
    assert type(back) is prompts.ChatPromptTemplate
    assert back.invoke(variables).to_messages() == expected
    assert sorted(back.input_variables) == sorted(template.input_variables)


def test_parts_with_images_are_filled_in() -> None:
    template = chat([("human", IMAGE)])
    ours = from_langchain_core(template)

    assert ours.create({"q": "this"}).messages == (
        UserMessage([Text("What is this?"), Media(url="https://e.org/this.png")]),
    )
    (message,) = to_langchain_core(ours).invoke({"q": "this"}).to_messages()
    assert message.content[1] == {"type": "image", "url": "https://e.org/this.png"}


def test_mappings_in_messages_are_filled_in() -> None:
    block: Any = {"type": "hologram", "text": "{q}", "list": ["{q}"]}
    template = chat([("human", [block, {"type": "image_url", "image_url": {"url": "{q}", "detail": "low"}}])])
    expected = template.invoke({"q": "x"}).to_messages()[0].content

    ours = from_langchain_core(template)

    assert [part.payload for part in ours.create({"q": "x"}).messages[0].content] == expected
    assert to_langchain_core(ours).invoke({"q": "x"}).to_messages()[0].content == expected


def test_message_templates_are_templates_of_a_role() -> None:
    ours = from_langchain_core(prompts.SystemMessagePromptTemplate.from_template("Be {how}."))

    assert type(ours) is SystemPromptTemplate
    assert ours.create_message({"how": "kind"}) == SystemMessage("Be kind.")
    assert from_langchain_core(SLOT) == MessagesPlaceholder("h", optional=True, last=2)


def test_examples_are_filled_in_once() -> None:
    template = prompts.FewShotPromptTemplate(
        examples=EXAMPLES, example_prompt=EXAMPLE, suffix="Q: {input}", input_variables=["input"]
    )
    ours = from_langchain_core(template)

    assert ours.render({"input": "{a}", "x": "leaked"}) == "Q: 1+1\nA: 2\n\nQ: {x}\nA: <b>\n\nQ: {a}"
    assert to_langchain_core(ours).format(input="{a}").endswith("Q: {x}\nA: <b>\n\nQ: {a}")


def test_an_empty_item_of_a_section_is_an_item() -> None:
    source = text("{{{b}}}{{#xs}}<{{{b}}}{{{.}}}>{{/xs}}", "mustache")

    assert source.format(b="B", xs=[""]) == "B"  # theirs takes it for the end of the section
    assert from_langchain_core(source).render({"b": "B", "xs": [""]}) == "B<B>"


def test_a_missing_variable_is_an_error_in_every_language() -> None:
    for source, form in (("{a}", "f-string"), ("{{ a }}", "jinja2"), ("{{{a}}}", "mustache")):
        with pytest.raises(MissingVariablesError, match="'a'"):
            from_langchain_core(text(source, form)).render({})


def test_what_templates_of_the_package_have_beside_is_a_loss_or_an_option() -> None:
    losses: list[Loss] = []
    schema: Any = {"title": "T", "description": "d", "type": "object", "properties": {"a": {"type": "string"}}}

    from_langchain_core(text("{a}", output_parser=StrOutputParser()), losses=losses)
    from_langchain_core(text("{{a}}", "mustache"), losses=losses)
    structured = from_langchain_core(
        StructuredPrompt.from_messages_and_schema([("human", "{q}")], schema), losses=losses
    )

    assert [loss.what for loss in losses] == ["class", "spelling"]
    assert structured.options.output_schema == schema


Template = PromptTemplate | ChatPromptTemplate | MessagesPlaceholder | FewShotExamples

OURS: dict[str, tuple[Callable[[], Template], dict[str, Any]]] = {
    "StringTemplate": (lambda: PromptTemplate("Hi {name}, {list:{x|<x>}}"), {"name": "Ada", "list": ["b"]}),
    "f-string": (lambda: PromptTemplate("{{x}} {a}", renderer="fstring"), {"a": "y"}),
    "jinja": (lambda: PromptTemplate("{% if a %}{{ a }}{% endif %}\n", renderer="jinja"), {"a": "y"}),
    "mustache": (lambda: PromptTemplate("{{a}} {{{a}}} {{#b}}{{.}}{{/b}}", renderer="mustache"), {"a": "<", "b": ["c"]}),
    "no language": (lambda: PromptTemplate("{a} {{b}}", renderer="noop"), {}),
    "bound": (lambda: PromptTemplate("{a} {b}", renderer="fstring").partial({"a": 1}), {"b": 2}),
    "another role": (lambda: AssistantPromptTemplate("So {a}.", renderer="fstring"), {"a": 1}),
    "metadata": (lambda: PromptTemplate("{a}", renderer="fstring", message_metadata={"k": 1}), {"a": 1}),
    "a name": (lambda: PromptTemplate("{a}", renderer="fstring", message_name="Ada"), {"a": 1}),
    "media": (lambda: PromptTemplate(["See {a}", MediaTemplate(url="https://e.org/{a}.png")], renderer="fstring"), {"a": 1}),
    "a chat": (
        lambda: ChatPromptTemplate([("system", "Be {how}."), MessagesPlaceholder("h"), ("user", "{q}"), AssistantMessage("{x}")]),
        {"how": "kind", "h": [UserMessage("a"), AssistantMessage("b")], "q": "c"},
    ),
    "a chat with bound messages": (
        lambda: ChatPromptTemplate([MessagesPlaceholder("h"), ("user", "{q}")]).partial({"h": [UserMessage("a")]}),
        {"q": "c"},
    ),
    "a chat in a chat": (lambda: ChatPromptTemplate([ChatPromptTemplate([("user", "{q}")]), ("assistant", "{q}")]), {"q": "c"}),
    "examples": (
        lambda: ChatPromptTemplate([FewShotExamples(EXAMPLES, [("user", "{q}"), ("assistant", "{a}")], prefix="Like:"), ("user", "{z}")]),
        {"z": "c"},
    ),
}  # fmt: skip


def messages_of(template: Any, variables: dict[str, Any]) -> list[Message]:
    return list(template.create_messages(variables))


@pytest.mark.parametrize("case", OURS)
def test_templates_of_promptkit_fill_in_the_same_in_the_package(case: str) -> None:
    make, variables = OURS[case]
    template = make()
    losses: list[Loss] = []

    made = to_langchain_core(template, losses=losses)
    theirs = {name: to_langchain_core(value) if name == "h" else value for name, value in variables.items()}
    expected = to_messages(messages_of(template, variables))

    assert losses == []
    assert from_langchain_core(made.invoke(theirs).to_messages()) == expected
    assert to_messages(messages_of(from_langchain_core(made), variables)) == expected
    assert sorted(made.input_variables) == sorted(template.variables)


def test_options_of_a_chat_template_are_a_loss() -> None:
    losses: list[Loss] = []
    to_langchain_core(ChatPromptTemplate([("user", "hi")], options=ChatOptions(model="m")), losses=losses)

    assert [(loss.path, loss.what) for loss in losses] == [("options", "options")]


class Blind(BaseExampleSelector):
    def add_example(self, example: dict[str, str]) -> None:
        raise NotImplementedError

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, str]]:
        raise NotImplementedError


class Own(prompts.StringPromptTemplate):
    def format(self, **kwargs: Any) -> str:
        return "own"


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a name that LangChain keeps for itself": (
        lambda: to_langchain_core(PromptTemplate("{stop}", renderer="fstring")),
        UnsupportedContentError,
        "LangChain refuses the template",
    ),
    "examples that are not known": (
        lambda: from_langchain_core(
            prompts.FewShotPromptTemplate(example_selector=Blind(), example_prompt=EXAMPLE, suffix="", input_variables=[])
        ),
        UnsupportedContentError,
        "the examples of a Blind are not known",
    ),
    "a class of its own": (lambda: from_langchain_core(Own(input_variables=[])), UnsupportedContentError, "no counterpart of Own"),
    "ends that are no plain templates": (
        lambda: from_langchain_core(
            prompts.FewShotPromptWithTemplates(examples=[], example_prompt=EXAMPLE, suffix=Own(input_variables=[]), input_variables=[])
        ),
        UnsupportedContentError,
        "prefix and suffix must be plain templates",
    ),
    "parts in two languages": (
        lambda: from_langchain_core(prompts.HumanMessagePromptTemplate(prompt=[text("{a}"), text("{{{b}}}", "mustache")])),
        UnsupportedContentError,
        "the parts of a message are in one language",
    ),
    "no template": (lambda: as_runnable(MessagesPlaceholder("h")), AdapterError, "makes no prompts: it has no create"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_counterpart_is_refused(case: str) -> None:
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        make()


def test_a_template_is_a_runnable_of_a_chain() -> None:
    template = ChatPromptTemplate(
        [("system", "Echo."), MessagesPlaceholder("h", optional=True), ("user", "{question}")]
    )
    runnable: Any = as_runnable(template)
    chain = runnable | as_langchain_model(EchoChatModel()) | StrOutputParser()

    assert chain.invoke({"question": "hi {x}"}) == "hi {x}"
    assert chain.invoke("hi") == "hi"
    assert chain.batch(["a", "b"]) == ["a", "b"]
    assert asyncio.run(chain.ainvoke("hi")) == "hi"
    assert "".join(chain.stream("hi there")) == "hi there"
    for history in ([core.HumanMessage("a")], [HumanMessage("a")], [UserMessage("a")]):
        value = runnable.invoke({"question": "b", "h": history})
        assert value.to_string() == "System: Echo.\nHuman: a\nHuman: b"
    with pytest.raises(MissingVariablesError, match="'question'"):
        chain.invoke({})


def test_every_object_that_makes_prompts_is_a_runnable() -> None:
    class Own:
        variables = ()

        def create(self, variables: Any) -> Prompt:
            return Prompt(f"<{variables}>")

    assert as_runnable(Own()).invoke("x").to_string() == "Human: <x>"


def test_a_selector_that_invents_examples_is_refused() -> None:
    selector = LengthBasedExampleSelector(examples=[dict(EXAMPLES[0])], example_prompt=EXAMPLE)
    template = prompts.FewShotPromptTemplate(
        example_selector=selector, example_prompt=EXAMPLE, suffix="{q}", input_variables=["q"]
    )
    ours = from_langchain_core(template)
    selector.examples[0]["a"] = "3"

    with pytest.raises(TemplateError, match="picked an example that is not among its own"):
        ours.render({"q": "x"})
