"""Index runs: which directories are tracked, what may be done to them, and one run at a time."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from directory_indexer.docstore.known import FileState
from directory_indexer.docstore.runs import Outcome, Phase, RunProgress, Verb
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.errors import (
    ConsentNeededError,
    LockedError,
    NotIndexedError,
    OverlapError,
    ProviderError,
    RootUnavailableError,
    UsageError,
    VectorStoreError,
)
from directory_indexer.files import FileFailure, Stage
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.indexing.planner import Plan, plan
from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport
from directory_indexer.indexing.runs import Run, recorded_run, who_writes
from directory_indexer.indexing.updater import Updater, explained
from directory_indexer.lazy import lazily
from directory_indexer.lock import write_lock
from directory_indexer.paths import FilePath, display, file_path, lies_in, os_path, resolved_path
from directory_indexer.vectorstore import VectorPlace
from directory_indexer.walker.listing import Listing, SameListing, Settled
from directory_indexer.walker.policy import WalkPolicy
from directory_indexer.walker.walk import walk

with lazily:
    from directory_indexer.indexing.vectorizer import Vectorizer
    from directory_indexer.parsing.parse import ParsePolicy


BYTES_PER_TEXT_BYTE = 3
"""What an index takes on disk for a byte of text: measured on source code and prose, rounded up."""

_PACK_BATCH = 4000
_LATER = "run the same command again later, or with --wait; dirindex status shows how far it is"

BYTES_PER_TOKEN = 4
"""Of prose and code, rounded; a PDF has fewer tokens than its bytes promise."""

_DISK_SHARE = 0.8
_REMOVE_BATCH = 200


class IndexPolicy(NamedTuple):
    """What is indexed and in which way; a batch of `batch_files` is committed at a time.

    `parse` builds the policy of parsing, which only a run that has something to read needs.
    """

    walk: WalkPolicy
    parse: Callable[[], ParsePolicy]
    fingerprint: Fingerprint
    batch_files: int


class IndexOptions(NamedTuple):
    """How one run behaves; `has_consent` lets it redo what another model or version made, and fill the disk.

    With `tracked_only` it leaves out what is not tracked, as a directory that was forgotten meanwhile. With `is_exact`
    the paths were resolved before: a link that has taken the place of one since is not followed. With `accepts_mounts`
    other file systems take the place of those that were mounted before.
    """

    read_everything: bool = False
    has_consent: bool = False
    wait: bool = True
    tracked_only: bool = False
    is_exact: bool = False
    accepts_mounts: bool = False


class _Start(NamedTuple):
    """What a run finds when it has the write lock."""

    tracked: dict[FilePath, int]
    fingerprint: str | None
    vector_places: frozenset[VectorPlace]
    was_cut_off: bool
    """Whether the last run ended without a word; the caller holds the lock, so that none is going on."""


class Indexer:
    """The writing side of the index of one data directory."""

    def __init__(
        self,
        *,
        docstore: DocStore,
        vectorizer: Vectorizer,
        policy: IndexPolicy,
        lock_path: Path,
        check_services: Callable[[], None] = lambda: None,
    ) -> None:
        self._docstore = docstore
        self._check_services = check_services
        self._vectorizer = vectorizer
        self._policy = policy
        self._lock_path = lock_path

    def index(
        self,
        paths: Sequence[str],
        *,
        options: IndexOptions,
        listener: Callable[[RunProgress], None],
        stop_reason: Callable[[], Outcome | None],
    ) -> IndexReport:
        """Bring the directories at `paths`, or with none all tracked ones, up to date.

        Raises:
            UsageError: a path is no directory, or nothing is tracked.
            OverlapError: a path lies inside or around a tracked directory.
            ConsentNeededError: much would be redone or written, and the options do not allow it.
            LockedError: another run holds the lock and the options say not to wait.
        """
        started = time.monotonic()
        # Before it waits for anything: what a path means now is what the caller has seen.
        given = list(map(file_path, paths)) if options.is_exact else self._meant(paths)
        with self._writing(listener, stop_reason, wait=options.wait):
            start = self._start()
            roots = _roots(given, start.tracked)
            if options.tracked_only:
                roots = [root for root in roots if root in start.tracked]
            self._adopt_fingerprint(start, has_consent=options.has_consent)
            with recorded_run(self._docstore, Verb.INDEX, roots, listener=listener, stop_reason=stop_reason) as run:
                self._vectorizer.restore_lost()
                updater = self._updater(run, is_wary=start.was_cut_off)
                self._update(updater, run, roots, options)
                self._pack_texts(run)
                outcome = run.outcome
            self._docstore.checkpoint(must_stop=lambda: run.must_stop)
            return updater.report._replace(outcome=outcome, seconds=time.monotonic() - started)

    @contextlib.contextmanager
    def _writing(
        self, listener: Callable[[RunProgress], None], stop_reason: Callable[[], Outcome | None], *, wait: bool
    ) -> Iterator[None]:
        def while_waiting() -> None:
            listener(RunProgress(Phase.WAITING, waits_for=who_writes(self._docstore)))
            if stop_reason() is not None:
                raise LockedError("still waiting when told to stop")

        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(write_lock(self._lock_path, wait=wait, on_wait=while_waiting))
            except LockedError as error:
                raise LockedError(who_writes(self._docstore), hint=_LATER) from error
            yield

    def tracked(self, paths: Sequence[str]) -> list[FilePath]:
        """Give the tracked directories at `paths`; with none, all of them."""
        return _roots(self._meant(paths), self._tracked())

    def directories(self, roots: Sequence[FilePath]) -> Iterator[FilePath]:
        """List the directories that a run over these roots would read."""
        return (listing.directory for root in roots for listing in walk(root, self._policy.walk))

    def plans(self, paths: Sequence[str]) -> list[Plan]:
        """Tell what `index` would do, without doing or locking anything."""
        return [self._plan(root, IndexOptions(), must_stop=lambda: False) for root in self.tracked(paths)]

    def estimate(self, plans: Sequence[Plan]) -> EmbeddingEstimate:
        """Tell about how many tokens such a run would embed: those of chunks that wait, and of the files to read."""
        now = self._policy.fingerprint
        with self._docstore.snapshot() as snapshot:
            stored = snapshot.meta.get("fingerprint")
            built = Fingerprint.from_json(stored) if stored else now
            n_tokens = snapshot.embedding_queue.count_tokens(waiting_only=built.embedding == now.embedding)
        n_tokens += sum(plan.n_bytes for plan in plans) // BYTES_PER_TOKEN
        return EmbeddingEstimate(now.embedding, n_tokens, now.differences(built))

    def forget(self, path: str, *, listener: Callable[[RunProgress], None] = lambda _: None) -> int:
        """Stop tracking a directory and remove what was indexed for it; tell how many files that were.

        What lies in a tracked directory can be forgotten when the last run could not reach it, as it cannot be deleted.

        Raises:
            NotIndexedError: the directory is not tracked.
        """
        with self._writing(listener, lambda: None, wait=True):
            with self._docstore.snapshot() as snapshot:
                tracked = snapshot.directories.all()
                root = _forgettable(path, snapshot)
                known = snapshot.files.within(root)
            self._vectorizer.restore_lost()
            self._remove(list(known))
            if root in tracked:
                with self._docstore.transaction() as transaction:
                    transaction.directories.remove(tracked[root])
            self._vectorizer.forget_gone()
            with self._docstore.transaction() as transaction:
                transaction.runs.forget_details()
            self._docstore.compact()
        return sum(file.hash is not None for file in known.values())

    def _update(self, updater: Updater, run: Run, roots: Sequence[FilePath], options: IndexOptions) -> None:
        plans: list[Plan] = []
        for root in roots:
            try:
                plans.append(self._plan(root, options, must_stop=lambda: run.must_stop))
            except _WalkStoppedError:
                return
            except RootUnavailableError as error:
                failure = FileFailure(root, Stage.WALK, error.message)
                updater.report = updater.report.plus(unavailable_roots=(root,), failures=(failure,))
        self._require_space(plans, has_consent=options.has_consent)
        run.notice = self._services_notice(plans)
        updater.update_words([(self._track(plan.directory), plan) for plan in plans])
        updater.update_meaning()

    def _pack_texts(self, run: Run) -> None:
        """Pack the texts that an older version wrote; the next run goes on where this one is stopped."""
        has_more = True
        while has_more and not run.must_stop:
            with self._docstore.transaction() as transaction:
                has_more = transaction.chunks.pack_texts(_PACK_BATCH)

    def _services_notice(self, plans: Sequence[Plan]) -> str:
        """Ask for provider and vector store before hours of work, of which the words can be had without them."""
        try:
            if any(plan.requests for plan in plans) or self._vectorizer.state().n_waiting:
                self._check_services()
        except (ProviderError, VectorStoreError) as error:
            return f"{explained(error)}; indexing words meanwhile"
        return ""

    def _start(self) -> _Start:
        with self._docstore.snapshot() as snapshot:
            runs = snapshot.runs.latest(1)
            return _Start(
                tracked=snapshot.directories.all(),
                fingerprint=snapshot.meta.get("fingerprint"),
                vector_places=frozenset(snapshot.collections.generations()),
                was_cut_off=bool(runs) and runs[0].outcome is None,
            )

    def _updater(self, run: Run, *, is_wary: bool) -> Updater:
        return Updater(
            docstore=self._docstore,
            vectorizer=self._vectorizer,
            parse_policy=lambda: self._policy.parse()._replace(is_wary=is_wary),
            recipe=self._policy.fingerprint.recipe,
            batch_files=self._policy.batch_files,
            run=run,
        )

    def _plan(self, root: FilePath, options: IndexOptions, *, must_stop: Callable[[], bool]) -> Plan:
        with self._docstore.snapshot() as snapshot:
            directory_id = snapshot.directories.all().get(root)
            mounts = {} if directory_id is None else snapshot.directories.mounts(directory_id)
            recipe = self._policy.fingerprint.recipe
            known = snapshot.files.known(directory_id, recipe=recipe)
            return plan(
                root,
                _until(must_stop, walk(root, self._policy.walk, self._settled(known.settled, options))),
                known,
                recipe=recipe,
                mounts=None if options.accepts_mounts else mounts,
                read_everything=options.read_everything,
            )

    def _settled(self, known: Settled, options: IndexOptions) -> Settled:
        return Settled(known.recipe) if options.read_everything else known

    def _track(self, root: FilePath) -> int:
        with self._docstore.transaction() as transaction:
            return transaction.directories.add(root)

    def _remove(self, paths: Sequence[FilePath]) -> None:
        for start in range(0, len(paths), _REMOVE_BATCH):
            with self._docstore.transaction() as transaction:
                transaction.files.remove(paths[start : start + _REMOVE_BATCH])

    def _tracked(self) -> dict[FilePath, int]:
        with self._docstore.snapshot() as snapshot:
            return snapshot.directories.all()

    def _meant(self, paths: Sequence[str]) -> list[FilePath]:
        """Resolve paths; one that is tracked as it is given means that, even if a link stands there now."""
        tracked = self._tracked()
        given = [(path, _absolute(path)) for path in paths]
        return [absolute if absolute in tracked else resolved_path(path) for path, absolute in given]

    def _adopt_fingerprint(self, start: _Start, *, has_consent: bool) -> None:
        now = self._policy.fingerprint
        built = Fingerprint.from_json(start.fingerprint) if start.fingerprint else now
        differences = now.differences(built)
        is_elsewhere = bool(start.vector_places) and self._vectorizer.place not in start.vector_places
        if is_elsewhere:
            differences += ("embed every text again (its vectors are in another store; dirindex migrate copies them)",)
        if differences and not has_consent:
            raise ConsentNeededError(
                f"the index was built in another way; this run would {'; '.join(differences)}",
                hint="add --yes to do it; until then searches answer from what is there",
            )
        if built.embedding != now.embedding and not is_elsewhere:
            self._vectorizer.switch(built._replace(embedding=now.embedding))
        if start.fingerprint == now.to_json() and not is_elsewhere:
            return
        with self._docstore.transaction() as transaction:
            if built.analysis != now.analysis:
                transaction.words.rebuild()
            if is_elsewhere:
                transaction.collections.start_over()
            transaction.meta.set("fingerprint", now.to_json())

    def _require_space(self, plans: Sequence[Plan], *, has_consent: bool) -> None:
        needed = BYTES_PER_TEXT_BYTE * sum(plan.n_bytes for plan in plans)
        free = shutil.disk_usage(self._docstore.path.parent).free
        if needed > _DISK_SHARE * free and not has_consent:
            place = self._docstore.path.parent
            raise ConsentNeededError(
                f"the index may take {needed / 1e9:.1f} GB, and {place} has {free / 1e9:.1f} GB free",
                hint="add --yes to start all the same, or choose another place with --data-dir",
            )


class _WalkStoppedError(Exception):
    """The run must stop before a directory has been walked to its end, and nothing can be said of it."""


def _until(must_stop: Callable[[], bool], listings: Iterator[Listing | SameListing]) -> Iterator[Listing | SameListing]:
    for listing in listings:
        if must_stop():
            raise _WalkStoppedError
        yield listing


def _roots(paths: Sequence[FilePath], tracked: Mapping[FilePath, int]) -> list[FilePath]:
    if not paths and not tracked:
        raise UsageError("no directory is tracked yet", hint="dirindex index PATH adds one")
    roots = list(dict.fromkeys(paths)) or list(tracked)
    for root in roots:
        _require_directory(root, tracked)
        _require_no_overlap(root, [*tracked, *roots])
    return roots


def _absolute(path: str) -> FilePath:
    return file_path(os.path.abspath(os.path.expanduser(path)))


def _forgettable(path: str, snapshot: Snapshot) -> FilePath:
    tracked = snapshot.directories.all()
    # A link that leads nowhere now was indexed under its own path.
    as_given = _absolute(path)
    for candidate in (as_given, resolved_path(path)):
        known = snapshot.files.get(candidate)
        if candidate in tracked or (known and (known.state, known.reason) == (FileState.FAILED, Stage.WALK)):
            return candidate
    raise NotIndexedError(f"{display(as_given)} is not tracked", hint=_tracked_hint(tracked))


def _require_directory(root: FilePath, tracked: Mapping[FilePath, int]) -> None:
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


def _tracked_hint(tracked: Mapping[FilePath, int]) -> str:
    return f"tracked are: {', '.join(map(display, tracked))}" if tracked else "no directory is tracked"
