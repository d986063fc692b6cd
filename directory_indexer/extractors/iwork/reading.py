"""Pages, Numbers and Keynote documents: the preview has them as printed, with their pages."""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.iwork.archives import texts_of
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml
from directory_indexer.files import SkipReason
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.extractors.pdf.reader import extract_pdf


def is_iwork(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a document of Pages, Numbers or Keynote, which its parts do not distinguish."""
    return is_named and head.startswith(b"PK\3\4")


def extract_iwork(content: bytes, kind: str, budget: Budget) -> Document:
    """Read a document by its preview, else by the parts with its text, of 2009 or of 2013 and later.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    package = Package(content, budget)
    if any(part in package for part in _PASSWORD_PARTS):
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    if preview := b"".join(package.pieces("QuickLook/Preview.pdf")):
        try:
            return extract_pdf(preview, kind)
        except (ExtractionError, SkipFileError):
            pass  # the parts may have text when the preview is damaged, or only a picture
    for part in _MAIN_PARTS:
        if part in package:
            return _from_xml(package, part, kind)
    return _from_archives(package, kind, budget)


def _from_xml(package: Package, part: str, kind: str) -> Document:
    paragraphs = _Paragraphs()
    error = read_xml(package.pieces(part), paragraphs, skipped=_WITHOUT_TEXT)
    if error and paragraphs.draft.is_empty:
        raise error
    return paragraphs.draft.document(kind)


def _from_archives(package: Package, kind: str, budget: Budget) -> Document:
    draft = Draft()
    if packed := next((part for part in package.names() if part.endswith("Index.zip")), ""):
        package = Package(b"".join(package.pieces(packed)), budget)
    for part in sorted(filter(_PART_WITH_TEXT.fullmatch, package.names()), key=_in_reading_order):
        for text in texts_of(b"".join(package.pieces(part))):
            for paragraph in text.split("\n"):
                draft.paragraph(paragraph)
    return draft.document(kind)


def _in_reading_order(part: str) -> tuple[bool, int, str]:
    """Return a sort key that puts the main part first, and slides in the order of their numbers."""
    return not part.endswith("Document.iwa"), len(part), part


class _Paragraphs:
    """Collects the paragraphs of a document of 2009, and the cells of its tables."""

    def __init__(self) -> None:
        self.draft = Draft()
        self._text: list[str] = []
        self._depth = 0
        self._n_slides = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "slide":
            self._n_slides += 1
            self.draft.page(self._n_slides)
        elif name == "p":
            self._depth += 1
        elif name in _BREAKS:
            self._text.append(_BREAKS[name])
        elif name in _CELLS and "s" in attributes:
            self.draft.paragraph(attributes["s"])

    def end(self, name: str) -> None:
        if name != "p":
            return
        self._depth -= 1
        if not self._depth:
            self.draft.paragraph("".join(self._text))
            self._text = []

    def text(self, text: str) -> None:
        if self._depth:
            self._text.append(text)


_PART_WITH_TEXT: Final = re.compile(
    r"(?:[^/]+/){0,4}Index/(?!MasterSlide|TemplateSlide|ViewState|Theme|DocumentStylesheet).*\.iwa"
)
"""Templates are excluded: they hold placeholders such as "Title Text"."""

_PASSWORD_PARTS: Final = (".iwpv2", ".iwph", ".iwpv")
_MAIN_PARTS: Final = ("index.apxl", "index.xml")
_WITHOUT_TEXT: Final = frozenset({"stylesheet", "version-history", "master-slides", "theme-list", "headers-prototype"})
_BREAKS: Final = {
    "tab": "\t",
    "br": "\n",
    "lnbr": "\n",
    "crbr": "\n",
    "pgbr": "\n",
    "contbr": "\n",
    "selection-start": "",
}
_CELLS: Final = frozenset({"ct", "so"})
"""Text in the cells of a table, and among the choices of a cell."""
