"""Calendars and contacts (RFC 5545, RFC 6350): each event, task and card is a section under its name.

The `icalendar` package takes 70 ms to import and refuses files that people have; a few rules of the formats suffice.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.extractors.document import Document, Metadata
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.properties import iso_time, one_value, values


def extract_calendar(text: str, kind: str) -> Document:
    """Read the events, tasks and journal entries of a calendar; alarms and time zones are left out."""
    components = list(_components(text, _ENTRIES))
    draft = Draft()
    for properties in components:
        draft.heading(1, _first(properties, "SUMMARY") or _first(properties, "DESCRIPTION"))
        _write(draft, properties, _ENTRY_LABELS)
    metadata = Metadata()
    if len(components) == 1:
        metadata = Metadata(
            authors=values(_people(components[0], "ORGANIZER")),
            created=_time(_first(components[0], "DTSTART")),
            recipients=values(_people(components[0], "ATTENDEE")),
            tags=values(_first(components[0], "CATEGORIES").split(",")),
        )
    return draft.document(kind, _calendar_name(text) if len(components) > 1 else "", metadata)


def extract_contacts(text: str, kind: str) -> Document:
    """Read the cards of an address book."""
    draft = Draft()
    for properties in _components(text, frozenset({"VCARD"})):
        parts = _first(properties, "N").replace(";", " ")
        draft.heading(1, _first(properties, "FN") or parts or _first(properties, "ORG"))
        _write(draft, properties, _CARD_LABELS)
    return draft.document(kind)


def whole_characters(content: bytes) -> bytes:
    """Put folds behind the characters that they cut in two: a program may fold anywhere (RFC 5545, 3.1)."""
    return _CUT_CHARACTER.sub(rb"\1\3\2", content)


class _Property(NamedTuple):
    """A property of a component by its name in capitals, its parameters as they are written, and its plain value."""

    name: str
    parameters: str
    value: str


def _write(draft: Draft, properties: list[_Property], labels: dict[str, str]) -> None:
    draft.rows(f"{labels[one.name]}: {shown}" for one in properties if one.name in labels and (shown := _shown(one)))
    for one in properties:
        if one.name in _TEXTS:
            draft.paragraph(one.value)


def _components(text: str, wanted: frozenset[str]) -> Iterator[list[_Property]]:
    """Yield the properties of each wanted component, without those of the components in it."""
    properties: list[_Property] = []
    depth = 0
    for one in _properties(text):
        is_wanted = one.value.upper() in wanted
        if one.name == "BEGIN":
            depth += bool(depth) or is_wanted
        elif one.name == "END" and depth:
            depth = 0 if is_wanted else depth - 1
            if not depth:
                yield properties
                properties = []
        elif depth == 1:
            properties.append(one)
    if properties:
        yield properties


def _properties(text: str) -> Iterator[_Property]:
    for line in _unfolded(text):
        if found := _CONTENT_LINE.match(line):
            parameters = found["parameters"]
            yield _Property(found["name"].upper(), parameters, _plain(line[found.end() :], parameters))


def _unfolded(text: str) -> Iterator[str]:
    """Join lines that are continued: by a blank, or by the soft line breaks of quoted-printable (vCard 2.1)."""
    pieces: list[str] = []
    for line in text.split("\n"):
        if pieces and line.startswith((" ", "\t")):
            pieces.append(line[1:])
        elif pieces and pieces[-1].endswith("=") and _QUOTED in pieces[0].upper():
            pieces.append("\n" + line)
        else:
            if pieces:
                yield "".join(pieces)
            pieces = [line]
    yield "".join(pieces)


def _plain(value: str, parameters: str) -> str:
    if _QUOTED in parameters.upper():
        value = quopri.decodestring(value.encode()).decode("utf-8", "replace").replace("\r\n", "\n")
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value).strip()


def _shown(one: _Property) -> str:
    if one.name in _TIMES:
        return _time(one.value).replace("T", " ") or one_value(one.value)
    if one.name in _PEOPLE:
        return _person(one)
    if "ENCODING=B" in one.parameters.upper() or one.value.startswith("data:"):
        return ""
    return ", ".join(filter(None, (one_value(part) for part in one.value.split(";"))))


def _person(one: _Property) -> str:
    address = one_value(re.sub(r"(?i)^mailto:", "", one.value))
    name = _COMMON_NAME.search(one.parameters)
    return f"{name[1] or name[2]} <{address}>" if name else address


def _people(properties: list[_Property], name: str) -> Iterator[str]:
    return (_person(one) for one in properties if one.name == name)


def _first(properties: list[_Property], name: str) -> str:
    return next((one_value(one.value) for one in properties if one.name == name), "")


def _time(written: str) -> str:
    found = _TIME.match(written)
    if not found:
        return iso_time(written[:10])
    year, month, day, hour, minute, zone = found.groups()
    return iso_time(f"{year}-{month}-{day}" + (f"T{hour}:{minute}{zone}" if hour else ""))


def _calendar_name(text: str) -> str:
    found = _NAME_OF_CALENDAR.search(text[:_NAME_WITHIN])
    return one_value(found[1]) if found else ""


_CUT_CHARACTER: Final = re.compile(rb"([\xc2-\xf4][\x80-\xbf]{0,2})(\r?\n[ \t])([\x80-\xbf]{1,3})")
_ENTRIES: Final = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
_ENTRY_LABELS: Final = {
    "DTSTART": "Starts",
    "DTEND": "Ends",
    "DUE": "Due",
    "COMPLETED": "Completed",
    "RRULE": "Repeats",
    "LOCATION": "Location",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Attendee",
    "CATEGORIES": "Categories",
    "STATUS": "Status",
    "URL": "URL",
    "CONTACT": "Contact",
    "RESOURCES": "Resources",
}
_CARD_LABELS: Final = {
    "NICKNAME": "Nickname",
    "ORG": "Organization",
    "TITLE": "Title",
    "ROLE": "Role",
    "EMAIL": "Email",
    "TEL": "Phone",
    "ADR": "Address",
    "LABEL": "Address",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "URL": "URL",
    "IMPP": "Messaging",
    "CATEGORIES": "Categories",
    "RELATED": "Related",
    "LANG": "Language",
}
_TEXTS: Final = frozenset({"DESCRIPTION", "NOTE", "COMMENT"})
_TIMES: Final = frozenset({"DTSTART", "DTEND", "DUE", "COMPLETED", "BDAY", "ANNIVERSARY"})
_PEOPLE: Final = frozenset({"ORGANIZER", "ATTENDEE"})
_QUOTED: Final = "ENCODING=QUOTED-PRINTABLE"
_NAME_WITHIN: Final = 65_536
_CONTENT_LINE: Final = re.compile(
    r"(?:[A-Za-z0-9-]{1,60}\.)?(?P<name>[A-Za-z0-9-]{1,60})(?P<parameters>(?:;[^\":;]*+(?:\"[^\"]*+\"[^\":;]*+)*+)*+):"
)
_COMMON_NAME: Final = re.compile(r";CN=(?:\"([^\"]+)\"|([^\":;,]+))", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\([\\;,nN:])")
_TIME: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?")
_NAME_OF_CALENDAR: Final = re.compile(r"^X-WR-CALNAME[^:\n]*:([^\n]*)", re.MULTILINE | re.IGNORECASE)
