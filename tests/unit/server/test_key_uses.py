"""When keys were used is written by another thread, at once and then at most once a minute."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from directory_indexer.core.errors import StoreError
from directory_indexer.server.middleware.authentication import KeyUses


@pytest.mark.timeout(30)
def test_uses_are_written_by_another_thread_and_gathered_meanwhile() -> None:
    written: list[Mapping[bytes, float]] = []
    is_written = threading.Event()

    def write(used_at: Mapping[bytes, float]) -> None:
        assert threading.current_thread().name == "key uses"
        written.append(used_at)
        is_written.set()

    uses = KeyUses(write, pause_seconds=3600)
    uses.record_use(b"a")
    assert is_written.wait(10)
    for key in (b"a", b"b", b"a"):
        uses.record_use(key)
    assert [set(one) for one in written] == [{b"a"}], "an hour is not over"
    uses.close()
    assert [set(one) for one in written] == [{b"a"}, {b"a", b"b"}]
    uses.record_use(b"c")
    assert len(written) == 2


@pytest.mark.timeout(30)
def test_the_thread_ends_when_there_is_nothing_to_write_and_outlives_a_registry_that_cannot_be_written() -> None:
    is_written = threading.Event()
    n_written = 0

    def write(_: Mapping[bytes, float]) -> None:
        nonlocal n_written
        n_written += 1
        is_written.set()
        raise StoreError("the disk is full")

    uses = KeyUses(write, pause_seconds=0)
    for number in range(3):
        is_written.clear()
        uses.record_use(b"a")
        assert is_written.wait(10), number
    uses.close()
    assert n_written == 3
