"""Read the neutral messages of ``langchain_history.jsonl`` as messages of ours, and its counters and splitters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from promptkit import _json
from promptkit.content import Content, Media, Opaque, Part, Text
from promptkit.history import CounterLike
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    InvalidToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)

ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool", "function": "tool", "chat": "user"}
CLASSES: dict[str, type] = {
    "SystemMessage": SystemMessage,
    "HumanMessage": UserMessage,
    "AIMessage": AssistantMessage,
    "ToolMessage": ToolResponseMessage,
}


def base_type(kind: str) -> str:
    """Give the type of which a chunk is a piece."""
    short = kind.removesuffix("MessageChunk").lower()
    return kind if kind in ROLES else short


def kinds(value: Any) -> Any:
    """Translate roles and classes."""
    if isinstance(value, list):
        return [kinds(item) for item in value]
    if isinstance(value, dict):
        return CLASSES[value["$class"]]
    return ROLES.get(base_type(value), value) if isinstance(value, str) else value


def _part(block: str | dict[str, Any]) -> Part:
    if isinstance(block, str):
        return Text(block)
    if block["type"] == "text":
        return Text(block["text"], metadata={key: value for key, value in block.items() if key not in ("type", "text")})
    if block["type"] == "image_url":
        return Media(url=block["image_url"]["url"])
    return Opaque("langchain", block)


def _content(value: str | list[Any] | None) -> Content:
    return value if isinstance(value, str) else tuple(map(_part, value or ()))


def message(neutral: dict[str, Any]) -> BuiltinMessage:
    """Build one message."""
    data = neutral["data"]
    kind = base_type(neutral["type"])
    content = _content(data.get("content"))
    kept = {key: data[key] for key in ("additional_kwargs", "response_metadata", "usage_metadata") if data.get(key)}
    rest: dict[str, Any] = {"id": data.get("id"), "metadata": kept}
    if kind in ("tool", "function"):
        name = data.get("name")
        response = ToolResponse(data.get("tool_call_id"), name, content=content, status=data.get("status", "success"))
        return ToolResponseMessage(response, **rest)
    rest["name"] = data.get("name")
    if kind == "system":
        return SystemMessage(content, **rest)
    if kind == "ai":
        calls = [ToolCall(call["id"], call["name"], arguments=call["args"]) for call in data.get("tool_calls") or ()]
        invalid = [
            InvalidToolCall(call["id"], call["name"], arguments=call["args"], error=call["error"])
            for call in data.get("invalid_tool_calls") or ()
        ]
        return AssistantMessage(content, tool_calls=calls, invalid_tool_calls=invalid, **rest)
    if kind == "chat":
        rest["metadata"] = {**kept, "role": data["role"]}
    return UserMessage(content, **rest)


def messages(neutral: Sequence[Any]) -> list[Message]:
    """Build messages; a text or a pair is one too."""
    built: list[Message] = []
    for item in neutral:
        if isinstance(item, str):
            built.append(UserMessage(item))
        elif "$tuple" in item:
            role, text = item["$tuple"]
            built.append({"human": UserMessage, "ai": AssistantMessage, "system": SystemMessage}[role](text))
        else:
            built.append(message(item.get("$message", item)))
    return built


def contents(value: Message) -> Content:
    """Give what LangChain has as the content of a message."""
    if isinstance(value, ToolResponseMessage):
        return value.responses[0].content
    return value.content or ""


def text(value: Message) -> str:
    content = contents(value)
    return content if isinstance(content, str) else "".join(part.text for part in content if isinstance(part, Text))


def approximate(value: Message) -> int:
    """Count as LangChain's approximate counter does by default."""
    content = contents(value)
    chars, tokens = len(value.message_type), 0
    if isinstance(content, str):
        chars += len(content)
    else:
        for part in content:
            if isinstance(part, Media):
                tokens += 85
            else:
                chars += len(part.text if isinstance(part, Text) else repr(getattr(part, "payload", "")))
    if isinstance(value, AssistantMessage) and value.tool_calls and isinstance(content, str):
        calls = [
            {"name": call.name, "args": _json.loads(call.arguments), "id": call.id, "type": "tool_call"}
            for call in value.tool_calls
        ]
        chars += len(repr(calls))
    if isinstance(value, ToolResponseMessage):
        chars += len(value.responses[0].id or "") + len(value.responses[0].name or "")
    chars += len(getattr(value, "name", None) or "")
    return math.ceil(chars / 4) + tokens + 3


def _ten(value: Message) -> int:
    content = contents(value)
    return 10 if isinstance(content, str) else 6 + 4 * len(content)


COUNTERS: dict[str, CounterLike] = {
    "len": "messages",
    "approximate": approximate,
    "chars": lambda value: len(text(value)),
    "words": lambda value: len(text(value).split()),
    "chars_per_message": lambda value: len(text(value)),
    "ten": _ten,
}

SPLITTERS: dict[str | None, Callable[[str], list[str]] | None] = {
    None: None,
    "words": lambda value: re.findall(r"\S+\s*", value),
    "chars": list,
}
