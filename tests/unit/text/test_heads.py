from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.files import ScannedPassage
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.text.excerpts import head_line
from directory_indexer.text.formatting import PathStyle, plain

if TYPE_CHECKING:
    from directory_indexer.search.requests import Hit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
AT_HOME = PathStyle("/home/ann/work", "/home/ann")


def head(hit: Hit, path: str, kind: str, *, title: str = "", is_file: bool = False) -> str:
    hit = hit._replace(path=file_path(path), facts=FileFacts(kind, title))
    return plain([head_line(1, hit, paths=AT_HOME, is_file=is_file)]).rstrip("\n")


def test_a_line_of_a_text_is_its_place(hit: Hit) -> None:
    assert head(hit, "/home/ann/a.md", "markdown") == " 1  ~/a.md:12  Sourdough > Baking  2026-06-01  0.83"


def test_code_has_no_date(hit: Hit) -> None:
    assert head(hit, "/home/ann/a.py", "python") == " 1  ~/a.py:12  Sourdough > Baking  0.83"


def test_a_document_whose_lines_nobody_sees_names_none(hit: Hit) -> None:
    assert head(hit, "/home/ann/a.docx", "docx") == " 1  ~/a.docx  Sourdough > Baking  2026-06-01  0.83"


def test_a_scanned_page_says_how_sure_its_text_is(hit: Hit) -> None:
    scanned = hit._replace(page=3, scan=ScannedPassage("engine", 0.97, None, ()))
    line = head(scanned, "/home/ann/a.pdf", "pdf")
    assert line == " 1  ~/a.pdf, page 3 (scanned, 97% sure)  Sourdough > Baking  2026-06-01  0.83"


def test_a_page_of_a_presentation_is_a_slide(hit: Hit) -> None:
    line = head(hit._replace(page=2), "/home/ann/a.pptx", "pptx")
    assert line == " 1  ~/a.pptx, slide 2  Sourdough > Baking  2026-06-01  0.83"


def test_a_row_of_a_sheet_is_its_place_beside_the_sheet(hit: Hit) -> None:
    sheet = hit._replace(heading="Inventory > Item, Room", row=333)
    assert head(sheet, "/home/ann/a.xlsx", "xlsx") == " 1  ~/a.xlsx, row 333  Inventory  2026-06-01  0.83"
    cell = sheet._replace(cell="C333")
    assert head(cell, "/home/ann/a.xlsx", "xlsx") == " 1  ~/a.xlsx, row 333, C333  Inventory  2026-06-01  0.83"


@pytest.mark.parametrize("is_file", [False, True])
def test_a_commit_is_named_by_repository_hash_title_author_and_day(hit: Hit, *, is_file: bool) -> None:
    path = "/home/ann/src/flask/.git!/commits/38b4c1e19b50494cfcdc9332899e09b7fed34979"
    written = hit._replace(metadata=Metadata(authors=("David Lord <d@example.org>", "Ann")))
    line = head(written, path, "commit", title="refactor stream_with_context", is_file=is_file)
    assert line == " 1  flask@38b4c1e  refactor stream_with_context  David Lord  2026-06-01  0.83"
