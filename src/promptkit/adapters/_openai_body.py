"""Read the body of a Chat Completions request back into a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit._frozen import shown
from promptkit.adapters._openai_media import MEDIA_READERS
from promptkit.adapters._openai_tables import FORMAT, LEGACY, MODES, OPENAI, REASONING_KEYS, Dialect, schema_name
from promptkit.adapters._reading import MAPPINGS, own_of, split_tools, text_at
from promptkit.content import Media, Opaque, Part, Reasoning, Text, freeze_content
from promptkit.errors import AdapterError, PromptError
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import NO_OPTIONS, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt

__all__ = ["from_request", "read_content", "read_options"]


def from_request(body: Mapping[str, Any], *, dialect: Dialect = OPENAI) -> Prompt:
    """Read the body of a Chat Completions request.

    Everything is kept: unknown parts as `Opaque`, unknown fields of a message, part, call or tool under
    ``metadata["openai"]``, unknown settings in ``options.extra``. One form comes out: results that follow each other
    are one message, text beside calls that is empty is ``None``, ``null`` is absent.

    Args:
        body: The JSON of the request; it is not changed.
        dialect: How the server spells the format.

    Raises:
        AdapterError: It is no such body; the path says where.

    >>> from_request({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).options.model
    'm'
    """
    if not isinstance(body, Mapping):
        raise AdapterError(f"a request must be a mapping, not {shown(body)}", format=FORMAT)
    messages = body.get("messages")
    if not isinstance(messages, list | tuple):
        raise AdapterError(f"must be a list, not {shown(messages)}", format=FORMAT, path="messages")
    reader = _Reader(dialect)
    for at, message in enumerate(messages):
        try:
            reader.message(message)
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), format=FORMAT, path=f"messages[{at}]") from None
    reader.finish_results()
    rest = {key: value for key, value in body.items() if key != "messages"}
    return Prompt(reader.messages, read_options(rest, dialect) if rest else NO_OPTIONS)


class _Reader:
    """Read messages in order; results wait until the last of their turn is there."""

    __slots__ = ("calls", "messages", "results", "system_role")

    def __init__(self, dialect: Dialect) -> None:
        self.system_role = "system" if dialect.system_role == "user" else dialect.system_role
        self.messages: list[Message] = []
        self.results: list[ToolResponse] = []
        self.calls: dict[str | None, str | None] = {}

    def message(self, message: Mapping[str, Any]) -> None:
        if not isinstance(message, MAPPINGS):
            raise AdapterError(f"a message must be a mapping, not {shown(message)}")
        role = message.get("role")
        read = _ROLES.get(role) if isinstance(role, str) else None
        if read is None:
            raise AdapterError(f"role must be one of {', '.join(_ROLES)}, not {shown(role)}")
        if read is not _Reader.result:
            self.finish_results()
        read(self, message)

    def finish_results(self) -> None:
        if self.results:
            self.messages.append(ToolResponseMessage(tuple(self.results)))
            self.results = []

    def system(self, message: Mapping[str, Any]) -> None:
        own = _own(message, _SPOKEN)
        if message["role"] != self.system_role:
            own["role"] = message["role"]
        metadata = {FORMAT: own} if own else {}
        self.messages.append(SystemMessage(_required(message), name=message.get("name"), metadata=metadata))

    def user(self, message: Mapping[str, Any]) -> None:
        if len(message) == 2 and type(message.get("content")) is str:
            self.messages.append(UserMessage(message["content"]))
        else:
            self.messages.append(
                UserMessage(_required(message), name=message.get("name"), metadata=own_of(FORMAT, message, _SPOKEN))
            )

    def assistant(self, message: Mapping[str, Any]) -> None:
        content: Any = message.get("content")
        if len(message) == 2 and type(content) is str:
            self.calls = {}
            self.messages.append(AssistantMessage(content))
            return
        calls, customs = _calls(message)
        if len(message) == 2 and calls and not customs and calls[0].id is not None:
            self.calls = {call.id: call.name for call in calls}
            self.messages.append(AssistantMessage(None, tool_calls=tuple(calls)))
            return
        before = [Reasoning(text_at(message, key)) for key in REASONING_KEYS if message.get(key) is not None]
        after = [*_refusal(message), *_audio(message), *customs]
        if before or after or calls:
            parts = freeze_content(read_content(content or ""))
            parts = (Text(parts),) if isinstance(parts, str) and parts else parts or ()
            content = (*before, *parts, *after) or None
        elif content is not None:
            content = read_content(content)
        metadata = own_of(FORMAT, message, _ANSWERED)
        self.calls = {call.id: call.name for call in calls}
        self.calls.update((custom.payload.get("id"), _custom_name(custom)) for custom in customs)
        self.messages.append(AssistantMessage(content, tool_calls=calls, name=message.get("name"), metadata=metadata))

    def result(self, message: Mapping[str, Any]) -> None:
        content = message.get("content")
        if len(message) == 3 and type(content) is str and "tool_call_id" in message:
            call_id = message["tool_call_id"]
            self.results.append(ToolResponse(call_id, self.calls.get(call_id), content=content))
            return
        content = "" if content is None else read_content(content)
        if message["role"] == "function":
            metadata: dict[str, Any] = {FORMAT: LEGACY | _own(message, _RESULT)}
            self.results.append(ToolResponse(None, message.get("name"), content=content, metadata=metadata))
            return
        call_id = message.get("tool_call_id")
        if call_id is None:
            raise AdapterError("a tool message must have a tool_call_id")
        name = message.get("name") or self.calls.get(call_id)
        metadata = own_of(FORMAT, message, _RESULT)
        self.results.append(ToolResponse(call_id, name, content=content, metadata=metadata))


_ROLES: Mapping[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "system": _Reader.system,
    "developer": _Reader.system,
    "user": _Reader.user,
    "assistant": _Reader.assistant,
    "tool": _Reader.result,
    "function": _Reader.result,
}

_SPOKEN = frozenset(("role", "content", "name"))
_RESULT = frozenset(("role", "content", "name", "tool_call_id"))
_ANSWERED = _SPOKEN | {"tool_calls", "function_call", "refusal", "audio", *REASONING_KEYS}


def _own(value: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Collect the fields that no field of ours stands for."""
    return {key: item for key, item in value.items() if key not in known and item is not None}


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    if not isinstance(found, MAPPINGS):
        raise AdapterError(f"{key} must be a mapping, not {shown(found)}")
    return found


def _required(message: Mapping[str, Any]) -> Any:
    if message.get("content") is None:
        raise AdapterError(f"content of a message of role {message['role']!r} is missing")
    return read_content(message["content"])


def read_content(content: Any) -> str | tuple[Part, ...]:
    """Read the content of a message: a text, or a list of parts.

    Raises:
        AdapterError: It is neither, or a part is damaged; the path says which.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise AdapterError(f"content must be a str or a list of parts, not {shown(content)}")
    parts = []
    for index, part in enumerate(content):
        try:
            parts.append(_part(part))
        except KeyError as error:
            raise AdapterError(f"the part has no {error}", path=f"content[{index}]") from None
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), path=f"content[{index}]") from None
    return tuple(parts)


def _part(part: Mapping[str, Any]) -> Part:
    if not isinstance(part, Mapping):
        raise AdapterError(f"a part must be a mapping, not {shown(part)}")
    kind = part.get("type")
    if kind == "text":
        return Text(text_at(part, "text"), metadata=own_of(FORMAT, part, frozenset(("type", "text"))))
    if kind == "refusal":
        own = own_of(FORMAT, part, frozenset(("type", "refusal")))
        return Text(text_at(part, "refusal"), metadata={"refusal": True, **own})
    if not isinstance(kind, str) or kind not in MEDIA_READERS:
        return Opaque(FORMAT, part)
    read, known = MEDIA_READERS[kind]
    medium = _mapping(part, kind)
    own = _own(part, frozenset(("type", kind)))
    if inner := _own(medium, known):
        own[kind] = inner
    return read(medium).mutate(metadata={FORMAT: own}) if own else read(medium)


def _calls(message: Mapping[str, Any]) -> tuple[list[ToolCall], list[Opaque]]:
    calls: list[ToolCall] = []
    customs: list[Opaque] = []
    for index, call in enumerate(message.get("tool_calls") or ()):
        try:
            if not isinstance(call, MAPPINGS):
                raise AdapterError(f"a call must be a mapping, not {shown(call)}")
            if call.get("type", "function") == "function":
                calls.append(_call(call))
            else:
                customs.append(Opaque(FORMAT, call))
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), path=f"tool_calls[{index}]") from None
    if message.get("function_call") is not None:
        function = _mapping(message, "function_call")
        legacy = {FORMAT: LEGACY}
        calls.append(ToolCall(None, text_at(function, "name"), arguments=_arguments(function), metadata=legacy))
    return calls, customs


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = _mapping(call, "function")
    if len(call) == 3 and "id" in call and len(function) == 2:
        return ToolCall(text_at(call, "id"), text_at(function, "name"), arguments=_arguments(function))
    own = _own(call, frozenset(("id", "type", "function")))
    if inner := _own(function, frozenset(("name", "arguments"))):
        own["function"] = inner
    metadata = {FORMAT: own} if own else {}
    return ToolCall(text_at(call, "id"), text_at(function, "name"), arguments=_arguments(function), metadata=metadata)


def _arguments(function: Mapping[str, Any]) -> Any:
    """Give the arguments as they are: text, or the object that some servers write."""
    return "" if function.get("arguments") is None else function["arguments"]


def _custom_name(custom: Opaque) -> str | None:
    body = custom.payload.get("custom")
    name = body.get("name") if isinstance(body, Mapping) else None
    return name if isinstance(name, str) else None


def _refusal(message: Mapping[str, Any]) -> list[Part]:
    return [] if message.get("refusal") is None else [Text(text_at(message, "refusal"), metadata={"refusal": True})]


def _audio(message: Mapping[str, Any]) -> list[Part]:
    if message.get("audio") is None:
        return []
    audio = _mapping(message, "audio")
    return [
        Media(file_id=text_at(audio, "id"), mime_type="audio/*", metadata=own_of(FORMAT, audio, frozenset(("id",))))
    ]


def read_options(body: Mapping[str, Any], dialect: Dialect) -> ChatOptions:
    """Read the settings of a request; what no option stands for goes into ``extra``, word for word.

    Raises:
        AdapterError: A setting has a value that it cannot have.
    """
    extra = {key: value for key, value in body.items() if key != "messages" and value is not None}
    fields: dict[str, Any] = {}
    for name, key in [*dialect.option_keys.items(), ("max_tokens", "max_tokens")]:
        if name not in fields and key in extra:
            fields[name] = extra.pop(key)
    if isinstance(fields.get("stop_sequences"), str):
        fields["stop_sequences"] = [fields["stop_sequences"]]
    try:
        if tools := split_tools(extra, lambda kind: kind == "function", _tool):
            fields["tools"] = tools
        _read_tool_choice(extra, fields)
        _read_response_format(extra, fields)
        return ChatOptions(**fields, extra=extra)
    except PromptError as error:
        raise AdapterError(str(error), format=FORMAT, path="options") from None


def _tool(entry: Mapping[str, Any]) -> ToolDefinition:
    function = _mapping(entry, "function")
    own = _own(entry, frozenset(("type", "function")))
    if inner := _own(function, frozenset(("name", "description", "parameters"))):
        own["function"] = inner
    schema = function.get("parameters")
    given = {} if schema is None else {"input_schema": schema}
    metadata = {FORMAT: own} if own else {}
    return ToolDefinition(text_at(function, "name"), function.get("description") or "", metadata=metadata, **given)


def _read_tool_choice(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    choice = extra.get("tool_choice")
    if isinstance(choice, Mapping) and choice.keys() == {"type", "function"} and choice["type"] == "function":
        function = choice["function"]
        named = function.get("name") if isinstance(function, Mapping) and len(function) == 1 else None
        if isinstance(named, str) and named not in MODES:
            fields["tool_choice"] = named
            del extra["tool_choice"]
    elif choice in MODES:
        fields["tool_choice"] = extra.pop("tool_choice")


def _read_response_format(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    """Take the schema out of ``response_format``; what is not said as we would say it stays in ``extra``."""
    form = extra.get("response_format")
    if not isinstance(form, Mapping) or form.get("type") != "json_schema":
        return
    inner = form.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(schema, Mapping):
        return
    fields["output_schema"] = schema
    said = {"name": schema_name(schema), "strict": True}
    other = {key: value for key, value in inner.items() if key != "schema" and value != said.get(key)}
    if inner.get("strict") is None:
        other["strict"] = None
    rest = _own(form, frozenset(("type", "json_schema"))) | ({"json_schema": other} if other else {})
    del extra["response_format"]
    if rest:
        extra["response_format"] = rest
