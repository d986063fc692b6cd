"""Headings and list items of a Word document, by the styles of its paragraphs.

Styles are recognised by their names, which stay English in every language of Word, and by the styles they are based on.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from directory_indexer.extractors.office.docx_numbering import Numbering, read_numbering
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml


class ParagraphForm(NamedTuple):
    """Formatting of a paragraph or style, as it is written; "" is inherited from its style."""

    style: str = ""
    outline: str = ""
    numbering: str = ""
    depth: str = ""


class Styles:
    """The styles of a document, and its lists with their current counts."""

    def __init__(self, forms: dict[str, ParagraphForm], numbering: Numbering) -> None:
        self._forms = forms
        self._numbering = numbering

    def level_and_mark(self, form: ParagraphForm) -> tuple[int, str]:
        """Return the level of a heading, 0 for none, and the mark of the next item of a list, "" for none."""
        form = self._resolved(form)
        level = int(form.outline) + 1 if form.outline in _OUTLINE_LEVELS else 0
        return level, self._numbering.next_mark(form.numbering, form.depth) if form.numbering else ""

    def _resolved(self, form: ParagraphForm) -> ParagraphForm:
        """Return the formatting with what is inherited from its style, and from the style that is based on."""
        seen_styles: set[str] = set()
        while form.style in self._forms and form.style not in seen_styles:
            seen_styles.add(form.style)
            base = self._forms[form.style]
            form = ParagraphForm(
                base.style, form.outline or base.outline, form.numbering or base.numbering, form.depth or base.depth
            )
        return form


def read_styles(package: Package, parts: dict[str, str]) -> Styles:
    """Return the styles and lists of a document; damaged or missing ones have no effect."""
    styles = StyleForms()
    read_xml(package.pieces(parts.get("styles", "word/styles.xml")), styles)
    return Styles(styles.forms, read_numbering(package, parts))


class StyleForms:
    """Collects the formatting of styles by their ids from XML."""

    def __init__(self) -> None:
        self.forms: dict[str, ParagraphForm] = {}
        self._id = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        value = attributes.get("val", "")
        if name == "style":
            self._id = attributes.get("styleId", "")
            self.forms[self._id] = ParagraphForm()
        elif name == "name" and (match := _HEADING.fullmatch(value)):
            self._set(outline=str(int(match[1] or 1) - 1))
        elif field := _FIELDS.get(name):
            self._set(**{field: value})

    def _set(self, **form: str) -> None:
        if self._id:
            self.forms[self._id] = self.forms[self._id]._replace(**form)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if name == "style":
            self._id = ""

    def text(self, text: str) -> None:
        """Ignore text, which styles do not have."""


_FIELDS: Final = {"basedOn": "style", "outlineLvl": "outline", "numId": "numbering", "ilvl": "depth"}
_HEADING: Final = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_OUTLINE_LEVELS: Final = frozenset("012345678")
