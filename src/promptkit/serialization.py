"""Turn values into dicts that JSON can hold and back: lossless, versioned, damage named by its path.

    {"promptkit": 1, "type": "prompt", "messages": [{"type": "user", "content": "Hi"}], "options": {"temperature": 0}}

The number is the version of the schema: every older version can be read, a newer one is refused. ``type`` says what
stands there. Fields at their default are left out. Bytes inside metadata, artifacts and the like become
``{"$bytes": "<base64>"}``; a mapping of yours that looks so becomes ``{"$map": {…}}``, so that neither is taken for the
other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import attrs

from promptkit import _json
from promptkit._frozen import EMPTY, items_of, shown
from promptkit.content import Media, Opaque, Part, Reasoning, Text
from promptkit.errors import PromptError, SerializationError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
    as_builtin,
)
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, ToolCallChunk, Usage

__all__ = ["SCHEMA_VERSION", "Storable", "dumps", "from_dict", "loads", "to_dict"]

SCHEMA_VERSION = 1
"""The version that is written; every version from 1 on is read."""

Storable = Message | Iterable[Message] | Prompt | ChatResponse | ChatOptions | Usage | ChatChunk | Part
"""What can be stored: a message (of your own class too), messages in order, a prompt, a response, options, a usage, a
chunk of a stream, or a part."""


def to_dict(value: Storable) -> dict[str, Any]:
    """Turn a value into a dict of JSON values.

    A message of your own class is stored as ours of its role, see `as_builtin`; messages in order come back as a tuple.

    Raises:
        SerializationError: It cannot be stored; ``path`` says where.

    >>> to_dict(UserMessage("Hi", name="Ada"))
    {'promptkit': 1, 'type': 'user', 'content': 'Hi', 'name': 'Ada'}
    """
    return {"promptkit": SCHEMA_VERSION, **_written(value)}


def dumps(value: Storable) -> str:
    """Turn a value into JSON text; see `to_dict`. The text can be encoded, whatever characters the value holds.

    Raises:
        SerializationError: It cannot be stored; ``path`` says where.
    """
    data = to_dict(value)
    text = _json.dumps(data)
    if "\\ud" in text:
        _refuse_split_characters(data)
    return text


def from_dict(data: dict[str, Any]) -> Any:
    """Turn the dict of a value back into the value; annotate the result as what you stored.

    Raises:
        SerializationError: It is of a newer version, damaged or of an unknown type; ``path`` says where.

    >>> from_dict({"promptkit": 1, "type": "user", "content": "Hi"})
    UserMessage('Hi')
    """
    if not isinstance(data, dict):
        raise SerializationError(f"a stored value is an object with 'promptkit' and 'type', not {shown(data)}")
    version = data.get("promptkit")
    if type(version) is not int or version < 1:
        raise SerializationError(f"'promptkit' must be the version of the schema, not {shown(version)}")
    if version > SCHEMA_VERSION:
        raise SerializationError(
            f"it is written in version {shown(version)} of the schema and this promptkit reads up to {SCHEMA_VERSION}: "
            "update promptkit"
        )
    body = data.copy()
    del body["promptkit"]
    try:
        value = _TYPES.read(body)
    except RecursionError:
        raise SerializationError("the stored value nests too deep to be read") from None
    return value.messages if body["type"] == "messages" else value


def loads(text: str | bytes) -> Any:
    """Turn JSON text back into the value; see `from_dict`.

    Raises:
        SerializationError: It is not JSON, or `from_dict` cannot read it.

    >>> loads(dumps([UserMessage("Hi"), AssistantMessage("Hello")]))
    (UserMessage('Hi'), AssistantMessage('Hello'))
    """
    try:
        data = _json.loads(text)
    except ValueError as error:
        raise SerializationError(f"the stored text is not JSON: {error}") from None
    return from_dict(data)


class _Codec(NamedTuple):
    """Know how one field is written and read, where its value is not the JSON value itself."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    takes_str: bool = False
    """Whether a str is written and read as it is."""


