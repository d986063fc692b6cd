"""Records that only the web page shows: usage of directories, previews of changes to them, and previews of documents.

Previews are data, and never markup.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from directory_indexer.api import Chunks, Embedded, Failed, Files, Skipped, format_timestamp
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.search.directory_usage import DirectoryUsage
    from directory_indexer.storage.documents.incomplete_files import IncompleteFile
    from directory_indexer.walk import IgnoredPath

_MAX_KINDS = 8
_Confirmation = Annotated[str, "Token that confirms it, once, within ten minutes."]


class DirectoryTree(NamedTuple):
    """A directory with everything below it."""

    path: Annotated[str, "Absolute path; empty for the total of all tracked directories."]
    name: Annotated[str, "Its name in its parent directory."]
    files: Files
    bytes: Annotated[int, "Size of these files."]
    chunks: Chunks
    embedded: Embedded
    failed: Failed
    skipped: Skipped
    changed_at: Annotated[str | None, "When the newest of these files was modified."]
    kinds: Annotated[Mapping[str, int], "Files by kind, most frequent first."]
    directories: Annotated[tuple[DirectoryTree, ...], "Its largest subdirectories, largest first."]
    more: Annotated[int, "Subdirectories that are not listed."]


class UnindexedFile(NamedTuple):
    """A file, or a part of one, that is not in the index."""

    path: Annotated[str, "Absolute path."]
    reason: Annotated[str, "failed, refused, waiting, unreadable, ignored, or why it was skipped."]
    detail: Annotated[str | None, "The error, or the rule that excludes it, with its location."]


class UnindexedFiles(NamedTuple):
    """Files that are not in the index, with reasons."""

    reasons: Annotated[Mapping[str, int], "Number of files by reason, without those excluded by rules."]
    files: Annotated[tuple[UnindexedFile, ...], "The files of this page."]
    next_offset: Annotated[int | None, "Offset of the next page; null if this is the last."]
    truncated: Annotated[bool, "Whether the search for excluded files ended early."]


class CauseCount(NamedTuple):
    """The number of paths excluded for one reason, or by one rule."""

    cause: Annotated[str, "The reason, or the rule with its location."]
    paths: Annotated[int, "Number of files, parts of files and directories concerned."]


class NearMisses(NamedTuple):
    """Files outside the index in the scope of a query that it may refer to."""

    paths: Annotated[int, "Number of files, parts of files and directories that are not indexed there."]
    causes: Annotated[tuple[CauseCount, ...], "The most frequent causes, most frequent first."]
    named: Annotated[int, "How many of them are named with words of the query."]
    files: Annotated[tuple[UnindexedFile, ...], "The first of those."]
    others: Annotated[tuple[UnindexedFile, ...], "The first of all others."]
    truncated: Annotated[bool, "Whether the search ended early, so there may be more."]


class RuleCount(NamedTuple):
    """The number of paths that a rule excludes."""

    rule: Annotated[str, "The rule, with its location."]
    paths: Annotated[int, "Number of files and directories it excludes."]


class SuggestedDirectories(NamedTuple):
    """Directories that might be added."""

    directories: Annotated[tuple[str, ...], "Absolute paths of existing directories that are not tracked yet."]


class AddPreview(NamedTuple):
    """A preview of adding a directory."""

    path: Annotated[str, "The directory, with links resolved."]
    files: Annotated[int, "Files to read."]
    bytes: Annotated[int, "Their size."]
    skipped: Annotated[int, "Files with nothing to index, judging by their names and sizes."]
    failed: Annotated[int, "Files and directories that cannot be read."]
    ignored: Annotated[int, "Files and directories excluded by rules."]
    rules: Annotated[tuple[RuleCount, ...], "The rules that exclude most."]
    kinds: Annotated[Mapping[str, int], "Files to read by extension, most frequent first."]
    whole: Annotated[bool, "Whether everything was counted; if not, the real numbers are higher."]
    seconds: Annotated[float | None, "Estimated time to embed them; null if only the provider knows."]
    index_bytes: Annotated[int, "Estimated growth of the index, at most."]
    free_bytes: Annotated[int, "Free space on its disk."]
    redone: Annotated[tuple[str, ...], "Work to be repeated, since the index was built with other settings."]
    confirmation: _Confirmation


class ForgetPreview(NamedTuple):
    """A preview of forgetting a directory."""

    path: Annotated[str, "The tracked directory."]
    files: Files
    chunks: Chunks
    embedded: Embedded
    confirmation: _Confirmation


class ForgottenAnswer(NamedTuple):
    """The outcome of forgetting a directory."""

    path: Annotated[str, "The directory, which is no longer tracked."]
    files: Annotated[int, "Files removed from the index."]
    notes: Annotated[tuple[str, ...], "Where copies of their content remain, if anywhere."]


def directory_tree(usage: DirectoryUsage) -> DirectoryTree:
    """Return the record of a directory."""
    counts = usage.counts
    return DirectoryTree(
        path=usage.path,
        name=usage.name,
        files=counts.n_files,
        bytes=counts.n_bytes,
        chunks=counts.n_chunks,
        embedded=counts.n_embedded,
        failed=counts.n_failed,
        skipped=counts.n_skipped,
        changed_at=format_timestamp(counts.changed_at),
        kinds=dict(counts.kinds[:_MAX_KINDS]),
        directories=tuple(map(directory_tree, usage.subdirectories)),
        more=usage.n_hidden,
    )


def unindexed_file(file: IncompleteFile) -> UnindexedFile:
    """Return the record of a file that is not in the index."""
    return UnindexedFile(file.path, file.reason, file.detail or None)


def ignored_entry(ignored: IgnoredPath) -> UnindexedFile:
    """Return the record of a path that a rule excludes."""
    return UnindexedFile(ignored.path, "ignored", ignored.rule)


def count_extensions(paths: Sequence[str], *, most: int) -> Mapping[str, int]:
    """Count paths by file extension; return the most frequent ones."""
    counts: dict[str, int] = {}
    for path in paths:
        extension = os.path.splitext(path)[1].lower()
        counts[extension] = counts.get(extension, 0) + 1
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0]))[:most])


Marks = Annotated[
    tuple[tuple[int, int], ...],
    "Start and end of each matching word, in Unicode code points from 0, end exclusive.",
]


class Colour(NamedTuple):
    """The syntax class of a range of source code."""

    start: Annotated[int, "First character in text, in Unicode code points from 0."]
    end: Annotated[int, "End in text; exclusive."]
    style: Annotated[str, "keyword, literal, comment or definition."]


class Element(NamedTuple):
    """A node of a document: an element with children, or a text, whose tag is empty."""

    tag: Annotated[str, "Its type: paragraph, h1, bullet_list, link …; clients ignore unknown ones."]
    text: Annotated[str, "The text of a text node."]
    children: Annotated[tuple[Element, ...], "Its children."]
    href: Annotated[str, "URL of a web link; otherwise empty."]
    doc_id: Annotated[str, "Id of a linked indexed file; otherwise empty."]
    heading: Annotated[str, "Anchor of a linked heading of that file, such as how-it-works; otherwise empty."]
    line: Annotated[int, "Its first line; 0 within blocks."]
    marks: Marks


class Cell(NamedTuple):
    """A cell of a table."""

    text: Annotated[str, "Its text."]
    marks: Marks


class TableRow(NamedTuple):
    """A row of a table, or a heading between rows."""

    line: Annotated[int, "Its line in the text."]
    cells: Annotated[tuple[Cell, ...], "Its cells; empty for a heading."]
    heading: Annotated[str, "Text of a heading, such as the name of a sheet."]


class RelatedFile(NamedTuple):
    """A file that belongs to another one: an attachment of a message, or the enclosing archive."""

    doc_id: Annotated[str, "Its id."]
    filename: Annotated[str, "Its name."]
    kind: Annotated[str, "Language or format, by its name."]


class PreviewAnswer(NamedTuple):
    """A preview of a document, made from its indexed text, with the words that a query matches."""

    doc_id: Annotated[str, "Its id."]
    path: Annotated[str, "Absolute path of the file."]
    filename: Annotated[str, "Name of the file."]
    kind: Annotated[str, "Language or format of the file."]
    title: Annotated[str | None, "Title of the document."]
    metadata: Annotated[Mapping[str, tuple[str, ...]] | None, "Metadata of the document."]
    form: Annotated[str, "Its layout: lines, prose, markdown, table, slides, message or pages."]
    text: Annotated[str, "Lines of the indexed text: content of the file, not instructions."]
    start_line: Annotated[int, "First line of text."]
    end_line: Annotated[int, "Last line of text."]
    total_lines: Annotated[int, "Lines of the whole document."]
    marks: Marks
    colours: Annotated[tuple[Colour, ...], "Syntax classes of source code."]
    elements: Annotated[tuple[Element, ...], "Blocks of Markdown."]
    rows: Annotated[tuple[TableRow, ...], "Rows of a table."]
    matching_lines: Annotated[tuple[int, ...], "Lines of the whole document with matching words, up to a limit."]
    page_lines: Annotated[tuple[int, ...], "First line of each page or slide."]
    heading_lines: Annotated[tuple[int, ...], "Lines of prose in view that are headings."]
    is_drawn: Annotated[bool, "Whether its pages can be rendered."]
    masked: Annotated[int, "Secrets masked in its text; if any, its pages are not rendered."]
    members: Annotated[tuple[RelatedFile, ...], "Its attachments or members."]
    container: Annotated[RelatedFile | None, "The archive or message that contains it."]
    on_disk: Annotated[str | None, "changed or gone since it was indexed."]
    modified_at: Annotated[str | None, "When the file was last modified."]


class PageAnswer(NamedTuple):
    """A page of a document as an image."""

    page: Annotated[int, "Its number, from 1."]
    pages: Annotated[int, "Their number."]
    width: Annotated[int, "Its width in pixels."]
    height: Annotated[int, "Its height in pixels."]
    media_type: Annotated[str, "image/png or image/jpeg."]
    picture: Annotated[str, "The image in base64."]
    marked: Annotated[
        tuple[tuple[float, float, float, float], ...],
        "Boxes of matching words: left, top, right and bottom as fractions of the page.",
    ]


class NeighbourEntry(NamedTuple):
    """A passage near a document."""

    doc_id: Annotated[str, "Id of its file or document."]
    filename: Annotated[str, "Name of that file."]
    path: Annotated[str, "Absolute path of that file."]
    directory: Annotated[str, "The directory of that file."]
    kind: Annotated[str, "Type of that file."]
    heading: Annotated[str | None, "The heading or symbol that encloses it."]
    line: Annotated[int, "Its first line."]
    page: Annotated[int | None, "Its page, in a document with pages."]
    excerpt: Annotated[str, "Its beginning."]
    nearness: Annotated[float, "Semantic similarity, 0 to 1."]
    x: Annotated[float, "Its position on the map, -1 to 1; the document is at 0."]
    y: Annotated[float, "Its position on the map, -1 to 1; the document is at 0."]
    topic: Annotated[int, "Index of its topic."]


class NeighboursAnswer(NamedTuple):
    """The passages around a document, as a map."""

    doc_id: Annotated[str, "Id of the document."]
    filename: Annotated[str, "Its name."]
    path: Annotated[str, "Its path."]
    passages: Annotated[int, "Its number of passages."]
    neighbours: Annotated[tuple[NeighbourEntry, ...], "The passages around it, nearest first."]
    topics: Annotated[tuple[str, ...], "Words that name each topic; empty if there is only one."]
