"""Writing of planned changes: each file atomically, and the record first.

An interruption at any point can therefore be undone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.assistants.config_files import remove_file, write_file
from directory_indexer.assistants.drafts import Draft
from directory_indexer.assistants.entries import EditRefusedError
from directory_indexer.assistants.record import read_record, write_record
from directory_indexer.assistants.steps import Plan
from directory_indexer.errors import ConflictError, StoreError
from directory_indexer.lock import write_lock

_LOCK: Final = "assistants.lock"


class Failure(NamedTuple):
    """A file that could not be changed, and why."""

    path: str
    reason: str


@contextlib.contextmanager
def recording(data_dir: Path, plan: Plan) -> Iterator[None]:
    """Hold the lock on changes to assistants' files.

    Raises:
        LockedError: another process does so.
        ConflictError: another process did so since the plan was made.
        StoreError: the data directory cannot be used.
    """
    try:
        os.makedirs(data_dir, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"'{data_dir}' cannot be made: {error.strerror}") from error
    with write_lock(data_dir / _LOCK, wait=False):
        if read_record(data_dir) != plan.before:
            raise ConflictError("another process has just changed assistants", hint="try again")
        yield


def apply_installation(plan: Plan, data_dir: Path) -> list[Failure]:
    """Record the edits, then make them; edits of files that cannot be written are removed from the record.

    Raises:
        StoreError: the record cannot be written; then nothing else is.
    """
    if plan.after == plan.before and not plan.drafts:
        return []
    write_record(data_dir, plan.after)
    failures = list(_write_all(plan))
    if failures:
        record = plan.after
        for failure in failures:
            record = record.with_file_of(plan.before, failure.path)
        write_record(data_dir, record)
    return failures


def apply_removal(plan: Plan, data_dir: Path) -> list[Failure]:
    """Undo the edits, then remove them from the record; those of files that cannot be written stay on it.

    Raises:
        StoreError: the record cannot be written; removing again is harmless.
    """
    failures = list(_write_all(plan))
    record = plan.after
    for failure in failures:
        record = record.with_file_of(plan.before, failure.path)
    if record != plan.before:
        write_record(data_dir, record)
    return failures


def _write_all(plan: Plan) -> Iterator[Failure]:
    for draft in plan.drafts:
        try:
            _write(draft, plan)
        except EditRefusedError as error:
            yield Failure(draft.file.target, error.message)


def _write(draft: Draft, plan: Plan) -> None:
    if draft.text is None:
        remove_file(draft.file, plan.before.made_files.get(draft.file.target, []))
    else:
        write_file(draft.file, draft.text)
