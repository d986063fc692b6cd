"""A watch that reaches the limit of the system says so wherever somebody may look."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from shells import DIRINDEX, Shell

if TYPE_CHECKING:
    from pathlib import Path

_MESSAGE = "the system allows no more watches"
_LIMITED = (
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    'echo 5 > /proc/sys/user/max_inotify_watches; exec "$@"',
)


def test_a_watch_at_the_limit_of_the_system_is_told_by_run_status_doctor_and_answers(tmp_path: Path) -> None:
    if sys.platform != "linux" or subprocess.run([*_LIMITED, "-", "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot make a namespace with a limit of its own")
    shell = Shell(tmp_path, tmp_path / "home")
    for number in range(20):
        shell.write(f"d{number}/note.txt", "Roofs leak in autumn.\n")
    command = [*_LIMITED, "-", str(DIRINDEX), "index", str(shell.docs), "--watch"]
    with subprocess.Popen(command, env=shell.environ, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr
        assert any(_MESSAGE in line for line in watching.stderr)

        answer = shell.run("search", "roofs", "--mode", "keyword")
        status, doctor = shell.run("status").stdout, shell.run("doctor").stdout
        report = shell.json("status")
        watching.send_signal(signal.SIGINT)

    assert _MESSAGE in answer.stderr
    assert _MESSAGE in status
    assert _MESSAGE in doctor
    assert "max_user_watches" in doctor
    assert _MESSAGE in report["watching"]
    assert _MESSAGE not in shell.run("status").stdout
