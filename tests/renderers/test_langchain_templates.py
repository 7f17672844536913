"""Hold the renderers to LangChain's recorded answers for ``prompt_template``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptkit.errors import MissingVariablesError, TemplateError, UnsafeTemplateError
from promptkit.renderers import by_name
from promptkit.renderers.base import TemplateRenderer
from tests import oracles

ROWS = {row["id"]: row for row in oracles.rows("langchain_prompt_template.jsonl")}
DECIDED = oracles.decided().keys() & ROWS.keys()
NAMES = {"f-string": "fstring", "mustache": "mustache", "jinja2": "jinja"}
"""LangChain's names of the formats, and ours."""


def _renderer(format_name: str) -> TemplateRenderer:
    return by_name(NAMES.get(format_name, format_name))


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """Give our answer in the form that LangChain's was recorded in."""
    given = row["input"]
    partial = given.get("partial", {})
    try:
        compiled = _renderer(given["format"]).compile(given["template"])
        text = compiled.render({**partial, **given["vars"]})
    except TemplateError:
        return {"error": None}
    return {"input_variables": sorted({*compiled.variables} - partial.keys()), "text": text}


@pytest.mark.parametrize("row_id", sorted(ROWS.keys() - DECIDED))
def test_we_answer_as_langchain(row_id: str) -> None:
    expected = ROWS[row_id]["expected"]

    assert answer(ROWS[row_id]) == ({"error": None} if "error" in expected else expected)


def _render(row_id: str) -> str:
    given = ROWS[row_id]["input"]
    return _renderer(given["format"]).apply(given["template"], given["vars"])


def _error(row_id: str) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        _render(row_id)
    return caught.value


OURS: dict[str, Callable[[str], bool]] = {
    "prompt_template-004": lambda row_id: _render(row_id) == "",
    "prompt_template-005": lambda row_id: _render(row_id) == "11",
    "prompt_template-016": lambda row_id: (_error(row_id).line, _error(row_id).column) == (1, 1),
    "prompt_template-035": lambda row_id: getattr(_error(row_id), "missing", ()) == ("a.b",),
    "prompt_template-038": lambda row_id: _render(row_id) == "1,2,<,",
    "prompt_template-065": lambda row_id: isinstance(_error(row_id), MissingVariablesError),
    "prompt_template-069": lambda row_id: isinstance(_error(row_id), UnsafeTemplateError),
}


@pytest.mark.parametrize("row_id", sorted(DECIDED))
def test_we_answer_as_we_decided(row_id: str) -> None:
    assert OURS[row_id](row_id)


def test_every_case_is_of_a_known_kind() -> None:
    assert {row["fn"] for row in ROWS.values()} == {"prompt_template"}
    assert {row["input"]["format"] for row in ROWS.values()} - NAMES.keys() == {"nope"}
    assert all(
        {"template", "format", "vars"} <= row["input"].keys() <= {"template", "format", "vars", "partial"}
        for row in ROWS.values()
    )
