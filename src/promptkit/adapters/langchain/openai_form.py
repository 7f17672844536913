"""Write messages as OpenAI's Chat Completions takes them, as LangChain does it.

`promptkit.adapters.openai` is the whole wire format with its losses; this is the function that LangChain programs call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, NoReturn, cast, overload

from attrs import define, field

from promptkit._frozen import shown, thaw
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.convert import MessageLike, convert_to_messages
from promptkit.adapters.langchain.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from promptkit.adapters.langchain.prompt_values import PromptValue
from promptkit.errors import AdapterError

__all__ = ["convert_to_openai_messages", "openai_role"]

_ROLES: Mapping[type[BaseMessage], str] = {
    AIMessage: "assistant",
    HumanMessage: "user",
    ToolMessage: "tool",
    FunctionMessage: "function",
}


def openai_role(message: BaseMessage) -> str:
    """Give OpenAI's word for who speaks; a system message may say that it is the developer's.

    Raises:
        AdapterError: Nobody speaks: the message only removes another one.
    """
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("__openai_role__", "system"))
    if isinstance(message, ChatMessage):
        return message.role
    for kind, role in _ROLES.items():
        if isinstance(message, kind):
            return role
    raise AdapterError(f"{type(message).__name__} has no role in OpenAI's form: nobody says it", format="openai")


@overload
def convert_to_openai_messages(  # type: ignore[overload-overlap]  # a str is a sequence too
    messages: BaseMessage | Mapping[str, Any] | str,
    *,
    text_format: Literal["string", "block"] = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> dict[str, Any]: ...
@overload
def convert_to_openai_messages(
    messages: PromptValue | Sequence[MessageLike],
    *,
    text_format: Literal["string", "block"] = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> list[dict[str, Any]]: ...
def convert_to_openai_messages(
    messages: Any,
    *,
    text_format: Literal["string", "block"] = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> dict[str, Any] | list[dict[str, Any]]:
    """Write messages as OpenAI's Chat Completions takes them: one message as a dict, several as a list.

    Results of tools among the content become messages of their own, where providers want them: in front of what a
    person says, behind what the model says. Calls among it, and calls whose arguments are broken, stand among the tool
    calls.

    Args:
        text_format: Whether text alone is a ``string``, its blocks joined by newlines, or a list of ``block``.
        include_id: Whether a message's id is written.
        pass_through_unknown_blocks: Whether a block that no rule knows is written as it is, or refused.

    Raises:
        AdapterError: OpenAI's form cannot say something; every place is named.

    >>> convert_to_openai_messages(HumanMessage(["Look:", {"type": "image", "url": "https://example.org/cat.png"}]))
    {'role': 'user', 'content': [{'type': 'text', 'text': 'Look:'}, {'type': 'image_url', 'image_url': {'url': 'https://example.org/cat.png'}}]}
    """
    if text_format not in ("string", "block"):
        raise AdapterError(f"text_format must be 'string' or 'block', not {shown(text_format)}", format="openai")
    single = isinstance(messages, (BaseMessage, Mapping, str))
    writer = _Writer(text_format == "string", include_id, pass_through_unknown_blocks)
    for index, message in enumerate(convert_to_messages([messages] if single else messages)):
        writer.write(message, index)
    if writer.problems:
        raise AdapterError("; ".join(writer.problems), format="openai")
    if not single:
        return writer.bodies
    if len(writer.bodies) > 1:
        raise AdapterError("the message becomes several in OpenAI's form: put it in a list", format="openai")
    return writer.bodies[0]


@define
class _Writer:
    """Write one message after the other."""

    as_text: bool
    include_id: bool
    pass_through: bool
    bodies: list[dict[str, Any]] = field(factory=list)
    problems: list[str] = field(factory=list)
    called: set[Any] = field(factory=set)
    encode: Callable[[Any], str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        import json

        self.encode = json.JSONEncoder(ensure_ascii=False).encode

    def write(self, message: BaseMessage, index: int) -> None:
        body: dict[str, Any] = {"role": _ROLES.get(type(message)) or openai_role(message)}
        if message.name:
            body["name"] = message.name
        if isinstance(message, AIMessage):
            if message.tool_calls or message.invalid_tool_calls:
                body["tool_calls"] = self.calls(message)
        elif isinstance(message, ToolMessage):
            body["tool_call_id"] = message.tool_call_id
        if message.additional_kwargs and message.additional_kwargs.get("refusal"):
            body["refusal"] = message.additional_kwargs["refusal"]
        if self.include_id and message.id:
            body["id"] = message.id
        content = message.content
        if type(content) is not str:
            self.write_blocks(cast("Sequence[Any]", content), body, index)
            return
        body["content"] = content if self.as_text else [_text(content)] if content else []
        self.bodies.append(body)

    def calls(self, message: AIMessage) -> list[dict[str, Any]]:
        """Write the calls; one whose arguments are broken has a result that must find it."""
        arguments = self.arguments
        whole = [
            {
                "type": "function",
                "id": call["id"],
                "function": {"name": call["name"], "arguments": arguments(call["args"])},
            }
            for call in message.tool_calls
        ]
        if not message.invalid_tool_calls:
            return whole
        broken = [call for call in message.invalid_tool_calls if call["name"]]
        return [*whole, *(_call(call["id"], str(call["name"]), call["args"] or "") for call in broken)]

    def arguments(self, args: Mapping[str, Any]) -> str:
        """Encode an object; item by item, as the encoder is quick with texts and slow to start with anything else."""
        encode = self.encode
        items = [f"{encode(key)}: {item if type(item) is int else encode(item)}" for key, item in args.items()]
        return f"{{{', '.join(items)}}}"

    def write_blocks(self, content: Sequence[Any], body: dict[str, Any], index: int) -> None:
        parts: list[dict[str, Any]] = []
        before = len(self.bodies)
        if body["role"] == "assistant":  # the one role that calls; a result among its content has another
            self.called = {call["id"] for call in body.get("tool_calls", ())}
        for at, item in enumerate(content):
            try:
                part = _text(item) if isinstance(item, str) else self.part(item, body, index)
            except AdapterError as error:
                self.problems.append(f"messages[{index}].content[{at}]: {error}")
                continue
            if part is not None:
                parts.append(part)
        if len(self.bodies) > before and not parts and "tool_calls" not in body:
            return
        as_text = self.as_text and all(part["type"] == "text" for part in parts)
        body["content"] = "\n".join([part["text"] for part in parts]) if as_text else parts
        # Results answer the call of the message before, or one of this message.
        self.bodies.insert(before if body["role"] == "assistant" else len(self.bodies), body)

    def part(self, block: Mapping[str, Any], body: dict[str, Any], index: int) -> dict[str, Any] | None:
        """Write one block; calls and results go elsewhere and give none."""
        kind = block.get("type")
        if kind in _CALL_KEYS:
            self.add_call(block, body)
            return None
        if kind == "tool_result":
            result, call_id = _needed(block, "content", "tool_use_id")
            self.write(ToolMessage(result, tool_call_id=call_id), index)
            return None
        if kind == "refusal":
            return {"type": kind, "refusal": block["refusal"]} if block.get("refusal") else None
        write = _PARTS.get(str(kind)) or next(
            (_PARTS[key] for key in ("image", "json", "guard_content") if key in block), None
        )
        found = write(block) if write else None
        if found is None:
            if not self.pass_through and kind not in ("thinking", "reasoning"):
                _refuse(block, "is no block of OpenAI, Anthropic, Bedrock or Google")
            found = thaw(block)
        if "json" not in found or write is not _json:
            return found
        try:
            return _text(self.encode(found["json"]))
        except TypeError:
            _refuse(block, "holds bytes, which no JSON can")

    def add_call(self, block: Mapping[str, Any], body: dict[str, Any]) -> None:
        """Put a call among the content to the tool calls, unless it is there."""
        if body["role"] != "assistant":
            _refuse(block, "is a tool call, and only an assistant calls tools")
        call_id, name, args = _needed(block, *_CALL_KEYS[block["type"]])
        if (
            not isinstance(name, str)
            or not isinstance(call_id, (str, NoneType))
            or not isinstance(args, (str, Mapping))
        ):
            _refuse(block, "is no tool call: id and name must be str, and arguments a mapping or JSON")
        calls = body.setdefault("tool_calls", [])
        if call_id not in self.called:
            self.called.add(call_id)
            calls.append(_call(call_id, name, args if isinstance(args, str) else self.arguments(args)))


_CALL_KEYS = {
    "tool_use": ("id", "name", "input"),
    "tool_call": ("id", "name", "args"),
    "function_call": ("call_id", "name", "arguments"),
}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(call_id: str | None, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function", "id": call_id, "function": {"name": name, "arguments": arguments}}


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _refuse(block: Any, problem: str) -> NoReturn:
    raise AdapterError(f"the block {shown(block)} {problem}")


def _needed(block: Mapping[str, Any], *keys: str) -> list[Any]:
    missing = [repr(key) for key in keys if key not in block]
    if missing:
        _refuse(block, f"lacks {' and '.join(missing)}")
    return [block[key] for key in keys]


def _str(block: Mapping[str, Any], key: str) -> str:
    (value,) = _needed(block, key)
    if not isinstance(value, str):
        _refuse(block, f"has a {key} that is no str")
    return value


def _text_part(block: Mapping[str, Any]) -> dict[str, Any]:
    return _text(_str(block, "text"))


def _image_url_part(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "image_url", "image_url": thaw(_needed(block, "image_url")[0])}


def _data(block: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Give the form and the data of a standard block, or of one of LangChain's first version."""
    source = block.get("source_type")
    places = {"base64": "data" if source else "base64", "url": "url", "id": "id" if source else "file_id"}
    wanted = [source] if source else ["url", "base64", "id"]
    return next(((form, block[places[form]]) for form in wanted if form in places and places[form] in block), None)


