"""Recognition of the pages that wait for OCR: each is stored, and its document is read again with its text.

A page is stored in a transaction of its own before anything else happens to it. So a run that is stopped or killed
loses only the pages in progress, and the next one begins by reading the documents of stored pages.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.files import PageKey, PageProblem, Recognition
from directory_indexer.core.paths import FilePath
from directory_indexer.ocr.engine import PageOutcome, PageRequest
from directory_indexer.ocr.engine_selection import ConfiguredOcr
from directory_indexer.parsing.outcomes import ParseRequest
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.incomplete_files import ScanCounts, WaitingPage
from directory_indexer.storage.documents.known_files import FileState
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.ocr_cache import OcrCache

_PAGES_PER_BATCH = 20
"""After this many pages a document is read again, so that its first pages are searchable before its last is read."""

_DOCUMENTS_PER_STEP = 50


class DocumentToRead(NamedTuple):
    """A file with recognised pages, in the tracked directory of that id; without text before if it was skipped."""

    directory_id: int
    request: ParseRequest
    was_skipped: bool


class OcrStep(NamedTuple):
    """The progress since the last step: completed pages, and documents with new text.

    Of `n_pages` completed ones, `n_read` were recognised; the others cannot be, or not now. The first step has the
    number of pages to do. `refusal` is why the configured service did not read a page, `usage` what it has
    counted.
    """

    n_pages: int = 0
    n_read: int = 0
    n_pages_total: int | None = None
    documents: tuple[DocumentToRead, ...] = ()
    refusal: str = ""
    usage: str = ""

    n_asked: int = 0
    """The number of pages sent to the engine."""


class OcrRunner:
    """The pages of one index that wait for OCR."""

    def __init__(
        self, docstore: DocStore, cache: OcrCache, reading: ConfiguredOcr, *, recipe: int, max_bytes: int
    ) -> None:
        self.reading = reading
        self._docstore = docstore
        self._cache = cache
        self._recipe = recipe
        self._max_bytes = max_bytes
        self._read: set[PageKey] = set()

    def counts(self, scope: IndexScope = WHOLE_INDEX) -> ScanCounts:
        """Count the pages that wait, that were read, and that could not be read, as stored with their documents."""
        with self._docstore.snapshot() as snapshot:
            return snapshot.scans.counts(scope)

    def count_pages_read_ahead(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the pages that were read while their documents, read by the next run, still wait for them."""
        if not self._read:
            return 0
        with self._docstore.snapshot() as snapshot:
            return sum(page.key in self._read for page in snapshot.scans.waiting(scope))

    def requeue_unreadable_pages(self) -> None:
        """Queue pages again that another engine, or another version of it, could not read.

        Raises:
            ProviderError: see `ConfiguredOcr.reader`.
            OcrCacheError: the OCR cache cannot be written.
        """
        reader = self.reading.reader()
        if reader is not None and (keys := self._cache.remove_problems_of_other_engines(reader.recipe)):
            with self._docstore.transaction() as transaction:
                transaction.scans.clear_problems(keys)

    def recognise_pages(
        self, scope: IndexScope = WHOLE_INDEX, *, most_pages: int | None, must_stop: Callable[[], bool]
    ) -> Iterator[OcrStep]:
        """Recognise waiting pages, at most `most_pages` of those that no run has read before.

        Raises:
            ProviderError: the OCR service is unavailable; pages read before the failure are yielded first.
            OcrCacheError: the OCR cache is not writable, which is checked before any page is read.
            UnavailableError: no worker process can be started.
        """
        self._read.clear()
        reader = None if most_pages == 0 else self.reading.reader()
        with self._docstore.snapshot() as snapshot:
            queue = _PageQueue(snapshot.scans.waiting(scope))
        yield from self._apply_cached_pages(queue, most_pages if reader else 0)
        failure: ProviderError | None = None
        if reader is not None and queue.waiting_keys():
            self._cache.require_writable()
            try:
                for outcome in reader.read(queue.requests()[:most_pages], must_stop=must_stop):
                    yield OcrStep(refusal=outcome.refusal, n_asked=1)
                    yield from self._flush_to_steps(queue, self._store_outcome(queue, outcome, reader.recipe))
            except ProviderError as error:
                failure = error
        queue.flush()
        yield from self._flush_to_steps(queue)
        if reader is not None and reader.usage:
            yield OcrStep(usage=reader.usage)
        if failure is not None:
            raise failure

    def prune_cache(self) -> None:
        """Remove pages that no document has had for a while, and others if the cache is too large."""
        with self._docstore.snapshot() as snapshot:
            self._cache.prune(snapshot.scans.keys(), max_bytes=self._max_bytes)

    def delete_unused_pages(self) -> None:
        """Remove all pages that no document has."""
        with self._docstore.snapshot() as snapshot:
            self._cache.keep_only(snapshot.scans.keys())

    def _apply_cached_pages(self, queue: _PageQueue, most_pages: int | None) -> Iterator[OcrStep]:
        """Use the pages that an earlier run has read, and yield the number of pages to do."""
        # Looking up each of 10,000 waiting pages takes 2 s.
        known = self._cache.finished_pages()
        keys = (key for key in queue.waiting_keys() if key in known)
        results = {key: result for key in keys if _is_final(result := self._cache.get(key))}
        done = [self._complete_page(queue, key, result) for key, result in results.items()]
        n_pages, n_read = (sum(counts) for counts in zip((0, 0), *done, strict=True))
        yield OcrStep(n_pages_total=n_pages + queue.count_places(most_pages))
        yield from self._flush_to_steps(queue, (n_pages, n_read))

    def _store_outcome(self, queue: _PageQueue, outcome: PageOutcome, recipe: str) -> tuple[int, int]:
        """Store the result of a page; return how many places of it are completed, and how many recognised."""
        if outcome.recognition is None:
            return queue.give_up(outcome.key), 0
        self._cache.put(outcome.key, outcome.recognition, recipe=recipe)
        return self._complete_page(queue, outcome.key, outcome.recognition)

    def _complete_page(
        self, queue: _PageQueue, key: PageKey, result: Recognition | PageProblem | None
    ) -> tuple[int, int]:
        n_pages = queue.finish(key)
        if not isinstance(result, Recognition):
            return n_pages, 0
        self._read.add(key)
        return n_pages, n_pages

    def _flush_to_steps(self, queue: _PageQueue, done: tuple[int, int] = (0, 0)) -> Iterator[OcrStep]:
        """Yield the number of completed pages, and the documents to read again, some at a time."""
        ready = queue.take_ready()
        if any(done):
            yield OcrStep(*done)
        for start in range(0, len(ready), _DOCUMENTS_PER_STEP):
            yield OcrStep(documents=tuple(map(self._request_to_reread, ready[start : start + _DOCUMENTS_PER_STEP])))

    def _request_to_reread(self, pages: Sequence[WaitingPage]) -> DocumentToRead:
        """Return the request to read a file again; for a container, the members with recognised pages."""
        first, changed = pages[0], {page.path for page in pages}
        on_disk = first.on_disk.path
        with self._docstore.snapshot() as snapshot:
            members = snapshot.files.known_files(first.directory_id, recipe=self._recipe).members_of(on_disk)
            known = snapshot.files.get(on_disk)
        hashes = tuple((path, None if path in changed else digest) for path, digest in members.items())
        was_skipped = known is not None and known.state == FileState.SKIPPED
        return DocumentToRead(
            first.directory_id, ParseRequest(first.on_disk, None, known_members=hashes), was_skipped=was_skipped
        )


