"""Measure trimming, filtering and merging against a scan from the kept end and against LangChain."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from promptkit.content import Media, Text
from promptkit.history import TiktokenCounter, count_tokens, filter_messages, merge_message_runs, trim_messages
from promptkit.messages import AssistantMessage, Message, UserMessage
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved
from tests.history.test_counters import vocabularies

WORDS = [
    "the",
    "model",
    "keeps",
    "every",
    "turn",
    "of",
    "a",
    "long",
    "conversation",
    "and",
    "answers",
    "in",
    "order",
    "while",
    "tools",
    "report",
    "what",
    "they",
    "found",
]
IMAGE = "https://example.org/a.png"


def chat(length: int) -> list[UserMessage | AssistantMessage]:
    """Make alternating messages of about 130 characters."""
    pick = random.Random(length).choices
    texts = (" ".join(pick(WORDS, k=25)) for _ in range(length))
    return [(UserMessage, AssistantMessage)[number % 2](text) for number, text in enumerate(texts)]


def counter(memo_size: int = 0) -> TiktokenCounter:
    """Make a counter; it remembers nothing unless told to."""
    return TiktokenCounter("cl100k_base", vocabularies(), memo_size=memo_size)


def scanning(history: Sequence[Message], encode: Callable[[str], list[int]], budget: int) -> Call:
    """Make the hand-written limit: count from the end until the budget is used up."""

    def scan() -> list[Message]:
        left = budget - 3
        kept = 0
        for message in reversed(history):
            left -= 4 + len(encode(str(message.content)))
            if left < 0:
                break
            kept += 1
        return list(history[-kept:])

    return scan


def trimming_peer(history: Sequence[Message], encode: Callable[[str], list[int]], budget: int) -> Callable[[], Call]:
    """Prepare LangChain's trimming by the same counts."""

    def prepare() -> Call:
        from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
        from langchain_core.messages import trim_messages as trim

        theirs = [(HumanMessage if isinstance(one, UserMessage) else AIMessage)(str(one.content)) for one in history]

        def count(messages: list[BaseMessage]) -> int:
            return 3 + sum(4 + len(encode(str(message.content))) for message in messages)

        return lambda: trim(theirs, max_tokens=budget, token_counter=count, start_on="human")

    return prepare


def bench_trim() -> list[Row]:
    rows: list[Row] = []
    count, history = counter(), chat(10_000)
    encode = count._encode
    half = count_tokens(history, count) // 2
    for name, budget, at_most, faster, rounds in (("4,000 tokens", 4_000, 1.5, 50, 9), ("half", half, None, 8, 3)):

        def ours(budget: int = budget) -> object:
            return trim_messages(history, max_tokens=budget, counter=count)

        calls: dict[str, Call] = {"ours": ours, "scan from the end": scanning(history, encode, budget)}
        calls |= installed({"langchain_core": trimming_peer(history, encode, budget)})
        times = interleaved(calls, rounds=rounds)
        limits = {} if at_most is None else {"scan from the end": at_most}
        rows += compare(f"trim 10,000 messages to {name}", times, at_most=limits, faster={"langchain_core": faster})
    warm = counter(memo_size=20_000)
    times = interleaved({"ours": lambda: trim_messages(history, max_tokens=half, counter=warm), "without memory": ours})
    rows += compare("trim 10,000 messages to half, texts known", times)
    return rows


def bench_trim_growth() -> list[Row]:
    count = counter()

    def make(length: int) -> Call:
        history = chat(length)
        return lambda: trim_messages(history, max_tokens=4_000, counter=count)

    return [growth("trim to 4,000 tokens", make, (1_000, 10_000, 50_000), at_most=0.1)]


def bench_filter_and_merge_growth() -> list[Row]:
    def filtering(length: int) -> Call:
        history = chat(length)
        return lambda: filter_messages(history, include_types="user")

    def merging(length: int) -> Call:
        history = [UserMessage([Text(f"part {number}"), Media(url=IMAGE)]) for number in range(length)]
        return lambda: merge_message_runs(history)

    return [
        growth("filter messages", filtering, (1_000, 10_000, 50_000), at_most=1.15),
        growth("merge messages with parts", merging, (1_000, 10_000, 50_000), at_most=1.15),
    ]


def bench_filter_and_merge() -> list[Row]:
    def filtering_peer() -> Call:
        from langchain_core.messages import AIMessage, HumanMessage
        from langchain_core.messages import filter_messages as filter_theirs

        theirs = [(HumanMessage if isinstance(one, UserMessage) else AIMessage)(str(one.content)) for one in history]
        return lambda: filter_theirs(theirs, include_types=["human"])

    def merging_peer() -> Call:
        from langchain_core.messages import HumanMessage
        from langchain_core.messages import merge_message_runs as merge_theirs

        theirs = [HumanMessage(content=[{"type": "text", "text": "look", "cache": True}]) for _ in range(2_000)]
        return lambda: merge_theirs(theirs)

    history = chat(10_000)
    parts = [UserMessage([Text("look", metadata={"cache": True})]) for _ in range(2_000)]
    filtering = interleaved(
        {"ours": lambda: filter_messages(history, include_types="user")} | installed({"langchain_core": filtering_peer})
    )
    merging = interleaved(
        {"ours": lambda: merge_message_runs(parts)} | installed({"langchain_core": merging_peer}), rounds=1
    )
    return [
        *compare("filter 10,000 messages by role", filtering),
        *compare("merge 2,000 messages with a part each", merging, faster={"langchain_core": 20}),
    ]
