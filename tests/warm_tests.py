"""Workers of pytest without their start: forks of a process that has imported every test.

Each worker collects all tests, and most of that is imports; in a clone that is new, rewriting assertions takes as long
again. One process does it for all workers. xdist starts this file in place of Python.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

from warm_commands import FOREVER_SECONDS, WarmCommand, serve_forks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

_held: list[object] = []
"""The process that imports; it ends with this one, which holds its standard input."""


def share_imports(arguments: Sequence[str]) -> str:
    """Start the process that imports what pytest collects for `arguments`; return what xdist is to call Python."""
    from commands import start_function  # noqa: PLC0415 - what xdist starts does without

    address = os.path.join(tempfile.mkdtemp(), "tests")
    process = start_function("warm_tests:serve", address, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    _held.append(process)
    return shlex.join([sys.executable, __file__, address])


class Imports:
    """Leaves it at the imports of a collection."""

    def pytest_pycollect_makeitem(self) -> list[object]:
        return []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Forget what could not be imported or was skipped: a worker that found half a module would miss its tests."""
        if not report.passed:
            name = report.nodeid.removesuffix(".py").replace("/", ".")
            for module in (name, f"{name}.conftest"):
                sys.modules.pop(module, None)


def serve() -> None:
    """Import the tests and fork for each worker."""
    serve_forks(sys.argv[1], _import_tests)


def _import_tests() -> None:
    import pytest  # noqa: PLC0415 - what xdist starts does without

    os.dup2(2, 1)
    pytest.main(["--collect-only", "-n0", *sys.argv[2:]], plugins=[Imports()])


def work() -> None:
    """Run the program that stands last on the command line, as Python does."""
    exec(sys.argv[-1], {"__name__": "__main__"})  # noqa: S102 - xdist has put it there


def main() -> None:
    """Stand in for a worker, which has the streams of this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest ends its workers
    streams, address = (0, 1, 2), sys.argv[1]
    worker = WarmCommand(
        sys.argv, cwd=os.getcwd(), environ=os.environ, streams=streams, function="warm_tests:work", address=address
    )
    sys.exit(worker.wait(FOREVER_SECONDS))


if __name__ == "__main__":
    main()
