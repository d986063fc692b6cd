"""XML as events, for files that nobody vouches for: no tree, no entities, nothing from elsewhere, bounded nesting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol
from xml.parsers import expat

from directory_indexer.errors import ExtractionError, SkipFileError

MAX_DEPTH: Final = 256
"""So deep may elements nest; office programs reach 60."""


class XmlHandler(Protocol):
    """What is told of an XML document, in its order; names of elements and attributes come without their prefixes.

    Of two attributes that differ in their prefix alone, as `id` and `r:id`, the one with a prefix counts.
    """

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def text(self, text: str) -> None:
        """Take a stretch of text."""


def read_xml(
    pieces: Iterable[bytes | str], handler: XmlHandler, *, skipped: frozenset[str] = frozenset()
) -> ExtractionError | None:
    """Tell a handler what an XML document holds, without the `skipped` elements and what lies in them.

    A damaged document is told as far as it is sound, then every open element ends; what is wrong with it comes back.

    Raises:
        SkipFileError: its pieces are more than is read.
        ExtractionError: it declares entities, which no office program does.
    """
    events = _Events(handler, skipped)
    try:
        for piece in pieces:
            events.feed(piece)
        events.feed(b"", is_final=True)
    except (SkipFileError, _EntityError):
        raise
    except ExtractionError as error:
        events.end_all()
        return error
    return None


class _EntityError(ExtractionError):
    """An entity is declared: a name that may stand for any amount of text, or for another file."""


class _Events:
    """Stands between the parser and a handler: leaves prefixes and skipped elements out, and counts levels."""

    def __init__(self, handler: XmlHandler, skipped: frozenset[str]) -> None:
        self._handler = handler
        self._skipped = skipped
        self._open: list[str] = []
        self._n_told = MAX_DEPTH
        """How many of the open elements are told of, from the outermost; more than there are where all are."""

        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = _BUFFER_BYTES
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = _refuse_entity

    def feed(self, piece: bytes | str, *, is_final: bool = False) -> None:
        try:
            self._parser.Parse(piece, is_final)
        except expat.ExpatError as error:
            raise ExtractionError(f"damaged XML: {error}") from error
        except (LookupError, ValueError) as error:
            if self._open:  # not of the parser
                raise
            raise ExtractionError(f"damaged XML: {error}") from error  # an encoding that there is not

    def end_all(self) -> None:
        while self._open:
            self._end()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) == MAX_DEPTH:
            raise ExtractionError(f"its XML is nested more than {MAX_DEPTH} levels deep")
        name = name.rpartition(":")[2]
        self._open.append(name)
        if len(self._open) > self._n_told:
            return
        if name in self._skipped:
            self._n_told = len(self._open) - 1
        else:
            self._handler.start(name, _bare(attributes) if attributes else attributes)

    def _end(self, _: str = "") -> None:
        name = self._open.pop()
        if len(self._open) < self._n_told:
            self._handler.end(name)
        elif len(self._open) == self._n_told:
            self._n_told = MAX_DEPTH

    def _text(self, text: str) -> None:
        if len(self._open) <= self._n_told:
            self._handler.text(text)


def _bare(attributes: dict[str, str]) -> dict[str, str]:
    if ":" not in "".join(attributes):
        return attributes
    bare = {name: value for name, value in attributes.items() if ":" not in name}
    return bare | {name.rpartition(":")[2]: value for name, value in attributes.items() if ":" in name}


def _refuse_entity(name: str, *_: object) -> None:
    raise _EntityError(f"it declares an XML entity, {name[:40]!r}, which may stand for any amount of text")


_BUFFER_BYTES: Final = 1 << 16
