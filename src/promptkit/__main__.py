"""Run the command line: ``python -m promptkit``."""

from __future__ import annotations

import sys

from promptkit.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
