from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import HistoryError, MissingDependencyError, PromptError
from promptkit.history import ListTokenCounter, MessageCounter, TiktokenCounter, count_tokens, trim_messages
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.prompt import Prompt
from promptkit.tokens import ApproximateTokenCounter
from tests.history import neutral
from tests.oracles import rows

CASES = [row for row in rows("langchain_history.jsonl") if row["fn"] == "count_tokens_approximately"]

ITS_OWN = {
    "count_tokens_approximately-023": "tokens a message are set",
    "count_tokens_approximately-024": "tokens a message are set to a fraction",
    "count_tokens_approximately-035": "a developer's message is a system message here",
    "count_tokens_approximately-037": "counts are scaled by what a model reported",
}
"""Cases of LangChain's own counter, not of counting; its adapter holds them."""


def vocabularies() -> Path:
    """Find the rank files that a test dependency ships."""
    spec = find_spec("llama_index")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)), "core", "_static", "tiktoken_cache")


@cache
def vocabulary(encoding: str) -> TiktokenCounter:
    return TiktokenCounter(encoding, vocabularies())


@pytest.fixture
def tiktoken() -> TiktokenCounter:
    return vocabulary("cl100k_base")


@pytest.mark.parametrize("row", [row for row in CASES if row["id"] not in ITS_OWN], ids=lambda row: row["id"])
def test_counts_add_up(row: dict[str, Any]) -> None:
    given = row["input"]["messages"]
    history = neutral.messages(given["$prompt"] if isinstance(given, dict) else given)
    assert count_tokens(history, neutral.approximate) == row["expected"]


ONE_OF_EACH = [
    SystemMessage([Text("be brief")]),
    UserMessage(["why?", Media(b"\x00" * 100_000, "audio/wav")], name="bob"),
    AssistantMessage([Reasoning("hm"), Opaque("x", {"k": 1})], tool_calls=[ToolCall("c", "f", arguments='{"a":1}')]),
    ToolResponseMessage([ToolResponse("c", "f", content=["r", Media(url="https://example.org/a.png")])]),
    AssistantMessage(),
    UserMessage(()),
]


@pytest.mark.parametrize("name", ["messages", "approximate", "tiktoken", "list"])
def test_every_counter_takes_every_content(name: str, tiktoken: TiktokenCounter) -> None:
    counters: dict[str, Any] = {"tiktoken": tiktoken, "list": ListTokenCounter(len)}
    assert 6 <= count_tokens(ONE_OF_EACH, counters.get(name, name)) < 2_000


def test_no_messages_are_no_tokens() -> None:
    assert count_tokens([], "approximate") == 0
    assert count_tokens((), ListTokenCounter(lambda messages: 3 + len(messages))) == 0


def test_text_is_counted_exactly_and_special_tokens_are_text(tiktoken: TiktokenCounter) -> None:
    assert tiktoken.count_text("tiktoken is great!") == 6
    assert tiktoken.count_text("<|endoftext|>") > 1
    assert tiktoken.count(UserMessage("tiktoken is great!")) == 10
    assert count_tokens([UserMessage("tiktoken is great!")], tiktoken) == 13


@pytest.mark.parametrize("text", ["a" * 300_000, "世" * 100_000, "\ud83e" * 1_000, " " * 300_000, "\x00"], ids=len)
def test_hostile_text_is_counted(text: str, tiktoken: TiktokenCounter) -> None:
    assert tiktoken.count_text(text) > 0


def test_media_cost_what_the_caller_says() -> None:
    def by_name(media: Media) -> int:
        return 85 if media.name == "small" else 1_105

    for counter in (
        ApproximateTokenCounter(tokens_per_media=by_name),
        TiktokenCounter("cl100k_base", vocabularies(), tokens_per_media=by_name),
    ):
        small, large = (UserMessage([Media(b"\x89PNG\r\n\x1a\n", name=name)]) for name in ("small", "large"))
        assert counter.count(large) - counter.count(small) == 1_020


