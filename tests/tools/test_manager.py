from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from promptkit.errors import ToolError, ToolExecutionError, ToolLimitError, ToolNotFoundError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Generation
from promptkit.tools import ToolCallingManager, ToolContext, ToolResult, ToolRound, direct_generations, tool
from tests import oracles

USER = contextvars.ContextVar("USER", default="nobody")
QUESTION = Prompt("q")


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
async def later(text: str) -> str:
    """Answer after a moment."""
    await asyncio.sleep(0)
    return text.upper()


@tool
def fail(words: str = "") -> str:
    """Fail."""
    raise LookupError(words)


@tool
def hang() -> str:
    """Never answer."""
    threading.Event().wait(60)
    return "too late"


@tool
async def hang_async() -> str:
    """Never answer."""
    await asyncio.sleep(60)
    return "too late"


@tool
def leave() -> str:
    """End the program."""
    sys.exit(3)


@tool
def who(context: ToolContext) -> str:
    """Say who asks."""
    assert context.call is not None
    return f"{context.values['user']} {USER.get()} {context.call.id} {len(context.history)}"


@tool(return_direct=True)
def final(text: str) -> str:
    """Answer directly."""
    return text


def answer(*calls: ToolCall | InvalidToolCall) -> ChatResponse:
    good = [call for call in calls if isinstance(call, ToolCall)]
    broken = [call for call in calls if isinstance(call, InvalidToolCall)]
    return ChatResponse(Generation(AssistantMessage(tool_calls=good, invalid_tool_calls=broken)))


def call(name: str, call_id: str = "c", **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments=arguments)


def execute(
    manager: ToolCallingManager, response: ChatResponse, *, blocking: bool, prompt: Prompt = QUESTION
) -> ToolRound:
    if blocking:
        return manager.execute(prompt, response, context={"user": "ada"})
    return asyncio.run(manager.aexecute(prompt, response, context={"user": "ada"}))


def results(round_: ToolRound) -> list[tuple[str | None, str, str]]:
    message = round_.messages[1]
    assert isinstance(message, ToolResponseMessage)
    return [(response.id, response.text, response.status) for response in message.responses]


BOTH = pytest.mark.parametrize("blocking", [True, False], ids=["sync", "async"])


@BOTH
def test_results_come_in_the_order_of_the_calls(blocking: bool) -> None:
    response = answer(call("add", "1", a=1, b=2), call("later", "2", text="x"), call("add", "3", a=2, b=2))

    round_ = execute(ToolCallingManager([add, later]), response, blocking=blocking)

    assert round_.messages[0] == response.results[0].output
    assert results(round_) == [("1", "3", "success"), ("2", "X", "success"), ("3", "4", "success")]
    assert not round_.return_direct


@BOTH
def test_what_goes_wrong_is_reported_and_every_call_gets_a_result(blocking: bool) -> None:
    response = answer(
        call("fail", "1", words="no luck"),
        call("fail", "2"),
        call("ghost", "3"),
        call("add", "4", a="x"),
        ToolCall("5", "add", arguments="[1]"),
        call("leave", "6"),
        InvalidToolCall("7", "add", arguments='{"a', error="the arguments are not JSON"),
    )

    found = results(execute(ToolCallingManager([add, fail, leave]), response, blocking=blocking))

    assert [entry[0] for entry in found] == ["1", "2", "3", "4", "5", "6", "7"]
    assert {entry[2] for entry in found} == {"error"}
    texts = [entry[1] for entry in found]
    assert texts[0] == "no luck"
    assert "LookupError" in texts[1]
    assert "fail" in texts[1]
    assert "'ghost'" in texts[2]
    assert "'add', 'fail', 'leave'" in texts[2]
    assert "'b' is missing" in texts[3]
    assert "not an object" in texts[4]
    assert "end the program" in texts[5]
    assert "not JSON" in texts[6]


