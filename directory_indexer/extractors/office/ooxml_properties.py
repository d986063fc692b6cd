"""Metadata of Office Open XML packages: `docProps/core.xml` and `docProps/app.xml`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.properties import iso_time, listed, one_value, primary_language
from directory_indexer.extractors.xml_events import read_xml
from directory_indexer.extractors.xml_values import XmlValues


class Properties(NamedTuple):
    """The title of a package, and its other metadata."""

    title: str
    metadata: Metadata


def read_properties(package: Package) -> Properties:
    """Return the properties of a package; damaged or missing ones are empty."""
    xml_values = XmlValues()
    for part in _parts(package):
        read_xml(package.pieces(part), xml_values)
    return properties_of(xml_values.first)


def properties_of(value_of: Callable[[str], str]) -> Properties:
    """Return properties by the names that they have in packages."""
    return Properties(
        value_of("title"),
        Metadata(
            authors=listed(value_of("creator")),
            created=iso_time(value_of("created")),
            modified=iso_time(value_of("modified")),
            language=primary_language(value_of("language")),
            subject=one_value(value_of("subject")),
            tags=listed(value_of("keywords")),
            n_pages=_number(value_of("Pages")),
        ),
    )


def _parts(package: Package) -> list[str]:
    by_role = {relation.role: relation.part for relation in package.relations().values()}
    return [by_role.get(role, usual) for role, usual in _PROPERTY_PARTS.items()]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < _MAX_DIGITS and int(text) else None


_PROPERTY_PARTS: Final = {"core-properties": "docProps/core.xml", "extended-properties": "docProps/app.xml"}
_MAX_DIGITS: Final = 6
