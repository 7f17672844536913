"""Measure calls in turns, compare their medians, print one table."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import linear_regression, median
from typing import TypeVar

from attrs import frozen

Call = Callable[[], object]
Prepared = TypeVar("Prepared")
Times = dict[str, float]
"""Seconds of one call by name; ours is named ``ours``."""

ROUNDS = 9
SAMPLE_SECONDS = 0.03
"""Least time that a sample lasts, so that the clock's grain does not show."""


@frozen
class Row:
    """Hold one comparison, as it is printed."""

    name: str
    ours: str
    against: str
    theirs: str
    ratio: str
    goal: str = ""
    met: bool | None = None


def interleaved(calls: Mapping[str, Call], *, rounds: int = ROUNDS, sample: float = SAMPLE_SECONDS) -> Times:
    """Give the median seconds of one call of each, measured in turns: noise of the machine meets all alike."""
    repeats = {name: _repeats(call, sample) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        gc.collect()
        for name, call in calls.items():
            samples[name].append(_seconds(call, repeats[name]))
    return {name: median(times) for name, times in samples.items()}


def _repeats(call: Call, sample: float) -> int:
    call()  # fills caches and finishes imports
    repeats = 1
    while (spent := repeats * _seconds(call, repeats)) < sample:
        repeats = max(2 * repeats, math.ceil(repeats * sample / max(spent, 1e-9)))
    return repeats


def _seconds(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def installed(peers: Mapping[str, Callable[[], Prepared]]) -> dict[str, Prepared]:
    """Prepare what peers are called with; one that is not installed is left out and named on standard error."""
    ready = {}
    for name, prepare in peers.items():
        try:
            ready[name] = prepare()
        except ImportError as error:
            print(f"  without {name}: {error}", file=sys.stderr)
    return ready


def process(statement: str) -> Call:
    """Make a call that runs a statement in a fresh interpreter, with compiled modules as on a user's machine."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)

    return run


def compare(
    name: str, times: Times, *, at_most: Mapping[str, float] | None = None, faster: Mapping[str, float] | None = None
) -> list[Row]:
    """Compare ours with every other.

    Args:
        name: What was measured.
        times: Seconds, of ``ours`` and of the others.
        at_most: How many times another's seconds ours may take, by the other's name.
        faster: How many times faster than another ours must be, by the other's name.
    """
    rows = []
    ours = times["ours"]
    for other, theirs in times.items():
        cells = (name, seconds(ours), other, seconds(theirs))
        if at_most and other in at_most:
            rows.append(
                Row(*cells, f"{ours / theirs:.2f} x", f"<= {at_most[other]:g} x", ours / theirs <= at_most[other])
            )
        elif faster and other in faster:
            ratio = theirs / ours
            rows.append(Row(*cells, f"{ratio:.1f} x faster", f">= {faster[other]:g} x faster", ratio >= faster[other]))
        elif other != "ours":
            rows.append(Row(*cells, f"{theirs / ours:.1f} x faster" if ours <= theirs else f"{ours / theirs:.2f} x"))
    return rows


def growth(name: str, make: Callable[[int], Call], sizes: Sequence[int], *, at_most: float | None = None) -> Row:
    """Give the exponent of how the seconds of a call grow with its size: 1 is linear.

    Args:
        name: What was measured.
        make: Prepares a call of a size.
        sizes: From small to large.
        at_most: The goal, if there is one.
    """
    times = interleaved({str(size): make(size) for size in sizes})
    power = exponent(sizes, list(times.values()))
    ends = f"{sizes[0]:,} to {sizes[-1]:,}"
    goal = "" if at_most is None else f"<= {at_most:g}"
    return Row(
        name,
        seconds(times[str(sizes[-1])]),
        f"growth, {ends}",
        seconds(times[str(sizes[0])]),
        f"n^{power:.2f}",
        goal,
        None if at_most is None else power <= at_most,
    )


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Give the power of the size that the time grows with, by least squares over the logarithms.

    >>> exponent([10, 100, 1000], [2e-6, 2e-4, 2e-2])
    2.0
    """
    return round(linear_regression([*map(math.log, sizes)], [*map(math.log, times)]).slope, 2)


def seconds(value: float) -> str:
    """Write seconds with three digits and a unit.

    >>> seconds(0.0000123)
    '12.3 us'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def table(rows: Iterable[Row]) -> str:
    """Lay rows out in columns."""
    marks = {True: "met", False: "MISSED", None: ""}
    lines = [("what", "ours", "against", "theirs", "ratio", "goal", "")]
    lines += [(row.name, row.ours, row.against, row.theirs, row.ratio, row.goal, marks[row.met]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
