from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import pytest
from attrs import frozen
from hypothesis import example, given
from hypothesis import strategies as st

from promptkit.content import Media, Text
from promptkit.errors import HistoryError, PromptError
from promptkit.history import (
    RULES,
    ListTokenCounter,
    check_history,
    count_tokens,
    trim_messages,
    trim_to_window,
)
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    Message,
    MessageType,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.prompt import Prompt
from tests.history.histories import broken, histories, turns

T = TypeVar("T")

IMAGE = Media(url="https://example.org/a.png")
CHAT: list[Message] = [
    SystemMessage("rules"),
    UserMessage("q1"),
    AssistantMessage(tool_calls=[ToolCall("c1", "f"), ToolCall("c2", "g")]),
    ToolResponseMessage(ToolResponse("c2", content="r2")),
    ToolResponseMessage(ToolResponse("c1", content="r1")),
    AssistantMessage("a1"),
    UserMessage("q2"),
    AssistantMessage("a2"),
]


class Tally:
    """Count one a message, and remember what was counted."""

    overhead = 0

    def __init__(self, size: Callable[[Message], int] = lambda _: 1) -> None:
        self.size = size
        self.counted: list[Message] = []

    def count(self, message: Message) -> int:
        self.counted.append(message)
        return self.size(message)


def unless_too_large(budget: int, trim: Callable[[], T]) -> T | None:
    """Give what is kept, or ``None`` after an error that says by how much it is too large."""
    try:
        return trim()
    except HistoryError as error:
        refused = error
    assert refused.budget == budget
    assert refused.needed is not None
    assert refused.needed > budget
    return None


def last_user(messages: Sequence[Message]) -> int | None:
    users = [index for index, message in enumerate(messages) if message.message_type == MessageType.USER]
    return users[-1] if users else None


def after_system(messages: Sequence[Message]) -> Sequence[Message]:
    rest = list(messages)
    while rest and rest[0].message_type == MessageType.SYSTEM:
        rest.pop(0)
    return rest


COUNTERS: list[Any] = [
    "messages",
    "approximate",
    lambda message: len(message.content or ""),
    ListTokenCounter(lambda messages: 3 + 2 * len(messages)),
    ListTokenCounter(lambda messages: len(messages) ** 2),
]


@given(
    histories() | turns(),
    st.integers(-1, 14) | st.integers(0, 300),
    st.sampled_from(COUNTERS),
    st.booleans(),
)
@example([UserMessage(""), AssistantMessage(tool_calls=[ToolCall("c1", "f")])], 2, "messages", True)
def test_turns_stay_whole_and_in_the_budget(
    history: list[BuiltinMessage], budget: int, counter: Any, include_system: bool
) -> None:
    kept = unless_too_large(
        budget, lambda: trim_messages(history, max_tokens=budget, counter=counter, include_system=include_system)
    )
    if kept is None:
        return
    assert count_tokens(kept, counter) <= max(budget, 0)
    current = last_user(history)
    if current is not None:
        assert [*kept[-(len(history) - current) :]] == history[current:]
        assert not after_system(kept) or after_system(kept)[0].message_type == MessageType.USER
    if include_system:
        head = len(history) - len(after_system(history))
        assert [*kept[:head]] == history[:head]
    for rules in RULES.values():
        if not check_history(history, rules):
            assert check_history(kept, rules) == ()


ROLES = st.none() | st.sampled_from(("user", "assistant", "tool", AssistantMessage)) | st.just(["user", "assistant"])


@given(
    histories() | turns(),
    st.integers(-1, 14),
    st.sampled_from(COUNTERS),
    st.fixed_dictionaries(
        {"strategy": st.sampled_from(("first", "last")), "oversize": st.sampled_from(("raise", "keep"))},
        optional={
            "start_on": ROLES,
            "end_on": ROLES,
            "include_system": st.none() | st.booleans(),
            "allow_partial": st.booleans(),
        },
    ),
)
def test_no_option_parts_a_call_from_its_result(
    history: list[BuiltinMessage], budget: int, counter: Any, options: dict[str, Any]
) -> None:
    if options["strategy"] == "first":
        options.pop("start_on", None)
    plain = not options.get("start_on") and not options.get("end_on") and not options.get("allow_partial")
    if options["strategy"] == "last" and options["oversize"] == "raise" and plain:
        options["oversize"] = "keep"
    kept = unless_too_large(budget, lambda: trim_messages(history, max_tokens=budget, counter=counter, **options))
    if kept is None:
        assert options["oversize"] == "raise"
        return
    assert not broken(kept)
    if options["oversize"] == "raise":
        assert count_tokens(kept, counter) <= max(budget, 0)
    if not options.get("allow_partial"):
        assert set(map(id, kept)) <= set(map(id, history))


