"""Every file that once broke something is read again, all of them in one run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from commands import DIRINDEX, run_command

REGRESSIONS = Path(__file__).parent.parent / "data" / "regressions" / "files"


def test_what_once_broke_a_run_costs_at_most_itself(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(REGRESSIONS, tree)
    command: list[str | Path] = [DIRINDEX, "index", "--json", "--data-dir", tmp_path / "data", tree]
    done = run_command(command, check=False)
    assert done.returncode in {0, 1}, done.stderr
    report = json.loads(done.stdout)
    assert report["state"] == "completed"
    assert report["files"] == len(os.listdir(REGRESSIONS))
    assert report["files"] == report["added"] + report["skipped"] + report["failed"]
    assert not [failure for failure in report["failures"] if "Error in " in failure["message"]]
