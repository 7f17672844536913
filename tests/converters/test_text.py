from __future__ import annotations

from typing import Any

import pytest

from promptkit.converters import ListOutputConverter
from promptkit.errors import OutputConversionError
from tests import oracles

CASES = [row for row in oracles.rows("spring_converters.jsonl") if row["when"] == "list converter"]


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_spring_case(row: dict[str, Any]) -> None:
    assert ListOutputConverter().convert(row["given"]["text"]) == row["then"]["result"]


def test_thoughts_are_no_items() -> None:
    assert ListOutputConverter().convert("<think>a, b</think>c, d") == ["c", "d"]
    assert ListOutputConverter().json_schema is None
    assert "commas" in ListOutputConverter().format


def test_an_answer_is_text() -> None:
    with pytest.raises(OutputConversionError, match="must be text"):
        ListOutputConverter().convert(None)  # type: ignore[arg-type]
