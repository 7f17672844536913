"""Talk to a chat model the short way: a client with defaults, and advisors around its calls."""

from __future__ import annotations

from promptkit.client.answers import AsyncCallAnswer, AsyncStreamAnswer, CallAnswer, ResponseEntity, StreamAnswer
from promptkit.client.chat_client import ChatClient, ChatClientRequestSpec
from promptkit.client.request import ChatClientRequest

__all__ = [
    "AsyncCallAnswer",
    "AsyncStreamAnswer",
    "CallAnswer",
    "ChatClient",
    "ChatClientRequest",
    "ChatClientRequestSpec",
    "ResponseEntity",
    "StreamAnswer",
]
