"""Tracked directories of a run: how paths name them, their plans, and consent to very large trees.

A plan is a walk compared with one snapshot.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NoReturn

from directory_indexer.core.errors import ConsentNeededError, NotIndexedError, OverlapError, UsageError
from directory_indexer.core.files import Stage
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, file_path, lies_in, os_path, resolved_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.indexing.planner import Plan, plan
from directory_indexer.storage.documents.known_files import FileState
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.walk import IgnoredPath, Listing, SameListing, Settled, WalkPolicy
from directory_indexer.walk.walk import walk

with lazily:
    from directory_indexer.formats.kinds import is_media


def resolve_roots(paths: Sequence[str], tracked: Collection[FilePath]) -> list[FilePath]:
    """Resolve paths; a tracked path stays as it is, even if it is a link now."""
    absolute_paths = [(path, _absolute_path(path)) for path in paths]
    return [absolute if absolute in tracked else resolved_path(path) for path, absolute in absolute_paths]


def requested_or_all_roots(paths: Sequence[FilePath], tracked: Collection[FilePath]) -> list[FilePath]:
    """Return the requested directories, tracked or new, or without any all tracked ones.

    Raises:
        UsageError: a path is not a directory, or nothing is tracked.
        OverlapError: a path lies inside or around a tracked directory.
    """
    if not paths and not tracked:
        raise UsageError("no directory is tracked yet", hint="dirindex index PATH adds one")
    roots = list(dict.fromkeys(paths)) or list(tracked)
    for root in roots:
        _require_directory(root, tracked)
        _require_no_overlap(root, [*tracked, *roots])
    return roots


def require_not_reserved(roots: Iterable[FilePath], policy: WalkPolicy) -> None:
    """Refuse directories of collections, except the documents of this one.

    Raises:
        UsageError: a directory lies in that of collections.
    """
    for root in roots:
        if policy.reserved and lies_in(root, policy.reserved) and root != policy.documents:
            raise UsageError(
                f"{display(root)} lies in the directory of collections",
                hint="search a collection with --collection NAME; dirindex collection list shows which there are",
            )


def resolve_forgettable_path(path: str, snapshot: Snapshot) -> FilePath:
    """Return the tracked directory at a path, or a path in one that the last run could not reach.

    Raises:
        NotIndexedError: there is none.
    """
    tracked = snapshot.directories.all()
    # A link that is broken now was indexed under its own path.
    as_given = _absolute_path(path)
    for candidate in (as_given, resolved_path(path)):
        known = snapshot.files.get(candidate)
        if candidate in tracked or (known and (known.state, known.reason) == (FileState.FAILED, Stage.WALK)):
            return candidate
    raise NotIndexedError(f"{display(as_given)} is not tracked", hint=_tracked_hint(tracked))


def require_forgettable(root: FilePath, policy: WalkPolicy) -> None:
    """Refuse to forget the sent documents, which would exist without being searchable.

    Raises:
        UsageError: it is their directory.
    """
    if root == policy.documents:
        raise UsageError(
            f"{display(root)} contains sent documents",
            hint="dirindex documents delete removes them; dirindex collection delete removes all of a collection",
        )


def _absolute_path(path: str) -> FilePath:
    return file_path(os.path.abspath(os.path.expanduser(path)))


def _require_directory(root: FilePath, tracked: Collection[FilePath]) -> None:
    path = os_path(root)
    if root in tracked or os.path.isdir(path):
        return
    if os.path.exists(path):
        directory = display(FilePath(os.path.dirname(root)))
        raise UsageError(f"{path} is a file; directories are indexed", hint=f"dirindex index {directory}")
    raise UsageError(f"{path} does not exist", hint="check the path; nothing was changed")


def _require_no_overlap(root: FilePath, others: Sequence[FilePath]) -> None:
    for other in others:
        if other != root and lies_in(root, other):
            raise OverlapError(
                f"{display(root)} lies in {display(other)}, which is tracked as a whole",
                hint=f"dirindex index {display(other)}",
            )
        if other != root and lies_in(other, root):
            raise OverlapError(
                f"{display(root)} holds {display(other)}, which is tracked by itself",
                hint=f"dirindex forget {display(other)}, then dirindex index {display(root)}",
            )


def _tracked_hint(tracked: Collection[FilePath]) -> str:
    return f"tracked directories: {', '.join(map(display, tracked))}" if tracked else "no directory is tracked"


class WalkStoppedError(Exception):
    """The run must stop before a directory has been walked completely, so there is no plan."""


class Plans:
    """Plans directories; `recipe` identifies the current way of reading files.

    `embeds` tells whether runs embed every passage.
    """

    def __init__(self, docstore: DocStore, policy: WalkPolicy, *, recipe: int, embeds: bool = True) -> None:
        self._docstore = docstore
        self._policy = policy
        self._recipe = recipe
        self._embeds = embeds

    def plan(self, root: FilePath, options: IndexOptions, *, must_stop: Callable[[], bool] = lambda: False) -> Plan:
        """Compare a directory with its known files.

        Raises:
            WalkStoppedError: the run must stop.
            RootUnavailableError: the directory is missing, or all of its files are.
            ConsentNeededError: it is not tracked yet and very large, and the options do not allow it.
        """
        with self._docstore.snapshot() as snapshot:
            directory_id = snapshot.directories.all().get(root)
            mounts = {} if directory_id is None else snapshot.directories.mounts(directory_id)
            known = snapshot.files.known_files(directory_id, recipe=self._recipe)
            settled = Settled(known.settled.recipe) if options.read_everything else known.settled
            listings = _raise_when_stopped(must_stop, walk(root, self._policy, settled))
            if directory_id is None and not options.has_consent and root != self._policy.documents:
                listings = require_consent_for_large_tree(root, listings, embeds=self._embeds)
            return plan(
                root,
                listings,
                known,
                recipe=self._recipe,
                mounts=None if options.accepts_mounts else mounts,
                read_everything=options.read_everything,
            )

    def plan_untracked(self, root: FilePath, *, must_stop: Callable[[], bool]) -> tuple[Plan, bool]:
        """Return the plan for a directory that is not tracked, and whether it is complete.

        Raises:
            RootUnavailableError: the directory cannot be read.
        """
        is_whole = True

        def listings() -> Iterator[Listing | SameListing]:
            nonlocal is_whole
            for listing in walk(root, self._policy):
                yield listing
                if must_stop():
                    is_whole = False
                    return

        with self._docstore.snapshot() as snapshot:
            known = snapshot.files.known_files(None, recipe=self._recipe)
            beginning = plan(root, listings(), known, recipe=self._recipe)
        return beginning, is_whole

    def ignored(self, root: FilePath) -> Iterator[IgnoredPath]:
        """Yield the paths in a directory that rules ignore, without reading unchanged directories."""
        with self._docstore.snapshot() as snapshot:
            directory_id = snapshot.directories.all().get(root)
            settled = snapshot.files.known_files(directory_id, recipe=self._recipe).settled
        for listing in walk(root, self._policy, settled):
            yield from listing.settled.ignored if isinstance(listing, SameListing) else listing.ignored

    def directories(self, roots: Sequence[FilePath]) -> Iterator[FilePath]:
        """Yield the directories that a run over these roots would read."""
        return (listing.directory for root in roots for listing in walk(root, self._policy))


def _raise_when_stopped(
    must_stop: Callable[[], bool], listings: Iterator[Listing | SameListing]
) -> Iterator[Listing | SameListing]:
    for listing in listings:
        if must_stop():
            raise WalkStoppedError
        yield listing


MAX_FILES_WITHOUT_CONSENT: Final = 100_000

TEXT_BYTES_PER_SECOND: Final = 1_300_000
"""The indexing rate of one core; an average of source code and documents."""

FILES_PER_SECOND: Final = 400
"""The number of small files that one core reads, whatever they contain."""

TEXT_BYTES_EMBEDDED_PER_SECOND: Final = 36_000
"""The embedding rate of one core: 9,000 tokens of four bytes."""

_MAX_COUNTING_SECONDS: Final = 3.0


def require_consent_for_large_tree(
    root: FilePath,
    listings: Iterator[Listing | SameListing],
    *,
    embeds: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Listing | SameListing]:
    """Yield listings; beyond `MAX_FILES_WITHOUT_CONSENT`, count for some seconds more, and ask for consent.

    Raises:
        ConsentNeededError: there are more files than that.
    """
    count = _FileCount()
    for listing in listings:
        count.add(listing)
        if count.n_files > MAX_FILES_WITHOUT_CONSENT:
            count.add_all(listings, must_stop=_make_deadline(clock))
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


def _make_deadline(clock: Callable[[], float]) -> Callable[[], bool]:
    until = clock() + _MAX_COUNTING_SECONDS
    return lambda: clock() >= until


def _raise_consent_needed(root: FilePath, count: _FileCount, *, embeds: bool) -> NoReturn:
    more = "" if count.is_whole else "more than "
    n_cores = os.cpu_count() or 1
    to_words = max(count.n_text_bytes / TEXT_BYTES_PER_SECOND, count.n_files / FILES_PER_SECOND) / n_cores
    times = f"{_duration(to_words)} until all of it is found by words"
    if embeds:
        times += (
            f", {_duration(to_words + count.n_text_bytes / TEXT_BYTES_EMBEDDED_PER_SECOND / n_cores)} until complete"
        )
    raise ConsentNeededError(
        f"{display(root)} holds {more}{count.n_files:,} files to index, {more}{_size(count.n_bytes)}: "
        f"about {more}{times}",
        hint="add --yes to index all of it; or name directories in it, or leave some out with a .dirindexignore file "
        "(dirindex index --dry-run shows what would be read)",
    )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= _MIN_BYTES_IN_GB else f"{n_bytes / 1e6:,.1f} MB"


def _duration(seconds: float) -> str:
    for name, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name}s"
    return f"{max(seconds / 60, 1):.0f} minutes"


_MIN_BYTES_IN_GB: Final = 100_000_000
