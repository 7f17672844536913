"""Hold LangChain's messages as values: the same names and fields, on attrs alone, frozen and closed.

They differ from LangChain's own classes where those lose data or accept mistakes: a misspelt field is an error, nothing
can be changed after construction, and what goes in is JSON or bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast
from uuid import UUID

from attrs import field, frozen

from promptkit import _json
from promptkit._frozen import EMPTY, FrozenDict, freeze, shown
from promptkit.adapters.langchain.base import BaseMessage, ContentLike, id_text
from promptkit.adapters.langchain.blocks import reasoning_block, standard_blocks
from promptkit.adapters.langchain.calls import (
    NOTHING,
    InvalidToolCall,
    ToolCall,
    UsageMetadata,
    check_usage,
    freeze_calls,
    read_openai_calls,
)
from promptkit.errors import PromptError

__all__ = [
    "AIMessage",
    "ChatMessage",
    "FunctionMessage",
    "HumanMessage",
    "RemoveMessage",
    "SystemMessage",
    "ToolMessage",
]

_set = object.__setattr__

_REQUIRED = cast("str", None)
"""No default: the constructors are our own, and what differs from a field's default is shown."""


@frozen(init=False, repr=False, weakref_slot=False)
class SystemMessage(BaseMessage):
    """Hold what the application tells the model to be and do.

    >>> SystemMessage("Be brief.").type
    'system'
    """

    type: ClassVar[str] = "system"
    kind: ClassVar[str] = "system"


@frozen(init=False, repr=False, weakref_slot=False)
class HumanMessage(BaseMessage):
    """Hold what a person says.

    >>> HumanMessage([{"type": "text", "text": "What is "}, "this?"]).text
    'What is this?'
    """

    type: ClassVar[str] = "human"
    kind: ClassVar[str] = "human"


@frozen(init=False, repr=False, weakref_slot=False)
class AIMessage(BaseMessage):
    """Hold what the model says and which tools it wants.

    Args:
        tool_calls: Calls that can be carried out. Left out, those that ``additional_kwargs["tool_calls"]`` holds as
            OpenAI writes them; a block of the type ``tool_call`` among ``content_blocks`` counts too.
        invalid_tool_calls: Calls that cannot.
        usage_metadata: The tokens of the call.

    >>> AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]).tool_calls[0]["type"]
    'tool_call'
    """

    type: ClassVar[str] = "ai"
    kind: ClassVar[str] = "ai"

    tool_calls: Sequence[ToolCall] = field(default=NOTHING, kw_only=True)
    invalid_tool_calls: Sequence[InvalidToolCall] = field(default=NOTHING, kw_only=True)
    usage_metadata: UsageMetadata | None = field(default=None, kw_only=True)

    def __init__(
        self,
        content: ContentLike | None = None,
        *,
        content_blocks: Iterable[Mapping[str, Any]] | None = None,
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        name: str | None = None,
        id: str | float | None = None,
        tool_calls: Iterable[ToolCall] | None = None,
        invalid_tool_calls: Iterable[InvalidToolCall] | None = None,
        usage_metadata: UsageMetadata | None = None,
    ) -> None:
        self._fill_common(content, content_blocks, additional_kwargs, response_metadata, name, id)
        calls: Any = tool_calls
        invalid: Any = invalid_tool_calls
        if calls is None and content_blocks is not None:
            blocks = cast("tuple[FrozenDict, ...]", self.content)
            calls = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_call"]
            calls = calls or None
        if calls is None and invalid is None and "tool_calls" in self.additional_kwargs:
            calls, invalid = read_openai_calls(self.additional_kwargs["tool_calls"])
        _set(self, "tool_calls", NOTHING if calls is None else freeze_calls(calls, "tool_calls"))
        _set(self, "invalid_tool_calls", NOTHING if invalid is None else freeze_calls(invalid, "invalid_tool_calls"))
        _set(self, "usage_metadata", None if usage_metadata is None else check_usage(usage_metadata))

    @property
    def content_blocks(self) -> list[Mapping[str, Any]]:
        """The content as standard blocks, then the tool calls that have none there; reasoning comes first.

        See `BaseMessage.content_blocks`. Content that already is in the standard form (``output_version`` "v1" in
        ``response_metadata``) comes as it is.
        """
        if self.response_metadata.get("output_version") == "v1" and isinstance(self.content, tuple):
            return cast("list[Mapping[str, Any]]", list(self.content))
        blocks = standard_blocks(self.content)
        blocks += self._call_blocks(blocks)
        reasoning = reasoning_block(self.additional_kwargs, blocks)
        return blocks if reasoning is None else [reasoning, *blocks]

    def _call_blocks(self, blocks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        present = {block.get("id") for block in blocks if block.get("type") == "tool_call"} - {None, ""}
        return [call for call in self.tool_calls if call["id"] not in present]

    def pretty_repr(self) -> str:
        """Show the message under a title of 80 columns, and its tool calls below."""
        lines = [BaseMessage.pretty_repr(self).strip()]
        for heading, calls in (("Tool Calls:", self.tool_calls), ("Invalid Tool Calls:", self.invalid_tool_calls)):
            if calls:
                lines.append(heading)
            for call in cast("Sequence[Mapping[str, Any]]", calls):
                lines += [f"  {call['name']} ({call['id']})", f" Call ID: {call['id']}"]
                lines += [f"  Error: {call['error']}"] if call.get("error") else []
                args = call["args"]
                lines.append("  Args:")
                lines += [f"    {key}: {args[key]}" for key in args] if isinstance(args, Mapping) else [f"    {args}"]
        return "\n".join(lines).strip()


@frozen(init=False, repr=False, weakref_slot=False)
class ToolMessage(BaseMessage):
    """Hold what a tool gave back for one call.

    Args:
        content: The result; what is neither text nor blocks becomes its JSON, and ``None`` no text.
        tool_call_id: The call's id; a number or UUID becomes text.
        artifact: What your program keeps of the result and no model sees.
        status: ``error`` when the tool failed.

    >>> ToolMessage({"degrees": 3}, tool_call_id="c1").content
    '{"degrees":3}'
    """

    type: ClassVar[str] = "tool"
    kind: ClassVar[str] = "tool"

    tool_call_id: str = field(default=_REQUIRED, kw_only=True)
    artifact: Any = field(default=None, kw_only=True, hash=False)
    status: Literal["success", "error"] = field(default="success", kw_only=True)

    def __init__(
        self,
        content: Any = None,
        *,
        tool_call_id: str | float | UUID,
        content_blocks: Iterable[Mapping[str, Any]] | None = None,
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        name: str | None = None,
        id: str | float | None = None,
        artifact: Any = None,
        status: Literal["success", "error"] = "success",
    ) -> None:
        self._fill_common(
            content if type(content) is str or content_blocks is not None else _tool_content(content),
            content_blocks,
            additional_kwargs,
            response_metadata,
            name,
            id,
        )
        if status not in ("success", "error"):
            raise PromptError(f"{self._path('status')} must be 'success' or 'error', not {shown(status)}")
        if type(tool_call_id) is not str:
            tool_call_id = id_text(tool_call_id, self._path("tool_call_id"))
        _set(self, "tool_call_id", tool_call_id)
        _set(self, "artifact", None if artifact is None else freeze(artifact, self._path("artifact")))
        _set(self, "status", status)


def _tool_content(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str | Mapping) else _json_text(item) for item in value]
    return _json_text(value)