def test_the_same_vocabulary_as_tiktoken_itself(tiktoken: TiktokenCounter) -> None:
    text = "héllo 世界 🌍 def f(x): return x\n\n\t<|fim_prefix|> 12345"
    code = f"import tiktoken; print(len(tiktoken.get_encoding('cl100k_base').encode_ordinary({text!r})))"
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(vocabularies()), "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert tiktoken.count_text(text) == int(ran.stdout)


def test_an_absent_vocabulary_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        HistoryError, match=r"finds no vocabulary 'o200k_base': .* cannot be read .*TIKTOKEN_CACHE_DIR="
    ):
        TiktokenCounter(cache_dir=tmp_path)
    with pytest.raises(HistoryError, match="knows no encoding 'gpt-9'; it knows cl100k_base, o200k_base"):
        TiktokenCounter("gpt-9")


def test_a_damaged_vocabulary_is_refused_and_left_alone(tmp_path: Path) -> None:
    for file in vocabularies().iterdir():
        shutil.copy(file, tmp_path)
    damaged = sorted(tmp_path.iterdir())[1:]
    for file in damaged:
        file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(HistoryError, match=r"'cl100k_base' in .* is damaged"):
        TiktokenCounter("cl100k_base", tmp_path)
    assert all(file.exists() for file in damaged)


def test_the_vocabulary_is_found_where_tiktoken_keeps_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(vocabularies()))
    assert TiktokenCounter("cl100k_base").count_text("hello") == 1
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(HistoryError, match="data-gym-cache"):
        TiktokenCounter("cl100k_base")


def test_without_tiktoken_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'promptkit\[tiktoken\]'"):
        TiktokenCounter()


def test_counters_are_values(tiktoken: TiktokenCounter) -> None:
    again = pickle.loads(pickle.dumps(tiktoken))
    assert again == tiktoken
    assert again.count_text("hello") == 1
    assert copy.deepcopy(tiktoken) is tiktoken
    assert "memo" not in repr(tiktoken).replace("memo_size", "")
    assert pickle.loads(pickle.dumps(ListTokenCounter(len, memo_size=7))) == ListTokenCounter(len, memo_size=7)
    assert repr(MessageCounter()) == "MessageCounter()"


def test_a_text_is_encoded_once_and_the_memory_is_bounded() -> None:
    counter = TiktokenCounter("cl100k_base", vocabularies(), memo_size=4)
    encoded: list[str] = []
    encode = counter._encode

    def noted(text: str) -> list[int]:
        encoded.append(text)
        return encode(text)

    object.__setattr__(counter, "_encode", noted)
    long = "x" * 2_000
    for text in ("a", "b", "a", long, "a", "y" + long[1:], "a", long, "b"):
        counter.count_text(text)
    assert encoded == ["a", "b", long, "y" + long[1:], "b"]
    kept = [*counter._memo.young, *counter._memo.old]
    assert len(kept) <= 4
    assert all(len(str(key)) <= 1_000 for key in kept)


def test_a_counter_may_remember_nothing() -> None:
    counter = ListTokenCounter(len, memo_size=0)
    assert [counter.count(UserMessage("x")) for _ in range(3)] == [1, 1, 1]
    assert not counter._memo.young


def test_threads_share_a_counter(tiktoken: TiktokenCounter) -> None:
    shared = TiktokenCounter("cl100k_base", vocabularies(), memo_size=50)
    texts = [f"text number {number}" for number in range(200)]
    wrong: list[str] = []

    def work() -> None:
        wrong.extend(text for text in texts * 5 if shared.count_text(text) != tiktoken.count_text(text))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len({**shared._memo.young, **shared._memo.old}) <= 50


def test_a_function_of_a_list_counts_each_message_once_and_then_the_chosen_list() -> None:
    calls: list[int] = []

    def function(messages: list[Message]) -> int:
        calls.append(len(messages))
        return 3 + 10 * len(messages)

    history = [UserMessage(f"q{number}") for number in range(1_000)]
    counter = ListTokenCounter(function)

    assert len(trim_messages(history, max_tokens=103, counter=counter)) == 10
    assert calls == [0, *[1] * 11, 10]
    calls.clear()
    assert len(trim_messages(history, max_tokens=103, counter=counter)) == 10
    assert calls == [10]


