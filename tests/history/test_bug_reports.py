"""Hold history tools against the bug reports of other projects (``trim/*``, ``filter/*``, ``merge/*``, ``tokens/*``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from promptkit.content import Media
from promptkit.errors import HistoryError
from promptkit.history import (
    ListTokenCounter,
    check_history,
    count_tokens,
    filter_messages,
    merge_message_runs,
    repair_history,
    trim_messages,
    trim_to_window,
)
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.tokens import ApproximateTokenCounter
from tests.history.histories import broken
from tests.history.test_counters import vocabularies
from tests.oracles import rows

ROWS = {row["id"]: row for row in rows("bug_reports_history.jsonl")}


def message(neutral: dict[str, Any]) -> Message:
    text, calls = neutral["text"], neutral.get("calls", ())
    content: Any = [part["text"] for part in neutral["parts"]] if "parts" in neutral else text
    if neutral["role"] == "tool":
        return ToolResponseMessage(ToolResponse(neutral["for"], content=text))
    if neutral["role"] == "assistant":
        tool_calls = [ToolCall(call["id"], call["name"], arguments=call["args"]) for call in calls]
        return AssistantMessage(content, tool_calls=tool_calls, metadata=neutral.get("metadata", {}))
    return {"system": SystemMessage, "user": UserMessage}[neutral["role"]](content)


def history(row_id: str) -> list[Message]:
    return [message(neutral) for neutral in ROWS[row_id]["input"]["messages"]]


def b082() -> None:
    messages = history("B082")
    for budget in range(len(messages) + 1):
        kept = trim_messages(messages, max_tokens=budget, counter="messages", oversize="keep")
        start = trim_messages(messages, max_tokens=budget, counter="messages", oversize="keep", strategy="first")
        assert not broken(kept)
        assert not broken(start)


class OneEach:
    def __call__(self, message: Message) -> int:
        return 1


def b084() -> None:
    messages = [UserMessage("a"), UserMessage("b"), UserMessage("c")]

    def annotated(message: "Message") -> int:  # noqa: UP037 - the report is about such an annotation
        return 1

    one_each: list[Callable[[Message], int]] = [lambda _: 1, OneEach(), functools.partial(lambda n, _: n, 1), annotated]
    for counter in one_each:
        assert count_tokens(messages, counter) == 3
    assert count_tokens(messages, ListTokenCounter(len)) == 3
    with pytest.raises(HistoryError, match="handed one message, unless it is a ListTokenCounter"):
        count_tokens(messages, len)  # type: ignore[arg-type]


def b085() -> None:
    for case in ROWS["B085"]["input"]["cases"]:
        messages = [message(neutral) for neutral in case]
        for budget in ROWS["B085"]["input"]["budget"]:
            if len(messages) <= budget:
                assert trim_messages(messages, max_tokens=budget, counter="messages") == tuple(messages)
            else:
                with pytest.raises(HistoryError):
                    trim_messages(messages, max_tokens=budget, counter="messages")
            assert len(trim_messages(messages, max_tokens=budget, counter="messages", oversize="keep")) == len(messages)


def b087() -> None:
    messages = history("B087")
    assert trim_messages(messages, max_tokens=100, counter="approximate") == tuple(messages)


def b088() -> None:
    messages = history("B088")
    with pytest.raises(HistoryError) as caught:
        trim_messages(messages, max_tokens=50, counter="approximate")
    assert (caught.value.budget, caught.value.needed) == (50, count_tokens(messages, "approximate"))


def b089() -> None:
    counted: list[int] = []

    def counter(message: Message) -> int:
        counted.append(int(str(message.content)))
        return 200

    messages = [(UserMessage if number % 2 == 0 else AssistantMessage)(str(number)) for number in range(1_000)]
    kept = trim_messages(messages, max_tokens=16_000, counter=counter)
    assert len(kept) == 80
    assert len(counted) == len(set(counted)) <= 82


def b091() -> None:
    messages = history("B091")
    with pytest.raises(HistoryError, match="need 3, and the budget is 2"):
        trim_messages(messages, max_tokens=2, counter="messages")
    for budget in (1, 2, 3):
        kept = trim_messages(messages, max_tokens=budget, counter="messages", oversize="keep")
        assert kept == (messages[0], *messages[3:])


def b092() -> None:
    messages = history("B092")
    for kept in (
        trim_messages(messages, max_tokens=7, counter="messages"),
        filter_messages(messages, exclude_types="system"),
        trim_to_window(messages, 7, 3, "messages"),
        repair_history(messages, "anthropic"),
    ):
        results = [message for message in kept if isinstance(message, ToolResponseMessage)]
        assert [result.responses[0].text for result in results] == ROWS["B092"]["expect"]["results_kept"]
    assert trim_messages(messages, max_tokens=6, counter="messages") == tuple(messages[4:])
    assert check_history(messages, "openai") == ()
    assert [finding.kind for finding in check_history(messages, "anthropic")] == ["reused_id"]


def b093() -> None:
    messages = history("B093")
    before = [(message.content, dict(message.metadata)) for message in messages]
    merge_message_runs(messages)
    assert [(message.content, dict(message.metadata)) for message in messages] == before


def b095() -> None:
    (merged,) = merge_message_runs(history("B095"))
    assert merged.content == "\n".join(ROWS["B095"]["expect"]["contains_in_order"])


def b097() -> None:
    for case in ROWS["B097"]["input"]["cases"]:
        messages = [message(neutral) for neutral in case]
        assert merge_message_runs(messages) == tuple(messages)
        assert [*repair_history(messages, "openai")] == messages
        assert all(message.content for message in repair_history(messages, "anthropic"))
    call = AssistantMessage("", tool_calls=[ToolCall("c", "f")])
    kept = [UserMessage("q"), call, ToolResponseMessage(ToolResponse("c"))]
    assert [*repair_history(kept, "anthropic")] == kept


def b099() -> None:
    messages = history("B099")
    kept = filter_messages(messages, exclude_types=ROWS["B099"]["input"]["exclude_roles"])
    assert not broken(kept)
    assert [message.content for message in kept] == ["q", "note", "n"]
    assert broken(filter_messages(messages, exclude_types="tool", pairs=False))


def b168() -> None:
    types = {"audio": "audio/wav", "video": "video/mp4"}
    for part in ROWS["B168"]["input"]["parts"]:
        media = Media.from_base64(part["base64"], types.get(part["kind"], "image/png"))
        assert count_tokens([UserMessage([media])], "approximate") <= ROWS["B168"]["expect"]["max_tokens_each"]


def b170() -> None:
    sizes = {f"{width}x{height}": width * height // 750 for width, height in ROWS["B170"]["input"]["images"]}
    counter = ApproximateTokenCounter(tokens_per_message=0, tokens_per_media=lambda media: sizes[media.name or ""])
    for name, size in sizes.items():
        assert counter.count(UserMessage([Media(b"\x89PNG\r\n\x1a\n", name=name)])) == size


def b171() -> None:
    from promptkit.history import TiktokenCounter

    for counter in (ApproximateTokenCounter(), TiktokenCounter("cl100k_base", vocabularies())):
        for text in ROWS["B171"]["input"]["texts"]:
            assert counter.count(UserMessage(text)) > 3


@pytest.mark.parametrize("row_id", ROWS)
def test_the_report_does_not_apply_here(row_id: str) -> None:
    globals()[row_id.lower()]()
