"""Show one prompt as the body of each vendor's request, and what each cannot take."""

from __future__ import annotations

import json

from promptkit import AssistantMessage, Prompt, SystemMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.adapters import anthropic, gemini, openai, openai_responses
from promptkit.content import Media, Text
from promptkit.options import ChatOptions, ToolDefinition

manual = Text("You keep the harbour's log.", metadata={"anthropic": {"cache_control": {"type": "ephemeral"}}})
prompt = Prompt(
    [
        SystemMessage([manual]),
        UserMessage(["Which ship is this, and is it due?", Media(url="https://example.org/ship.png")]),
        AssistantMessage("The Fram.", tool_calls=[ToolCall("c1", "due", arguments={"ship": "Fram"})]),
        ToolResponseMessage(ToolResponse("c1", "due", content="today")),
    ],
    ChatOptions(
        temperature=0,
        top_k=40,
        max_tokens=200,
        stop_sequences=["END"],
        tools=[ToolDefinition("due", "Tell when a ship is due.")],
        tool_choice="auto",
    ),
)

for vendor in (openai, openai_responses, anthropic, gemini):
    converted = vendor.to_request(prompt)
    print(f"== {vendor.__name__}\n{json.dumps(converted.body, indent=1)}")
    for loss in converted.losses:
        print(f"   lost: {loss}")
    print(f"   comes back whole: {vendor.from_request(converted.body) == prompt}\n")
