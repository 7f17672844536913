"""Hold `StringTemplateRenderer` to recorded answers of StringTemplate 4.3.4 behind Spring AI's renderer."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from promptkit.errors import MissingVariablesError, PromptkitError
from promptkit.renderers._st_nodes import FUNCTIONS
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.string_template import StringTemplateRenderer
from tests import oracles

ROWS = oracles.rows("stringtemplate.jsonl")
TIERS = {"core", "extended", "quirk", "java"}

OURS: dict[tuple[str, bool], str | tuple[str, ...]] = {
    ("map-004", False): ("m.x",),
    ("escape-024", True): "",
    ("ws-059", True): "",
    ("missing-037", True): ("baz",),
    ("map-035", True): " ",
}
"""What we do in the decided cases, with compat or without: the text, or the names that are missing."""

OPTIONS = {"separator", "null", "anchor", "wrap", "format"}


class Bean:
    """Hold the properties of a case's object; one of its getters raises."""

    def __init__(self, properties: dict[str, Any]) -> None:
        vars(self).update(properties)

    def __str__(self) -> str:
        return f"Bean({vars(self).get('name')})"

    @property
    def boom(self) -> NoReturn:
        raise ArithmeticError("boom")


KINDS: dict[str, Any] = {
    "@array": tuple,
    "@ints": tuple,
    "@set": lambda items: dict.fromkeys(items).keys(),
    "@iter": iter,
    "@char": str,
    "@long": int,
    "@float": float,
    "@bean": Bean,
    "@record": lambda _: SimpleNamespace(),
}


def value(form: Any) -> Any:
    """Make a value of its neutral form."""
    if isinstance(form, list):
        return [value(item) for item in form]
    if not isinstance(form, dict):
        return form
    fields = {name: value(item) for name, item in form.items()}
    if len(form) == 1 and (kind := next(iter(form))).startswith("@"):
        return KINDS[kind](fields[kind])
    return fields


def answer(row: dict[str, Any], *, compat: bool) -> str | PromptkitError:
    """Give the text, or the error that stands for it."""
    mode = ValidationMode[row.get("mode", "THROW")]
    renderer = StringTemplateRenderer(start=row["start"], end=row["end"], compat=compat, validation=mode)
    try:
        return renderer.apply(row["template"], value(row["vars"]))
    except PromptkitError as error:
        return error


def is_refused_by_the_token_walk(row: dict[str, Any], *, compat: bool) -> bool:
    """Say whether Spring misses names that its walk over the tokens takes for variables, and none that is one."""
    if row.get("error", {}).get("class") != "IllegalStateException":
        return False
    renderer = StringTemplateRenderer(start=row["start"], end=row["end"], compat=compat)
    return set(row["error"]["missing"]).isdisjoint(renderer.compile(row["template"]).variables)


def cases() -> list[Any]:
    """Give each case as it is tested: core and extended by default and with compat, the others with compat."""
    return [
        pytest.param(row, compat, id=f"{row['id']}{'-compat' * compat}")
        for row in ROWS
        for compat in (False, True)
        if compat or row["tier"] in ("core", "extended")
    ]


def test_there_is_no_unknown_tier() -> None:
    assert {row["tier"] for row in ROWS} == TIERS


@pytest.mark.parametrize(("row", "compat"), cases())
def test_the_answer_is_the_same(row: dict[str, Any], compat: bool) -> None:
    ours = OURS.get((row["id"], compat))
    got = answer(row, compat=compat)

    if ours is not None:
        assert row["id"] in oracles.decided()
        assert (got.missing if isinstance(got, MissingVariablesError) else got) == ours
    elif is_refused_by_the_token_walk(row, compat=compat):
        # What its walk misses is there; a property that is not there we miss ourselves.
        assert isinstance(got, str) or all("." in name for name in getattr(got, "missing", ["?"]))
    elif "error" not in row:
        assert got == row["expected"]
    elif "missing" in row["error"]:
        assert isinstance(got, MissingVariablesError)
        assert sorted(got.missing) == row["error"]["missing"]
    else:
        assert isinstance(got, PromptkitError)


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row["required"] is not None and row["tier"] in ("core", "extended")],
    ids=lambda row: row["id"],
)
def test_required_names_are_those_of_the_walk_less_its_mistakes(row: dict[str, Any]) -> None:
    renderer = StringTemplateRenderer(start=row["start"], end=row["end"])
    variables = set(renderer.compile(row["template"]).variables)
    loops = {name.strip() for names in re.findall(r"\{([\w\s,-]+)\|", row["template"]) for name in names.split(",")}

    assert set(row["required"]) - variables <= OPTIONS | {"i", "i0"} | loops
    # The walk never asks for a name that a function has, nor for one in the first tag of a body.
    overlooked = re.findall(r"\w+", " ".join(re.findall(r"\|[^{}]*\{([^{}]*)\}", row["template"])))
    assert variables - set(row["required"]) <= {*FUNCTIONS, *overlooked}


def test_decided_cases_are_cases() -> None:
    assert {row_id for row_id, _ in OURS} <= {row["id"] for row in ROWS}
