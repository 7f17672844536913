"""Judge pairs of calls and results by a rule of its own: a result belongs to the nearest open call with its id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from promptkit.messages import AssistantMessage, Message, ToolResponseMessage


def broken(messages: Sequence[Message]) -> list[str]:
    """Give what is wrong: results without a call, calls without a result."""
    found: list[str] = []
    open_calls: Counter[str | None] = Counter()
    for index, message in enumerate(messages):
        if isinstance(message, ToolResponseMessage):
            for response in message.responses:
                if open_calls[response.id] > 0:
                    open_calls[response.id] -= 1
                else:
                    found.append(f"messages[{index}] answers {response.id!r}, which nobody called")
            continue
        found += [f"before messages[{index}] no result of {call_id!r}" for call_id in (+open_calls).elements()]
        open_calls.clear()
        if isinstance(message, AssistantMessage):
            open_calls.update(call.id for call in message.tool_calls)
            open_calls.update(call.id for call in message.invalid_tool_calls)
    return found + [f"no result of {call_id!r}" for call_id in (+open_calls).elements()]
