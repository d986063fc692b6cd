"""Kills whoever sends, replaces, refreshes, deletes or restores documents, at every step that lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import team_kills

if TYPE_CHECKING:
    from tortures.workbench import Torture


_STRIDE: Final = 12


def sent(torture: Torture) -> str:
    """Run all verbs again and again, each time with other steps of them, until all were met or time is over.

    The first round is made whole, however slow the machine is: no verb is left out.
    """
    n_kills = dict.fromkeys(team_kills.VERBS, 0)
    starts = list(range(1, _STRIDE + 1))
    torture.chance.shuffle(starts)
    verbs = list(team_kills.VERBS)
    n_rounds = 0
    for start in starts:
        torture.chance.shuffle(verbs)
        for verb in verbs:
            if torture.failures or (n_rounds and torture.is_over):
                return _summary(n_kills, n_rounds)
            n_kills[verb] += _killed(torture, verb, start)
        n_rounds += 1
    return _summary(n_kills, n_rounds)


def _killed(torture: Torture, verb: str, start: int) -> int:
    """Kill a verb at every so many-th step, and count how often."""
    place = torture.place / f"{verb}-{start}"
    place.mkdir()
    done = subprocess.run(  # noqa: S603 - a program of ours
        [sys.executable, str(Path(team_kills.__file__)), str(place), verb, str(_STRIDE), str(start)],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    torture.require(done.returncode == 0, f"{verb} from {start}: {done.stdout}{done.stderr[-2000:]}")
    return int(done.stdout.split()[0]) if done.returncode == 0 else 0


def _summary(n_kills: dict[str, int], n_rounds: int) -> str:
    counted = ", ".join(f"{verb} {number}" for verb, number in n_kills.items())
    return f"{sum(n_kills.values())} kills ({counted}), {n_rounds} of {_STRIDE} rounds over all verbs"
