"""What the tools do, apart from MCP: arguments in, an answer or an error with the next call out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from directory_indexer import __version__
from directory_indexer.docstore.runs import RunRecord
from directory_indexer.docstore.summaries import DirectoryStatus, IndexSummary
from directory_indexer.errors import (
    CorruptIndexError,
    DirIndexError,
    IndexMismatchError,
    LockedError,
    NotIndexedError,
    ProviderError,
    StoreError,
    UsageError,
    VectorStoreError,
)
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.searching.answers import SearchMode, SearchRequest, SearchResult
from directory_indexer.searching.texts import read_text
from directory_indexer.server.budget import Budgets, cost
from directory_indexer.server.calls import ContentCall, IndexCall, SearchCall, SimilarCall
from directory_indexer.server.contents import content_answer, content_text, selection_of
from directory_indexer.server.cursors import Position, mark_of, position_of
from directory_indexer.server.directories import to_index
from directory_indexer.server.jobs import ENDED, IndexJobs, Job, covers
from directory_indexer.server.model import BackgroundModel
from directory_indexer.server.passages import Link, Page, index_state, links, one_line, search_answer, search_text
from directory_indexer.server.places import indexed_file, scope_of
from directory_indexer.server.results import (
    ContentAnswer,
    DirectoryResult,
    InfoAnswer,
    JobResult,
    ModelResult,
    SearchAnswer,
)
from directory_indexer.server.shapes import object_of

with lazily:
    from directory_indexer.app import App


Result: TypeAlias = SearchAnswer | ContentAnswer | JobResult | InfoAnswer

PATIENCE_SECONDS = 0.3
"""A search for words and meaning waits so long for a model that is being loaded, then answers by words."""

LONG_PATIENCE_SECONDS = 30.0
"""So long waits who asked for meaning only."""

_STILL_LOADING = (
    "degraded: answered by keywords alone, for the embedding model is still being loaded; repeat the call in a few "
    "seconds to search by meaning, too"
)
_HAS_CHANGED = (
    "the index has changed since the page before; its hits are not repeated, but better ones may have come: repeat "
    "the call without cursor to see them"
)
_MOST_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back: text and structure say the same."""

    text: str
    result: Result
    links: tuple[Link, ...] = ()


