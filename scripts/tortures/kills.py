"""Kills index runs of a real tree at random moments, and compares with an index that nobody disturbed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from typing import TYPE_CHECKING

from tortures.workbench import CheapApp, Child, compare_with_fresh, mutate, plant, run_index

from directory_indexer.config import load_config
from directory_indexer.core.findings import Verdict
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from pathlib import Path

    from tortures.workbench import Torture

_COMPARE_EVERY = 25
_FROM_NOTHING = 0.1

_LONGER, _SHORTER = 1.05, 0.8
"""How long a run is taken for follows from whether the kill came in time: four of five do, at all moments of a run."""


def kills(torture: Torture) -> str:
    """Kill `size` runs or as many as time allows, change the tree after each, and never repair anything."""
    root, data_dir = torture.place / "tree", torture.place / "index"
    plant(root)
    whole = _duration(torture, root)
    seconds = {True: whole, False: whole / 4}
    n_kills = n_finished = 0
    while n_kills < torture.size and not torture.is_over and not torture.failures:
        is_new = torture.chance.random() < _FROM_NOTHING
        if is_new:
            shutil.rmtree(data_dir, ignore_errors=True)
        child = Child(run_index, data_dir, root)
        is_group = torture.chance.random() < 0.5  # noqa: PLR2004 - sometimes the workers live on, and must notice
        if not child.ends_within(torture.chance.uniform(0, seconds[is_new])):
            child.kill() if is_group else os.kill(child.pid, signal.SIGKILL)
        code, result = child.wait()
        n_kills += code < 0
        n_finished += code == 0
        seconds[is_new] *= _LONGER if code < 0 else _SHORTER
        torture.require(code <= 0, f"kill {n_kills}: a run failed by itself: {result}")
        code, result = Child(_look, data_dir).wait()
        torture.require(code == 0, f"kill {n_kills}: what is left cannot be searched: {result}")
        if (n_kills + 1) % _COMPARE_EVERY == 0:
            compare_with_fresh(torture, data_dir, root, f"kill {n_kills}")
        for _ in range(torture.chance.randint(0, 6)):
            mutate(root, torture.chance)
    compare_with_fresh(torture, data_dir, root, "in the end")
    code, findings = Child(_check, data_dir).wait()
    torture.require(code == 0 and not findings, f"the doctor finds: {findings}")
    return f"{n_kills} runs killed, {n_finished} were faster; compared every {_COMPARE_EVERY} and in the end"


def _duration(torture: Torture, root: Path) -> float:
    started = time.monotonic()
    code, result = Child(run_index, torture.place / "undisturbed", root).wait()
    torture.require(code == 0, f"an undisturbed run ends with {code}: {result}")
    return time.monotonic() - started


def _look(data_dir: Path) -> None:
    """Check at once what must hold at every moment."""
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        if snapshot.chunks.count() != snapshot.words.count_rows():
            raise AssertionError(f"{snapshot.chunks.count()} chunks, {snapshot.words.count_rows()} rows of words")
        matches = snapshot.words.ranked("import", file_ids_json=None, limit=50)
        chunks = snapshot.chunks.by_id([chunk_id for chunk_id, _ in matches])
        if len(chunks) != len(matches):
            raise AssertionError("words lead to a chunk that is not there")


def _check(data_dir: Path) -> list[str]:
    app = CheapApp(load_config(file=None, data_dir=data_dir, environ={}))
    return [finding.message for finding in app.doctor.check() if finding.verdict is Verdict.PROBLEM]
