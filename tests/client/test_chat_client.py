"""Hold how a client puts a request together, and what it gives of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen

from promptkit.client import ChatClient, ChatClientRequest, ChatClientRequestSpec
from promptkit.client.advisors import CallNext, ToolCallingAdvisor, advisor
from promptkit.content import Media, Text
from promptkit.errors import MissingVariablesError, PromptError, ToolError
from promptkit.messages import AssistantMessage, MessageType, SystemMessage, UserMessage
from promptkit.options import UNSET, ChatOptions
from promptkit.prompt import Prompt
from promptkit.renderers.string_template import StringTemplateRenderer
from promptkit.response import ChatResponse
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate
from promptkit.templates.resource import TextResource
from promptkit.templates.typed import TypedPromptTemplate
from promptkit.testing import EchoChatModel, ScriptedChatModel
from promptkit.tools import tool
from tests.client.forms import FORMS, ask

PICTURE = Media(url="https://example.com/a.png")
EACH_FORM = pytest.mark.parametrize("form", FORMS)


@frozen
class Greeting(TypedPromptTemplate):
    template: ClassVar[str] = "Greet {name} in {language}."
    name: str
    language: str = "English"


@frozen
class Persona(TypedPromptTemplate):
    message_type = MessageType.SYSTEM
    template: ClassVar[str] = "You are {name}."
    name: str


@tool
def first() -> str:
    """Be the first."""
    return "1"


@tool
def second() -> str:
    """Be the second."""
    return "2"


def prompt_of(request: ChatClientRequestSpec) -> Prompt:
    """Ask, and give what the model saw."""
    model = ScriptedChatModel([""])
    request.mutate(chat_model=model).call().response()
    return model.prompts[0]


def texts(request: ChatClientRequestSpec) -> list[tuple[str, str]]:
    return [(message.message_type.value, message.text) for message in prompt_of(request)]  # type: ignore[attr-defined]


def client(**defaults: Any) -> Any:
    return ChatClient(EchoChatModel(), **defaults)


# Messages.


def test_system_first_then_messages_then_user() -> None:
    history = [UserMessage("q"), AssistantMessage("a"), SystemMessage("note")]

    request = (
        client().prompt().user("last").messages(history).system("first").messages(UserMessage("x"), UserMessage("y"))
    )

    assert texts(request) == [
        ("system", "first"), ("user", "q"), ("assistant", "a"), ("system", "note"), ("user", "x"), ("user", "y"),
        ("user", "last"),
    ]  # fmt: skip


def test_the_texts_of_a_request_take_the_place_of_defaults() -> None:
    made = client(system="S", user="U")

    assert texts(made.prompt()) == [("system", "S"), ("user", "U")]
    assert texts(made.prompt("u")) == [("system", "S"), ("user", "u")]
    assert texts(made.prompt().system("s").user("u")) == [("system", "s"), ("user", "u")]


def test_a_prompt_brings_messages_and_options() -> None:
    made = client(system="S", options=ChatOptions(temperature=0, top_k=1))
    prompt = Prompt([SystemMessage("s"), UserMessage("q")], ChatOptions(temperature=1))

    seen = prompt_of(made.prompt(prompt))

    assert [message.text for message in seen] == ["S", "s", "q"]  # type: ignore[attr-defined]
    assert (seen.options.temperature, seen.options.top_k) == (1, 1)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_blank_texts_are_left_out(blank: str) -> None:
    request = client().prompt().messages("q")

    assert texts(request.system(blank).user(blank)) == [("user", "q")]
    assert texts(request.system(blank, {}).user(blank, {"a": 1})) == [("user", "q")]
    assert texts(request.system("{a}", {"a": blank}).user("{a}", {"a": blank})) == [("user", "q")]
    assert texts(request.user(PromptTemplate("{a}"), {"a": blank})) == [("user", "q")]
    assert prompt_of(request.user(blank, media=[PICTURE])).messages[1] == UserMessage(PICTURE)


BRACES = 'Return {"a": {b}} {{c}} {d} { {if(x)}'


def test_text_is_never_parsed() -> None:
    for request in (
        client(user=BRACES, system=BRACES).prompt(),
        client().prompt(BRACES).system(BRACES),
        client().prompt().user("{a}", {"a": 1}).user(BRACES).system("{a}", {"a": 1}).system(BRACES),
    ):
        assert texts(request) == [("system", BRACES), ("user", BRACES)]


def test_variables_make_a_template_of_a_text() -> None:
    request = client(system="Talk like a {voice}.").prompt()

    assert texts(request.system(variables={"voice": "pirate"}).user("I am {name}.", {"name": "{Ada}"})) == [
        ("system", "Talk like a pirate."), ("user", "I am {Ada}.")
    ]  # fmt: skip
    with pytest.raises(MissingVariablesError, match="name"):
        request.user("I am {name}.", {}).call()


def test_later_variables_lie_over_earlier_ones() -> None:
    request = client().prompt().user("{a} {b}", {"a": 1, "b": 2})

    assert texts(request.user(variables={"b": 3})) == [("user", "1 3")]
    assert texts(request.user("{b} {a}", {"a": 9})) == [("user", "2 9")]
    assert texts(request.user(PromptTemplate("{a}!"))) == [("user", "1!")]
    assert texts(client().prompt("q").system(variables={"a": 1}).system(SystemPromptTemplate("{a}"))) == [
        ("system", "1"), ("user", "q")
    ]  # fmt: skip


def test_none_is_present_and_blank() -> None:
    assert texts(client().prompt().user("Hi {name}.", {"name": None})) == [("user", "Hi .")]


def test_templates_speak() -> None:
    assert texts(client(system=Persona("Bo"), user=Greeting("Ada")).prompt()) == [
        ("system", "You are Bo."), ("user", "Greet Ada in English.")
    ]  # fmt: skip
    assert texts(client(user=PromptTemplate("Hi {name}.").partial({"name": "Ada"})).prompt()) == [("user", "Hi Ada.")]
    assert texts(client(user=Greeting("Ada")).prompt().user(variables={"language": "French"})) == [
        ("user", "Greet Ada in French.")
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: client(system=PromptTemplate("x")).prompt("q"),
        lambda: client().prompt().user(SystemPromptTemplate("x")),
        lambda: client().prompt().user(AssistantPromptTemplate("x")),
        lambda: client().prompt("q").system(Greeting("Ada")),
    ],
)
def test_a_template_of_another_role_is_refused(make: Any) -> None:
    with pytest.raises(PromptError, match=r"makes a message of the .*, and stands where the .* speaks"):
        make().call()


def test_text_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("Be {how}. Ä", "utf-8")
    resource = TextResource(tmp_path / "system.txt")

    assert texts(client(system=resource).prompt("q"))[0] == ("system", "Be {how}. Ä")
    assert texts(client(system=resource).prompt("q").system(variables={"how": "kind"}))[0] == ("system", "Be kind. Ä")


def test_the_renderer_of_a_client() -> None:
    request = client(renderer="jinja").prompt().user("{{ n + 1 }}", {"n": 1})

    assert texts(request) == [("user", "2")]
    angled = client(renderer=StringTemplateRenderer(start="<", end=">")).prompt()
    assert texts(angled.user('{"a": <a>}', {"a": 1})) == [("user", '{"a": 1}')]


def test_media_stand_behind_the_text() -> None:
    other = Media(url="https://example.com/b.png")
    request = client().prompt().user("Look.", media=[PICTURE]).user(media=[other])

    assert prompt_of(request).messages == (UserMessage([Text("Look."), PICTURE, other]),)
    assert prompt_of(client().prompt().user("{a}", {"a": 1}, media=[PICTURE])).messages == (
        UserMessage([Text("1"), PICTURE]),
    )
    assert prompt_of(client().prompt().user(Greeting("Ada"), media=[PICTURE])).messages[0].content[1] == PICTURE  # type: ignore[index]
    assert prompt_of(client().prompt().user(media=[PICTURE])).messages == (UserMessage(PICTURE),)


# Options, tools, context.


def test_options_lie_over_one_another() -> None:
    made = client(options=ChatOptions(temperature=0, max_tokens=9, stop_sequences=["a"]))

    options = prompt_of(
        made.prompt("q").options(ChatOptions(temperature=1)).options(ChatOptions(max_tokens=UNSET))
    ).options

    assert (options.temperature, options.max_tokens, options.stop_sequences) == (1, None, ("a",))


def test_tools_of_a_request_take_the_place_of_defaults() -> None:
    made = client(tools=[first])

    def names(request: ChatClientRequestSpec) -> list[str]:
        return [tool.name for tool in prompt_of(request).options.tools or ()]

    assert names(made.prompt("q")) == ["first"]
    assert names(made.prompt("q").tools(second)) == ["second"]
    assert names(made.prompt("q").tools(second).tools(context={"a": 1})) == ["second"]
    assert names(client().prompt("q")) == []


def test_contexts_lie_over_one_another() -> None:
    seen: list[Mapping[str, Any]] = []

    def look(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        seen.extend((request.context, request.tool_context))
        return next(request)

    request = client().prompt("q").advisors(look, context={"a": 1, "b": 1}).advisors(context={"b": 2})
    request.tools(context={"t": 1}).tools(context={"u": 2}).call().content()

    assert seen == [{"a": 1, "b": 2}, {"t": 1, "u": 2}]
    with pytest.raises(TypeError):
        seen[0]["c"] = 3  # type: ignore[index]


def test_a_context_is_copied() -> None:
    values = {"a": 1}
    request = client().prompt("q").advisors(context=values)
    values["a"] = 2

    assert request._context == {"a": 1}
    assert ChatClientRequest(Prompt("q"), context=request._context).context is request._context


# Advisors.


def test_the_lowest_order_is_the_outermost_and_ties_stay_as_given() -> None:
    calls: list[str] = []

    class Named:
        def __init__(self, name: str, order: float) -> None:
            self.name = name
            self.order = order

        def advise(self, request: ChatClientRequest, next: CallNext) -> ChatResponse:
            calls.append(self.name)
            response = next(request)
            calls.append(self.name.upper())
            return response

    def plain(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        calls.append("plain")
        return next(request)

    made = client(advisors=[Named("b", 5), Named("a", -1.5), Named("c", 5)])

    made.prompt("q").advisors(Named("d", 5), plain).call().content()

    assert calls == ["a", "plain", "b", "c", "d", "D", "C", "B", "A"]


def test_one_tool_advisor_runs_where_there_are_tools() -> None:
    own = ToolCallingAdvisor(max_rounds=1)

    assert client(tools=[first]).prompt("q")._ready()[0] != ()
    assert client().prompt("q")._ready()[0] == ()
    assert client(tools=[first], advisors=[own]).prompt("q")._ready()[0] == (own,)


# Conversations.


def test_messages_of_a_conversation_have_ids() -> None:
    mine = UserMessage("q", id="mine")
    request = client(system="s").prompt("?").messages(mine)

    assert [message.id for message in prompt_of(request)] == [None, "mine", None]  # type: ignore[attr-defined]
    ids = [[message.id for message in prompt_of(request.conversation("c"))] for _ in range(2)]  # type: ignore[attr-defined]
    assert {row[1] for row in ids} == {"mine"}
    assert len({each for row in ids for each in row}) == 5


@pytest.mark.parametrize("wrong", ["", "  ", None, 3])
def test_a_conversation_needs_an_id(wrong: Any) -> None:
    with pytest.raises(PromptError, match="id of a conversation"):
        client().prompt("q").conversation(wrong)


# A request is a value.


def test_branches_do_not_touch_each_other() -> None:
    base = client(system="S {a}", tools=[first]).prompt("q").system(variables={"a": 1})
    before = texts(base)

    branch = base.user("r", media=[PICTURE]).system(variables={"a": 2}).messages("m").options(ChatOptions(top_k=1))
    branch.tools(second, context={"x": 1}).advisors(advisor(before=lambda request: request)).conversation("c")

    assert texts(base) == before == [("system", "S 1"), ("user", "q")]
    assert prompt_of(base).options.top_k is None
    assert texts(branch)[0] == ("system", "S 2")


def test_a_request_cannot_be_changed() -> None:
    request = client().prompt("q")

    with pytest.raises(AttributeError):
        request.chat_model = EchoChatModel()
    with pytest.raises(AttributeError):
        client().chat_model = EchoChatModel()


def test_clients_and_requests_show_no_text() -> None:
    assert repr(client(system="secret")) == "<ChatClient for EchoChatModel>"
    assert repr(client().prompt("secret")) == "<ChatClientRequestSpec for EchoChatModel>"


@EACH_FORM
def test_a_kept_request_asks_each_time(form: str) -> None:
    model = ScriptedChatModel(["1", "2"])
    request = ChatClient(model).prompt("q")

    assert [ask(request, form).text for _ in range(2)] == ["1", "2"]


def test_a_client_is_changed_by_mutate() -> None:
    made = client(system="S", user="U {a}")

    assert texts(made.mutate(user="V").prompt()) == [("system", "S"), ("user", "V")]
    assert texts(made.prompt().user(variables={"a": 1})) == [("system", "S"), ("user", "U 1")]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: client().prompt(""), "not blank"),
        (lambda: client().prompt("  "), "not blank"),
        (lambda: client().prompt(3), "not blank, or a Prompt, not 3"),
        (lambda: client().prompt().call(), "nothing to ask"),
        (lambda: client(user="  ").prompt().stream(), "nothing to ask"),
        (lambda: client(system=3), "a text must be"),
        (lambda: client().prompt().user(b"bytes"), "a text must be"),
        (lambda: client().prompt().user("q", media=["x"]), "media"),
        (lambda: client(options={"temperature": 1}), "options must be ChatOptions"),
        (lambda: client().prompt("q").options({"top_k": 1}), "options must be ChatOptions"),
        (lambda: client().prompt("q").advisors(context=3), "context must be a mapping"),
        (lambda: client().prompt("q").tools(context=[1]), "context must be a mapping"),
        (lambda: client().prompt("q")._ready()[1].mutate(prompt="q"), "must be a Prompt"),
    ],
)
def test_wrong_arguments_are_refused(make: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        make()


def test_wrong_tools_are_refused() -> None:
    for wrong in ([first, first], [len], ["first"], 3):
        with pytest.raises(ToolError):
            client(tools=wrong)
    with pytest.raises(ToolError, match="'first'"):
        client().prompt("q").tools(first, first)
