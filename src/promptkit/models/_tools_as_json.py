"""Give tools to a model that knows none: say them in the system text, hold the answer to JSON, read the call out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit import _json
from promptkit._frozen import FrozenDict, thaw
from promptkit.content import Content, Part, Text
from promptkit.errors import AdapterError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponseMessage,
    UserMessage,
    as_builtin,
)
from promptkit.options import UNSET, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse

__all__ = ["has_tools", "read_call", "tools_as_json"]

MAX_TEXT = 256
"""Longest text in a call's arguments where the schema says nothing, in characters: small models do not stop."""


def has_tools(prompt: Prompt) -> bool:
    """Tell whether tools stand in the options or in the history."""
    return bool(prompt.options.tools) or any(_speaks_of_tools(as_builtin(message)) for message in prompt)


def _speaks_of_tools(message: Message) -> bool:
    if isinstance(message, AssistantMessage):
        return bool(message.tool_calls or message.invalid_tool_calls)
    return isinstance(message, ToolResponseMessage)


def tools_as_json(prompt: Prompt) -> tuple[Prompt, bool]:
    """Write a prompt without tools that asks for the same: calls and results as text, a call as JSON.

    Returns:
        The prompt, and whether the answer is to be read by `read_call`.

    Raises:
        AdapterError: ``tool_choice`` names a tool that is not offered.
    """
    options = prompt.options
    offered = _offered(options)
    form = _CALL_AS_JSON if offered else _CALL_IN_WORDS
    messages = tuple([_as_text(as_builtin(message), form) for message in prompt])
    if not offered:
        return Prompt(messages, options.mutate(tools=UNSET, tool_choice=UNSET)), False
    may_answer = options.tool_choice in (None, "auto")
    schema = _call_schema(offered, options.output_schema if may_answer else None, may_answer=may_answer)
    plain = options.mutate(tools=UNSET, tool_choice=UNSET, output_schema=schema)
    asked = Prompt(messages, plain).augment_system_message(
        lambda message: _told(message, offered, may_answer=may_answer)
    )
    return asked, True


def _offered(options: ChatOptions) -> tuple[ToolDefinition, ...]:
    tools, choice = options.tools or (), options.tool_choice
    if choice == "none" or not tools:
        return ()
    if choice in (None, "auto", "required"):
        return tools
    chosen = tuple([tool for tool in tools if tool.name == choice])
    if not chosen:
        names = ", ".join(repr(tool.name) for tool in tools)
        raise AdapterError(f"the tool {choice!r} is not offered; offered are {names}", path="options.tool_choice")
    return chosen


def _told(message: Message, tools: tuple[ToolDefinition, ...], *, may_answer: bool) -> Message:
    listed = "\n".join(
        _json.dumps({"name": tool.name, "description": tool.description, "arguments": thaw(tool.input_schema)})
        for tool in tools
    )
    otherwise = ' If you need none, answer with {"answer": "your words"}.' if may_answer else ""
    words = (
        f'You have these tools:\n{listed}\nTo use one, answer with {{"name": its name, "arguments": {{…}}}}.{otherwise}'
    )
    old = as_builtin(message).content
    return SystemMessage(f"{old}\n\n{words}" if isinstance(old, str) and old else words)


def _call_schema(tools: tuple[ToolDefinition, ...], answer: FrozenDict | None, *, may_answer: bool) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    branches = [
        _closed_object({"name": {"const": tool.name}, "arguments": _lifted(tool.input_schema, tool.name, definitions)})
        for tool in tools
    ]
    if may_answer:
        wanted = {"type": "string"} if answer is None else _lifted(answer, "", definitions)
        branches.append(_closed_object({"answer": wanted}))
    schema: dict[str, Any] = {"anyOf": branches}
    return {**schema, "$defs": definitions} if definitions else schema


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _lifted(schema: Mapping[str, Any], owner: str, definitions: dict[str, Any]) -> Any:
    """Move a schema's definitions to the root, under names that keep their owners apart; bound its free texts."""

    def moved(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [moved(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        found = {key: moved(item) for key, item in value.items() if key != "$defs"}
        if isinstance(reference := found.get("$ref"), str):
            found["$ref"] = reference.replace("#/$defs/", f"#/$defs/{owner}.")
        if found.get("type") == "string" and found.keys().isdisjoint(("enum", "const", "maxLength", "pattern")):
            found["maxLength"] = MAX_TEXT
        return found

    for name, definition in schema.get("$defs", {}).items():
        definitions[f"{owner}.{name}"] = moved(definition)
    return moved(schema)


_CALL_AS_JSON = '{{"name": {}, "arguments": {}}}'
_CALL_IN_WORDS = "I call {} with {}."
"""How the past calls read where none may follow: a small model repeats JSON that it sees."""


def _as_text(message: Message, form: str) -> Message:
    if isinstance(message, AssistantMessage) and _speaks_of_tools(message):
        calls: tuple[ToolCall | InvalidToolCall, ...] = (*message.tool_calls, *message.invalid_tool_calls)
        names = [call.name or "?" if form is _CALL_IN_WORDS else _json.dumps(call.name) for call in calls]
        lines = [form.format(name, call.arguments or "{}") for name, call in zip(names, calls, strict=True)]
        return AssistantMessage(_with_text(message.content, lines))
    if isinstance(message, ToolResponseMessage):
        parts: list[Part] = []
        for response in message.responses:
            kind = "Result" if response.status == "success" else "Error"
            parts.append(Text(f"{kind} of {response.name or 'the tool'}: "))
            parts += [Text(response.content)] if isinstance(response.content, str) else response.content
            parts.append(Text("\n"))
        return UserMessage(_joined(parts))
    return message


def _joined(parts: list[Part]) -> Content:
    """Make one text of parts that are all text; leave the rest for the model to refuse."""
    if all(isinstance(part, Text) for part in parts):
        return "".join([part.text for part in parts if isinstance(part, Text)]).rstrip("\n")
    return tuple(parts)


def _with_text(content: Content | None, lines: list[str]) -> Content:
    text = "\n".join(lines)
    if not content:
        return text
    return f"{content}\n{text}" if isinstance(content, str) else (*content, Text(f"\n{text}"))


def read_call(response: ChatResponse) -> ChatResponse:
    """Read the call, or the words, out of an answer that was held to JSON; half of one is an invalid call."""
    (result,) = response.results
    text = result.output.text or ""
    try:
        found = _json.loads(text)
    except ValueError as error:
        broken = InvalidToolCall(None, None, arguments=text, error=f"the answer is no whole JSON: {error}")
        output = AssistantMessage(invalid_tool_calls=[broken], id=result.output.id)
        return response.mutate(results=result.mutate(output=output))
    if "answer" in found:
        words = found["answer"]
        said = words if isinstance(words, str) else _json.dumps(words)
        return response.mutate(results=result.mutate(output=AssistantMessage(said, id=result.output.id)))
    call = ToolCall(f"call-{response.id or 0}", found["name"], arguments=found["arguments"])
    output = AssistantMessage(tool_calls=[call], id=result.output.id)
    return response.mutate(results=result.mutate(output=output, finish_reason="tool_calls"))
