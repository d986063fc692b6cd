"""Records of indexed files in lists."""

from __future__ import annotations

import os
from typing import Annotated, NamedTuple

from directory_indexer.ids import document_id
from directory_indexer.lazy import lazily
from directory_indexer.wire.documents import Language, Title
from directory_indexer.wire.objects import timestamp
from directory_indexer.wire.team import DocumentEntry

with lazily:
    from directory_indexer.docstore.files import IndexedFile


class DocumentFacts(NamedTuple):
    """The facts of an indexed file."""

    doc_id: Annotated[str, "Its id, the same as long as its path is."]
    filename: Annotated[str, "Name of the file."]
    path: Annotated[str, "Absolute path of the file."]
    kind: Annotated[str, "Language or format of the file."]
    title: Title
    language: Language
    n_bytes: Annotated[int, "Size of the file, as it was indexed."]
    modified_at: Annotated[str, "When it was changed last."]
    masked: Annotated[int, "Secrets that are masked in its text."]
    sent: Annotated[DocumentEntry | None, "Of a document that was sent: all that is known of it."] = None


class DocumentList(NamedTuple):
    """Indexed files, sorted by path, and behind them documents that were sent, sorted by id."""

    documents: Annotated[tuple[DocumentFacts, ...], "The files of this page."]
    next_cursor: Annotated[str | None, "Give it as cursor to get the next page; null where there is none."]


def document_facts(file: IndexedFile) -> DocumentFacts:
    """Return the record of an indexed file."""
    return DocumentFacts(
        doc_id=document_id(file.path),
        filename=os.path.basename(file.path),
        path=file.path,
        kind=file.facts.kind,
        title=file.facts.title or None,
        language=file.facts.language or None,
        n_bytes=file.size,
        modified_at=timestamp(file.mtime_ns / 1e9) or "",
        masked=file.n_masked,
    )
