from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.content import Media, Reasoning, Text
from promptkit.errors import HistoryError, PromptError
from promptkit.history import RULES, HistoryRules, check_history, repair_history
from promptkit.history.doctor import FindingKind
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
from tests.history.histories import broken, histories, turns

U, A, S = UserMessage("u"), AssistantMessage("a"), SystemMessage("s")


def calls(*ids: str | None, text: str | None = None) -> AssistantMessage:
    return AssistantMessage(text, tool_calls=[ToolCall(call_id, "f") for call_id in ids])


def results(*ids: str | None) -> ToolResponseMessage:
    return ToolResponseMessage([ToolResponse(call_id, content="r") for call_id in ids])


CASES: list[tuple[str, list[Message], list[tuple[str, int]], list[Message]]] = [
    ("clean", [S, U, calls("a", "b"), results("b"), results("a"), A], [], [S, U, calls("a", "b"), results("b"), results("a"), A]),
    ("orphan", [U, results("a"), A], [("orphan_result", 1)], [U, A]),
    ("unanswered", [U, calls("a", text="hm"), U], [("unanswered_call", 1)], [U, AssistantMessage("hm"), U]),
    ("one of two", [U, calls("a", "b"), results("b")], [("unanswered_call", 1)], [U, calls("b"), results("b")]),
    ("mixed results", [U, calls("a"), results("a", "x")], [("orphan_result", 2)], [U, calls("a"), results("a")]),
    ("answered twice", [U, calls("a"), results("a"), results("a")], [("orphan_result", 3)], [U, calls("a"), results("a")]),
    ("late result", [U, calls("a"), S.mutate(content="x"), results("a")], [("unanswered_call", 1), ("system_out_of_place", 2), ("orphan_result", 3)], [S.mutate(content="x"), U, calls("a"), results("a")]),
    ("same id in one message", [U, calls("a", "a"), results("a", "a")], [("duplicate_id", 1)], [U, calls("a", "a_2"), results("a", "a_2")]),
    ("same id in two turns", [U, calls("a"), results("a"), A, U, calls("a"), results("a")], [("reused_id", 5)], [U, calls("a"), results("a"), A, U, calls("a_2"), results("a_2")]),
    ("no ids", [U, calls(None, None), results(None), results(None)], [], [U, calls(None, None), results(None), results(None)]),
    ("roles", [U, U.mutate(content="v"), A, A], [("roles_do_not_alternate", 1), ("roles_do_not_alternate", 3)], [UserMessage("u\nv"), AssistantMessage("a\na")]),
    ("speakers", [U.mutate(name="x"), U.mutate(name="y")], [("roles_do_not_alternate", 1)], [UserMessage("u\nu")]),
    ("leading", [S, A, calls("a"), results("a"), U], [("leading_assistant", 1), ("leading_assistant", 2), ("roles_do_not_alternate", 2)], [S, U]),
    ("only the model", [A], [("leading_assistant", 0)], []),
    ("absent", [U, AssistantMessage(), U.mutate(content="v")], [("absent_content", 1)], [UserMessage("u\nv")]),
    ("thoughts only", [U, AssistantMessage([Reasoning("hm")])], [("absent_content", 1)], [U]),
    ("empty", [U, AssistantMessage(""), U], [("empty_content", 1)], [UserMessage("u\nu")]),
    ("blank part", [UserMessage([" ", Media(url="https://example.org/a.png")])], [("empty_content", 0)], [UserMessage([Media(url="https://example.org/a.png")])]),
    ("blank beside a call", [U, calls("a", text="\n\n"), results("a")], [("empty_content", 1)], [U, calls("a", text=""), results("a")]),
    ("nothing beside a call", [U, calls("a", text=""), results("a")], [], [U, calls("a", text=""), results("a")]),
    ("system late", [U, S, A], [("system_out_of_place", 1)], [S, U, A]),
    ("invalid call", [U, AssistantMessage("x", invalid_tool_calls=[InvalidToolCall("a", "f")]), U.mutate(content="v")], [("unanswered_call", 1)], [U, AssistantMessage("x"), UserMessage("v")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("history", "found", "repaired"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_findings_and_their_repair(
    history: list[Message], found: list[tuple[str, int]], repaired: list[Message]
) -> None:
    findings = check_history(history)
    assert [(finding.kind, finding.index) for finding in findings] == found
    assert all(finding.text.startswith(f"messages[{finding.index}] ") for finding in findings)
    repair = repair_history(history)
    assert [*repair] == repaired
    assert bool(repair.changes) == bool(found)


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
def test_rules_are_data_with_a_source_and_a_date(name: str) -> None:
    rules = RULES[name]
    assert set(rules.refuses) <= set(get_args(FindingKind))
    assert all(": " in source and "/" in source for source in rules.refuses.values())
    assert len(rules.date) == len("2026-11-30")
    assert set(rules.refuses) <= set(RULES["portable"].refuses)


@pytest.mark.parametrize(
    ("name", "history"),
    [
        ("openai", [A, S, U, U, UserMessage(""), calls("a"), results("a"), calls("a"), results("a")]),
        ("anthropic", [S, U, U, calls("a"), results("a"), U, A, A]),
        ("gemini", [S, U, calls("a", "a"), results("a"), results("a"), A, U, calls("a"), results("a")]),
    ],
    ids=["openai", "anthropic", "gemini"],
)
def test_what_a_provider_takes_is_left_alone(name: str, history: list[Message]) -> None:
    assert check_history(history, RULES[name]) == ()
    repair = repair_history(history, RULES[name])
    assert repair.changes == ()
    assert all(after is before for after, before in zip(repair, history, strict=True))


def test_a_change_names_the_message_as_it_was_given() -> None:
    repair = repair_history([results("x"), U, calls("a"), A, results("a")])
    assert [(change.kind, change.index, change.text) for change in repair.changes] == [
        ("orphan_result", 0, "messages[0]: the result of 'x' is taken out, nobody called it"),
        ("orphan_result", 4, "messages[4]: the result moves behind its call in messages[2]"),
    ]
    assert [*repair] == [U, calls("a"), results("a"), A]


def test_a_new_id_is_nobodys() -> None:
    history = [
        U,
        calls("a", "a_2"),
        results("a", "a_2"),
        A,
        U,
        calls("a"),
        results("a"),
        A,
        U,
        calls("a"),
        results("a"),
    ]
    assert [message.tool_calls[0].id for message in repair_history(history) if isinstance(message, AssistantMessage) and message.tool_calls] == ["a", "a_3", "a_4"]  # fmt: skip


def test_rules_of_your_own() -> None:
    rules = HistoryRules("mine", {"leading_assistant": "our gateway's manual"}, date="2026-01-01")
    assert [finding.kind for finding in check_history([A, A, U], rules)] == ["leading_assistant"] * 2
    assert [*repair_history(rules=rules).invoke([A, A, U])] == [U]


def test_wrong_input_is_refused() -> None:
    with pytest.raises(HistoryError, match="rules must be HistoryRules or one of 'portable', 'openai'"):
        check_history([], "mistral")  # type: ignore[arg-type]
    with pytest.raises(PromptError, match=r"messages\[1\]"):
        check_history([U, "text"])  # type: ignore[list-item]
    with pytest.raises(PromptError, match=r"messages\[1\]"):
        repair_history([U, {"role": "user"}])  # type: ignore[list-item]


def test_long_histories_are_repaired_in_linear_time() -> None:
    history: list[Message] = [U, *[calls("a", text="x") for _ in range(5_000)], *[results("a") for _ in range(5_000)]]
    assert not check_history(repair_history(history))


@given(histories(), st.sampled_from(sorted(RULES)))
def test_a_repaired_history_checks_clean_and_needs_no_repair(history: Sequence[BuiltinMessage], name: str) -> None:
    repair = repair_history(history, RULES[name])

    assert check_history(repair, RULES[name]) == ()
    assert not broken([*repair])
    assert bool(repair.changes) == bool(check_history(history, RULES[name]))
    again = repair_history(repair, RULES[name])
    assert again.messages == repair.messages
    assert again.changes == ()


@given(turns(), st.sampled_from(sorted(RULES)))
def test_a_clean_history_stays_as_it_is(history: Sequence[BuiltinMessage], name: str) -> None:
    if not check_history(history, RULES[name]):
        repair = repair_history(history, RULES[name])
        assert all(after is before for after, before in zip(repair, history, strict=True))


def test_text_with_metadata_keeps_it() -> None:
    content = [Text("", metadata={"cache": True}), Text("x", metadata={"cache": True})]
    assert [*repair_history([UserMessage(content)])] == [UserMessage(content[1:])]
