"""Hold what goes through the advisors of a client to its model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from promptkit._frozen import Value, shown
from promptkit.converters import StructuredOutputConverter
from promptkit.errors import PromptError
from promptkit.messages import AssistantMessage, Message, as_builtin
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from promptkit.tools import Tool

__all__ = ["NO_VALUES", "ChatClientRequest", "calls_tools", "identified", "new_id", "read_only"]

NO_VALUES: Mapping[str, Any] = MappingProxyType({})
"""The one empty mapping that requests share."""


def read_only(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy a mapping of any values behind a view that nobody can write to."""
    if type(values) is MappingProxyType:
        return values
    if not isinstance(values, Mapping):
        raise PromptError(f"a context must be a mapping, not {shown(values)}")
    return MappingProxyType(dict(values))


@frozen(repr=False, eq=False)
class ChatClientRequest(Value):
    """Hold a call of a client on its way through the advisors to the model; change it with ``mutate``.

    Args:
        prompt: What the model will be asked.
        tools: The functions that the model may call. The options of the prompt need not name them.
        tool_context: What the application passes to tools that take a `ToolContext`.
        conversation_id: The conversation that it belongs to.
        output: What turns the answer into the value that is asked for; says how the model should answer.
        context: What advisors pass to each other, or the application to them.
        answer: An answer that is known: the model is not asked.

    >>> request = ChatClientRequest(Prompt("Hi"), context={"tenant": 7})
    >>> request.mutate(conversation_id="c1").context["tenant"]
    7
    """

    prompt: Prompt
    tools: tuple[Tool[..., Any], ...] = field(default=(), kw_only=True)
    tool_context: Mapping[str, Any] = field(default=NO_VALUES, kw_only=True, converter=read_only)
    conversation_id: str | None = field(default=None, kw_only=True)
    output: StructuredOutputConverter[Any] | None = field(default=None, kw_only=True)
    context: Mapping[str, Any] = field(default=NO_VALUES, kw_only=True, converter=read_only)
    answer: ChatResponse | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.prompt, Prompt):
            raise PromptError(f"the prompt of a request must be a Prompt, not {shown(self.prompt)}")

    def followed_by(self, *messages: Message) -> ChatClientRequest:
        """Append messages to the prompt; in a conversation they get ids."""
        if self.conversation_id is not None:
            messages = tuple(map(identified, messages))
        return self.mutate(prompt=self.prompt.mutate(messages=(*self.prompt.messages, *messages)))


def calls_tools(message: AssistantMessage) -> bool:
    """Tell whether a message calls tools, be it in a way that cannot be carried out."""
    return bool(message.tool_calls or message.invalid_tool_calls)


def identified(message: Message) -> Message:
    """Give a message an id where it has none: two messages that say the same stay two."""
    builtin = as_builtin(message)
    return message if builtin.id is not None else builtin.mutate(id=new_id())


def new_id() -> str:
    """Make an id that no other message has."""
    from uuid import uuid4

    return uuid4().hex