@given(histories() | turns(), st.integers(0, 14), st.integers(0, 14), st.sampled_from(COUNTERS[:3]))
def test_a_window_cuts_whole_turns_and_only_when_it_must(
    history: list[BuiltinMessage], high: int, low: int, counter: Any
) -> None:
    high, low = max(high, low), min(high, low)
    window = unless_too_large(high, lambda: trim_to_window(history, high, low, counter))
    if window is None:
        return
    head = len(history) - len(after_system(history))
    assert [*window.messages[:head], *window.cut, *window.messages[head:]] == history
    assert count_tokens(window, counter) <= high
    if count_tokens(history, counter) <= high:
        assert not window.cut
        assert [*window] == history
        return
    rest = after_system(window.messages)
    assert not rest or rest[0].message_type == MessageType.USER
    current = last_user(history)
    alone = count_tokens([*history[:head], *history[current or head :]], counter)
    assert count_tokens(window, counter) <= max(low, alone)
    assert trim_to_window(window, high, low, counter).messages == window.messages


def test_a_window_leaves_the_prefix_alone_in_most_turns() -> None:
    window: tuple[Message, ...] = (SystemMessage("rules"),)
    cuts = []
    for number in range(200):
        grown = (*window, UserMessage(f"q{number}"), AssistantMessage(f"a{number}"))
        result = trim_to_window(grown, 41, 21, "messages")
        cuts.append(bool(result.cut))
        if not result.cut:
            assert result.messages == grown
        window = result.messages
    assert sum(cuts) == 17


def test_a_window_that_cannot_be_cut_raises_or_stays() -> None:
    history = [
        SystemMessage("s"),
        UserMessage("1"),
        AssistantMessage("2"),
        UserMessage("3"),
        *[AssistantMessage("4")] * 5,
    ]
    with pytest.raises(HistoryError) as caught:
        trim_to_window(history, 6, 3, "messages")
    assert (caught.value.budget, caught.value.needed) == (6, 7)
    window = trim_to_window(history, 6, 3, "messages", oversize="keep")
    assert len(window) == 7
    assert len(trim_to_window(history, 7, 3, "messages").messages) == 7
    with pytest.raises(HistoryError, match=r"low must be an int of at most high \(3\), not 4"):
        trim_to_window(history, 3, 4, "messages")


def test_a_window_may_have_no_turn_to_cut() -> None:
    only_answers = [AssistantMessage("x")] * 3
    assert trim_to_window(only_answers, 2, 1, "messages", oversize="keep").messages == tuple(only_answers)
    assert trim_to_window([], 2, 1, "messages").messages == ()


@pytest.mark.parametrize("length", [1_000, 50_000])
def test_only_what_stays_and_the_first_turn_that_does_not_fit_are_counted(length: int) -> None:
    turn = [UserMessage("q"), AssistantMessage("x"), AssistantMessage("y"), AssistantMessage("a")]
    tally = Tally()
    history = [SystemMessage("s"), *turn * (length // 4)]

    kept = trim_messages(history, max_tokens=10, counter=tally)

    assert len(kept) == 9
    assert len(tally.counted) <= len(kept) + len(turn)


@pytest.mark.parametrize(("budget", "kept"), [(3, [0, 6, 7]), (7, [0, 6, 7]), (8, [*range(8)]), (10**30, [*range(8)])])
def test_a_turn_is_kept_whole_or_not_at_all(budget: int, kept: list[int]) -> None:
    assert trim_messages(CHAT, max_tokens=budget, counter="messages") == tuple(CHAT[index] for index in kept)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"strategy": "first", "max_tokens": 4}, [0, 1]),
        ({"strategy": "first", "max_tokens": 5}, [0, 1, 2, 3, 4]),
        ({"strategy": "first", "max_tokens": 7, "end_on": "assistant"}, [0, 1, 2, 3, 4, 5]),
        ({"end_on": "user"}, [0, 1, 2, 3, 4, 5, 6]),
        ({"end_on": "tool"}, [0, 1, 2, 3, 4]),
        ({"end_on": "tool", "max_tokens": 5}, [0, 1, 2, 3, 4]),
        ({"start_on": "assistant", "max_tokens": 7}, [0, 2, 3, 4, 5, 6, 7]),
        ({"start_on": "assistant", "max_tokens": 6}, [0, 5, 6, 7]),
        ({"start_on": "tool"}, [0]),
        ({"include_system": False, "max_tokens": 7}, [1, 2, 3, 4, 5, 6, 7]),
        ({"include_system": False, "max_tokens": 8}, [*range(8)]),
        ({"include_system": False, "max_tokens": 2}, [6, 7]),
    ],
    ids=str,
)  # fmt: skip
def test_options(options: dict[str, Any], kept: list[int]) -> None:
    given = {"max_tokens": 8, **options}
    assert trim_messages(CHAT, counter="messages", **given) == tuple(CHAT[index] for index in kept)


