"""Which extractor reads which kind of file.

An extractor is imported for the first file that it reads: all of them take 10 ms, and an edited file needs one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final

from directory_indexer.errors import SkipFileError
from directory_indexer.extractors import plain
from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.kinds import GROUPS, kind_of
from directory_indexer.files import SkipReason
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    from directory_indexer.extractors import code, pdf


def extract(content: bytes, path: FilePath) -> Document:
    """Turn the bytes of the file at `path` into a document.

    Raises:
        SkipFileError: there is nothing to index: no byte, no text, or no bytes that are text.
        ExtractionError: the file is damaged.

    """
    if not content:
        raise SkipFileError(SkipReason.EMPTY, "the file is empty")
    kind = kind_of(path, content[:_HEAD_BYTES])
    return _with_text(_extract_pdf(content) if kind == "pdf" else _extractor_of(kind)(decode(content), kind))


def extract_as_text(content: bytes, path: FilePath) -> Document:
    """Take the file at `path` for plain text of its kind: one whose parser breaks over it.

    Raises:
        SkipFileError: there is no text.

    """
    return _with_text(plain.extract_plain(decode(content), kind_of(path, content[:_HEAD_BYTES])))


def _with_text(document: Document) -> Document:
    if not document.text or document.text.isspace():
        raise SkipFileError(SkipReason.NO_TEXT, "the file holds no text")
    return document


@cache
def _extractor_of(kind: str) -> Callable[[str, str], Document]:
    if kind not in _TEXT_EXTRACTORS:
        return _extract_code if kind in GROUPS["code"] else plain.extract_plain
    module, _, function = _TEXT_EXTRACTORS[kind].partition(".")
    extractor: Callable[[str, str], Document] = getattr(
        import_module(f"directory_indexer.extractors.{module}"), function
    )
    return extractor


def _extract_code(text: str, kind: str) -> Document:
    # tree-sitter takes 15 ms to import and 10 ms for each grammar: too much for a tree of notes.

    return code.extract_code(text, kind) if kind in code.CODE_KINDS else plain.extract_plain(text, kind)


def _extract_pdf(content: bytes) -> Document:
    # pymupdf takes 2 s to import.

    return pdf.extract_pdf(content)


_HEAD_BYTES: Final = 8_192

_TEXT_EXTRACTORS: Final = {
    "asciidoc": "markup.extract_markup",
    "csv": "structured.extract_rows",
    "html": "html.extract_html",
    "ini": "structured.extract_tables",
    "json": "structured.extract_json",
    "latex": "markup.extract_markup",
    "man": "markup.extract_markup",
    "markdown": "markdown.extract_markdown",
    "notebook": "notebook.extract_notebook",
    "org": "markup.extract_markup",
    "restructuredtext": "restructuredtext.extract_restructuredtext",
    "svg": "html.extract_svg",
    "toml": "structured.extract_tables",
    "tsv": "structured.extract_rows",
    "typst": "markup.extract_markup",
    "wiki": "markup.extract_markup",
    "yaml": "structured.extract_yaml",
}
