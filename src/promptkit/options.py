"""Hold the portable settings of a call: sampling, limits, tools and the shape of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from math import isfinite
from typing import Any, Final, Literal

from attrs import field, frozen

from promptkit._frozen import EMPTY, FrozenDict, Value, bare_fields, freeze_mapping
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

    >>> ToolDefinition("now", "Tell the time.").input_schema["type"]
    'object'
    """

    name: str
    description: str = ""
    input_schema: FrozenDict = field(
        default=FrozenDict({"type": "object", "properties": {}}), kw_only=True, hash=False, converter=freeze_mapping
    )

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PromptError(f"ToolDefinition.name must be a non-blank str, not {self.name!r:.80}")
        if not isinstance(self.description, str):
            raise PromptError(f"ToolDefinition.description must be a str, not {self.description!r:.80}")
        object.__setattr__(self, "input_schema", freeze_mapping(self.input_schema, f"input_schema of {self.name!r}"))


def _number(value: float | Unset | None, name: str = "") -> float | None:
    return _checked(value, name, (int, float), "a finite number")  # type: ignore[no-any-return]


def _integer(value: int | Unset | None, name: str = "") -> int | None:
    return _checked(value, name, (int,), "an int")  # type: ignore[no-any-return]


def _text(value: str | Unset | None, name: str = "") -> str | None:
    return _checked(value, name, (str,), "a str")  # type: ignore[no-any-return]


def _checked(value: Any, name: str, kinds: tuple[type, ...], wanted: str) -> Any:
    """Check one scalar option; ``bool`` is an ``int`` to Python and no number to a user."""
    if isinstance(value, bool) or not isinstance(value, kinds) or (isinstance(value, float) and not isfinite(value)):
        raise PromptError(f"{name} must be {wanted}, UNSET or None, not {value!r:.80}")
    return value


def _stops(value: Iterable[str] | Unset | None, name: str = "") -> tuple[str, ...] | None:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise PromptError(f"{name} must be a sequence of str, not {value!r:.80}; one stop is ['…']")
    stops = tuple(value)
    for index, stop in enumerate(stops):
        if not isinstance(stop, str):
            raise PromptError(f"{name}[{index}] must be a str, not {stop!r:.80}")
    return stops


def _definitions(value: Iterable[Any] | Unset | None, name: str = "") -> tuple[ToolDefinition, ...] | None:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise PromptError(f"{name} must be a sequence of ToolDefinition, not {value!r:.80}")
    tools = tuple(getattr(tool, "definition", tool) for tool in value)
    for index, tool in enumerate(tools):
        if not isinstance(tool, ToolDefinition):
            raise PromptError(f"{name}[{index}] must be a ToolDefinition or carry one as .definition, not {tool!r:.80}")
    doubled = [name for name, count in Counter(tool.name for tool in tools).items() if count > 1]
    if doubled:
        raise PromptError(f"{name} must have distinct names; given more than once: {', '.join(map(repr, doubled))}")
    return tools


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
    removed: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        removed = set(self.removed)
        for name, check in _CHECKS.items():
            value = getattr(self, name)
            if value is UNSET:
                object.__setattr__(self, name, None)
                removed.add(name)
            elif value is not None:
                object.__setattr__(self, name, check(value, name))
                removed.discard(name)
        if self.extra is UNSET:  # type: ignore[comparison-overlap]
            removed.add("extra")
            object.__setattr__(self, "extra", EMPTY)
        else:
            object.__setattr__(self, "extra", _extra(EMPTY if self.extra is None else self.extra, "extra"))
        object.__setattr__(self, "removed", frozenset(removed))

    def merge(self, other: ChatOptions | None) -> ChatOptions:
        """Lay other options over these: every field set there wins, ``extra`` key by key, `UNSET` removes.

        Args:
            other: The stronger options; ``None`` changes nothing.
        """
        if other is None or other == NO_OPTIONS:
            return self
        changes: dict[str, Any] = dict.fromkeys(other.removed, UNSET)
        for name in _CHECKS:
            value = getattr(other, name)
            if value is not None:
                changes[name] = value
        if other.extra:
            changes["extra"] = other.extra if "extra" in other.removed else self.extra | other.extra
        return self.mutate(**changes)

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
