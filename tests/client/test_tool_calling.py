"""Hold the tool loop: every call answered, usage summed, an end to endless calls, in all four forms."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from promptkit.client import ChatClient
from promptkit.client.advisors import MemoryAdvisor, ToolCallingAdvisor
from promptkit.errors import PromptError, ToolError, ToolLimitError, ToolNotFoundError
from promptkit.history import check_history
from promptkit.memory.window import MessageWindowChatMemory
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.response import ChatChunk, ChatResponse, Generation, ToolCallChunk, Usage
from promptkit.testing import Answer, ScriptedChatModel
from promptkit.tools import ToolCallingManager, ToolContext, tool
from tests.client.forms import FORMS, SYNC, ask, bare, said, wish

EACH_FORM = pytest.mark.parametrize("form", FORMS)


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


@tool(return_direct=True)
def final(text: str) -> str:
    """Answer directly."""
    return text


TOOLS = (add, later, fail, final)


def run(script: Sequence[Answer], form: str, *advisors: Any, **options: Any) -> tuple[ScriptedChatModel, ChatResponse]:
    """Ask with tools and memory, and check every history that anyone sees."""
    memory = MessageWindowChatMemory(1000)
    model = ScriptedChatModel(script)
    client = ChatClient(model, tools=TOOLS, advisors=[*advisors, MemoryAdvisor(memory)], **options)
    try:
        response = ask(client.prompt("?").conversation("c"), form)
    finally:
        for history in [*[prompt.messages for prompt in model.prompts], memory.get("c")]:
            assert check_history(history, "openai") == ()
    return model, response


def results(model: ScriptedChatModel, at: int = -1) -> list[tuple[str | None, str, str]]:
    """Give the last results that a model was shown."""
    last = bare(model.prompts[at].messages[-1])
    assert isinstance(last, ToolResponseMessage)
    return [(response.id, response.text, response.status) for response in last.responses]


@EACH_FORM
def test_rounds_go_on_until_the_model_answers(form: str) -> None:
    script = [said(None, wish("add", str(n), a=n, b=n)) for n in range(5)]

    model, response = run([*script, said("Done.")], form)

    assert response.text == "Done."
    assert response.usage == Usage(60, 12)
    assert [len(prompt) for prompt in model.prompts] == [1, 3, 5, 7, 9, 11]
    assert results(model) == [("4", "8", "success")]


@EACH_FORM
def test_the_record_of_usage_is_kept_where_there_is_one_round(form: str) -> None:
    usage = Usage(10, 2, cache_read_tokens=7, native={"k": 1})

    assert run([said("Hi.", usage=usage)], form)[1].usage == usage
    summed = run([said(None, wish("add", a=1, b=1), usage=usage), said("2", usage=usage)], form)[1].usage
    assert summed == Usage(20, 4, cache_read_tokens=14)


@EACH_FORM
def test_calls_of_one_answer_run_at_the_same_time(form: str) -> None:
    meeting = threading.Barrier(3, timeout=20)

    @tool
    def meet(n: int) -> int:
        """Wait for the others."""
        meeting.wait()
        return n

    model = ScriptedChatModel([said(None, *[wish("meet", str(n), n=n) for n in range(3)]), said("Met.")])

    assert ask(ChatClient(model, tools=[meet]).prompt("?"), form).text == "Met."
    assert results(model) == [("0", "0", "success"), ("1", "1", "success"), ("2", "2", "success")]


@EACH_FORM
def test_sync_and_async_tools_work_in_every_form(form: str) -> None:
    model, _ = run([said(None, wish("later", "1", text="x"), wish("add", "2", a=1, b=1)), said("ok")], form)

    assert results(model) == [("1", "X", "success"), ("2", "2", "success")]


@pytest.mark.parametrize("form", SYNC)
def test_a_sync_form_runs_async_tools_inside_a_running_loop(form: str) -> None:
    async def main() -> ChatResponse:
        return ask(
            ChatClient(ScriptedChatModel([said(None, wish("later", text="x")), "X"]), tools=[later]).prompt("?"), form
        )

    assert asyncio.run(main()).text == "X"


@EACH_FORM
def test_what_goes_wrong_is_told_to_the_model(form: str) -> None:
    broken = AssistantMessage(
        "Trying.",
        tool_calls=[
            wish("fail", "1", words="no luck"),
            wish("ghost", "2"),
            wish("add", "3", a="x"),
            ToolCall("4", "add", arguments="[1]"),
        ],
        invalid_tool_calls=[InvalidToolCall("5", "add", arguments='{"a', error="cut")],
    )

    model, response = run([broken, said("I see.")], form)

    assert response.text == "I see."
    found = results(model)
    assert [(call_id, status) for call_id, _, status in found] == [(str(n), "error") for n in range(1, 6)]
    assert all(
        word in text for word, (_, text, _) in zip(["luck", "ghost", "'b'", "object", "cut"], found, strict=True)
    )


@EACH_FORM
def test_repeated_ids_are_answered_call_by_call(form: str) -> None:
    model = ScriptedChatModel(
        [said(None, wish("add", "c", a=1, b=1)), said(None, wish("add", "c", a=2, b=2)), said("done")]
    )

    ask(ChatClient(model, tools=[add]).prompt("?"), form)

    assert [results(model, at) for at in (1, 2)] == [[("c", "2", "success")], [("c", "4", "success")]]


@EACH_FORM
def test_a_call_without_id_and_arguments(form: str) -> None:
    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    model = ScriptedChatModel([AssistantMessage(tool_calls=[ToolCall(None, "now", arguments="")]), "noon"])

    assert ask(ChatClient(model, tools=[now]).prompt("?"), form).text == "noon"
    assert results(model) == [(None, "noon", "success")]


@EACH_FORM
def test_only_the_first_calling_generation_is_carried_out(form: str) -> None:
    first = ChatResponse(
        [
            Generation(AssistantMessage("Or not.")),
            Generation(AssistantMessage(tool_calls=[wish("add", "1", a=1, b=1)])),
            Generation(AssistantMessage(tool_calls=[wish("add", "2", a=2, b=2)])),
        ]
    )

    model, response = run([first, said("2")], form)

    assert results(model) == [("1", "2", "success")]
    assert response.text == "2"
    assert len(response.results) == 1


@EACH_FORM
@pytest.mark.parametrize("then", ["raise", "answer"])
def test_a_model_that_calls_without_end(form: str, then: Any) -> None:
    script = [said("More.", wish("add", str(n), a=1, b=1)) for n in range(9)]
    model = ScriptedChatModel(script)
    memory = MessageWindowChatMemory(1000)
    limited = ToolCallingAdvisor(max_rounds=3, then=then)
    request = ChatClient(model, tools=TOOLS, advisors=[limited, MemoryAdvisor(memory)]).prompt("?").conversation("c")

    if then == "raise":
        with pytest.raises(ToolLimitError, match="3 rounds") as caught:
            ask(request, form)
        assert caught.value.limit == 3
        assert check_history([UserMessage("?"), *caught.value.partial]) == ()
    else:  # it calls even where it may not: the call is given back, and not kept
        response = ask(request, form)
        assert [call.id for call in response.results[0].output.tool_calls] == ["3"]
        assert response.usage == Usage(40, 8)
        assert [prompt.options.tool_choice for prompt in model.prompts] == [None] * 3 + ["none"]
    assert check_history(memory.get("c"), "openai") == ()


@EACH_FORM
def test_the_limits_of_the_manager_hold(form: str) -> None:
    script = [said(None, wish("add", str(n), a=1, b=1)) for n in range(9)]

    with pytest.raises(ToolLimitError) as caught:
        run(script, form, ToolCallingAdvisor(ToolCallingManager((), limit=2)))
    assert (caught.value.limit, len(caught.value.partial)) == (2, 2)

    reporting = ToolCallingManager((), limit=2, on_limit="report")
    model, response = run([*script[:3], said("Enough.")], form, ToolCallingAdvisor(reporting))
    assert response.text == "Enough."
    assert results(model)[0][2] == "error"


@EACH_FORM
def test_a_manager_may_raise(form: str) -> None:
    with pytest.raises(LookupError, match="no luck"):
        run(
            [said(None, wish("fail", words="no luck"))],
            form,
            ToolCallingAdvisor(ToolCallingManager((), on_error="raise")),
        )
    with pytest.raises(ToolNotFoundError, match="ghost"):
        run([said(None, wish("ghost"))], form, ToolCallingAdvisor(ToolCallingManager((), on_unknown="raise")))


@EACH_FORM
def test_tools_of_the_manager_are_always_there(form: str) -> None:
    advisor = ToolCallingAdvisor(ToolCallingManager([add]))
    model = ScriptedChatModel([said(None, wish("add", a=1, b=1)), "2", "x"])
    client = ChatClient(model, advisors=[advisor])

    assert ask(client.prompt("?"), form).text == "2"
    ask(client.prompt("?").tools(later), form)

    assert [tool.name for tool in model.prompts[2].options.tools or ()] == ["add", "later"]
    assert repr(advisor) == "ToolCallingAdvisor(['add'], order=200)"
    with pytest.raises(ToolError, match="'add'"):
        ask(client.prompt("?").tools(add), form)


@EACH_FORM
@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_choice_that_forces_a_call_holds_for_the_first_round(form: str, choice: str) -> None:
    options = ChatOptions(tool_choice=choice, temperature=0)

    model, _ = run([said(None, wish("add", a=1, b=1)), said("2")], form, options=options)

    assert [prompt.options.tool_choice for prompt in model.prompts] == [choice, "auto"]
    assert {prompt.options.temperature for prompt in model.prompts} == {0}


@EACH_FORM
@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_a_free_choice_stays(form: str, choice: str | None) -> None:
    model, _ = run([said(None, wish("add", a=1, b=1)), said("2")], form, options=ChatOptions(tool_choice=choice))

    assert [prompt.options.tool_choice for prompt in model.prompts] == [choice] * 2


@EACH_FORM
def test_direct_results_are_the_answer(form: str) -> None:
    _, response = run([said("Here:", wish("final", "1", text="a"), wish("final", "2", text="b"))], form)

    assert [result.output.text for result in response.results] == ["a", "b"]
    assert {result.finish_reason for result in response.results} == {"returnDirect"}
    assert response.usage == Usage(10, 2)
    mixed, response = run([said(None, wish("final", "1", text="a"), wish("add", "2", a=1, b=1)), said("Both.")], form)
    assert (len(mixed.prompts), response.text) == (2, "Both.")


@EACH_FORM
def test_a_tool_sees_context_and_history(form: str) -> None:
    seen: list[Any] = []

    @tool
    def look(context: ToolContext) -> str:
        """Look around."""
        assert context.call is not None
        seen.append((context.values["tenant"], context.call.id, len(context.history)))
        return ""

    model = ScriptedChatModel([said(None, wish("look", "9")), "ok"])

    ask(ChatClient(model, system="s").prompt("?").tools(look, context={"tenant": 7}), form)

    assert seen == [(7, "9", 3)]


@EACH_FORM
def test_words_around_calls_pass_in_a_stream_and_stay_out_of_the_answer(form: str) -> None:
    _, response = run([said("Let me see. ", wish("add", a=1, b=1)), said("It is 2.")], form)

    assert response.text == "It is 2."


def test_a_stream_shows_each_round_and_where_it_begins() -> None:
    script: list[Answer] = [said("Let me see. ", wish("add", a=1, b=1)), said("It is 2.")]
    request = ChatClient(ScriptedChatModel(script), tools=[add]).prompt("?")
    chunks = list(request.stream().chunks())

    assert [chunk.starts_over for chunk in chunks].count(True) == 1
    request = ChatClient(ScriptedChatModel(script), tools=[add]).prompt("?")
    assert "".join(request.stream().content()) == "Let me see. It is 2."


@EACH_FORM
def test_calls_in_pieces_and_mixed_with_text(form: str) -> None:
    pieces = [
        ChatChunk("I will "),
        ChatChunk(tool_calls=[ToolCallChunk(0, "a", name="add", arguments='{"a": 1')]),
        ChatChunk("check."),
        ChatChunk(tool_calls=[ToolCallChunk(1, "b", name="later", arguments='{"text"')]),
        ChatChunk(tool_calls=[ToolCallChunk(0, arguments=', "b": 2}')]),
        ChatChunk(tool_calls=[ToolCallChunk(1, arguments=': "x"}')], finish_reason="tool_calls"),
        ChatChunk(usage=Usage(1, 1)),
    ]

    model, response = run([pieces, said("ok")], form)

    assert results(model) == [("a", "3", "success"), ("b", "X", "success")]
    assert bare(model.prompts[1].messages[1]).text == "I will check."
    assert response.usage == Usage(11, 3)


@EACH_FORM
def test_a_truncated_call_is_not_carried_out(form: str) -> None:
    pieces = [
        ChatChunk(tool_calls=[ToolCallChunk(0, "a", name="add", arguments='{"a": 1, "b')]),
        ChatChunk(finish_reason="length"),
    ]

    model, _ = run([pieces, said("I see.")], form)

    assert [(call_id, status) for call_id, _, status in results(model)] == [("a", "error")]


@EACH_FORM
def test_calls_without_any_tools_come_back_to_the_caller(form: str) -> None:
    definitions = ChatOptions(tools=[ToolDefinition("add")])
    model = ScriptedChatModel([said(None, wish("add", a=1, b=1))])

    response = ask(ChatClient(model, options=definitions, advisors=[ToolCallingAdvisor()]).prompt("?"), form)

    assert response.has_tool_calls
    assert [tool.name for tool in model.prompts[0].options.tools or ()] == ["add"]


@EACH_FORM
def test_a_history_may_begin_with_rounds(form: str) -> None:
    before = [
        SystemMessage("s"),
        UserMessage("q"),
        AssistantMessage(tool_calls=[wish("add", a=1, b=1)]),
        ToolResponseMessage(ToolResponse("c1", "add", content="2")),
        AssistantMessage("2"),
    ]
    model = ScriptedChatModel([said(None, wish("add", "c2", a=2, b=2)), "4"])

    ask(ChatClient(model, tools=[add]).prompt("and?").messages(before), form)

    assert check_history(model.prompts[1], "openai") == ()
    assert results(model) == [("c2", "4", "success")]


def test_an_advisor_is_checked() -> None:
    for options in ({"max_rounds": 0}, {"max_rounds": True}, {"then": "stop"}):
        with pytest.raises(PromptError):
            ToolCallingAdvisor(**options)
    with pytest.raises(PromptError, match="ToolCallingManager"):
        ToolCallingAdvisor([add])  # type: ignore[arg-type]
    client = ChatClient(ScriptedChatModel(["x"]), advisors=[ToolCallingAdvisor(), ToolCallingAdvisor()])
    with pytest.raises(PromptError, match="2 ToolCallingAdvisors"):
        client.prompt("?").call()