def test_what_must_stay_and_does_not_fit() -> None:
    with pytest.raises(HistoryError, match="need 3, and the budget is 2: give a larger one") as caught:
        trim_messages(CHAT, max_tokens=2, counter="messages")
    assert (caught.value.budget, caught.value.needed) == (2, 3)
    assert trim_messages(CHAT, max_tokens=2, counter="messages", oversize="keep") == (CHAT[0], *CHAT[6:])
    with pytest.raises(HistoryError):
        trim_messages(CHAT, max_tokens=0, counter="messages", strategy="first")
    assert trim_messages(CHAT, max_tokens=0, counter="messages", strategy="first", include_system=False) == ()


def test_a_part_of_the_first_message_that_does_not_fit() -> None:
    long = UserMessage("one\ntwo\nthree\nfour")

    def chars(message: Message) -> int:
        content = message.content or ""
        return (
            len(content) if isinstance(content, str) else sum(len(getattr(part, "text", "12345")) for part in content)
        )

    def trimmed(messages: Sequence[Message], budget: int, **options: Any) -> tuple[Message, ...]:
        return trim_messages(messages, max_tokens=budget, counter=chars, allow_partial=True, **options)

    assert trimmed([long, AssistantMessage("x")], 12) == (UserMessage("three\nfour"), AssistantMessage("x"))
    assert trimmed([long], 9, strategy="first") == (UserMessage("one\ntwo\n"),)
    assert trimmed([long], 7, splitter=list) == (UserMessage("ee\nfour"),)
    assert trimmed([UserMessage(["ab", IMAGE, "cd"])], 8) == (UserMessage([IMAGE, "cd"]),)
    assert trimmed([UserMessage(["ab", IMAGE, Text("c\nd", metadata={"k": 1})])], 2) == (
        UserMessage([Text("d", metadata={"k": 1})]),
    )
    with pytest.raises(HistoryError):
        trimmed([UserMessage(["a\nb", IMAGE])], 2)
    assert trim_messages(
        [UserMessage(["a\nb", IMAGE])], max_tokens=2, counter=chars, allow_partial=True, pairs=False
    ) == (UserMessage("b"),)
    assert trimmed([*CHAT[1:5], UserMessage("x")], 1) == (UserMessage("x"),)
    assert trimmed([*CHAT[1:5], UserMessage("x")], 1, strategy="first", end_on="tool") == ()
    results = ToolResponseMessage([ToolResponse("a", content="1\n2"), ToolResponse("b", content="3")])
    assert trim_messages([results], max_tokens=0, counter=lambda _: 1, allow_partial=True, pairs=False) == ()


@pytest.mark.parametrize(
    "splitter", [str.split, lambda text: [text, 1], lambda text: [text.upper()]], ids=["loses", "no text", "changes"]
)
def test_a_splitter_that_loses_text_is_refused(splitter: Any) -> None:
    with pytest.raises(HistoryError, match="the splitter must give pieces"):
        trim_messages([UserMessage("a b\nc")], max_tokens=0, counter=lambda _: 1, allow_partial=True, splitter=splitter)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 1.5}, "max_tokens must be an int, not 1.5"),
        ({"max_tokens": None}, "max_tokens must be an int, not None"),
        ({"strategy": "middle"}, "strategy must be 'last' or 'first', not 'middle'"),
        ({"oversize": "drop"}, "oversize must be 'raise' or 'keep', not 'drop'"),
        ({"strategy": "first", "start_on": "user"}, "start_on has no meaning"),
        ({"start_on": 3}, "start_on takes roles such as 'user' and message classes, not 3"),
        ({"end_on": ["user", None]}, "end_on takes roles such as 'user' and message classes, not None"),
        ({"counter": "bogus"}, "counter must be a TokenCounter"),
        ({"counter": None}, "counter must be a TokenCounter"),
        ({"counter": len}, r"the counter failed at messages\[0\]: TypeError"),
        ({"counter": lambda _: -1}, r"the counter gave -1 for messages\[0\]: a count is an int of at least 0"),
        ({"counter": lambda _: 1.0}, r"the counter gave 1.0 for messages\[0\]"),
        ({"counter": lambda _: None}, r"the counter gave None for messages\[0\]"),
        ({"counter": ListTokenCounter(lambda messages: -len(messages))}, "the counter gave -1 for 1 messages"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_options_and_counters_are_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"max_tokens": 9, "counter": "messages", **options}
    with pytest.raises(HistoryError, match=message):
        trim_messages([UserMessage("x")], **given)


