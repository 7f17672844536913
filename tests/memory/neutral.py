"""Read the messages of recorded cases, in the neutral forms of the oracle files."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from promptkit.content import Media, Text
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)


def message(case: dict[str, Any]) -> BuiltinMessage:
    """Make a message of a case's form: Spring's cases and the bug reports write alike, but for tools."""
    text, metadata = case.get("text"), _metadata(case)
    match case["role"]:
        case "system":
            return SystemMessage(text or "", metadata=metadata)
        case "user":
            parts = [Media(b64decode(part["base64"]), part["mime"]) for part in case.get("parts", ())]
            return UserMessage([Text(text or ""), *parts], metadata=metadata)
        case "assistant":
            return AssistantMessage(text, tool_calls=[*map(_call, _calls(case))], metadata=metadata)
        case "tool":
            return ToolResponseMessage([*map(_response, case.get("responses", [case]))], metadata=metadata)
    raise AssertionError(case)


def _calls(case: dict[str, Any]) -> list[dict[str, Any]]:
    return case.get("tool_calls") or case.get("calls") or []


def _metadata(case: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(case.get("metadata", {}))
    if "usage" in case:
        metadata["usage"] = case["usage"]
    for key in [key for key in metadata if key.endswith("_hex")]:
        metadata[key.removesuffix("_hex")] = [bytes.fromhex(item) for item in metadata.pop(key)]
    return metadata


def _call(case: dict[str, Any]) -> ToolCall:
    return ToolCall(case["id"], case["name"], arguments=case.get("arguments", case.get("args", {})))


def _response(case: dict[str, Any]) -> ToolResponse:
    payload = bytes.fromhex(case["payload_hex"]) if "payload_hex" in case else None
    return ToolResponse(
        case.get("id", case.get("for")),
        case.get("name"),
        content=case.get("data", case.get("text")) or "",
        status=case.get("status", "success"),
        artifact=payload,
    )
