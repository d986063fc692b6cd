"""Consistency checks of a collection, and their repairs: registry rows, stored originals and the index."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.collections import OpenCollection
from directory_indexer.collections.originals import Originals, hash_of_file
from directory_indexer.config import (
    DEFAULT,
    collection_directory,
    collection_name,
    directory_of_document,
    documents_directory,
)
from directory_indexer.core.errors import UsageError
from directory_indexer.core.ids import doc_id
from directory_indexer.core.notes import Finding, Verdict
from directory_indexer.core.paths import containers_around, file_path
from directory_indexer.storage.registry import CollectionRows, Registry
from directory_indexer.storage.registry.repairs import find_damaged_rows, repair
from directory_indexer.storage.registry.stored_documents import DocumentState

_REPAIR_ROWS_HINT = "dirindex doctor --repair repairs or removes them, and keeps a copy"
_REPAIR_HINT = "dirindex doctor --repair brings them together"
_MAX_NAMED_DOCUMENTS = 3


def registry_findings(registry: Registry) -> Iterator[Finding]:
    """Yield findings on rows of the registry that dirindex cannot have written."""
    if damaged := find_damaged_rows(registry):
        columns = ", ".join(sorted({row.column for row in damaged}))
        rows = "1 row is" if len(damaged) == 1 else f"{len(damaged):,} rows are"
        yield Finding("registry", Verdict.PROBLEM, f"{registry.path}: {rows} damaged ({columns})", _REPAIR_ROWS_HINT)


def repair_registry(registry: Registry, data_dir: Path) -> Iterator[Finding]:
    """Repair the rows of the registry, and mark their documents to be read again; remove the others."""
    report = repair(registry)
    if report is None:
        return
    for document in report.mended:
        Originals(documents_directory(data_dir, document.collection)).mark_for_recovery(document.doc_id)
    if report.has_lost_collections:
        _add_lost_collections(registry, data_dir)
    message = f"{len(report.mended):,} rows mended, {report.n_removed:,} taken out; {report.copy} has what was there"
    yield Finding("registry", Verdict.REPAIRED, message)


def _add_lost_collections(registry: Registry, data_dir: Path) -> None:
    """Restore the rows of collections that were lost, from the names of their directories."""
    rows = CollectionRows(registry)
    for place in sorted(collection_directory(data_dir, DEFAULT).parent.glob("*/data.db")):
        with contextlib.suppress(UsageError):
            name = collection_name(place.parent.name)
            if name != DEFAULT:
                rows.add(name, description="")


def document_findings(opened: OpenCollection) -> Iterator[Finding]:
    """Yield findings on every document of a collection; none if nothing was sent to it."""
    documents = opened.documents.all()
    directory = opened.originals.directory
    if not documents and not directory.is_dir():
        return
    present = {path for path in directory.rglob("*") if path.is_file()}
    places = {
        directory / document.doc_id[:2] / document.doc_id / document.stored_name: document for document in documents
    }
    settled = {
        file_path(path)
        for path, document in places.items()
        if document.state in {DocumentState.WORDS, DocumentState.COMPLETE}
    }
    with opened.app.docstore.snapshot() as snapshot:
        documents_path = file_path(directory)
        indexed = {path for path in snapshot.files.records_within(documents_path) if not containers_around(path)}
    lost = [str(path) for path in places if path not in present]
    unknown = [str(path) for path in present if path not in places]
    changed = [
        str(path)
        for path, document in places.items()
        if path in present and hash_of_file(path) != document.content_hash
    ]
    yield _finding("originals", lost, "is gone", "send it again, or delete the document")
    yield _finding("originals", changed, "is not what was sent", "send it again, or delete the document")
    yield _finding("originals", unknown, "belongs to no document", _REPAIR_HINT)
    disagreeing = sorted(settled ^ indexed - {file_path(path) for path in places if file_path(path) not in settled})
    yield _finding(
        "documents", list(map(str, disagreeing)), "is in the index or in the registry, not in both", _REPAIR_HINT
    )
    waiting = [document.doc_id for document in documents if document.state is DocumentState.QUEUED]
    if waiting:
        yield Finding("documents", Verdict.WARNING, f"{len(waiting):,} documents wait to be indexed", _REPAIR_HINT)


def repair_documents(opened: OpenCollection) -> Iterator[Finding]:
    """Make registry, originals and index of a collection consistent."""
    if not opened.documents.counts() and not opened.originals.directory.is_dir():
        return
    opened.queue.recover()
    known = {document.doc_id for document in opened.documents.all()}
    n_removed = 0
    for path in opened.originals.directory.glob("*/*"):
        if path.name not in known:
            n_removed += _remove_unknown_original(opened, path)
    n_lacking, n_dropped = opened.queue.reconcile()
    opened.queue.make_keyword_searchable()
    if n_lacking or n_dropped or n_removed:
        message = f"{n_lacking:,} documents read again, {n_dropped + n_removed:,} that nobody knows removed"
        yield Finding("documents", Verdict.REPAIRED, message)


def _remove_unknown_original(opened: OpenCollection, place: Path) -> bool:
    """Remove an original without a document, unless it was sent meanwhile; return whether it was removed."""
    known, documents = doc_id(place.name), opened.originals.directory
    if known is None or place != directory_of_document(known, documents):  # not a path that a document could have
        shutil.rmtree(place, ignore_errors=True)
        return True
    with opened.documents.replacing(known) as replacement:
        if replacement.before is not None:
            return False
        opened.originals.remove(known)
        return True


def _finding(check: str, affected: list[str], problem: str, hint: str) -> Finding:
    if not affected:
        return Finding(check, Verdict.OK, f"none {problem}")
    names = ", ".join(Path(path).name for path in affected[:_MAX_NAMED_DOCUMENTS])
    more = f" and {len(affected) - _MAX_NAMED_DOCUMENTS} more" if len(affected) > _MAX_NAMED_DOCUMENTS else ""
    return Finding(check, Verdict.PROBLEM, f"{names}{more}: {problem}", hint)
