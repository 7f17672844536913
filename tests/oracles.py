"""Read the recorded answers of other systems, and the table of those that we decided against."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """Read a file of cases, one JSON object a line."""
    text = (DATA / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.strip().split("\n")]


def decided() -> dict[str, dict[str, str]]:
    """Read the decided table: case id to the ruling that denies it and what we do instead."""
    return tomllib.loads((DATA / "decided.toml").read_text(encoding="utf-8"))
