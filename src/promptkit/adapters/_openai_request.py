"""Write a prompt as the body of a Chat Completions request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit._frozen import FrozenDict
from promptkit.adapters._openai_body import read_options
from promptkit.adapters._openai_messages import MessageWriter
from promptkit.adapters._openai_tables import FORMAT, MODES, OPENAI, Dialect, schema_name
from promptkit.adapters.base import Converted, Loss, Losses, add_extra, add_own, check_prompt, plain
from promptkit.errors import AdapterError
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt

__all__ = ["to_request"]


def to_request(prompt: Prompt, *, dialect: Dialect = OPENAI, strict: bool = False) -> Converted:
    """Write a prompt as the body of a Chat Completions request.

    Args:
        prompt: The prompt; it is not changed.
        dialect: How the server spells the format.
        strict: Raise for any loss.

    Raises:
        UnsupportedContentError: ``strict``, and something is lost.
        AdapterError: The prompt has no messages, or holds what no JSON can say.

    >>> from promptkit.options import ChatOptions
    >>> to_request(Prompt("Hi", options=ChatOptions(model="m", top_k=4))).body
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    >>> to_request(Prompt("Hi", options=ChatOptions(top_k=4))).losses[0].path
    'options.top_k'
    """
    check_prompt(prompt, FORMAT)
    if not prompt.messages:
        raise AdapterError("the prompt has no messages, and the format wants one", format=FORMAT, path="messages")
    writer = MessageWriter(dialect)
    writer.write(prompt.messages)
    body = _body(writer.messages, prompt.options, dialect, writer.losses)
    converted = Converted(body, tuple(writer.losses))
    return converted.require(dialect.name, ignore=frozenset()) if strict else converted


def _body(messages: list[dict[str, Any]], options: ChatOptions, dialect: Dialect, losses: Losses) -> dict[str, Any]:
    """Write the options around the messages: the model first, then each as the dialect names it."""
    body: dict[str, Any] = {} if options.model is None else {"model": options.model}
    body["messages"] = messages
    for name, value in options.set_fields().items():
        write = _WRITERS.get(name)
        key = dialect.option_keys.get(name)
        if write is not None:
            write(value, body, dialect, losses)
        elif key is not None:
            body[key] = list(value) if isinstance(value, tuple) else value
        else:
            losses.append(Loss(f"options.{name}", name, f"{dialect.name} has no option {name}"))
    if options.removed:
        losses.append(Loss("options.removed", "removed", "what is removed is just not sent"))
    if options.extra:
        add_extra(body, options.extra, FORMAT, ("messages",))
        if read_options(body, dialect).extra != options.extra:
            why = "what the options have fields for reads back as those"
            losses.append(Loss("options.extra", "spelling", why))
    return body


def _write_tools(tools: tuple[ToolDefinition, ...], body: dict[str, Any], dialect: Dialect, losses: Losses) -> None:
    if not tools:
        losses.append(Loss("options.tools", "spelling", "an empty list of tools is just not sent"))
    elif "tools" in dialect.refuses:
        losses.append(Loss("options.tools", "tools", f"{dialect.name} takes no tools"))
    else:
        body["tools"] = [_tool(tool, f"options.tools[{index}]", losses) for index, tool in enumerate(tools)]


def _tool(tool: ToolDefinition, path: str, losses: Losses) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = plain(tool.input_schema, f"{path}.input_schema", FORMAT)
    body = {"type": "function", "function": function}
    add_own(body, tool.metadata, FORMAT, path, losses)
    return body


def _write_tool_choice(choice: str, body: dict[str, Any], dialect: Dialect, losses: Losses) -> None:
    if "tools" in dialect.refuses:
        losses.append(Loss("options.tool_choice", "tools", f"{dialect.name} takes no tools"))
    else:
        body["tool_choice"] = choice if choice in MODES else {"type": "function", "function": {"name": choice}}


def _write_output_schema(schema: FrozenDict, body: dict[str, Any], _dialect: Dialect, _losses: Losses) -> None:
    form = {"name": schema_name(schema), "schema": plain(schema, "options.output_schema", FORMAT), "strict": True}
    body["response_format"] = {"type": "json_schema", "json_schema": form}


_WRITERS: Mapping[str, Callable[[Any, dict[str, Any], Dialect, Losses], None]] = {
    "tools": _write_tools,
    "tool_choice": _write_tool_choice,
    "output_schema": _write_output_schema,
}
