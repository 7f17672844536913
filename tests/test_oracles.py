"""Hold the table of cases that we decided against: each is a known case with its ruling and what we do instead."""

from __future__ import annotations

import pytest

from tests import oracles

CASES = {row["id"] for path in oracles.DATA.glob("*.jsonl") for row in oracles.rows(path.name) if "id" in row}


@pytest.mark.parametrize("case", oracles.decided())
def test_a_decided_case_states_its_ruling(case: str) -> None:
    entry = oracles.decided()[case]

    assert case in CASES
    assert set(entry) == {"ruling", "ours"}
    assert all(entry.values())
