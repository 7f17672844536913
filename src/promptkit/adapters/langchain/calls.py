"""Hold the plain mappings that LangChain's messages carry: tool calls, their pieces, and usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast

from promptkit._frozen import EMPTY, FrozenDict, FrozenList, _from_items, freeze, freeze_mapping, shown
from promptkit.adapters.langchain.arguments import parse_arguments, preview_arguments
from promptkit.errors import PromptError

__all__ = [
    "NOTHING",
    "InputTokenDetails",
    "InvalidToolCall",
    "OutputTokenDetails",
    "ToolCall",
    "ToolCallChunk",
    "UsageMetadata",
    "add_usage",
    "check_usage",
    "freeze_calls",
    "optional_text",
    "parse_calls",
    "pieces_of",
    "read_openai_calls",
    "read_openai_pieces",
    "subtract_usage",
]

NOTHING = FrozenList()
"""The one empty sequence that messages share as a default."""


class ToolCall(TypedDict):
    """Describe a model's wish to run a tool; other keys are kept.

    >>> ToolCall(name="weather", args={"city": "Oslo"}, id="c1")["args"]
    {'city': 'Oslo'}
    """

    name: str
    args: Mapping[str, Any]
    id: str | None
    type: NotRequired[Literal["tool_call"]]


class InvalidToolCall(TypedDict):
    """Describe a tool call that cannot be carried out.

    >>> InvalidToolCall(name="weather", args='{"city": "Os', id="c1", error=None)["args"]
    '{"city": "Os'
    """

    name: str | None
    args: str | None
    id: str | None
    error: str | None
    type: NotRequired[Literal["invalid_tool_call"]]


class ToolCallChunk(TypedDict):
    """Describe a piece of a tool call; ``index`` says of which.

    >>> ToolCallChunk(name="weather", args='{"ci', id="c1", index=0)["index"]
    0
    """

    name: str | None
    args: str | None
    id: str | None
    index: int | None
    type: NotRequired[Literal["tool_call_chunk"]]


class InputTokenDetails(TypedDict, total=False):
    """Count the tokens of a prompt by kind; vendors add other kinds.

    >>> InputTokenDetails(cache_read=100)
    {'cache_read': 100}
    """

    audio: int
    cache_creation: int
    cache_read: int


class OutputTokenDetails(TypedDict, total=False):
    """Count the tokens of an answer by kind; vendors add other kinds.

    >>> OutputTokenDetails(reasoning=20)
    {'reasoning': 20}
    """

    audio: int
    reasoning: int


class UsageMetadata(TypedDict):
    """Count the tokens of a call.

    >>> UsageMetadata(input_tokens=10, output_tokens=2, total_tokens=12)["total_tokens"]
    12
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: NotRequired[InputTokenDetails]
    output_token_details: NotRequired[OutputTokenDetails]


def optional_text(value: Any, path: str) -> str | None:
    """Give a str as a plain ``str``, and ``None`` as it is.

    Raises:
        PromptError: It is something else.
    """
    if value is None or type(value) is str:
        return value
    if not isinstance(value, str):
        raise PromptError(f"{path} must be a str or None, not {shown(value)}")
    return str.__str__(value)


def _texts(call: Mapping[str, Any], keys: Iterable[str], path: str) -> dict[str, Any]:
    found = {key: call.get(key) for key in keys}
    for key, value in found.items():
        if value is not None and type(value) is not str:
            found[key] = optional_text(value, f"{path}[{key!r}]")
    return found


def _tool_call(call: Mapping[str, Any], path: str, index: int) -> dict[str, Any]:
    name, args, call_id = call.get("name"), call.get("args"), call.get("id")
    if type(name) is not str or (call_id is not None and type(call_id) is not str):
        name, call_id = _texts(call, ("name", "id"), f"{path}[{index}]").values()
        if name is None:
            raise PromptError(f"{path}[{index}]['name'] must be a str, not None")
    if type(args) is not dict and not isinstance(args, Mapping):
        raise PromptError(
            f"{path}[{index}]['args'] must be a mapping, not {shown(args)}; broken ones go to invalid_tool_calls"
        )
    return {"name": name, "args": freeze(args, f"{path}.args", 1), "id": call_id, "type": "tool_call"}


