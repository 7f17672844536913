"""Hold bodies against the types of the vendors' SDKs: every key is one that they know, every value is as they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from anthropic.types.message_create_params import MessageCreateParams
from google.genai import types
from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses.response_create_params import ResponseCreateParams
from pydantic import BaseModel, TypeAdapter

from promptkit.messages import AssistantMessage
from promptkit.prompt import Prompt
from tests.adapters.gemini_bodies import standard

_OPENAI: TypeAdapter[Any] = TypeAdapter(CompletionCreateParams)
_RESPONSES: TypeAdapter[Any] = TypeAdapter(ResponseCreateParams)
_ANTHROPIC: TypeAdapter[Any] = TypeAdapter(MessageCreateParams)
_GEMINI: Mapping[str, type[BaseModel]] = {
    "contents": types.Content,
    "tools": types.Tool,
    "safetySettings": types.SafetySetting,
    "systemInstruction": types.Content,
    "generationConfig": types.GenerationConfig,
    "toolConfig": types.ToolConfig,
}
SAMPLING = {"temperature", "top_p", "top_k"}
"""What older models of Anthropic take still, and the types left out with 1.0."""


def _walk(value: Any) -> Any:
    """Read lazily validated iterables to their end."""
    if isinstance(value, BaseModel):
        return _walk(value.model_dump(exclude_unset=True))
    if isinstance(value, dict):
        return {key: _walk(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else [_walk(item) for item in value]


def _judge(adapter: TypeAdapter[Any], body: dict[str, Any]) -> None:
    assert _walk(adapter.validate_python(body)) == body


def judge_openai(body: dict[str, Any]) -> None:
    """Judge a body of Chat Completions."""
    _judge(_OPENAI, {"model": "m", **body})


def judge_responses(body: dict[str, Any]) -> None:
    """Judge a body of Responses."""
    _judge(_RESPONSES, body)


def judge_anthropic(body: dict[str, Any]) -> None:
    """Judge a body of Messages."""
    _judge(_ANTHROPIC, {"model": "m"} | {key: value for key, value in body.items() if key not in SAMPLING})


def judge_gemini(body: dict[str, Any]) -> None:
    """Judge a body of generateContent; ``model`` and ``cachedContent`` are no fields of the SDK's models."""
    body = dict(body)
    assert isinstance(body.pop("model", ""), str)
    assert isinstance(body.pop("cachedContent", ""), str)
    for key, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            read = _GEMINI[key].model_validate_json(json.dumps(item))
            assert _spelled(json.loads(read.model_dump_json(by_alias=True, exclude_unset=True))) == _spelled(item)


def _spelled(value: Any, key: str = "") -> Any:
    """Read bytes, which the SDK spells in the other alphabet of base64."""
    if isinstance(value, dict):
        return {name: _spelled(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    return standard(value) if key in ("data", "thoughtSignature") and isinstance(value, str) else value


JUDGES: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "openai": judge_openai,
    "openai_responses": judge_responses,
    "anthropic": judge_anthropic,
    "gemini": judge_gemini,
}


def spelled_alike(prompt: Prompt) -> Prompt:
    """Spell the arguments of all calls alike: how JSON is spelled is no loss."""
    messages = [
        message.mutate(tool_calls=[call.mutate(arguments=dict(call.parsed_arguments)) for call in message.tool_calls])
        if isinstance(message, AssistantMessage)
        else message
        for message in prompt.messages
    ]
    return Prompt(messages, prompt.options)
