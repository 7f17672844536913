"""Serve each vendor's format on loopback until the standard input ends: one whole answer, and one long stream."""

from __future__ import annotations

import json
import sys

from tests.models.scripted_server import ScriptedServer, http, stream
from tests.models.wires import TEXT, WIRES

EVENTS = 5_000


def main() -> None:
    """Print where the servers are, as JSON, and wait."""
    places: dict[str, tuple[str, str]] = {}
    for name, wire in WIRES.items():
        whole, streamed = ScriptedServer(), ScriptedServer()
        whole.answer(http(200, wire.answer(TEXT)))
        streamed.answer(*stream(wire.stream(["word "] * EVENTS)))
        places[name] = (whole.url, streamed.url)
    print(json.dumps(places), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
