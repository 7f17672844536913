"""Repair conversations step by step, each step reporting what it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Literal, Self

from attrs import define, evolve, field, frozen

from promptkit.history._messages import describe, is_empty, says_nothing, without_blanks
from promptkit.history.merge import merged
from promptkit.history.select import Item, exchanges, link_responses, merge_runs
from promptkit.messages import AssistantMessage, BuiltinMessage, Message, ToolResponseMessage, as_builtin

__all__ = ["REPAIRS", "FindingKind", "Patient", "Piece"]

FindingKind = Literal[
    "orphan_result",
    "unanswered_call",
    "duplicate_id",
    "reused_id",
    "roles_do_not_alternate",
    "leading_assistant",
    "absent_content",
    "empty_content",
    "system_out_of_place",
]
"""What can be wrong with a conversation."""


@frozen
class Piece:
    """Hold a message and its index in the conversation as it was given."""

    index: int
    message: Message
    item: Item

    @property
    def builtin(self) -> BuiltinMessage:
        """The message as one of ours."""
        return as_builtin(self.message)

    @property
    def run(self) -> range:
        """The positions of its calls."""
        return range(len(self.item.calls))

    def holding(self, message: Message) -> Piece:
        """Put another message in its place."""
        return evolve(self, message=message, item=describe(message))


@define
class Patient:
    """Hold a conversation under repair."""

    pieces: list[Piece]
    refuses: frozenset[FindingKind]
    changes: list[tuple[FindingKind, int, str]] = field(factory=list)

    @classmethod
    def admit(cls, messages: Sequence[Message], refuses: frozenset[FindingKind]) -> Self:
        """Take messages in as they are."""
        pieces = [Piece(at, message, describe(message, at)) for at, message in enumerate(messages)]
        return cls(pieces, refuses)

    def note(self, kind: FindingKind, piece: Piece, text: str) -> None:
        """Report a change."""
        self.changes.append((kind, piece.index, f"messages[{piece.index}]: {text}"))


def _pair(patient: Patient) -> None:
    """Put each result behind its call, and take out what has no counterpart."""
    if not patient.refuses & {"orphan_result", "unanswered_call"}:
        return
    answers = _link(patient)
    pieces: list[Piece] = []
    for at, piece in enumerate(patient.pieces):
        if piece.item.role == "tool":
            continue
        linked = answers.get(at, {})
        whole = _with_calls(piece, linked.keys(), patient) if len(linked) < len(piece.item.calls) else piece
        if whole is not None:
            pieces.append(whole)
        end = at + 1
        while end < len(patient.pieces) and patient.pieces[end].item.role == "tool":
            end += 1
        for source, group in groupby(sorted(linked.values()), lambda answer: answer[0]):
            result = patient.pieces[source]
            if source >= end:
                patient.note("orphan_result", result, f"the result moves behind its call in messages[{piece.index}]")
            pieces.append(_with_responses(result, [own for _, own in group]))
    patient.pieces = pieces


def _link(patient: Patient) -> dict[int, dict[int, tuple[int, int]]]:
    """Say for each caller which of its calls is answered by which response of which message."""
    open_calls: dict[str | None, list[tuple[int, int]]] = {}
    answers: dict[int, dict[int, tuple[int, int]]] = {}
    for at, piece in enumerate(patient.pieces):
        for position in reversed(piece.run):
            open_calls.setdefault(piece.item.calls[position], []).append((at, position))
        for own, call_id in enumerate(piece.item.responses):
            if waiting := open_calls.get(call_id):
                caller, position = waiting.pop()
                answers.setdefault(caller, {})[position] = at, own
            else:
                patient.note("orphan_result", piece, f"the result of {call_id!r} is taken out, nobody called it")
    return answers


def _with_calls(piece: Piece, positions: Iterable[int], patient: Patient) -> Piece | None:
    message = piece.builtin
    assert isinstance(message, AssistantMessage)
    kept = set(positions)
    for position, call_id in enumerate(piece.item.calls):
        if position not in kept:
            patient.note("unanswered_call", piece, f"the call {call_id!r} is taken out, no result follows")
    if not kept and is_empty(message.content):
        return None
    valid = len(message.tool_calls)
    changes: dict[str, Any] = {
        "tool_calls": [call for at, call in enumerate(message.tool_calls) if at in kept],
        "invalid_tool_calls": [call for at, call in enumerate(message.invalid_tool_calls, valid) if at in kept],
    }
    return piece.holding(message.mutate(**changes))


def _with_responses(piece: Piece, own: Sequence[int]) -> Piece:
    if len(own) == len(piece.item.responses):
        return piece
    message = piece.builtin
    assert isinstance(message, ToolResponseMessage)
    return piece.holding(message.mutate(responses=[message.responses[at] for at in own]))


def _rename(patient: Patient) -> None:
    """Give calls new ids where an id stands for two, and their results with them."""
    if not patient.refuses & {"duplicate_id", "reused_id"}:
        return
    fresh = _FreshIds(call_id for piece in patient.pieces for call_id in piece.item.calls)
    seen: set[str] = set()
    for run in exchanges([piece.item for piece in patient.pieces]):
        piece = patient.pieces[run.start]
        own: set[str] = set()
        names = {}
        for position, call_id in enumerate(piece.item.calls):
            if call_id is None:
                continue
            if call_id in own or ("reused_id" in patient.refuses and call_id in seen):
                names[position] = fresh.like(call_id)
                kind: FindingKind = "duplicate_id" if call_id in own else "reused_id"
                patient.note(kind, piece, f"the call {call_id!r} is now {names[position]!r}, its id was taken")
            own.add(call_id)
        seen |= own
        if names:
            links = link_responses(piece.item, [patient.pieces[at].item for at in run[1:]])
            patient.pieces[run.start] = _renamed_calls(piece, names)
            for at, link in zip(run[1:], links, strict=True):
                patient.pieces[at] = _renamed_responses(patient.pieces[at], link, names)


class _FreshIds:
    """Make ids that nobody has."""

    def __init__(self, used: Iterable[str | None]) -> None:
        self.used = set(used)
        self.numbers: dict[str, int] = {}

    def like(self, call_id: str) -> str:
        number = self.numbers.get(call_id, 1)
        while (made := f"{call_id}_{number + 1}") in self.used:
            number += 1
        self.numbers[call_id] = number + 1
        self.used.add(made)
        return made


def _renamed_calls(piece: Piece, names: dict[int, str]) -> Piece:
    message = piece.builtin
    assert isinstance(message, AssistantMessage)
    valid = [call.mutate(id=names.get(at, call.id)) for at, call in enumerate(message.tool_calls)]
    invalid = [call.mutate(id=names.get(at, call.id)) for at, call in enumerate(message.invalid_tool_calls, len(valid))]
    return piece.holding(message.mutate(tool_calls=valid, invalid_tool_calls=invalid))


def _renamed_responses(piece: Piece, link: Sequence[int | None], names: dict[int, str]) -> Piece:
    if not any(position in names for position in link):
        return piece
    message = piece.builtin
    assert isinstance(message, ToolResponseMessage)
    responses = [
        response if position is None else response.mutate(id=names.get(position, response.id))
        for response, position in zip(message.responses, link, strict=True)
    ]
    return piece.holding(message.mutate(responses=responses))


def _raise_system(patient: Patient) -> None:
    """Move system text to the front."""
    if "system_out_of_place" not in patient.refuses:
        return
    head: list[Piece] = []
    rest: list[Piece] = []
    for piece in patient.pieces:
        if piece.item.role != "system":
            rest.append(piece)
            continue
        head.append(piece)
        if rest:
            patient.note("system_out_of_place", piece, "the system message moves to the front")
    patient.pieces = head + rest


def _clear_blanks(patient: Patient) -> None:
    """Take out blank text, and messages that say nothing."""
    pieces: list[Piece] = []
    for piece in patient.pieces:
        message = piece.builtin
        if isinstance(message, ToolResponseMessage) or not patient.refuses & {"absent_content", "empty_content"}:
            pieces.append(piece)
            continue
        blank = "empty_content" in patient.refuses
        content = without_blanks(message.content) if blank else message.content
        if not piece.item.calls and (is_empty(content) if blank else says_nothing(content)):
            kind: FindingKind = "absent_content" if says_nothing(message.content) else "empty_content"
            patient.note(kind, piece, "the message is taken out, it says nothing")
        elif content != message.content:
            patient.note("empty_content", piece, "the blank text is taken out")
            pieces.append(piece.holding(message.mutate(content=content)))
        else:
            pieces.append(piece)
    patient.pieces = pieces


def _begin_with_user(patient: Patient) -> None:
    """Take out what the model says and calls before any user speaks."""
    if "leading_assistant" not in patient.refuses:
        return
    roles = [piece.item.role for piece in patient.pieces]
    first = roles.index("user") if "user" in roles else len(roles)
    for piece in patient.pieces[:first]:
        if piece.item.role in ("assistant", "tool"):
            patient.note("leading_assistant", piece, "the message is taken out, no user spoke before")
    patient.pieces = [piece for at, piece in enumerate(patient.pieces) if at >= first or piece.item.role == "system"]


def _alternate(patient: Patient) -> None:
    """Merge neighbours of one role."""
    if "roles_do_not_alternate" not in patient.refuses:
        return
    pieces: list[Piece] = []
    keys = [piece.item.role if piece.item.role in ("user", "assistant") else None for piece in patient.pieces]
    for run in merge_runs(keys):
        first, *others = patient.pieces[run.start : run.stop]
        if others:
            speakers = {getattr(piece.message, "name", None) for piece in (first, *others)}
            name = speakers.pop() if len(speakers) == 1 else None
            message = as_builtin(merged([first.message, *(piece.message for piece in others)], "\n"))
            first = first.holding(message.mutate(name=name))
        for piece in others:
            patient.note("roles_do_not_alternate", piece, f"the message merges into messages[{first.index}]")
        pieces.append(first)
    patient.pieces = pieces


REPAIRS: tuple[Callable[[Patient], None], ...] = (
    _pair,
    _rename,
    _raise_system,
    _clear_blanks,
    _begin_with_user,
    _alternate,
)
"""The steps in the order in which none undoes another."""
