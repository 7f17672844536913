"""Make messages of everything that LangChain takes for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptkit._frozen import EMPTY, freeze_mapping, shown
from promptkit.adapters.langchain.arguments import parse_arguments
from promptkit.adapters.langchain.base import BaseMessage, construct
from promptkit.adapters.langchain.messages import AIMessage, ChatMessage, HumanMessage, RemoveMessage, SystemMessage
from promptkit.adapters.langchain.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
from promptkit.adapters.langchain.refusals import PAIR_ROLES, check_several, no_message, refused
from promptkit.adapters.langchain.stored import CLASSES, message_from_data, message_names
from promptkit.errors import PromptError

__all__ = [
    "LanguageModelInput",
    "MessageLike",
    "convert_to_messages",
    "to_language_model_input",
]

MessageLike = BaseMessage | str | Sequence[Any] | Mapping[str, Any]
"""What stands for a message: itself, a person's text, ``(role, content)``, or a dict in one of LangChain's forms."""

LanguageModelInput = PromptValue | str | Iterable[MessageLike]
"""What LangChain's models take."""

_ROLES: Mapping[str, type[BaseMessage]] = {
    **{name: kind for name, kind in CLASSES.items() if kind is not ChatMessage},
    "user": HumanMessage,
    "assistant": AIMessage,
    "developer": SystemMessage,
}


def convert_to_messages(messages: PromptValue | Iterable[MessageLike]) -> list[BaseMessage]:
    """Make messages of everything that LangChain takes for one.

    A message stands for itself, a text is a person's, a pair is ``(role, content)``. A dict has ``role`` (or ``type``)
    and ``content``, as OpenAI and LangChain write them, or is one of LangChain's stored forms.

    Raises:
        AdapterError: Something is none of these, or a single text or pair stands where a list is meant.

    >>> convert_to_messages([("system", "Be brief."), {"role": "user", "content": "Hi"}])
    [SystemMessage('Be brief.'), HumanMessage('Hi')]
    """
    if isinstance(messages, PromptValue):
        return messages.to_messages()
    check_several(messages)
    return [
        message if isinstance(message, BaseMessage) else _converted(message, f"messages[{index}]")
        for index, message in enumerate(messages)
    ]


def _converted(message: Any, path: str) -> BaseMessage:
    try:
        if isinstance(message, str):
            return HumanMessage(message)
        if isinstance(message, Mapping):
            return _from_mapping(message, path)
        if isinstance(message, (list, tuple)) and len(message) == 2:
            return _of_role(message[0], message[1], {}, path)
    except PromptError as error:
        raise refused(path, str(error)) from error
    raise no_message(message, path, "a message, a str, a pair (role, content) or a dict")


def _from_mapping(message: Mapping[str, Any], path: str) -> BaseMessage:
    kind, data = message.get("type"), message.get("data")
    if isinstance(data, Mapping) and "content" not in message:
        return message_from_data(kind, data, path)
    kwargs, names = message.get("kwargs"), message.get("id")
    if (
        message.get("lc") == 1
        and kind == "constructor"
        and isinstance(kwargs, Mapping)
        and isinstance(names, (list, tuple))
    ):
        name = str(names[-1]) if names else ""
        kind = next((known for known, made in CLASSES.items() if made.__name__ == name.removesuffix("Chunk")), None)
        if kind is None:
            raise refused(path, f"{shown(name)} is no class of LangChain's messages")
        return _from_mapping({**kwargs, "type": kind}, path)
    rest = dict(message)
    if rest.get("type") in ("chat", "ChatMessageChunk") and "role" in rest:
        role = rest.pop("type")
    else:
        role = rest.pop("role") if "role" in rest else rest.pop("type", None)
    if role is None or "content" not in rest:
        given = ", ".join(map(repr, message)) or "nothing"
        raise refused(path, f"a dict of a message needs 'role' (or 'type') and 'content'; it has {given}")
    content = rest.pop("content")
    return _of_role(role, "" if content is None or content in ([], ()) else content, rest, path)


def _of_role(role: Any, content: Any, rest: dict[str, Any], path: str) -> BaseMessage:
    kind = _ROLES.get(role) if isinstance(role, str) else None
    if role in ("chat", "ChatMessageChunk") and "role" in rest:
        kind = CLASSES[role]
    if kind is None:
        raise refused(path, f"the role {shown(role)} is none of {', '.join(sorted(PAIR_ROLES))}")
    given = {name: rest.pop(name) for name in message_names(kind) if rest.get(name) is not None}
    calls = given.get("tool_calls")
    if isinstance(calls, (list, tuple)):
        given["tool_calls"] = [_tool_call(call, f"{path}.tool_calls[{at}]") for at, call in enumerate(calls)]
    extra = {key: value for key, value in rest.items() if key not in message_names(kind)}
    extra.update(freeze_mapping(given.pop("additional_kwargs", EMPTY), f"{kind.__name__}.additional_kwargs"))
    if role == "developer":
        extra["__openai_role__"] = "developer"
    if kind is RemoveMessage:
        given.pop("content", None)
        return construct(kind, {**given, "additional_kwargs": extra})
    return construct(kind, {**given, "content": content, "additional_kwargs": extra})


def _tool_call(call: Any, path: str) -> Any:
    """Read a call as OpenAI writes it; arguments that are no text are none, and no arguments at all read as ``{}``."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return call
    args = function.get("arguments")
    if isinstance(args, str):
        try:
            args = parse_arguments(args) if args.strip() else {}
        except ValueError as error:
            raise refused(path, f"the arguments of {shown(function.get('name'))} are not JSON: {error}") from None
    return {"name": function.get("name"), "args": args, "id": call.get("id")}


def to_language_model_input(value: LanguageModelInput) -> PromptValue:
    """Make a prompt value of what LangChain's models take.

    Raises:
        AdapterError: It is none of that, or a single message or pair where a list is meant.

    >>> to_language_model_input("Hi")
    StringPromptValue('Hi')
    """
    if isinstance(value, PromptValue):
        return value
    return StringPromptValue(value) if isinstance(value, str) else ChatPromptValue(convert_to_messages(value))
