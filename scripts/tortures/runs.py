"""Runs that are killed, copied, very large, or repeated over changing trees, each compared with an undisturbed one."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import team_kills
from benchmarks.corpus import CHUNKS_PER_FILE, make_tree
from tortures.workbench import Child, mutate, plant, problems_of, run_index

from directory_indexer.core.errors import StoreError
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from tortures.workbench import Torture

_COMPARE_EVERY: Final = 25
_FROM_NOTHING: Final = 0.1
_LONGER, _SHORTER = 1.05, 0.8
"""How long a run is taken for follows from whether the kill came in time: four of five do, at all moments of a run."""

_STRIDE: Final = 12
_FEW: Final = 2000
_REAL_CHUNKS_PER_FILE: Final = 31
"""The files of the benchmark have somewhat more chunks than were asked for."""

_MERGE_AT: Final = 32_768
"""The embedder here takes no time; with a real one, as many vectors are merged in eight steps, and hours between."""


def kills(torture: Torture) -> str:
    """Kill up to `size` runs within the time limit, change the tree after each, and never repair anything."""
    root, data_dir = torture.place / "tree", torture.place / "index"
    plant(root)
    started = time.monotonic()
    torture.result_of("an undisturbed run", Child(run_index, torture.place / "undisturbed", root))
    whole = time.monotonic() - started
    seconds = {True: whole, False: whole / 4}
    n_kills = n_finished = 0
    while torture.goes_on(n_kills):
        is_new = torture.rng.random() < _FROM_NOTHING
        if is_new:
            shutil.rmtree(data_dir, ignore_errors=True)
        child = Child(run_index, data_dir, root)
        is_group = torture.rng.random() < 0.5  # noqa: PLR2004 - sometimes the workers live on, and must notice
        if not child.ends_within(torture.rng.uniform(0, seconds[is_new])):
            child.kill() if is_group else os.kill(child.pid, signal.SIGKILL)
        code, result = child.wait()
        n_kills, n_finished = n_kills + (code < 0), n_finished + (code == 0)
        seconds[is_new] *= _LONGER if code < 0 else _SHORTER
        torture.require(code <= 0, f"kill {n_kills}: a run failed by itself: {result}")
        torture.result_of(f"kill {n_kills}: a search of what is left", Child(_look, data_dir))
        if (n_kills + 1) % _COMPARE_EVERY == 0:
            torture.compare_with_fresh(data_dir, root, f"kill {n_kills}")
        for _ in range(torture.rng.randint(0, 6)):
            mutate(root, torture.rng)
    torture.compare_with_fresh(data_dir, root, "in the end")
    findings = torture.result_of("the doctor", Child(problems_of, data_dir))
    torture.require(not findings, f"the doctor finds: {findings}")
    return f"{n_kills} runs killed, {n_finished} were faster; compared every {_COMPARE_EVERY} and in the end"


def _look(data_dir: Path) -> None:
    """Check the invariants that must hold at every moment."""
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        if snapshot.chunks.count() != snapshot.words.count_rows():
            raise AssertionError(f"{snapshot.chunks.count()} chunks, {snapshot.words.count_rows()} rows of words")
        matches = snapshot.words.ranked("import", file_ids_json=None, limit=50)
        if len(snapshot.chunks.by_id([chunk_id for chunk_id, _ in matches])) != len(matches):
            raise AssertionError("words lead to a chunk that is not there")


def changes(torture: Torture) -> str:
    """Run up to `size` rounds of several changes each, within the time limit."""
    root = torture.place / "tree"
    plant(root)
    n_changes = n_rounds = 0
    while torture.goes_on(n_rounds):
        done = [mutate(root, torture.rng) for _ in range(torture.rng.randint(1, 25))]
        n_changes, n_rounds = n_changes + len(done), n_rounds + 1
        torture.compare_with_fresh(torture.place / "index", root, f"round {n_rounds} after {', '.join(done)}")
    return f"{n_changes} changes in {n_rounds} rounds, each compared with a fresh index"


def copies(torture: Torture) -> str:
    """Suspend a run, copy its files, resume it; every other time copy without suspending it."""
    root, data_dir, copy = torture.place / "tree", torture.place / "index", torture.place / "copy"
    plant(root)
    n_copies = n_torn = 0
    while torture.goes_on(n_copies):
        child = Child(run_index, data_dir, root)
        time.sleep(torture.rng.uniform(0, 2))
        is_stopped = n_copies % 2 == 0
        if is_stopped:
            os.kill(child.pid, signal.SIGSTOP)
        _copy(data_dir, copy)
        os.kill(child.pid, signal.SIGCONT)
        n_copies += 1
        what = f"copy {n_copies} of a run that was {'stopped' if is_stopped else 'going on'}"
        damage = torture.result_of(what, Child(_integrity, copy))
        # Files that change while they are copied may not fit together; then it must be said.
        torture.require(not (is_stopped and damage), f"{what} is damaged: {damage}")
        n_torn += bool(damage)
        if not damage:
            torture.compare_with_fresh(copy, root, what)
        torture.result_of(f"{what}: the run itself", child)
        for _ in range(torture.rng.randint(1, 10)):
            mutate(root, torture.rng)
    return f"{n_copies} copies completed, of which {n_torn} were copied while they changed and said to be damaged"


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700)
    with contextlib.suppress(shutil.Error, FileNotFoundError):  # files may leave meanwhile
        shutil.copytree(source, target, dirs_exist_ok=True)


def _integrity(data_dir: Path) -> str:
    try:
        DocStore(data_dir / "data.db").maintenance.require_integrity()
    except StoreError as error:
        return error.message
    return ""


def sent(torture: Torture) -> str:
    """Kill processes that send, replace, refresh, delete or restore documents, at every step that takes time.

    The first round is made whole, however slow the machine is: no verb is left out.
    """
    steps = [(start, verb) for start in range(1, _STRIDE + 1) for verb in team_kills.VERBS]
    n_kills = n_done = 0
    for start, verb in steps:
        if n_done >= len(team_kills.VERBS) and not torture.goes_on(n_done):
            break
        place = torture.place / f"{verb}-{start}"
        place.mkdir()
        command = [sys.executable, str(Path(team_kills.__file__)), str(place), verb, str(_STRIDE), str(start)]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, check=False, text=True, env=environ)  # noqa: S603 - ours
        torture.require(done.returncode == 0, f"{verb} from {start}: {done.stdout}{done.stderr[-2000:]}")
        n_kills += int(done.stdout.split()[0]) if done.returncode == 0 else 0
        n_done += 1
    return f"{n_kills} kills in {n_done} of {len(steps)} rounds"


def large(torture: Torture) -> str:
    """Index a tree of about `size` chunks, and check the peak memory."""
    n_files = max(torture.size // _REAL_CHUNKS_PER_FILE, 1)
    make_tree(torture.place / "files", n_files=n_files, n_chunks_each=CHUNKS_PER_FILE)
    return _measured(torture, n_files)


def many(torture: Torture) -> str:
    """Index `size` files in one directory; only the first contain text, the others just exist."""
    directory = torture.place / "files"
    directory.mkdir()
    for number in range(torture.size):
        (directory / f"f{number}.txt").write_text(f"note {number}\n" if number < _FEW else "", encoding="utf-8")
    return _measured(torture, torture.size)


def _measured(torture: Torture, n_files: int) -> str:
    started = time.monotonic()
    result = torture.result_of("the run", Child(_measured_run, torture.place / "index", torture.place / "files"))
    if not result:
        return "nothing was measured"
    n_known, n_chunks, megabytes = result
    torture.require(n_known == n_files, f"{n_known} of {n_files} files are known")
    torture.require(megabytes <= torture.memory_mb, f"the run used {megabytes} MB")
    seconds = time.monotonic() - started
    return f"{n_known:,} files, {n_chunks:,} chunks in {seconds:.0f} s with {megabytes:,} MB at most"


def _measured_run(data_dir: Path, root: Path) -> tuple[int, int, int]:
    run_index(data_dir, root, merge_at=_MERGE_AT)
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        n_known = sum(len(snapshot.files.records_within(path)) for path in snapshot.directories.all())
        n_chunks = snapshot.chunks.count()
    return n_known, n_chunks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
