"""Read LangChain's messages as messages of promptkit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptkit._frozen import EMPTY, FrozenDict
from promptkit.adapters.base import Loss, Losses
from promptkit.adapters.langchain._writing import EMPTY_PARTS, FACTS, allowed_notes
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.messages import AIMessage, ChatMessage, FunctionMessage, SystemMessage, ToolMessage
from promptkit.adapters.langchain.notes import Notes, pack
from promptkit.adapters.langchain.parts import from_content
from promptkit.content import Opaque, Part
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    InvalidToolCall,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.messages import SystemMessage as OurSystemMessage

__all__ = ["read_message", "read_results"]


def read_message(message: BaseMessage, path: str, losses: Losses) -> BuiltinMessage:
    """Read a message that is no result of a tool."""
    notes = Notes(message.response_metadata, additional_kwargs=message.additional_kwargs)
    common: dict[str, Any] = {"name": message.name, "id": message.id}
    if isinstance(message, SystemMessage):
        return OurSystemMessage(from_content(message.content), metadata=pack(notes), **common)
    if isinstance(message, AIMessage):
        return _assistant(message, notes, path, losses)
    if isinstance(message, ChatMessage):
        notes = notes.mutate(role=message.role)
    metadata = pack(notes, allowed_notes("user"))
    return UserMessage(from_content(message.content), metadata=metadata, **common)


def _assistant(message: AIMessage, notes: Notes, path: str, losses: Losses) -> AssistantMessage:
    notes = notes.mutate(usage_metadata=message.usage_metadata)
    calls: list[ToolCall] = []
    invalid = [_invalid_call(call) for call in message.invalid_tool_calls]
    for index, call in enumerate(message.tool_calls):
        if call["name"]:
            metadata = _metadata(call)
            calls.append(ToolCall(call["id"], call["name"], arguments=call["args"], metadata=metadata))
        else:
            losses.append(
                Loss(f"{path}.tool_calls[{index}]", "tool_calls", "a call without a name cannot be carried out")
            )
            text = ToolCall(None, "x", arguments=call["args"]).arguments
            invalid.append(InvalidToolCall(call["id"], call["name"], arguments=text, metadata=_metadata(call)))
    content = _without_calls(from_content(message.content), calls, [call.id for call in invalid])
    return AssistantMessage(
        _assistant_content(message.content, content, has_calls=bool(calls or invalid)),
        tool_calls=calls,
        invalid_tool_calls=invalid,
        metadata=pack(notes, allowed_notes("assistant")),
        name=message.name,
        id=message.id,
    )


def _metadata(call: Mapping[str, Any]) -> Mapping[str, Any]:
    rest = {key: value for key, value in call.items() if key not in ("name", "args", "id", "type", "error")}
    inner = rest.get(FACTS)
    return inner if isinstance(inner, Mapping) and len(rest) == 1 else rest


def _invalid_call(call: Mapping[str, Any]) -> InvalidToolCall:
    metadata = _metadata(call)
    return InvalidToolCall(call["id"], call["name"], arguments=call["args"], error=call["error"], metadata=metadata)


def _assistant_content(written: Any, content: str | list[Part], *, has_calls: bool) -> Any:
    """Undo what the writer does to tell absent, empty and no parts apart."""
    if written == (EMPTY_PARTS,):
        return []
    if not content and isinstance(content, str):
        return None if has_calls else ""
    if not content and written == ():
        return [] if has_calls else None
    return content or (None if has_calls else [])


_CALL_FORMS = {"tool_call": ("id", "args"), "tool_use": ("id", "input"), "function_call": ("call_id", "arguments")}


def _without_calls(content: str | list[Part], calls: list[ToolCall], invalid: Sequence[str | None]) -> str | list[Part]:
    """Take calls out of the content; one that stands only there is added to the calls."""
    if isinstance(content, str):
        return content
    known = {call.id for call in calls} | set(invalid)
    rest: list[Part] = []
    for part in content:
        block = part.payload if isinstance(part, Opaque) else EMPTY
        id_key, args_key = _CALL_FORMS.get(block.get("type", ""), ("", ""))
        name, args = block.get("name"), block.get(args_key)
        if not isinstance(name, str) or not name or not isinstance(args, (Mapping, str)):
            rest.append(part)
        elif block.get(id_key) not in known:
            calls.append(ToolCall(block.get(id_key), name, arguments=args))
    return rest


def read_results(messages: Sequence[BaseMessage]) -> ToolResponseMessage:
    """Read results that follow each other as one message."""
    responses: list[ToolResponse] = []
    shared: Mapping[str, Any] = EMPTY
    for index, message in enumerate(messages):
        facts, kwargs = _facts(message, first=index == 0)
        shared = facts if index == 0 else shared
        response = _response(message, facts)
        notes = Notes(
            message.response_metadata,
            additional_kwargs=kwargs,
            is_function=isinstance(message, FunctionMessage),
            id=message.id if index else None,
        )
        kind = "later result" if index else "first result"
        responses.append(response.mutate(metadata=pack(notes, allowed_notes(kind, response))))
    return ToolResponseMessage(
        responses, metadata=shared.get("metadata", EMPTY), name=shared.get("name"), id=messages[0].id
    )


def _response(message: BaseMessage, facts: Mapping[str, Any]) -> ToolResponse:
    content = from_content(message.content)
    if not isinstance(message, ToolMessage):
        return ToolResponse(None, message.name, content=content)
    call_id = None if "no_id" in facts else message.tool_call_id
    return ToolResponse(call_id, message.name, content=content, status=message.status, artifact=message.artifact)


def _facts(message: BaseMessage, *, first: bool) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Give what the writer noted beside a result, and the other additional kwargs."""
    kwargs = message.additional_kwargs
    facts = kwargs.get(FACTS)
    if not isinstance(facts, FrozenDict) or not facts.keys() <= {"name", "metadata", "no_id"}:
        return EMPTY, kwargs
    no_id = isinstance(message, ToolMessage) and message.tool_call_id == "" and facts.get("no_id") is True
    shared = first and isinstance(facts.get("name", ""), str) and isinstance(facts.get("metadata", EMPTY), Mapping)
    if ("no_id" in facts and not no_id) or (facts.keys() - {"no_id"} and not shared):
        return EMPTY, kwargs
    return facts, {key: value for key, value in kwargs.items() if key != FACTS}
