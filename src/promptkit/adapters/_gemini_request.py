"""Write a prompt as the body of a generateContent request."""

from __future__ import annotations

from typing import Any

from promptkit.adapters._gemini_messages import Body, MessageWriter
from promptkit.adapters._gemini_options import read_options
from promptkit.adapters._gemini_tables import CHOICES, FORMAT, JSON_TYPE, OPTION_KEYS, STOPS
from promptkit.adapters.base import Converted, add_extra, add_own, check_prompt, plain
from promptkit.errors import AdapterError
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt

__all__ = ["to_request"]


def to_request(prompt: Prompt, *, strict: bool = False) -> Converted:
    """Write a prompt as the body of a generateContent request.

    System messages after the first other message join the system text, and each is a `Loss`: the format has no other
    place for them.

    Args:
        prompt: The prompt; it is not changed.
        strict: Raise for any loss.

    Raises:
        UnsupportedContentError: ``strict``, and something is lost.
        AdapterError: The prompt has no messages for the model to answer, or holds what no JSON can say.

    >>> to_request(Prompt("Hi", options=ChatOptions(model="m", seed=4))).body["generationConfig"]
    {'seed': 4}
    >>> to_request(Prompt("Hi", options=ChatOptions(stop_sequences=list("abcdef")))).losses[0].path
    'options.stop_sequences'
    """
    check_prompt(prompt, FORMAT)
    writer = MessageWriter()
    writer.write(prompt.messages)
    if not writer.contents:
        why = "has no messages" if not prompt.messages else "has system text only"
        raise AdapterError(f"the prompt {why}: {FORMAT} wants a user message", format=FORMAT, path="messages")
    converted = Converted(_body(writer, prompt.options), tuple(writer.losses))
    return converted.require(FORMAT, ignore=frozenset()) if strict else converted


def _body(writer: MessageWriter, options: ChatOptions) -> Body:
    """Write the options around the contents."""
    given = options.set_fields()
    body: Body = {"model": given["model"]} if "model" in given else {}
    if writer.system is not None:
        body["systemInstruction"] = writer.system
    body["contents"] = writer.contents
    config = {key: given[name] for name, key in OPTION_KEYS.items() if name in given}
    if "stopSequences" in config:
        stops = config["stopSequences"] = list(config["stopSequences"])
        if len(stops) > STOPS:
            writer.lose(
                "options.stop_sequences", "stop_sequences", f"{FORMAT} takes {STOPS} of them: the first are sent"
            )
            del stops[STOPS:]
    if "output_schema" in given:
        config["responseMimeType"] = JSON_TYPE
        config["responseJsonSchema"] = plain(given["output_schema"], "options.output_schema", FORMAT)
    if config:
        body["generationConfig"] = config
    if "tools" in given:
        functions = [_tool(tool, f"options.tools[{at}]", writer) for at, tool in enumerate(given["tools"])]
        body["tools"] = [{"functionDeclarations": functions}] if functions else []
    if "tool_choice" in given:
        choice = given["tool_choice"]
        mode = {"mode": CHOICES.get(choice, CHOICES["required"])}
        own = {} if choice in CHOICES else {"allowedFunctionNames": [choice]}
        body["toolConfig"] = {"functionCallingConfig": mode | own}
    if options.removed:
        writer.lose("options.removed", "removed", "what is removed is just not sent")
    if options.extra:
        add_extra(body, options.extra, FORMAT, ("contents", "systemInstruction"))
        read = read_options({key: value for key, value in body.items() if key not in ("contents", "systemInstruction")})
        if (read.extra, read.tools) != (options.extra, options.tools):
            writer.lose("options.extra", "spelling", "what the options have fields for reads back as those")
    return body


def _tool(tool: ToolDefinition, path: str, writer: MessageWriter) -> Body:
    body: Body = {"name": tool.name}
    if tool.description:
        body["description"] = tool.description
    if tool.input_schema != _NO_PARAMETERS:  # the vendor says to leave it out
        body["parametersJsonSchema"] = plain(tool.input_schema, f"{path}.input_schema", FORMAT)
    if tool.metadata:
        add_own(body, tool.metadata, FORMAT, path, writer.losses)
    return body


_NO_PARAMETERS: Any = ToolDefinition("none").input_schema
