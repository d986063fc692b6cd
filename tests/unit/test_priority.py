"""A process that steps back computes, reads and writes behind the others."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import os, subprocess
from directory_indexer.core.machine import lower_priority
lower_priority()
print(os.getpriority(os.PRIO_PROCESS, 0))
print(subprocess.run(["ionice", "-p", str(os.getpid())], capture_output=True, text=True, check=True).stdout.strip())
print(subprocess.run(["ionice"], capture_output=True, text=True, check=True).stdout.strip())
"""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("ionice"), reason="ionice tells")
def test_a_process_that_steps_back_is_seen_to_do_so_with_all_that_it_starts() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:3] == ["10", "best-effort: prio 7", "best-effort: prio 7"]
