from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import LockedError, StoreError
from directory_indexer.core.lock import HeldLock, is_locked, try_lock, write_lock

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import pathlib, sys
from directory_indexer.core.lock import write_lock
with write_lock(pathlib.Path(sys.argv[1]), wait=True):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "write.lock"


def _start_holder(path: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    assert holder.stdout.readline() == "locked\n"
    return holder


def _end(holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.communicate()


def test_the_lock_of_another_process_is_an_error_for_who_does_not_wait(path: Path) -> None:
    holder = _start_holder(path)
    with pytest.raises(LockedError), write_lock(path, wait=False):
        pytest.fail("two processes hold the lock")
    _end(holder)


def test_a_killed_process_leaves_no_lock(path: Path) -> None:
    _end(_start_holder(path))
    with write_lock(path, wait=False):
        assert path.exists()


def test_who_waits_is_told_again_and_again_and_gets_the_lock_when_it_is_free(path: Path) -> None:
    holder = _start_holder(path)
    calls: list[int] = []

    def on_wait() -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            _end(holder)

    with write_lock(path, wait=True, on_wait=on_wait):
        assert len(calls) >= 2


def test_what_is_raised_while_waiting_ends_the_wait(path: Path) -> None:
    def give_up() -> None:
        raise TimeoutError

    with (
        write_lock(path, wait=False),
        pytest.raises(TimeoutError),
        write_lock(path, wait=True, on_wait=give_up),
    ):
        pytest.fail("two hold the lock")


def test_two_threads_of_one_process_exclude_each_other(path: Path) -> None:
    inside: list[str] = []
    most = 0

    def work() -> None:
        nonlocal most
        for _ in range(20):
            with write_lock(path, wait=True):
                inside.append("")
                most = max(most, len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_the_lock_is_free_after_an_error_inside(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), write_lock(path, wait=False):
        raise ZeroDivisionError
    with write_lock(path, wait=False):
        pass


def test_closing_another_opening_of_the_file_does_not_drop_the_lock(path: Path) -> None:
    with write_lock(path, wait=False):
        path.read_bytes()
        assert try_lock(path, exclusive=True) is None


def test_looking_whether_somebody_writes_changes_nothing(path: Path) -> None:
    assert not is_locked(path)
    assert not path.exists()
    with write_lock(path, wait=False):
        assert is_locked(path)
    assert not is_locked(path)


def test_who_does_not_wait_is_not_turned_away_by_one_who_only_looks(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looker = try_lock(path, exclusive=False)
    assert looker
    monkeypatch.setattr(time, "sleep", lambda _: looker.release())
    with write_lock(path, wait=False):
        assert is_locked(path)


def test_any_number_share_a_lock_and_nobody_takes_it_alone_meanwhile(path: Path) -> None:
    first, second = try_lock(path, exclusive=False), try_lock(path, exclusive=False)
    assert first
    assert second
    first.release()
    assert try_lock(path, exclusive=True) is None
    second.release()
    _release(try_lock(path, exclusive=True))


def test_releasing_twice_does_not_close_what_others_opened_since(path: Path) -> None:
    lock = try_lock(path, exclusive=True)
    _release(lock)
    descriptor = os.open(path, os.O_RDONLY)
    _release(lock)
    os.fstat(descriptor)
    os.close(descriptor)


def test_a_lock_file_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="cannot lock"),
        write_lock(tmp_path / "missing" / "write.lock", wait=False),
    ):
        pytest.fail("a file that does not exist was locked")


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_keeps_no_lock_of_its_parent(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    lock = try_lock(path, exclusive=True)
    has_started, may_end = context.Event(), context.Event()

    def live() -> None:
        has_started.set()
        may_end.wait()

    child = context.Process(target=live)
    child.start()
    has_started.wait()
    assert try_lock(path, exclusive=True) is None, "the child took the lock from its parent"
    _release(lock)
    _release(try_lock(path, exclusive=True))
    may_end.set()
    child.join()


def _release(lock: HeldLock | None) -> None:
    assert lock, "the lock could not be had"
    lock.release()
