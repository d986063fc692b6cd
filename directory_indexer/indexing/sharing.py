"""Detection, by their bytes, of files that a clone or work tree has, too, whose text is not written again.

Other files are parsed; if the result is the text of another file, it is still stored once.
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
    """A block of files to read: those that share a text now, and the rest, which must be parsed."""

    shared: tuple[SharedFile, ...]
    rest: tuple[ParseRequest, ...]


class Sharing:
    """Finds files that other tracked directories have in the same place; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, policy: Callable[[], ParsePolicy], *, recipe: int) -> None:
        self._docstore = docstore
        self._policy = policy
        self._recipe = recipe

    def blocks(self, directory_id: int, plan: Plan, *, must_stop: Callable[[], bool]) -> Iterator[SharedBlock]:
        """Yield blocks of the files to read, each in a transaction of its own, until stopped."""
        if not self._is_possible(plan):
            yield SharedBlock((), plan.requests)
            return
        for start in range(0, len(plan.requests), _BLOCK):
            if must_stop():
                return
            yield self._share_block(directory_id, plan, plan.requests[start : start + _BLOCK])

    def _is_possible(self, plan: Plan) -> bool:
        if plan.reads_everything or not plan.requests:
            return False
        with self._docstore.snapshot() as snapshot:
            return len(snapshot.directories.all()) > 1

    def _share_block(self, directory_id: int, plan: Plan, requests: Sequence[ParseRequest]) -> SharedBlock:
        with self._docstore.snapshot() as snapshot:
            places = snapshot.shared_texts.may_be_shared(plan.directory, [request.source for request in requests])
        policy = self._policy()
        with Passage() as passage:
            unchanged = [
                file for position in places if (file := _read_unchanged(requests[position], policy, passage.open_file))
            ]
        if not unchanged:
            return SharedBlock((), tuple(requests))
        with self._docstore.transaction() as transaction:
            place = Place(directory_id)
            is_described = partial(_is_described, policy)
            put_same = partial(transaction.files.put_same, recipe=self._recipe, unless=is_described)
            new = transaction.arrivals.put_same(place, unchanged, recipe=self._recipe, unless=is_described)
            known = [put_same(place, file) for file in unchanged if file.source.path not in new]
        shared = (*new.values(), *(file for file in known if file))
        done = {file.source.path for file in shared}
        return SharedBlock(shared, tuple(file for file in requests if file.source.path not in done))


def _read_unchanged(request: ParseRequest, policy: ParsePolicy, opener: Opener) -> UnchangedFile | None:
    """Return the digest of a file, unless its parser must decide."""
    path = request.source.path
    # A configured program may extract another text the next time.
    is_added = any(format_added.has(os.path.basename(path).lower()) for format_added in policy.added)
    if request.known_members or is_added or _is_described(policy, path):
        return None
    content = read_file(request, policy, opener)
    if isinstance(content, SkippedFile | FileFailure):
        return None
    digest = content_hash(content.content)
    return None if digest == request.known_hash else UnchangedFile(content.source, digest, content.seen_ns)


def _is_described(policy: ParsePolicy, path: FilePath) -> bool:
    """Whether a document was sent: its sender's metadata is part of its text."""
    return policy.descriptions is not None and policy.descriptions.of(path) is not None


_BLOCK: Final = 1000
