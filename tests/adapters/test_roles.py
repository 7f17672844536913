"""Let a vendor's own code judge the roles and the order of messages: mistral-common's validator of requests."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from mistral_common.exceptions import InvalidMessageStructureException
from mistral_common.protocol.instruct.converters import convert_openai_messages
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from promptkit.adapters import openai
from promptkit.history import check_history, repair_history
from promptkit.messages import AssistantMessage, Message, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.prompt import Prompt
from tests.history.histories import histories


def judge(messages: list[Message]) -> None:
    """Judge as strictly as before an answer; an answer at the end is one that was given."""
    written = convert_openai_messages(openai.to_request(Prompt(messages)).body["messages"])
    answered = messages[-1].message_type == "assistant"
    mode = ValidationMode.agnostic if answered else ValidationMode.serving
    get_validator(TokenizerVersion.v15, mode).validate_messages(written)


@given(histories())
def test_what_the_doctor_repaired_is_accepted(history: list[Message]) -> None:
    repaired = [*repair_history(history)]
    assume(repaired)

    judge(repaired)


U, CALL = UserMessage("q"), AssistantMessage(tool_calls=[ToolCall("c1", "f")])
RESULT = ToolResponseMessage(ToolResponse("c1", "f", content="1"))


@pytest.mark.parametrize(
    ("history", "kind"),
    [
        ([U, RESULT], "orphan_result"),
        ([U, CALL, RESULT, RESULT], "orphan_result"),
        ([U, CALL, U], "unanswered_call"),
        ([U, AssistantMessage(tool_calls=CALL.tool_calls * 2), RESULT, RESULT], "duplicate_id"),
    ],
    ids=["orphan", "answered twice", "unanswered", "one id twice"],
)
def test_what_the_doctor_finds_is_refused(history: list[Message], kind: str) -> None:
    assert kind in [finding.kind for finding in check_history(history, "openai")]
    with pytest.raises(InvalidMessageStructureException):
        judge(history)
