"""Run the benchmarks: every function ``bench_…`` of every module ``bench_….py``, or those whose name holds an argument.

``python -m tests.benchmarks template stream``
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module

from tests import benchmarks
from tests.benchmarks.harness import Row, table


def modules() -> list[str]:
    """Give the names of the modules that hold benchmarks."""
    return [found.name for found in pkgutil.iter_modules(benchmarks.__path__) if found.name.startswith("bench_")]


def functions(module: str, words: list[str]) -> list[Callable[[], list[Row]]]:
    """Give the benchmarks of a module whose full name holds one of the words; all of them without words."""
    found = vars(import_module(f"{benchmarks.__name__}.{module}")).items()
    named = {f"{module}.{name}": value for name, value in found if name.startswith("bench_")}
    return [value for name, value in named.items() if not words or any(word in name for word in words)]


def main(words: list[str]) -> int:
    """Measure, print one table, and fail if a benchmark broke; a missed goal is for people to judge."""
    rows: list[Row] = []
    broken = 0
    for module in modules():
        try:
            for bench in functions(module, words):
                print(f"{module}.{bench.__name__}", file=sys.stderr, flush=True)
                rows += bench()
        except Exception as error:
            broken += 1
            print(f"  broken: {type(error).__name__}: {error}", file=sys.stderr)
    print(table(rows))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