def _json_text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return _json.dumps(value)
    except (TypeError, ValueError) as error:
        raise PromptError(f"the content of a ToolMessage cannot be written as JSON: {error}") from None


@frozen(init=False, repr=False, weakref_slot=False)
class FunctionMessage(BaseMessage):
    """Hold what a function gave back, in the form before tool calls had ids.

    >>> FunctionMessage("3 degrees", name="weather").name
    'weather'
    """

    type: ClassVar[str] = "function"
    kind: ClassVar[str] = "function"

    def __init__(
        self,
        content: ContentLike | None = None,
        *,
        name: str,
        content_blocks: Iterable[Mapping[str, Any]] | None = None,
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        id: str | float | None = None,
    ) -> None:
        self._fill_common(content, content_blocks, additional_kwargs, response_metadata, name, id)
        if name is None:
            raise PromptError(f"{self._path('name')} must be a str, not None")


@frozen(init=False, repr=False, weakref_slot=False)
class ChatMessage(BaseMessage):
    """Hold what a speaker of any role says.

    >>> ChatMessage("Looks good.", role="Reviewer").role
    'Reviewer'
    """

    type: ClassVar[str] = "chat"
    kind: ClassVar[str] = "chat"

    role: str = field(default=_REQUIRED, kw_only=True)

    def __init__(
        self,
        content: ContentLike | None = None,
        *,
        role: str,
        content_blocks: Iterable[Mapping[str, Any]] | None = None,
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        name: str | None = None,
        id: str | float | None = None,
    ) -> None:
        self._fill_common(content, content_blocks, additional_kwargs, response_metadata, name, id)
        if not isinstance(role, str):
            raise PromptError(f"{self._path('role')} must be a str, not {shown(role)}")
        _set(self, "role", str.__str__(role))


@frozen(init=False, repr=False, weakref_slot=False)
class RemoveMessage(BaseMessage):
    """Tell a graph to remove the message with an id; it says nothing itself.

    >>> RemoveMessage("m1").id
    'm1'
    """

    type: ClassVar[str] = "remove"
    kind: ClassVar[str] = "remove"

    def __init__(
        self,
        id: str | float | None = None,
        *,
        content: ContentLike = "",
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        name: str | None = None,
    ) -> None:
        if content:
            raise PromptError("RemoveMessage has no content: it names the message to remove by its id")
        if id is None:
            raise PromptError("RemoveMessage.id must be the id of the message to remove, not None")
        BaseMessage.__init__(
            self, "", additional_kwargs=additional_kwargs, response_metadata=response_metadata, name=name, id=id
        )
