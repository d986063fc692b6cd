"""Which paragraphs of a Word document are headings, of which level, and which are items of lists, under which number.

Styles are known by their names, which stay English in every language of Word, and by the styles they are based on.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from directory_indexer.extractors.office.docx_numbering import Numbering, read_numbering
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml


class ParagraphForm(NamedTuple):
    """What a paragraph or a style says of its form, as it is written; "" is what it leaves to its style."""

    style: str = ""
    outline: str = ""
    numbering: str = ""
    depth: str = ""


class Styles:
    """The styles and lists of a document, and how far its lists have been counted."""

    def __init__(self, forms: dict[str, ParagraphForm], numbering: Numbering) -> None:
        self._forms = forms
        self._numbering = numbering

    def level_and_mark(self, form: ParagraphForm) -> tuple[int, str]:
        """Return the level of a heading, 0 for none, and the mark of the next item of a list, "" for none."""
        form = self._resolved(form)
        level = int(form.outline) + 1 if form.outline in _OUTLINE_LEVELS else 0
        return level, self._numbering.next_mark(form.numbering, form.depth) if form.numbering else ""

    def _resolved(self, form: ParagraphForm) -> ParagraphForm:
        """Fill in what a paragraph leaves to its style, and that to the style it is based on."""
        seen: set[str] = set()
        while form.style in self._forms and form.style not in seen:
            seen.add(form.style)
            base = self._forms[form.style]
            form = ParagraphForm(
                base.style, form.outline or base.outline, form.numbering or base.numbering, form.depth or base.depth
            )
        return form


def read_styles(package: Package, parts: dict[str, str]) -> Styles:
    """Read the styles and lists of a document; what is damaged or missing says nothing."""
    styles = StyleForms()
    read_xml(package.pieces(parts.get("styles", "word/styles.xml")), styles)
    return Styles(styles.forms, read_numbering(package, parts))


class StyleForms:
    """Collects the forms of styles by their ids from XML."""

    def __init__(self) -> None:
        self.forms: dict[str, ParagraphForm] = {}
        self._id = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take the start of an element."""
        value = attributes.get("val", "")
        if name == "style":
            self._id = attributes.get("styleId", "")
            self.forms[self._id] = ParagraphForm()
        elif name == "name" and (match := _HEADING.fullmatch(value)):
            self._say(outline=str(int(match[1] or 1) - 1))
        elif field := _FIELDS.get(name):
            self._say(**{field: value})

    def _say(self, **form: str) -> None:
        if self._id:
            self.forms[self._id] = self.forms[self._id]._replace(**form)

    def end(self, name: str) -> None:
        """Take the end of an element."""
        if name == "style":
            self._id = ""

    def text(self, text: str) -> None:
        """Take a stretch of text, which styles do not have."""


_FIELDS: Final = {"basedOn": "style", "outlineLvl": "outline", "numId": "numbering", "ilvl": "depth"}
_HEADING: Final = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_OUTLINE_LEVELS: Final = frozenset("012345678")
