"""Read the body of a Messages request back into a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from promptkit import _json
from promptkit._frozen import shown
from promptkit.adapters._anthropic_media import read_medium
from promptkit.adapters._anthropic_tables import CHOICES, FORMAT, OPTION_KEYS
from promptkit.adapters._reading import MAPPINGS, leave, own_of, split_tools, text_at
from promptkit.content import Content, Opaque, Part, Reasoning, Text
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

__all__ = ["from_request", "read_block", "read_options"]

T = TypeVar("T")


def from_request(body: Mapping[str, Any]) -> Prompt:
    """Read the body of a Messages request.

    Everything is kept: unknown blocks as `Opaque`, unknown fields of a message, block, call or tool under
    ``metadata["anthropic"]``, unknown settings in ``options.extra``. The ``system`` text is one message.

    Args:
        body: The JSON of the request; it is not changed.

    Raises:
        AdapterError: It is no such body; the path says where.

    >>> [*from_request({"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]})]
    [SystemMessage('Be brief.'), UserMessage('Hi')]
    """
    if not isinstance(body, Mapping):
        raise AdapterError(f"a request must be a mapping, not {shown(body)}", format=FORMAT)
    messages = body.get("messages")
    if not isinstance(messages, list | tuple):
        raise AdapterError(f"must be a list, not {shown(messages)}", format=FORMAT, path="messages")
    reader = _Reader()
    system = body.get("system")
    if system is not None and system != []:
        with _place("system"):
            reader.messages.append(SystemMessage(_content(system)))
    for at, message in enumerate(messages):
        try:
            reader.message(message)
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), format=FORMAT, path=f"messages[{at}]") from None
    reader.finish_results()
    rest = {key: value for key, value in body.items() if key not in ("messages", "system")}
    return Prompt(reader.messages, read_options(rest) if rest else NO_OPTIONS)


class _place:  # noqa: N801 - it reads as a statement
    """Say in an error where it was."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, PromptError | AdapterError):
            raise AdapterError(str(error), format=FORMAT, path=self.path) from None


class _Reader:
    """Read messages in order; results wait until the last of their turn is there."""

    __slots__ = ("calls", "messages", "own", "results")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: list[ToolResponse] = []
        self.own: dict[str, Any] = {}
        self.calls: dict[str | None, str | None] = {}

    def message(self, message: Mapping[str, Any]) -> None:
        """Read one message into the list."""
        if not isinstance(message, MAPPINGS):
            raise AdapterError(f"a message must be a mapping, not {shown(message)}")
        role, content = message.get("role"), message.get("content")
        own = own_of(FORMAT, message, _SPOKEN) if len(message) > 2 else {}
        if role == "user":
            self.user(content, own)
            return
        self.finish_results()
        if role == "assistant":
            self.assistant(content, own)
        elif role == "system":
            self.messages.append(SystemMessage(_content(content), metadata=own))
        else:
            raise AdapterError(f"role must be one of user, assistant, system, not {shown(role)}")

    def user(self, content: Any, own: Mapping[str, Any]) -> None:
        if isinstance(content, str):
            self.finish_results()
            self.messages.append(UserMessage(content, metadata=own) if own else UserMessage(content))
            return
        read = _each(content, self.said_or_result)
        results = [item for item in read if isinstance(item, ToolResponse)]
        parts = [item for item in read if not isinstance(item, ToolResponse)]
        if own or not results:
            self.finish_results()
        if results:
            self.results += results
            self.own = dict(own) or self.own
        if parts or not results:
            self.finish_results()
            self.messages.append(UserMessage(parts, metadata={} if results else own))

    def said_or_result(self, block: Any) -> Part | ToolResponse:
        return self.result(block) if _kind(block) == "tool_result" else read_block(block)

    def result(self, block: Mapping[str, Any]) -> ToolResponse:
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str):
            raise AdapterError(f"tool_use_id must be a str, not {shown(call_id)}")
        content = block.get("content")
        content = "" if content is None else content if type(content) is str else _content(content)
        name = self.calls.get(call_id)
        failed = block.get("is_error")
        if len(block) == 3 and "content" in block:
            return ToolResponse(call_id, name, content=content)
        own = own_of(FORMAT, block, _RESULT if isinstance(failed, bool) else _RESULT - {"is_error"})
        return ToolResponse(
            call_id, name, content=content, status="error" if failed is True else "success", metadata=own
        )

    def finish_results(self) -> None:
        if self.results:
            results = ToolResponseMessage(tuple(self.results))
            self.messages.append(results.mutate(metadata=self.own) if self.own else results)
            self.results, self.own = [], {}

    def assistant(self, content: Any, own: Mapping[str, Any]) -> None:
        self.calls = {}
        if isinstance(content, str):
            self.messages.append(AssistantMessage(content, metadata=own) if own else AssistantMessage(content))
            return
        read = _each(content, _said_or_call)
        calls = tuple([item for item in read if isinstance(item, ToolCall)])
        parts = [item for item in read if not isinstance(item, ToolCall)]
        self.calls = {call.id: call.name for call in calls}
        said = None if not parts or (calls and parts == [_NOTHING]) else parts
        if own:
            self.messages.append(AssistantMessage(said, tool_calls=calls, metadata=own))
        else:
            self.messages.append(AssistantMessage(said, tool_calls=calls))


_SPOKEN = frozenset(("role", "content"))
_RESULT = frozenset(("type", "tool_use_id", "content", "is_error"))
_CALL = frozenset(("type", "id", "name", "input"))
_NOTHING = Text("")


def _kind(block: Any) -> Any:
    if not isinstance(block, MAPPINGS):
        raise AdapterError(f"a block must be a mapping, not {shown(block)}")
    return block.get("type")


def _each(content: Any, read: Callable[[Any], T]) -> list[T]:
    """Read every block; an error says which one it was."""
    if not isinstance(content, list | tuple):
        raise AdapterError(f"content must be a str or a list of blocks, not {shown(content)}")
    found: list[T] = []
    for block in content:
        try:
            found.append(read(block))
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), format=FORMAT, path=f"content[{len(found)}]") from None
    return found


