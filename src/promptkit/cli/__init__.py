"""Offer promptkit on the command line, one module a command."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from promptkit.cli import demo
from promptkit.errors import PromptkitError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code.

    Args:
        arguments: The words after the program's name; those of the process without it.

    Returns:
        0 when all went well, 1 when the command failed (its sentence is on standard error), 130 when it was
        interrupted. Wrong words end with 2.
    """
    parser = ArgumentParser(prog="promptkit", description="Prompts as objects.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_to(commands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except PromptkitError as error:
        print(f"promptkit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Nobody reads on: say nothing more, also not when the interpreter flushes at its end.
        sys.stdout = None
        return 0
    return 0
