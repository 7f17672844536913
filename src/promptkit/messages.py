"""Hold the messages of a conversation: who said what, with which tool calls and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from attrs import field, frozen

from promptkit import _json
from promptkit._frozen import (
    EMPTY,
    FrozenDict,
    ShownValue,
    Value,
    bare_fields,
    exact_str,
    freeze,
    freeze_mapping,
    holds_only,
    settle,
    shown,
    tuple_of,
)
from promptkit.content import Content, ContentLike, Media, Text, content_text, freeze_content, freeze_optional_content
from promptkit.errors import PromptError, ToolError

__all__ = [
    "AssistantMessage",
    "BuiltinMessage",
    "InvalidToolCall",
    "Message",
    "MessageType",
    "SystemMessage",
    "ToolCall",
    "ToolResponse",
    "ToolResponseMessage",
    "UserMessage",
    "as_builtin",
    "check_message",
    "with_text",
]


class MessageType(StrEnum):
    """Say who speaks; a member equals its wire name.

    >>> MessageType.USER == "user"
    True
    """

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Message(Protocol):
    """Be anything with a speaker, content and metadata; your own class may be one.

    `Prompt` and templates keep your class as it is. `as_builtin` turns it into one of ours where it leaves the process.
    """

    @property
    def message_type(self) -> MessageType:
        """Who speaks."""

    @property
    def content(self) -> Content | None:
        """What is said: text, parts in order, or nothing beside tool calls."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else is known."""


if TYPE_CHECKING:

    class _MessageValue(ShownValue, Message):  # pyright matches class variables and converter fields only by name
        ...
else:
    _MessageValue = ShownValue


def _argument_text(value: str | Mapping[str, Any]) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if not isinstance(value, Mapping):
        raise PromptError(f"ToolCall.arguments must be JSON text or a mapping, not {shown(value)}")
    try:
        return _json.dumps(freeze_mapping(value, "ToolCall.arguments"))
    except TypeError as error:
        raise PromptError(f"ToolCall.arguments cannot be written as JSON: {error}") from None


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ToolCall(Value):
    """Hold a model's wish to run a tool.

    Args:
        id: The vendor's id of the call; ``None`` where the vendor gives none.
        name: The tool's name.
        arguments: The arguments as JSON text, kept as received; a mapping is written as JSON.

    >>> ToolCall("c1", "weather", arguments={"city": "Oslo"}).parsed_arguments
    {'city': 'Oslo'}
    """

    id: str | None
    name: str
    arguments: str = field(default="{}", kw_only=True, converter=_argument_text)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        if type(self.arguments) is not str:
            object.__setattr__(self, "arguments", _argument_text(self.arguments))
        if type(self.name) is not str:
            object.__setattr__(self, "name", exact_str(self.name, "ToolCall.name"))
        if not self.name:
            raise PromptError("ToolCall.name is empty; a call without a name is an InvalidToolCall")
        if type(self.id) is not str or self.metadata is not EMPTY:
            settle(self, "id")

    @property
    def parsed_arguments(self) -> FrozenDict:
        """Read the arguments; no text at all reads as no arguments.

        Raises:
            ToolError: They are not the JSON of an object.
        """
        if not self.arguments.strip():
            return EMPTY
        try:
            parsed = _json.loads(self.arguments)
            if not isinstance(parsed, dict):
                raise PromptError(f"the arguments are a JSON {type(parsed).__name__}, not an object")
            return freeze_mapping(parsed, "arguments")
        except ValueError as error:
            call = f"the call {shown(self.id)} of {shown(self.name)}"
            raise ToolError(f"{call} cannot be read: {error}", tool_name=self.name) from None


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class InvalidToolCall(Value):
    """Hold a tool call that cannot be carried out: its arguments are broken or its name is missing.

    Args:
        id: The vendor's id of the call, if there is one.
        name: The tool's name, if there is one.
        arguments: The text that came, kept as received.
        error: What is wrong with it.

    >>> InvalidToolCall("c1", "weather", arguments='{"city": "Os', error="ends early").name
    'weather'
    """

    id: str | None
    name: str | None
    arguments: str | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        settle(self, "id", "name", "arguments", "error")
        if self.error == "":
            object.__setattr__(self, "error", None)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ToolResponse(Value):
    """Hold what a tool gave back for one call.

    Args:
        id: The id of the call; ``None`` where the vendor gives none.
        name: The tool's name, if it is known.
        content: The result as the model reads it.
        status: ``error`` when the tool failed.
        artifact: What your program keeps of the result and no model sees: a JSON value or bytes.

    >>> ToolResponse("c1", "weather", content="3 degrees").status
    'success'
    """

    id: str | None
    name: str | None = None
    content: Content = field(default="", kw_only=True, converter=freeze_content)
    status: Literal["success", "error"] = field(default="success", kw_only=True)
    artifact: Any = field(default=None, kw_only=True, hash=False, converter=freeze)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        if type(self.content) is not str:
            object.__setattr__(self, "content", freeze_content(self.content))
        if self.status not in ("success", "error"):
            raise PromptError(f"ToolResponse.status must be 'success' or 'error', not {shown(self.status)}")
        if self.artifact is not None:
            object.__setattr__(self, "artifact", freeze(self.artifact, "ToolResponse.artifact"))
        if type(self.id) is not str or type(self.name) is not str or self.metadata is not EMPTY:
            settle(self, "id", "name")

    @property
    def text(self) -> str:
        """The text of the result."""
        return content_text(self.content)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class _Identified(_MessageValue):
    """Hold what every message has beside its content."""

    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    name: str | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)