def test_a_function_that_is_no_sum_stays_in_the_budget() -> None:
    counter = ListTokenCounter(lambda messages: len(messages) ** 2)
    kept = trim_messages([UserMessage("q")] * 100, max_tokens=50, counter=counter)
    assert len(kept) == 7


def test_a_function_may_refuse_an_empty_list() -> None:
    def function(messages: list[Message]) -> int:
        if not messages:
            raise ValueError("no messages")
        return 5

    assert ListTokenCounter(function).overhead == 0
    assert ListTokenCounter(function).count(UserMessage("x")) == 5


class Model:
    """A chat model that counts."""

    def count_tokens(self, prompt: Prompt) -> int:
        return 2 + sum(len(message.content or "") for message in prompt)


def test_a_chat_model_counts_exactly() -> None:
    history = [SystemMessage("abc"), UserMessage("defg"), AssistantMessage("hi"), UserMessage("x")]
    assert count_tokens(history, Model()) == 12
    assert trim_messages(history, max_tokens=6, counter=Model()) == (history[0], history[3])
    assert trim_messages(history, max_tokens=12, counter=Model()) == tuple(history)


def test_what_is_no_counter_or_no_message_is_refused() -> None:
    with pytest.raises(HistoryError, match="counter must be a TokenCounter, a chat model with count_tokens"):
        count_tokens([], 3)  # type: ignore[arg-type]
    with pytest.raises(PromptError, match=r"messages\[0\]"):
        count_tokens(["text"], "messages")  # type: ignore[list-item]


TEXTS = {
    "english": ("Nobody likes to read an answer that forgot the question, so the current turn always stays. " * 3, -0.05, 0.4),
    "german": ("Niemand liest gern eine Antwort, die die Frage vergessen hat, deshalb bleibt die aktuelle Runde. " * 3, -0.05, 0.4),
    "russian": ("Никому не нравится читать ответ, который забыл вопрос, поэтому текущая реплика остаётся. " * 3, -0.1, 0.9),
    "arabic": ("لا أحد يحب قراءة إجابة نسيت السؤال، لذلك تبقى الجولة الحالية دائما. " * 3, -0.45, 0.7),
    "thai": ("ไม่มีใครชอบอ่านคำตอบที่ลืมคำถาม ดังนั้นรอบปัจจุบันจะยังคงอยู่เสมอ " * 3, -0.45, 0.7),
    "hindi": ("किसी को भी ऐसा उत्तर पढ़ना पसंद नहीं जो प्रश्न भूल गया हो। " * 3, -0.45, 1.3),
    "chinese": ("没有人喜欢读忘记了问题的回答，因此当前回合始终保留。" * 3, -0.2, 0.5),
    "japanese": ("質問を忘れた答えを読みたい人はいないので、現在のターンは常に残ります。" * 3, -0.2, 0.5),
    "korean": ("질문을 잊은 답변을 읽고 싶어하는 사람은 없으므로 현재 차례는 항상 남습니다. " * 3, -0.2, 0.5),
    "code": (Path(__file__).read_text("utf-8")[:1_200], 0, 0.35),
    "json": (json.dumps([{"id": n, "city": "Oslo", "temperature": 3.5 + n, "tags": ["a", "b"]} for n in range(30)]), -0.25, 0),
    "base64": (base64.b64encode(random.Random(1).randbytes(3_000)).decode(), 0, 0.15),
    "emoji": ("🙂🚀🎉🦄🔥👍😂🤖🌍💡" * 3, -0.1, 0.5),
}  # fmt: skip
"""Texts, and how much too low and too high their estimate may be, as `ApproximateTokenCounter` states it."""


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_an_estimate_is_off_by_what_is_stated(encoding: str, kind: str) -> None:
    text, low, high = TEXTS[kind]
    estimate = ApproximateTokenCounter(tokens_per_message=0).count(UserMessage(text))
    error = estimate / vocabulary(encoding).count_text(text) - 1
    assert low <= error <= high
