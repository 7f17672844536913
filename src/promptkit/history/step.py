"""Chain history functions with a template in front and a chat model behind: ``(template | trimmer | model).call(…)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from attrs import frozen

from promptkit import contracts
from promptkit._frozen import Value
from promptkit.prompt import Prompt

__all__ = ["Step", "Stepwise", "stepwise"]

P = ParamSpec("P")
M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@frozen(repr=False)
class Step(Value):
    """Do one thing after the other; a step that ends in a chat model is a chat model itself.

    A template takes variables and gives a prompt, a history function changes the messages of a prompt or of a plain
    sequence, a chat model answers. ``|`` takes any function and any object with ``invoke`` too.

    >>> from promptkit import UserMessage
    >>> last = stepwise(lambda messages, number: messages[-number:])
    >>> last(number=1).invoke(Prompt([UserMessage("Hi."), UserMessage("Who are you?")]))
    Prompt([UserMessage('Who are you?')])
    """

    parts: tuple[Any, ...]

    def invoke(self, value: Any) -> Any:
        """Run all parts; each takes what the one before it gave."""
        for part in self.parts:
            if hasattr(part, "invoke"):
                value = part.invoke(value)
            elif hasattr(part, "create"):
                value = part.create(value)
            else:
                value = contracts.call(part, self.to_prompt(value)) if _is_model(part) else part(value)
        return value

    async def ainvoke(self, value: Any) -> Any:
        """Run all parts; a chat model does not block."""
        for part in self.parts:
            if hasattr(part, "ainvoke"):
                value = await part.ainvoke(value)
            elif _is_model(part):
                value = await contracts.acall(part, self.to_prompt(value))
            else:
                value = type(self)((part,)).invoke(value)
        return value

    call = invoke
    acall = ainvoke

    def __or__(self, after: Any) -> Step:
        return type(self)((*self.parts, *_parts(after)))

    def __ror__(self, before: Any) -> Step:
        return type(self)((*_parts(before), *self.parts))

    @staticmethod
    def to_prompt(value: Any) -> Prompt:
        """Make a prompt of what a chat model is handed; families with messages of their own override this."""
        return value if isinstance(value, Prompt) else Prompt(value)

    @staticmethod
    def change(value: Any, function: Callable[[Any], Any]) -> Any:
        """Apply a history function; families with messages of their own override this."""
        return value.mutate(messages=function(value.messages)) if isinstance(value, Prompt) else function(value)


def _is_model(part: object) -> bool:
    return any(hasattr(part, name) for name in ("call", "stream", "acall", "astream")) and not hasattr(part, "invoke")


def _parts(part: Any) -> tuple[Any, ...]:
    if isinstance(part, Step):
        return part.parts
    if callable(part) or hasattr(part, "invoke") or hasattr(part, "create") or _is_model(part):
        return (part,)
    raise TypeError(f"{part!r:.80} cannot stand in a chain: give a template, a step, a chat model or a function")


class Stepwise(Protocol[M_contra, P, R_co]):
    """Be a history function: with messages it gives its result, without any it gives a `Step`."""

    @overload
    def __call__(self, messages: None = None, *args: P.args, **kwargs: P.kwargs) -> Step: ...
    @overload
    def __call__(self, messages: M_contra, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def stepwise(function: Callable[Concatenate[M, P], R_co], kind: type[Step] = Step) -> Stepwise[M, P, R_co]:
    """Let a history function give a step when it is called without messages; wrong options raise at once."""

    @wraps(function)
    def either(messages: Any = None, *args: P.args, **kwargs: P.kwargs) -> Any:
        if messages is not None:
            return function(messages, *args, **kwargs)
        function((), *args, **kwargs)  # type: ignore[arg-type]  # every family takes no messages
        return kind((lambda value: kind.change(value, lambda given: function(given, *args, **kwargs)),))

    return either