@BOTH
@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ({"on_error": "raise"}, LookupError),
        ({"on_error": {Exception: "report", LookupError: "raise"}}, LookupError),
        ({"on_error": {ValueError: "raise"}}, None),
        ({"on_error": {LookupError: "report", Exception: "raise"}}, None),
    ],
    ids=["all", "listed", "others", "nearest"],
)
def test_error_policies(policy: Any, error: type[Exception] | None, blocking: bool) -> None:
    manager = ToolCallingManager([fail], **policy)

    if error is None:
        assert results(execute(manager, answer(call("fail", words="w")), blocking=blocking))[0][1] == "w"
    else:
        with pytest.raises(error):
            execute(manager, answer(call("fail", words="w")), blocking=blocking)


def test_unknown_tools_may_raise() -> None:
    with pytest.raises(ToolNotFoundError, match="'ghost'") as caught:
        ToolCallingManager([add], on_unknown="raise").execute(QUESTION, answer(call("ghost")))

    assert caught.value.tool_name == "ghost"


@BOTH
@pytest.mark.parametrize("made", [hang, hang_async], ids=["thread", "task"])
def test_a_late_tool_is_reported(made: Any, blocking: bool) -> None:
    manager = ToolCallingManager([made, add], timeout=0.05)

    found = results(execute(manager, answer(call(made.name), call("add", a=1, b=1)), blocking=blocking))

    assert found[0][2] == "error"
    assert "0.05 seconds" in found[0][1]
    assert found[1][1] == "2"


def test_a_hanging_tool_gives_up_its_place() -> None:
    manager = ToolCallingManager([hang, add], timeout=0.05, workers=1)

    found = results(manager.execute(QUESTION, answer(call("hang"), call("hang"), call("add", a=1, b=1))))

    assert [entry[2] for entry in found] == ["error", "error", "success"]


