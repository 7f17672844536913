"""Declare the variables of a prompt file: type, default, description, example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from attrs import field, frozen

from promptkit._frozen import Value, freeze, shown
from promptkit.errors import PromptError, TemplateError
from promptkit.prompt_files.types import ANY, MisfitError, TypeName, ValueType, value_type
from promptkit.renderers.base import nearest

__all__ = ["NO_DEFAULT", "NoDefault", "PromptVariable"]

NoDefault = Literal["required"]
NO_DEFAULT: Final = "\0required"
"""The default of a variable that must be given."""


def _type(value: TypeName) -> Any:
    return freeze(value, "type")


def _json(value: Any) -> Any:
    return freeze(value)


@frozen(repr=False)
class PromptVariable(Value):
    """Describe one variable: what it is called, what its values are, what it stands for.

    Args:
        name: The name in the template.
        type: The type of its values; see `promptkit.prompt_files.types.TypeName`.
        default: Its value when none is given; without one it must be given.
        description: What it is, for people.
        example: A value that it may have.
        last: Of a history, how many messages from its end are taken.

    Raises:
        TemplateError: The type is none, or default or example are not of it.

    >>> PromptVariable("count", "int", default=3).read(5)
    5
    """

    name: str
    type: TypeName = field(default="any", converter=_type)
    default: Any = field(default=NO_DEFAULT, kw_only=True, hash=False, converter=_json)
    description: str = field(default="", kw_only=True)
    example: Any = field(default=None, kw_only=True, hash=False, converter=_json)
    last: int | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for label, value in (("name", self.name), ("description", self.description)):
            if not isinstance(value, str):
                raise TemplateError(f"the {label} of a variable must be text, not {shown(value)}")
        kind = self.value_type.kind
        if self.last is not None and (type(self.last) is not int or self.last < 1 or kind != "messages"):
            raise TemplateError(f"'last' of {self.name!r} must be a number of messages, not {shown(self.last)}")
        if self.default != NO_DEFAULT:
            self._fitting("default", self.default)
        if self.example is not None:
            self._fitting("example", self.example)

    def _fitting(self, what: str, value: Any) -> None:
        try:
            self.read(value)
        except TemplateError as error:
            raise MisfitError(f"the {what} of {self.name!r} does not fit: {error.args[0]}") from None

    @property
    def value_type(self) -> ValueType:
        """What knows its type."""
        return ANY if self.type == "any" else value_type(self.type, self.name)

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default == NO_DEFAULT  # type: ignore[no-any-return]

    def read(self, value: Any) -> Any:
        """Bring a value to the variable's type.

        Raises:
            TemplateError: It cannot be one.
        """
        try:
            return self.value_type.read(value, self.name)
        except (TemplateError, PromptError):
            raise
        except Exception as error:
            message = f"the value of {self.name!r} raised {type(error).__name__} while it was read: {error!s:.200}"
            raise TemplateError(message) from error

    @classmethod
    def from_data(cls, name: str, data: Any) -> PromptVariable:
        """Read a declaration: a type's name, nothing, or a mapping of the arguments above.

        Raises:
            TemplateError: It is no declaration.
        """
        if data is None or isinstance(data, str):
            return cls(name, data or "any")
        if not isinstance(data, Mapping):
            raise TemplateError(f"the variable {name!r} must be declared by a type or a mapping, not {shown(data)}")
        for key in data:
            if key not in _KEYS:
                known = ", ".join(_KEYS)
                raise TemplateError(
                    f"the variable {name!r} has the unknown key {key!r}{nearest(key, _KEYS)}; keys are {known}"
                )
        return cls(name, **{key: value for key, value in data.items() if key == "default" or value is not None})


_KEYS = ("type", "default", "description", "example", "last")
