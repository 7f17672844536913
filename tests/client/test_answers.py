"""Hold what a client gives of an answer: text, values of any type, pieces as they come; each answer asked for once."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Any, TypedDict

import pytest
from attrs import frozen

from promptkit._frozen import FrozenDict
from promptkit.client import ChatClient, ChatClientRequest, ChatClientRequestSpec, ResponseEntity
from promptkit.client.advisors import advisor
from promptkit.content import Media, Text
from promptkit.converters import ListOutputConverter, MapOutputConverter, TypedOutputConverter
from promptkit.errors import ModelError, OutputConversionError
from promptkit.messages import AssistantMessage, SystemMessage, UserMessage
from promptkit.options import ChatOptions
from promptkit.response import ChatChunk, ChatResponse, Generation
from promptkit.testing import ScriptedChatModel
from tests.client.forms import FORMS, ask, said

PICTURE = Media(url="https://example.com/a.png")
EACH_FORM = pytest.mark.parametrize("form", FORMS)


@frozen
class Order:
    item: str
    count: int = 1


@frozen
class Refund:
    order: int


class Color(Enum):
    RED = "red"


class Point(TypedDict):
    x: int


class Shouted:
    format = "Shout."
    json_schema: FrozenDict | None = None

    def convert(self, text: str) -> str:
        return text.upper()


TARGETS: dict[str, tuple[Any, str, Any]] = {
    "attrs": (Order, '{"item": "pen", "count": 2}', Order("pen", 2)),
    "union": (Order | Refund, '{"order": 7}', Refund(7)),
    "optional": (Order | None, "null", None),
    "list": (list[Order], '[{"item": "pen"}]', [Order("pen")]),
    "dict": (dict[str, int], '{"a": 1}', {"a": 1}),
    "typed dict": (Point, '{"x": 1}', {"x": 1}),
    "enum": (Color, '"red"', Color.RED),
    "int": (int, "42", 42),
    "bool": (bool, "true", True),
    "str": (str, "Just text.", "Just text."),
    "converter": (TypedOutputConverter(int), "42", 42),
    "list converter": (ListOutputConverter(), "a, b", ["a", "b"]),
    "map converter": (MapOutputConverter(), '{"a": 1}', {"a": 1}),
    "own converter": (Shouted(), "abc", "ABC"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_an_entity_of_any_type(name: str) -> None:
    target, text, value = TARGETS[name]
    model = ScriptedChatModel([text] * 4)
    request = ChatClient(model).prompt("q")

    assert request.call().entity(target) == value
    assert request.call().response_entity(target) == ResponseEntity(
        ChatResponse(Generation(AssistantMessage(text), "stop")), value
    )
    assert asyncio.run(_aentity(request, target)) == value
    assert list(request.stream().partials(target))[-1] == value


async def _aentity(request: ChatClientRequestSpec, target: Any) -> Any:
    return await request.acall().entity(target)


def test_the_model_is_told_how_to_answer_at_the_end_of_the_question() -> None:
    model = ScriptedChatModel(["42"] * 4)
    made = ChatClient(model)

    made.prompt("q").call().entity(int)
    made.prompt().user("q", media=[PICTURE]).call().entity(int)
    made.prompt().messages([SystemMessage("s")]).call().entity(int)
    made.prompt("q").call().content()

    told = TypedOutputConverter(int).format
    assert model.prompts[0].messages == (UserMessage(f"q\n\n{told}"),)
    assert model.prompts[1].messages == (UserMessage([Text("q"), PICTURE, Text(f"\n\n{told}")]),)
    assert model.prompts[2].messages == (SystemMessage("s"), UserMessage(told))
    assert model.prompts[3].messages == (UserMessage("q"),)


def test_a_model_that_takes_a_schema_gets_one() -> None:
    class Schooled(ScriptedChatModel):
        takes_output_schema = True

    model = Schooled(["42", "42", "a"])
    made = ChatClient(model)

    made.prompt("q").call().entity(int)
    made.prompt("q").options(ChatOptions(output_schema={"type": "number"})).call().entity(int)
    made.prompt("q").call().entity(Shouted())  # it has no schema

    assert [prompt.options.output_schema for prompt in model.prompts] == [{"type": "integer"}, {"type": "number"}, None]
    assert [prompt.text for prompt in model.prompts] == ["q", "q", "q\n\nShout."]


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "description": "minimum: 1"}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, None),
    ],
    ids=["weakened", "said in words"],
)
def test_a_model_that_takes_some_schemas(schema: dict[str, Any], sent: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Schooled(ScriptedChatModel):
        takes_output_schema = "anthropic"

    class Wanting(Shouted):
        json_schema = FrozenDict(schema)

    model = Schooled(["42"])
    with caplog.at_level("INFO", "promptkit.client"):
        ChatClient(model).prompt("q").call().entity(Wanting())

    assert model.prompts[0].options.output_schema == sent
    assert model.prompts[0].text == ("q" if sent else "q\n\nShout.")
    assert len(caplog.records) == 1


def test_a_converter_without_words_changes_nothing() -> None:
    class Silent(Shouted):
        format = " "

    model = ScriptedChatModel(["a"])
    ChatClient(model).prompt("q").call().entity(Silent())

    assert model.prompts[0].text == "q"


def test_an_answer_that_is_none_of_it() -> None:
    request = ChatClient(ScriptedChatModel(["no", "no", ""])).prompt("q")

    answer = request.call()
    for _ in range(2):  # the model is not asked again
        with pytest.raises(OutputConversionError) as caught:
            answer.entity(int)
        assert caught.value.text == "no"
    with pytest.raises(OutputConversionError):
        list(request.stream().partials(int))
    with pytest.raises(OutputConversionError, match="empty"):
        request.call().entity(int)


def test_a_call_asks_once() -> None:
    model = ScriptedChatModel(["42"])
    answer = ChatClient(model).prompt("q").call()

    assert (answer.content(), answer.entity(int), answer.response().text) == ("42", 42, "42")
    assert len(model.prompts) == 1


def test_an_async_call_asks_once() -> None:
    model = ScriptedChatModel(["42"])

    async def main() -> tuple[Any, ...]:
        answer = ChatClient(model).prompt("q").acall()
        return await answer.content(), await answer.entity(int), (await answer.response()).text

    assert asyncio.run(main()) == ("42", 42, "42")
    assert len(model.prompts) == 1


def test_a_call_that_failed_may_be_tried_again() -> None:
    answer = ChatClient(ScriptedChatModel([ModelError("busy"), "x"])).prompt("q").call()

    with pytest.raises(ModelError):
        answer.content()
    assert answer.content() == "x"


def test_nothing_is_asked_until_something_is_wanted() -> None:
    model = ScriptedChatModel(["x"])
    request = ChatClient(model).prompt("q")

    for start in (request.call, request.stream, request.acall, request.astream):
        start()
    request.stream().chunks()
    request.stream().content()

    assert model.prompts == ()


@EACH_FORM
def test_an_answer_without_text(form: str) -> None:
    for empty in (ChatResponse(()), AssistantMessage(None), ""):
        assert ask(ChatClient(ScriptedChatModel([empty])).prompt("q"), form).text == ""
    assert ChatClient(ScriptedChatModel([ChatResponse(())])).prompt("q").call().content() == ""


def test_a_stream_is_read_once() -> None:
    model = ScriptedChatModel(["Ahoy there, Ada!"])
    answer = ChatClient(model).prompt("q").stream()

    first_piece = next(answer.content())
    assert first_piece == "Ahoy "
    assert list(answer.content()) == []  # leaving the first reader ended it
    assert answer.response().text == "Ahoy "


def test_the_rest_of_a_stream_is_read_by_its_response() -> None:
    answer = ChatClient(ScriptedChatModel(["Ahoy there, Ada!"])).prompt("q").stream()

    content = answer.content()
    assert next(content) == "Ahoy "
    assert answer.response().text == "Ahoy there, Ada!"
    assert list(content) == []


def test_other_generations_stay_out_of_content() -> None:
    response = ChatResponse([Generation(AssistantMessage("[1]")), Generation(AssistantMessage("other"))])
    request = ChatClient(ScriptedChatModel([response] * 2)).prompt("q")

    assert "".join(request.stream().content()) == "[1]"
    assert list(request.stream().partials(list[int])) == [[1], [1]]


def test_partials_grow() -> None:
    pieces = ['{"item": "p', 'en", "co', 'unt": 2', "}"]
    request = ChatClient(ScriptedChatModel([pieces] * 2)).prompt("q")
    wanted = [{"item": "p"}, {"item": "pen"}, {"item": "pen", "count": 2}, Order("pen", 2)]

    async def main() -> list[Any]:
        return [value async for value in request.astream().partials(Order)]

    assert list(request.stream().partials(Order)) == wanted
    assert asyncio.run(main()) == wanted


def test_async_partials_of_other_generations() -> None:
    response = ChatResponse([Generation(AssistantMessage("[1]")), Generation(AssistantMessage("other"))])
    request = ChatClient(ScriptedChatModel([response] * 2)).prompt("q")

    async def main() -> list[Any]:
        return [
            [text async for text in request.astream().content()],
            [value async for value in request.astream().partials(list[int])],
        ]

    assert asyncio.run(main()) == [["[1]"], [[1], [1]]]


def test_partials_begin_anew_with_another_answer() -> None:
    def other(request: ChatClientRequest, response: ChatResponse) -> ChatResponse:
        return said('{"item": "cup"}')

    request = ChatClient(ScriptedChatModel(['{"item": "pen"}'] * 2), advisors=[advisor(after=other)]).prompt("q")

    assert list(request.stream().partials(Order)) == [{}, {"item": "pen"}, {"item": "cup"}, Order("cup")]


def test_a_broken_stream_says_what_came() -> None:
    request = ChatClient(ScriptedChatModel([["a", "b", ModelError("cut")]] * 2)).prompt("q")
    answer = request.stream()

    with pytest.raises(ModelError) as caught:
        list(answer.content())
    assert caught.value.partial is not None
    assert caught.value.partial.text == answer.response().text == "ab"

    async def main() -> str:
        stream = request.astream()
        with pytest.raises(ModelError) as broken:
            _ = [text async for text in stream.content()]
        assert broken.value.partial is not None
        assert broken.value.partial.text == "ab"
        return (await stream.response()).text

    assert asyncio.run(main()) == "ab"


def test_what_a_model_says_of_its_break_stays() -> None:
    partial = ChatResponse(Generation(AssistantMessage("mine")))
    request = ChatClient(ScriptedChatModel([["a", ModelError("cut", partial=partial)]])).prompt("q")

    with pytest.raises(ModelError) as caught:
        list(request.stream().content())
    assert caught.value.partial is partial


def test_chunks_come_as_the_model_gives_them() -> None:
    pieces = [ChatChunk("a"), ChatChunk("b", finish_reason="stop")]

    assert list(ChatClient(ScriptedChatModel([pieces])).prompt("q").stream().chunks()) == pieces
