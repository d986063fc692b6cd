"""Office Open XML: the program of a package, by the content type of its main part."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO, Final

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.members import Contents, read_whole
from directory_indexer.extractors.office.docx import read_docx
from directory_indexer.extractors.office.embedded import embedded_in
from directory_indexer.extractors.office.flat_xml import packed, read_office_2003
from directory_indexer.extractors.office.pptx import read_pptx
from directory_indexer.extractors.office.signatures import is_office_2003, office_xml_kind
from directory_indexer.extractors.office.vsdx import read_vsdx
from directory_indexer.extractors.office.xlsx import read_xlsx
from directory_indexer.extractors.packages import Package


def open_ooxml(file: BinaryIO, _: str, budget: Budget) -> Contents:
    """Read a document, a presentation, a workbook or a drawing, by its content and not by its name.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    content = read_whole(file)
    if is_office_2003(content):
        return Contents(read_office_2003(content))
    package = Package(packed(content, budget) if office_xml_kind(content) else content, budget)
    main = _main_part(package)
    return Contents(_reader_of(package, main)(package, main), embedded_in(package, budget))


def _main_part(package: Package) -> str:
    main_parts = (relation.part for relation in package.relations().values() if relation.role == "officeDocument")
    for part in (*main_parts, *_USUAL_MAIN_PARTS):
        if part in package:
            return part
    raise ExtractionError("damaged Office document: its main part is missing")


def _reader_of(package: Package, main: str) -> Callable[[Package, str], Document]:
    match = _PROGRAM.search(package.content_type(main)) or _PROGRAM.search(main)
    if not match:
        raise ExtractionError("damaged Office document: nothing tells which program it is for")
    return _READERS[match[0]]


_USUAL_MAIN_PARTS: Final = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "visio/document.xml")
_READERS: Final[dict[str, Callable[[Package, str], Document]]] = {
    "word": read_docx,
    "powerpoint": read_pptx,
    "presentation": read_pptx,
    "ppt": read_pptx,
    "excel": read_xlsx,
    "spreadsheet": read_xlsx,
    "xl/": read_xlsx,
    "visio": read_vsdx,
}
_PROGRAM: Final = re.compile("|".join(_READERS))
