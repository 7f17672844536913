"""Write messages as the dicts that LangChain stores, and read them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptkit._frozen import EMPTY, shown, thaw
from promptkit.adapters.langchain.base import BaseMessage, Message, construct
from promptkit.adapters.langchain.calls import NOTHING, freeze_calls
from promptkit.adapters.langchain.chunks import (
    AIMessageChunk,
    ChatMessageChunk,
    FunctionMessageChunk,
    HumanMessageChunk,
    SystemMessageChunk,
    ToolMessageChunk,
)
from promptkit.adapters.langchain.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from promptkit.adapters.langchain.refusals import check_several, no_message, refused
from promptkit.errors import PromptError

__all__ = [
    "CLASSES",
    "message_from_data",
    "message_names",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
]

_new = object.__new__
_set = object.__setattr__

CLASSES: Mapping[str, type[BaseMessage]] = {
    kind.type: kind
    for kind in (
        *(SystemMessage, HumanMessage, AIMessage, ToolMessage, FunctionMessage, ChatMessage, RemoveMessage),
        *(SystemMessageChunk, HumanMessageChunk, AIMessageChunk, ToolMessageChunk, FunctionMessageChunk),
        ChatMessageChunk,
    )
}
"""Every message class by its ``type``."""

_COMMON = ("content", "additional_kwargs", "response_metadata", "name", "id")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "system": _COMMON,
    "human": _COMMON,
    "ai": (*_COMMON, "tool_calls", "invalid_tool_calls", "usage_metadata"),
    "tool": (*_COMMON, "tool_call_id", "artifact", "status"),
    "function": _COMMON,
    "chat": (*_COMMON, "role"),
    "remove": _COMMON,
    "AIMessageChunk": (
        *(*_COMMON, "tool_calls", "invalid_tool_calls", "usage_metadata"),
        *("tool_call_chunks", "chunk_position"),
    ),
}


def message_names(kind: type[BaseMessage]) -> tuple[str, ...]:
    """Give the names of a message class's fields, in LangChain's order."""
    return _FIELDS.get(kind.type) or _FIELDS[kind.kind]


def messages_to_dict(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Write messages in LangChain's stored form, ``{"type": …, "data": {…}}`` each.

    The dicts are yours to change. Bytes in a message stay bytes, which JSON cannot hold.

    Raises:
        AdapterError: Something is no message, or a single message stands where a list is meant.

    >>> messages_to_dict([HumanMessage("Hi")])[0]["data"]["content"]
    'Hi'
    """
    check_several(messages)
    written: list[dict[str, Any]] = []
    for message in messages:
        if not isinstance(message, BaseMessage):
            raise no_message(message, f"messages[{len(written)}]")
        written.append(_WRITERS[message.type](message))
    return written


def message_to_dict(message: BaseMessage) -> dict[str, Any]:
    """Write one message; see `messages_to_dict`."""
    if not isinstance(message, BaseMessage):
        raise no_message(message, "message")
    return _WRITERS[message.type](message)


# The common fields stand in three literals: calling a function for them would cost a fifth of the whole.


def _write_plain(message: Any) -> dict[str, Any]:
    kwargs, metadata = message.additional_kwargs, message.response_metadata
    data = {
        "content": content if type(content := message.content) is str else thaw(content),
        "additional_kwargs": thaw(kwargs) if kwargs else {},
        "response_metadata": thaw(metadata) if metadata else {},
        "type": message.type,
        "name": message.name,
        "id": message.id,
    }
    return {"type": message.type, "data": data}


def _write_ai(message: Any) -> dict[str, Any]:
    kwargs, metadata, calls = message.additional_kwargs, message.response_metadata, message.tool_calls
    invalid, usage = message.invalid_tool_calls, message.usage_metadata
    data = {
        "content": content if type(content := message.content) is str else thaw(content),
        "additional_kwargs": thaw(kwargs) if kwargs else {},
        "response_metadata": thaw(metadata) if metadata else {},
        "type": message.type,
        "name": message.name,
        "id": message.id,
        "tool_calls": [_thaw_call(call) for call in calls] if calls else [],
        "invalid_tool_calls": thaw(invalid) if invalid else [],
        "usage_metadata": None if usage is None else thaw(usage),
    }
    return {"type": message.type, "data": data}


def _thaw_call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {**call, "args": thaw(call["args"])} if len(call) == 4 else {key: thaw(call[key]) for key in call}


def _write_ai_chunk(message: Any) -> dict[str, Any]:
    row = _write_ai(message)
    row["data"]["tool_call_chunks"] = thaw(message.tool_call_chunks)
    row["data"]["chunk_position"] = message.chunk_position
    return row


