"""Read lists out of plain text."""

from __future__ import annotations

from attrs import frozen

from promptkit._frozen import FrozenDict, Value
from promptkit.converters.cleaning import clean_thinking
from promptkit.errors import OutputConversionError

__all__ = ["ListOutputConverter"]


@frozen(repr=False)
class ListOutputConverter(Value):
    """Read a list of texts with commas between them; white space around an item is left out, empty items stay.

    >>> ListOutputConverter().convert("fig, plum, pear")
    ['fig', 'plum', 'pear']
    """

    @property
    def format(self) -> str:
        """The instructions for the prompt."""
        return "Answer with a list of values with commas between them and nothing else, like this: one, two, three"

    @property
    def json_schema(self) -> FrozenDict | None:
        """Nothing: the answer is no JSON."""
        return None

    def convert(self, text: str) -> list[str]:
        """Read an answer; an empty one is an empty list.

        Raises:
            OutputConversionError: It is no text.
        """
        if not isinstance(text, str):
            raise OutputConversionError(f"the answer must be text, not {text!r:.80}", text="", target="list[str]")
        answer = clean_thinking(text)
        return [item.strip() for item in answer.split(",")] if answer else []
