"""Carry out the tool calls of an answer, and give back messages that keep the history whole, whatever a tool does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

from promptkit._frozen import EMPTY, Value
from promptkit.errors import PromptkitError, ToolError, ToolLimitError, ToolNotFoundError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    MessageType,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    as_builtin,
)
from promptkit.options import ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Generation
from promptkit.tools._running import run_all, run_all_async
from promptkit.tools.tool import Tool, ToolContext

__all__ = ["ToolCallingManager", "ToolRound", "direct_generations", "tools_by_name"]

Policy = Literal["report", "raise"]


@frozen(repr=False)
class ToolRound(Value):
    """Hold what a round of tool calls adds to the history.

    Args:
        messages: The assistant's message and the results, one for each of its calls.
        return_direct: Whether every tool that ran gives its result directly as the answer.

    >>> ToolRound((AssistantMessage("x"),)).return_direct
    False
    """

    messages: tuple[Message, ...]
    return_direct: bool = field(default=False, kw_only=True)


def _as_policies(value: Policy | Mapping[type[Exception], Policy]) -> Mapping[type[Exception], Policy]:
    policies = dict(value) if isinstance(value, Mapping) else {Exception: value}
    for kind, policy in policies.items():
        if policy not in ("report", "raise") or not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise ToolError(f"on_error takes 'report', 'raise', or one of them by exception class, not {value!r:.80}")
    return policies


def tools_by_name(tools: Iterable[Tool[..., Any]]) -> Mapping[str, Tool[..., Any]]:
    """Give tools by their names.

    Raises:
        ToolError: One is no tool, or two have one name.
    """
    if not isinstance(tools, Iterable):
        raise ToolError(f"a ToolCallingManager takes a list of tools, not {tools!r:.80}")
    given = tuple(tools)
    for index, made in enumerate(given):
        if not isinstance(made, Tool):
            raise ToolError(f"tools[{index}] is no tool: {made!r:.80}; put @tool above the function")
    doubled = [name for name, count in Counter(made.name for made in given).items() if count > 1]
    if doubled:
        raise ToolError(f"tools must have distinct names; given more than once: {', '.join(map(repr, doubled))}")
    return {made.name: made for made in given}


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


@frozen(repr=False, eq=False)
class ToolCallingManager:
    """Carry out the tool calls of a model's answer.

    Arguments are checked against the tool's schema; what is wrong is reported to the model, so that it can try again.
    Every call gets a result, also one that cannot be carried out, so the history stays one that providers accept.

    Args:
        tools: The tools, their names distinct.
        parallel: Whether several calls of one answer run at the same time: sync functions in threads, async ones as
            tasks. A single call runs where it is made.
        workers: How many calls run at the same time, at most.
        timeout: Seconds that a call may take, unless its tool says otherwise. A sync function that is late goes on in
            its thread, which does not keep the program alive; its result is not heard.
        on_error: What an exception of a tool does: ``"report"`` gives its message to the model, ``"raise"`` raises it
            as it is; or a mapping from exception classes, the nearest base of the exception's class decides.
        on_unknown: The same for a call of a tool that is not there (`ToolNotFoundError`).
        on_limit: The same for a call over a limit (`ToolLimitError`).
        limit_per_tool: Calls of one tool in one turn, at most; a mapping gives limits by name, others have none.
        limit: Calls of all tools in one turn, at most; a turn begins with the last user message.

    Raises:
        ToolError: Two tools have one name, something is no tool, or a setting has a wrong value.

    >>> from promptkit.tools import tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> call = AssistantMessage(tool_calls=[ToolCall("c1", "add", arguments={"a": 1, "b": 2})])
    >>> round = ToolCallingManager([add]).execute(Prompt("1+2?"), ChatResponse(Generation(call)))
    >>> round.messages[1].responses[0].text
    '3'
    """

    tools: Mapping[str, Tool[..., Any]] = field(converter=tools_by_name)
    parallel: bool = field(default=True, kw_only=True)
    workers: int = field(default=8, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    on_error: Mapping[type[Exception], Policy] = field(default="report", kw_only=True, converter=_as_policies)
    on_unknown: Policy = field(default="report", kw_only=True)
    on_limit: Policy = field(default="raise", kw_only=True)
    limit_per_tool: int | Mapping[str, int] | None = field(default=40, kw_only=True)
    limit: int | None = field(default=150, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if type(self.workers) is not int or self.workers < 1:
            raise ToolError(f"workers must be a positive int, not {self.workers!r:.80}")
        if self.timeout is not None and not _is_seconds(self.timeout):
            raise ToolError(f"timeout must be a positive number of seconds or None, not {self.timeout!r:.80}")
        limits = self.limit_per_tool.values() if isinstance(self.limit_per_tool, Mapping) else (self.limit_per_tool,)
        for limit in (self.limit, *limits):
            if limit is not None and (type(limit) is not int or limit < 0):
                raise ToolError(f"a limit must be a number of calls or None, not {limit!r:.80}")
        for name in ("on_unknown", "on_limit"):
            if getattr(self, name) not in ("report", "raise"):
                raise ToolError(f"{name} takes 'report' or 'raise', not {getattr(self, name)!r:.80}")

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told of the tools."""
        return tuple([made.definition for made in self.tools.values()])

    def execute(self, prompt: Prompt, response: ChatResponse, *, context: Mapping[str, Any] = EMPTY) -> ToolRound:
        """Carry out the calls of the first generation that has any.

        Args:
            prompt: What was asked; its messages tell the turn.
            response: The answer.
            context: Values for tools with a `ToolContext`.

        Raises:
            ToolError: There is no call, or a policy says to raise.
        """
        work = self._work(prompt, response, context)
        outcomes = run_all(work.jobs, parallel=self.parallel, workers=self.workers)
        return self._round(work, outcomes)

    async def aexecute(
        self, prompt: Prompt, response: ChatResponse, *, context: Mapping[str, Any] = EMPTY
    ) -> ToolRound:
        """Do `execute` without blocking the event loop: async tools as tasks, sync ones in threads."""
        work = self._work(prompt, response, context)
        outcomes = await run_all_async(work.jobs, parallel=self.parallel, workers=self.workers)
        return self._round(work, outcomes)

    def _work(self, prompt: Prompt, response: ChatResponse, context: Mapping[str, Any]) -> _Work:
        message = _calling(response)
        calls: tuple[ToolCall | InvalidToolCall, ...] = (*message.tool_calls, *message.invalid_tool_calls)
        history = (*prompt.messages, message)
        over = self._over_limit(calls, prompt.messages)
        work = _Work(message, calls, over)
        for at, call in enumerate(calls):
            if at not in over:
                work.jobs.append(self._job(call, context, history))
                work.places.append(at)
        return work

    def _over_limit(
        self, calls: Sequence[ToolCall | InvalidToolCall], messages: Sequence[Message]
    ) -> dict[int, tuple[str, int]]:
        """Find the calls that are too many in this turn, with the tool (or ``""`` for all) and the limit."""
        used = Counter(response.name or "" for message in _turn(messages) for response in message.responses)
        total = sum(used.values())
        over: dict[int, tuple[str, int]] = {}
        for at, call in enumerate(calls):
            name = call.name or ""
            of_one = self.limit_per_tool.get(name) if isinstance(self.limit_per_tool, Mapping) else self.limit_per_tool
            if of_one is not None and used[name] >= of_one:
                over[at] = (name, of_one)
            elif self.limit is not None and total >= self.limit:
                over[at] = ("", self.limit)
            else:
                used[name] += 1
                total += 1
        return over

    def _job(self, call: ToolCall | InvalidToolCall, context: Mapping[str, Any], history: tuple[Message, ...]) -> _Job:
        if isinstance(call, InvalidToolCall):
            what = f"The call of {call.name!r}" if call.name else "The call"
            problem = f"{what} was not carried out: {call.error or 'it is broken'}."
            return _Job(None, ToolError(problem, tool_name=call.name))
        made = self.tools.get(call.name)
        if made is None:
            offered = ", ".join(map(repr, self.tools)) or "none"
            return _Job(
                None,
                ToolNotFoundError(f"There is no tool {call.name!r}; the tools are: {offered}.", tool_name=call.name),
            )
        try:
            arguments = made.arguments(call)
        except ToolError as error:
            return _Job(made, error)
        if made.context_name is not None:
            arguments[made.context_name] = ToolContext(context, call=call, history=history)
        seconds = self.timeout if made.timeout is None else made.timeout
        return _Job(made, None, lambda: made.function(**arguments), is_async=made.is_async, seconds=seconds)

    def _round(self, work: _Work, outcomes: Sequence[Any]) -> ToolRound:
        answered = dict(zip(work.places, outcomes, strict=True))
        responses = []
        direct = bool(outcomes)
        for at, call in enumerate(work.calls):
            made = self.tools.get(call.name or "")
            direct = direct and made is not None and made.return_direct
            responses.append(
                self._over(call, *work.over[at]) if at in work.over else self._response(call, made, answered[at])
            )
        round_ = ToolRound((work.message, ToolResponseMessage(responses)), return_direct=direct)
        if work.over and self.on_limit == "raise":
            name, limit = next(iter(work.over.values()))
            what = f"the tool {name!r}" if name else "all tools together"
            message = f"{what} may be called {limit} times in one turn, and the model wants more"
            raise ToolLimitError(message, limit=limit, tool_name=name or None, partial=round_.messages)
        return round_

    def _over(self, call: ToolCall | InvalidToolCall, name: str, limit: int) -> ToolResponse:
        what = f"this tool {limit} times" if name else f"tools {limit} times"
        text = f"The call was not carried out: you may call {what} in one turn. Answer with what you have."
        return ToolResponse(call.id, call.name, content=text, status="error")

    def _response(self, call: ToolCall | InvalidToolCall, made: Tool[..., Any] | None, outcome: Any) -> ToolResponse:
        if not isinstance(outcome, Exception) and made is not None:
            try:
                content, artifact = made.result(outcome)
                return ToolResponse(call.id, call.name, content=content, artifact=artifact)
            except PromptkitError as error:
                outcome = error
        if self._policy(outcome) == "raise":
            raise outcome
        return ToolResponse(call.id, call.name, content=_words(outcome, call.name), status="error")

    def _policy(self, error: Exception) -> Policy:
        if isinstance(error, ToolNotFoundError):
            return self.on_unknown
        for kind in type(error).__mro__:
            if kind in self.on_error:
                return self.on_error[kind]
        return "report"