def _write_tool(message: Any) -> dict[str, Any]:
    kwargs, metadata, artifact = message.additional_kwargs, message.response_metadata, message.artifact
    data = {
        "content": content if type(content := message.content) is str else thaw(content),
        "additional_kwargs": thaw(kwargs) if kwargs else {},
        "response_metadata": thaw(metadata) if metadata else {},
        "type": message.type,
        "name": message.name,
        "id": message.id,
        "tool_call_id": message.tool_call_id,
        "artifact": None if artifact is None else thaw(artifact),
        "status": message.status,
    }
    return {"type": message.type, "data": data}


def _write_chat(message: Any) -> dict[str, Any]:
    row = _write_plain(message)
    row["data"]["role"] = message.role
    return row


_WRITERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys(CLASSES, _write_plain),
    "ai": _write_ai,
    "AIMessageChunk": _write_ai_chunk,
    "tool": _write_tool,
    "ToolMessageChunk": _write_tool,
    "chat": _write_chat,
    "ChatMessageChunk": _write_chat,
}


def messages_from_dict(messages: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """Read messages from LangChain's stored form.

    Raises:
        AdapterError: A type is unknown, or a field is missing, wrong or unknown.

    >>> messages_from_dict([{"type": "human", "data": {"content": "Hi"}}])
    [HumanMessage('Hi')]
    """
    check_several(messages)
    found: list[BaseMessage] = []
    for message in messages:
        if type(message) is dict:
            kind, data = message.get("type"), message.get("data")
            read = _READERS.get(kind) if type(kind) is str else None
            if read is not None and type(data) is dict and (made := read(data)) is not None:
                found.append(made)
                continue
        path = f"messages[{len(found)}]"
        given = message.get("data") if isinstance(message, Mapping) else None
        if not isinstance(given, Mapping):
            raise refused(path, f"must be {{'type': …, 'data': {{…}}}}, not {shown(message)}")
        found.append(message_from_data(message.get("type"), given, path))
    return found


def message_from_data(kind: Any, data: Mapping[str, Any], path: str) -> BaseMessage:
    """Read one message of a type.

    Raises:
        AdapterError: The type is unknown, or a field is missing, wrong or unknown.
    """
    made = CLASSES.get(kind) if isinstance(kind, str) else None
    if made is None:
        raise refused(f"{path}.type", f"{shown(kind)} is none of {', '.join(CLASSES)}")
    fields = {key: value for key, value in data.items() if key != "type"}
    if fields.get("example") is False:  # a field of LangChain's first versions
        del fields["example"]
    try:
        return construct(made, fields)
    except PromptError as error:
        raise refused(f"{path}.data", str(error)) from None


# What `messages_to_dict` wrote is read without the constructors, in a third of their time. A reader gives None for
# whatever is not plainly right, and the constructor says what is wrong.


def _read_common(kind: type[Message], data: dict[str, Any], size: int) -> Message | None:
    try:
        content, name, message_id = data["content"], data["name"], data["id"]
        kwargs, metadata, _ = data["additional_kwargs"], data["response_metadata"], data["type"]
    except KeyError:
        return None
    if (
        len(data) != size
        or type(content) is not str
        or kwargs != {}
        or metadata != {}
        or (name is not None and type(name) is not str)
        or (message_id is not None and type(message_id) is not str)
    ):
        return None
    message = _new(kind)
    _set(message, "content", content)
    _set(message, "additional_kwargs", EMPTY)
    _set(message, "response_metadata", EMPTY)
    _set(message, "name", name)
    _set(message, "id", message_id)
    return message


def _read_system(data: dict[str, Any]) -> SystemMessage | None:
    return _read_common(SystemMessage, data, 6)


def _read_human(data: dict[str, Any]) -> HumanMessage | None:
    return _read_common(HumanMessage, data, 6)


def _read_ai(data: dict[str, Any]) -> AIMessage | None:
    message = _read_common(AIMessage, data, 9)
    if message is None or "usage_metadata" not in data:
        return None
    calls, invalid, usage = data.get("tool_calls"), data.get("invalid_tool_calls"), data["usage_metadata"]
    if type(calls) is not list or invalid != [] or usage is not None:
        return None
    try:
        _set(message, "tool_calls", freeze_calls(calls, "tool_calls") if calls else NOTHING)
    except PromptError:
        return None
    _set(message, "invalid_tool_calls", NOTHING)
    _set(message, "usage_metadata", None)
    return message


def _read_tool(data: dict[str, Any]) -> ToolMessage | None:
    message = _read_common(ToolMessage, data, 9)
    if message is None or "artifact" not in data or data["artifact"] is not None:
        return None
    call_id, status = data.get("tool_call_id"), data.get("status")
    if type(call_id) is not str or status not in ("success", "error"):
        return None
    _set(message, "tool_call_id", call_id)
    _set(message, "artifact", None)
    _set(message, "status", status)
    return message


_READERS: Mapping[str, Callable[[dict[str, Any]], BaseMessage | None]] = {
    "system": _read_system,
    "human": _read_human,
    "ai": _read_ai,
    "tool": _read_tool,
}
