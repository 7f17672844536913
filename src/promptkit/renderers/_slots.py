"""Fill templates that are text with named slots: copy the parts, set the slots, join once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from promptkit.errors import TemplateError
from promptkit.renderers.base import (
    ValidationMode,
    fault,
    missing_variables,
    refuse_variables,
    text_of,
    warn_missing,
)

__all__ = ["Slot", "SlotTemplate", "require_mode"]


def require_mode(_: object, __: object, mode: object) -> None:
    """Refuse what is no `ValidationMode`; an attrs validator."""
    if not isinstance(mode, ValidationMode):
        raise TemplateError(f"The validation mode must be a ValidationMode, not {mode!r:.40}.")


@frozen
class Slot:
    """Hold a placeholder: its place among the parts and in the text, and how it prints a value.

    Args:
        verbatim: Whether a ``str`` prints as it is, so that `show` need not be asked.
    """

    index: int
    name: str
    offset: int
    written: str
    show: Callable[[object], str] = text_of
    verbatim: bool = True


@frozen(eq=False)
class SlotTemplate:
    """Hold literal text and slots; the compiled form of a template that has nothing else."""

    source: str = field(repr=False)
    parts: tuple[str, ...] = field(repr=False)
    slots: tuple[Slot, ...]
    validation: ValidationMode
    variables: tuple[str, ...] = field(init=False)
    optional_variables: tuple[str, ...] = field(default=(), init=False)
    _verbatim: tuple[tuple[int, str, Callable[[object], str]], ...] = field(init=False, repr=False)
    _shown: tuple[tuple[int, str, Callable[[object], str]], ...] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        verbatim = tuple([(slot.index, slot.name, slot.show) for slot in self.slots if slot.verbatim])
        shown = tuple([(slot.index, slot.name, slot.show) for slot in self.slots if not slot.verbatim])
        object.__setattr__(self, "variables", tuple(dict.fromkeys(slot.name for slot in self.slots)))
        object.__setattr__(self, "_verbatim", verbatim)
        object.__setattr__(self, "_shown", shown)

    def render(self, variables: Mapping[str, object], /) -> str:
        """Fill in the variables."""
        refuse_variables(variables)
        if type(variables) is not dict:  # its `[]` may invent a value, or even store it
            variables = {name: variables[name] for name in self.variables if name in variables}
        parts = [*self.parts]
        try:
            for index, name, show in self._verbatim:
                value = variables[name]
                parts[index] = value if type(value) is str else show(value)
            for index, name, show in self._shown:
                parts[index] = show(variables[name])
        except Exception:  # noqa: BLE001 - a value may raise anything when it is printed
            return self._slowly(variables)
        return "".join(parts)

    def _slowly(self, variables: Mapping[str, object]) -> str:
        """Say what failed, or render around the missing names."""
        missing: dict[str, int] = {}
        for slot in self.slots:
            if slot.name not in variables:
                missing.setdefault(slot.name, slot.offset)
        if missing and self.validation is ValidationMode.THROW:
            raise missing_variables([*missing], variables, self.source, min(missing.values())) from None
        parts = [*self.parts]
        for slot in self.slots:
            parts[slot.index] = self._shown_by(slot, variables)
        if missing and self.validation is ValidationMode.WARN:
            warn_missing(missing)
        return "".join(parts)

    def _shown_by(self, slot: Slot, variables: Mapping[str, object]) -> str:
        if slot.name not in variables:
            return slot.written if self.validation is ValidationMode.KEEP else ""
        try:
            return slot.show(variables[slot.name])
        except Exception as error:
            message = f"{slot.written:.80} cannot print the value of {slot.name!r}: {error!s:.200}"
            raise fault(TemplateError, message, self.source, slot.offset) from error
