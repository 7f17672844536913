"""Carry messages between our classes and those of the langchain-core package, which is imported when it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from promptkit._frozen import freeze, shown
from promptkit.adapters.base import Loss, Losses
from promptkit.adapters.langchain.base import BaseMessage, construct
from promptkit.adapters.langchain.parts import VENDOR
from promptkit.adapters.langchain.stored import CLASSES, message_names, message_to_dict
from promptkit.errors import AdapterError, MissingDependencyError, PromptError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage as CoreMessage

__all__ = ["from_core", "is_core", "to_core"]

_CALL_KEYS: Mapping[str, tuple[str, ...]] = {
    "tool_calls": ("name", "args", "id", "type"),
    "invalid_tool_calls": ("name", "args", "id", "error", "type"),
    "tool_call_chunks": ("name", "args", "id", "index", "type"),
}


def is_core(value: object) -> bool:
    """Tell whether something is an object of langchain-core's, or of a class derived from one."""
    return any(base.__module__.partition(".")[0] == "langchain_core" for base in type(value).__mro__)


def to_core(messages: Iterable[BaseMessage], losses: Losses) -> list[CoreMessage]:
    """Make messages of langchain-core's of ours.

    Args:
        messages: The messages.
        losses: Collects the keys of tool calls that its closed form does not take.
    """
    try:
        from langchain_core.messages import messages_from_dict
    except ImportError as error:
        raise MissingDependencyError("langchain-core", extra="langchain", reason="LangChain's own messages") from error
    rows = []
    for index, message in enumerate(messages):
        row = message_to_dict(message)
        for name, keys in _CALL_KEYS.items():
            for at, call in enumerate(row["data"].get(name, ())):
                for key in [key for key in call if key not in keys]:
                    del call[key]
                    path = f"messages[{index}].{name}[{at}].{key}"
                    losses.append(Loss(path, "metadata", f"langchain-core's tool calls have no {key!r}"))
        rows.append(row)
    return messages_from_dict(rows)


def from_core(messages: Iterable[Any], losses: Losses) -> list[BaseMessage]:
    """Make messages of ours of langchain-core's.

    A field of a class of your own, or one that was added, goes to ``additional_kwargs``. Values that are neither JSON
    nor bytes are left out.

    Raises:
        AdapterError: Something is no message, or its content holds what is neither JSON nor bytes.
    """
    return [_from_core(message, f"messages[{index}]", losses) for index, message in enumerate(messages)]


def _from_core(message: Any, path: str, losses: Losses) -> BaseMessage:
    kind = CLASSES.get(getattr(message, "type", ""))
    if kind is None or not is_core(message):
        raise AdapterError(f"must be a message of langchain-core, not {shown(message)}", format=VENDOR, path=path)
    if type(message).__name__ != kind.__name__:
        losses.append(Loss(path, "class", f"the {type(message).__name__} becomes a {kind.__name__}"))
    # The attributes as they are: model_dump would copy artifacts, and turn objects into dicts.
    data = {**message.__dict__, **(message.model_extra or {})}
    del data["type"]
    known = message_names(kind)
    more = {key: data.pop(key) for key in list(data) if key not in known}
    data["additional_kwargs"] = {**more, **data["additional_kwargs"]}
    for key in ("additional_kwargs", "response_metadata"):
        data[key] = _clean(data[key], f"{path}.{key}", losses)
    if "artifact" in data and not _is_json(data["artifact"]):
        losses.append(Loss(f"{path}.artifact", "artifact", f"a {type(data.pop('artifact')).__name__} is no JSON value"))
    try:
        return construct(kind, data)
    except PromptError as error:
        raise AdapterError(str(error), format=VENDOR, path=path) from error


def _clean(mapping: Mapping[Any, Any], path: str, losses: Losses) -> dict[str, Any]:
    """Leave out what is no JSON value."""
    kept: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(key, str) and _is_json(value):
            kept[key] = value
        else:
            losses.append(Loss(f"{path}.{key}", "metadata", f"a {type(value).__name__} is no JSON value"))
    return kept


def _is_json(value: Any) -> bool:
    try:
        freeze(value)
    except PromptError:
        return False
    return True
