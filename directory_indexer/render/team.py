"""Collections and the documents sent to them, as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from directory_indexer.lazy import lazily
from directory_indexer.render.printable import PathStyle, printable, single_line
from directory_indexer.render.quantities import count, size
from directory_indexer.render.spans import Line, Span, Style, line

with lazily:
    from directory_indexer.paths import FilePath, display
    from directory_indexer.team.restore import RestoreReport
    from directory_indexer.wire.team import CollectionEntry, DocumentEntry, SentAnswer

_FAILED = "failed"


def collection_lines(collections: Iterable[CollectionEntry]) -> Iterator[Line]:
    """Yield the collections."""
    collections = list(collections)
    width = max((len(collection.name) for collection in collections), default=0)
    for collection in collections:
        n_documents = sum(collection.documents.values())
        passages = count(collection.chunks, "passage")
        holds = f"{count(n_documents, 'document')}, {count(collection.files, 'file')}, {passages}"
        yield line(Span(collection.name.ljust(width), Style.PATH), f"  {holds}, {collection.embedded:,} embedded")
        if collection.description:
            yield line(Span(single_line(collection.description), Style.NOTE), indent=2)


def document_lines(documents: Iterable[DocumentEntry]) -> Iterator[Line]:
    """Yield the documents, one per line, in columns with the title last."""
    documents = list(documents)
    ids = max((len(document.doc_id) for document in documents), default=0)
    states = max((len(document.state) for document in documents), default=0)
    width = max((len(f"{document.chunks:,}") for document in documents), default=0)
    for document in documents:
        noun = "passage " if document.chunks == 1 else "passages"
        yield line(
            Span(document.doc_id.ljust(ids), Style.PATH),
            Span(f"  {document.state:{states}}", Style.PROBLEM if document.state == _FAILED else Style.NOTE),
            f"  {size(document.bytes):>8}  {document.chunks:{width},} {noun}",
            f"  {printable(single_line(document.title or document.filename))}",
        )
        if document.message:
            yield line(Span(printable(single_line(document.message)), Style.WARNING), indent=2)


def restore_notes(report: RestoreReport) -> Iterator[str]:
    """Yield notes on what a restore left out, and which directories of this machine the index tracks now."""
    if report.left_out:
        yield "left out, as was asked for: " + "; ".join(map(printable, report.left_out))
    if report.directories:
        tracked = ", ".join(printable(display(path)) for path in report.directories)
        yield f"the next dirindex index reads these directories of this machine: {tracked}"


def fact_lines(document: DocumentEntry) -> Iterator[Line]:
    """Yield all facts of a document."""
    for name, value in document._asdict().items():
        if name == "metadata":
            for key, metadata_value in value.items():
                text = ", ".join(map(str, metadata_value)) if isinstance(metadata_value, list) else str(metadata_value)
                yield line(f"{printable(single_line(str(key)))}: {printable(single_line(text))}")
        elif value is not None:
            yield line(f"{name}: {printable(single_line(str(value)))}")


def sent_lines(sent: Iterable[SentAnswer]) -> Iterator[Line]:
    """Yield the state of each document after it was sent."""
    for effect, document in sent:
        masked = f", {count(document.masked, 'secret')} masked" if document.masked else ""
        yield line(
            Span(document.doc_id, Style.PATH),
            f"  {effect}, {document.state}: {printable(single_line(document.filename))}, ",
            f"{count(document.chunks, 'passage')}{masked}",
        )
        if document.message:
            yield line(Span(printable(single_line(document.message)), Style.WARNING), indent=2)


def scope_lines(scopes: Mapping[str, Sequence[FilePath]], *, paths: PathStyle) -> Iterator[Line]:
    """Yield the scopes with their directories."""
    for name, places in scopes.items():
        yield line(Span(name, Style.PATH))
        yield from (line(paths.format(place), indent=2) for place in places)
