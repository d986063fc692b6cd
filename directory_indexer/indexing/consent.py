"""Consent to track a very large directory, with an estimate from a quick count."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Final, NoReturn

from directory_indexer.errors import ConsentNeededError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display
from directory_indexer.walker.listing import Listing, SameListing

with lazily:
    from directory_indexer.extractors.kinds import is_media

MANY_FILES: Final = 100_000

TEXT_BYTES_A_SECOND: Final = 1_300_000
"""The indexing rate of one core; an average of source code and documents."""

FILES_A_SECOND: Final = 400
"""The number of small files that one core reads, whatever they contain."""

TEXT_BYTES_EMBEDDED_A_SECOND: Final = 36_000
"""The embedding rate of one core: 9,000 tokens of four bytes."""

_COUNTING_SECONDS: Final = 3.0


def asking_before_much(
    root: FilePath,
    listings: Iterator[Listing | SameListing],
    *,
    embeds: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Listing | SameListing]:
    """Yield listings; beyond `MANY_FILES`, count for some seconds more, and ask for consent.

    Raises:
        ConsentNeededError: there are more files than that.
    """
    count = _FileCount()
    for listing in listings:
        count.add(listing)
        if count.n_files > MANY_FILES:
            count.add_all(listings, must_stop=_timer(clock))
            _raise_consent_needed(root, count, embeds=embeds)
        yield listing


class _FileCount:
    """The number of files, their bytes, and how many of these may be text."""

    def __init__(self) -> None:
        self.n_files = self.n_bytes = self.n_text_bytes = 0
        self.is_whole = False

    def add_all(self, listings: Iterator[Listing | SameListing], *, must_stop: Callable[[], bool]) -> None:
        """Add the files of further directories until stopped."""
        for listing in listings:
            self.add(listing)
            if must_stop():
                return
        self.is_whole = True

    def add(self, listing: Listing | SameListing) -> None:
        """Add the files of a directory."""
        if isinstance(listing, Listing):
            self.n_files += len(listing.files)
            for file in listing.files:
                self.n_bytes += file.size
                self.n_text_bytes += 0 if is_media(file.path) else file.size


def _timer(clock: Callable[[], float]) -> Callable[[], bool]:
    until = clock() + _COUNTING_SECONDS
    return lambda: clock() >= until


def _raise_consent_needed(root: FilePath, count: _FileCount, *, embeds: bool) -> NoReturn:
    more = "" if count.is_whole else "more than "
    n_cores = os.cpu_count() or 1
    to_words = max(count.n_text_bytes / TEXT_BYTES_A_SECOND, count.n_files / FILES_A_SECOND) / n_cores
    times = f"{_duration(to_words)} until all of it is found by words"
    if embeds:
        times += f", {_duration(to_words + count.n_text_bytes / TEXT_BYTES_EMBEDDED_A_SECOND / n_cores)} until complete"
    raise ConsentNeededError(
        f"{display(root)} holds {more}{count.n_files:,} files to index, {more}{_size(count.n_bytes)}: "
        f"about {more}{times}",
        hint="add --yes to index all of it; or name directories in it, or leave some out with a .dirindexignore file "
        "(dirindex index --dry-run shows what would be read)",
    )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= _TENTH_OF_A_GB else f"{n_bytes / 1e6:,.1f} MB"


def _duration(seconds: float) -> str:
    for name, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name}s"
    return f"{max(seconds / 60, 1):.0f} minutes"


_TENTH_OF_A_GB: Final = 100_000_000
