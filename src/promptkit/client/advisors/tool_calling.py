"""Run the tools that a model calls, and ask it again, until it answers."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from promptkit._frozen import shown
from promptkit.client.advisors._steps import Ask, Do, SteppedAdvisor, Steps, passing
from promptkit.client.advisors.validation import checked_count
from promptkit.client.request import ChatClientRequest, calls_tools
from promptkit.errors import PromptError, ToolLimitError
from promptkit.options import ChatOptions
from promptkit.response import ChatResponse, Usage
from promptkit.tools import ToolCallingManager, ToolRound, direct_generations

__all__ = ["ToolCallingAdvisor"]


class ToolCallingAdvisor(SteppedAdvisor):
    """Let a model call the tools of a request, round by round; a client has one where a request has tools.

    Each round adds the model's message and a result for each of its calls, so the history is whole whatever a tool
    does. The usage of the answer is that of all rounds. In a stream the words of every round pass as they come, and
    the next round starts over. A ``tool_choice`` that forces a call holds for the first round. Where every tool of a
    round gives its result directly (``return_direct``), the results are the answer, and the model is not asked again.

    Args:
        manager: How tools are run: in parallel or not, time, limits, what becomes of errors. Its own tools are there
            in every request, before those of the request.
        max_rounds: Rounds of one request, at most, whatever the manager's limits on calls.
        then: What becomes of a model that wants more rounds: ``"raise"`` raises a `ToolLimitError`, ``"answer"`` asks it
            once more, without leave to call, as small models need it.
        order: Its place; the lowest is the outermost. Memory stands inside of it by default, and so keeps every round.

    Raises:
        PromptError: The manager is none, or ``max_rounds`` or ``then`` has a wrong value.

    >>> from promptkit import AssistantMessage, ChatClient, ToolCall
    >>> from promptkit.tools import tool
    >>> from promptkit.testing import ScriptedChatModel
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> chat_model = ScriptedChatModel([
    ...     AssistantMessage(tool_calls=[ToolCall("c1", "add", arguments={"a": 1, "b": 2})]), "It is 3."])
    >>> ChatClient(chat_model, tools=[add]).prompt("1 + 2?").call().content()
    'It is 3.'
    """

    __slots__ = ("_manager", "_max_rounds", "_then")

    def __init__(
        self,
        manager: ToolCallingManager | None = None,
        *,
        max_rounds: int = 50,
        then: Literal["raise", "answer"] = "raise",
        order: int = 200,
    ) -> None:
        super().__init__(order)
        if manager is not None and not isinstance(manager, ToolCallingManager):
            raise PromptError(f"a ToolCallingAdvisor takes a ToolCallingManager, not {shown(manager)}")
        if then not in ("raise", "answer"):
            raise PromptError(f"then must be 'raise' or 'answer', not {shown(then)}")
        self._manager = ToolCallingManager(()) if manager is None else manager
        self._max_rounds = checked_count(max_rounds, "max_rounds")
        self._then = then

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._manager.tools)}, order={self.order})"

    def _steps(self, request: ChatClientRequest) -> Steps:
        manager = self._manager
        if request.tools:
            manager = attrs.evolve(manager, tools=(*manager.tools.values(), *request.tools))
        if not manager.tools or request.answer is not None:
            return (yield from passing(request))
        request = _with_options(request, ChatOptions(tools=manager.definitions))
        usage = Usage()
        for _ in range(self._max_rounds):
            response: ChatResponse = yield Ask(request)
            usage += response.usage
            if not any(calls_tools(result.output) for result in response.results):
                return response if usage == response.usage else response.mutate(usage=usage)
            round_ = yield self._running(manager, request, response)
            request = request.followed_by(*round_.messages)
            if round_.return_direct:
                answer = ChatResponse(
                    direct_generations(round_.messages), id=response.id, model=response.model, usage=response.usage
                )
                direct: ChatResponse = yield Ask(request.mutate(answer=answer.mutate(usage=Usage())))
                return direct.mutate(usage=usage)
            request = _freed(request)
        if self._then == "answer":
            last: ChatResponse = yield Ask(_with_options(request, ChatOptions(tool_choice="none")))
            return last.mutate(usage=usage + last.usage)
        raise ToolLimitError(
            f"the model calls tools without end: {self._max_rounds} rounds in one request",
            limit=self._max_rounds,
            partial=round_.messages,
        )

    def _running(self, manager: ToolCallingManager, request: ChatClientRequest, response: ChatResponse) -> Do:
        def run() -> ToolRound:
            return manager.execute(request.prompt, response, context=request.tool_context)

        def arun() -> Any:
            return manager.aexecute(request.prompt, response, context=request.tool_context)

        return Do(run, arun)


def _with_options(request: ChatClientRequest, options: ChatOptions) -> ChatClientRequest:
    prompt = request.prompt
    return request.mutate(prompt=prompt.mutate(options=prompt.options.merge(options)))


def _freed(request: ChatClientRequest) -> ChatClientRequest:
    """Let the model answer: a choice that forces a call would force one in every round."""
    if request.prompt.options.tool_choice in (None, "auto", "none"):
        return request
    return _with_options(request, ChatOptions(tool_choice="auto"))