class _Spoken(_Identified):
    """Hold what messages with content of their own have in common."""

    __slots__ = ()

    def __attrs_post_init__(self) -> None:
        if type(self.content) is not str or self.metadata is not EMPTY or self.name is not None or self.id is not None:
            self._freeze()

    def _freeze(self) -> None:
        content: Any = self.content
        if type(content) is not str and (content is not None or self.message_type is not MessageType.ASSISTANT):
            object.__setattr__(self, "content", freeze_content(content))
        settle(self, "name", "id")

    @property
    def media(self) -> tuple[Media, ...]:
        """The media parts, in order."""
        return _media(self.content)

    def with_text(self, text: str) -> Self:
        """Make a copy that says something else and keeps all the rest: media, metadata, name, id, calls."""
        return self.mutate(content=_replaced_text(self.content, text))


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class SystemMessage(_Spoken):
    """Hold what the application tells the model to be and do.

    >>> SystemMessage("Answer in one sentence.").text
    'Answer in one sentence.'
    """

    message_type: ClassVar[MessageType] = MessageType.SYSTEM

    content: Content = field(converter=freeze_content)

    @property
    def text(self) -> str:
        """The text, parts joined without a separator."""
        return content_text(self.content)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class UserMessage(_Spoken):
    """Hold what a person (or the program in their place) says.

    Args:
        content: Text, or parts in order: text and media interleave.
        name: The speaker's name, where several speak.

    >>> UserMessage(["What is this?", Media(url="https://example.org/cat.png")]).media[0].mime_type
    'image/png'
    """

    message_type: ClassVar[MessageType] = MessageType.USER

    content: Content = field(converter=freeze_content)

    @property
    def text(self) -> str:
        """The text, parts joined without a separator."""
        return content_text(self.content)


