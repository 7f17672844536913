"""Write messages of promptkit as LangChain's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from promptkit._frozen import FrozenDict
from promptkit.adapters.base import Loss, Losses
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from promptkit.adapters.langchain.notes import Notes, unpack
from promptkit.adapters.langchain.parts import to_content
from promptkit.content import Content
from promptkit.errors import ToolError
from promptkit.messages import AssistantMessage, BuiltinMessage, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.messages import SystemMessage as OurSystemMessage

__all__ = ["EMPTY_PARTS", "FACTS", "allowed_notes", "to_call", "write_message"]

FACTS = "promptkit"
"""The key in ``additional_kwargs`` of a result for what only promptkit has, and in a call for metadata in disguise."""

EMPTY_PARTS = FrozenDict({"type": "non_standard", "value": {"promptkit": "no parts"}})
"""The block that stands for content of no parts at all, which is neither no content nor empty text."""

CALL_KEYS = frozenset(("name", "args", "id", "type", "error"))


def write_message(message: BuiltinMessage, path: str, losses: Losses, *, joins: bool) -> list[BaseMessage]:
    """Write one message; every result of a tool becomes a message of its own.

    Args:
        message: The message.
        path: Where it stands, for the losses.
        losses: Where losses go.
        joins: Whether it follows a message of results, and so will be read as part of that.
    """
    if isinstance(message, OurSystemMessage):
        return [SystemMessage(to_content(message.content), **_common(message, unpack(message.metadata)))]
    if isinstance(message, UserMessage):
        notes = unpack(message.metadata, allowed_notes("user"))
        content, common = to_content(message.content), _common(message, notes)
        return [
            HumanMessage(content, **common) if notes.role is None else ChatMessage(content, role=notes.role, **common)
        ]
    if isinstance(message, AssistantMessage):
        return [_assistant(message, path, losses)]
    if isinstance(message, ToolResponseMessage):
        return _results(message, path, losses, joins=joins)
    assert_never(message)


def allowed_notes(kind: str, response: ToolResponse | None = None) -> frozenset[str]:
    """Say what notes the metadata of a message, or of a result, can hold beside the two mappings."""
    if kind in ("first result", "later result"):
        may_be_function = response is not None and (response.id, response.status, response.artifact) == (
            None,
            "success",
            None,
        )
        function = {"type"} if may_be_function and response is not None and response.name is not None else set()
        return frozenset(function | ({"id"} if kind == "later result" else set()))
    return {"user": frozenset(("role",)), "assistant": frozenset(("usage_metadata",))}.get(kind, frozenset())


def _common(message: Any, notes: Notes) -> dict[str, Any]:
    return {
        "additional_kwargs": notes.additional_kwargs,
        "response_metadata": notes.response_metadata,
        "name": message.name,
        "id": message.id,
    }


def _assistant(message: AssistantMessage, path: str, losses: Losses) -> AIMessage:
    notes = unpack(message.metadata, allowed_notes("assistant"))
    calls, invalid = [], []
    for index, call in enumerate(message.tool_calls):
        try:
            calls.append(to_call({"name": call.name, "args": call.parsed_arguments, "id": call.id}, call.metadata))
        except ToolError as error:
            why = f"LangChain holds arguments parsed: {error}"
            losses.append(Loss(f"{path}.tool_calls[{index}]", "tool_calls", why))
            invalid.append(to_call({"name": call.name, "args": call.arguments, "id": call.id}, call.metadata))
    for broken in message.invalid_tool_calls:
        form = {"name": broken.name, "args": broken.arguments, "id": broken.id, "error": broken.error}
        invalid.append(to_call(form, broken.metadata))
    return AIMessage(
        _assistant_content(message.content, has_calls=bool(calls or invalid)),
        tool_calls=calls,  # type: ignore[arg-type]
        invalid_tool_calls=invalid,  # type: ignore[arg-type]
        usage_metadata=notes.usage_metadata,  # type: ignore[arg-type]
        **_common(message, notes),
    )


def to_call(form: dict[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Write a call; its metadata become further keys, unless they would be taken for something else."""
    if metadata.keys() & CALL_KEYS or FACTS in metadata:
        return {**form, FACTS: metadata}
    return {**form, **metadata}


def _assistant_content(content: Content | None, *, has_calls: bool) -> Any:
    """Write content so that none, an empty text and no parts stay three things."""
    if content is None:
        return "" if has_calls else []
    if content == "":
        return [""] if has_calls else ""
    if content == ():
        return [] if has_calls else [EMPTY_PARTS]
    return to_content(content)


def _results(message: ToolResponseMessage, path: str, losses: Losses, *, joins: bool) -> list[BaseMessage]:
    shared = {"name": message.name, "metadata": message.metadata or None}
    facts: dict[str, Any] = {key: value for key, value in shared.items() if value is not None}
    if joins:
        losses.append(Loss(path, "spelling", "two messages of results that follow each other are read as one"))
        losses.extend(Loss(f"{path}.{key}", "metadata", f"it is read as one, without its {key}") for key in facts)
        facts = {}
    written: list[BaseMessage] = []
    for index, response in enumerate(message.responses):
        first = index == 0
        notes = unpack(
            response.metadata, allowed_notes("later result" if joins or not first else "first result", response)
        )
        written.append(_result(response, notes, facts if first else {}, message.id if first else notes.id))
        if first and joins and notes.id is not None:
            losses.append(Loss(f"{path}.responses[0].metadata", "metadata", "the message's own id takes the place"))
    return written


def _result(response: ToolResponse, notes: Notes, facts: Mapping[str, Any], own_id: str | None) -> BaseMessage:
    content = to_content(response.content)
    if response.id is None and not notes.is_function:
        facts = {**facts, "no_id": True}
    more = notes.additional_kwargs | {FACTS: facts} if facts else notes.additional_kwargs
    common: dict[str, Any] = {"additional_kwargs": more, "response_metadata": notes.response_metadata, "id": own_id}
    if notes.is_function:
        return FunctionMessage(content, name=response.name or "", **common)
    return ToolMessage(
        content,
        tool_call_id=response.id or "",
        name=response.name,
        artifact=response.artifact,
        status=response.status,
        **common,
    )
