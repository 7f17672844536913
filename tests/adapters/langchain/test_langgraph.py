"""A conversation that LangGraph keeps in SQLite goes on in the next process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(root: Path, folder: Path, *arguments: str) -> list[str]:
    program = [sys.executable, "-W", "error", str(root / "examples" / "20_langgraph.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")[:-1]


def test_a_conversation_goes_on_in_another_process(root: Path, tmp_path: Path) -> None:
    first = run(root, tmp_path)
    second = run(root, tmp_path, "And of Italy?")

    assert first[0] == "human: What is the capital of France?"
    assert len(first) > 1
    assert second[: len(first) + 1] == [*first, "human: And of Italy?"]
    assert len(second) > len(first) + 1
