"""PDF files: the text that MuPDF finds on their pages, made into one document, and their metadata.

No file is trusted: costs are bounded, damaged parts are left out, and MuPDF never prints. Metadata is in the
information dictionary and in XMP, which newer programs write as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import RecognisedPages, Recognition, SkipReason, scan_of
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.metadata import iso_time, primary_language, single_line_value, split_list
from directory_indexer.formats.pdf.documents import OutlineEntry, build_document
from directory_indexer.formats.pdf.extra_text import (
    alternative_texts,
    annotations_of,
    files_on,
    form_values,
    missing_rows,
    notes_on,
    string_of,
)
from directory_indexer.formats.pdf.glyphs import (
    FEW_LETTERS,
    Blocks,
    decode_shifted,
    decode_unknown,
    has_unknown_characters,
    repair_fonts,
    reread_lines,
)
from directory_indexer.formats.pdf.mupdf import LOCK, MUPDF_ERRORS, mupdf, open_document, pymupdf
from directory_indexer.formats.pdf.pages import Page, Row, clean, join_drop_caps, join_side_by_side, recognised_rows
from directory_indexer.formats.pdf.ruled_tables import replace_ruled_tables
from directory_indexer.formats.pdf.scan_detection import LetterCounts, OcrNeed, ocr_need, page_key
from directory_indexer.formats.pdf.tables import join_row_cells, separate_columns
from directory_indexer.formats.xml_events import read_xmp

MAX_PAGES = 20_000
MAX_CHARS = 64_000_000
"""The maximum length of a document; a longer one is skipped as too large."""

_MAX_OUTLINE = 20_000
_TENTHS = 10.0
_MAX_BASELINE_DIFFERENCE = 5
_SHADOW_GRID = 15
_NEIGHBOURS = tuple(product((-1, 0, 1), repeat=2))
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_MEDIABOX_CLIP
# Some languages have words of one letter, but of few different ones.
_TORN_LETTER = re.compile(r" ([b-df-hj-np-tvwxz])\s+(?=[a-z]{2})")
_MIN_TORN_LETTERS = 6
_MAX_SHARE_TORN = 0.02
_FONT_NAME = re.compile(r'(?<="font":\{"name":").+?(?=","family":)')
_BOLD = re.compile(r"bold|black|heavy|demi|CMBX|SFBX", re.IGNORECASE)
_MAX_TITLE = 160
_MESSAGE_CHARS = 150
_ERROR_CODE = re.compile(r"code=\d+: ")


def open_pdf(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a PDF and its attachments.

    Raises:
        SkipFileError: as in `extract_pdf`.
        ExtractionError: as in `extract_pdf`.
    """
    content = read_whole(file)
    document, files = _extract(content, kind, budget)
    return Contents(document, _attachments(content, files, budget))


def extract_pdf(
    content: bytes, kind: str = "pdf", budget: Budget | None = None, *, finds_tables: bool = False
) -> Document:
    """Return a PDF as one text with a section for each page and heading.

    Scanned pages have the text that OCR recognised before; others are listed as `scans` of the document. With
    `finds_tables`, each row of a table with ruling lines is one line of text.

    Raises:
        SkipFileError: it needs a password, has no text, or has more pages or text than is read.
        ExtractionError: it is too damaged to be read.
    """
    return _extract(content, kind, budget or Budget(), finds_tables=finds_tables)[0]


def _extract(content: bytes, kind: str, budget: Budget, *, finds_tables: bool = False) -> tuple[Document, list[int]]:
    """Return the document of a PDF, and the numbers of the annotations with an attached file."""
    with LOCK:
        try:
            pages, outline, title, metadata = _read(content, budget.recognised, finds_tables=finds_tables)
        except MUPDF_ERRORS as error:
            reason = _ERROR_CODE.sub("", str(error.__cause__ or error))
            raise ExtractionError(f"damaged PDF: {reason[:_MESSAGE_CHARS]}") from error
        finally:
            pymupdf.TOOLS.store_shrink(100)
    scans = tuple(page.scan for page in pages if page.scan)
    document = build_document(pages, kind, outline=outline, title=title)
    return document._replace(metadata=metadata, scans=scans), [xref for page in pages for xref in page.files]


