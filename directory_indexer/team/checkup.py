"""Whether registry, originals and index of a collection say the same of its documents."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.config.collections import (
    DEFAULT,
    collection_directory,
    collection_name,
    documents_directory,
)
from directory_indexer.errors import UsageError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ids import doc_id
from directory_indexer.paths import containers_around, file_path
from directory_indexer.registry.collections import CollectionRows
from directory_indexer.registry.repairs import damage_in, repair
from directory_indexer.registry.store import Registry
from directory_indexer.registry.stored_documents import State
from directory_indexer.team.opened import OpenCollection
from directory_indexer.team.originals import Originals, hash_of_file

_FIX_ROWS = "dirindex doctor --repair mends them, or takes them out, and keeps a copy"
_FIX = "dirindex doctor --repair brings them together"
_MOST_NAMED = 3


def registry_findings(registry: Registry) -> Iterator[Finding]:
    """Look for rows of the registry that dirindex cannot have written."""
    if damaged := damage_in(registry):
        columns = ", ".join(sorted({row.column for row in damaged}))
        rows = "1 row is" if len(damaged) == 1 else f"{len(damaged):,} rows are"
        yield Finding("registry", Verdict.PROBLEM, f"{registry.path}: {rows} damaged ({columns})", _FIX_ROWS)


def repair_registry(registry: Registry, data_dir: Path) -> Iterator[Finding]:
    """Mend the rows of the registry, and mark their documents to be read again; take out what cannot be mended."""
    report = repair(registry)
    if report is None:
        return
    for document in report.mended:
        Originals(documents_directory(data_dir, document.collection)).leave_mark(document.doc_id)
    if report.has_lost_collections:
        _add_lost_collections(registry, data_dir)
    message = f"{len(report.mended):,} rows mended, {report.n_removed:,} taken out; {report.copy} has what was there"
    yield Finding("registry", Verdict.REPAIRED, message)


def _add_lost_collections(registry: Registry, data_dir: Path) -> None:
    """Add the collections whose rows were lost, by the names of their directories."""
    rows = CollectionRows(registry)
    for place in sorted(collection_directory(data_dir, DEFAULT).parent.glob("*/data.db")):
        with contextlib.suppress(UsageError):
            name = collection_name(place.parent.name)
            if name != DEFAULT:
                rows.add(name, description="")


def document_findings(opened: OpenCollection) -> Iterator[Finding]:
    """Look at every document of a collection; of one to which nothing was sent there is nothing to say."""
    documents = opened.documents.all()
    directory = opened.originals.directory
    if not documents and not directory.is_dir():
        return
    kept = {path for path in directory.rglob("*") if path.is_file()}
    places = {directory / one.doc_id[:2] / one.doc_id / one.stored_name: one for one in documents}
    settled = {file_path(path) for path, one in places.items() if one.state in {State.WORDS, State.COMPLETE}}
    with opened.app.docstore.snapshot() as snapshot:
        here = file_path(directory)
        indexed = {path for path in snapshot.files.within(here) if not containers_around(path)}
    lost = [str(path) for path in places if path not in kept]
    unknown = [str(path) for path in kept if path not in places]
    changed = [str(path) for path, one in places.items() if path in kept and hash_of_file(path) != one.content_hash]
    yield _finding("originals", lost, "is gone", "send it again, or delete the document")
    yield _finding("originals", changed, "is not what was sent", "send it again, or delete the document")
    yield _finding("originals", unknown, "belongs to no document", _FIX)
    disagreeing = sorted(settled ^ indexed - {file_path(path) for path in places if file_path(path) not in settled})
    yield _finding("documents", list(map(str, disagreeing)), "is in the index or in the registry, not in both", _FIX)
    waiting = [one.doc_id for one in documents if one.state is State.QUEUED]
    if waiting:
        yield Finding("documents", Verdict.WARNING, f"{len(waiting):,} documents wait to be indexed", _FIX)


def repair_documents(opened: OpenCollection) -> Iterator[Finding]:
    """Bring registry, originals and index of a collection together."""
    if not opened.documents.counts() and not opened.originals.directory.is_dir():
        return
    opened.queue.recover()
    known = {one.doc_id for one in opened.documents.all()}
    n_removed = 0
    for path in opened.originals.directory.glob("*/*"):
        if path.name not in known:
            n_removed += _remove_unknown(opened, path)
    n_lacking, n_dropped = opened.queue.reconcile()
    opened.queue.index_words()
    if n_lacking or n_dropped or n_removed:
        message = f"{n_lacking:,} documents read again, {n_dropped + n_removed:,} that nobody knows removed"
        yield Finding("documents", Verdict.REPAIRED, message)


def _remove_unknown(opened: OpenCollection, place: Path) -> bool:
    """Remove an original that belongs to no document, unless it has been sent since; return whether it was removed."""
    known = doc_id(place.name)
    if known is None or place != opened.originals.place_of(known):  # nobody can send anything to there
        shutil.rmtree(place, ignore_errors=True)
        return True
    with opened.documents.replacing(known) as replacement:
        if replacement.before is not None:
            return False
        opened.originals.remove(known)
        return True


def _finding(check: str, wrong: list[str], how: str, hint: str) -> Finding:
    if not wrong:
        return Finding(check, Verdict.OK, f"none {how}")
    names = ", ".join(Path(path).name for path in wrong[:_MOST_NAMED])
    more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    return Finding(check, Verdict.PROBLEM, f"{names}{more}: {how}", hint)
