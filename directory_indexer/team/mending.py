"""Crash recovery of a document whose ingest or cancellation was interrupted."""

from __future__ import annotations

from directory_indexer.ids import DocId
from directory_indexer.registry.replacements import Replacement
from directory_indexer.registry.stored_documents import State, StoredDocument
from directory_indexer.team.originals import Originals, hash_of_file


def mend(originals: Originals, replacement: Replacement, doc_id: DocId) -> None:
    """Make the original of a document and its row consistent again."""
    known, searchable = replacement.before, replacement.searchable
    if known is None:
        originals.remove(doc_id)
        return
    is_consistent = _is_original(originals, doc_id, known)
    if searchable is not None and not is_consistent and _is_original(originals, doc_id, searchable):
        known = replacement.take_back()  # complete the cancellation
        is_consistent = True
    originals.keep_only(doc_id, known.stored_name)
    path = originals.place_of(doc_id) / known.stored_name
    if is_consistent or known.state is State.DELETING or not path.exists():
        return
    # The original was replaced, but the row was not: the file on disk counts.
    status = path.stat()
    replacement.put(
        known._replace(
            n_bytes=status.st_size,
            mtime_ns=status.st_mtime_ns,
            content_hash=hash_of_file(path),
            state=State.QUEUED,
        )
    )


def _is_original(originals: Originals, doc_id: DocId, document: StoredDocument) -> bool:
    """Whether the original of a document is in its place."""
    path = originals.place_of(doc_id) / document.stored_name
    if not path.exists():
        return False
    status = path.stat()
    return (status.st_size, status.st_mtime_ns) == (document.n_bytes, document.mtime_ns)
