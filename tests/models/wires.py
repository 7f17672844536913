"""Speak each vendor's format as its server does: one whole answer, one stream, one error; models that read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from promptkit.models.anthropic import AnthropicChatModel
from promptkit.models.gemini import GeminiChatModel
from promptkit.models.openai import OpenAIChatModel, OpenAIResponsesChatModel
from promptkit.options import ChatOptions

KEY = "sk-scripted-0123456789abcdef"
PIECES = ("Grüße ", "世界 ", "🙂!")
TEXT = "".join(PIECES)


@frozen
class Wire:
    """Hold how a vendor says things.

    Args:
        model: Makes a model for a server.
        answer: The JSON of a whole answer that says a text.
        events: The JSON of the events of a stream that says pieces, without what ends it.
        end: The JSON of the events that end it.
        event: Writes an event.
        error: The JSON of an error with a message.
        request_id: The header that carries the id of a request.
        has_mark: Whether the last event of a stream says nothing but that it has ended.
        takes_comments: Whether the SDK passes over comments in a stream.
    """

    model: Callable[..., Any]
    answer: Callable[[str], Any]
    events: Callable[[Sequence[str]], list[Any]]
    end: Callable[[], list[Any]]
    event: Callable[[Any], bytes]
    error: Callable[[str], Any]
    request_id: str
    has_mark: bool = True
    takes_comments: bool = True

    def stream(self, pieces: Sequence[str] = PIECES) -> list[bytes]:
        return [self.event(event) for event in [*self.events(pieces), *self.end()]]


def _data(event: Any) -> bytes:
    return f"data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _named(event: Any) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)


def _chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _making(kind: Any, path: str = "", **settings: Any) -> Callable[..., Any]:
    """Give what makes a model for a server; it asks once."""

    def make(server: str, **given: Any) -> Any:
        return kind(**{"base_url": server + path, "api_key": KEY, "max_retries": 0} | settings | given)

    return make


OPENAI = Wire(
    model=_making(OpenAIChatModel, "/v1"),
    answer=lambda text: {
        "id": "r",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
    events=lambda pieces: [_chunk({"role": "assistant", "content": ""}), *(_chunk({"content": p}) for p in pieces)],
    end=lambda: [
        _chunk({}, "stop"),
        {
            "id": "r",
            "model": "m",
            "choices": [],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        },
        "[DONE]",
    ],
    event=_data,
    error=lambda message: {"error": {"message": message, "type": "some_error", "code": None}},
    request_id="x-request-id",
)

ANTHROPIC = Wire(
    model=_making(AnthropicChatModel),
    answer=lambda text: {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    events=lambda pieces: [
        {
            "type": "message_start",
            "message": {"id": "r", "model": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 0}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ),
    ],
    end=lambda: [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ],
    event=_named,
    error=lambda message: {"type": "error", "error": {"type": "some_error", "message": message}},
    request_id="request-id",
)


def _candidate(text: str | None, **rest: Any) -> dict[str, Any]:
    content = {} if text is None else {"content": {"role": "model", "parts": [{"text": text}]}}
    return {"candidates": [{"index": 0, **content, **rest}], "modelVersion": "m", "responseId": "r"}


_GEMINI_USAGE = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}}

GEMINI = Wire(
    model=_making(GeminiChatModel, options=ChatOptions(model="m")),
    answer=lambda text: _candidate(text, finishReason="STOP") | _GEMINI_USAGE,
    events=lambda pieces: [_candidate(piece) for piece in pieces],
    end=lambda: [_candidate(None, finishReason="STOP") | _GEMINI_USAGE],
    event=_data,
    error=lambda message: {"error": {"code": 1, "message": message, "status": "SOME_ERROR"}},
    request_id="x-request-id",
    has_mark=False,
    takes_comments=False,
)


def _response(text: str | None, status: str) -> dict[str, Any]:
    said: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    said |= {"content": [{"type": "output_text", "text": text, "annotations": []}]}
    output = [] if text is None else [said]
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    return {"id": "r", "object": "response", "model": "m", "status": status, "output": output, "usage": usage}


def _delta(piece: str) -> dict[str, Any]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return {"type": "response.output_text.delta", "delta": piece, **place}


RESPONSES = Wire(
    model=_making(OpenAIResponsesChatModel, "/v1"),
    answer=lambda text: _response(text, "completed"),
    events=lambda pieces: [
        {"type": "response.created", "response": _response(None, "in_progress")},
        *map(_delta, pieces),
    ],
    end=lambda: [{"type": "response.completed", "response": _response(None, "completed")}],
    event=_named,
    error=lambda message: {"type": "error", "error": {"type": "some_error", "message": message}},
    request_id="x-request-id",
    has_mark=False,
)

WIRES: Mapping[str, Wire] = {"openai": OPENAI, "responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}
