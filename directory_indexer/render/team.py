"""Collections and documents that were sent, as lines."""

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
    """List collections."""
    collections = list(collections)
    width = max((len(one.name) for one in collections), default=0)
    for one in collections:
        n_documents = sum(one.documents.values())
        holds = f"{count(n_documents, 'document')}, {count(one.files, 'file')}, {count(one.chunks, 'passage')}"
        yield line(Span(one.name.ljust(width), Style.PATH), f"  {holds}, {one.embedded:,} embedded")
        if one.description:
            yield line(Span(single_line(one.description), Style.NOTE), indent=2)


def document_lines(documents: Iterable[DocumentEntry]) -> Iterator[Line]:
    """List documents, a line each, in columns with the title last."""
    documents = list(documents)
    ids = max((len(one.doc_id) for one in documents), default=0)
    states = max((len(one.state) for one in documents), default=0)
    chunks = max((len(f"{one.chunks:,}") for one in documents), default=0)
    for one in documents:
        yield line(
            Span(one.doc_id.ljust(ids), Style.PATH),
            Span(f"  {one.state:{states}}", Style.PROBLEM if one.state == _FAILED else Style.NOTE),
            f"  {size(one.bytes):>8}  {one.chunks:{chunks},} {'passage ' if one.chunks == 1 else 'passages'}",
            f"  {printable(single_line(one.title or one.filename))}",
        )
        if one.message:
            yield line(Span(printable(single_line(one.message)), Style.WARNING), indent=2)


def restore_notes(report: RestoreReport) -> Iterator[str]:
    """Yield what of a backup was left out, and which directories of this machine the indexes track now."""
    if report.left_out:
        yield "left out, as was asked for: " + "; ".join(map(printable, report.left_out))
    if report.directories:
        tracked = ", ".join(printable(display(path)) for path in report.directories)
        yield f"the next dirindex index reads these directories of this machine: {tracked}"


def fact_lines(document: DocumentEntry) -> Iterator[Line]:
    """Show all that is known of a document."""
    for name, value in document._asdict().items():
        if name == "metadata":
            for key, said in value.items():
                shown = ", ".join(map(str, said)) if isinstance(said, list) else str(said)
                yield line(f"{printable(single_line(str(key)))}: {printable(single_line(shown))}")
        elif value is not None:
            yield line(f"{name}: {printable(single_line(str(value)))}")


def sent_lines(sent: Iterable[SentAnswer]) -> Iterator[Line]:
    """Say what has become of documents."""
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
    """List scopes with their directories."""
    for name, places in scopes.items():
        yield line(Span(name, Style.PATH))
        yield from (line(paths.shown(place), indent=2) for place in places)
