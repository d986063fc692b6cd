"""Records of collections and of documents that were sent to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from directory_indexer.api.fields import HttpError, format_timestamp
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.collections.backup import BackupReport
    from directory_indexer.collections.collections import Collection
    from directory_indexer.collections.documents import DocumentPage
    from directory_indexer.collections.ingest import IngestResult
    from directory_indexer.collections.restore import RestoreReport
    from directory_indexer.core.paths import FilePath
    from directory_indexer.storage.registry.stored_documents import StoredDocument


class CollectionEntry(NamedTuple):
    """One collection."""

    name: Annotated[str, "Its name."]
    doc_count: Annotated[int, "As `files`, by the name that most systems know."]
    description: Annotated[str | None, "What it is for."]
    created_at: Annotated[str | None, "When it was made; null for the default one."]
    documents: Annotated[Mapping[str, int], "How many documents were sent to it, by state."]
    files: Annotated[int, "Files that can be found, those of documents among them."]
    chunks: Annotated[int, "Passages that can be found by words."]
    embedded: Annotated[int, "Passages that can be found by meaning, too."]


class CollectionsAnswer(NamedTuple):
    """The collections that there are."""

    collections: Annotated[tuple[CollectionEntry, ...], "All of them, the default one first."]


class DocumentEntry(NamedTuple):
    """A document that was sent."""

    doc_id: Annotated[str, "Its id: derived from what its sender calls it."]
    collection: Annotated[str, "The collection that it was sent to."]
    state: Annotated[str, "queued, words, complete, failed or deleting."]
    filename: Annotated[str, "What its sender calls it."]
    title: Annotated[str | None, "The title that its sender gave it."]
    source: Annotated[str, "text, file or url: how it was sent."]
    url: Annotated[str | None, "Where it was fetched."]
    media_type: Annotated[str, "Its media type."]
    bytes: Annotated[int, "Size of the original."]
    etag: Annotated[str, "Another one whenever a byte of the original is."]
    chunks: Annotated[int, "Passages of it that can be found."]
    masked: Annotated[int, "Secrets that are masked in them."]
    metadata: Annotated[Mapping[str, Any], "The sender's metadata."]
    added_at: Annotated[str | None, "When it was first sent."]
    changed_at: Annotated[str | None, "When it was last sent."]
    message: Annotated[str | None, "Why it failed, or what it waits for."] = None


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
    chunks: Annotated[int, "Passages of it that can be found."]
    document: Annotated[DocumentEntry, "The document as it is now."]
    operation: Annotated[str | None, "Id of the operation that goes on with it, until it is complete."] = None


class IngestLine(NamedTuple):
    """The outcome of one line of many."""

    line: Annotated[int, "Its number, from 1; empty lines are not counted."]
    status_code: Annotated[int, "What the answer would be if it was sent by itself."]
    answer: Annotated[IngestAnswer | None, "How far its document is."] = None
    error: Annotated[HttpError | None, "Why it was not taken."] = None


class SentAnswers(NamedTuple):
    """The outcome of sending several documents."""

    documents: Annotated[tuple[SentAnswer, ...], "One after the other, as they were sent."]
    refused: Annotated[tuple[Refusal, ...], "Those that were not taken."]


class Refusal(NamedTuple):
    """A document that was not taken."""

    source: Annotated[str, "What was sent: a path or an address."]
    error: Annotated[str, "Why it was not taken."]
    hint: Annotated[str | None, "What to do."]


class DocumentsAnswer(NamedTuple):
    """Documents of a collection, or a part of them."""

    documents: Annotated[tuple[DocumentEntry, ...], "In the order of their ids."]
    next_cursor: Annotated[str | None, "Repeat the call with it to get more."]


class DeletedAnswer(NamedTuple):
    """The outcome of a deletion."""

    deleted: Annotated[tuple[str, ...], "The names or ids of what was deleted."]


class ScopeEntry(NamedTuple):
    """A name for directories."""

    name: Annotated[str, "Its name."]
    paths: Annotated[tuple[str, ...], "The directories that it means."]


class ScopesAnswer(NamedTuple):
    """The scopes of a collection."""

    scopes: Annotated[tuple[ScopeEntry, ...], "All of them, by their names."]


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

    place: Annotated[str, "The directory that holds it."]
    collections: Annotated[int, "Collections in it."]
    documents: Annotated[int, "Documents in it, with their originals."]
    indexed: Annotated[int, "Files indexed in its collections; the documents are among them."]
    files: Annotated[int, "Files that it consists of."]
    bytes: Annotated[int, "What it takes on the disk."]
    vectors: Annotated[bool, "False where vectors are on a Qdrant server, and are made again after a restore."]


class RestoreAnswer(NamedTuple):
    """The outcome of a restore."""

    made_at: Annotated[str, "When the backup was made, in UTC."]
    collections: Annotated[int, "Collections in it."]
    documents: Annotated[int, "Documents in it."]
    read_again: Annotated[int, "Documents that were read again; an index run gives them their vectors."]
    vectors: Annotated[bool, "False where vectors are on a Qdrant server, and an index run makes them again."]
    left_out: Annotated[tuple[str, ...], "Settings and keys of the backup that were not taken."]
    directories: Annotated[tuple[FilePath, ...], "Tracked directories, which the next index run reads."]


def backup_answer(report: BackupReport) -> BackupAnswer:
    """Return the record of a backup."""
    return BackupAnswer(str(report.place), *report[1:])


def restore_answer(report: RestoreReport) -> RestoreAnswer:
    """Return the record of a restore."""
    return RestoreAnswer(*report)
