"""Write a prompt as the body of a Messages request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from promptkit.adapters._anthropic_body import read_options
from promptkit.adapters._anthropic_messages import Body, MessageWriter
from promptkit.adapters._anthropic_tables import CHOICES, FORMAT, MAX_TOKENS, OPTION_KEYS
from promptkit.adapters.base import Converted, add_extra, check_prompt, plain
from promptkit.errors import AdapterError
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt

__all__ = ["to_request"]


def to_request(prompt: Prompt, *, late_system: Literal["join", "keep"] = "join", strict: bool = False) -> Converted:
    """Write a prompt as the body of a Messages request.

    Args:
        prompt: The prompt; it is not changed.
        late_system: What becomes of system messages after the first other message: ``join`` puts their text behind the
            system text, and each is a `Loss`; ``keep`` leaves them in place, which models since Claude Opus 4.8 take.
        strict: Raise for any loss.

    Raises:
        UnsupportedContentError: ``strict``, and something is lost.
        AdapterError: The prompt has no messages for the model to answer, or holds what no JSON can say.

    >>> to_request(Prompt("Hi", options=ChatOptions(model="m", max_tokens=9))).body
    {'model': 'm', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': 'Hi'}]}
    >>> to_request(Prompt("Hi", options=ChatOptions(max_tokens=9, seed=4))).losses[0].path
    'options.seed'
    """
    check_prompt(prompt, FORMAT)
    if late_system not in ("join", "keep"):
        raise AdapterError(f"late_system must be 'join' or 'keep', not {late_system!r:.80}", format=FORMAT)
    writer = MessageWriter(late_system)
    writer.write(prompt.messages)
    if not writer.messages:
        why = "has no messages" if not prompt.messages else "has system text only"
        raise AdapterError(f"the prompt {why}: {FORMAT} wants a user message", format=FORMAT, path="messages")
    body = _body(writer, prompt.options)
    writer.unmark(reserved=1 if body.get("cache_control") is not None else 0)
    converted = Converted(body, tuple(writer.losses))
    return converted.require(FORMAT, ignore=frozenset()) if strict else converted


def _body(writer: MessageWriter, options: ChatOptions) -> Body:
    """Write the options around the messages."""
    given = options.set_fields()
    body: Body = {name: given.pop(name) for name in OPTION_KEYS if name in given}
    if "stop_sequences" in body:
        body["stop_sequences"] = list(body["stop_sequences"])
    if "max_tokens" not in body and options.extra.get("max_tokens") is None:
        body["max_tokens"] = _default_limit(options.extra)
        why = f"{FORMAT} wants a limit of the answer: {body['max_tokens']} tokens are sent"
        writer.lose("options.max_tokens", "spelling", why)
    if writer.system:
        only = len(writer.system) == 1 and writer.system[0].keys() == {"type", "text"}
        body["system"] = writer.system[0]["text"] if only else writer.system
    body["messages"] = writer.messages
    writer.rank = 2
    if "tools" in given:
        body["tools"] = [_tool(tool, f"options.tools[{at}]", writer) for at, tool in enumerate(given.pop("tools"))]
    if "tool_choice" in given:
        choice = given.pop("tool_choice")
        body["tool_choice"] = {"type": CHOICES[choice]} if choice in CHOICES else {"type": "tool", "name": choice}
    if "output_schema" in given:
        schema = plain(given.pop("output_schema"), "options.output_schema", FORMAT)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    for name in given:
        writer.lose(f"options.{name}", name, f"{FORMAT} has no option {name}")
    if options.removed:
        writer.lose("options.removed", "removed", "what is removed is just not sent")
    if options.extra:
        _add_extra(body, options, writer)
    return body


def _default_limit(extra: Mapping[str, Any]) -> int:
    """Give the limit that is sent when nobody set one; the tokens set aside for thinking count to it."""
    thinking = extra.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    return MAX_TOKENS + (budget if type(budget) is int and budget > 0 else 0)


def _tool(tool: Any, path: str, writer: MessageWriter) -> Body:
    body: Body = {"name": tool.name}
    if tool.description:
        body["description"] = tool.description
    body["input_schema"] = plain(tool.input_schema, f"{path}.input_schema", FORMAT)
    writer.own(body, tool.metadata, path)
    return body


def _add_extra(body: Body, options: ChatOptions, writer: MessageWriter) -> None:
    add_extra(body, options.extra, FORMAT, ("messages", "system"))
    written = body.get("tools")
    if "tools" in options.extra and isinstance(written, list):
        for tool in written[len(options.tools or ()) :]:
            if isinstance(tool, dict):
                writer.mark(tool, "options.extra.tools")
    settings = {key: value for key, value in body.items() if key not in ("messages", "system")}
    read = read_options(settings)
    if (read.extra, read.tools) != (options.extra, options.tools):
        writer.lose("options.extra", "spelling", "what the options have fields for reads back as those")
