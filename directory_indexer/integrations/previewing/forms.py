"""Preview form of each kind of document: page images, highlighted code, Markdown or table rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from directory_indexer.formats.kinds import GROUPS


class Form(StrEnum):
    """Presentation of a document."""

    LINES = "lines"
    PROSE = "prose"
    MARKDOWN = "markdown"
    TABLE = "table"
    SLIDES = "slides"
    MESSAGE = "message"
    PAGES = "pages"


DRAWN: Final = frozenset({"pdf", "png", "jpeg", "gif", "tiff", "webp", "bmp", "pnm"})
"""Kinds whose pages can be rendered."""

_FORMS: Final = {
    **dict.fromkeys(("pptx", "ppt", "odp", "keynote"), Form.SLIDES),
    **dict.fromkeys(("csv", "tsv", "xlsx", "xls", "xlsb", "ods", "numbers"), Form.TABLE),
    **dict.fromkeys(("email", "emlx", "msg"), Form.MESSAGE),
    **dict.fromkeys(DRAWN, Form.PAGES),
    "markdown": Form.MARKDOWN,
}
_PROSE: Final = frozenset(
    {
        "doc",
        "docx",
        "odt",
        "odg",
        "rtf",
        "pages",
        "epub",
        "fictionbook",
        "hwpx",
        "mobi",
        "vsdx",
        "mhtml",
        "notebook",
        "calendar",
    }
    | {"contacts", "tnef"}
)


def form_of(kind: str) -> Form:
    """Return the presentation of a kind; text files are shown line by line."""
    if kind in _FORMS:
        return _FORMS[kind]
    is_prose = kind in _PROSE or kind in GROUPS["media"] or kind in GROUPS["archives"]
    return Form.PROSE if is_prose else Form.LINES
