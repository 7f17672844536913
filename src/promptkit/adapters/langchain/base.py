"""Hold what all of LangChain's messages have in common, as values: on attrs alone, frozen and closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, FrozenList, Value, freeze_mapping, shown
from promptkit.adapters.langchain.blocks import standard_blocks
from promptkit.adapters.langchain.calls import optional_text
from promptkit.errors import PromptError

__all__ = ["BaseMessage", "ContentLike", "MessageContent", "construct", "id_text", "title_line"]

MessageContent = str | tuple[str | FrozenDict, ...]
"""What a message holds: text, or texts and blocks in order."""

ContentLike = str | Iterable[str | Mapping[str, Any]]
"""What the content of a message is built from."""

Message = TypeVar("Message", bound="BaseMessage")

_set = object.__setattr__


def _freeze_content(value: Any, kind: str) -> MessageContent:
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        raise PromptError(f"{kind}.content must be a str or a list of str and blocks, not {shown(value)}")
    return FrozenList([_freeze_block(item, f"{kind}.content[{index}]") for index, item in enumerate(value)])


def _freeze_block(item: object, path: str) -> str | FrozenDict:
    if isinstance(item, str):
        return str.__str__(item)
    if not isinstance(item, Mapping):
        raise PromptError(f"{path} must be a str or a mapping, not {shown(item)}")
    return freeze_mapping(item, path)


class _Slotted(Value):
    """Give chunks a place for what they have not joined yet; whole messages leave it empty."""

    __slots__ = ("_state",)

    _state: Any


@frozen(init=False, repr=False, weakref_slot=False)
class BaseMessage(_Slotted):
    """Be the base of all messages: content and what is known beside it.

    Args:
        content: Text, or texts and blocks in order.
        content_blocks: The same, by the name of the view that gives it back.
        additional_kwargs: What a vendor's format has beside the standard fields.
        response_metadata: What a vendor says of its answer.
        name: The speaker's name.
        id: The message's id; a number becomes text.

    Raises:
        PromptError: A value has the wrong type or is no JSON value.

    >>> from promptkit.adapters.langchain import HumanMessage
    >>> HumanMessage("hi", id=7)
    HumanMessage('hi', id='7')
    """

    type: ClassVar[str]
    kind: ClassVar[str]
    """The `type` of the whole message that this is, or is a chunk of."""

    content: MessageContent
    additional_kwargs: FrozenDict = field(default=EMPTY, kw_only=True, hash=False)
    response_metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False)
    name: str | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        content: ContentLike | None = None,
        *,
        content_blocks: Iterable[Mapping[str, Any]] | None = None,
        additional_kwargs: Mapping[str, Any] = EMPTY,
        response_metadata: Mapping[str, Any] = EMPTY,
        name: str | None = None,
        id: str | float | None = None,
    ) -> None:
        self._fill_common(content, content_blocks, additional_kwargs, response_metadata, name, id)

    def _fill_common(self, content: Any, blocks: Any, kwargs: Any, metadata: Any, name: Any, id: Any) -> None:
        """Set the common fields: what the constructors of all classes share."""
        if type(content) is not str or blocks is not None or type(self) is BaseMessage:
            content = self._only_content(content, blocks)
        _set(self, "content", content)
        _set(
            self,
            "additional_kwargs",
            EMPTY if kwargs is EMPTY else freeze_mapping(kwargs, self._path("additional_kwargs")),
        )
        _set(
            self,
            "response_metadata",
            EMPTY if metadata is EMPTY else freeze_mapping(metadata, self._path("response_metadata")),
        )
        _set(self, "name", name if name is None or type(name) is str else optional_text(name, self._path("name")))
        _set(self, "id", id if id is None or type(id) is str else id_text(id, self._path("id")))

    def _only_content(self, content: Any, blocks: Any) -> MessageContent:
        kind = type(self).__name__
        if type(self) is BaseMessage:
            raise TypeError("BaseMessage is abstract: use HumanMessage, AIMessage or another message class")
        if content is not None and blocks is not None:
            raise PromptError(f"{kind} takes content or content_blocks, not both")
        return _freeze_content(content if blocks is None else blocks, kind)

    def _path(self, name: str) -> str:
        return f"{type(self).__name__}.{name}"

    @property
    def text(self) -> str:
        """The text: strings and text blocks one after the other, nothing between them."""
        if isinstance(self.content, str):
            return self.content
        return "".join([_text_of(item) for item in self.content])

    @property
    def content_blocks(self) -> list[Mapping[str, Any]]:
        """The content as standard blocks: text, reasoning, data, tool calls, and ``non_standard`` for all else.

        Blocks of OpenAI, Anthropic, Google, Bedrock and of older LangChain versions are brought to the standard form.
        """
        return standard_blocks(self.content)

    def pretty_repr(self) -> str:
        """Show the message under a title of 80 columns."""
        name = "" if self.name is None else f"\nName: {self.name}"
        return f"{title_line(self.kind.title() + ' Message')}{name}\n\n{self.content}"

    def pretty_print(self) -> None:
        """Print `pretty_repr`."""
        print(self.pretty_repr())  # noqa: T201 - it is what the method is for


def construct(kind: type[Message], fields: Mapping[str, Any]) -> Message:
    """Make a message of fields that come from elsewhere.

    Raises:
        PromptError: A field is missing, wrong or unknown.
    """
    try:
        return kind(**fields)
    except TypeError as error:  # it names the class whose constructor it is, often a base
        raise PromptError(
            f"the fields do not make a {kind.__name__}: {str(error).partition('() ')[2] or error}"
        ) from None


def id_text(value: Any, path: str) -> str:
    """Give an id as text; numbers and UUIDs are written."""
    if isinstance(value, (int, float, UUID)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise PromptError(f"{path} must be a str, not {shown(value)}")
    return str.__str__(value)


def title_line(title: str) -> str:
    """Draw a line of 80 columns around a title."""
    title = f" {title} "
    rule = "=" * ((80 - len(title)) // 2)
    return f"{rule}{title}{rule}{'=' * (len(title) % 2)}"


def _text_of(item: str | FrozenDict) -> str:
    if isinstance(item, str):
        return item
    text = item.get("text") if item.get("type") == "text" else None
    return text if isinstance(text, str) else ""