def _read(
    content: bytes, recognised: RecognisedPages, *, finds_tables: bool
) -> tuple[list[Page], list[OutlineEntry], str, Metadata]:
    with open_document(content) as pdf:
        if pdf.needs_pass:
            raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
        if pdf.page_count > MAX_PAGES:
            raise SkipFileError(SkipReason.TOO_LARGE, f"{pdf.page_count} pages, more than {MAX_PAGES}")
        pages = _with_document_texts(
            pdf, content, list(_limit_text(_pages(pdf, recognised, finds_tables=finds_tables)))
        )
        if not any(page.scan or _has_letters(page) for page in pages):
            raise _no_text_error(pdf)
        information = {name: clean(value) for name, value in (pdf.metadata or {}).items() if value}
        metadata = metadata_of(information, _xmp(pdf), language=_language(pdf), n_pages=pdf.page_count)
        return pages, _outline(pdf), information.get("title", ""), metadata


def _with_document_texts(pdf: pymupdf.Document, content: bytes, pages: Sequence[Page]) -> list[Page]:
    """Return the pages with the texts that belong to the document as a whole added."""
    try:
        texts = alternative_texts(pdf, content)
        values = form_values(pdf)
    except MUPDF_ERRORS:
        return list(pages)
    if not (texts or values):
        return list(pages)
    text = "".join(row.text for page in pages for row in page.rows)
    added = missing_rows(text, texts, values)
    return [replace(page, rows=(*page.rows, *added.get(page.number - 1, ()))) for page in pages]


def _attachments(content: bytes, files: Sequence[int], budget: Budget) -> Iterator[Member]:
    """Yield the attachments in order; other PDFs may be read in between."""
    with LOCK:
        pdf = open_document(content)
        sources: list[_EmbeddedFile | _AnnotationFile] = [
            _EmbeddedFile(position) for position in range(pdf.embfile_count())
        ]
        sources += [_AnnotationFile(xref) for xref in files]
    try:
        for number, source in enumerate(sources, 1):
            budget.take_member()
            with LOCK:
                member = _attachment(pdf, source, budget, default_name=f"attachment {number}")
            yield member
    finally:
        with LOCK:
            pdf.close()


class _EmbeddedFile(NamedTuple):
    """A file attached to the document."""

    position: int

    def name(self, pdf: pymupdf.Document) -> str:
        information = pdf.embfile_info(self.position)
        return information.get("ufilename") or information.get("filename") or information.get("name") or ""

    def content(self, pdf: pymupdf.Document) -> bytes:
        return bytes(pdf.embfile_get(self.position))


class _AnnotationFile(NamedTuple):
    """A file attached to the annotation with the number `xref`."""

    xref: int

    def name(self, pdf: pymupdf.Document) -> str:
        return string_of(pdf, self.xref, "FS/UF") or string_of(pdf, self.xref, "FS/F")

    def content(self, pdf: pymupdf.Document) -> bytes:
        kind, value = pdf.xref_get_key(self.xref, "FS/EF/F")
        return bytes(pdf.xref_stream(int(value.split()[0])) or b"") if kind == "xref" else b""


def _attachment(
    pdf: pymupdf.Document, source: _EmbeddedFile | _AnnotationFile, budget: Budget, *, default_name: str
) -> Member:
    name = default_name
    try:
        name = clean(source.name(pdf)) or default_name
        content = source.content(pdf)
    except MUPDF_ERRORS as error:
        return Member(name, problem=ExtractionError(f"is damaged in the PDF ({type(error).__name__})"))
    return budget.member(name, content)


def _has_letters(page: Page) -> bool:
    return any(character.isalnum() for row in page.rows for character in row.text)


def _no_text_error(pdf: pymupdf.Document) -> ExtractionError:
    if pdf.is_repaired:
        return ExtractionError("damaged PDF: no text can be recovered")
    pages = "1 page" if pdf.page_count == 1 else f"{pdf.page_count} pages"
    return SkipFileError(SkipReason.NO_TEXT, f"no text layer; {pages}")


