"""Make small histories, right and wrong, and judge their pairs by a rule of our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from promptkit.content import Content, Media, Reasoning, Text
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

_CONTENTS: SearchStrategy[Content] = st.sampled_from(
    (
        "", " ", "a", "some words\nin two lines", (), (Text("x", metadata={"k": 1}), Media(b"\x89PNG\r\n\x1a\n")),
        (Reasoning("hm"),), (Media(url="https://example.org/a.png"), Text("in two\nlines")),
    )
)  # fmt: skip
_IDS = st.sampled_from(("c1", "c2", None))
_NAMES = st.sampled_from((None, None, "bob"))
_CALLS = st.lists(st.builds(ToolCall, _IDS, st.just("f")), max_size=2)
_INVALID = st.lists(st.builds(InvalidToolCall, _IDS, st.just("f")), max_size=1)
_RESULTS = st.lists(st.builds(ToolResponse, _IDS, st.just("f"), content=_CONTENTS), min_size=1, max_size=2)


def histories(*, max_size: int = 12) -> SearchStrategy[list[BuiltinMessage]]:
    """Messages in any order; few ids, so that they meet."""
    message: SearchStrategy[BuiltinMessage] = st.one_of(
        st.builds(UserMessage, _CONTENTS, name=_NAMES),
        st.builds(AssistantMessage, st.none() | _CONTENTS, tool_calls=_CALLS),
        st.builds(AssistantMessage, _CONTENTS, tool_calls=_CALLS, invalid_tool_calls=_INVALID, name=_NAMES),
        st.builds(ToolResponseMessage, _RESULTS),
        st.builds(SystemMessage, _CONTENTS),
    )
    return st.lists(message, max_size=max_size)


def turns(*, max_turns: int = 4) -> SearchStrategy[list[BuiltinMessage]]:
    """Turns that every provider takes, but for ids that come again, behind system text or not."""
    rounds = st.lists(st.lists(st.sampled_from(("c1", "c2", "c3")), min_size=1, max_size=3, unique=True), max_size=2)
    turn = st.builds(_turn, rounds, st.booleans())
    system: SearchStrategy[list[BuiltinMessage]] = st.lists(st.just(SystemMessage("rules")), max_size=2)
    return st.builds(lambda head, rest: [*head, *chain.from_iterable(rest)], system, st.lists(turn, max_size=max_turns))


def _turn(rounds: list[list[str]], split: bool) -> list[BuiltinMessage]:
    turn: list[BuiltinMessage] = [UserMessage("question")]
    for ids in rounds:
        turn.append(AssistantMessage(tool_calls=[ToolCall(call_id, "f") for call_id in ids]))
        responses = [ToolResponse(call_id, "f", content="result") for call_id in reversed(ids)]
        turn += [ToolResponseMessage(response) for response in responses] if split else [ToolResponseMessage(responses)]
    return [*turn, AssistantMessage("answer")]


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