class Tools:
    """The tools over one index; threads may share it."""

    def __init__(self, *, app: App, model: BackgroundModel, jobs: IndexJobs, allowed: Sequence[FilePath]) -> None:
        self._app = app
        self._model = model
        self.jobs = jobs
        self._allowed = tuple(allowed)

    def search(self, call: SearchCall) -> Answer:
        """Find passages."""
        with self._app.docstore.snapshot() as snapshot:
            scope = scope_of(snapshot, call.path)
        question = dataclasses.astuple(dataclasses.replace(call, cursor="", limit=0, max_tokens=0))
        position = position_of(call.cursor, question=question)
        mode, notes = self._mode(call.mode)
        request = SearchRequest(
            query=call.query,
            mode=mode,
            limit=len(position.shown) + call.limit,
            scope=scope,
            kinds=call.types,
            globs=call.globs,
        )
        result = _after(position, self._app.searcher.search(request), limit=call.limit)
        page = Page(position.shown, call.max_tokens, question, result.state)
        return _found(result, page, self._app.status.checked(result.summary), notes)

    def similar_files(self, call: SimilarCall) -> Answer:
        """Find files like an indexed one."""
        with self._app.docstore.snapshot() as snapshot:
            path = indexed_file(snapshot, call.path)
            within = scope_of(snapshot, call.within)
        question = ("similar", call.path, call.within)
        position = position_of(call.cursor, question=question)
        self._model.is_usable(within_seconds=LONG_PATIENCE_SECONDS)
        found = self._app.similar_files.find(path, within=within, limit=len(position.shown) + call.limit)
        result = found._replace(request=found.request._replace(mode=SearchMode.SEMANTIC))
        page = Page(position.shown, call.max_tokens, question, result.state)
        summary = self._app.status.checked(result.summary)
        return _found(_after(position, result, limit=call.limit), page, summary, ())

    def get_content(self, call: ContentCall) -> Answer:
        """Read the indexed text of a file."""
        selection = selection_of(call)
        with self._app.docstore.snapshot() as snapshot:
            path = indexed_file(snapshot, call.path)
            text = read_text(snapshot, path, selection)
        answer = content_answer(text, max_tokens=call.max_tokens)
        return Answer(content_text(answer), answer)

    def server_info(self) -> Answer:
        """Tell what is indexed, how far it is, and whether the model is there."""
        status = self._app.status.report()
        directories = tuple(map(_directory, status.directories))
        info = InfoAnswer(
            version=__version__,
            directories=(),
            allowed=self._allowed,
            model=ModelResult(self._app.loaded.config.embedding.model, self._model.state, self._model.message or None),
            index=index_state(self._app.status.summary()),
            job=self.jobs.current(),
        )
        shown = directories
        while shown and cost(object_of(dataclasses.replace(info, directories=shown))) > Budgets.INFO:
            shown = shown[:-1]
        info = dataclasses.replace(info, directories=shown, left_out=len(directories) - len(shown))
        return Answer(info_text(info), info)

    def start_index(self, call: IndexCall) -> Job | RunRecord:
        """Start a run or join the one that goes on."""
        with self._app.docstore.snapshot() as snapshot:
            tracked = tuple(snapshot.directories.all())
        try:
            directories = to_index(call.path, tracked=tracked, allowed=self._allowed)
        except DirIndexError:
            # A directory that is being added is not tracked yet; to watch that needs no permission.
            running = self._app.status.running()
            if running is not None and (not call.path or covers(running, FilePath(call.path))):
                return running
            raise
        return self.jobs.start_or_join(directories)

    def cancel_index(self, call: IndexCall) -> Answer:
        """Stop the runs that this server started.

        Raises:
            UsageError: there is none, or another process started the one that goes on.
        """
        with self._app.docstore.snapshot() as snapshot:
            tracked = tuple(snapshot.directories.all())
        directory = to_index(call.path, tracked=tracked, allowed=self._allowed)[0] if call.path else None
        stopped = self.jobs.cancel_all(directory)
        if not stopped:
            running = self._app.status.running()
            if running is not None:
                raise UsageError(
                    f"another process started the run that goes on (process {running.pid})",
                    hint="it can be stopped where it was started",
                )
            raise UsageError("no index run goes on")
        deadline = time.monotonic() + call.wait_seconds
        for job in stopped:
            while job.process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
        return index_answer(self.jobs.state_of(stopped[-1]))

    def state_of(self, job: Job | RunRecord) -> JobResult:
        """Tell how far a run is."""
        return self.jobs.state_of(job)

    def completions(self, prefix: str) -> tuple[list[str], int]:
        """Complete the path of an indexed file; tell how many there are."""
        typed = prefix if os.path.isabs(prefix) else f"/{prefix}"
        with self._app.docstore.snapshot() as snapshot:
            paths = sorted(snapshot.files.starting_with(typed) or snapshot.files.containing(prefix))
        return [path.removeprefix("/") for path in paths[:_MOST_COMPLETIONS]], len(paths)

    def _mode(self, wanted: SearchMode) -> tuple[SearchMode, tuple[str, ...]]:
        if wanted is SearchMode.KEYWORD:
            return wanted, ()
        patience = LONG_PATIENCE_SECONDS if wanted is SearchMode.SEMANTIC else PATIENCE_SECONDS
        if self._model.is_usable(within_seconds=patience):
            return wanted, ()
        if wanted is SearchMode.SEMANTIC:
            raise ProviderError("the embedding model is still being loaded")
        return SearchMode.KEYWORD, (_STILL_LOADING,)


