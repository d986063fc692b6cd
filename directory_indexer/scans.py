"""Scanned pages: their records before and after OCR.

Positions on a page are in ten-thousandths of its width and height, counted from the upper left corner as displayed, so
that they hold at any resolution.
"""

from typing import NamedTuple, NewType, Protocol

PageKey = NewType("PageKey", bytes)
"""The hash of everything that a page is rendered from."""

WHOLE = 10_000
"""The width and the height of a page, in the units of boxes."""


class Box(NamedTuple):
    """A rectangle on a page."""

    left: int
    top: int
    right: int
    bottom: int


def turned(box: Box, degrees: int) -> Box:
    """Return a box on a page that is rotated clockwise by 0, 90, 180 or 270 degrees."""
    left, top, right, bottom = box
    match degrees % 360:
        case 90:
            return Box(WHOLE - bottom, left, WHOLE - top, right)
        case 180:
            return Box(WHOLE - right, WHOLE - bottom, WHOLE - left, WHOLE - top)
        case 270:
            return Box(top, WHOLE - right, bottom, WHOLE - left)
    return box


class Word(NamedTuple):
    """A word that was read on a page; `confidence` is that of the engine, 0 to 100.

    Engines that return only text have no boxes. Engines that answer with text alone do not say where it stands.
    """

    text: str
    confidence: int
    box: Box | None = None


class Line(NamedTuple):
    """Words beside each other; lines of one block belong together, as those of a paragraph do."""

    words: tuple[Word, ...]
    block: int = 0

    @property
    def text(self) -> str:
        """The words, separated by spaces."""
        return " ".join(word.text for word in self.words)


class Recognition(NamedTuple):
    """Text that an engine has read on a page, in reading order; `engine` is its name with version and languages.

    `turn` is the clockwise rotation in degrees that was needed; boxes are those on the original page.
    """

    engine: str
    lines: tuple[Line, ...]
    dpi: int = 0
    turn: int = 0

    @property
    def confidence(self) -> float:
        """The mean confidence of the words, weighted by length, 0 to 1; 1 for an empty page."""
        n_characters = sum(len(word.text) for line in self.lines for word in line.words)
        if not n_characters:
            return 1.0
        total = sum(word.confidence * len(word.text) for line in self.lines for word in line.words)
        return round(total / n_characters / 100, 3)


class PageProblem(NamedTuple):
    """The reason why no engine could read a page. It is retried unless it is `final`."""

    message: str
    is_final: bool = False


class Scan(NamedTuple):
    """A scanned page of a document, and the state of its OCR; `page` counts from 1.

    It waits while there is neither an `engine` that has read it nor a `problem` that prevents it.
    """

    page: int
    key: PageKey
    engine: str = ""
    confidence: float | None = None
    problem: str = ""

    @property
    def waits(self) -> bool:
        """Whether it is still to be read."""
        return not self.engine and not self.problem


class ScannedPassage(NamedTuple):
    """The engine that read the page of a passage, its confidence (0 to 1), and boxes on that page.

    The boxes are those of the excerpt and its marked words. There are none if the engine returns none, or its result is
    no longer cached.
    """

    engine: str
    confidence: float
    box: Box | None = None
    marked: tuple[Box, ...] = ()


class RecognisedPages(Protocol):
    """Results of pages that were read before, in any document."""

    def get(self, key: PageKey) -> Recognition | PageProblem | None:
        """Return the result of reading a page; None if it was not read."""


class NoPages:
    """No results."""

    def get(self, _: PageKey) -> None:
        """Return None."""


def scan_of(page: int, key: PageKey, result: Recognition | PageProblem | None) -> Scan:
    """Return the state of a page's OCR."""
    match result:
        case Recognition():
            return Scan(page, key, result.engine, result.confidence)
        case PageProblem(message, is_final=True):
            return Scan(page, key, problem=message)
    return Scan(page, key)
