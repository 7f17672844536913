"""Hold what memory keeps: each new message once, whole tool rounds, the turn of a failing call, a broken answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from promptkit.client import ChatClient, ChatClientRequest
from promptkit.client.advisors import AsyncCallNext, CallNext, MemoryAdvisor, advisor
from promptkit.contracts import ChatMemory
from promptkit.errors import MemoryStoreError, ModelError, PromptError, ToolLimitError
from promptkit.history import check_history
from promptkit.memory.sqlite import SQLiteChatMemoryRepository
from promptkit.memory.window import MessageWindowChatMemory, TokenWindowChatMemory
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    Message,
    MessageType,
    SystemMessage,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation
from promptkit.testing import Answer, EchoChatModel, ScriptedChatModel
from promptkit.tools import ToolCallingManager, tool
from tests import oracles
from tests.client.forms import ASYNC, FORMS, StreamModel, ask, bare, said, wish
from tests.memory.neutral import message as neutral

BUGS = {row["id"]: row for row in oracles.rows("bug_reports_client.jsonl")}
EACH_FORM = pytest.mark.parametrize("form", FORMS)


class ListMemory:
    """Have nothing but what the protocol asks for, and no order between threads."""

    def __init__(self) -> None:
        self.conversations: dict[str, list[Message]] = {}

    def add(self, conversation_id: str, messages: Message | Iterable[Message]) -> None:
        assert isinstance(messages, Sequence)
        self.conversations[conversation_id] = [*self.get(conversation_id), *messages]

    def get(self, conversation_id: str) -> tuple[Message, ...]:
        return tuple(self.conversations.get(conversation_id, ()))

    def clear(self, conversation_id: str) -> None:
        self.conversations.pop(conversation_id, None)


@pytest.fixture(params=["messages", "tokens", "sqlite", "list"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ChatMemory]:
    if request.param == "sqlite":
        with SQLiteChatMemoryRepository(tmp_path / "chat.db") as repository:
            yield MessageWindowChatMemory(100, repository=repository)
        return
    made: dict[str, ChatMemory] = {
        "messages": MessageWindowChatMemory(100),
        "tokens": TokenWindowChatMemory(10_000),
        "list": ListMemory(),
    }
    yield made[request.param]


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(return_direct=True)
def final(text: str) -> str:
    """Answer directly."""
    return text


def client_of(memory: ChatMemory, *script: Answer, model: Any = ScriptedChatModel, **options: Any) -> ChatClient:
    tools = options.pop("tools", ())
    return ChatClient(model(script), tools=tools, advisors=[MemoryAdvisor(memory, **options)])


def prompts(client: ChatClient) -> tuple[Prompt, ...]:
    return client.chat_model.prompts  # type: ignore[union-attr,no-any-return]


def told(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [(message.message_type.value, bare(message).text or "") for message in messages]


# What is kept.


@EACH_FORM
def test_a_conversation_goes_on(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, "Hello, Ada.", "Ada.")

    ask(client.prompt("I am Ada.").conversation("c"), form)
    ask(client.prompt("Who am I?").conversation("c"), form)

    prompt = prompts(client)[1]
    assert told(prompt) == [("user", "I am Ada."), ("assistant", "Hello, Ada."), ("user", "Who am I?")]
    assert told(memory.get("c")) == [*told(prompt), ("assistant", "Ada.")]
    assert memory.get("other") == ()


@EACH_FORM
def test_equal_texts_stay_two_messages(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, *["Fine."] * 3)

    for _ in range(3):
        ask(client.prompt("Again.").conversation("c"), form)
    ask(
        client_of(memory, "Both?").prompt().messages([UserMessage("Same."), UserMessage("Same.")]).conversation("c"),
        form,
    )

    texts = [text for _, text in told(memory.get("c"))]
    assert texts == ["Again.", "Fine."] * 3 + ["Same.", "Same.", "Both?"]
    assert len({bare_id(message) for message in memory.get("c")}) == len(texts)


def bare_id(message: Message) -> str | None:
    return message.id  # type: ignore[attr-defined,no-any-return]


@EACH_FORM
def test_a_message_with_an_id_is_kept_once(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, "1", "2", "3")
    request = client.prompt().messages(UserMessage("Hi", id="u1")).conversation("c")

    ask(request, form)
    ask(request, form)
    ask(request.user("And?"), form)

    assert told(memory.get("c")) == [
        ("user", "Hi"), ("assistant", "1"), ("assistant", "2"), ("user", "And?"), ("assistant", "3")
    ]  # fmt: skip
    assert told(prompts(client)[2])[-2:] == [("user", "Hi"), ("user", "And?")]


@EACH_FORM
def test_a_whole_history_with_ids_is_not_doubled(form: str, memory: ChatMemory) -> None:
    """The application sends all of it each time, as a browser does."""
    history: list[BuiltinMessage] = []
    for turn in range(3):
        client = client_of(memory, f"a{turn}")
        history.append(UserMessage(f"u{turn}", id=f"id{turn}"))
        response = ask(client.prompt().messages(history).conversation("c"), form)
        assert list(prompts(client)[0]) == history
        history.append(response.results[0].output)

    assert list(memory.get("c")) == history


@EACH_FORM
def test_system_text_is_first_and_not_kept(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, "1", "2").mutate(system="Be brief.")

    ask(client.prompt("u1").conversation("c"), form)
    ask(client.prompt("u2").conversation("c"), form)

    prompt = prompts(client)[1]
    assert told(prompt) == [("system", "Be brief."), ("user", "u1"), ("assistant", "1"), ("user", "u2")]
    assert [text for _, text in told(memory.get("c"))] == ["u1", "1", "u2", "2"]


@EACH_FORM
def test_system_text_is_kept_once_on_demand(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, "1", "2", "3", store_system=True)

    ask(client.prompt("u1").system("Be brief.").conversation("c"), form)
    ask(client.prompt("u2").system("Be brief.").conversation("c"), form)
    ask(client.prompt("u3").conversation("c"), form)

    for prompt in prompts(client):
        assert told(prompt)[0] == ("system", "Be brief.")
        assert [kind for kind, _ in told(prompt)].count("system") == 1
    assert [text for _, text in told(memory.get("c"))] == ["Be brief.", "u1", "1", "u2", "2", "u3", "3"]


@EACH_FORM
def test_stored_system_text_stays_in_every_round_of_tools(form: str, memory: ChatMemory) -> None:
    memory.add("c", [SystemMessage("Be brief.", id="s")])
    client = client_of(memory, said(None, wish("add", a=1, b=2)), "3", tools=[add])

    ask(client.prompt("1 + 2?").conversation("c"), form)

    assert [told(prompt)[0] for prompt in prompts(client)] == [("system", "Be brief.")] * 2


@EACH_FORM
def test_a_late_system_message_goes_first(form: str) -> None:
    memory = ListMemory()
    memory.add("c", [UserMessage("u"), AssistantMessage("a")])
    client = client_of(memory, "1", "2")

    ask(client.prompt().messages([UserMessage("q"), SystemMessage("s")]).conversation("c"), form)

    assert [text for _, text in told(prompts(client)[0])] == ["s", "u", "a", "q"]


@EACH_FORM
def test_every_generation_is_kept(form: str, memory: ChatMemory) -> None:
    response = ChatResponse([Generation(AssistantMessage("one")), Generation(AssistantMessage("two", id="mine"))])
    client = client_of(memory, response)

    found = ask(client.prompt("?").conversation("c"), form)

    assert [result.output for result in found.results] == list(memory.get("c"))[1:]
    assert found.results[1].output.id == "mine"


@EACH_FORM
def test_messages_that_advisors_add_are_kept(form: str, memory: ChatMemory) -> None:
    note = advisor(before=lambda request: request.followed_by(UserMessage("(noted)")))
    client = client_of(memory, "ok").mutate(advisors=[note, MemoryAdvisor(memory)])

    ask(client.prompt("hi").conversation("c"), form)

    assert [text for _, text in told(memory.get("c"))] == ["hi", "(noted)", "ok"]


def test_what_a_model_is_told_of_the_form_is_not_kept(memory: ChatMemory) -> None:
    client = client_of(memory, "42")

    assert client.prompt("6 x 7?").conversation("c").call().entity(int) == 42
    assert told(memory.get("c")) == [("user", "6 x 7?"), ("assistant", "42")]


# What is shown.


@EACH_FORM
def test_a_window_holds_for_what_the_model_sees(form: str) -> None:
    memory = MessageWindowChatMemory(3)
    client = client_of(memory, *"1234")

    for text in "abcd":
        ask(client.prompt(text).conversation("c"), form)

    assert [text for _, text in told(prompts(client)[3])] == ["c", "3", "d"]
    assert memory.repository.count("c") == 8


@EACH_FORM
def test_a_window_never_cuts_the_request_itself(form: str) -> None:
    memory = MessageWindowChatMemory(1)
    client = client_of(memory, *"12")

    for text in "ab":
        ask(client.prompt().messages([UserMessage(f"{text}1"), UserMessage(f"{text}2")]).conversation("c"), form)

    assert [text for _, text in told(prompts(client)[1])] == ["b1", "b2"]


@pytest.mark.parametrize("order", [100, 300], ids=["outside", "inside"])
@pytest.mark.parametrize("size", range(1, 8))
def test_whatever_the_window_prompts_are_valid_and_say_nothing_twice(size: int, order: int) -> None:
    memory = MessageWindowChatMemory(size)
    script: list[Answer] = []
    for turn in range(4):
        script += [said("w", wish("add", f"{turn}.{n}", a=1, b=1), wish("add", f"{turn}:{n}", a=1, b=1)) for n in "ab"]
        script.append(said("a"))
    client = client_of(memory, *script, tools=[add], order=order, store_system=True).mutate(system="S")

    for form in FORMS:
        ask(client.prompt("u2").messages("u1").conversation("c"), form)

    for prompt in prompts(client):
        ids = [bare_id(message) for message in prompt]
        assert check_history(prompt.messages, "openai") == ()
        assert len(ids) == len({*ids})
        assert [message.message_type for message in prompt].count(MessageType.SYSTEM) == 1
        assert prompt.messages[0].message_type is MessageType.SYSTEM
    kept = [stored.message for stored in memory.repository.read("c")]
    assert len(kept) == 1 + 4 * (7 if order == 300 else 3)
    assert check_history(kept, "openai") == ()


# Tools.


@EACH_FORM
def test_rounds_are_kept_whole(form: str, memory: ChatMemory) -> None:
    script = [said("Let me see.", wish("add", "1", a=1, b=2), wish("add", "2", a=3, b=4)), said("3 and 7.")]
    client = client_of(memory, *script, "Yes.", tools=[add])

    ask(client.prompt("Add.").conversation("c"), form)
    ask(client.prompt("Sure?").conversation("c"), form)

    kept = memory.get("c")
    assert [kind for kind, _ in told(kept)] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert list(map(bare, prompts(client)[2])) == list(map(bare, kept[:-1]))
    assert check_history(kept) == ()


@EACH_FORM
def test_outside_of_the_loop_only_question_and_answer_are_kept(form: str, memory: ChatMemory) -> None:
    script = [said("Let me see.", wish("add", a=1, b=2)), said("It is 3.")]
    client = client_of(memory, *script, tools=[add], order=100)

    ask(client.prompt("Add.").conversation("c"), form)

    assert told(memory.get("c")) == [("user", "Add."), ("assistant", "It is 3.")]


@EACH_FORM
def test_a_direct_result_is_kept_with_its_call(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, said(None, wish("final", text="x")), tools=[final])

    ask(client.prompt("?").conversation("c"), form)

    assert [kind for kind, _ in told(memory.get("c"))] == ["user", "assistant", "tool", "assistant"]
    assert check_history(memory.get("c")) == ()


@EACH_FORM
def test_a_tool_loop_that_is_cut_leaves_a_valid_history(form: str, memory: ChatMemory) -> None:
    endless = [said(None, wish("add", str(n), a=1, b=2)) for n in range(9)]
    client = ChatClient(
        ScriptedChatModel(endless),
        tools=[add],
        advisors=[MemoryAdvisor(memory), advisor_of(limit=3)],
    )

    with pytest.raises(ToolLimitError):
        ask(client.prompt("Add.").conversation("c"), form)

    assert len(memory.get("c")) == 7
    assert check_history(memory.get("c")) == ()


def advisor_of(**options: Any) -> Any:
    from promptkit.client.advisors import ToolCallingAdvisor

    return ToolCallingAdvisor(ToolCallingManager((), **options))


@EACH_FORM
def test_a_model_that_fails_between_rounds_leaves_the_rounds(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, said("Wait.", wish("add", a=1, b=2)), ModelError("down"), tools=[add])

    with pytest.raises(ModelError):
        ask(client.prompt("Add.").conversation("c"), form)

    assert [kind for kind, _ in told(memory.get("c"))] == ["user", "assistant", "tool"]
    assert check_history(memory.get("c")) == ()


# Failures.


@EACH_FORM
def test_the_turn_of_the_user_stays_when_the_model_fails(form: str, memory: ChatMemory) -> None:
    client = client_of(memory, ModelError("down"), "Here.")

    with pytest.raises(ModelError):
        ask(client.prompt("Hello?").conversation("c"), form)
    ask(client.prompt("Hello?").conversation("c"), form)

    assert told(memory.get("c")) == [("user", "Hello?"), ("user", "Hello?"), ("assistant", "Here.")]


@EACH_FORM
@pytest.mark.parametrize("error", [ModelError("cut"), ConnectionError("cut")], ids=["typed", "raw"])
def test_a_broken_answer_is_kept_and_marked(form: str, error: Exception, memory: ChatMemory) -> None:
    client = client_of(memory, ["Once ", "upon", error], model=StreamModel)

    with pytest.raises((ModelError, ConnectionError)):
        ask(client.prompt("A story.").conversation("c"), form)

    kept = memory.get("c")
    assert told(kept) == [("user", "A story."), ("assistant", "Once upon")]
    assert kept[1].metadata == {"partial": True}
    assert bare_id(kept[1])


@EACH_FORM
def test_a_broken_call_is_not_kept(form: str, memory: ChatMemory) -> None:
    whole = said("Let me ", wish("add", a=1, b=2)).to_chunks()
    client = client_of(memory, [*whole, ModelError("cut")], [ModelError("cut")], model=StreamModel)

    for _ in range(2):
        with pytest.raises(ModelError):
            ask(client.prompt("Add.").conversation("c"), form)

    kept = memory.get("c")
    assert told(kept) == [("user", "Add."), ("assistant", "Let me "), ("user", "Add.")]
    assert kept[1].metadata == {"partial": True}
    assert check_history(kept) == ()


def test_what_a_reader_left_is_kept_and_marked(memory: ChatMemory) -> None:
    client = client_of(memory, "Once upon a time")

    with closing(client.prompt("A story.").conversation("c").stream().chunks()) as chunks:  # type: ignore[type-var]
        next(chunks)
        next(chunks)

    kept = memory.get("c")
    assert told(kept) == [("user", "A story."), ("assistant", "Once upon ")]
    assert kept[1].metadata == {"partial": True}


def test_what_an_async_reader_left_is_kept_and_marked(memory: ChatMemory) -> None:
    client = client_of(memory, "Once upon a time")

    async def read() -> None:
        async with aclosing(client.prompt("A story.").conversation("c").astream().content()) as texts:  # type: ignore[type-var]
            async for _ in texts:
                break

    asyncio.run(read())

    assert told(memory.get("c")) == [("user", "A story."), ("assistant", "Once ")]


def test_what_a_cancelled_reader_had_is_kept_and_marked(memory: ChatMemory) -> None:
    async def main() -> None:
        here = asyncio.Event()

        class Stuck:
            async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
                yield ChatChunk("Once ")
                here.set()
                await asyncio.sleep(60)

        client = ChatClient(Stuck(), advisors=[MemoryAdvisor(memory)])  # type: ignore[arg-type]
        request = client.prompt("A story.").conversation("c")
        task = asyncio.create_task(request.astream().response())
        await here.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    kept = memory.get("c")
    assert told(kept) == [("user", "A story."), ("assistant", "Once ")]
    assert kept[1].metadata == {"partial": True}


def test_an_answer_that_was_finished_is_not_marked(memory: ChatMemory) -> None:
    """A reader that leaves at the finish reason has it all; so has one that leaves at the chunk behind it."""
    client = client_of(memory, "One.", "Two.")
    for stop in ("finish_reason", "message_id"):
        with closing(client.prompt("?").conversation("c").stream().chunks()) as chunks:  # type: ignore[type-var]
            next(chunk for chunk in chunks if getattr(chunk, stop))

    kept = memory.get("c")
    assert told(kept) == [("user", "?"), ("assistant", "One."), ("user", "?"), ("assistant", "Two.")]
    assert not any(message.metadata for message in kept)


def test_an_unread_stream_asks_and_keeps_nothing(memory: ChatMemory) -> None:
    client = client_of(memory, "x")

    client.prompt("?").conversation("c").stream().chunks()

    assert memory.get("c") == ()


@EACH_FORM
def test_a_failing_store_is_heard(form: str) -> None:
    class Broken(ListMemory):
        def add(self, conversation_id: str, messages: Message | Iterable[Message]) -> None:
            raise MemoryStoreError("disk full", conversation_id=conversation_id)

    client = client_of(Broken(), "x")

    with pytest.raises(MemoryStoreError, match="disk full"):
        ask(client.prompt("?").conversation("c"), form)
    assert prompts(client) == ()


@EACH_FORM
def test_what_outer_advisors_do_after_the_answer_is_not_kept(form: str, memory: ChatMemory) -> None:
    def fail(request: ChatClientRequest, response: ChatResponse) -> ChatResponse:
        raise ValueError("after")

    client = client_of(memory, "x").mutate(advisors=[advisor(after=fail), MemoryAdvisor(memory)])

    with pytest.raises(ValueError, match="after"):
        ask(client.prompt("?").conversation("c"), form)
    assert told(memory.get("c")) == [("user", "?"), ("assistant", "x")]


@EACH_FORM
def test_an_inner_advisor_that_fails_after_the_answer_leaves_the_question(form: str) -> None:
    memory = ListMemory()

    def fail(request: ChatClientRequest, response: ChatResponse) -> ChatResponse:
        raise ValueError("after")

    inner = advisor(after=fail, order=400)
    client = client_of(memory, "x").mutate(advisors=[inner, MemoryAdvisor(memory)])

    with pytest.raises(ValueError, match="after"):
        ask(client.prompt("?").conversation("c"), form)
    assert told(memory.get("c"))[0] == ("user", "?")
    assert all(message.metadata in ({}, {"partial": True}) for message in memory.get("c"))


def test_a_memory_is_checked() -> None:
    for wrong in (None, "memory", MessageWindowChatMemory, object()):
        with pytest.raises(PromptError, match="takes a ChatMemory"):
            MemoryAdvisor(wrong)  # type: ignore[arg-type]
    assert repr(MemoryAdvisor(ListMemory())) == "MemoryAdvisor(ListMemory, order=300)"


# Restart, threads, tasks.


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    for turn in range(3):
        with SQLiteChatMemoryRepository(tmp_path / "chat.db") as repository:
            client = client_of(MessageWindowChatMemory(repository=repository), f"a{turn}")
            client.prompt(f"u{turn}").conversation("c").call().content()
            texts = [text for _, text in told(prompts(client)[0])]

    assert texts == ["u0", "a0", "u1", "a1", "u2"]


def test_threads_in_one_conversation(memory: ChatMemory) -> None:
    @tool
    def twice(n: int) -> int:
        """Double a number."""
        return 2 * n

    def answer(prompt: Prompt) -> Any:
        last = bare(prompt.messages[-1])
        if isinstance(last, ToolResponseMessage):
            return AssistantMessage(last.responses[0].text)
        return said(None, wish("twice", last.text or "", n=int(last.text or 0))).results[0].output

    class Counting:
        def call(self, prompt: Prompt) -> ChatResponse:
            assert check_history(prompt, "openai") == ()
            return ChatResponse(Generation(answer(prompt)))

    client = ChatClient(Counting(), tools=[twice], advisors=[MemoryAdvisor(memory)])
    failures: list[Exception] = []

    def work(first: int) -> None:
        try:
            for n in range(first, first + 5):
                assert client.prompt(str(n)).conversation("c").call().content() == str(2 * n)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(10 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    kept = memory.get("c")
    assert len(kept) == 80
    assert len({bare_id(message) for message in kept}) == 80
    assert check_history(kept, "openai") == ()


def test_a_memory_without_twins_does_not_block_the_loop() -> None:
    inside = threading.Event()
    go_on = threading.Event()

    class Slow(ListMemory):
        def get(self, conversation_id: str) -> tuple[Message, ...]:
            inside.set()
            assert go_on.wait(20)
            return super().get(conversation_id)

    async def main() -> str:
        request = client_of(Slow(), "x").prompt("?").conversation("c")
        task = asyncio.create_task(request.acall().content())
        assert await asyncio.to_thread(inside.wait, 20)
        go_on.set()
        return await task

    assert asyncio.run(main()) == "x"


# Reported bugs.


def test_every_reported_bug_is_held() -> None:
    assert sorted(BUGS) == ["B121", "B123", "B124", "B126"]


@EACH_FORM
def test_what_a_memory_without_ids_holds_is_not_doubled(form: str) -> None:
    """B121: also with a system text in front and something behind."""
    case = BUGS["B121"]
    memory = ListMemory()
    memory.add("c", [*map(neutral, case["input"]["memory"])])
    prompt = [*map(neutral, case["input"]["prompt"])]
    model = ScriptedChatModel(["x"])
    client = ChatClient(model, system="Be brief.", advisors=[MemoryAdvisor(memory)])

    ask(client.prompt().messages(prompt).conversation("c"), form)

    assert len(model.prompts[0]) == case["expect"]["count"] + 1
    assert list(map(bare, memory.get("c")))[:-1] == prompt


@EACH_FORM
def test_every_message_of_a_request_is_kept(form: str, memory: ChatMemory) -> None:
    """B123."""
    case = BUGS["B123"]
    client = client_of(memory, "x")

    ask(client.prompt().messages([*map(neutral, case["input"]["prompt"])]).conversation("c"), form)

    users = [bare(message).text for message in memory.get("c") if message.message_type is MessageType.USER]
    assert users == case["expect"]["stored_user"]


@EACH_FORM
def test_a_turn_with_tools_is_kept_whole(form: str, memory: ChatMemory) -> None:
    """B124."""
    case = BUGS["B124"]
    question, call, result, last = map(neutral, case["input"]["turn"])
    assert isinstance(call, AssistantMessage)
    assert isinstance(result, ToolResponseMessage)

    @tool
    def f() -> str:
        """Give the result."""
        return result.responses[0].text

    client = client_of(memory, call, last, tools=[f])  # type: ignore[arg-type]

    ask(client.prompt(question.text).conversation("c"), form)

    named = ToolResponseMessage(ToolResponse("c1", "f", content="r"))
    assert list(map(bare, memory.get("c"))) == [question, call, named, last]
    assert len(memory.get("c")) == case["expect"]["stored"]


@EACH_FORM
def test_calls_and_results_come_back_equal(form: str, memory: ChatMemory) -> None:
    """B126."""
    saved = [*map(neutral, BUGS["B126"]["input"]["save"])]
    client = client_of(memory, "x", "y")

    ask(client.prompt().messages([UserMessage("q"), *saved]).conversation("c"), form)
    ask(client.prompt("more").conversation("c"), form)

    assert list(map(bare, prompts(client)[1]))[1:3] == saved


@pytest.mark.parametrize("form", ASYNC)
def test_plain_advisors_around_memory(form: str, memory: ChatMemory) -> None:
    """A sync one runs in a thread, beside the loop that memory lives in."""

    def outer(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        return next(request)

    async def inner(request: ChatClientRequest, next: AsyncCallNext) -> ChatResponse:
        return await next(request)

    client = client_of(memory, "x").mutate(advisors=[outer, MemoryAdvisor(memory, order=0), inner])

    ask(client.prompt("?").conversation("c"), form)

    assert told(memory.get("c")) == [("user", "?"), ("assistant", "x")]


def test_an_echo_hears_only_the_last_message(memory: ChatMemory) -> None:
    client = ChatClient(EchoChatModel(), advisors=[MemoryAdvisor(memory)])

    texts = [client.prompt(text).conversation("c").call().content() for text in ("a", "b")]

    assert texts == ["a", "b"]
