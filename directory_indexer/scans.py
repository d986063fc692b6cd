"""Pages that are pictures of text: what stands for one until it is read, and what reading it came to.

Places on a page are given in ten-thousandths of its width and height, counted from the upper left corner as it is
shown, so that they hold at any resolution.
"""

from typing import NamedTuple, NewType, Protocol

PageKey = NewType("PageKey", bytes)
"""The hash of all that a page is drawn from."""

WHOLE = 10_000
"""The width and the height of a page, in the units of boxes."""


class Box(NamedTuple):
    """A rectangle on a page."""

    left: int
    top: int
    right: int
    bottom: int


def turned(box: Box, degrees: int) -> Box:
    """Return the place of a box on a page that is turned clockwise by 0, 90, 180 or 270 degrees."""
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
    """A word that was read on a page; `confidence` is 0 to 100, as sure as the engine is of it.

    Engines that answer with text alone do not say where it stands.
    """

    text: str
    confidence: int
    box: Box | None = None


class Line(NamedTuple):
    """Words beside each other; lines of one block stand together, as those of a paragraph do."""

    words: tuple[Word, ...]
    block: int = 0

    @property
    def text(self) -> str:
        """The words, with spaces between them."""
        return " ".join(word.text for word in self.words)


class Recognition(NamedTuple):
    """What an engine has read on a page, in the order of reading; `engine` names it with its version and languages.

    By `turn` degrees, clockwise, the page had to be turned to be read; the boxes are those on the page as it is.
    """

    engine: str
    lines: tuple[Line, ...]
    dpi: int = 0
    turn: int = 0

    @property
    def confidence(self) -> float:
        """Return the mean confidence of the words by their length, 0 to 1; of an empty page it is 1."""
        n_characters = sum(len(word.text) for line in self.lines for word in line.words)
        if not n_characters:
            return 1.0
        total = sum(word.confidence * len(word.text) for line in self.lines for word in line.words)
        return round(total / n_characters / 100, 3)


class PageProblem(NamedTuple):
    """Why no engine could read a page. It is tried again unless it is `final`."""

    message: str
    is_final: bool = False


class Scan(NamedTuple):
    """A page of a document whose text is a picture, and how far reading it is; `page` counts from 1.

    It waits while there is neither an `engine` that has read it nor a `problem` that keeps it from being read.
    """

    page: int
    key: PageKey
    engine: str = ""
    confidence: float | None = None
    problem: str = ""

    @property
    def waits(self) -> bool:
        """Return whether it is still to be read."""
        return not self.engine and not self.problem


class ScannedPassage(NamedTuple):
    """What read the page of a passage, how surely (0 to 1), and where on it the excerpt and its marked words stand.

    There are no boxes where the engine gives none, or what it has read is not kept any more.
    """

    engine: str
    confidence: float
    box: Box | None = None
    marked: tuple[Box, ...] = ()


class RecognisedPages(Protocol):
    """What is known of pages that were read before, in whichever document."""

    def get(self, key: PageKey) -> Recognition | PageProblem | None:
        """Return what reading a page came to; None while nothing has read it."""


class NoPages:
    """No page was read before."""

    def get(self, _: PageKey) -> None:
        """Return nothing."""


def scan_of(page: int, key: PageKey, found: Recognition | PageProblem | None) -> Scan:
    """Note how far reading a page is."""
    match found:
        case Recognition():
            return Scan(page, key, found.engine, found.confidence)
        case PageProblem(message, is_final=True):
            return Scan(page, key, problem=message)
    return Scan(page, key)
