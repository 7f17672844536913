"""Hold the portable settings of a call: sampling, limits, tools and the shape of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from math import isfinite
from typing import Any, Final, Literal

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, bare_fields, exact_str, freeze, freeze_mapping, shown, tuple_of
from promptkit.errors import PromptError

__all__ = ["NO_OPTIONS", "UNSET", "ChatOptions", "ToolDefinition", "Unset"]


class Unset(Enum):
    """Be the type of `UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return self.value


UNSET: Final = Unset.UNSET
"""Remove a setting when these options are merged over others: ``ChatOptions(temperature=UNSET)``."""


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ToolDefinition(Value):
    """Describe a tool to a model.

    Args:
        name: The name that the model calls.
        description: What it does and when to call it.
        input_schema: The JSON Schema of its arguments, an object schema.
        metadata: Cache marks and what a vendor says of it beside the schema.

    >>> ToolDefinition("now", "Tell the time.").input_schema["type"]
    'object'
    """

    name: str
    description: str = ""
    input_schema: FrozenDict = field(
        default=FrozenDict({"type": "object", "properties": {}}), kw_only=True, hash=False, converter=freeze_mapping
    )
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        for name in ("name", "description"):
            object.__setattr__(self, name, exact_str(getattr(self, name), f"ToolDefinition.{name}"))
        if not self.name.strip():
            raise PromptError(f"ToolDefinition.name is blank: {shown(self.name)}")
        object.__setattr__(self, "input_schema", freeze_mapping(self.input_schema, "ToolDefinition.input_schema"))
        object.__setattr__(self, "metadata", freeze_mapping(self.metadata, "ToolDefinition.metadata"))


def _number(value: float | Unset | None, name: str = "") -> float | None:
    return _checked(value, name, (int, float), "a finite number")  # type: ignore[no-any-return]


def _integer(value: int | Unset | None, name: str = "") -> int | None:
    return _checked(value, name, (int,), "an int")  # type: ignore[no-any-return]


def _text(value: str | Unset | None, name: str = "") -> str | None:
    return _checked(value, name, (str,), "a str")  # type: ignore[no-any-return]


def _checked(value: Any, name: str, kinds: tuple[type, ...], wanted: str) -> Any:
    """Check one scalar option; ``bool`` is an ``int`` to Python and no number to a user."""
    if isinstance(value, bool) or not isinstance(value, kinds) or (isinstance(value, float) and not isfinite(value)):
        raise PromptError(f"{name} must be {wanted}, UNSET or None, not {shown(value)}")
    return freeze(value, name)


def _stops(value: Iterable[str] | Unset | None, name: str = "") -> tuple[str, ...] | None:
    if isinstance(value, str):
        raise PromptError(f"{name} must hold str objects, not be one; one stop is [{shown(value)}]")
    return tuple([exact_str(stop, name) for stop in tuple_of(str, value, name)])


def _definitions(value: Iterable[Any] | Unset | None, name: str = "") -> tuple[ToolDefinition, ...] | None:
    found: Any = getattr(value, "definition", value)
    if isinstance(found, Iterable) and not isinstance(found, str | Mapping):
        found = (getattr(tool, "definition", tool) for tool in found)
    tools = tuple_of(ToolDefinition, found, name)
    doubled = [name for name, count in Counter(tool.name for tool in tools).items() if count > 1]
    if doubled:
        raise PromptError(f"{name} must have distinct names; given more than once: {', '.join(map(repr, doubled))}")
    return tools


_NONE_REMOVED: frozenset[str] = frozenset()


def _names(value: Iterable[str]) -> frozenset[str]:
    names = frozenset(tuple_of(str, value, "removed"))
    if unknown := names.difference(_CHECKS, ("extra",)):
        raise PromptError(f"removed names no option of ChatOptions: {', '.join(sorted(map(shown, unknown)))}")
    return names


def _mapping(value: Mapping[str, Any] | Unset | None, name: str = "") -> FrozenDict | None:
    return freeze_mapping(value, name)  # type: ignore[arg-type]


def _extra(value: Mapping[str, Any] | Unset | None, name: str = "") -> FrozenDict:
    return freeze_mapping(value, name)  # type: ignore[arg-type]


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ChatOptions(Value):
    """Hold what a call asks of a model beside its messages.

    A field that nobody set reads ``None``, is left out of every request and never wins a merge; 0, ``""`` and ``()``
    are set values. `UNSET` removes a setting when merged over others. Ranges are the model's to check.

    Args:
        model: The model's name at its vendor.
        temperature: Randomness of sampling; 0 is the least.
        top_p: Share of probability that sampling may draw from.
        top_k: Number of tokens that sampling may draw from.
        max_tokens: Most tokens of the answer.
        stop_sequences: Texts that end the answer; not part of it.
        frequency_penalty: Weight against tokens by how often they came.
        presence_penalty: Weight against tokens that came at all.
        seed: Start of the random numbers, where a vendor has it.
        tools: The tools that the model may call; a callable tool is taken by its ``definition``.
        tool_choice: ``"auto"``, ``"none"``, ``"required"``, or the name of the tool to call.
        output_schema: The JSON Schema that the answer must follow.
        extra: A vendor's other settings, passed on as they are.
        removed: The names given as `UNSET`; filled in by the constructor.

    Raises:
        PromptError: A value has the wrong type, or two tools one name.

    >>> base = ChatOptions(model="m1", temperature=0.7)
    >>> base.merge(ChatOptions(temperature=UNSET, max_tokens=100))
    ChatOptions(model='m1', max_tokens=100, removed=frozenset({'temperature'}))
    """

    model: str | None = field(default=None, kw_only=True, converter=_text)
    temperature: float | None = field(default=None, kw_only=True, converter=_number)
    top_p: float | None = field(default=None, kw_only=True, converter=_number)
    top_k: int | None = field(default=None, kw_only=True, converter=_integer)
    max_tokens: int | None = field(default=None, kw_only=True, converter=_integer)
    stop_sequences: tuple[str, ...] | None = field(default=None, kw_only=True, converter=_stops)
    frequency_penalty: float | None = field(default=None, kw_only=True, converter=_number)
    presence_penalty: float | None = field(default=None, kw_only=True, converter=_number)
    seed: int | None = field(default=None, kw_only=True, converter=_integer)
    tools: tuple[ToolDefinition, ...] | None = field(default=None, kw_only=True, converter=_definitions)
    tool_choice: Literal["auto", "none", "required"] | str | None = field(default=None, kw_only=True, converter=_text)  # noqa: PYI051
    output_schema: FrozenDict | None = field(default=None, kw_only=True, hash=False, converter=_mapping)
    extra: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=_extra)
    removed: frozenset[str] = field(default=_NONE_REMOVED, kw_only=True, converter=_names)

    def __attrs_post_init__(self) -> None:
        removed = set(_names(self.removed)) if self.removed else set()
        for name, check in _CHECKS.items():
            value = getattr(self, name)
            if value is None:
                continue
            if value is UNSET:
                object.__setattr__(self, name, None)
                removed.add(name)
            else:
                object.__setattr__(self, name, check(value, name))
                removed.discard(name)
        extra: Any = self.extra
        if extra is not EMPTY:
            if extra is UNSET:
                removed.add("extra")
            extra = EMPTY if extra is UNSET or extra is None else freeze_mapping(extra, "extra")
            object.__setattr__(self, "extra", extra)
        if removed or self.removed is not _NONE_REMOVED:
            object.__setattr__(self, "removed", frozenset(removed))

    def merge(self, other: ChatOptions | None) -> ChatOptions:
        """Lay other options over these: every field set there wins, ``extra`` key by key, `UNSET` removes.

        Merging is associative: a removal is kept in ``removed``, for options that these are laid over later.

        Args:
            other: The stronger options; ``None`` changes nothing.
        """
        if other is None or other is NO_OPTIONS:
            return self
        if not isinstance(other, ChatOptions):
            raise PromptError(f"ChatOptions merge with ChatOptions, not with {shown(other)}")
        changes: dict[str, Any] = dict.fromkeys(other.removed) | other.set_fields()
        changes["extra"] = other.extra if "extra" in other.removed else self.extra | other.extra
        return self.mutate(**changes, removed=self.removed | other.removed)

    def set_fields(self) -> dict[str, Any]:
        """Give the fields that somebody set, by name; ``extra`` is not among them."""
        return {name: value for name in _CHECKS if (value := getattr(self, name)) is not None}


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "model": _text,
    "temperature": _number,
    "top_p": _number,
    "top_k": _integer,
    "max_tokens": _integer,
    "stop_sequences": _stops,
    "frequency_penalty": _number,
    "presence_penalty": _number,
    "seed": _integer,
    "tools": _definitions,
    "tool_choice": _text,
    "output_schema": _mapping,
}

NO_OPTIONS = ChatOptions()
"""Options with nothing set."""