def test_a_hanging_tool_does_not_keep_the_program_alive() -> None:
    code = (
        "from tests.tools.test_manager import *\n"
        "ToolCallingManager([hang], timeout=0.05).execute(QUESTION, answer(call('hang')))\n"
        "asyncio.run(ToolCallingManager([hang], timeout=0.05).aexecute(QUESTION, answer(call('hang'))))\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


@BOTH
def test_several_calls_run_at_the_same_time(blocking: bool) -> None:
    meeting = threading.Barrier(3, timeout=20)

    @tool
    def meet() -> str:
        """Wait for the others."""
        meeting.wait()
        return "met"

    found = results(execute(ToolCallingManager([meet]), answer(*[call("meet")] * 3), blocking=blocking))

    assert [entry[1] for entry in found] == ["met"] * 3


@BOTH
def test_without_parallel_one_runs_after_the_other(blocking: bool) -> None:
    running: list[int] = [0, 0]
    lock = threading.Lock()

    @tool
    def work() -> str:
        """Count who works."""
        with lock:
            running[0] += 1
            running[1] = max(running)
        time.sleep(0.002)
        with lock:
            running[0] -= 1
        return ""

    execute(ToolCallingManager([work], parallel=False), answer(*[call("work")] * 5), blocking=blocking)

    assert running == [0, 1]


@BOTH
def test_a_tool_sees_context_and_context_variables(blocking: bool) -> None:
    USER.set("bo")

    found = results(execute(ToolCallingManager([who]), answer(call("who", "9"), call("who", "8")), blocking=blocking))

    assert [entry[1] for entry in found] == ["ada bo 9 2", "ada bo 8 2"]


def test_a_single_call_runs_where_it_is_made() -> None:
    @tool
    def where() -> str:
        """Name the thread."""
        return threading.current_thread().name

    round_ = ToolCallingManager([where]).execute(QUESTION, answer(call("where")))

    assert results(round_)[0][1] == threading.current_thread().name


def test_an_async_tool_runs_inside_a_running_loop() -> None:
    async def main() -> ToolRound:
        return ToolCallingManager([later]).execute(QUESTION, answer(call("later", text="x")))

    assert results(asyncio.run(main()))[0][1] == "X"


def test_artifacts_stay_off_the_wire() -> None:
    @tool
    def find() -> ToolResult:
        """Find rows."""
        return ToolResult("2 rows", artifact=[1, 2])

    message = ToolCallingManager([find]).execute(QUESTION, answer(call("find"))).messages[1]

    assert message == ToolResponseMessage(ToolResponse("c", "find", content="2 rows", artifact=[1, 2]))


def test_an_unserialisable_result_is_reported() -> None:
    @tool
    def strange() -> object:
        """Return an object."""
        return object()

    manager = ToolCallingManager([strange])

    assert "no JSON form" in results(manager.execute(QUESTION, answer(call("strange"))))[0][1]
    with pytest.raises(ToolExecutionError):
        ToolCallingManager([strange], on_error="raise").execute(QUESTION, answer(call("strange")))


def test_a_thousand_calls_of_one_turn() -> None:
    manager = ToolCallingManager([add], limit=None, limit_per_tool=None)

    found = results(manager.execute(QUESTION, answer(*[call("add", str(n), a=n, b=n) for n in range(1000)])))

    assert [entry[1] for entry in found] == [str(2 * n) for n in range(1000)]


def used(*names: str) -> Prompt:
    return Prompt([UserMessage("q"), *[ToolResponseMessage(ToolResponse("p", name, content="r")) for name in names]])


@BOTH
def test_calls_over_a_limit_raise_with_the_round(blocking: bool) -> None:
    manager = ToolCallingManager([add], limit_per_tool=2)
    response = answer(call("add", "1", a=1, b=1), call("add", "2", a=1, b=1))

    with pytest.raises(ToolLimitError, match="2 times") as caught:
        execute(manager, response, blocking=blocking, prompt=used("add"))

    assert (caught.value.tool_name, caught.value.limit) == ("add", 2)
    found = results(ToolRound(caught.value.partial))
    assert [entry[2] for entry in found] == ["success", "error"]


def test_limits_may_be_reported() -> None:
    manager = ToolCallingManager([add, later], limit=1, limit_per_tool={"later": 0}, on_limit="report")
    response = answer(call("later", "1", text="x"), call("add", "2", a=1, b=1), call("add", "3", a=1, b=1))

    found = results(manager.execute(QUESTION, response))

    assert [entry[2] for entry in found] == ["error", "success", "error"]
    assert "0 times" in found[0][1]
    assert "1 times" in found[2][1]


def test_only_the_current_turn_counts() -> None:
    prompt = Prompt([*used("add"), UserMessage("new")])

    assert (
        results(ToolCallingManager([add], limit_per_tool=1).execute(prompt, answer(call("add", a=1, b=1))))[0][1] == "2"
    )


def test_return_direct_needs_every_tool() -> None:
    manager = ToolCallingManager([final, add])

    assert manager.execute(QUESTION, answer(call("final", text="x"))).return_direct
    assert not manager.execute(QUESTION, answer(call("final", text="x"), call("add", a=1, b=1))).return_direct


def test_an_answer_without_calls_is_an_error() -> None:
    with pytest.raises(ToolError, match="calls no tool"):
        ToolCallingManager([add]).execute(QUESTION, ChatResponse(Generation(AssistantMessage("x"))))


def test_tools_are_checked() -> None:
    with pytest.raises(ToolError, match="'add'"):
        ToolCallingManager([add, add])
    with pytest.raises(ToolError, match="no tool"):
        ToolCallingManager([len])  # type: ignore[list-item]
    with pytest.raises(ToolError, match="on_error"):
        ToolCallingManager([add], on_error="ignore")  # type: ignore[arg-type]
    assert ToolCallingManager([add]).definitions == (add.definition,)


SPRING = {row["id"]: row for row in oracles.rows("spring_tools.jsonl")}


def history(messages: list[dict[str, Any]]) -> list[Message]:
    found: list[Message] = []
    for message in messages:
        if message["role"] == "tool":
            entries = [
                ToolResponse(entry["id"], entry["name"], content=entry["data"]) for entry in message["responses"]
            ]
            found += [ToolResponseMessage(entries)] if entries else []
        else:
            kind = UserMessage if message["role"] == "user" else AssistantMessage
            found.append(kind(message["text"]))
    return found


def spring_tool(name: str, behaviour: Any) -> Any:
    def run() -> Any:
        if isinstance(behaviour, str) and behaviour.startswith("raises"):
            raise RuntimeError("no luck")
        return behaviour

    run.__name__ = name
    run.__annotations__ = {}
    return tool(run)


@pytest.mark.parametrize("row_id", ["SC-TOL-001", "SC-TOL-006", "SC-TOL-009", "SC-TOL-016"])
def test_spring_execution(row_id: str) -> None:
    given, then = SPRING[row_id]["given"], SPRING[row_id]["then"]
    generations = given.get("generations", [{"text": None, "tool_calls": given.get("calls", [])}])
    response = ChatResponse(
        [
            Generation(
                AssistantMessage(
                    item["text"],
                    tool_calls=[ToolCall(c["id"], c["name"], arguments=c["arguments"]) for c in item["tool_calls"]],
                )
            )
            for item in generations
        ]
    )
    manager = ToolCallingManager([spring_tool(name, value) for name, value in given["tools"].items()])

    message = manager.execute(QUESTION, response).messages[1]

    assert isinstance(message, ToolResponseMessage)
    if "executed_ids" in then:
        assert [entry.id for entry in message.responses] == then["executed_ids"]
    else:
        (tail,) = then["history_tail"]
        assert [{"id": e.id, "name": e.name, "data": e.text} for e in message.responses] == tail["responses"]


@pytest.mark.parametrize("row_id", ["SC-TOL-013", "SC-TOL-015"])
def test_spring_limits(row_id: str) -> None:
    given, then = SPRING[row_id]["given"], SPRING[row_id]["then"]
    manager = ToolCallingManager([spring_tool("toolA", "r")], limit_per_tool=given["limits"])
    response = answer(*[ToolCall(c["id"], c["name"], arguments=c["arguments"]) for c in given["calls"]])

    if then.get("ok"):
        assert results(manager.execute(Prompt(history(given["messages"])), response))[0][2] == "success"
        return
    with pytest.raises(ToolLimitError) as caught:
        manager.execute(Prompt(history(given["messages"])), response)
    assert (caught.value.tool_name, caught.value.limit) == (then["tool"], then["limit"])
    assert bool(caught.value.partial) is then["partial_result"]


@pytest.mark.parametrize("row_id", ["SC-TOL-018", "SC-TOL-019"])
def test_spring_direct_generations(row_id: str) -> None:
    given, then = SPRING[row_id]["given"], SPRING[row_id]["then"]

    found = direct_generations(history(given["history"]))

    assert [generation.output.text for generation in found] == then["texts"]
    if "tool_names" in then:
        assert [generation.metadata["tool_name"] for generation in found] == then["tool_names"]
        assert {generation.finish_reason for generation in found} == {then["finish_reason"]}


def test_spring_ghost_tool() -> None:
    """SC-TOL-003: reported by default, raised by policy."""
    given = SPRING["SC-TOL-003"]["given"]
    response = answer(*[ToolCall(c["id"], c["name"], arguments=c["arguments"]) for c in given["calls"]])

    assert "ghost" in results(ToolCallingManager([]).execute(QUESTION, response))[0][1]
    with pytest.raises(ToolNotFoundError, match="ghost"):
        ToolCallingManager([], on_unknown="raise").execute(QUESTION, response)


def test_spring_empty_arguments() -> None:
    """SC-TOL-004: no argument text reads as an empty object."""
    response = answer(ToolCall("1", "echo", arguments=SPRING["SC-TOL-004"]["given"]["calls"][0]["arguments"]))

    assert results(ToolCallingManager([spring_tool("echo", "ran")]).execute(QUESTION, response))[0][1] == "ran"


@pytest.mark.parametrize("row_id", ["SC-TOL-020", "SC-TOL-021", "SC-TOL-023"])
def test_spring_results(row_id: str) -> None:
    assert add.result(SPRING[row_id]["given"]["value"])[0] == SPRING[row_id]["then"]["result"]


def test_every_spring_case_is_held() -> None:
    held = {
        "001",
        "003",
        "004",
        "006",
        "009",
        "010",
        "012",
        "013",
        "015",
        "016",
        "018",
        "019",
        "020",
        "021",
        "023",
        "026",
    }

    assert {row_id.removeprefix("SC-TOL-") for row_id in SPRING} == held


class Abort(BaseException):
    """End more than a call."""


@tool
async def end_async(by: str) -> str:
    """Fail."""
    raise ENDS[by]


@tool
def end(by: str) -> str:
    """Fail."""
    raise ENDS[by]


ENDS: dict[str, BaseException] = {
    "abort": Abort(),
    "cancellation": asyncio.CancelledError(),
    "exit": SystemExit(3),
    "generator": GeneratorExit(),
    "stop": StopIteration(),
    "own timeout": TimeoutError("the server is slow"),
}
ENDED = {
    "abort": "ended with Abort",
    "cancellation": "ended with CancelledError",
    "exit": "tried to end the program",
    "generator": "ended with GeneratorExit",
    "stop": "StopIteration",
    "own timeout": "the server is slow",
}


@BOTH
@pytest.mark.parametrize("timeout", [None, 20.0], ids=["unlimited", "limited"])
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another"])
@pytest.mark.parametrize(("made", "by"), [(made, by) for made in (end, end_async) for by in ENDS], ids=str)
def test_whatever_ends_a_tool_is_its_result(
    made: Any, by: str, others: int, timeout: float | None, blocking: bool
) -> None:
    response = answer(call(made.name, by=by), *[call("add", a=1, b=2)] * others)

    found = results(execute(ToolCallingManager([made, add], timeout=timeout), response, blocking=blocking))

    assert [entry[2] for entry in found] == ["error", "success"][: 1 + others]
    assert ENDED[by] in found[0][1]


@tool
def interrupt() -> str:
    """Interrupt the program."""
    raise KeyboardInterrupt


@BOTH
def test_an_interrupt_in_a_thread_is_a_result(blocking: bool) -> None:
    manager = ToolCallingManager([interrupt, add])

    found = results(execute(manager, answer(call("interrupt"), call("add", a=1, b=2)), blocking=blocking))

    assert [entry[2] for entry in found] == ["error", "success"]
    assert "ended with KeyboardInterrupt" in found[0][1]


def test_an_interrupt_where_the_round_runs_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        ToolCallingManager([interrupt]).execute(QUESTION, answer(call("interrupt")))


def test_calls_for_which_the_system_has_no_thread_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)

    found = results(ToolCallingManager([add]).execute(QUESTION, answer(*[call("add", a=1, b=2)] * 3)))

    assert [entry[1] for entry in found] == ["can't start new thread"] * 3


def test_cancelling_a_round_cancels_it() -> None:
    async def cancelled() -> bool:
        call = AssistantMessage(tool_calls=[ToolCall("c1", "hang_async")])
        task = asyncio.create_task(ToolCallingManager([hang_async]).aexecute(QUESTION, ChatResponse(Generation(call))))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancelled())


@pytest.mark.parametrize(
    "settings",
    [
        {"workers": 0},
        {"workers": True},
        {"workers": None},
        {"on_unknown": "ignore"},
        {"on_limit": None},
        {"on_error": None},
        {"on_error": {KeyError: "ignore"}},
        {"timeout": 0},
        {"timeout": "1"},
        {"limit": -1},
        {"limit": "9"},
        {"limit_per_tool": {"add": 1.5}},
    ],
    ids=repr,
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=next(iter(settings)).removesuffix("_per_tool")):
        ToolCallingManager([add], **settings)


def test_tools_are_a_list() -> None:
    with pytest.raises(ToolError, match="takes a list of tools"):
        ToolCallingManager(None)  # type: ignore[arg-type]