def _content(content: Any) -> Content | list[Part]:
    """Read content that has neither calls nor results in it."""
    return content if isinstance(content, str) else _each(content, read_block)


def _said_or_call(block: Any) -> Part | ToolCall:
    return _call(block) if _kind(block) == "tool_use" else read_block(block)


def _read_text(block: Mapping[str, Any]) -> Part:
    return Text(
        text_at(block, "text"), metadata=own_of(FORMAT, block, frozenset(("type", "text"))) if len(block) > 2 else {}
    )


def _read_thinking(block: Mapping[str, Any]) -> Part:
    if not isinstance(block.get("signature"), str):
        return Opaque(FORMAT, block)
    metadata = {"signature": block["signature"], **own_of(FORMAT, block, frozenset(("type", "thinking", "signature")))}
    return Reasoning(text_at(block, "thinking"), metadata=metadata)


def _read_redacted(block: Mapping[str, Any]) -> Part:
    return Reasoning(
        metadata={"redacted": text_at(block, "data"), **own_of(FORMAT, block, frozenset(("type", "data")))}
    )


def _read_medium(block: Mapping[str, Any]) -> Part:
    found = read_medium(block)
    if found is None:
        return Opaque(FORMAT, block)
    medium, own = found
    return medium.mutate(metadata={FORMAT: own}) if own else medium


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "image": _read_medium,
    "document": _read_medium,
}


def read_block(block: Any) -> Part:
    """Read a block as the part that it is; one that we do not know stays as it is.

    Raises:
        AdapterError: A block that we know is damaged.
    """
    kind = _kind(block)
    read = _READERS.get(kind) if isinstance(kind, str) else None
    return Opaque(FORMAT, block) if read is None else read(block)


def _call(block: Mapping[str, Any]) -> ToolCall:
    given = block.get("input")
    if not isinstance(given, MAPPINGS):
        raise AdapterError(f"input must be a mapping, not {shown(given)}")
    if type(given) is not dict:
        return ToolCall(
            text_at(block, "id"), text_at(block, "name"), arguments=given, metadata=own_of(FORMAT, block, _CALL)
        )
    try:
        arguments = _json.dumps(given)
    except (TypeError, ValueError) as error:
        raise AdapterError(f"input is no JSON: {error}") from None
    if len(block) == 4:
        return ToolCall(text_at(block, "id"), text_at(block, "name"), arguments=arguments)
    return ToolCall(
        text_at(block, "id"), text_at(block, "name"), arguments=arguments, metadata=own_of(FORMAT, block, _CALL)
    )


def read_options(body: Mapping[str, Any]) -> ChatOptions:
    """Read the settings of a request; what no option stands for goes into ``extra``, word for word.

    Raises:
        AdapterError: A setting has a value that it cannot have.
    """
    extra = {key: value for key, value in body.items() if value is not None}
    fields: dict[str, Any] = {key: extra.pop(key) for key in OPTION_KEYS if key in extra}
    with _place("options"):
        tools = split_tools(extra, lambda kind: kind in (None, "custom"), _tool)
        if tools is not None and (tools or "tools" not in extra):
            fields["tools"] = tools
        _read_tool_choice(extra, fields)
        _read_format(extra, fields)
        return ChatOptions(**fields, extra=extra)


def _tool(entry: Mapping[str, Any]) -> ToolDefinition:
    schema = entry.get("input_schema")
    given = {} if schema is None else {"input_schema": schema}
    metadata = own_of(FORMAT, entry, frozenset(("name", "description", "input_schema")))
    return ToolDefinition(text_at(entry, "name"), entry.get("description") or "", metadata=metadata, **given)


def _read_tool_choice(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    """Take the choice out; what else is said with it stays in ``extra``, and a tool named like a choice all of it."""
    choice = extra.get("tool_choice")
    if not isinstance(choice, Mapping):
        return
    kind, name = choice.get("type"), choice.get("name")
    known = {"type"}
    for ours, theirs in CHOICES.items():
        if kind == theirs:
            fields["tool_choice"] = ours
    if kind == "tool" and isinstance(name, str) and name not in CHOICES:
        fields["tool_choice"] = name
        known = {"type", "name"}
    if "tool_choice" in fields:
        leave(extra, "tool_choice", {key: item for key, item in choice.items() if key not in known})


def _read_format(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    config = extra.get("output_config")
    form = config.get("format") if isinstance(config, Mapping) else None
    if isinstance(config, Mapping) and isinstance(form, Mapping) and form.get("type") == "json_schema":
        schema = form.get("schema")
        if isinstance(schema, Mapping) and form.keys() == {"type", "schema"}:
            fields["output_schema"] = schema
            leave(extra, "output_config", {key: item for key, item in config.items() if key != "format"})
