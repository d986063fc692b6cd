"""Reads PDF files: what MuPDF finds on their pages, made into one document.

Nothing in a file is trusted: what it may cost is bounded, what is damaged is left out, and MuPDF never prints.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.pdf.characters import clean
from directory_indexer.extractors.pdf.documents import document_of
from directory_indexer.extractors.pdf.headings import OutlineEntry
from directory_indexer.extractors.pdf.pages import Page, Row
from directory_indexer.files import SkipReason

# PyMuPDF 2 imports two add-ons with a neural network each, which nothing here uses: that doubles the second that it
# takes anyway, and adds half to its 150 MB. Python skips a module that is marked as absent.
_ADD_ONS = [name for name in ("pymupdf.layout", "pymupdf4llm") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_ADD_ONS))  # type: ignore[arg-type]
import pymupdf  # noqa: E402
from pymupdf import mupdf  # noqa: E402

for _name in _ADD_ONS:
    del sys.modules[_name]

MAX_PAGES = 20_000
MAX_CHARS = 64_000_000
"""What a document may have; one that has more is skipped as too large."""

_MAX_OUTLINE = 20_000
_TENTHS = 10.0
_SAME_BASELINE = 5
_END_OF_OBJECT = b"endobj"
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_FONT_NAME = re.compile(r'(?<="font":\{"name":").+?(?=","family":)')
_BOLD = re.compile(r"bold|black|heavy|demi|CMBX|SFBX", re.IGNORECASE)
_MAX_TITLE = 160
_MESSAGE_CHARS = 150
_ERROR_CODE = re.compile(r"code=\d+: ")

_lock = threading.Lock()  # MuPDF keeps its state in one place
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def extract_pdf(content: bytes, kind: str = "pdf", _: Budget | None = None) -> Document:
    """Read a PDF as one text with a section for each page and heading.

    Raises:
        SkipFileError: it needs a password, has no text, or has more pages or text than is read.
        ExtractionError: it is too damaged to be read.
    """
    with _lock:
        try:
            pages, outline, title = _read(content)
        except (mupdf.FzErrorBase, pymupdf.FileDataError, RuntimeError, ValueError) as error:
            reason = _ERROR_CODE.sub("", str(error.__cause__ or error))
            raise ExtractionError(f"damaged PDF: {reason[:_MESSAGE_CHARS]}") from error
        finally:
            pymupdf.TOOLS.store_shrink(100)
    return document_of(pages, kind, outline=outline, title=title)


def _read(content: bytes) -> tuple[list[Page], list[OutlineEntry], str]:
    with _opened(content) as pdf:
        if pdf.needs_pass:
            raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
        if pdf.page_count > MAX_PAGES:
            raise SkipFileError(SkipReason.TOO_LARGE, f"{pdf.page_count} pages, more than {MAX_PAGES}")
        pages = list(_bounded(_pages(pdf)))
        if not any(character.isalnum() for page in pages for row in page.rows for character in row.text):
            raise _no_text(pdf)
        return pages, _outline(pdf), clean((pdf.metadata or {}).get("title") or "")


def _opened(content: bytes) -> pymupdf.Document:
    try:
        return pymupdf.open(stream=content, filetype="pdf")
    except pymupdf.FileDataError:
        # MuPDF gives a file up that ends in the midst of an object, though all before it may be sound.
        whole, last, _ = content.rpartition(_END_OF_OBJECT)
        if not last:
            raise
        return pymupdf.open(stream=whole + last, filetype="pdf")


def _no_text(pdf: pymupdf.Document) -> ExtractionError:
    if pdf.is_repaired:
        return ExtractionError("damaged PDF: no text can be recovered")
    return SkipFileError(SkipReason.NO_TEXT, f"no text layer; {pdf.page_count} pages")


def _pages(pdf: pymupdf.Document) -> Iterator[Page]:
    """Read every page that can be read."""
    error: Exception | None = None
    n_read = 0
    for index in range(pdf.page_count):
        try:
            page = pdf.load_page(index)
            blocks = _blocks(page)
        except (mupdf.FzErrorBase, RuntimeError, ValueError) as damage:
            error = damage
            continue
        n_read += 1
        yield Page(index + 1, int(page.rect.height * _TENTHS), tuple(_rows(blocks)))
    if error and not n_read:
        raise error


def _bounded(pages: Iterable[Page]) -> Iterator[Page]:
    n_chars = 0
    for page in pages:
        n_chars += sum(len(row.text) for row in page.rows)
        if n_chars > MAX_CHARS:
            raise SkipFileError(SkipReason.TOO_LARGE, f"more than {MAX_CHARS // 1_000_000} million characters of text")
        yield page


def _blocks(page: pymupdf.Page) -> list[dict[str, Any]]:
    # MuPDF writes this JSON at a fifth of the time that PyMuPDF takes to build the same as dictionaries.
    buffer = mupdf.fz_new_buffer(1 << 14)
    output = mupdf.FzOutput(buffer)
    mupdf.fz_print_stext_page_as_json(output, page.get_textpage(flags=_FLAGS).this, _TENTHS)
    mupdf.fz_close_output(output)
    return _blocks_in(buffer.fz_buffer_extract().decode("utf-8", "replace"))


def _blocks_in(written: str) -> list[dict[str, Any]]:
    try:
        blocks: list[dict[str, Any]] = json.loads(written, strict=False)["blocks"]
    except ValueError:
        # MuPDF writes the names of fonts as they are, quotes and backslashes included.
        return _blocks_in(_FONT_NAME.sub("", written)) if _FONT_NAME.search(written) else []
    return blocks


def _rows(blocks: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for index, block in enumerate(blocks):
        row: Row | None = None
        baseline = 0
        for line in block.get("lines", ()):
            part = _row(line, index)
            if row and part.text and abs(line["y"] - baseline) <= _SAME_BASELINE:
                row = _joined(row, part)
            elif part.text:
                if row:
                    yield row
                row, baseline = part, line["y"]
        if row:
            yield row


def _row(line: dict[str, Any], block: int) -> Row:
    box, font = line["bbox"], line["font"]
    return Row(
        text=clean(line["text"]),
        left=box["x"],
        top=box["y"],
        right=box["x"] + box["w"],
        bottom=box["y"] + box["h"],
        size=font["size"],
        is_bold=font["weight"] == "bold" or _is_bold(font["name"]),
        block=block,
    )


@lru_cache(maxsize=1024)
def _is_bold(font_name: str) -> bool:
    return bool(_BOLD.search(font_name))


def _joined(row: Row, part: Row) -> Row:
    return Row(
        text=f"{row.text} {part.text}",
        left=min(row.left, part.left),
        top=min(row.top, part.top),
        right=max(row.right, part.right),
        bottom=max(row.bottom, part.bottom),
        size=max(row.size, part.size),
        is_bold=row.is_bold and part.is_bold,
        block=row.block,
    )


def _outline(pdf: pymupdf.Document) -> list[OutlineEntry]:
    try:
        entries = pdf.get_toc(simple=True)[:_MAX_OUTLINE]
    except (mupdf.FzErrorBase, RuntimeError, ValueError):
        return []
    return [OutlineEntry(level, clean(title)[:_MAX_TITLE], page) for level, title, page in entries if clean(title)]
