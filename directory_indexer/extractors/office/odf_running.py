"""Headers and footers of OpenDocument, and other text on every page, each once."""

from __future__ import annotations

from functools import partial
from typing import Final

from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.odf_styles import Styles
from directory_indexer.extractors.office.odf_text import SHAPES, OdfText
from directory_indexer.extractors.office.stories import Block, write_block


class RunningTexts:
    """Text on master pages: headers, footers and text boxes, if they are displayed.

    Page numbers, names of sheets and other fields are left out, and with them lines that have little else: every
    spreadsheet has "Page 1" in its footer.
    """

    def __init__(self, styles: Styles) -> None:
        self.texts: dict[str, None] = {}
        self._styles = styles
        self._draft = Draft()
        self._text: OdfText | None = None
        self._depth = 0
        self._is_filled_in = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if self._text and name in _FILLED_IN:
            self._depth += 1
            self._is_filled_in = True
            self._text.text(_MARK)
        elif self._text:
            self._depth += 1
            self._text.start(name, attributes)
        elif name in _RUNNING or name in SHAPES:
            self._draft = Draft()
            # Placeholders have example text.
            is_displayed = attributes.get("class", "footer") in _RUNNING and attributes.get("display") != "false"
            self._text = OdfText(self._styles, partial(write_block, draft=self._draft) if is_displayed else _drop)
            self._text.start(name, attributes)

    def text(self, text: str) -> None:
        """Handle a run of text."""
        if self._text and not self._is_filled_in:
            self._text.text(text)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if not self._text:
            return
        if name in _FILLED_IN:
            self._is_filled_in = False
        else:
            self._text.end(name)
        if self._depth:
            self._depth -= 1
            return
        self._text.flush()
        self._text = None
        lines = map(_without_marks, self._draft.document("odt").text.split("\n"))
        self.texts["\n".join(lines).strip("\n")] = None


def _drop(_: Block) -> None: ...


def _without_marks(line: str) -> str:
    if _MARK not in line:
        return line
    words = line.replace(_MARK, " ").split()
    return " ".join(words) if sum(any(map(str.isalnum, word)) for word in words) >= _FEWEST_WORDS else ""


_MARK: Final = "\ufffc"
_FEWEST_WORDS: Final = 3
_RUNNING: Final = frozenset({"header", "footer", "header-left", "footer-left", "header-first", "footer-first"})
_FILLED_IN: Final = frozenset({"page-number", "page-count", "sheet-name", "file-name", "title", "date", "time"})
