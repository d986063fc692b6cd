"""What becomes of a document whose sender, or whoever took it back, was gone in the midst of it."""

from __future__ import annotations

from directory_indexer.ids import DocId
from directory_indexer.registry.replacements import Replacement
from directory_indexer.registry.stored_documents import State, StoredDocument
from directory_indexer.team.originals import Originals, hash_of_file


def mend(originals: Originals, replacement: Replacement, doc_id: DocId) -> None:
    """Let the original of a document and what is known of it fit together again."""
    known, found = replacement.before, replacement.found
    if known is None:
        originals.remove(doc_id)
        return
    is_there = _is_original(originals, doc_id, known)
    if found is not None and not is_there and _is_original(originals, doc_id, found):
        known = replacement.take_back()  # as was begun
        is_there = True
    originals.keep_only(doc_id, known.stored_name)
    path = originals.place_of(doc_id) / known.stored_name
    if is_there or known.state is State.DELETING or not path.exists():
        return
    # It was replaced, and nobody was told: what is there now is what counts.
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
    """Tell whether the original of a document is in its place."""
    path = originals.place_of(doc_id) / document.stored_name
    if not path.exists():
        return False
    status = path.stat()
    return (status.st_size, status.st_mtime_ns) == (document.n_bytes, document.mtime_ns)
