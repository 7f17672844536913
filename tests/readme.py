"""Read the README as programs: the Python blocks under one heading run and type-check as one file."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs() -> dict[str, str]:
    """Give the program of each section that has Python blocks, by a name made of its heading."""
    parts = _HEADING.split(README.read_text("utf-8"))
    sections = zip(["top", *parts[1::2]], parts[::2], strict=True)
    joined = {re.sub(r"\W+", "_", title).strip("_").lower(): _BLOCK.findall(text) for title, text in sections}
    return {name: "\n".join(blocks) for name, blocks in joined.items() if blocks}
