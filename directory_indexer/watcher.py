"""Keeps tracked directories fresh: changes that the file system reports become index runs.

Only directories that a run would read are watched, one by one: the library would follow links out of a root, and spend
the watches that the system allows on what is ignored. Reports are a hint, since the kernel drops them when there are
too many, a network file system makes none, and a mount replaces a directory without a word. So every report leads to a
run over the whole root, and without any all roots are looked through now and then.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import watchfiles

from directory_indexer.docstore.runs import Outcome
from directory_indexer.errors import UnavailableError
from directory_indexer.paths import FilePath, exact_text, lies_in

_QUIET_MS = 500
"""Changes are gathered until none came for so long: an editor that replaces a file makes several."""

_LONGEST_MS = 5000

_MANY_CHANGES = 1000
"""The kernel keeps 16,384 reports for all roots together; among so many changed paths some may have been dropped."""

_RESCAN_SECONDS = 600.0


def watch(
    roots: Sequence[FilePath],
    update: Callable[[Sequence[FilePath]], None],
    *,
    directories: Callable[[Sequence[FilePath]], Iterable[FilePath]],
    stop_reason: Callable[[], Outcome | None],
    except_below: str = "",
    is_held: Callable[[], bool] = lambda: False,
) -> None:
    """Call `update` for all roots, then for those in which something changed, until there is a reason to stop.

    `directories` lists what is to be watched. What happens `except_below` a directory is no change: each run writes to
    the index, which may lie in a root. While it `is_held`, changes are gathered.

    Raises:
        UnavailableError: the system refuses to watch so much.
    """
    _Watch(
        roots, update, directories=directories, stop_reason=stop_reason, except_below=except_below, is_held=is_held
    ).run()


class _Watch:
    def __init__(
        self,
        roots: Sequence[FilePath],
        update: Callable[[Sequence[FilePath]], None],
        *,
        directories: Callable[[Sequence[FilePath]], Iterable[FilePath]],
        stop_reason: Callable[[], Outcome | None],
        except_below: str,
        is_held: Callable[[], bool],
    ) -> None:
        self._is_held = is_held
        self._roots = roots
        self._update = update
        self._directories = directories
        self._stop_reason = stop_reason
        self._except_below = except_below

    def run(self) -> None:
        while self._stop_reason() is None:
            self._watch_once()

    def _watch_once(self) -> None:
        """Watch what is there now, until that is something else or it is time to look through everything again."""
        watched, identities = self._to_watch(), self._identities()
        rescan_at = time.monotonic() + _RESCAN_SECONDS
        is_first, was_flood = True, False
        waiting: dict[FilePath, None] = {}
        for changed in _reports(watched, self._stop_reason):
            is_flood = len(changed) >= _MANY_CHANGES
            # What happened between the last run and the first report of this watch was reported to nobody, and what
            # happened at the end of a flood may not have been.
            is_unsure = is_first or is_flood or was_flood or self._identities() != identities
            touched = [root for root in self._roots if is_unsure or any(lies_in(path, root) for path in changed)]
            waiting |= dict.fromkeys(touched)
            if waiting and not self._is_held():
                self._update(list(waiting))
                waiting.clear()
            is_outdated = touched and (self._identities() != identities or self._to_watch() != watched)
            if is_outdated or time.monotonic() >= rescan_at:
                return
            is_first, was_flood = False, is_flood

    def _to_watch(self) -> list[str]:
        paths = (exact_text(path) for path in self._directories(self._roots))
        return sorted(path for path in paths if _is_unicode(path) and not self._is_own(path) and os.path.isdir(path))

    def _is_own(self, path: str) -> bool:
        own = self._except_below
        return bool(own) and (lies_in(path, own))

    def _identities(self) -> list[tuple[int, int] | None]:
        return [_identity(exact_text(root)) for root in self._roots]


def _reports(directories: Sequence[str], stop_reason: Callable[[], Outcome | None]) -> Iterator[list[FilePath]]:
    """Give the changed paths every now and then, often none; ends when reports can no longer be understood."""
    stopped = threading.Event()
    changes = watchfiles.watch(
        *directories,
        watch_filter=None,
        debounce=_LONGEST_MS,
        step=_QUIET_MS,
        stop_event=stopped,
        yield_on_timeout=True,
        rust_timeout=_QUIET_MS,
        raise_interrupt=False,
        recursive=False,
        ignore_permission_denied=True,
    )
    with contextlib.closing(changes):
        try:
            batch = next(changes, None)
        except FileNotFoundError:  # a directory went away meanwhile
            return
        except (OSError, RuntimeError) as error:
            raise UnavailableError(
                f"cannot watch {len(directories)} directories: {error}",
                hint="allow more watches (on Linux: sysctl fs.inotify.max_user_watches), or run dirindex index by cron",
            ) from error
        with contextlib.suppress(RuntimeError):  # the name of something that changed is no Unicode
            while batch is not None and stop_reason() is None:
                yield [path for _, path in batch]  # type: ignore[misc]  # an absolute path of a watched directory
                batch = next(changes, None)


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
