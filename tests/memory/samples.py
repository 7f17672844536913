"""Hold the ids and messages that every store must keep apart and give back."""

from __future__ import annotations

from promptkit import (
    AssistantMessage,
    InvalidToolCall,
    Media,
    Opaque,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.messages import BuiltinMessage

HOSTILE_IDS = (
    "a", "A", " a", "a ", "a\x00", "a\x00b", "a\nb", "a\r\nb", "x'; DROP TABLE messages;--", 'x"', "a/b", "../a",
    "a%2Fb", "%s", "?1", ":name", "{a}", "}{", "*", "é", "e\u0301", "а", "\u202ea", "\ufeffa", "🦄", "\ud83e", "\x00",
    "k" * 10_000, "k" * 9_999 + "K", "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(3_400)),
)  # fmt: skip
"""Ids that look alike, are long (the last is 10 kB that do not compress), or mean something to some store."""

KINDS: dict[str, BuiltinMessage] = {
    "system": SystemMessage("Be brief.", name="boss", id="s1"),
    "user": UserMessage("Hi", metadata={"cache": {"ttl": 5}, "raw": b"\xff\x00"}),
    "media": UserMessage(
        ["Look:", Media(b"\x89PNG\r\n\x1a\n", "image/png", name="cat.png"), Text("and", metadata={"cache": True}),
         Media(url="https://example.org/cat.png"), Media(file_id="file-1", mime_type="application/pdf")]
    ),
    "assistant": AssistantMessage([Reasoning("hm", metadata={"signature": "c2ln"}), Text("Hello")], id="a1"),
    "calls": AssistantMessage(
        tool_calls=[ToolCall("c1", "weather", arguments='{"city":  "Oslo"}'), ToolCall(None, "now")],
        invalid_tool_calls=[InvalidToolCall("c2", None, arguments='{"city": "Os', error="ends early")],
    ),
    "opaque": AssistantMessage([Opaque("anthropic", {"type": "server_tool_use", "n": 1})], metadata={"model": "m"}),
    "nothing": AssistantMessage(None),
    "empty": AssistantMessage(""),
    "results": ToolResponseMessage(
        [ToolResponse("c1", "weather", content="3 degrees", artifact={"celsius": 3, "raw": b"\x00"}),
         ToolResponse(None, None, content=["boom", Media(b"GIF89a", "image/gif")], status="error")]
    ),
    "text": UserMessage('xin chào Ω 你好 🙂 line1\nline2\t"q" \\ end \x00 \u2028 \ud83e None'),
    "markers": UserMessage("x", metadata={"lc": 1, "type": "secret", "id": ["HOME"], "$bytes": "AA==", "version": 99}),
}  # fmt: skip
