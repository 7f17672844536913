"""Read values of any type out of a model's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from promptkit import _json
from promptkit._frozen import FrozenDict
from promptkit._schema import ValueMismatchError, type_name, type_reader
from promptkit.converters.base import ConvertedOutput
from promptkit.converters.cleaning import JsonCandidate, clean_fence, clean_thinking, find_json
from promptkit.converters.lowering import raised
from promptkit.converters.partial import NOTHING_YET, PartialJson
from promptkit.errors import OutputConversionError

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = ["MapOutputConverter", "TypedOutputConverter"]

T = TypeVar("T")


class TypedOutputConverter(Generic[T]):
    """Read an answer as a value of a type: attrs, dataclass, TypedDict, pydantic, enum, union, list, scalar.

    The answer may stand between prose, in a fence, behind thoughts; what was left out or mended is named by `read`.
    Of several JSON values the one that is of the type is taken; if several are, and differ, that is an error.

    Args:
        target: The type.

    Raises:
        NoSchemaError: The type has no JSON Schema (a ``TypeError``).

    >>> from attrs import frozen
    >>> @frozen
    ... class Person:
    ...     name: str
    ...     age: int
    >>> TypedOutputConverter(Person).convert('Here it is: {"name": "Ada", "age": 36}')
    Person(name='Ada', age=36)
    """

    __slots__ = ("_reader", "target")

    def __init__(self, target: TypeForm[T]) -> None:
        self.target: Any = target
        self._reader = type_reader(target)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type_name(self.target)})"

    @property
    def json_schema(self) -> FrozenDict:
        """The JSON Schema of the answer."""
        return self._reader.schema

    @property
    def format(self) -> str:
        """The instructions for the prompt, the schema in them."""
        return (
            "Answer with JSON alone: no explanation, no Markdown fence. The JSON must follow RFC 8259 and this JSON "
            f"Schema:\n{_json.dumps(self.json_schema)}"
        )

    def convert(self, text: str) -> T:
        """Read an answer.

        Raises:
            OutputConversionError: It holds no such value.
        """
        return self.read(text).value

    def read(self, text: str) -> ConvertedOutput[T]:
        """Read an answer, and say what was left out or mended.

        Raises:
            OutputConversionError: It holds no such value.
        """
        if not isinstance(text, str):
            raise OutputConversionError(f"the answer must be text, not {text!r:.80}", text="", target=self._name)
        if not text.strip():
            raise self._failure("the answer is empty", text)
        try:
            candidates = find_json(text)
        except ValueError as error:
            return self._from_plain_text(text, f"the answer holds no JSON: {error}")
        return self._best(candidates, text)

    def partials(self, texts: Iterable[str]) -> Iterator[Any]:
        """Read an answer that is still arriving.

        Args:
            texts: The pieces of the answer's text.

        Yields:
            What has arrived so far, as plain dicts and lists, whenever there is more of it: each a prefix of the next.
            The last item is the value itself, checked.

        Raises:
            OutputConversionError: At the end, if the answer holds no such value.
        """
        reader = PartialJson()
        pieces: list[str] = []
        for piece in texts:
            pieces.append(piece)
            if (value := reader.add(piece)) is not NOTHING_YET:
                yield value
        yield self.convert("".join(pieces))

    def _from_plain_text(self, text: str, problem: str) -> ConvertedOutput[T]:
        """Take the text itself where a text is wanted (or an enum's value); it is no JSON."""
        plain = clean_thinking(text).strip()
        for words in (plain, clean_fence(plain)):
            with suppress(ValueMismatchError):
                return ConvertedOutput(self._reader.read(words), words, ("took the answer as text, not as JSON",))
        raise self._failure(problem, text)

    def _best(self, candidates: list[JsonCandidate], text: str) -> ConvertedOutput[T]:
        fitting: list[ConvertedOutput[T]] = []
        failures: list[ValueMismatchError] = []
        for candidate in candidates:
            try:
                fitting.append(self._read(candidate))
            except ValueMismatchError as error:
                failures.append(error)
        if not fitting:
            if len(candidates) > 1:
                raise self._failure(
                    f"none of the {len(candidates)} JSON values in the answer fits: {failures[0]}", text
                )
            raise self._failure(str(failures[0]), text, failures[0].path)
        if any(other.value != fitting[0].value for other in fitting[1:]):
            raise self._failure(f"the answer holds {len(fitting)} different values of the type", text)
        return fitting[0]

    def _read(self, candidate: JsonCandidate) -> ConvertedOutput[T]:
        """Read a value as it is, else as an answer to a lowered schema: with nulls for what is absent."""
        try:
            return ConvertedOutput(self._reader.read(candidate.value), candidate.text, candidate.repairs)
        except ValueMismatchError:
            value = raised(candidate.value, self.json_schema)
            if value == candidate.value:
                raise
            repairs = (*candidate.repairs, "took null for absent, or a value out of its wrapper")
            return ConvertedOutput(self._reader.read(value), candidate.text, repairs)

    @property
    def _name(self) -> str:
        return type_name(self.target)

    def _failure(self, message: str, text: str, path: str = "") -> OutputConversionError:
        place = f" at {path}" if path not in ("", "$") else ""
        return OutputConversionError(
            f"the answer is no {self._name}: {message}{place}", text=text, target=self._name, path=path
        )


class MapOutputConverter(TypedOutputConverter[dict[str, Any]]):
    """Read an answer as a dict, whatever its keys.

    >>> MapOutputConverter().convert('{"a": 1}')
    {'a': 1}
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(dict[str, Any])
