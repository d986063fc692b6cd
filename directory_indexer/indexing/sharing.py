"""Files that a clone or work tree has, too: they are recognised by their bytes, and no text of them is written again.

What is not recognised here is parsed; where that comes to the text of another file, it is still kept only once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from directory_indexer.docstore.file_rows import Place
from directory_indexer.docstore.shared_texts import SharedFile
from directory_indexer.docstore.store import DocStore
from directory_indexer.files import FileFailure, SkippedFile
from directory_indexer.ids import content_hash
from directory_indexer.indexing.planner import Plan
from directory_indexer.lazy import lazily
from directory_indexer.nofollow import Opener, Passage
from directory_indexer.parsing.one_file import read_file
from directory_indexer.parsing.outcomes import ParseRequest, UnchangedFile
from directory_indexer.paths import FilePath

with lazily:
    from directory_indexer.parsing.policy import ParsePolicy


class SharedBlock(NamedTuple):
    """What became of some of the files to be read: those that share a text now, and the rest, which is to be parsed."""

    shared: tuple[SharedFile, ...]
    rest: tuple[ParseRequest, ...]


class Sharing:
    """Recognises files that other tracked directories have in the same place; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, policy: Callable[[], ParsePolicy], *, recipe: int) -> None:
        self._docstore = docstore
        self._policy = policy
        self._recipe = recipe

    def blocks(self, directory_id: int, plan: Plan, *, must_stop: Callable[[], bool]) -> Iterator[SharedBlock]:
        """Go through the files to be read, a transaction for each block of them, to the end or until it must stop."""
        if not self._is_possible(plan):
            yield SharedBlock((), plan.requests)
            return
        for start in range(0, len(plan.requests), _BLOCK):
            if must_stop():
                return
            yield self._shared(directory_id, plan, plan.requests[start : start + _BLOCK])

    def _is_possible(self, plan: Plan) -> bool:
        if plan.reads_everything or not plan.requests:
            return False
        with self._docstore.snapshot() as snapshot:
            return len(snapshot.directories.all()) > 1

    def _shared(self, directory_id: int, plan: Plan, requests: Sequence[ParseRequest]) -> SharedBlock:
        with self._docstore.snapshot() as snapshot:
            places = snapshot.shared_texts.may_be_shared(plan.directory, [one.source for one in requests])
        policy = self._policy()
        with Passage() as passage:
            found = [one for at in places if (one := _found(requests[at], policy, passage.open_file))]
        if not found:
            return SharedBlock((), tuple(requests))
        with self._docstore.transaction() as transaction:
            place = Place(directory_id)
            is_described = partial(_is_described, policy)
            put_same = partial(transaction.files.put_same, recipe=self._recipe, unless=is_described)
            new = transaction.arrivals.put_same(place, found, recipe=self._recipe, unless=is_described)
            known = [put_same(place, one) for one in found if one.source.path not in new]
        shared = (*new.values(), *(one for one in known if one))
        done = {one.source.path for one in shared}
        return SharedBlock(shared, tuple(one for one in requests if one.source.path not in done))


def _found(request: ParseRequest, policy: ParsePolicy, opener: Opener) -> UnchangedFile | None:
    """Read a file, unless it is for its parser to say what became of it."""
    path = request.source.path
    # What a configured program makes of a file may be another text the next time.
    is_added = any(one.has(os.path.basename(path).lower()) for one in policy.added)
    if request.known_members or is_added or _is_described(policy, path):
        return None
    found = read_file(request, policy, opener)
    if isinstance(found, SkippedFile | FileFailure):
        return None
    digest = content_hash(found.content)
    return None if digest == request.known_hash else UnchangedFile(found.source, digest, found.seen_ns)


def _is_described(policy: ParsePolicy, path: FilePath) -> bool:
    """Tell whether a document was sent: what is said of it is part of its text."""
    return policy.descriptions is not None and policy.descriptions.of(path) is not None


_BLOCK: Final = 1000
