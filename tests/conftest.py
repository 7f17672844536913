"""Hold what every test run shares: Hypothesis profiles, the lanes, and the rule that nothing is skipped quietly."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

MACHINE = "machine:"
"""What the reason of a skip begins with when this machine cannot run the test; no other skip passes `make check`."""

_LANES = ("browser", "litellm")
"""Markers of tests that only the option of the same name runs."""

_SLOW = [HealthCheck.too_slow]  # a busy machine is no fault of a test
# Derandomized: a commit that passed passes again. `make soak` explores.
settings.register_profile("check", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_SLOW)
settings.register_profile("soak", deadline=None, max_examples=5_000, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile("check")


@pytest.fixture(scope="session")
def root() -> Path:
    """Give the folder of the repository."""
    return Path(__file__).parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options that the Makefile uses."""
    parser.addoption("--no-skips", action="store_true", help=f"fail a skipped test unless its reason is '{MACHINE} …'")
    parser.addoption("--soak", action="store_true", help="run only the long campaigns and deep property tests")
    parser.addoption("--mypy", metavar="PYTHON", help="run promptkit's plugin on the mypy of this interpreter")
    parser.addoption("--litellm", metavar="PROGRAM", help="run only the tests against this program, litellm's proxy")
    parser.addoption(
        "--browser", metavar="FOLDER", help="run only the tests in the browser whose npm packages are there"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Explore deeply in the soak lane."""
    if config.getoption("--soak"):
        settings.load_profile("soak")


@pytest.hookimpl(trylast=True)  # Hypothesis marks its tests in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the lane: campaigns and property tests for `--soak`, else all but those of other lanes."""
    lane: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in items:
        campaign = item.get_closest_marker("soak") is not None
        deep = campaign or item.get_closest_marker("hypothesis") is not None
        own = {name for name in _LANES if item.get_closest_marker(name)}
        asked = {name for name in _LANES if config.getoption(f"--{name}")}
        usual = deep if config.getoption("--soak") else not campaign
        wanted = bool(own & asked) if own or asked else usual
        (lane if wanted else rest).append(item)
    if rest:
        config.hook.pytest_deselected(items=rest)
        items[:] = lane


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a quiet skip of a test into a failure."""
    report = yield
    _refuse_skip(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a quiet skip of a module into a failure."""
    report = yield
    _refuse_skip(collector.config, report)
    return report


def _refuse_skip(config: pytest.Config, report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail") or not config.getoption("--no-skips"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith(MACHINE):
        report.outcome = "failed"
        report.longrepr = f"skipped, and its reason does not begin with {MACHINE!r}: {reason}"
