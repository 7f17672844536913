"""Turn messages, prompt values and templates into langchain-core's own objects and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from langchain_core import prompt_values as core_values
from langchain_core.messages import BaseMessage as CoreMessage
from langchain_core.prompts import BasePromptTemplate as CoreTemplate
from langchain_core.prompts.message import BaseMessagePromptTemplate as CoreMessageTemplate

from promptkit._frozen import shown
from promptkit.adapters.base import Losses
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.core import from_core, to_core
from promptkit.adapters.langchain.interop.core_templates import from_core_template
from promptkit.adapters.langchain.interop.templates import to_core_template
from promptkit.adapters.langchain.native import report, to_messages
from promptkit.adapters.langchain.parts import VENDOR
from promptkit.adapters.langchain.prompt_values import (
    ChatPromptValue,
    ChatPromptValueConcrete,
    ImagePromptValue,
    PromptValue,
    StringPromptValue,
)
from promptkit.errors import AdapterError
from promptkit.messages import Message
from promptkit.prompt import Prompt

__all__ = ["from_langchain_core", "to_langchain_core"]


@overload
def to_langchain_core(value: BaseMessage, *, losses: Losses | None = None) -> CoreMessage: ...
@overload
def to_langchain_core(
    value: Sequence[BaseMessage] | Sequence[Message], *, losses: Losses | None = None
) -> list[CoreMessage]: ...
@overload
def to_langchain_core(value: PromptValue | Prompt, *, losses: Losses | None = None) -> core_values.PromptValue: ...
@overload
def to_langchain_core(value: Any, *, losses: Losses | None = None) -> Any: ...
def to_langchain_core(value: Any, *, losses: Losses | None = None) -> Any:
    """Make an object of langchain-core's of one of ours.

    A message, a chunk, messages in order, a prompt value, a `Prompt` (which becomes a prompt value), or a template. A
    template in one of LangChain's languages becomes a template of LangChain's; any other one, a class of your own too,
    becomes one that fills in ours.

    Args:
        value: What to turn.
        losses: Collects what langchain-core cannot hold.

    Raises:
        AdapterError: It is none of these.
        UnsupportedContentError: A loss changes what a model is asked, and nobody collects losses.
    """
    found: Losses = []
    made = _to_core(value, found)
    report(found, losses)
    return made


def _to_core(value: Any, found: Losses) -> Any:
    if isinstance(value, BaseMessage):
        return to_core([value], found)[0]
    if isinstance(value, Prompt):
        return core_values.ChatPromptValue(messages=to_core(to_messages(value, losses=found), found))
    if isinstance(value, StringPromptValue):
        return core_values.StringPromptValue(text=value.text)
    if isinstance(value, ImagePromptValue):
        return core_values.ImagePromptValue(image_url=core_values.ImageURL(**value.image_url))
    if isinstance(value, ChatPromptValue):
        concrete = isinstance(value, ChatPromptValueConcrete)
        kind: Any = core_values.ChatPromptValueConcrete if concrete else core_values.ChatPromptValue
        return kind(messages=to_core(value.messages, found))
    if isinstance(value, (list, tuple)):
        ours = [item if isinstance(item, BaseMessage) else None for item in value]
        messages = [item for item in ours if item is not None]
        return to_core(messages if len(messages) == len(value) else to_messages(value, losses=found), found)
    if hasattr(value, "create_messages"):
        return to_core_template(value, found)
    if hasattr(value, "message_type"):
        made = to_core(to_messages(value, losses=found), found)
        if len(made) == 1:
            return made[0]
        raise AdapterError("the message becomes several of LangChain's: put it in a list", format=VENDOR)
    raise AdapterError(f"{shown(value)} is neither a message, a prompt (value) nor a template", format=VENDOR)


@overload
def from_langchain_core(value: CoreMessage, *, losses: Losses | None = None) -> BaseMessage: ...
@overload
def from_langchain_core(value: Sequence[CoreMessage], *, losses: Losses | None = None) -> list[BaseMessage]: ...
@overload
def from_langchain_core(value: core_values.PromptValue, *, losses: Losses | None = None) -> PromptValue: ...
@overload
def from_langchain_core(value: Any, *, losses: Losses | None = None) -> Any: ...
def from_langchain_core(value: Any, *, losses: Losses | None = None) -> Any:
    """Make an object of ours of one of langchain-core's.

    A message, a chunk, messages in order, a prompt value, or a template. Templates become templates of promptkit, in
    the same language; they fill in values once, print ``None`` as nothing, take an empty item of a mustache section for
    an item, and refuse to leave a variable out.

    Args:
        value: What to turn.
        losses: Collects what ours cannot hold: values that are no JSON, fields of classes of your own.

    Raises:
        AdapterError: It is none of these.
        UnsupportedContentError: A loss changes what a model is asked, and nobody collects losses.
    """
    found: Losses = []
    made = _from_core(value, found)
    report(found, losses)
    return made


def _from_core(value: Any, found: Losses) -> Any:
    if isinstance(value, CoreMessage):
        return from_core([value], found)[0]
    if isinstance(value, (list, tuple)):
        return from_core(value, found)
    if isinstance(value, core_values.StringPromptValue):
        return StringPromptValue(value.text)
    if isinstance(value, core_values.ImagePromptValue):
        return ImagePromptValue(value.image_url)
    if isinstance(value, core_values.ChatPromptValueConcrete):
        return ChatPromptValueConcrete(from_core(value.messages, found))
    if isinstance(value, core_values.PromptValue):
        return ChatPromptValue(from_core(value.to_messages(), found))
    if isinstance(value, (CoreTemplate, CoreMessageTemplate)):
        return from_core_template(value, found)
    raise AdapterError(
        f"{shown(value)} is neither a message, a prompt value nor a template of LangChain", format=VENDOR
    )
