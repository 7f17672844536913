"""Write a prompt as the body of a Responses request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit.adapters._openai_tables import MODES, schema_name
from promptkit.adapters._order import order_losses
from promptkit.adapters._responses_body import is_continued, read_options
from promptkit.adapters._responses_messages import MessageWriter
from promptkit.adapters._responses_tables import FORMAT, OPTION_KEYS
from promptkit.adapters.base import Converted, Loss, Losses, add_extra, add_own, check_prompt, plain, without_own
from promptkit.errors import AdapterError
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt

__all__ = ["to_request"]

Body = dict[str, Any]


def to_request(prompt: Prompt, *, strict: bool = False) -> Converted:
    """Write a prompt as the body of a Responses request.

    Args:
        prompt: The prompt; it is not changed.
        strict: Raise for any loss.

    Raises:
        UnsupportedContentError: ``strict``, and something is lost.
        AdapterError: The prompt has nothing to send, or holds what no JSON can say.

    >>> from promptkit.options import ChatOptions
    >>> to_request(Prompt("Hi", options=ChatOptions(model="m", max_tokens=9))).body
    {'model': 'm', 'max_output_tokens': 9, 'input': [{'role': 'user', 'content': 'Hi'}]}
    >>> to_request(Prompt("Hi", options=ChatOptions(seed=4))).losses[0].path
    'options.seed'
    """
    check_prompt(prompt, FORMAT)
    continued = is_continued(prompt.options.extra)
    writer = MessageWriter(continued=continued)
    writer.write(prompt.messages)
    if not writer.items and not continued:
        why = "holds nothing that can be sent" if prompt.messages else "has no messages"
        raise AdapterError(f"the prompt {why}, and the format wants input", format=FORMAT, path="messages")
    if writer.odd:
        found = order_losses(prompt.messages, FORMAT, hoisted=False)
        writer.losses += [loss for loss in found if not (continued and loss.what == "orphan_result")]
    converted = Converted(_body(writer, prompt.options), tuple(writer.losses))
    return converted.require(FORMAT, ignore=frozenset()) if strict else converted


def _body(writer: MessageWriter, options: ChatOptions) -> Body:
    """Write the options around the items."""
    losses = writer.losses
    given = options.set_fields()
    body: Body = {key: given.pop(name) for name, key in OPTION_KEYS.items() if name in given}
    if writer.instructions is not None:
        body["instructions"] = writer.instructions
    if writer.items:
        body["input"] = writer.items
    if "tools" in given:
        tools = given.pop("tools")
        body["tools"] = [_tool(tool, f"options.tools[{at}]", losses) for at, tool in enumerate(tools)]
    if "tool_choice" in given:
        choice = given.pop("tool_choice")
        body["tool_choice"] = choice if choice in MODES else {"type": "function", "name": choice}
    if "output_schema" in given:
        schema = given.pop("output_schema")
        form = {"type": "json_schema", "name": schema_name(schema), "strict": True}
        body["text"] = {"format": form | {"schema": plain(schema, "options.output_schema", FORMAT)}}
    losses += [Loss(f"options.{name}", name, f"{FORMAT} has no option {name}") for name in given]
    if options.removed:
        losses.append(Loss("options.removed", "removed", "what is removed is just not sent"))
    if options.extra:
        add_extra(body, options.extra, FORMAT, ("input", "instructions"))
        read = read_options({key: value for key, value in body.items() if key not in ("input", "instructions")})
        if (read.extra, read.tools) != (options.extra, options.tools):
            losses.append(Loss("options.extra", "spelling", "what the options have fields for reads back as those"))
    return body


def _tool(tool: ToolDefinition, path: str, losses: Losses) -> Body:
    """Write a function; without ``strict`` the vendor would take its schema for a strict one, and change it."""
    body: Body = {"type": "function", "name": tool.name}
    if tool.description:
        body["description"] = tool.description
    body["parameters"] = plain(tool.input_schema, f"{path}.input_schema", FORMAT)
    metadata: Mapping[str, Any] = tool.metadata
    own = metadata.get(FORMAT)
    if not isinstance(own, Mapping) or own.get("strict", False) is False:
        body["strict"] = False
    elif own["strict"] is None:
        metadata = without_own(metadata, FORMAT, "strict")
    if metadata:
        add_own(body, metadata, FORMAT, path, losses)
    return body
