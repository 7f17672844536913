"""Chain the history functions with templates and models, ours and LangChain's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from attrs import frozen

from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.core import from_core, is_core, to_core
from promptkit.adapters.langchain.native import from_messages, to_messages
from promptkit.history.step import Step, Stepwise, stepwise
from promptkit.prompt import Prompt

__all__ = ["LangChainStep", "langchain_stepwise"]

P = ParamSpec("P")
M = TypeVar("M")
R = TypeVar("R")


class LangChainStep(Step):
    """Be a step over LangChain's messages, ours or its own, and over prompts of ours; each comes out as it went in.

    It stands in a chain of LangChain's too: ``template | step | model``.

    >>> from promptkit.adapters.langchain import HumanMessage, trim_messages
    >>> trim_messages(max_tokens=1, token_counter=len).invoke([HumanMessage("Hi"), HumanMessage("Who are you?")])
    [HumanMessage('Who are you?')]
    """

    def __call__(self, value: Any) -> Any:
        """Run the step: what LangChain calls."""
        return self.invoke(value)

    def __or__(self, after: Any) -> Step:
        return super().__or__(_Runnable(after) if is_core(after) and hasattr(after, "invoke") else after)

    @staticmethod
    def to_prompt(value: Any) -> Prompt:
        """Make a prompt of messages of either kind."""
        if isinstance(value, Prompt):
            return value
        core = _core_messages(value)
        return from_messages(value if core is None else from_core(core, []))

    @staticmethod
    def change(value: Any, function: Callable[[Any], Any]) -> Any:
        """Apply a history function to a prompt, or to messages of either kind."""
        if isinstance(value, Prompt):
            return from_messages(function(to_messages(value)), options=value.options)
        core = _core_messages(value)
        if core is None:
            return function(value)
        ours = from_core(core, [])
        known = {id(message): own for message, own in zip(ours, core, strict=True)}
        return [known.get(id(message)) or to_core([message], [])[0] for message in function(ours)]


def langchain_stepwise(function: Callable[Concatenate[M, P], R]) -> Stepwise[M, P, R]:
    """Let a function over LangChain's messages give a `LangChainStep` when it is called without messages."""
    return stepwise(function, LangChainStep)


def _core_messages(value: Any) -> list[Any] | None:
    """Give the messages of langchain-core's in a value, or ``None`` where there are none."""
    if is_core(value) and hasattr(value, "to_messages"):
        return list(value.to_messages())
    if isinstance(value, (list, tuple)) and value and all(map(is_core, value)):
        return list(value)
    return None


@frozen
class _Runnable:
    """Hand messages to a part of LangChain's as its own."""

    part: Any

    def invoke(self, value: Any) -> Any:
        return self.part.invoke(_handed(value))

    async def ainvoke(self, value: Any) -> Any:
        return await self.part.ainvoke(_handed(value))


def _handed(value: Any) -> Any:
    if isinstance(value, Prompt):
        value = to_messages(value)
    if isinstance(value, (list, tuple)) and any(isinstance(message, BaseMessage) for message in value):
        return to_core(value, [])
    return value
