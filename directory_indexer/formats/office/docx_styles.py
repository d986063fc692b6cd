"""Styles of Word documents: which paragraphs are headings or list items, and the marks of numbered ones.

Styles are recognised by their names, which stay English in every language of Word, and by the styles they are based on.
Marks such as `-`, `1.`, `2.3` and `(a)` are computed, since they are not stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.formats.office.numerals import alphabetic_numeral, roman_numeral
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import read_xml

_FIELDS: Final = {
    "basedOn": "style",
    "outlineLvl": "outline",
    "numId": "numbering",
    "ilvl": "depth",
    "vertAlign": "alignment",
}
_HEADING: Final = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_OUTLINE_LEVELS: Final = frozenset("012345678")

_NO_LIST: Final = "0"
_DEPTHS: Final = tuple("012345678")
_PLACEHOLDER: Final = re.compile(r"%([1-9])")
_MAX_DIGITS: Final = 6
_MAX_PATTERN: Final = 40
_FORMATS: Final[dict[str, Callable[[int], str]]] = {
    "lowerLetter": alphabetic_numeral,
    "upperLetter": lambda number: alphabetic_numeral(number).upper(),
    "lowerRoman": roman_numeral,
    "upperRoman": lambda number: roman_numeral(number).upper(),
    "decimalZero": lambda number: f"{number:02}",
    "none": lambda _: "",
}


class ParagraphForm(NamedTuple):
    """Formatting of a paragraph or style, as it is written; "" is inherited from its style."""

    style: str = ""
    outline: str = ""
    numbering: str = ""
    depth: str = ""
    alignment: str = ""
    """`superscript`, for one."""


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

    def alignment(self, style: str) -> str:
        """Return the vertical alignment of the text of a style."""
        return self._resolved(ParagraphForm(style)).alignment

    def _resolved(self, form: ParagraphForm) -> ParagraphForm:
        """Return the formatting with what is inherited from its style, and from the style that is based on."""
        seen_styles: set[str] = set()
        while form.style in self._forms and form.style not in seen_styles:
            seen_styles.add(form.style)
            base = self._forms[form.style]
            form = ParagraphForm(
                base.style, *(own or inherited for own, inherited in zip(form[1:], base[1:], strict=True))
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
            self._set_form(outline=str(int(match[1] or 1) - 1))
        elif field := _FIELDS.get(name):
            self._set_form(**{field: value})

    def _set_form(self, **form: str) -> None:
        if self._id:
            self.forms[self._id] = self.forms[self._id]._replace(**form)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if name == "style":
            self._id = ""

    def text(self, text: str) -> None:
        """Ignore text, which styles do not have."""


class Numbering:
    """The lists of a document, with their current counts."""

    def __init__(self, lists: dict[str, str], levels: dict[str, dict[int, _Level]]) -> None:
        self._lists = lists
        self._levels = levels
        self._counts: dict[str, list[int | None]] = {}

    def next_mark(self, numbering: str, depth: str) -> str:
        """Return the mark of the next item of a list, indented by two blanks for each list around it."""
        level = int(depth) if depth in _DEPTHS else 0
        key = self._lists.get(numbering, "")
        levels = self._levels.get(key, {})
        if numbering == _NO_LIST:
            return ""
        level_format = levels.get(level)
        if level_format is None or level_format.number_format == "bullet":
            return "  " * level + "-"
        counts = self._counts.setdefault(key, [None] * len(_DEPTHS))
        counts[level] = level_format.start if (count := counts[level]) is None else count + 1
        counts[level + 1 :] = [None] * (len(_DEPTHS) - level - 1)
        mark = _PLACEHOLDER.sub(
            lambda match: _format_count(int(match[1]) - 1, counts, levels), level_format.pattern
        ).strip()
        return "  " * level + mark if mark else ""


def read_numbering(package: Package, parts: dict[str, str]) -> Numbering:
    """Return the lists of a document; damaged or missing ones count as bulleted."""
    lists = _Lists()
    read_xml(package.pieces(parts.get("numbering", "word/numbering.xml")), lists)
    return Numbering(lists.lists, lists.levels)


class _Level(NamedTuple):
    start: int = 1
    number_format: str = "decimal"
    pattern: str = ""


def _format_count(level: int, counts: list[int | None], levels: dict[int, _Level]) -> str:
    level_format = levels.get(level, _Level())
    count = counts[level]
    count = level_format.start if count is None else count
    return _FORMATS.get(level_format.number_format, str)(count)


class _Lists:
    def __init__(self) -> None:
        self.lists: dict[str, str] = {}
        self.levels: dict[str, dict[int, _Level]] = {}
        self._list = self._abstract = ""
        self._depth: int | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        value = attributes.get("val", "")
        if name == "abstractNum":
            self._abstract, self._list = attributes.get("abstractNumId", ""), ""
        elif name == "num":
            self._list, self._depth = attributes.get("numId", ""), None
        elif name == "abstractNumId" and self._list:
            self.lists[self._list] = value
        elif name == "lvl" and not self._list:
            depth = attributes.get("ilvl", "")
            self._depth = int(depth) if depth in _DEPTHS else None
        elif self._depth is not None:
            self._set_level(self._depth, name, value)

    def _set_level(self, depth: int, name: str, value: str) -> None:
        levels = self.levels.setdefault(self._abstract, {})
        level = levels.get(depth, _Level())
        if name == "start" and value.isdecimal() and len(value) < _MAX_DIGITS:
            level = level._replace(start=int(value))
        elif name == "numFmt":
            level = level._replace(number_format=value)
        elif name == "lvlText":
            level = level._replace(pattern=value[:_MAX_PATTERN])
        levels[depth] = level

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...