def _image_part(block: Mapping[str, Any]) -> dict[str, Any]:
    found, source, image = _data(block), block.get("source"), block.get("image")
    if found is not None and found[0] == "url":
        return _image(found[1])
    if found is not None and found[0] == "base64":
        return _image(f"data:{_needed(block, 'mime_type')[0]};base64,{found[1]}")
    if isinstance(source, Mapping):
        kind, media_type, data = _needed(source, "type", "media_type", "data")
        return _image(f"data:{media_type};{kind},{data}")
    if isinstance(image, Mapping):
        source, form = _needed(image, "source", "format")
        return _image(f"data:image/{form};base64,{_base64(source.get('bytes'), block)}")
    _refuse(block, "has no image that OpenAI takes: a URL, base64 data, or a 'source'")


def _base64(data: object, block: Any) -> str:
    from base64 import b64encode

    if not isinstance(data, bytes):
        _refuse(block, "must hold bytes")
    return b64encode(data).decode("ascii")


def _file_part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    found, own = _data(block), block.get("file")
    if found is None and "url" not in block:
        return _own_file(block, own) if isinstance(own, Mapping) and isinstance(own.get("file_data"), str) else None
    form, data = found or ("url", "")
    if form == "url":
        _refuse(block, "is a file given by URL, which OpenAI's Chat Completions does not take")
    if form == "id":
        return {"type": "file", "file": {"file_id": data}}
    notes = [block, *(found for key in ("extras", "metadata") if isinstance(found := block.get(key), Mapping))]
    name = next((note["filename"] for note in notes if note.get("filename")), _NO_NAME)
    file_data = f"data:{_needed(block, 'mime_type')[0]};base64,{data}"
    return {"type": "file", "file": {"file_data": file_data, "filename": name}}