def _pages(pdf: pymupdf.Document, recognised: RecognisedPages, *, finds_tables: bool) -> Iterator[Page]:
    """Yield every page that can be read."""
    error: Exception | None = None
    n_read = 0
    for index in range(pdf.page_count):
        try:
            page = pdf.load_page(index)
            blocks, text = _blocks(page)
        except MUPDF_ERRORS as damage:
            error = damage
            continue
        n_read += 1
        rows = join_drop_caps(separate_columns(list(_rows(blocks))))
        result = _page(page, rows, LetterCounts.of(text), recognised)
        result = replace(
            result, rows=replace_ruled_tables(page, result.rows) if finds_tables else join_row_cells(result.rows)
        )
        with suppress(*MUPDF_ERRORS):
            if annotations := annotations_of(page):
                notes = notes_on(page, text, annotations)
                result = replace(result, rows=(*result.rows, *notes), files=files_on(annotations))
        yield result
    if error and not n_read:
        raise error


def _page(page: pymupdf.Page, rows: list[Row], letters: LetterCounts, recognised: RecognisedPages) -> Page:
    sheet = page.rect
    width, height = int(sheet.width * _TENTHS), int(sheet.height * _TENTHS)
    try:
        need = ocr_need(page, letters, rows)
        key = None if need is OcrNeed.TEXT else page_key(page)
    except MUPDF_ERRORS:  # its text was read nevertheless
        key = None
    if key is None:
        return Page(page.number + 1, height, tuple(rows))
    result = recognised.get(key)
    if isinstance(result, Recognition):
        rows = [] if need is OcrNeed.UNREADABLE else rows
        rows += recognised_rows(result, width=width, height=height, existing=rows)
    return Page(page.number + 1, height, tuple(rows), scan_of(page.number + 1, key, result))


def _limit_text(pages: Iterable[Page]) -> Iterator[Page]:
    n_chars = 0
    for page in pages:
        n_chars += sum(len(row.text) for row in page.rows)
        if n_chars > MAX_CHARS:
            raise SkipFileError(SkipReason.TOO_LARGE, f"more than {MAX_CHARS // 1_000_000} million characters of text")
        yield page


def _blocks(page: pymupdf.Page) -> tuple[Blocks, str]:
    """Return the blocks of a page, and the text of their lines."""
    flags = _FLAGS
    blocks, text_page = _read_text_page(page, flags)
    lines = _lines(blocks)
    text = _text_of(lines)
    n_unknown = text.count("\ufffd")
    if _is_torn(text):
        flags |= pymupdf.TEXT_COLLECT_STYLES
    if repair_fonts(page, text) or flags != _FLAGS:
        blocks, text_page = _read_text_page(page, flags)
        lines = _lines(blocks)
        text = _text_of(lines)
    if has_unknown_characters(text):
        has_codes = n_unknown >= FEW_LETTERS and "\ufffd" in text
        coded = _read_text_page(page, flags | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE)[0] if has_codes else blocks
        decode_unknown(lines, _lines(coded))
        text = _text_of(lines)
    decode_shifted(lines)
    reread_lines(blocks, text_page, text)
    return blocks, text


def _is_torn(text: str) -> bool:
    """Whether many words lack their first letter, since the space before it is drawn again behind it, as for bold text.

    To drop what is drawn again is costly, and takes true letters with it where fonts misstate their widths.
    """
    letters = _TORN_LETTER.findall(text)
    return len(set(letters)) >= _MIN_TORN_LETTERS and len(letters) > _MAX_SHARE_TORN * text.count(" ")


def _text_of(lines: Iterable[dict[str, Any]]) -> str:
    return "\n".join([line["text"] for line in lines])


def _lines(blocks: Blocks) -> list[dict[str, Any]]:
    return [line for block in blocks if "lines" in block for line in block["lines"]]


def _read_text_page(page: pymupdf.Page, flags: int) -> tuple[Blocks, Any]:
    """Return the blocks of a page, and the MuPDF text page that they belong to."""
    # MuPDF writes this JSON in a fifth of the time that PyMuPDF takes to build the same dictionaries.
    buffer = mupdf.fz_new_buffer(1 << 14)
    output = mupdf.FzOutput(buffer)
    text = page.get_textpage(flags=flags).this
    mupdf.fz_print_stext_page_as_json(output, text, _TENTHS)
    mupdf.fz_close_output(output)
    return _parse_blocks(buffer.fz_buffer_extract().decode("utf-8", "replace")), text