class _Kind:
    """Know how one class is written and read: field by field, those at their default left out.

    Args:
        names: The fields that are stored, in order.
        codecs: Codecs of fields that `_CODECS` does not know by their name.
    """

    __slots__ = ("_defaults", "_get", "_names", "_reads", "_writes", "cls", "tag")

    def __init__(self, cls: type, tag: str, names: str, /, **codecs: _Codec) -> None:
        self.cls: Any = cls
        self.tag = tag
        self._names = names.split()
        found = {name: codec for name in self._names if (codec := codecs.get(name) or _CODECS.get(name))}
        self._reads = [(name, codec.read, codec.takes_str) for name, codec in found.items()]
        self._writes = {name: codec.write for name, codec in found.items()}
        self._get = attrgetter(*self._names)
        defaults = {field.name: field.default for field in attrs.fields(cls)}
        self._defaults = [defaults[name] for name in self._names]

    def write(self, value: Any) -> dict[str, Any]:
        return self._fill({"type": self.tag}, value)

    def write_untagged(self, value: Any) -> dict[str, Any]:
        return self._fill({}, value)

    def _fill(self, data: dict[str, Any], value: Any) -> dict[str, Any]:
        if type(value) is not self.cls:
            raise SerializationError(f"of your own classes only messages can be stored, not {shown(value)}")
        for name, item, default in zip(self._names, self._get(value), self._defaults, strict=True):
            if item is not default and item != default:
                write = self._writes.get(name)
                try:
                    data[name] = item if write is None else write(item)
                except SerializationError as error:
                    error.below(name)
                    raise
        return data

    def read_untagged(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise SerializationError(f"must be an object, not {shown(data)}")
        return self.build(data.copy())

    def build(self, fields: dict[str, Any]) -> Any:
        """Build the value; the dict is used up."""
        for name, read, takes_str in self._reads:
            if name in fields and not (takes_str and type(fields[name]) is str):
                try:
                    fields[name] = read(fields[name])
                except SerializationError as error:
                    error.below(name)
                    raise
        try:
            return self.cls(**fields)
        except (PromptError, TypeError) as error:
            raise self._damage(fields, error) from error

    def _damage(self, fields: dict[str, Any], error: Exception) -> SerializationError:
        """Name the field that is unknown or missing, or else the one that the constructor's message begins with."""
        if unknown := [name for name in fields if name not in self._names]:
            return SerializationError(f"has the unknown field {shown(unknown[0])}")
        for name, default in zip(self._names, self._defaults, strict=True):
            if name not in fields and default is attrs.NOTHING:
                return SerializationError("is missing", path=name)
        place = str(error).partition(" ")[0].removeprefix(f"{self.cls.__name__}.").rstrip(":")
        known = re.split(r"[.\[]", place)[0] in self._names
        return SerializationError(str(error), path=place if known else "")


class _Tagged:
    """Read what may be one of several kinds: its ``type`` decides."""

    __slots__ = ("_kinds", "_what")

    def __init__(self, what: str, kinds: Iterable[_Kind]) -> None:
        self._what = what
        self._kinds = {kind.tag: kind for kind in kinds}

    def read(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise SerializationError(f"must be an object, not {shown(data)}")
        fields = data.copy()
        tag = fields.pop("type", None)
        kind = self._kinds.get(tag) if type(tag) is str else None
        if kind is None:
            raise SerializationError(
                f"{self._what} of the unknown type {shown(tag)}; known are {', '.join(self._kinds)}"
            )
        return kind.build(fields)


def _write_content(content: Any) -> Any:
    return content if type(content) is str else _json.each(_write_part, content)


def _read_content(data: Any) -> Any:
    if data is None or isinstance(data, list | tuple):
        return None if data is None else tuple(_json.each(_PART.read, data))
    raise SerializationError(f"must be a text or a list of parts, not {shown(data)}")


def _read_arguments(data: Any) -> Any:
    if data is None or type(data) is str:
        return data
    raise SerializationError(f"must be a text, not {shown(data)}")


def _write_part(part: Any) -> dict[str, Any]:
    return _PARTS_BY_CLASS.get(type(part), _PARTS[0]).write(part)


def _write_message(message: Any) -> dict[str, Any]:
    """Write the most common shapes at once; the tables say the same of all shapes."""
    kind = _MESSAGES_BY_CLASS.get(type(message))
    if kind is None:
        try:
            return _write_message(as_builtin(message))
        except PromptError as error:
            raise SerializationError(str(error)) from error
    if message.metadata is EMPTY and message.name is None and message.id is None:
        content = message.content
        try:
            if kind is _TOOL:
                return {"type": "tool", "responses": [_write_response(one) for one in message.responses]}
            if type(content) is str and (
                kind is not _ASSISTANT or message.tool_calls == message.invalid_tool_calls == ()
            ):
                return {"type": kind.tag, "content": content}
            if content is None and message.tool_calls and not message.invalid_tool_calls:
                return {"type": "assistant", "tool_calls": [_write_call(call) for call in message.tool_calls]}
        except SerializationError:
            pass  # raised again below, with its place
    return kind.write(message)


def _write_call(call: ToolCall) -> dict[str, Any]:
    if call.metadata is not EMPTY or call.arguments == "{}" or type(call) is not ToolCall:
        return _CALL.write_untagged(call)
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _write_response(response: ToolResponse) -> dict[str, Any]:
    content = response.content
    plain = response.metadata is EMPTY and response.artifact is None and response.status == "success"
    if plain and content and type(content) is str and response.name is not None and type(response) is ToolResponse:
        return {"id": response.id, "name": response.name, "content": content}
    return _RESPONSE.write_untagged(response)


def _many(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> _Codec:
    def read_list(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list | tuple):
            raise SerializationError(f"must be a list, not {shown(data)}")
        return tuple(_json.each(read, data))

    return _Codec(lambda values: _json.each(write, values), read_list)


def _same(value: Any) -> Any:
    return value


_JSON = _Codec(_json.with_marks, _json.unmarked)
_CODECS = {
    **dict.fromkeys(("metadata", "artifact", "payload", "native", "extra", "input_schema", "output_schema"), _JSON),
    **dict.fromkeys(("generation_metadata", "message_metadata"), _JSON),
    "arguments": _Codec(_same, _read_arguments, takes_str=True),
    "content": _Codec(_write_content, _read_content, takes_str=True),
    "data": _Codec(_json.write_bytes, _json.read_bytes),
    "stop_sequences": _many(_same, _same),
}

_PARTS = (
    _Kind(Text, "text", "text metadata"),
    _Kind(Media, "media", "data mime_type url file_id name id metadata"),
    _Kind(Reasoning, "reasoning", "text metadata"),
    _Kind(Opaque, "opaque", "vendor payload metadata"),
)
_PARTS_BY_CLASS = {kind.cls: kind for kind in _PARTS}
_PART = _Tagged("a part", _PARTS)

_CALL = _Kind(ToolCall, "", "id name arguments metadata")
_INVALID_CALL = _Kind(InvalidToolCall, "", "id name arguments error metadata")
_RESPONSE = _Kind(ToolResponse, "", "id name content status artifact metadata")
_ASSISTANT = _Kind(
    AssistantMessage,
    "assistant",
    "content tool_calls invalid_tool_calls metadata name id",
    tool_calls=_many(_write_call, _CALL.read_untagged),
    invalid_tool_calls=_many(_INVALID_CALL.write_untagged, _INVALID_CALL.read_untagged),
)
_TOOL = _Kind(
    ToolResponseMessage,
    "tool",
    "responses metadata name id",
    responses=_many(_write_response, _RESPONSE.read_untagged),
)
_MESSAGES = (
    _Kind(SystemMessage, "system", "content metadata name id"),
    _Kind(UserMessage, "user", "content metadata name id"),
    _ASSISTANT,
    _TOOL,
)
_MESSAGES_BY_CLASS = {kind.cls: kind for kind in _MESSAGES}
_MESSAGE_LIST = _many(_write_message, _Tagged("a message", _MESSAGES).read)

_DEFINITION = _Kind(ToolDefinition, "", "name description input_schema metadata")
_OPTIONS = _Kind(
    ChatOptions,
    "options",
    "model temperature top_p top_k max_tokens stop_sequences frequency_penalty presence_penalty seed tools tool_choice"
    " output_schema extra removed",
    tools=_many(_DEFINITION.write_untagged, _DEFINITION.read_untagged),
    removed=_Codec(sorted, _many(_same, _same).read),
)
_USAGE = _Kind(
    Usage,
    "usage",
    "prompt_tokens completion_tokens total_tokens cache_read_tokens cache_write_tokens reasoning_tokens native",
)
_USAGE_FIELD = _Codec(_USAGE.write_untagged, _USAGE.read_untagged)
_GENERATION = _Kind(
    Generation,
    "",
    "output finish_reason metadata",
    output=_Codec(_write_message, _Tagged("a message", [_ASSISTANT]).read),
)
_CALL_CHUNK = _Kind(ToolCallChunk, "", "index id name arguments error metadata")
_PROMPT = _Kind(
    Prompt,
    "prompt",
    "messages options",
    messages=_MESSAGE_LIST,
    options=_Codec(_OPTIONS.write_untagged, _OPTIONS.read_untagged),
)
_OTHERS = (
    _PROMPT,
    _OPTIONS,
    _USAGE,
    _Kind(
        ChatResponse,
        "response",
        "results id model usage metadata",
        results=_many(_GENERATION.write_untagged, _GENERATION.read_untagged),
        usage=_USAGE_FIELD,
    ),
    _Kind(
        ChatChunk,
        "chunk",
        "content tool_calls finish_reason block choice id model usage usage_is_delta metadata generation_metadata"
        " message_metadata message_id name starts_over",
        tool_calls=_many(_CALL_CHUNK.write_untagged, _CALL_CHUNK.read_untagged),
        usage=_USAGE_FIELD,
    ),
)
_BY_CLASS = {kind.cls: kind for kind in (*_PARTS, *_OTHERS)}
_HISTORY = _Kind(Prompt, "messages", "messages options", messages=_MESSAGE_LIST)
_TYPES = _Tagged("a value", (*_MESSAGES, *_PARTS, *_OTHERS, _HISTORY))


def _written(value: Any) -> dict[str, Any]:
    kind = _BY_CLASS.get(type(value))
    if kind is not None:
        return kind.write(value)
    alone = isinstance(value, str | bytes | Mapping | Prompt) or hasattr(value, "message_type")
    if alone or not isinstance(value, Iterable):
        return _write_message(value)
    try:
        return {"type": "messages", "messages": _MESSAGE_LIST.write(items_of(value, "messages"))}
    except SerializationError as error:
        error.below("messages")
        raise
    except PromptError as error:
        raise SerializationError(str(error)) from error


def _refuse_split_characters(data: Any) -> None:
    if isinstance(data, str):
        if _PAIR.search(data):
            raise SerializationError("it holds a character as two surrogates, which JSON would join")
    elif isinstance(data, list):
        _json.each(_refuse_split_characters, data)
    elif isinstance(data, dict):
        for key, item in data.items():
            try:
                _refuse_split_characters(key)
                _refuse_split_characters(item)
            except SerializationError as error:
                error.below(key)
                raise


_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
