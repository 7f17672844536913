"""Read the body of a Responses request back into a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from promptkit._frozen import shown
from promptkit.adapters._openai_tables import MODES, schema_name
from promptkit.adapters._reading import MAPPINGS, own_of, split_tools, text_at
from promptkit.adapters._responses_items import (
    Turn,
    fields_of,
    read_call,
    read_content,
    read_thought,
)
from promptkit.adapters._responses_tables import CLIENT_ITEMS, CONTINUING, FORMAT, OPTION_KEYS, is_part_type
from promptkit.content import Opaque, Text
from promptkit.errors import AdapterError, PromptError
from promptkit.messages import (
    Message,
    SystemMessage,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import NO_OPTIONS, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt

__all__ = ["from_request", "is_continued", "read_items", "read_options"]

_SPOKEN = frozenset(("type", "role", "content"))
_RESULT = frozenset(("type", "call_id", "output", "name"))


def from_request(body: Mapping[str, Any]) -> Prompt:
    """Read the body of a Responses request.

    Everything is kept: items and parts that we do not know as `Opaque`, unknown fields of an item, part or tool under
    ``metadata["openai_responses"]``, unknown settings in ``options.extra``. The ``instructions`` are the first message;
    items of the model that follow each other are one answer, unless nothing would tell their texts apart.

    Args:
        body: The JSON of the request; it is not changed.

    Raises:
        AdapterError: It is no such body; the path says where.

    >>> [*from_request({"instructions": "Be brief.", "input": "Hi"})]
    [SystemMessage('Be brief.'), UserMessage('Hi')]
    """
    if not isinstance(body, MAPPINGS):
        raise AdapterError(f"a request must be a mapping, not {shown(body)}", format=FORMAT)
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    elif items is None:
        items = []
    if not isinstance(items, list | tuple):
        raise AdapterError(f"must be a str or a list, not {shown(items)}", format=FORMAT, path="input")
    instructions = body.get("instructions")
    messages: list[Message] = []
    if instructions is not None:
        if not isinstance(instructions, str):
            raise AdapterError(f"must be a str, not {shown(instructions)}", format=FORMAT, path="instructions")
        messages.append(SystemMessage(instructions))
    alone = len(items) == 1 and not is_continued(body)
    messages += read_items(items, first=instructions is None and not alone)
    rest = {key: value for key, value in body.items() if key not in ("input", "instructions")}
    return Prompt(messages, read_options(rest) if rest else NO_OPTIONS)


def is_continued(settings: Mapping[str, Any]) -> bool:
    """Tell whether the vendor has what comes before the request."""
    return any(settings.get(key) is not None for key in CONTINUING)


def read_items(items: Iterable[Any], *, first: bool = False) -> list[Message]:
    """Read items as messages.

    Args:
        items: The items.
        first: A text of the system at their beginning could stand in ``instructions``, and does not.

    Raises:
        AdapterError: One is damaged; the path says which.
    """
    reader = _Reader(first=first)
    at = 0
    try:
        for item in items:
            reader.item(item)
            at += 1
        reader.finish()
    except (PromptError, AdapterError) as error:
        raise AdapterError(str(error), format=FORMAT, path=f"input[{at}]") from None
    return reader.messages


class _Reader:
    """Read items in order; those of one answer wait until the last of them is there, and so do results."""

    __slots__ = ("first", "messages", "names", "results", "turn")

    def __init__(self, *, first: bool) -> None:
        self.first = first
        self.messages: list[Message] = []
        self.names: dict[str | None, str] = {}
        self.results: list[ToolResponse] = []
        self.turn: Turn | None = None

    def item(self, item: Any) -> None:
        if not isinstance(item, MAPPINGS):
            raise AdapterError(f"an item must be a mapping, not {shown(item)}")
        kind = item.get("type")
        if kind == "message" or (kind is None and "role" in item):
            self.spoken(item)
        elif kind == "function_call_output" and isinstance(item.get("call_id"), str):
            self.result(item)
        elif is_part_type(kind):
            raise AdapterError(f"a part of the type {kind!r} must stand in a message")
        elif isinstance(kind, str) and kind in CLIENT_ITEMS:
            self.finish()
            self.messages.append(UserMessage([Opaque(FORMAT, item)]))
        else:
            self.made(item, kind)
        self.first = False

    def finish(self) -> None:
        """Close the answer or the results that are open."""
        if self.turn is not None:
            self.messages.append(self.turn.message())
            self.turn = None
        if self.results:
            self.messages.append(ToolResponseMessage(tuple(self.results)))
            self.results = []

    def open(self) -> Turn:
        if self.turn is None:
            self.finish()
            self.turn = Turn()
        return self.turn

    def made(self, item: Mapping[str, Any], kind: Any) -> None:
        """Read what the model made beside messages."""
        turn = self.open()
        if kind == "function_call":
            call = read_call(item)
            turn.call(call)
            self.names[call.id] = call.name
        elif kind == "reasoning":
            turn.parts.append(read_thought(item))
        else:
            turn.parts.append(Opaque(FORMAT, item))

    def spoken(self, item: Mapping[str, Any]) -> None:
        role, content = item.get("role"), item.get("content")
        if role == "assistant":
            self.answer(item, content)
        elif role == "user":
            self.finish()
            own = own_of(FORMAT, item, _SPOKEN) if len(item) > 2 else None
            read = read_content(content)
            self.messages.append(UserMessage(read, metadata=own) if own else UserMessage(read))
        elif role in ("system", "developer"):
            self.finish()
            own = {key: value for key, value in item.items() if key not in _SPOKEN and value is not None}
            if role == "developer" or (self.first and isinstance(content, str) and not own):
                own["role"] = role
            self.messages.append(SystemMessage(read_content(content), metadata={FORMAT: own} if own else {}))
        else:
            raise AdapterError(f"role must be one of user, assistant, system, developer, not {shown(role)}")

    def answer(self, item: Mapping[str, Any], content: Any) -> None:
        fields = fields_of(item) if len(item) > 2 else {}
        if self.turn is not None and not self.turn.takes(fields):
            self.finish()
        turn = self.open()
        if type(content) is str and not fields and not turn.spoken and not turn.parts:
            turn.spoken = True
            turn.parts.append(Text(content))
        else:
            turn.say(item, fields)

    def result(self, item: Mapping[str, Any]) -> None:
        if self.turn is not None:
            self.finish()
        call_id, output = item["call_id"], item.get("output")
        name = item.get("name")
        if name is None:
            name = self.names.get(call_id)
        content: Any = output if type(output) is str else "" if output is None else read_content(output)
        if len(item) == 3:
            self.results.append(ToolResponse(call_id, name, content=content))
        else:
            self.results.append(ToolResponse(call_id, name, content=content, metadata=own_of(FORMAT, item, _RESULT)))


def read_options(body: Mapping[str, Any]) -> ChatOptions:
    """Read the settings of a request; what no option stands for goes into ``extra``, word for word.

    Raises:
        AdapterError: A setting has a value that it cannot have.
    """
    extra = {key: value for key, value in body.items() if value is not None}
    fields: dict[str, Any] = {name: extra.pop(key) for name, key in OPTION_KEYS.items() if key in extra}
    try:
        tools = split_tools(extra, lambda kind: kind == "function", _tool)
        if tools is not None and (tools or "tools" not in extra):
            fields["tools"] = tools
        _read_tool_choice(extra, fields)
        _read_format(extra, fields)
        return ChatOptions(**fields, extra=extra)
    except (PromptError, AdapterError) as error:
        raise AdapterError(str(error), format=FORMAT, path="options") from None


def _tool(entry: Mapping[str, Any]) -> ToolDefinition:
    """Read a function; that it is not strict is how we say it, that nothing is said of it means yes to the vendor."""
    known = ("type", "name", "description", "parameters", "strict")
    own = {key: value for key, value in entry.items() if key not in known and value is not None}
    if entry.get("strict") is not False:
        own["strict"] = entry.get("strict")
    schema = entry.get("parameters")
    given = {} if schema is None else {"input_schema": schema}
    metadata = {FORMAT: own} if own else {}
    return ToolDefinition(text_at(entry, "name"), entry.get("description") or "", metadata=metadata, **given)


def _read_tool_choice(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    choice = extra.get("tool_choice")
    if isinstance(choice, str) and choice in MODES:
        fields["tool_choice"] = extra.pop("tool_choice")
        return
    named = isinstance(choice, Mapping) and choice.keys() == {"type", "name"} and choice["type"] == "function"
    if named and isinstance(choice["name"], str) and choice["name"] not in MODES:  # type: ignore[index]
        fields["tool_choice"] = extra.pop("tool_choice")["name"]


def _read_format(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    """Take the schema out of ``text.format``; what is not said as we would say it stays in ``extra``."""
    text = extra.get("text")
    form = text.get("format") if isinstance(text, Mapping) else None
    schema = form.get("schema") if isinstance(form, Mapping) else None
    if not isinstance(text, Mapping) or not isinstance(form, Mapping) or not isinstance(schema, Mapping):
        return
    if form.get("type") != "json_schema":
        return
    fields["output_schema"] = schema
    said = {"type": "json_schema", "name": schema_name(schema), "strict": True}
    other = {key: value for key, value in form.items() if key != "schema" and value != said.get(key)}
    other = {key: value for key, value in other.items() if value is not None}
    if form.get("strict") is None:
        other["strict"] = None
    rest = {key: value for key, value in text.items() if key != "format" and value is not None}
    del extra["text"]
    if rest or other:
        extra["text"] = rest | ({"format": other} if other else {})