def _parse_blocks(json_text: str) -> list[dict[str, Any]]:
    try:
        blocks: list[dict[str, Any]] = json.loads(json_text, strict=False)["blocks"]
    except ValueError:
        # MuPDF writes the names of fonts unescaped, quotes and backslashes included.
        return _parse_blocks(_FONT_NAME.sub("", json_text)) if _FONT_NAME.search(json_text) else []
    return blocks


def _rows(blocks: Blocks) -> Iterator[Row]:
    parts = [(line["y"], _row(line, index)) for index, block in enumerate(blocks) for line in block.get("lines", ())]
    is_any_repeated = len({part.text for _, part in parts}) < len(parts)
    drawn = _DrawnTexts()
    row: Row | None = None
    baseline = 0
    for y, part in parts:
        if not part.text or (is_any_repeated and drawn.add_repeated(part)):
            continue
        if row and row.block == part.block and abs(y - baseline) <= _MAX_BASELINE_DIFFERENCE:
            is_bold = row.is_bold and part.is_bold
            row = join_side_by_side([row, part])._replace(size=max(row.size, part.size), is_bold=is_bold)
        else:
            if row:
                yield row
            row, baseline = part, y
    if row:
        yield row


class _DrawnTexts:
    """The texts drawn on a page so far, and the positions of those drawn several times."""

    def __init__(self) -> None:
        self._first: dict[str, Row] = {}
        self._places: set[tuple[str, int, int]] = set()

    def add_repeated(self, part: Row) -> bool:
        """Whether the same text was drawn at nearly the same position, as for bold letters and shadows; record it."""
        first = self._first.setdefault(part.text, part)
        if first is part:
            return False
        x, y = part.left // _SHADOW_GRID, part.top // _SHADOW_GRID
        self._places.add((part.text, first.left // _SHADOW_GRID, first.top // _SHADOW_GRID))
        is_near = any((part.text, x + right, y + below) in self._places for right, below in _NEIGHBOURS)
        self._places.add((part.text, x, y))
        return is_near


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


def _xmp(pdf: pymupdf.Document) -> str:
    try:
        return str(pdf.get_xml_metadata())
    except MUPDF_ERRORS:
        return ""


def _language(pdf: pymupdf.Document) -> str:
    try:
        return string_of(pdf, pdf.pdf_catalog(), "Lang")
    except MUPDF_ERRORS:
        return ""


def _outline(pdf: pymupdf.Document) -> list[OutlineEntry]:
    try:
        entries = pdf.get_toc(simple=True)[:_MAX_OUTLINE]
    except MUPDF_ERRORS:
        return []
    return [OutlineEntry(level, clean(title)[:_MAX_TITLE], page) for level, title, page in entries if clean(title)]


def metadata_of(information: Mapping[str, str], xmp: str, *, language: str, n_pages: int) -> Metadata:
    """Return the merged metadata; the dictionary wins, since more programs keep it up to date."""
    packet = read_xmp(xmp).metadata
    return Metadata(
        authors=split_list(information.get("author", "")) or packet.authors,
        created=_parse_date(information.get("creationDate", "")) or packet.created,
        modified=_parse_date(information.get("modDate", "")) or packet.modified,
        language=primary_language(language) or packet.language,
        subject=single_line_value(information.get("subject", "")) or packet.subject,
        tags=split_list(information.get("keywords", "")) or packet.tags,
        n_pages=n_pages or None,
    )


def _parse_date(text: str) -> str:
    """Return a PDF date, `D:20240301120000+01'00'`, of which all but the year may be missing, in ISO 8601."""
    match = _DATE.match(text)
    if not match:
        return iso_time(text)
    year, month, day, hour, minute, second, sign, zone_hour, zone_minute = match.groups()
    date = "-".join(filter(None, (year, month, day)))
    if not hour:
        return iso_time(date)
    zone = "Z" if sign in ("Z", "z") else f"{sign}{zone_hour}:{zone_minute or '00'}" if sign and zone_hour else ""
    return iso_time(f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}") or iso_time(date)


_DATE: Final = re.compile(
    r"D:(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d))?)?)?)?)?(?:([Zz+-])(?:(\d\d)'?(?:(\d\d)'?)?)?)?"
)
