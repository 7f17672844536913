from __future__ import annotations

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit import contracts
from promptkit.errors import ModelError, PromptError, SerializationError
from promptkit.messages import AssistantMessage, SystemMessage, ToolCall, UserMessage
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, Usage
from promptkit.testing import Answer, EchoChatModel, RecordingChatModel, ReplayChatModel, ScriptedChatModel

HELLO = Prompt("Hello")
WHOLE = ChatResponse(Generation(AssistantMessage("a b"), "stop"), id="r1", usage=Usage(1, 2))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("a b", ChatResponse(Generation(AssistantMessage("a b"), "stop"))),
        (AssistantMessage("x"), ChatResponse(Generation(AssistantMessage("x"), "stop"))),
        (
            AssistantMessage(tool_calls=[ToolCall("c", "f")]),
            ChatResponse(Generation(AssistantMessage(tool_calls=[ToolCall("c", "f")]), "tool_calls")),
        ),
        (WHOLE, WHOLE),
        (["a ", ChatChunk("b", finish_reason="stop")], ChatResponse(Generation(AssistantMessage("a b"), "stop"))),
        (lambda prompt: prompt.text, ChatResponse(Generation(AssistantMessage("Hello"), "stop"))),
    ],
    ids=["text", "message", "calls", "response", "chunks", "function"],
)
def test_every_form_gives_the_answer_of_the_script(answer: Answer, expected: ChatResponse) -> None:
    chat_model = ScriptedChatModel([answer] * 4)

    async def gather() -> list[ChatChunk]:
        return [chunk async for chunk in chat_model.astream(HELLO)]

    assert chat_model.call(HELLO) == expected
    assert ChatResponse.from_chunks(chat_model.stream(HELLO)) == expected
    assert asyncio.run(chat_model.acall(HELLO)) == expected
    assert ChatResponse.from_chunks(asyncio.run(gather())) == expected
    assert chat_model.prompts == (HELLO,) * 4
    assert chat_model.left == 0


def test_errors_of_the_script_are_raised() -> None:
    chat_model = ScriptedChatModel([ModelError("busy"), RuntimeError("no"), ["par", ModelError("broke")]])

    with pytest.raises(ModelError, match="busy"):
        chat_model.call(HELLO)
    with pytest.raises(RuntimeError, match="no"):
        list(chat_model.stream(HELLO))
    with pytest.raises(ModelError, match="broke") as caught:
        chat_model.call(HELLO)
    assert caught.value.partial is not None
    assert caught.value.partial.text == "par"


def test_a_script_ends() -> None:
    chat_model = ScriptedChatModel([])

    with pytest.raises(ModelError, match="asks for one more"):
        chat_model.call(HELLO)


@pytest.mark.parametrize("answers", ["text", AssistantMessage("x"), WHOLE, [3], [["a", 3]], [None]], ids=repr)
def test_what_is_no_script_is_refused(answers: Any) -> None:
    with pytest.raises(PromptError):
        ScriptedChatModel(answers)


def test_a_function_must_give_an_answer() -> None:
    chat_model = ScriptedChatModel([lambda prompt: 3])  # type: ignore[list-item,return-value]

    with pytest.raises(PromptError, match="answer 0"):
        chat_model.call(HELLO)


def test_threads_share_a_script() -> None:
    chat_model = ScriptedChatModel([str(number) for number in range(200)])

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: chat_model.call(HELLO).text, range(200)))

    assert sorted(map(int, texts)) == list(range(200))


@given(st.text())
def test_streams_lose_no_white_space(text: str) -> None:
    chunks = list(ScriptedChatModel([text]).stream(HELLO))

    assert "".join(chunk.text for chunk in chunks) == text
    assert chunks[-1].finish_reason == "stop"


def test_an_echo_gives_the_last_users_words() -> None:
    echo = EchoChatModel()
    prompt = Prompt([SystemMessage("s"), UserMessage(["Is there"]), UserMessage(["an echo", "?"])])

    response = echo.call(prompt)

    assert response.text == "an echo?"
    assert response.usage.prompt_tokens == echo.count_tokens(prompt)
    assert ChatResponse.from_chunks(echo.stream(prompt)) == response == asyncio.run(echo.acall(prompt))
    assert asyncio.run(contracts.acall(echo, prompt)) == response
    assert echo.call(Prompt([])).text == ""


def test_an_echo_streams_without_blocking() -> None:
    async def gather() -> list[ChatChunk]:
        return [chunk async for chunk in EchoChatModel().astream(Prompt("a b c"))]

    assert [chunk.text for chunk in asyncio.run(gather())] == ["a ", "b ", "c"]


def test_a_function_gives_an_answer_not_a_function() -> None:
    def nested(prompt: Prompt) -> Any:
        return lambda _: prompt.text

    with pytest.raises(PromptError, match="gave a function"):
        ScriptedChatModel([nested]).call(HELLO)


FORMS = ("call", "stream", "acall", "astream")


