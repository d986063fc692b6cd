"""Whatever a collection is doing when its process is killed: nothing is lost, nothing is doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import team_kills

PROGRAM = Path(team_kills.__file__)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize(
    "verb",
    ["replace", *(pytest.param(verb, marks=pytest.mark.slow) for verb in team_kills.VERBS if verb != "replace")],
)
@pytest.mark.parametrize(
    "stride",
    [
        pytest.param(9, id="some", marks=pytest.mark.timeout(300)),
        pytest.param(1, id="all", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_a_kill_at_any_step_loses_and_doubles_nothing(verb: str, stride: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), verb, str(stride), "1"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= 2
