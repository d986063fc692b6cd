"""Works off the pages that wait for OCR: each is read and kept, and its document is read again with what it says.

A page is kept in a transaction of its own before anything else happens to it. So a run that is stopped or killed
anywhere loses no more than the pages in hand, and the next one begins by reading the documents of those that are kept.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope
from directory_indexer.docstore.known import FileState
from directory_indexer.docstore.scans import ScanCounts, WaitingPage
from directory_indexer.docstore.store import DocStore
from directory_indexer.errors import ProviderError
from directory_indexer.ocr.choosing import PageReading
from directory_indexer.ocr.requests import PageOutcome, PageRequest
from directory_indexer.page_cache import PageCache
from directory_indexer.parsing.outcomes import ParseRequest
from directory_indexer.paths import FilePath
from directory_indexer.scans import PageKey, PageProblem, Recognition

_PAGES_A_TIME = 20
"""After so many pages of it a document is read again, so that its first pages can be found before its last is read."""

_DOCUMENTS_A_TIME = 50


class DocumentToRead(NamedTuple):
    """A file of which pages were read, in the tracked directory of that id; it had no text before if it was skipped."""

    directory_id: int
    request: ParseRequest
    was_skipped: bool


class RecogniseStep(NamedTuple):
    """What has happened since the step before: pages were done, and documents have got something new.

    Of `n_pages` that are done, `n_read` have been read; the others cannot be, or not now. The first step says how many
    pages there are to do. `refusal` is why the service that is configured did not read a page, `usage` what it has
    counted.
    """

    n_pages: int = 0
    n_read: int = 0
    n_pages_total: int | None = None
    documents: tuple[DocumentToRead, ...] = ()
    refusal: str = ""
    usage: str = ""

    n_asked: int = 0
    """How many pages the engine was asked for."""


class Recogniser:
    """The pages of one index that wait for OCR."""

    def __init__(
        self,
        docstore: DocStore,
        cache: PageCache,
        reading: PageReading,
        *,
        recipe: int,
        max_bytes: int,
    ) -> None:
        self.reading = reading
        self._docstore = docstore
        self._cache = cache
        self._recipe = recipe
        self._max_bytes = max_bytes
        self._read: set[PageKey] = set()

    def counts(self, scope: IndexScope = WHOLE_INDEX) -> ScanCounts:
        """Count the pages that wait, that were read, and that could not be read, as their documents have them."""
        with self._docstore.snapshot() as snapshot:
            return snapshot.scans.counts(scope)

    def n_read_ahead(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the pages that were read, and wait in their documents, which the next run is to read again."""
        if not self._read:
            return 0
        with self._docstore.snapshot() as snapshot:
            return sum(page.key in self._read for page in snapshot.scans.waiting(scope))

    def try_again(self) -> None:
        """Queue pages again, wherever they are, that another engine, or another version of it, could not read.

        Raises:
            ProviderError: as of `PageReading.reader`.
            PageCacheError: the page cache cannot be written.
        """
        reader = self.reading.reader()
        if reader is not None and (keys := self._cache.take_problems_of_others(reader.recipe)):
            with self._docstore.transaction() as transaction:
                transaction.scans.have_wait(keys)

    def work_off(
        self, scope: IndexScope = WHOLE_INDEX, *, most_pages: int | None, must_stop: Callable[[], bool]
    ) -> Iterator[RecogniseStep]:
        """Read the pages that wait, but no more than `most_pages` of those that nothing has read before.

        Raises:
            ProviderError: the service that reads pages cannot be used now; what was read before is yielded first.
            PageCacheError: what is read cannot be kept, which is found out before anything is read.
            UnavailableError: no worker process can be started.
        """
        self._read.clear()
        reader = None if most_pages == 0 else self.reading.reader()
        with self._docstore.snapshot() as snapshot:
            queue = _Queue(snapshot.scans.waiting(scope))
        yield from self._take_kept(queue, most_pages if reader else 0)
        trouble: ProviderError | None = None
        if reader is not None and queue.waiting_keys():
            self._cache.require_writable()
            try:
                for outcome in reader.read(queue.requests()[:most_pages], must_stop=must_stop):
                    yield RecogniseStep(refusal=outcome.refusal, n_asked=1)
                    yield from self._steps(queue, self._settle(queue, outcome, reader.recipe))
            except ProviderError as error:
                trouble = error
        queue.flush()
        yield from self._steps(queue)
        if reader is not None and reader.usage:
            yield RecogniseStep(usage=reader.usage)
        if trouble is not None:
            raise trouble

    def prune(self) -> None:
        """Let go of pages that no document has had for a while, and of others as far as they take too much room."""
        with self._docstore.snapshot() as snapshot:
            self._cache.prune(snapshot.scans.keys(), max_bytes=self._max_bytes)

    def forget_unused(self) -> None:
        """Let go of all pages that no document has."""
        with self._docstore.snapshot() as snapshot:
            self._cache.keep_only(snapshot.scans.keys())

    def _take_kept(self, queue: _Queue, most_pages: int | None) -> Iterator[RecogniseStep]:
        """Take what an earlier run has read, and say how many pages there are to do."""
        # To ask for each of 10,000 pages that wait takes 2 s.
        known = self._cache.done()
        keys = (key for key in queue.waiting_keys() if key in known)
        kept = {key: found for key in keys if _is_settled(found := self._cache.get(key))}
        done = [self._finish(queue, key, found) for key, found in kept.items()]
        n_pages, n_read = (sum(counts) for counts in zip((0, 0), *done, strict=True))
        yield RecogniseStep(n_pages_total=n_pages + queue.n_places(most_pages))
        yield from self._steps(queue, (n_pages, n_read))

    def _settle(self, queue: _Queue, outcome: PageOutcome, recipe: str) -> tuple[int, int]:
        """Keep what reading a page came to, and tell how many pages are done with it, and how many of them read."""
        if outcome.found is None:
            return queue.give_up(outcome.key), 0
        self._cache.put(outcome.key, outcome.found, recipe=recipe)
        return self._finish(queue, outcome.key, outcome.found)

    def _finish(self, queue: _Queue, key: PageKey, found: Recognition | PageProblem | None) -> tuple[int, int]:
        n_pages = queue.finish(key)
        if not isinstance(found, Recognition):
            return n_pages, 0
        self._read.add(key)
        return n_pages, n_pages

    def _steps(self, queue: _Queue, done: tuple[int, int] = (0, 0)) -> Iterator[RecogniseStep]:
        """Tell how many pages are done, and which documents are to be read again, some at a time."""
        ready = queue.take_ready()
        if any(done):
            yield RecogniseStep(*done)
        for start in range(0, len(ready), _DOCUMENTS_A_TIME):
            yield RecogniseStep(documents=tuple(map(self._document, ready[start : start + _DOCUMENTS_A_TIME])))

    def _document(self, pages: Sequence[WaitingPage]) -> DocumentToRead:
        """Ask for a file to be read again; of a container, the members whose pages were read."""
        first, changed = pages[0], {page.path for page in pages}
        on_disk = first.on_disk.path
        with self._docstore.snapshot() as snapshot:
            members = snapshot.files.known(first.directory_id, recipe=self._recipe).members_of(on_disk)
            known = snapshot.files.get(on_disk)
        hashes = tuple((path, None if path in changed else one) for path, one in members.items())
        was_skipped = known is not None and known.state == FileState.SKIPPED
        return DocumentToRead(
            first.directory_id, ParseRequest(first.on_disk, None, known_members=hashes), was_skipped=was_skipped
        )


