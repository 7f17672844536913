from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.benchmarks.__main__ import functions, modules
from tests.benchmarks.harness import Row, compare, exponent, growth, installed, interleaved, seconds, table


def test_calls_are_measured_in_turns() -> None:
    turns: list[str] = []

    times = interleaved({"ours": lambda: turns.append("a"), "theirs": lambda: turns.append("b")}, rounds=3, sample=0)

    assert turns[-6:] == ["a", "b"] * 3
    assert set(times) == {"ours", "theirs"}


def test_goals_are_judged() -> None:
    rows = compare(
        "x", {"ours": 2.0, "limit": 1.0, "slow": 20.0, "other": 4.0}, at_most={"limit": 1.5}, faster={"slow": 8}
    )

    assert [(row.against, row.ratio, row.met) for row in rows] == [
        ("limit", "2.00 x", False),
        ("slow", "10.0 x faster", True),
        ("other", "2.0 x faster", None),
    ]


@pytest.mark.parametrize("power", [0, 1, 1.15, 2])
def test_growth_is_told_by_its_exponent(power: float) -> None:
    sizes = [1_000, 5_000, 20_000]

    assert exponent(sizes, [1e-7 * size**power for size in sizes]) == power


def test_growth_is_measured_at_each_size() -> None:
    made: set[int] = set()

    row = growth("x", lambda size: lambda: made.add(size), [1, 2], at_most=9)

    assert made == {1, 2}
    assert row.met is True


@pytest.mark.parametrize(("value", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (4.56e-5, "45.6 us"), (7e-9, "7 ns")])
def test_seconds_are_written_with_a_unit(value: float, text: str) -> None:
    assert seconds(value) == text


def test_a_peer_that_is_not_installed_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> Callable[[], object]:
        import no_such_package  # type: ignore[import-not-found]

        return no_such_package.run  # type: ignore[no-any-return]

    ready = installed({"here": lambda: dict, "missing": missing})

    assert list(ready) == ["here"]
    assert "without missing" in capsys.readouterr().err


def test_the_table_has_a_line_for_each_row() -> None:
    assert table([Row("render", "1 us", "limit", "2 us", "0.50 x", "<= 2 x", met=True)]).splitlines() == [
        "what    ours  against  theirs  ratio   goal",
        "render  1 us  limit    2 us    0.50 x  <= 2 x  met",
    ]


def test_benchmarks_are_found_by_word() -> None:
    assert "bench_import" in modules()
    assert [bench.__name__ for bench in functions("bench_import", ["import.bench_package"])] == ["bench_package_alone"]
    assert len(functions("bench_import", [])) > 1
