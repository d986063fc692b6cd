"""Copies the index in the middle of runs, as a power cut or a backup would find it, and goes on with the copy."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from typing import TYPE_CHECKING

from tortures.workbench import Child, compare_with_fresh, mutate, plant, run_index

from directory_indexer.core.errors import StoreError
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from pathlib import Path

    from tortures.workbench import Torture


def copies(torture: Torture) -> str:
    """Stop a run, copy its files, let it go on; every other time copy without stopping it."""
    root, data_dir, copy = torture.place / "tree", torture.place / "index", torture.place / "copy"
    plant(root)
    n_copies = n_torn = 0
    while n_copies < torture.size and not torture.is_over and not torture.failures:
        child = Child(run_index, data_dir, root)
        time.sleep(torture.chance.uniform(0, 2))
        is_stopped = n_copies % 2 == 0
        if is_stopped:
            os.kill(child.pid, signal.SIGSTOP)
        _copy(data_dir, copy)
        os.kill(child.pid, signal.SIGCONT)
        n_copies += 1
        what = f"copy {n_copies} of a run that was {'stopped' if is_stopped else 'going on'}"
        code, result = Child(_integrity, copy).wait()
        torture.require(code == 0, f"{what}: {result}")
        # Files that change while they are copied may not fit together; then it must be said.
        torture.require(not (is_stopped and result), f"{what} is damaged: {result}")
        n_torn += bool(result)
        if not result:
            compare_with_fresh(torture, copy, root, what)
        code, result = child.wait()
        torture.require(code == 0, f"{what}: the run itself failed: {result}")
        for _ in range(torture.chance.randint(1, 10)):
            mutate(root, torture.chance)
    return f"{n_copies} copies completed, of which {n_torn} were copied while they changed and said to be damaged"


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700)
    for folder, _, names in os.walk(source):
        place = target / os.path.relpath(folder, source)
        place.mkdir(exist_ok=True, mode=0o700)
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(os.path.join(folder, name), place / name)


def _integrity(data_dir: Path) -> str:
    try:
        DocStore(data_dir / "data.db").upkeep.require_integrity()
    except StoreError as error:
        return error.message
    return ""