def _invalid_call(call: Mapping[str, Any], path: str, index: int) -> dict[str, Any]:
    return {**_texts(call, ("name", "args", "id", "error"), f"{path}[{index}]"), "type": "invalid_tool_call"}


def _call_chunk(call: Mapping[str, Any], path: str, at: int) -> dict[str, Any]:
    index = call.get("index")
    if index is not None and not isinstance(index, (int, str)):
        raise PromptError(f"{path}[{at}]['index'] must be an int or None, not {shown(index)}")
    texts = _texts(call, ("name", "args", "id"), f"{path}[{at}]")
    return {**texts, "index": freeze(index, f"{path}.index"), "type": "tool_call_chunk"}


_FORMS: Mapping[str, Callable[[Mapping[str, Any], str, int], dict[str, Any]]] = {
    "tool_calls": _tool_call,
    "invalid_tool_calls": _invalid_call,
    "tool_call_chunks": _call_chunk,
}


def freeze_calls(value: Iterable[Any], name: str) -> FrozenList:
    """Bring tool calls, broken ones or pieces of them to their one form; keys of others are kept behind their own.

    Args:
        value: Mappings in order.
        name: ``tool_calls``, ``invalid_tool_calls`` or ``tool_call_chunks``.

    Raises:
        PromptError: Something in it is no call.
    """
    if not value and type(value) in (list, tuple, FrozenList):
        return NOTHING
    if not isinstance(value, (list, tuple)) and (
        isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable)
    ):
        raise PromptError(f"{name} must be a list of mappings, not {shown(value)}")
    form = _FORMS[name]
    calls = []
    for index, call in enumerate(value):
        if type(call) is not dict and not isinstance(call, Mapping):
            raise PromptError(f"{name}[{index}] must be a mapping, not {shown(call)}")
        own = form(call, name, index)
        if own.keys() >= call.keys():
            calls.append(_from_items(own))
        else:
            own.update({key: value for key, value in call.items() if key not in own})
            calls.append(freeze_mapping(own, name))
    return FrozenList(calls) if calls else NOTHING


def read_openai_calls(raw: object) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read tool calls as OpenAI writes them, whole and broken ones; no text and ``null`` read as no arguments."""
    calls, invalid = [], []
    for item in raw if isinstance(raw, Sequence) and not isinstance(raw, str) else ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if isinstance(function, Mapping):
            text = function.get("arguments")
            args = _parsed(text if isinstance(text, str) else "", parse_arguments)
            if args is None:
                invalid.append({"name": function.get("name"), "args": text, "id": item.get("id")})
            else:
                calls.append({"name": function.get("name") or "", "args": args, "id": item.get("id")})
    return calls, invalid


def read_openai_pieces(raw: object) -> list[dict[str, Any]]:
    """Read pieces of tool calls as OpenAI writes them."""
    pieces = []
    for item in raw if isinstance(raw, tuple) else ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and isinstance(function, Mapping):
            fields = {"name": function.get("name"), "args": function.get("arguments")}
            pieces.append({**fields, "id": item.get("id"), "index": item.get("index")})
    return pieces


def pieces_of(calls: Iterable[Mapping[str, Any]], invalid: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write whole calls, and broken ones, as pieces."""
    import json

    pieces: list[dict[str, Any]] = []
    for call in calls:
        try:
            pieces.append({**call, "args": json.dumps(call["args"]), "index": call.get("index")})
        except TypeError as error:
            raise PromptError(f"the arguments of the call of {shown(call['name'])} are no JSON: {error}") from None
    return [*pieces, *({**call, "index": None} for call in invalid)]


