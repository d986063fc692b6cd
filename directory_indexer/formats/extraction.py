"""Extraction: from the bytes of a file to a document, by its format."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Document, extract_plain
from directory_indexer.formats.format import AddedFormat
from directory_indexer.formats.recognition import PLAIN, format_of, kind_of

_PART_OF_ARCHIVE: Final = re.compile(r"\.(?:zip|7z|rar|tar|t?gz|t?bz2?|t?xz)\.\d{3}\Z|\.z\d\d\Z", re.IGNORECASE)


def extract(
    content: bytes, path: FilePath, budget: Budget | None = None, added: Sequence[AddedFormat] = ()
) -> Document:
    """Return the document of the file at `path`; a member of a container shares the budget of the container.

    Raises:
        SkipFileError: there is nothing to index: no byte, no text, no bytes that are text, or a part of an archive.
        ExtractionError: the file is damaged, or has no text of its own.

    """
    if not content:
        raise SkipFileError(SkipReason.EMPTY, "the file is empty")
    budget = budget or Budget()
    kind, format_ = format_of(path, content, added)
    if kind == PLAIN and _PART_OF_ARCHIVE.search(path):
        raise SkipFileError(SkipReason.BINARY, "part of a split archive: join the parts to index what is in it")
    if format_.open is None:
        return require_text(format_.extract(content, kind, budget))
    document = format_.open(io.BytesIO(content), kind, budget).document
    if document is None:
        raise ExtractionError("it is a container: name a file in it, as in archive.zip!/report.docx")
    return require_text(document)


def extract_as_text(content: bytes, path: FilePath) -> Document:
    """Return the file at `path` as plain text of its kind, when its parser fails.

    Raises:
        SkipFileError: there is no text.

    """
    return require_text(extract_plain(decode(content), kind_of(path, content)))


def require_text(document: Document) -> Document:
    """Return a document that has text, or pictures of text.

    Raises:
        SkipFileError: it has none.
    """
    if not document.scans and (not document.text or document.text.isspace()):
        raise SkipFileError(SkipReason.NO_TEXT, "the file holds no text")
    return document
