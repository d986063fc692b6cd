"""Calendars and contacts (RFC 5545, RFC 6350): each event, task and card is a section under its name.

The `icalendar` package takes 70 ms to import and refuses files that people have; a few rules of the formats suffice.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.metadata import distinct_values, iso_time, single_line_value


def extract_calendar(text: str, kind: str) -> Document:
    """Read the events, tasks and journal entries of a calendar; alarms and time zones are left out."""
    components = list(_components(text, _ENTRIES))
    draft = Draft()
    for properties in components:
        draft.heading(1, _first(properties, "SUMMARY") or _first(properties, "DESCRIPTION"))
        _write_properties(draft, properties, _ENTRY_LABELS)
    metadata = Metadata()
    if len(components) == 1:
        metadata = Metadata(
            authors=distinct_values(_people(components[0], "ORGANIZER")),
            created=_parse_time(_first(components[0], "DTSTART")),
            recipients=distinct_values(_people(components[0], "ATTENDEE")),
            tags=distinct_values(_first(components[0], "CATEGORIES").split(",")),
        )
    return draft.document(kind, _calendar_name(text) if len(components) > 1 else "", metadata)


def extract_contacts(text: str, kind: str) -> Document:
    """Read the cards of an address book."""
    draft = Draft()
    for properties in _components(text, frozenset({"VCARD"})):
        parts = _first(properties, "N").replace(";", " ")
        draft.heading(1, _first(properties, "FN") or parts or _first(properties, "ORG"))
        _write_properties(draft, properties, _CARD_LABELS)
    return draft.document(kind)


def rejoin_split_characters(content: bytes) -> bytes:
    """Move line folds behind the characters that they split: a program may fold anywhere (RFC 5545, 3.1)."""
    return _CUT_CHARACTER.sub(rb"\1\3\2", content)


class _Property(NamedTuple):
    """A property of a component: its name in capitals, its parameters as they are written, and its decoded value."""

    name: str
    parameters: str
    value: str


def _write_properties(draft: Draft, properties: list[_Property], labels: dict[str, str]) -> None:
    draft.rows(
        f"{labels[item.name]}: {text}" for item in properties if item.name in labels and (text := _format_value(item))
    )
    for item in properties:
        if item.name in _TEXTS:
            draft.paragraph(item.value)


def _components(text: str, names: frozenset[str]) -> Iterator[list[_Property]]:
    """Yield the properties of each component with one of these names, without those of nested components."""
    properties: list[_Property] = []
    depth = 0
    for item in _properties(text):
        is_component = item.value.upper() in names
        if item.name == "BEGIN":
            depth += bool(depth) or is_component
        elif item.name == "END" and depth:
            depth = 0 if is_component else depth - 1
            if not depth:
                yield properties
                properties = []
        elif depth == 1:
            properties.append(item)
    if properties:
        yield properties


def _properties(text: str) -> Iterator[_Property]:
    for line in _unfold(text):
        if match := _CONTENT_LINE.match(line):
            parameters = match["parameters"]
            yield _Property(match["name"].upper(), parameters, _decode_value(line[match.end() :], parameters))


def _unfold(text: str) -> Iterator[str]:
    """Yield lines with their continuations joined, after a leading blank or a soft line break (vCard 2.1)."""
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


def _decode_value(value: str, parameters: str) -> str:
    if _QUOTED in parameters.upper():
        value = quopri.decodestring(value.encode()).decode("utf-8", "replace").replace("\r\n", "\n")
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value).strip()


def _format_value(item: _Property) -> str:
    if item.name in _TIMES:
        return _parse_time(item.value).replace("T", " ") or single_line_value(item.value)
    if item.name in _PEOPLE:
        return _format_person(item)
    if "ENCODING=B" in item.parameters.upper() or item.value.startswith("data:"):
        return ""
    return ", ".join(filter(None, (single_line_value(part) for part in item.value.split(";"))))


def _format_person(item: _Property) -> str:
    address = single_line_value(re.sub(r"(?i)^mailto:", "", item.value))
    name = _COMMON_NAME.search(item.parameters)
    return f"{name[1] or name[2]} <{address}>" if name else address


def _people(properties: list[_Property], name: str) -> Iterator[str]:
    return (_format_person(item) for item in properties if item.name == name)


def _first(properties: list[_Property], name: str) -> str:
    return next((single_line_value(item.value) for item in properties if item.name == name), "")


def _parse_time(text: str) -> str:
    match = _TIME.match(text)
    if not match:
        return iso_time(text[:10])
    year, month, day, hour, minute, zone = match.groups()
    return iso_time(f"{year}-{month}-{day}" + (f"T{hour}:{minute}{zone}" if hour else ""))


def _calendar_name(text: str) -> str:
    match = _NAME_OF_CALENDAR.search(text[:_NAME_WITHIN])
    return single_line_value(match[1]) if match else ""


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
