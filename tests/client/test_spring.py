"""Hold the client against Spring AI's recorded behaviour (area ADV): memory advisor and assembly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptkit.client import ChatClient
from promptkit.client.advisors import MemoryAdvisor
from promptkit.errors import ModelError, PromptError
from promptkit.memory.window import MessageWindowChatMemory
from promptkit.messages import BuiltinMessage
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.renderers.string_template import StringTemplateRenderer
from promptkit.response import ChatResponse, Generation
from promptkit.testing import ScriptedChatModel
from promptkit.tools import ToolContext, tool
from tests import oracles
from tests.client.forms import FORMS, ask, bare, said, wish
from tests.memory.neutral import message

ROWS = {row["id"]: row for row in oracles.rows("spring_client.jsonl")}
KINDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "no conversation": lambda row: row["when"] == "conversation id from context",
    "before": lambda row: row["when"] == "before",
    "after": lambda row: row["when"] == "after",
    "messages": lambda row: "client" in row["given"],
    "tools": lambda row: "options_tools" in row["given"],
    "tool context": lambda row: "options_context" in row["given"],
}


def of_kind(kind: str) -> list[str]:
    return [row_id for row_id, row in ROWS.items() if KINDS[kind](row)]


def neutral(cases: Any) -> list[BuiltinMessage]:
    return [message({**case, "text": case["text"] or None} if case["role"] == "assistant" else case) for case in cases]


def test_every_case_is_of_one_kind() -> None:
    assert sorted(row_id for kind in KINDS for row_id in of_kind(kind)) == sorted(ROWS)


@pytest.mark.parametrize("row_id", of_kind("no conversation"))
@pytest.mark.parametrize("form", FORMS)
def test_memory_needs_a_conversation(row_id: str, form: str) -> None:
    client = ChatClient(ScriptedChatModel(["x"]), advisors=[MemoryAdvisor(MessageWindowChatMemory())])

    with pytest.raises(PromptError) as caught:
        ask(client.prompt("hi"), form)
    assert all(word in str(caught.value) for word in ROWS[row_id]["then"]["mentions"])


@pytest.mark.parametrize("row_id", of_kind("before"))
@pytest.mark.parametrize("form", FORMS)
def test_memory_before_the_call(row_id: str, form: str) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    memory = MessageWindowChatMemory()
    memory.add("c", neutral(given["memory"]))
    model = ScriptedChatModel([ModelError("only what comes before the call counts")])
    request = ChatClient(model, advisors=[MemoryAdvisor(memory)]).prompt().messages(neutral(given["prompt"]))

    with pytest.raises(ModelError):
        ask(request.conversation("c"), form)

    after = neutral(given["prompt"] if row_id in oracles.decided() else then["memory_after"])
    assert list(map(bare, memory.get("c"))) == after
    assert list(map(bare, model.prompts[0])) == neutral(then.get("request", given["prompt"]))


@pytest.mark.parametrize("row_id", of_kind("after"))
@pytest.mark.parametrize("form", FORMS)
def test_memory_after_the_call(row_id: str, form: str) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    memory = MessageWindowChatMemory()
    memory.add("c", neutral(given["memory"]))
    response = ChatResponse([Generation(each) for each in neutral(given["response"])])  # type: ignore[arg-type]
    client = ChatClient(ScriptedChatModel([response]), advisors=[MemoryAdvisor(memory)])

    ask(client.prompt("hi").conversation("c"), form)

    assert list(map(bare, memory.get("c")))[1:] == neutral(then["memory_after"])


@pytest.mark.parametrize("row_id", of_kind("messages"))
def test_assembly_of_messages(row_id: str) -> None:
    given, then = ROWS[row_id]["given"]["client"], ROWS[row_id]["then"]
    start, end = given.get("delimiters", "{}")
    model = ScriptedChatModel(["x"])
    request = ChatClient(model, renderer=StringTemplateRenderer(start=start, end=end)).prompt()
    for name, say in (("system", request.system), ("user", request.user)):
        if name in given:
            request = getattr(request, say.__name__)(given[name], given.get(f"{name}_params"))
    if "messages" in given:
        request = request.messages(neutral(given["messages"]))

    ask(request, "call")

    assert list(model.prompts[0]) == neutral(then["messages"])


@pytest.mark.parametrize("row_id", of_kind("tools"))
def test_tools_of_a_request_replace_those_of_options(row_id: str) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    definitions = [ToolDefinition(name) for name in given["options_tools"]]
    tools = [_named(name) for name in given["request_tools"]]
    model = ScriptedChatModel(["x"])

    ask(ChatClient(model, options=ChatOptions(tools=definitions)).prompt("q").tools(*tools), "call")

    assert [definition.name for definition in model.prompts[0].options.tools or ()] == then["tools"]


def _named(name: str) -> Any:
    def run() -> str:
        return ""

    run.__name__ = name
    run.__annotations__ = {}
    return tool(run)


@pytest.mark.parametrize("row_id", of_kind("tool context"))
def test_tool_context_is_merged(row_id: str) -> None:
    given, then = ROWS[row_id]["given"], ROWS[row_id]["then"]
    seen: list[dict[str, Any]] = []

    @tool
    def look(context: ToolContext) -> str:
        """Look at the context."""
        seen.append(dict(context.values))
        return ""

    model = ScriptedChatModel([said(None, wish("look")), "done"])
    request = ChatClient(model).prompt("q").tools(look, context=given["options_context"])

    ask(request.tools(context=given["request_context"]), "call")

    assert seen == [then["tool_context"]]
