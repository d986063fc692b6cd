"""Watching of tracked directories: changes reported by the file system start index runs.

Only directories that a run would read are watched, one by one: the library would follow links out of a root, and spend
the watches that the system allows on ignored directories. Reports are hints, since the kernel drops them when there are
too many, a network file system sends none, and a mount silently replaces a directory. So every report leads to a run
over the whole root, and even without reports all roots are checked from time to time: often if the system does not
allow enough watches.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import watchfiles

from directory_indexer.core.lock import try_lock
from directory_indexer.core.paths import FilePath, exact_text, lies_in
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.walk.walk import directory_identity

_DEBOUNCE_MS = 500
"""Changes are gathered until none came for this long: an editor that replaces a file makes several."""

_MAX_DELAY_MS = 5000

_MANY_CHANGES = 1000
"""The kernel queues 16,384 reports for all roots together; among this many changed paths some may have been dropped."""

_RESCAN_SECONDS = 600.0
_POLL_PER_WALK_SECONDS = 20.0


@dataclass(kw_only=True)
class Watch:
    """A watch over roots, which calls `update` for all of them, then for those with changes.

    `directories` returns the directories to watch. Events `except_below` a directory are ignored: each run writes to
    the index, which may lie in a root. While it `is_held`, changes are gathered. If the system allows watching only
    some directories, all roots are checked every `poll_seconds` or less often, so that this takes a twentieth of
    the time at most; `on_limit` is called, and the lock of `limit_path` held meanwhile.
    """

    roots: Sequence[FilePath]
    update: Callable[[Sequence[FilePath]], None]
    directories: Callable[[Sequence[FilePath]], Iterable[FilePath]]
    stop_reason: Callable[[], Outcome | None]
    except_below: str = ""
    is_held: Callable[[], bool] = lambda: False
    on_limit: Callable[[], None] = lambda: None
    limit_path: Path | None = None
    poll_seconds: float = 30.0
    _limit: contextlib.ExitStack | None = field(default=None, init=False)

    def run(self) -> None:
        """Watch until there is a reason to stop."""
        try:
            while self.stop_reason() is None:
                self._watch_once()
        finally:
            self._set_limited(is_limited=False)

    def _watch_once(self) -> None:
        """Watch the current directories, until they change or a complete rescan is due."""
        watched, identities = self._watchable_directories(), self._directory_identities()
        rescan_at = time.monotonic() + _RESCAN_SECONDS
        poll_at = time.monotonic()
        is_first, was_flood = True, False
        waiting: dict[FilePath, None] = {}
        for changed in self._changes(watched):
            is_flood = len(changed) >= _MANY_CHANGES
            # Events between the last run and the first report of this watch were reported to nobody, and those at the
            # end of a flood may have been dropped.
            is_unsure = is_first or is_flood or was_flood or self._directory_identities() != identities
            touched = [root for root in self.roots if is_unsure or any(lies_in(path, root) for path in changed)]
            is_polling = self._limit is not None and time.monotonic() >= poll_at
            waiting |= dict.fromkeys(self.roots if is_polling else touched)
            if waiting and not self.is_held():
                seconds = self._update(list(waiting))
                if is_polling:
                    poll_at = time.monotonic() + max(self.poll_seconds, _POLL_PER_WALK_SECONDS * seconds)
                waiting.clear()
            is_outdated = touched and (
                self._directory_identities() != identities or self._watchable_directories() != watched
            )
            if is_outdated or time.monotonic() >= rescan_at:
                return
            is_first, was_flood = False, is_flood

    def _update(self, roots: Sequence[FilePath]) -> float:
        began = time.monotonic()
        self.update(roots)
        return time.monotonic() - began

    def _changes(self, directories: Sequence[str]) -> Iterator[list[FilePath]]:
        """Yield changed paths from time to time, often none; end when the watch must be set up again."""
        is_limited = False
        for is_lenient in (False, True):
            with contextlib.closing(_changes_from_system(directories, is_lenient=is_lenient)) as reports:
                try:
                    batch = next(reports, None)
                except FileNotFoundError:  # a directory was removed meanwhile
                    return
                except (OSError, RuntimeError) as error:
                    is_limited = not isinstance(error, PermissionError)
                    continue
                self._set_limited(is_limited=is_limited)
                with contextlib.suppress(RuntimeError):  # the name of a changed file is not valid Unicode
                    while batch is not None and self.stop_reason() is None:
                        yield [path for _, path in batch]  # type: ignore[misc]  # absolute paths of watched directories
                        batch = next(reports, None)
                return
        self._set_limited(is_limited=True)
        while self.stop_reason() is None:
            yield []
            time.sleep(_DEBOUNCE_MS / 1000)

    def _set_limited(self, *, is_limited: bool) -> None:
        if is_limited == (self._limit is not None):
            return
        if self._limit is not None:
            self._limit.close()
            self._limit = None
            return
        self._limit = contextlib.ExitStack()
        if self.limit_path is not None and (mark := try_lock(self.limit_path, exclusive=True)):
            self._limit.enter_context(mark)
        self.on_limit()

    def _watchable_directories(self) -> list[str]:
        paths = (exact_text(path) for path in self.directories(self.roots))
        return sorted(path for path in paths if self._can_be_watched(path))

    def _can_be_watched(self, path: str) -> bool:
        is_own = bool(self.except_below) and lies_in(path, self.except_below)
        return _is_unicode(path) and not is_own and os.path.isdir(path) and os.access(path, os.R_OK)

    def _directory_identities(self) -> list[tuple[int, int] | None]:
        return [directory_identity(exact_text(root)) for root in self.roots]


def _changes_from_system(
    directories: Sequence[str], *, is_lenient: bool
) -> Generator[set[watchfiles.main.FileChange], None, None]:
    """Yield the system's reports on directories; a lenient watch omits those that it cannot watch."""
    return watchfiles.watch(
        *directories,
        watch_filter=None,
        debounce=_MAX_DELAY_MS,
        step=_DEBOUNCE_MS,
        yield_on_timeout=True,
        rust_timeout=_DEBOUNCE_MS,
        raise_interrupt=False,
        recursive=False,
        ignore_permission_denied=is_lenient,
    )


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
