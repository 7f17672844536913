"""Define what turns an answer into a value."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from attrs import frozen

from promptkit._frozen import FrozenDict, Value

__all__ = ["ConvertedOutput", "StructuredOutputConverter"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@frozen(repr=False)
class ConvertedOutput(Value, Generic[T]):
    """Hold a value with the way it was won.

    Args:
        value: The value.
        cleaned: The part of the answer that it was read from, mended.
        repairs: What was left out or mended, in words; empty when the answer was clean.

    >>> ConvertedOutput({"a": 1}, '{"a": 1}').repairs
    ()
    """

    value: T
    cleaned: str
    repairs: tuple[str, ...] = ()


class StructuredOutputConverter(Protocol[T_co]):
    """Say how a model should answer, and read its answer."""

    @property
    def format(self) -> str:
        """The instructions for the prompt; blank if there are none."""

    @property
    def json_schema(self) -> FrozenDict | None:
        """The JSON Schema of the answer, for models that can be held to one."""

    def convert(self, text: str) -> T_co:
        """Read an answer.

        Raises:
            OutputConversionError: It does not hold the value; with the text, what was wanted, and where.
        """