def test_a_counter_that_raises_as_a_whole_is_named_too() -> None:
    class NoOverhead:
        def count(self, message: Message) -> int:
            return 1

        @property
        def overhead(self) -> int:
            raise OSError("gone")

    def fails(messages: list[Message]) -> int:
        if len(messages) > 1:
            raise PromptError("too many") if len(messages) == 2 else OSError("gone")
        return len(messages)

    with pytest.raises(HistoryError, match="the counter failed at overhead: OSError: gone"):
        count_tokens([UserMessage("x")], NoOverhead())
    with pytest.raises(HistoryError, match="the counter failed at 3 messages: OSError: gone"):
        trim_messages([UserMessage("x")] * 3, max_tokens=9, counter=ListTokenCounter(fails))
    with pytest.raises(PromptError, match="too many"):
        trim_messages([UserMessage("x")] * 2, max_tokens=9, counter=ListTokenCounter(fails))


def test_a_counter_that_raises_is_named_with_its_place() -> None:
    def fails(message: Message) -> int:
        raise RuntimeError("no tokenizer")

    with pytest.raises(
        HistoryError, match=r"the counter failed at messages\[1\]: RuntimeError: no tokenizer"
    ) as caught:
        trim_messages([UserMessage("x"), UserMessage("y")], max_tokens=9, counter=fails)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ("text", HistoryError),
        (UserMessage("x"), HistoryError),
        ({"role": "user"}, HistoryError),
        (3, HistoryError),
        ([UserMessage("x"), "text"], PromptError),
        ([UserMessage("x"), {"role": "user"}], PromptError),
        ([UserMessage("x"), None], PromptError),
    ],
    ids=str,
)
@pytest.mark.parametrize("pairs", [True, False])
def test_what_is_no_history_is_refused(messages: Any, error: type[Exception], pairs: bool) -> None:
    with pytest.raises(error, match="messages"):
        trim_messages(messages, max_tokens=9, counter="messages", pairs=pairs)


@frozen
class Note:
    """A message class of an application."""

    content: str
    message_type: ClassVar[MessageType] = MessageType.USER
    metadata: ClassVar[dict[str, Any]] = {}


def test_other_message_classes_stay_what_they_are() -> None:
    history: list[Any] = [Note("a\nb"), AssistantMessage("x"), Note("c")]
    assert trim_messages(history, max_tokens=1, counter="messages") == (Note("c"),)
    assert trim_messages(history, max_tokens=9, counter="approximate", start_on=Note) == tuple(history[2:])
    part = trim_messages(history[:1], max_tokens=1, counter=lambda note: len(note.content or ()), allow_partial=True)
    assert part == (UserMessage("b"),)


def test_the_input_is_not_changed_and_may_be_any_iterable() -> None:
    history = [*CHAT]
    kept = trim_messages(iter(history), max_tokens=3, counter="messages")
    assert history == CHAT
    assert all(any(message is old for old in CHAT) for message in kept)
    assert trim_messages(Prompt(CHAT), max_tokens=3, counter="messages") == kept
    assert trim_messages((), max_tokens=-1, counter="messages") == ()


def test_big_and_strange_histories() -> None:
    many = [str(number) for number in range(1_000)]
    turn = [
        UserMessage("q"),
        AssistantMessage(tool_calls=[ToolCall(call_id, "f") for call_id in many]),
        *[ToolResponseMessage(ToolResponse(call_id)) for call_id in random.Random(1).sample(many, len(many))],
    ]
    assert trim_messages([*turn, *turn], max_tokens=1_500, counter="messages") == tuple(turn)
    assert trim_messages([CHAT[3]] * 50_000, max_tokens=10, counter="messages") == ()
    assert len(trim_messages([AssistantMessage("x")] * 50_000, max_tokens=10, counter="messages")) == 10
    assert len(trim_messages([UserMessage("x")] * 50_000, max_tokens=10, counter="messages")) == 10
    with pytest.raises(HistoryError):
        trim_messages([SystemMessage("x")] * 50_000, max_tokens=10, counter="messages")
    same = [*CHAT[1:6]] * 10_000
    assert len(trim_messages([*same, UserMessage("x")], max_tokens=6, counter="messages")) == 6