def _calls(value: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple_of(ToolCall, value, "tool_calls")


def _invalid_calls(value: Iterable[InvalidToolCall]) -> tuple[InvalidToolCall, ...]:
    return tuple_of(InvalidToolCall, value, "invalid_tool_calls")


def _responses(value: ToolResponse | Iterable[ToolResponse]) -> tuple[ToolResponse, ...]:
    responses = tuple_of(ToolResponse, value, "responses")
    if not responses:
        raise PromptError("responses is empty: a ToolResponseMessage carries at least one ToolResponse")
    return responses


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class AssistantMessage(_Spoken):
    """Hold what the model says and which tools it wants.

    Args:
        content: Text, parts in order, or ``None`` beside tool calls.
        tool_calls: Calls that can be carried out, in order.
        invalid_tool_calls: Calls that cannot.

    >>> AssistantMessage(tool_calls=[ToolCall("c1", "weather")]).has_tool_calls
    True
    """

    message_type: ClassVar[MessageType] = MessageType.ASSISTANT

    content: Content | None = field(default=None, converter=freeze_optional_content)
    tool_calls: tuple[ToolCall, ...] = field(default=(), kw_only=True, converter=_calls)
    invalid_tool_calls: tuple[InvalidToolCall, ...] = field(default=(), kw_only=True, converter=_invalid_calls)

    def __attrs_post_init__(self) -> None:
        if self.tool_calls != () and not holds_only(ToolCall, self.tool_calls):
            object.__setattr__(self, "tool_calls", _calls(self.tool_calls))
        if self.invalid_tool_calls != ():
            object.__setattr__(self, "invalid_tool_calls", _invalid_calls(self.invalid_tool_calls))
        text = self.content is None or type(self.content) is str
        if not text or self.metadata is not EMPTY or self.name is not None or self.id is not None:
            self._freeze()

    @property
    def text(self) -> str | None:
        """The text, parts joined without a separator; ``None`` when there is no content."""
        return None if self.content is None else content_text(self.content)

    @property
    def has_tool_calls(self) -> bool:
        """Whether any tool call can be carried out."""
        return bool(self.tool_calls)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ToolResponseMessage(_Identified):
    """Hold the results of one or more tool calls of one turn.

    >>> ToolResponseMessage(ToolResponse("c1", "weather", content="3 degrees")).responses[0].text
    '3 degrees'
    """

    message_type: ClassVar[MessageType] = MessageType.TOOL

    responses: tuple[ToolResponse, ...] = field(converter=_responses)

    def __attrs_post_init__(self) -> None:
        if not holds_only(ToolResponse, self.responses):
            object.__setattr__(self, "responses", _responses(self.responses))
        if self.metadata is not EMPTY or self.name is not None or self.id is not None:
            settle(self, "name", "id")

    @property
    def content(self) -> str:
        """Nothing: the results stand in ``responses``."""
        return ""

    @property
    def text(self) -> str:
        """Nothing: the results stand in ``responses``."""
        return ""

    @property
    def media(self) -> tuple[Media, ...]:
        """The media parts of all results, in order."""
        return tuple(media for response in self.responses for media in _media(response.content))


BuiltinMessage = SystemMessage | UserMessage | AssistantMessage | ToolResponseMessage
"""The message classes of promptkit."""

_BUILTINS = frozenset((SystemMessage, UserMessage, AssistantMessage, ToolResponseMessage))


def _media(content: Content | None) -> tuple[Media, ...]:
    return tuple(part for part in content if isinstance(part, Media)) if isinstance(content, tuple) else ()


def _replaced_text(content: Content | None, text: str) -> ContentLike:
    """Put text in the place of the first `Text` part, drop the other ones, keep every other part."""
    if not isinstance(content, tuple):
        return text
    at = next((index for index, part in enumerate(content) if isinstance(part, Text)), None)
    if at is None:
        return (Text(text), *content)
    kept = [part.mutate(text=text) if index == at else part for index, part in enumerate(content)]
    return [part for index, part in enumerate(kept) if index == at or not isinstance(part, Text)]


def check_message(value: object, path: str) -> Message:
    """Give the value back if it can stand in a prompt.

    Raises:
        PromptError: It has no speaker, content or metadata; plain dicts get a hint.
    """
    if type(value) in _BUILTINS or isinstance(value, BuiltinMessage):
        return value  # type: ignore[return-value]
    if isinstance(value, Mapping):
        raise PromptError(
            f"{path} is a mapping, not a message: write UserMessage('…'), or read data with promptkit.serialization "
            "or promptkit.adapters"
        )
    if isinstance(value, str | bytes) or value is None:
        raise PromptError(f"{path} must be a message, not {shown(value)}; text alone is UserMessage('…')")
    absent = [name for name in ("message_type", "content", "metadata") if not hasattr(value, name)]
    if absent or not isinstance(value.message_type, MessageType):  # type: ignore[attr-defined]
        lack = f"it has no {', '.join(absent)}" if absent else "its message_type is no MessageType"
        raise PromptError(f"{path} must be a message, not {shown(value)}: {lack}")
    return value  # type: ignore[return-value]


def as_builtin(message: Message) -> BuiltinMessage:
    """Turn any message into one of ours, as its role says: adapters, history tools, stores and JSON need that.

    A message of ours comes back as it is; a subclass or a class of your own becomes the plain class of its role, with
    the fields of that class that it has.

    Raises:
        PromptError: It is no message, or a field of it does not fit.
    """
    if type(message) in _BUILTINS:
        return message  # type: ignore[return-value]
    check_message(message, "message")
    builtin, names = _BY_TYPE[message.message_type]
    fields = {name: getattr(message, name) for name in (*names, "metadata", "name", "id") if hasattr(message, name)}
    if builtin is ToolResponseMessage and "responses" not in fields:
        raise PromptError(f"{type(message).__name__} has the role 'tool' but no responses")
    return builtin(**fields)


_BY_TYPE: Mapping[MessageType, tuple[type[BuiltinMessage], tuple[str, ...]]] = {
    MessageType.SYSTEM: (SystemMessage, ("content",)),
    MessageType.USER: (UserMessage, ("content",)),
    MessageType.ASSISTANT: (AssistantMessage, ("content", "tool_calls", "invalid_tool_calls")),
    MessageType.TOOL: (ToolResponseMessage, ("responses",)),
}


def with_text(message: Message, text: str) -> Message:
    """Make a copy of any message that says something else; a class without ``with_text`` becomes one of ours."""
    own = getattr(message, "with_text", None)
    if own is not None:
        return own(text)  # type: ignore[no-any-return]
    builtin = as_builtin(message)
    if isinstance(builtin, ToolResponseMessage):
        raise PromptError("a ToolResponseMessage has no text of its own: change its responses")
    return builtin.with_text(text)
