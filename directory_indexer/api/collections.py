"""Records of collections and of documents that were sent to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from directory_indexer.api import HttpError, format_timestamp
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.collections import Collection
    from directory_indexer.collections.backup import BackupReport
    from directory_indexer.collections.documents import DocumentPage
    from directory_indexer.collections.ingest import IngestResult
    from directory_indexer.collections.restore import RestoreReport
    from directory_indexer.core.paths import FilePath
    from directory_indexer.storage.registry.stored_documents import StoredDocument


class CollectionEntry(NamedTuple):
    """One collection."""

    name: Annotated[str, "Its name."]
    doc_count: Annotated[int, "Same as `files`, under a common name."]
    description: Annotated[str | None, "Its purpose."]
    created_at: Annotated[str | None, "When it was created; null for the default one."]
    documents: Annotated[Mapping[str, int], "Documents sent to it, by state."]
    files: Annotated[int, "Searchable files, including those of documents."]
    chunks: Annotated[int, "Passages searchable by words."]
    embedded: Annotated[int, "Passages also searchable by meaning."]


class CollectionsAnswer(NamedTuple):
    """All collections."""

    collections: Annotated[tuple[CollectionEntry, ...], "All collections, the default one first."]


class DocumentEntry(NamedTuple):
    """A document that was sent."""

    doc_id: Annotated[str, "Its id, derived from the sender's name for it."]
    collection: Annotated[str, "Its collection."]
    state: Annotated[str, "queued, words, complete, failed or deleting."]
    filename: Annotated[str, "The sender's name for it."]
    title: Annotated[str | None, "The sender's title for it."]
    source: Annotated[str, "How it was sent: text, file or url."]
    url: Annotated[str | None, "The URL it was fetched from."]
    media_type: Annotated[str, "Its media type."]
    bytes: Annotated[int, "Size of the original."]
    etag: Annotated[str, "Changes with every byte of the original."]
    chunks: Annotated[int, "Its searchable passages."]
    masked: Annotated[int, "Secrets masked in them."]
    metadata: Annotated[Mapping[str, Any], "The sender's metadata."]
    added_at: Annotated[str | None, "When it was first sent."]
    changed_at: Annotated[str | None, "When it was last sent."]
    message: Annotated[str | None, "Why it failed, or what it is waiting for."] = None


class SentAnswer(NamedTuple):
    """The outcome of sending a document."""

    effect: Annotated[str, "created, replaced, unchanged or skipped."]
    document: Annotated[DocumentEntry, "The document as it is now."]


class IngestAnswer(NamedTuple):
    """The processing state of a document that was sent."""

    status: Annotated[str, "success, or failed where state is failed."]
    effect: Annotated[str, "created, replaced, unchanged or skipped."]
    doc_id: Annotated[str, "Its id."]
    state: Annotated[str, "queued, words, complete or failed."]
    chunks: Annotated[int, "Its searchable passages."]
    document: Annotated[DocumentEntry, "The document as it is now."]
    operation: Annotated[str | None, "Id of the operation that processes it, until it is complete."] = None


class IngestLine(NamedTuple):
    """The outcome of one line of many."""

    line: Annotated[int, "Its number, from 1; empty lines are not counted."]
    status_code: Annotated[int, "The status of the answer had it been sent alone."]
    answer: Annotated[IngestAnswer | None, "The state of its document."] = None
    error: Annotated[HttpError | None, "Why it was rejected."] = None


class SentAnswers(NamedTuple):
    """The outcome of sending several documents."""

    documents: Annotated[tuple[SentAnswer, ...], "Accepted documents, in the order sent."]
    refused: Annotated[tuple[Refusal, ...], "Rejected documents."]


class Refusal(NamedTuple):
    """A rejected document."""

    source: Annotated[str, "What was sent: a path or a URL."]
    error: Annotated[str, "Why it was rejected."]
    hint: Annotated[str | None, "What to do."]


class DocumentsAnswer(NamedTuple):
    """Documents of a collection, or a part of them."""

    documents: Annotated[tuple[DocumentEntry, ...], "Sorted by id."]
    next_cursor: Annotated[str | None, "Pass it to the same call for the next page."]


class DeletedAnswer(NamedTuple):
    """The outcome of a deletion."""

    deleted: Annotated[tuple[str, ...], "Names or ids of everything deleted."]


class ScopeEntry(NamedTuple):
    """A name for directories."""

    name: Annotated[str, "Its name."]
    paths: Annotated[tuple[str, ...], "The directories it stands for."]


class ScopesAnswer(NamedTuple):
    """The scopes of a collection."""

    scopes: Annotated[tuple[ScopeEntry, ...], "All scopes, sorted by name."]


def collection_entry(collection: Collection) -> CollectionEntry:
    """Return the record of a collection."""
    return CollectionEntry(
        name=collection.name,
        doc_count=collection.index.n_files,
        description=collection.description or None,
        created_at=format_timestamp(collection.created_at),
        documents={str(state): n_documents for state, n_documents in sorted(collection.documents.items())},
        files=collection.index.n_files,
        chunks=collection.index.n_chunks,
        embedded=collection.index.n_embedded,
    )


def document_entry(document: StoredDocument) -> DocumentEntry:
    """Return the record of a document."""
    return DocumentEntry(
        doc_id=document.doc_id,
        collection=document.collection,
        state=document.state,
        filename=document.filename,
        title=document.title or None,
        source=document.source,
        url=document.url or None,
        media_type=document.media_type,
        bytes=document.n_bytes,
        etag=document.content_hash,
        chunks=document.n_chunks,
        masked=document.n_masked,
        metadata=document.sender_metadata(),
        added_at=format_timestamp(document.added_at),
        changed_at=format_timestamp(document.changed_at),
        message=document.message or None,
    )


def sent_answer(sent: IngestResult) -> SentAnswer:
    """Return the record of a document that was sent."""
    return SentAnswer(sent.effect, document_entry(sent.document))


def documents_answer(page: DocumentPage) -> DocumentsAnswer:
    """Return the record of a page of documents."""
    return DocumentsAnswer(tuple(map(document_entry, page.documents)), page.next_cursor or None)


def scopes_answer(scopes: Mapping[str, Sequence[FilePath]]) -> ScopesAnswer:
    """Return the record of the scopes of a collection."""
    return ScopesAnswer(tuple(ScopeEntry(name, tuple(paths)) for name, paths in scopes.items()))


class BackupAnswer(NamedTuple):
    """The contents of a backup."""

    place: Annotated[str, "Its directory."]
    collections: Annotated[int, "Collections in it."]
    documents: Annotated[int, "Documents in it, with their originals."]
    indexed: Annotated[int, "Files indexed in its collections, including documents."]
    files: Annotated[int, "Files of the backup itself."]
    bytes: Annotated[int, "Its size on disk."]
    vectors: Annotated[bool, "False if vectors are on a Qdrant server; a restore recomputes them."]


class RestoreAnswer(NamedTuple):
    """The outcome of a restore."""

    made_at: Annotated[str, "When the backup was created, in UTC."]
    collections: Annotated[int, "Collections in it."]
    documents: Annotated[int, "Documents in it."]
    read_again: Annotated[int, "Documents extracted again; an index run embeds them."]
    vectors: Annotated[bool, "False if vectors are on a Qdrant server; an index run recomputes them."]
    left_out: Annotated[tuple[str, ...], "Settings and keys of the backup that were not restored."]
    directories: Annotated[tuple[FilePath, ...], "Tracked directories, which the next run indexes."]


def backup_answer(report: BackupReport) -> BackupAnswer:
    """Return the record of a backup."""
    return BackupAnswer(str(report.place), *report[1:])


def restore_answer(report: RestoreReport) -> RestoreAnswer:
    """Return the record of a restore."""
    return RestoreAnswer(*report)
