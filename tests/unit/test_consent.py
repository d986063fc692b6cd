"""A directory that holds very much is asked about, and one that does not is handed on as it is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.files import SourceFile
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.directory_plans import MAX_FILES_WITHOUT_CONSENT, require_consent_for_large_tree
from directory_indexer.walk import Listing

ROOT = file_path("/home/ann")
FILES = tuple(SourceFile(file_path(f"/home/ann/{number}.txt"), 1_000, 0) for number in range(10_000))
PICTURES = (SourceFile(file_path("/home/ann/a.jpg"), 2_000_000_000, 0),)


def listings(n_directories: int, read: list[int]) -> Iterator[Listing]:
    for number in range(n_directories):
        read.append(number)
        yield Listing(ROOT, files=FILES)


def test_what_is_not_much_is_handed_on() -> None:
    read: list[int] = []
    assert len(list(require_consent_for_large_tree(ROOT, listings(10, read), embeds=True))) == 10
    assert len(FILES) * 10 == MAX_FILES_WITHOUT_CONSENT


def test_what_is_much_is_counted_to_its_end_where_that_is_quick() -> None:
    found = iter([*listings(11, []), Listing(ROOT, files=PICTURES)])
    with pytest.raises(ConsentNeededError) as error:
        list(require_consent_for_large_tree(ROOT, found, embeds=True, clock=lambda: 0.0))
    assert "/home/ann holds 110,001 files to index, 2.1 GB: about" in error.value.message
    assert "until all of it is found by words" in error.value.message
    assert error.value.message.endswith("until complete")
    assert "--yes" in str(error.value.hint)


def test_counting_stops_after_some_seconds() -> None:
    read: list[int] = []
    ticks = count()
    with pytest.raises(ConsentNeededError, match="holds more than 140,000 files"):
        list(
            require_consent_for_large_tree(ROOT, listings(10_000, read), embeds=False, clock=lambda: float(next(ticks)))
        )
    assert len(read) < 20
