"""Styles of OpenDocument files: which paragraphs are headings, and the numbering of lists and headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from directory_indexer.formats.office.numerals import alphabetic_numeral, roman_numeral

MAX_LEVELS: Final = 10


class Level(NamedTuple):
    """Marks of the items of one level of a list; a bullet has no format."""

    number_format: str | None = None
    prefix: str = ""
    suffix: str = ""
    n_shown: int = 1
    """The number of levels that the number of an item includes: two for `2.1`."""

    start: int = 1


class Styles:
    """Collects the styles of a file from its XML; a redefined style replaces the former one from there on."""

    def __init__(self) -> None:
        self._paragraphs: dict[str, _ParagraphStyle] = {}
        self._heading_levels: dict[str, int] = {}
        self._lists: dict[str, dict[int, Level]] = {}
        self._list: dict[int, Level] = {}
        self._name = ""
        self._parents: dict[str, str] = {}
        self._are_superscript: dict[str, bool] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if name == "style":
            self._name = attributes.get("name", "")
            self._parents[self._name] = attributes.get("parent-style-name", "")
        if name == "text-properties" and (position := attributes.get("text-position")):
            self._are_superscript[self._name] = _RAISED.match(position) is not None
        elif name == "style" and attributes.get("family") == "paragraph":
            outline = attributes.get("default-outline-level", "")
            self._paragraphs[attributes.get("name", "")] = _ParagraphStyle(
                attributes.get("parent-style-name", ""), outline
            )
            self._heading_levels.clear()
        elif name in _LISTS:
            self._list = self._lists[_OUTLINE if name == "outline-style" else attributes.get("name", "")] = {}
        elif name in _LEVELS:
            self._list[number_in(attributes.get("level", ""), 1)] = _level(name, attributes)

    def end(self, name: str) -> None:
        """Ignore the end of an element."""

    def text(self, text: str) -> None:
        """Ignore text, which styles do not have."""

    def heading_level(self, style: str) -> int:
        """Return the level of headings of a style; 0 if it is no heading style."""
        if style not in self._heading_levels:
            self._heading_levels[style] = self._level_of(style)
        return self._heading_levels[style]

    def is_superscript(self, style: str) -> bool:
        """Whether text of a style is superscript."""
        for _ in range(_MAX_PARENTS):
            if not style or style in self._are_superscript:
                break
            style = self._parents.get(style, "")
        return self._are_superscript.get(style, False)

    def mark(self, style: str, counts: Sequence[int]) -> str:
        """Return the mark of a list item by the counts of its levels, the innermost last."""
        level = self._lists.get(style, {}).get(len(counts), Level())
        return "-" if level.number_format is None else self._number(self._lists[style], level, counts)

    def heading_mark(self, counts: Sequence[int]) -> str:
        """Return the number of a heading; "" if headings are not numbered."""
        levels = self._lists.get(_OUTLINE, {})
        level = levels.get(len(counts), Level())
        return self._number(levels, level, counts) if level.number_format else ""

    def first_number(self, style: str, depth: int) -> int:
        """Return the first number of a level of a list."""
        return self._lists.get(style, {}).get(depth, Level()).start

    def _number(self, levels: dict[int, Level], level: Level, counts: Sequence[int]) -> str:
        if not level.number_format:
            return ""
        included = list(enumerate(counts, 1))[-level.n_shown :]
        formats = ((levels.get(depth, Level()).number_format or "", count) for depth, count in included)
        numbers = ".".join(_FORMATS.get(number_format, str)(max(count, 1)) for number_format, count in formats)
        return f"{level.prefix}{numbers}{level.suffix}".strip()

    def _level_of(self, style: str) -> int:
        for _ in range(_MAX_PARENTS):
            if style == _TITLE:
                return 1
            if style not in self._paragraphs:
                return 0
            style, outline = self._paragraphs[style]
            if outline:
                return number_in(outline, 0)
        return 0


class _ParagraphStyle(NamedTuple):
    parent: str
    outline: str


def number_in(text: str, default: int) -> int:
    """Parse a small number; `default` if it is invalid."""
    return int(text) if text.isdecimal() and len(text) < _MAX_DIGITS else default


def _level(name: str, attributes: dict[str, str]) -> Level:
    if name in _BULLETS:
        return Level()
    return Level(
        attributes.get("num-format", ""),
        attributes.get("num-prefix", "")[:_MAX_AFFIX],
        attributes.get("num-suffix", "")[:_MAX_AFFIX],
        min(max(number_in(attributes.get("display-levels", ""), 1), 1), MAX_LEVELS),
        number_in(attributes.get("start-value", ""), 1),
    )


_TITLE: Final = "Title"
_OUTLINE: Final = "\0outline"
_LISTS: Final = frozenset({"list-style", "outline-style"})
_BULLETS: Final = frozenset({"list-level-style-bullet", "list-level-style-image"})
_LEVELS: Final = frozenset({"list-level-style-number", "outline-level-style"}) | _BULLETS
_FORMATS: Final[dict[str, Callable[[int], str]]] = {
    "a": alphabetic_numeral,
    "A": lambda number: alphabetic_numeral(number).upper(),
    "i": roman_numeral,
    "I": lambda number: roman_numeral(number).upper(),
}
_RAISED: Final = re.compile(r"super|0*[1-9]")
_MAX_PARENTS: Final = 20
_MAX_DIGITS: Final = 6
_MAX_AFFIX: Final = 20