def ask(chat_model: Any, prompt: Prompt, form: str) -> ChatResponse:
    """Ask a model in one of the four forms, and give the whole answer."""

    async def later() -> ChatResponse:
        if form == "acall":
            return await contracts.acall(chat_model, prompt)
        return ChatResponse.from_chunks([chunk async for chunk in contracts.astream(chat_model, prompt)])

    if form == "call":
        return contracts.call(chat_model, prompt)
    if form == "stream":
        return ChatResponse.from_chunks(contracts.stream(chat_model, prompt))
    return asyncio.run(later())


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("replayed", FORMS)
@pytest.mark.parametrize("recorded", FORMS)
def test_what_was_recorded_is_replayed(tmp_path: Path, no_sockets: None, recorded: str, replayed: str) -> None:
    call = AssistantMessage("Well, ", tool_calls=[ToolCall("c", "f", arguments={"a": 1})], metadata={"k": [1]})
    answers: list[Answer] = [ChatResponse(Generation(call, "tool_calls"), id="r", usage=Usage(1, 2)), "Grüße \u2028 🙂"]
    prompts = [HELLO, Prompt([SystemMessage("Be brief."), UserMessage("Hi")], ChatOptions(seed=7))]
    recording = RecordingChatModel(ScriptedChatModel(answers), tmp_path / "a.jsonl")
    heard = [ask(recording, prompt, recorded) for prompt in prompts]

    replay = ReplayChatModel(tmp_path / "a.jsonl")

    assert [ask(replay, prompt, replayed) for prompt in reversed(prompts)] == heard[::-1]


def test_chunks_are_replayed_as_they_came(tmp_path: Path) -> None:
    chunks: list[ChatChunk | str | Exception] = ["One ", "two ", ChatChunk("three", finish_reason="stop")]
    recorded = list(RecordingChatModel(ScriptedChatModel([chunks]), tmp_path / "a.jsonl").stream(HELLO))

    assert list(ReplayChatModel(tmp_path / "a.jsonl").stream(HELLO)) == recorded


def test_one_request_may_have_several_answers(tmp_path: Path) -> None:
    recording = RecordingChatModel(ScriptedChatModel(["1", "2"]), tmp_path / "a.jsonl")
    for at in range(2):
        recording.call(Prompt([UserMessage("Hello", id=f"id{at}")]))  # ids do not matter
    replay = ReplayChatModel(tmp_path / "a.jsonl")

    assert [replay.call(HELLO).text for _ in range(3)] == ["1", "2", "2"]


def test_what_failed_or_was_left_is_not_recorded(tmp_path: Path) -> None:
    recording = RecordingChatModel(
        ScriptedChatModel([ModelError("no"), ["a", ModelError("no")], "a b"]), tmp_path / "a"
    )
    for form in ("call", "stream"):
        with pytest.raises(ModelError):
            ask(recording, HELLO, form)
    stream = recording.stream(HELLO)
    next(stream)
    stream.close()

    assert not (tmp_path / "a").exists()


def test_a_miss_names_the_nearest_recording(tmp_path: Path) -> None:
    recording = RecordingChatModel(EchoChatModel(), tmp_path / "a.jsonl")
    recording.call(Prompt([SystemMessage("Be brief."), UserMessage("One")]))
    recording.call(Prompt([SystemMessage("Be brief."), UserMessage("Two")], ChatOptions(temperature=0)))
    replay = ReplayChatModel(tmp_path / "a.jsonl")

    with pytest.raises(
        ModelError, match=r'nearest, line 2, differs at messages\[1\]\.content: recorded "Two", asked "2"'
    ):
        replay.call(Prompt([SystemMessage("Be brief."), UserMessage("2")], ChatOptions(temperature=0)))
    with pytest.raises(ModelError, match=r"line 1, differs at options\.seed: recorded nothing, asked 1"):
        replay.call(Prompt([SystemMessage("Be brief."), UserMessage("One")], ChatOptions(seed=1)))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(ModelError, match="empty holds no recordings"):
        ReplayChatModel(tmp_path / "empty").call(HELLO)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"request": {"promptkit": 99, "type": "prompt"}}, "line 1: .*99"),
        ({"request": {}}, "line 1"),
        ({"request": None}, "line 1"),
        ({"response": {"promptkit": 1, "type": "usage"}}, "line 1: its answer is none"),
        ({"response": None}, "line 1"),
        ({"chunks": 5}, "line 1"),
        ({"chunks": [{"promptkit": 1, "type": "usage"}]}, "line 1: its answer is none"),
    ],
    ids=repr,
)
def test_a_damaged_line_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "a.jsonl"
    RecordingChatModel(EchoChatModel(), path).call(HELLO)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    with pytest.raises(SerializationError, match=told):
        ReplayChatModel(path)


@pytest.mark.parametrize("line", [b"{", b"[]", b"7", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf{}"])
def test_a_line_that_is_no_json_is_named(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "a").write_bytes(line)

    with pytest.raises(SerializationError, match="line 1"):
        ReplayChatModel(tmp_path / "a")


def test_threads_may_record_at_once(tmp_path: Path) -> None:
    recording = RecordingChatModel(EchoChatModel(), tmp_path / "a.jsonl")
    prompts = [Prompt(f"{n}") for n in range(50)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(recording.call, prompts))
    replay = ReplayChatModel(tmp_path / "a.jsonl")

    assert [replay.call(prompt).text for prompt in prompts] == [prompt.text for prompt in prompts]
