"""Check conversations by what providers accept, and repair them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from attrs import field, frozen

from promptkit._frozen import FrozenDict, Value
from promptkit.errors import HistoryError
from promptkit.history._messages import as_sequence, describe, is_empty, says_nothing, without_blanks
from promptkit.history._repair import REPAIRS, FindingKind, Patient
from promptkit.history.select import exchange_runs, link_responses
from promptkit.history.step import stepwise
from promptkit.messages import BuiltinMessage, Message, ToolResponseMessage, as_builtin, check_message

__all__ = [
    "RULES",
    "Change",
    "Finding",
    "FindingKind",
    "HistoryRules",
    "Repair",
    "Rules",
    "check_history",
    "repair_history",
]


@frozen(repr=False)
class HistoryRules(Value):
    """Hold what a provider refuses, with the source of each rule.

    Args:
        name: The provider.
        refuses: The source of each rule, by the kind of finding.
        date: When the sources were last read.

    >>> "reused_id" in RULES["anthropic"].refuses, "reused_id" in RULES["openai"].refuses
    (True, False)
    """

    name: str
    refuses: Mapping[FindingKind, str] = field(converter=FrozenDict)
    date: str = field(kw_only=True)


_READ = "2026-11-30"
_OPENAI = "platform.openai.com/docs/api-reference/chat/create"
_RESPONSES = "platform.openai.com/docs/guides/function-calling, Responses"
_ANTHROPIC = "docs.anthropic.com/en/api/messages"
_ANTHROPIC_TOOLS = "docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use"
_GEMINI = "ai.google.dev/api/generate-content"
_GEMINI_TOOLS = "ai.google.dev/gemini-api/docs/function-calling"

OPENAI = HistoryRules(
    "openai",
    {
        "orphan_result": f"{_OPENAI}: a tool message answers a call of the assistant message before it",
        "unanswered_call": f"{_OPENAI}: tool messages answer each tool_call_id",
        "duplicate_id": f"{_OPENAI}: a tool_call_id names one call",
        "absent_content": f"{_OPENAI}: content is required unless there are tool_calls",
    },
    date=_READ,
)
OPENAI_RESPONSES = HistoryRules(
    "openai_responses",
    {
        "orphan_result": f"{_RESPONSES}: a function_call_output has the call_id of a function_call before it",
        "unanswered_call": f"{_RESPONSES}: each function_call of the input has its function_call_output",
        "duplicate_id": f"{_RESPONSES}: a call_id names one call",
        "absent_content": f"{_RESPONSES}: a message has content",
    },
    date=_READ,
)
ANTHROPIC = HistoryRules(
    "anthropic",
    {
        "orphan_result": f"{_ANTHROPIC_TOOLS}: each tool_result has its tool_use in the message before",
        "unanswered_call": f"{_ANTHROPIC_TOOLS}: tool_result blocks come in the message right after their tool_use",
        "duplicate_id": f"{_ANTHROPIC_TOOLS}: tool_use ids are unique",
        "reused_id": f"{_ANTHROPIC_TOOLS}: tool_use ids are unique in the whole request",
        "leading_assistant": f"{_ANTHROPIC}: the first message is the user's; later neighbours of one role are joined",
        "absent_content": f"{_ANTHROPIC}: content is required",
        "empty_content": f"{_ANTHROPIC}: text blocks contain more than white space",
        "system_out_of_place": f"{_ANTHROPIC}: the system text is a parameter, no message",
    },
    date=_READ,
)
GEMINI = HistoryRules(
    "gemini",
    {
        "orphan_result": f"{_GEMINI_TOOLS}: a function response comes right after its function call",
        "unanswered_call": f"{_GEMINI_TOOLS}: as many function responses as calls",
        "roles_do_not_alternate": f"{_GEMINI_TOOLS}: a call comes right after a user's turn or a function response",
        "leading_assistant": f"{_GEMINI}: contents begin with a user's turn",
        "absent_content": f"{_GEMINI}: contents have parts",
        "empty_content": f"{_GEMINI}: a part has data, an empty text has none",
        "system_out_of_place": f"{_GEMINI}: systemInstruction is a field, no content",
    },
    date=_READ,
)
PORTABLE = HistoryRules("portable", {**OPENAI.refuses, **GEMINI.refuses, **ANTHROPIC.refuses}, date=_READ)

RULES: Mapping[str, HistoryRules] = MappingProxyType(
    {rules.name: rules for rules in (PORTABLE, OPENAI, OPENAI_RESPONSES, ANTHROPIC, GEMINI)}
)
"""The rules of the providers by name; ``portable`` refuses what any of them refuses."""

Rules = HistoryRules | Literal["portable", "openai", "openai_responses", "anthropic", "gemini"]
"""Rules, or the name of those in `RULES`."""


def _rules_of(rules: Rules) -> HistoryRules:
    """Give the rules that a name stands for.

    Raises:
        HistoryError: There are none.
    """
    if isinstance(rules, HistoryRules):
        return rules
    if not isinstance(rules, str) or rules not in RULES:
        raise HistoryError(f"rules must be HistoryRules or one of {', '.join(map(repr, RULES))}, not {rules!r:.80}")
    return RULES[rules]


@frozen(repr=False)
class Finding(Value):
    """Hold one thing that a provider would refuse.

    Args:
        kind: What is wrong.
        index: The message it is wrong with, or that it is wrong to find there.
        text: What is wrong, in a sentence.
    """

    kind: FindingKind
    index: int
    text: str


def check_history(messages: Iterable[Message], rules: Rules = "portable") -> tuple[Finding, ...]:
    """Find what a provider would refuse in a conversation, in the order of its messages.

    Args:
        rules: Whose rules.

    >>> from promptkit import ToolResponse, UserMessage
    >>> history = [UserMessage("Hi"), ToolResponseMessage(ToolResponse("c1", content="3 degrees"))]
    >>> [(finding.kind, finding.index) for finding in check_history(history)]
    [('orphan_result', 1)]
    """
    refuses = _rules_of(rules).refuses
    history = _builtins(messages)
    found = [
        Finding(kind, index, f"messages[{index}] {text}")
        for check in _CHECKS
        for kind, index, text in check(history)
        if kind in refuses
    ]
    return tuple(sorted(found, key=lambda finding: finding.index))


@frozen(repr=False)
class Change(Value):
    """Hold one thing that `repair_history` changed.

    Args:
        kind: What was wrong.
        index: The message it was wrong with, in the conversation as it was given.
        text: What was changed, in a sentence.
    """

    kind: FindingKind
    index: int
    text: str


@frozen(repr=False)
class Repair(Value):
    """Hold a repaired conversation and what was changed; it iterates over the messages.

    >>> from promptkit import UserMessage
    >>> Repair((UserMessage("Hi"),)).changes
    ()
    """

    messages: tuple[Message, ...]
    changes: tuple[Change, ...] = field(default=(), kw_only=True)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)


@stepwise
def repair_history(messages: Iterable[Message], rules: Rules = "portable") -> Repair:
    """Make a conversation that a provider accepts, change as little as that takes, and report each change.

    A result moves behind its call, the nearest open one before it with its id. A call without a result and a result
    without a call go, and with a call its message when it says nothing else. A later call with a known id gets a new
    one. System text moves to the front. Blank text goes, with its message when nothing is left. What the model says
    before any user goes. Neighbours of one role merge. What is right stays as it is, and a repaired conversation needs
    no repair.

    Args:
        rules: Whose rules.

    >>> from promptkit import AssistantMessage, ToolCall, UserMessage
    >>> repaired = repair_history([UserMessage("Hi"), AssistantMessage("Hm", tool_calls=[ToolCall("c1", "weather")])])
    >>> [*repaired]
    [UserMessage('Hi'), AssistantMessage('Hm')]
    >>> repaired.changes[0].text
    "messages[1]: the call 'c1' is taken out, no result follows"
    """
    patient = Patient.admit(as_sequence(messages), frozenset(_rules_of(rules).refuses))
    for repair in REPAIRS:
        repair(patient)
    return Repair(
        tuple([piece.message for piece in patient.pieces]),
        changes=tuple([Change(*change) for change in patient.changes]),
    )


def _builtins(messages: Iterable[Message]) -> list[BuiltinMessage]:
    """Give messages of ours.

    Raises:
        PromptError: Something is no message; its index is named.
    """
    return [as_builtin(check_message(message, f"messages[{at}]")) for at, message in enumerate(as_sequence(messages))]


Found = Iterator[tuple[FindingKind, int, str]]


def _pairs(history: Sequence[BuiltinMessage]) -> Found:
    items = [describe(message) for message in history]
    for run in exchange_runs(items.__getitem__, 0, len(items), backward=False):
        caller = items[run.start]
        first = run.start + (caller.role != "tool")
        links = link_responses(caller, items[first : run.stop])
        answered: set[int | None] = {position for link in links for position in link}
        for at, call_id in enumerate(caller.calls):
            if at not in answered:
                yield "unanswered_call", run.start, f"calls {call_id!r}, and no result follows"
        for at, link in enumerate(links, first):
            for own, position in enumerate(link):
                if position is None:
                    shown = items[at].responses[own]
                    yield "orphan_result", at, f"answers {shown!r}, which the message before did not call"


def _ids(history: Sequence[BuiltinMessage]) -> Found:
    seen: set[str] = set()
    for index, message in enumerate(history):
        own = [call_id for call_id in describe(message).calls if call_id is not None]
        for call_id, number in Counter(own).items():
            if number > 1:
                yield "duplicate_id", index, f"calls {call_id!r} {number} times"
            if call_id in seen:
                yield "reused_id", index, f"calls {call_id!r}, an id of an earlier call"
        seen.update(own)


def _order(history: Sequence[BuiltinMessage]) -> Found:
    head, spoken, before = True, False, ""
    for index, message in enumerate(history):
        role = message.message_type.value
        head = head and role == "system"
        if role == "system" and not head:
            yield "system_out_of_place", index, "is a system message after the first other one"
        if role == "assistant" and not spoken:
            yield "leading_assistant", index, "is the model's, and no user spoke before"
        if role == before in ("user", "assistant"):
            yield "roles_do_not_alternate", index, f"follows another message of the role {role!r}"
        spoken = spoken or role == "user"
        before = role


def _contents(history: Sequence[BuiltinMessage]) -> Found:
    for index, message in enumerate(history):
        calls = describe(message).calls
        if isinstance(message, ToolResponseMessage):
            continue
        if not calls and says_nothing(message.content):
            yield "absent_content", index, "has neither content nor a call"
        elif without_blanks(message.content) != message.content or (not calls and is_empty(message.content)):
            yield "empty_content", index, "has a text of nothing but white space"


_CHECKS: tuple[Callable[[Sequence[BuiltinMessage]], Found], ...] = (_pairs, _ids, _order, _contents)
