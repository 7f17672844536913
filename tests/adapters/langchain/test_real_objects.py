"""Meet the real package: models as each other's, templates that render alike, prompt values and messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import ChatPromptValue, StringPromptValue
from langchain_core.prompts import (
    ChatPromptTemplate as CoreChat,
)
from langchain_core.prompts import (
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
)
from langchain_core.prompts import (
    MessagesPlaceholder as CoreSlot,
)
from langchain_core.prompts import (
    PromptTemplate as CoreText,
)
from langchain_core.tools import tool as core_tool

from promptkit import (
    AssistantMessage,
    ChatOptions,
    ChatPromptTemplate,
    ChatResponse,
    FewShotExamples,
    Generation,
    MessagesPlaceholder,
    ModelError,
    Prompt,
    PromptTemplate,
    ToolCall,
    ToolDefinition,
    Usage,
    UserMessage,
)
from promptkit import SystemMessage as OurSystem
from promptkit.adapters.langchain import (
    as_langchain_model,
    as_runnable,
    from_langchain_core,
    from_langchain_model,
    to_langchain_core,
)
from promptkit.testing import EchoChatModel, ScriptedChatModel


def test_our_model_in_a_chain() -> None:
    model = as_langchain_model(EchoChatModel())
    chain = CoreChat.from_messages([("system", "s"), ("user", "{q}")]) | model | StrOutputParser()

    assert chain.invoke({"q": "hello there"}) == "hello there"
    assert chain.batch([{"q": "a"}, {"q": "b"}]) == ["a", "b"]
    assert "".join(chain.stream({"q": "hello there"})) == "hello there"
    assert asyncio.run(chain.ainvoke({"q": "x"})) == "x"
    assert model.invoke("two words").usage_metadata is not None

    async def gather() -> str:
        return "".join([piece async for piece in chain.astream({"q": "hello there"})])

    assert asyncio.run(gather()) == "hello there"


def test_our_model_gets_stop_tools_and_history() -> None:
    @core_tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return city

    script = ScriptedChatModel(
        [AssistantMessage(tool_calls=[ToolCall("c1", "weather", arguments={"city": "Oslo"})]), "ok"]
    )
    model = as_langchain_model(script)

    asked = model.bind_tools([weather], tool_choice="weather").invoke("q", stop=["x"])
    model.invoke([HumanMessage("q"), asked, ToolMessage("3", tool_call_id="c1", name="weather")])

    assert asked.tool_calls[0]["args"] == {"city": "Oslo"}
    first, second = script.prompts
    assert first.options.stop_sequences == ("x",)
    assert first.options.tools is not None
    assert (first.options.tools[0].name, first.options.tool_choice) == ("weather", "weather")
    assert [message.message_type.value for message in second] == ["user", "assistant", "tool"]


def test_our_models_stream_carries_calls_and_usage() -> None:
    call = ToolCall("c1", "f", arguments={"a": 1})
    answer = ChatResponse(
        Generation(AssistantMessage("hm", tool_calls=[call]), "tool_calls"), id="r", usage=Usage(3, 4)
    )
    model = as_langchain_model(ScriptedChatModel([answer]))

    pieces = list(model.stream("q"))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece

    assert isinstance(whole, AIMessageChunk)
    assert whole.tool_calls[0]["args"] == {"a": 1}
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 7


def test_a_langchain_model_as_ours() -> None:
    model = from_langchain_model(FakeListChatModel(responses=["hello", "there"]))

    assert model.call(Prompt("q")).text == "hello"
    assert "".join(chunk.text for chunk in model.stream(Prompt("q"))) == "there"
    assert asyncio.run(model.acall(Prompt("q"))).text == "hello"

    async def gather() -> str:
        return "".join([chunk.text async for chunk in model.astream(Prompt("q"))])

    assert asyncio.run(gather()) == "there"


def test_a_langchain_models_calls_and_usage_arrive() -> None:
    answer = AIMessage(
        "",
        tool_calls=[{"id": "c1", "name": "f", "args": {"a": 1}}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"finish_reason": "tool_calls", "model_name": "m"},
    )
    model = from_langchain_model(GenericFakeChatModel(messages=iter([answer])))

    response = model.call(Prompt("q", ChatOptions(temperature=0)))

    assert response.has_tool_calls
    assert response.usage.total_tokens == 3
    assert response.model == "m"
    assert response.result is not None
    assert response.result.finish_reason == "tool_calls"


class _Broken(FakeListChatModel):
    def _call(self, *args: Any, **kwargs: Any) -> str:
        raise ConnectionError("no line")

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no line")
        yield


def test_errors_of_a_langchain_model_are_ours() -> None:
    model = from_langchain_model(_Broken(responses=["x"]))

    with pytest.raises(ModelError):
        model.call(Prompt("q"))
    with pytest.raises(ModelError):
        list(model.stream(Prompt("q")))


def test_tools_need_a_model_that_binds_them() -> None:
    model = from_langchain_model(FakeListChatModel(responses=["x"]))

    with pytest.raises(Exception, match="tool"):
        model.call(Prompt("q", ChatOptions(tools=[ToolDefinition("f")])))


@pytest.mark.parametrize(
    ("ours", "variables"),
    [
        (PromptTemplate("Hi {name} {{x}}", renderer="fstring"), {"name": "Ada"}),
        (PromptTemplate("Hi {{ name }}", renderer="jinja"), {"name": "Ada"}),
        (PromptTemplate("Hi {{name}}", renderer="mustache"), {"name": "Ada"}),
        (PromptTemplate("Hi {name}"), {"name": "Ada"}),
        (PromptTemplate("Hi {name} {b}", bound={"b": 1}, renderer="fstring"), {"name": "Ada"}),
    ],
    ids=["fstring", "jinja", "mustache", "st", "partial"],
)
def test_text_templates_render_alike_in_langchain(ours: PromptTemplate, variables: dict[str, Any]) -> None:
    theirs = to_langchain_core(ours)

    text = theirs.invoke(variables).to_string()
    assert text == ours.render(variables) or text == f"Human: {ours.render(variables)}"


def test_chat_templates_render_alike_in_langchain() -> None:
    ours = ChatPromptTemplate(
        [
            ("system", "Be {tone}"),
            UserMessage("{literal}"),
            FewShotExamples([{"q": "1", "a": "2"}], [("user", "{q}"), ("assistant", "{a}")], renderer="fstring"),
            MessagesPlaceholder("history", optional=True),
            ("user", "{q}"),
        ],
        renderer="fstring",
    ).partial({"tone": "kind"})

    messages = to_langchain_core(ours).invoke({"q": "why?", "history": [HumanMessage("h")]}).to_messages()

    expected = ours.create({"q": "why?", "history": [UserMessage("h")]})
    assert [message.content for message in messages] == [message.content for message in expected]


@pytest.mark.parametrize(
    ("theirs", "variables", "text"),
    [
        (CoreText.from_template("Hi {name}"), {"name": "Ada"}, "Hi Ada"),
        (CoreText.from_template("Hi {{ name }}", template_format="jinja2"), {"name": "Ada"}, "Hi Ada"),
        (CoreText.from_template("Hi {{name}}", template_format="mustache"), {"name": "Ada"}, "Hi Ada"),
        (CoreText.from_template("{a}-{b}").partial(a="x"), {"b": "y"}, "x-y"),
        (
            FewShotPromptTemplate(
                examples=[{"w": "a"}],
                example_prompt=CoreText.from_template("W {w}"),
                prefix="P",
                suffix="S {x}",
                input_variables=["x"],
            ),
            {"x": "1"},
            "P\n\nW a\n\nS 1",
        ),
    ],
    ids=["f-string", "jinja", "mustache", "partial", "few-shot"],
)
def test_langchains_text_templates_become_ours(theirs: Any, variables: dict[str, Any], text: str) -> None:
    assert from_langchain_core(theirs).render(variables) == text


def test_langchains_chat_templates_become_ours() -> None:
    pair = CoreChat.from_messages([("human", "{q}"), ("ai", "{a}")])
    theirs = CoreChat.from_messages(
        [
            ("system", "Be {tone}"),
            SystemMessage("{literal}"),
            FewShotChatMessagePromptTemplate(examples=[{"q": "1", "a": "2"}], example_prompt=pair),
            CoreSlot("history", optional=True),
            (
                "human",
                [
                    {"type": "text", "text": "see {q}"},
                    {"type": "image_url", "image_url": {"url": "https://x.test/{i}.png"}},
                ],
            ),
        ]
    )

    prompt = from_langchain_core(theirs).create({"tone": "kind", "q": "this", "i": 1})

    assert prompt[0] == OurSystem("Be kind")
    assert prompt[1] == OurSystem("{literal}")
    assert prompt[-1].media[0].url == "https://x.test/1.png"


def test_messages_and_prompt_values_go_both_ways() -> None:
    prompt = Prompt([OurSystem("s"), UserMessage("u")])

    value = to_langchain_core(prompt)
    assert isinstance(value, ChatPromptValue)
    back = from_langchain_core(value)
    assert [message.content for message in back.to_messages()] == ["s", "u"]
    assert from_langchain_core(StringPromptValue(text="x")).to_string() == "x"
    assert from_langchain_core([HumanMessage("a")])[0].content == "a"


def test_a_template_is_a_runnable() -> None:
    chain = as_runnable(PromptTemplate("Hi {name}")) | as_langchain_model(EchoChatModel())

    assert chain.invoke({"name": "Ada"}).content == "Hi Ada"
    assert as_runnable(ChatPromptTemplate([("user", "{x}")])).invoke("y").to_messages()[0].content == "y"