class _PageQueue:
    """The waiting pages by key, and the files on disk that are ready to be read again."""

    def __init__(self, pages: Iterable[WaitingPage]) -> None:
        self._pages: defaultdict[PageKey, list[WaitingPage]] = defaultdict(list)
        self._n_left: defaultdict[FilePath, int] = defaultdict(int)
        self._fresh: defaultdict[FilePath, list[WaitingPage]] = defaultdict(list)
        self._ready: list[Sequence[WaitingPage]] = []
        for page in pages:
            self._pages[page.key].append(page)
            self._n_left[page.on_disk.path] += 1

    def waiting_keys(self) -> list[PageKey]:
        """Return the keys of the pages in the order of recognition."""
        return list(self._pages)

    def requests(self) -> list[PageRequest]:
        """Return a request for each remaining page, once for all documents that have it."""
        firsts = (pages[0] for pages in self._pages.values())
        return [PageRequest(page.path, page.on_disk, page.page, page.key) for page in firsts]

    def count_places(self, most_keys: int | None) -> int:
        """Count the places of the first `most_keys` pages, or of all."""
        return sum(map(len, itertools.islice(self._pages.values(), most_keys)))

    def finish(self, key: PageKey) -> int:
        """Mark a page as completed; return the number of its places."""
        pages = self._pages.pop(key, [])
        for page in pages:
            self._n_left[page.on_disk.path] -= 1
            self._fresh[page.on_disk.path].append(page)
        # All places are marked first: a document may have the same page a thousand times.
        for path, page in {page.on_disk.path: page for page in pages}.items():
            is_member = page.path != path
            if not self._n_left[path] or (len(self._fresh[path]) >= _PAGES_PER_BATCH and not is_member):
                self._ready.append(self._fresh.pop(path))
        return len(pages)

    def give_up(self, key: PageKey) -> int:
        """Leave a page to a later run, since its document has changed or cannot be reached."""
        pages = self._pages.pop(key, [])
        for page in pages:
            self._n_left[page.on_disk.path] -= 1
        return len(pages)

    def flush(self) -> None:
        """Make all files with new text ready to be read again."""
        self._ready += self._fresh.values()
        self._fresh.clear()

    def take_ready(self) -> list[Sequence[WaitingPage]]:
        """Return the completed pages of each file that is ready to be read again."""
        ready, self._ready = self._ready, []
        return ready


def _is_final(result: Recognition | PageProblem | None) -> bool:
    return isinstance(result, Recognition) or (isinstance(result, PageProblem) and result.is_final)
