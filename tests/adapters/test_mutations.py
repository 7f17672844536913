"""Drop each field from each adapter, one at a time: the tests of that adapter must notice."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any

import pytest

from tests.adapters.judges import JUDGES
from tests.adapters.mutants import mutants
from tests.adapters.rich_bodies import FORMATS, RICH, TOMORROW

LATE: dict[str, Any] = {"anthropic": {"late_system": "keep"}}

Check = Callable[[], object]


def goes_round(format: str, body: dict[str, Any]) -> None:
    """Read a body and write it again: the same, settings in the same order, and nothing is lost."""
    adapter = FORMATS[format]
    written = adapter.to_request(adapter.from_request(body), strict=True, **LATE.get(format, {})).body
    assert [*written.items()] == [*body.items()]


@pytest.mark.parametrize("format", FORMATS)
def test_a_body_that_says_all_comes_back(format: str) -> None:
    JUDGES[format](RICH[format])
    goes_round(format, RICH[format])
    goes_round(format, TOMORROW[format])


def checks(format: str) -> Iterator[Check]:
    """Give the rich bodies and every case of the adapter's own tests, but not those with drawn values."""
    for body in (RICH[format], TOMORROW[format]):
        yield partial(goes_round, format, body)
    for name, test in vars(_tests(format)).items():
        if name.startswith("test_") and not hasattr(test, "hypothesis"):
            yield from (partial(test, **case) for case in _cases(test))


def _tests(format: str) -> ModuleType:
    return importlib.import_module(f"tests.adapters.test_{format}")


def _cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    tables = []
    for mark in getattr(test, "pytestmark", ()):
        names, rows = mark.args
        keys = names if isinstance(names, tuple) else (names,)
        tables.append([dict(zip(keys, row if len(keys) > 1 else (row,), strict=True)) for row in rows])
    for chosen in product(*tables):
        yield {key: value for row in chosen for key, value in row.items()}


def is_noticed(cases: list[Check]) -> bool:
    for case in cases:
        try:
            case()
        except (Exception, pytest.fail.Exception):
            return True
    return False


@pytest.mark.parametrize("format", [*FORMATS, "all"])
def test_whatever_an_adapter_drops_is_noticed(format: str) -> None:
    cases = [case for name in FORMATS if format in (name, "all") for case in checks(name)]
    noticed = [(name, is_noticed(cases)) for name in mutants(format)]

    assert len(noticed) > (20 if format == "all" else 200)
    assert [name for name, seen in noticed if not seen] == []
    assert not is_noticed(cases)
