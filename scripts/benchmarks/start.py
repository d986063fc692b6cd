"""Commands that do nothing: what an interpreter and the command line cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import DIRINDEX, PYTHON, Options, Row, costs, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def start(options: Options) -> Iterator[Row]:
    """Measure `--version` and `--help`."""
    commands = {
        "python -c pass": (PYTHON, "-c", "pass"),
        "--version": (DIRINDEX, "--version"),
        "--help": (DIRINDEX, "--help"),
    }
    taken = costs(commands, rounds=options.rounds)
    for name in ("--version", "--help"):
        yield from rows_of(f"dirindex {name}", taken[name], taken["python -c pass"], of="python -c pass")
