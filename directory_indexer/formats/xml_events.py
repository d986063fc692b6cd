"""XML as events, for untrusted files: no tree, no entities, no external references, bounded nesting.

Also metadata as the texts of leaf elements by their names, and as XMP: a packet of RDF that programs embed in a
document or picture.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, Protocol
from xml.parsers import expat

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.metadata import (
    MAX_VALUES,
    distinct_values,
    iso_time,
    primary_language,
    single_line_value,
)

MAX_DEPTH: Final = 256
"""The deepest nesting of elements that is read; office programs reach 60."""

_BUFFER_BYTES: Final = 1 << 16

_MAX_CHARACTERS: Final = 20_000

_MAX_PACKET: Final = 1_000_000
_PROPERTIES: Final = frozenset(
    {"title", "creator", "CreateDate", "DateCreated", "DateTimeOriginal", "ModifyDate"}
    | {"language", "description", "subject"}
)


class XmlHandler(Protocol):
    """A receiver of the events of an XML document, in order; names come without their prefixes.

    Of two attributes that differ in their prefix alone, as `id` and `r:id`, the one with a prefix counts.
    """

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""

    def end(self, name: str) -> None:
        """Handle the end of an element."""

    def text(self, text: str) -> None:
        """Handle a run of text."""


def read_xml(
    pieces: Iterable[bytes | str], handler: XmlHandler, *, skipped: frozenset[str] = frozenset()
) -> ExtractionError | None:
    """Pass the events of an XML document to a handler, without those of the `skipped` elements.

    A damaged document is read up to the damage, then every open element ends; the error is returned.

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


class XmlValues:
    """Collects the texts of elements, up to a limit for each name."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[str]] = {}
        self._text = ""

    def first(self, name: str) -> str:
        """Return the first value of a name; "" if there is none."""
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> tuple[str, ...]:
        """Return the values of a name in order."""
        return tuple(self._by_name.get(name, ()))

    def start(self, _name: str, _attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        self._text = ""

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if self._text and not self._text.isspace():
            values = self._by_name.setdefault(name, [])
            if len(values) < MAX_VALUES:
                values.append(self._text.strip())
        self._text = ""

    def text(self, text: str) -> None:
        """Handle a run of text."""
        if len(self._text) < _MAX_CHARACTERS:
            self._text += text[:_MAX_CHARACTERS]


def read_xmp(packet: str | bytes) -> XmpProperties:
    """Return the properties of a packet; none if it is damaged, declares entities or is too long."""
    properties = XmpProperties()
    if packet and len(packet) <= _MAX_PACKET:
        try:
            read_xml([packet], properties)
        except ExtractionError:
            return XmpProperties()
    return properties


class XmpProperties:
    """The values of XMP properties by their names without prefixes, from elements or attributes."""

    def __init__(self) -> None:
        self._values: defaultdict[str, list[str]] = defaultdict(list)
        self._open: list[str] = []
        self._text: list[str] = []

    @property
    def title(self) -> str:
        """The title; "" if there is none."""
        return self._first("title")

    @property
    def metadata(self) -> Metadata:
        """The metadata beside the title."""
        return Metadata(
            authors=distinct_values(self._values["creator"]),
            created=self._time("DateTimeOriginal") or self._time("DateCreated") or self._time("CreateDate"),
            modified=self._time("ModifyDate"),
            language=primary_language(self._first("language")),
            subject=single_line_value(self._first("description")),
            tags=distinct_values(self._values["subject"]),
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        for attribute, value in attributes.items():
            if attribute in _PROPERTIES:
                self._values[attribute].append(value)
        if name in _PROPERTIES:
            self._open.append(name)
        self._text = []

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        text = "".join(self._text).strip()
        if self._open and text and name in (self._open[-1], "li"):
            self._values[self._open[-1]].append(text)
        if self._open and name == self._open[-1]:
            self._open.pop()
        self._text = []

    def text(self, text: str) -> None:
        """Handle a run of text."""
        self._text.append(text)

    def _first(self, name: str) -> str:
        return next(iter(self._values[name]), "")

    def _time(self, name: str) -> str:
        return next(filter(None, map(iso_time, self._values[name])), "")


class _EntityError(ExtractionError):
    """The document declares an entity: a name that may stand for any amount of text, or for another file."""


class _Events:
    """Filters the events between parser and handler: strips prefixes, drops skipped elements, counts levels."""

    def __init__(self, handler: XmlHandler, skipped: frozenset[str]) -> None:
        self._handler = handler
        self._skipped = skipped
        self._open: list[str] = []
        self._n_reported = MAX_DEPTH
        """The number of open elements that are reported, from the outermost; MAX_DEPTH if all are."""

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
        if len(self._open) > self._n_reported:
            return
        if name in self._skipped:
            self._n_reported = len(self._open) - 1
        else:
            self._handler.start(name, _bare(attributes) if attributes else attributes)

    def _end(self, _: str = "") -> None:
        name = self._open.pop()
        if len(self._open) < self._n_reported:
            self._handler.end(name)
        elif len(self._open) == self._n_reported:
            self._n_reported = MAX_DEPTH

    def _text(self, text: str) -> None:
        if len(self._open) <= self._n_reported:
            self._handler.text(text)


def _bare(attributes: dict[str, str]) -> dict[str, str]:
    if ":" not in "".join(attributes):
        return attributes
    bare = {name: value for name, value in attributes.items() if ":" not in name}
    return bare | {name.rpartition(":")[2]: value for name, value in attributes.items() if ":" in name}


def _refuse_entity(name: str, *_: object) -> None:
    raise _EntityError(f"it declares an XML entity, {name[:40]!r}, which may stand for any amount of text")
