from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from promptkit.errors import AdapterError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.models._tools_as_json import has_tools, read_call, tools_as_json
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Generation

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
MOVE = ToolDefinition(
    "move",
    "Move.",
    input_schema={
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/Point"}, "how": {"type": "string"}},
        "required": ["to"],
        "additionalProperties": False,
        "$defs": {"Point": POINT},
    },
)
STOP = ToolDefinition("stop", "Stop.")


def schema_of(**options: Any) -> dict[str, Any]:
    asked, reads_call = tools_as_json(Prompt("go", ChatOptions(tools=[MOVE, STOP], **options)))
    assert reads_call
    assert asked.options.output_schema is not None
    assert asked.options.tools is None
    return asked.options.output_schema.thaw()


@pytest.mark.parametrize(
    ("options", "answer", "holds"),
    [
        ({}, {"name": "move", "arguments": {"to": {"x": 1}}}, True),
        ({}, {"name": "move", "arguments": {"to": {"x": "1"}}}, False),
        ({}, {"name": "fly", "arguments": {}}, False),
        ({}, {"answer": "no"}, True),
        ({"tool_choice": "required"}, {"answer": "no"}, False),
        ({"tool_choice": "stop"}, {"name": "stop", "arguments": {}}, True),
        ({"tool_choice": "stop"}, {"name": "move", "arguments": {"to": {"x": 1}}}, False),
        ({"output_schema": POINT}, {"answer": {"x": 1}}, True),
        ({"output_schema": POINT}, {"answer": "text"}, False),
        ({}, {"name": "move", "arguments": {"to": {"x": 1}, "how": "y" * 300}}, False),
    ],
    ids=range(10),
)
def test_the_schema_holds_the_answer_to_a_call(options: dict[str, Any], answer: Any, holds: bool) -> None:
    schema = schema_of(**options)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(answer) is holds


def test_tools_are_said_in_the_system_text() -> None:
    asked, _ = tools_as_json(Prompt([SystemMessage("Be kind."), UserMessage("go")], ChatOptions(tools=[STOP])))

    system = asked.system_message
    assert system is not None
    assert str(system.content).startswith("Be kind.\n\nYou have these tools:")
    assert '"stop"' in str(system.content)


@pytest.mark.parametrize(
    ("tools", "said"),
    [([], "I call stop with {}."), ([STOP], '{"name": "stop", "arguments": {}}')],
    ids=["no call may follow", "calls may follow"],
)
def test_calls_and_results_become_text(tools: list[ToolDefinition], said: str) -> None:
    history = Prompt(
        [
            UserMessage("go"),
            AssistantMessage("Well.", tool_calls=[ToolCall("1", "stop")]),
            ToolResponseMessage(
                [ToolResponse("1", "stop", content="done"), ToolResponse("2", content="x", status="error")]
            ),
            AssistantMessage("Fine."),
        ],
        ChatOptions(tools=tools),
    )

    asked, reads_call = tools_as_json(history)

    assert has_tools(history)
    assert reads_call == bool(tools)
    assert [message.content for message in asked if not isinstance(message, SystemMessage)] == [
        "go",
        f"Well.\n{said}",
        "Result of stop: done\nError of the tool: x",
        "Fine.",
    ]
    assert not has_tools(asked)


def test_a_choice_of_none_offers_no_tools() -> None:
    asked, reads_call = tools_as_json(Prompt("go", ChatOptions(tools=[STOP], tool_choice="none")))

    assert not reads_call
    assert asked.options.set_fields() == {}


def test_a_choice_must_be_offered() -> None:
    with pytest.raises(AdapterError, match="'fly' is not offered"):
        tools_as_json(Prompt("go", ChatOptions(tools=[STOP], tool_choice="fly")))


def answered(text: str) -> Generation:
    response = read_call(ChatResponse(Generation(AssistantMessage(text), "stop"), id="r1"))
    return response.results[0]


def test_a_call_is_read_out_of_the_answer() -> None:
    found = answered('{"name": "move", "arguments": {"to": {"x": 1}}}')

    (call,) = found.output.tool_calls
    assert (call.id, call.name, call.parsed_arguments) == ("call-r1", "move", {"to": {"x": 1}})
    assert found.finish_reason == "tool_calls"


def test_words_are_read_out_of_the_answer() -> None:
    assert answered('{"answer": "no"}').output == AssistantMessage("no")
    assert json.loads(answered('{"answer": {"x": 1}}').output.text or "") == {"x": 1}


def test_half_an_answer_is_an_invalid_call() -> None:
    output = answered('{"name": "move", "argu').output

    assert output.tool_calls == ()
    (broken,) = output.invalid_tool_calls
    assert isinstance(broken, InvalidToolCall)
    assert broken.arguments == '{"name": "move", "argu'


def test_a_tool_and_the_answer_keep_their_own_definitions() -> None:
    tool = ToolDefinition("answer", "Answer.", input_schema=MOVE.input_schema)
    text = {"$ref": "#/$defs/Point", "$defs": {"Point": {"type": "string"}}}
    asked, _ = tools_as_json(Prompt("go", ChatOptions(tools=[tool], output_schema=text)))

    schema = asked.options.output_schema
    assert schema is not None
    jsonschema.validate({"name": "answer", "arguments": {"to": {"x": 1}}}, schema.thaw())
    jsonschema.validate({"answer": "here"}, schema.thaw())