def parse_calls(pieces: Iterable[Mapping[str, Any]], *, final: bool) -> tuple[FrozenList, FrozenList]:
    """Read joined pieces as calls, whole and broken ones.

    Args:
        pieces: The pieces, one a call.
        final: Whether no more will follow: then only whole JSON makes a call.
    """
    calls, invalid = [], []
    parse = parse_arguments if final else preview_arguments
    for piece in pieces:
        args = None if "error" in piece else _parsed(piece["args"] or "", parse)  # what was broken stays so
        rest = {key: value for key, value in piece.items() if key not in ("name", "args", "id", "index", "type")}
        if args is None:
            invalid.append({"name": piece["name"], "args": piece["args"], "id": piece["id"], **rest})
        else:
            calls.append({"name": piece["name"] or "", "args": args, "id": piece["id"], **rest})
    return freeze_calls(calls, "tool_calls"), freeze_calls(invalid, "invalid_tool_calls")


def _parsed(text: str, parse: Callable[[str], Any]) -> FrozenDict | None:
    """Read arguments; ``None`` where they are none."""
    if not text.strip():
        return EMPTY
    try:
        args = parse(text)
        return EMPTY if args is None else freeze_mapping({"args": freeze_mapping(args)}, "call")["args"]
    except ValueError:  # PromptError is one: not an object, or nested too deep
        return None


def check_usage(value: Any) -> FrozenDict:
    """Freeze a usage if it is one.

    Raises:
        PromptError: A counter is missing or no int.
    """
    usage = freeze_mapping(value, "usage_metadata")
    for key in ("input_tokens", "output_tokens", "total_tokens"):
        if type(usage.get(key)) is not int:
            raise PromptError(f"usage_metadata[{key!r}] must be an int, not {shown(usage.get(key))}")
    for key in ("input_token_details", "output_token_details"):
        details = usage.get(key, EMPTY)
        if not isinstance(details, Mapping) or any(type(count) is not int for count in details.values()):
            raise PromptError(f"usage_metadata[{key!r}] must map names to ints, not {shown(details)}")
    return usage


def add_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Add two usages, counter by counter; ``None`` counts as nothing.

    >>> add_usage({"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}, None)["total_tokens"]
    5

    Raises:
        PromptError: A usage is no mapping, or a counter no int.
    """
    return _combined(left, right, lambda one, other: one + other)


def subtract_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Subtract a usage from another, counter by counter, never below 0; ``None`` counts as nothing.

    Raises:
        PromptError: A usage is no mapping, or a counter no int.
    """
    return _combined(left, right, lambda one, other: max(one - other, 0))


def _combined(left: Any, right: Any, combine: Callable[[int, int], int]) -> UsageMetadata:
    one, other = (EMPTY if usage is None else freeze_mapping(usage, "usage") for usage in (left, right))
    if not one or not other:
        return cast("UsageMetadata", one or other or FrozenDict(dict.fromkeys(_COUNTERS, 0)))
    return cast("UsageMetadata", FrozenDict(_combined_counters(one, other, combine, "usage")))


_COUNTERS = ("input_tokens", "output_tokens", "total_tokens")


def _combined_counters(
    left: Mapping[str, Any], right: Mapping[str, Any], combine: Callable[[int, int], int], path: str
) -> dict[str, Any]:
    combined: dict[str, Any] = {}
    for key in {**left, **right}:
        one, other = left.get(key, 0), right.get(key, 0)
        if isinstance(one, Mapping) or isinstance(other, Mapping):
            combined[key] = _combined_counters(one or EMPTY, other or EMPTY, combine, f"{path}[{key!r}]")
        elif type(one) is int and type(other) is int:
            combined[key] = combine(one, other)
        else:
            raise PromptError(f"{path}[{key!r}] must be an int on both sides, not {shown(one)} and {shown(other)}")
    return combined