_NO_NAME = "LC_AUTOGENERATED"
"""LangChain's name for data that has none: OpenAI wants one."""


def _own_file(block: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = thaw(block)
    if own.get("filename") is None:
        named["file"]["filename"] = _NO_NAME
    return named


def _audio_part(block: Mapping[str, Any]) -> dict[str, Any]:
    found = _data(block)
    if found is None or found[0] != "base64":
        _refuse(block, "is audio without base64 data, which is all that OpenAI takes")
    kind = str(_needed(block, "mime_type")[0]).rpartition("/")[2]
    return {"type": "input_audio", "input_audio": {"data": found[1], "format": kind}}


def _own_audio(block: Mapping[str, Any]) -> dict[str, Any] | None:
    return thaw(block) if "input_audio" in block else None


def _no_part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    if _data(block) is None and "text" not in block:
        return None
    _refuse(block, "is of a type that OpenAI does not take")


def _json(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"json": _needed(block, "json")[0]}


def _guard_part(block: Mapping[str, Any]) -> dict[str, Any]:
    (guard,) = _needed(block, "guard_content")
    (text,) = _needed(guard, "text") if isinstance(guard, Mapping) else [guard]
    return _text(_str(text, "text") if isinstance(text, Mapping) else _str({"text": text}, "text"))


def _media_part(block: Mapping[str, Any]) -> dict[str, Any]:
    mime_type, (data,) = _str(block, "mime_type"), _needed(block, "data")
    if "image" not in mime_type:
        _refuse(block, "is no image, and OpenAI takes only text and images in this form")
    return _image(f"data:{mime_type};base64,{_base64(data, block)}")


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
    "text": _text_part,
    "image_url": _image_url_part,
    "image": _image_part,
    "file": _file_part,
    "audio": _audio_part,
    "input_audio": _own_audio,
    "video": _no_part,
    "text-plain": _no_part,
    "json": _json,
    "guard_content": _guard_part,
    "media": _media_part,
}
