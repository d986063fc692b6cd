"""From the bytes of a file to a document, by the format that it has."""

from __future__ import annotations

from directory_indexer.errors import SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.formats import FORMATS
from directory_indexer.extractors.plain import extract_plain
from directory_indexer.extractors.recognition import kind_of
from directory_indexer.files import SkipReason
from directory_indexer.paths import FilePath


def extract(content: bytes, path: FilePath) -> Document:
    """Turn the bytes of the file at `path` into a document.

    Raises:
        SkipFileError: there is nothing to index: no byte, no text, or no bytes that are text.
        ExtractionError: the file is damaged.

    """
    if not content:
        raise SkipFileError(SkipReason.EMPTY, "the file is empty")
    kind = kind_of(path, content)
    return _with_text(FORMATS[kind].extract(content, kind, Budget()))


def extract_as_text(content: bytes, path: FilePath) -> Document:
    """Take the file at `path` for plain text of its kind: one whose parser breaks over it.

    Raises:
        SkipFileError: there is no text.

    """
    return _with_text(extract_plain(decode(content), kind_of(path, content)))


def _with_text(document: Document) -> Document:
    if not document.text or document.text.isspace():
        raise SkipFileError(SkipReason.NO_TEXT, "the file holds no text")
    return document