class _Queue:
    """The pages that wait, by what they are drawn from, and the files on disk that can be read again."""

    def __init__(self, pages: Iterable[WaitingPage]) -> None:
        self._pages: defaultdict[PageKey, list[WaitingPage]] = defaultdict(list)
        self._n_left: defaultdict[FilePath, int] = defaultdict(int)
        self._fresh: defaultdict[FilePath, list[WaitingPage]] = defaultdict(list)
        self._ready: list[Sequence[WaitingPage]] = []
        for page in pages:
            self._pages[page.key].append(page)
            self._n_left[page.on_disk.path] += 1

    def waiting_keys(self) -> list[PageKey]:
        """Give what the pages are drawn from, in the order in which they are to be read."""
        return list(self._pages)

    def requests(self) -> list[PageRequest]:
        """Ask for each page that is left once, however many documents have it."""
        firsts = (pages[0] for pages in self._pages.values())
        return [PageRequest(one.path, one.on_disk, one.page, one.key) for one in firsts]

    def n_places(self, most_keys: int | None) -> int:
        """Count in how many places the first pages stand, so many of them, or all."""
        return sum(map(len, itertools.islice(self._pages.values(), most_keys)))

    def finish(self, key: PageKey) -> int:
        """Note that a page is done, and tell in how many places it stands."""
        pages = self._pages.pop(key, [])
        for page in pages:
            self._n_left[page.on_disk.path] -= 1
            self._fresh[page.on_disk.path].append(page)
        # Not before all places are noted: a document may have the same page a thousand times.
        for path, page in {page.on_disk.path: page for page in pages}.items():
            is_member = page.path != path
            if not self._n_left[path] or (len(self._fresh[path]) >= _PAGES_A_TIME and not is_member):
                self._ready.append(self._fresh.pop(path))
        return len(pages)

    def give_up(self, key: PageKey) -> int:
        """Leave a page to a later run, for its document has changed or cannot be reached."""
        pages = self._pages.pop(key, [])
        for page in pages:
            self._n_left[page.on_disk.path] -= 1
        return len(pages)

    def flush(self) -> None:
        """Have all files read again that have got something new."""
        self._ready += self._fresh.values()
        self._fresh.clear()

    def take_ready(self) -> list[Sequence[WaitingPage]]:
        """Give the pages that are done of each file that is to be read again."""
        ready, self._ready = self._ready, []
        return ready


def _is_settled(found: Recognition | PageProblem | None) -> bool:
    return isinstance(found, Recognition) or (isinstance(found, PageProblem) and found.is_final)
