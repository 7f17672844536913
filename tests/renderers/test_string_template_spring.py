"""Hold the renderer to Spring AI's cases for renderers (area REN)."""

from __future__ import annotations

from typing import Any

import pytest

from promptkit.errors import MissingVariablesError, TemplateError
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.string_template import StringTemplateRenderer
from tests import oracles

ROWS = oracles.rows("spring_ren.jsonl")

ERRORS: dict[str, type[TemplateError]] = {
    "invalid-argument": TemplateError,
    "invalid-state": MissingVariablesError,
    "missing-variable": MissingVariablesError,
}

OURS: dict[str, str] = {
    "SC-REN-025": "a v",
    "SC-REN-040": "yes",
    "SC-REN-041": "yes",
    "SC-REN-044": "M=k1k2",
}
"""What we do where Spring's behaviour needs a decision: the same, except that nothing is lost."""


def apply(given: dict[str, Any], **options: Any) -> str:
    start, end = given.get("delimiters", "{}")
    mode: Any = given.get("mode", "THROW") and ValidationMode[given.get("mode", "THROW")]
    renderer = StringTemplateRenderer(start=start, end=end, validation=mode, **options)
    variables: dict[Any, Any] = {
        None if name == "<null key>" else name: value for name, value in given.get("variables", {}).items()
    }
    return renderer.apply(given.get("template", "x"), variables)


def test_every_case_is_of_a_known_kind() -> None:
    assert {row["when"] for row in ROWS} <= {"renderer.apply", "construct renderer"}
    assert {name for row in ROWS for name in row["then"]} <= {
        "result", "error", "mentions", "missing", "one_of", "never", "or_error",
    }  # fmt: skip
    assert {row["id"] for row in ROWS if row["stance"] == "decide"} == OURS.keys()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_case_holds(row: dict[str, Any]) -> None:
    then = row["then"]

    if row["id"] in OURS:
        assert row["id"] in oracles.decided()
        assert apply(row["given"]) == OURS[row["id"]]
    elif "error" in then:
        with pytest.raises(ERRORS[then["error"]]) as caught:
            apply(row["given"])
        assert getattr(caught.value, "missing", None) == tuple(then["missing"]) if "missing" in then else True
        assert all(word in str(caught.value) for word in then.get("mentions", ()))
    elif "one_of" in then or "or_error" in then:
        with pytest.raises(TemplateError):
            apply(row["given"])
        text = apply(row["given"], literal_braces=True)
        assert text == then.get("result", row["given"]["template"])
        assert text not in then.get("never", ())
    else:
        assert apply(row["given"]) == then["result"]
