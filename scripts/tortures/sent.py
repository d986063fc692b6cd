"""Kills whoever sends, replaces, refreshes, deletes or restores documents, at every step that lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import team_kills

if TYPE_CHECKING:
    from tortures.workbench import Torture


def sent(torture: Torture) -> str:
    """Go through all verbs, one step after the other, until the time is over."""
    n_verbs = n_steps = 0
    verbs = list(team_kills.VERBS)
    torture.chance.shuffle(verbs)
    for verb in verbs:
        if torture.is_over or torture.failures:
            break
        place = torture.place / verb
        place.mkdir()
        done = subprocess.run(  # noqa: S603 - a program of ours
            [sys.executable, str(Path(team_kills.__file__)), str(place), verb, "1"],
            capture_output=True,
            check=False,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        torture.require(done.returncode == 0, f"{verb}: {done.stdout}{done.stderr[-2000:]}")
        if done.returncode == 0:
            n_verbs, n_steps = n_verbs + 1, n_steps + int(done.stdout.split()[0])
    return f"{n_verbs} of {len(verbs)} verbs, each killed at every one of {n_steps} steps altogether"
