"""XMP: metadata that programs embed in a document or picture, as a packet of RDF."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.properties import iso_time, one_value, primary_language, values
from directory_indexer.extractors.xml_events import read_xml


def read_xmp(packet: str | bytes) -> Properties:
    """Return the properties of a packet; none if it is damaged, declares entities or is too long."""
    properties = Properties()
    if packet and len(packet) <= _MAX_PACKET:
        try:
            read_xml([packet], properties)
        except ExtractionError:
            return Properties()
    return properties


class Properties:
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
            authors=values(self._values["creator"]),
            created=self._time("DateTimeOriginal") or self._time("DateCreated") or self._time("CreateDate"),
            modified=self._time("ModifyDate"),
            language=primary_language(self._first("language")),
            subject=one_value(self._first("description")),
            tags=values(self._values["subject"]),
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


_MAX_PACKET: Final = 1_000_000
_PROPERTIES: Final = frozenset(
    {"title", "creator", "CreateDate", "DateCreated", "DateTimeOriginal", "ModifyDate"}
    | {"language", "description", "subject"}
)