def index_answer(result: JobResult) -> Answer:
    """Describe a run in words, too."""
    counts = result.counts
    done = f"{result.files_done} of {result.files_total} files read" if result.files_total else "files not counted yet"
    if result.chunks_total:
        done += f", {result.chunks_done} of {result.chunks_total} passages embedded"
    if counts is not None:
        named = {
            name: getattr(counts, name) for name in ("added", "changed", "removed", "unchanged", "skipped", "failed")
        }
        done = ", ".join(f"{number} {name}" for name, number in named.items() if number) or "nothing to do"
    where = ", ".join(map(one_line, result.directories))
    how = f"{result.state}, {result.phase}" if result.state == "running" else result.state
    lines = [f"Index run {result.job_id} of {where}: {how}. {done}."]
    lines += ["It was started by somebody else and is joined."] if result.joined else []
    lines += [f"Message: {result.message}"] if result.message else []
    return Answer("\n".join([*lines, f"Next: {result.next_step}"]), result)


def info_text(info: InfoAnswer) -> str:
    """Write what the server is as text that is complete by itself."""
    lines = [f"dirindex {info.version}; embedding model {info.model.name}: {info.model.state}"]
    lines += [f"  {info.model.message}"] if info.model.message else []
    lines.append(f"{info.index.files} files, {info.index.chunks} passages, {info.index.embedded} of them by meaning")
    for one in info.directories:
        state = f"indexed {one.indexed_at}" if one.indexed_at else "not indexed completely yet"
        gone = "" if one.available else "; it cannot be read now"
        lines.append(
            f"- {one_line(one.path)}: {one.files} files, {one.chunks} passages, {one.skipped} skipped, "
            f"{one.failed} failed; {state}{gone}"
        )
    lines += [f"{info.left_out} more directories do not fit here"] if info.left_out else []
    if info.allowed:
        lines.append(f"index may add: {', '.join(map(one_line, info.allowed))}")
    if info.job is not None:
        lines.append(index_answer(info.job).text)
    if not info.directories:
        lines.append("Nothing is indexed yet: call index, or ask the user to run `dirindex index DIRECTORY`.")
    return "\n".join(lines)


def failure_text(error: DirIndexError) -> str:
    """Say what went wrong and which call to make next."""
    hint = f" ({error.hint})" if error.hint and not error.hint.startswith("dirindex ") else ""
    step = next(step for kind, step in _NEXT_CALLS if isinstance(error, kind))
    return f"{one_line(error.message)}{one_line(hint)}. Next: {step}"


_NEXT_CALLS: tuple[tuple[type[DirIndexError], str], ...] = (
    (
        NotIndexedError,
        "call server_info to see what is indexed and what may be, search to find files, or index to add or refresh.",
    ),
    (UsageError, "correct this and call the same tool again."),
    (ProviderError, 'call search with mode="keyword", or again in a few seconds.'),
    (IndexMismatchError, 'call search with mode="keyword"; the user can run `dirindex index --yes`.'),
    (LockedError, "call server_info to see the run that goes on, then index again."),
    (CorruptIndexError, "ask the user to run `dirindex doctor --repair`."),
    (VectorStoreError, 'call search with mode="keyword"; the user can run `dirindex doctor`.'),
    (StoreError, "ask the user to run `dirindex doctor`."),
    (DirIndexError, "call server_info."),
)


def is_ended(result: JobResult) -> bool:
    """Tell whether waiting for a run is over."""
    return result.state in ENDED


def _after(position: Position, result: SearchResult, *, limit: int) -> SearchResult:
    """Leave out what was shown on the pages before."""
    hits = [hit for hit in result.hits if mark_of(hit) not in position.shown]
    return result._replace(
        hits=tuple(hits[:limit]),
        is_truncated=result.is_truncated or len(hits) > limit,
        degraded=(*result.degraded, *([_HAS_CHANGED] if position.is_before(result.state) else [])),
    )


def _found(result: SearchResult, page: Page, summary: IndexSummary, notes: tuple[str, ...]) -> Answer:
    answer = search_answer(result, page, summary, notes)
    return Answer(search_text(answer), answer, links(answer))


def _directory(status: DirectoryStatus) -> DirectoryResult:
    completed = status.completed_at
    return DirectoryResult(
        path=status.path,
        available=status.is_available,
        files=status.n_files,
        chunks=status.n_chunks,
        embedded=status.n_embedded,
        skipped=sum(count for _, count in status.skipped),
        failed=status.n_failed,
        indexed_at=None if completed is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(completed)),
    )