@frozen(eq=False, repr=False)
class _Job:
    """Hold a call to run, or what is wrong with it."""

    made: Tool[..., Any] | None
    problem: Exception | None
    run: Callable[[], Any] | None = None
    is_async: bool = False
    seconds: float | None = None


class _Work:
    """Hold the calls of an answer: those to run with their places, those that are too many."""

    __slots__ = ("calls", "jobs", "message", "over", "places")

    def __init__(
        self, message: AssistantMessage, calls: tuple[ToolCall | InvalidToolCall, ...], over: dict[int, tuple[str, int]]
    ) -> None:
        self.message = message
        self.calls = calls
        self.over = over
        self.jobs: list[_Job] = []
        self.places: list[int] = []


def _calling(response: ChatResponse) -> AssistantMessage:
    for result in response.results:
        if result.output.tool_calls or result.output.invalid_tool_calls:
            return result.output
    raise ToolError("the answer calls no tool")


def _turn(messages: Sequence[Message]) -> Iterable[ToolResponseMessage]:
    """Give the results since the last user message."""
    found = []
    for message in reversed(messages):
        if message.message_type == MessageType.USER:
            break
        builtin = as_builtin(message)
        if isinstance(builtin, ToolResponseMessage):
            found.append(builtin)
    return found


def _words(error: Exception, name: str | None) -> str:
    """Say to the model what went wrong; an error without words is named by its tool and class."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception of a tool may be broken itself
        text = ""
    return text if text.strip() else f"The tool {name!r} failed with {type(error).__name__}."


def direct_generations(messages: Iterable[Message]) -> tuple[Generation, ...]:
    """Make an answer of each result of the last round: what tools with ``return_direct`` give to the user.

    Args:
        messages: The history; its last `ToolResponseMessage` counts.
    """
    last: ToolResponseMessage | None = None
    for message in messages:
        builtin = as_builtin(message)
        if isinstance(builtin, ToolResponseMessage):
            last = builtin
    if last is None:
        return ()
    return tuple(
        [
            Generation(
                AssistantMessage(response.content),
                "returnDirect",
                metadata={"tool_id": response.id, "tool_name": response.name},
            )
            for response in last.responses
        ]
    )
