"""Hold LangChain's prompt values: what goes to a model, as text or as messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, NotRequired, TypedDict, cast

from attrs import field, frozen

from promptkit._frozen import Value, exact_str, freeze_mapping, items_of, shown
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.buffer import get_buffer_string
from promptkit.adapters.langchain.messages import HumanMessage, RemoveMessage
from promptkit.errors import PromptError

__all__ = [
    "ChatPromptValue",
    "ChatPromptValueConcrete",
    "ImagePromptValue",
    "ImageURL",
    "PromptValue",
    "StringPromptValue",
]


class PromptValue(ABC):
    """Be what a model takes, in LangChain's words.

    >>> [value.to_string() for value in (StringPromptValue("hi"), ChatPromptValue([HumanMessage("hi")]))]
    ['hi', 'Human: hi']
    """

    __slots__ = ()

    @abstractmethod
    def to_string(self) -> str:
        """Give the prompt as one text."""

    @abstractmethod
    def to_messages(self) -> list[BaseMessage]:
        """Give the prompt as messages."""


def _text(value: str) -> str:
    return exact_str(value, "StringPromptValue.text")


@frozen(repr=False, weakref_slot=False)
class StringPromptValue(Value, PromptValue):
    """Hold a prompt that is a text.

    >>> StringPromptValue("hi").to_messages()
    [HumanMessage('hi')]
    """

    type: ClassVar[str] = "StringPromptValue"

    text: str = field(converter=_text)

    def to_string(self) -> str:
        """Give the text."""
        return self.text

    def to_messages(self) -> list[BaseMessage]:
        """Give the text as one human message."""
        return [HumanMessage(self.text)]


class ImageURL(TypedDict):
    """Say where an image is, and how closely to look at it.

    >>> ImageURL(url="https://example.org/cat.png", detail="low")["detail"]
    'low'
    """

    url: str
    detail: NotRequired[Literal["low", "high", "auto"]]


def _image_url(value: Any) -> ImageURL:
    image = freeze_mapping(value, "image_url")
    if not isinstance(image.get("url"), str) or not image["url"]:
        raise PromptError(f"image_url['url'] must be a non-empty str, not {shown(image.get('url'))}")
    if image.get("detail", "auto") not in ("low", "high", "auto"):
        raise PromptError(f"image_url['detail'] must be 'low', 'high' or 'auto', not {shown(image['detail'])}")
    if not image.keys() <= {"url", "detail"}:
        raise PromptError(f"image_url has only 'url' and 'detail', not {', '.join(map(repr, image))}")
    return cast("ImageURL", image)


@frozen(repr=False, weakref_slot=False)
class ImagePromptValue(Value, PromptValue):
    """Hold a prompt that is an image.

    >>> ImagePromptValue({"url": "https://example.org/cat.png"}).to_messages()[0].content[0]["type"]
    'image_url'
    """

    type: ClassVar[str] = "ImagePromptValue"

    image_url: ImageURL = field(converter=_image_url)

    def to_string(self) -> str:
        """Give the URL."""
        return self.image_url["url"]

    def to_messages(self) -> list[BaseMessage]:
        """Give one human message with the image as OpenAI writes it."""
        return [HumanMessage([{"type": "image_url", "image_url": cast("Mapping[str, Any]", self.image_url)}])]


def _messages(value: Iterable[BaseMessage]) -> tuple[BaseMessage, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise PromptError(f"messages must be a list of messages, not {shown(value)}; see convert_to_messages")
    messages = items_of(value, "messages")
    for index, message in enumerate(messages):
        if not isinstance(message, BaseMessage):
            raise PromptError(f"messages[{index}] must be a message, not {shown(message)}; see convert_to_messages")
    return messages


@frozen(repr=False, weakref_slot=False)
class ChatPromptValue(Value, PromptValue):
    """Hold a prompt that is messages.

    >>> ChatPromptValue([HumanMessage("hi")]).to_messages()
    [HumanMessage('hi')]
    """

    type: ClassVar[str] = "ChatPromptValue"

    messages: tuple[BaseMessage, ...] = field(converter=_messages)

    def to_string(self) -> str:
        """Give the messages as a buffer string; `get_buffer_string` takes prefixes and formats."""
        return get_buffer_string(self.messages)

    def to_messages(self) -> list[BaseMessage]:
        """Give the messages."""
        return list(self.messages)


@frozen(repr=False, weakref_slot=False)
class ChatPromptValueConcrete(ChatPromptValue):
    """Hold a prompt that is messages of the known classes: those that can be sent.

    Raises:
        PromptError: Something in it is no such message.

    >>> ChatPromptValueConcrete([HumanMessage("hi")]).type
    'ChatPromptValueConcrete'
    """

    type: ClassVar[str] = "ChatPromptValueConcrete"

    def __attrs_post_init__(self) -> None:
        for index, message in enumerate(self.messages):
            known = type(message).__module__.startswith(f"{__package__}.")
            if not known or isinstance(message, RemoveMessage):
                raise PromptError(f"messages[{index}] is a {type(message).__name__}, no message to send")
