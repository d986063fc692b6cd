"""Calendars and contacts."""

from __future__ import annotations

import pytest

from directory_indexer.formats.calendars import extract_calendar, extract_contacts
from directory_indexer.formats.document import Document

MEETING = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:STANDARD
DTSTART:19701025T030000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:1@example.org
DTSTART;TZID=Europe/Berlin:20240312T100000
DTEND;TZID=Europe/Berlin:20240312T110000
SUMMARY:Budget for the
  boiler\\, second round
LOCATION:Room 4\\; left wing
ORGANIZER;CN="Ada Byron":mailto:ada@example.org
ATTENDEE;CN=Karl;ROLE=REQ-PARTICIPANT:mailto:karl@example.org
CATEGORIES:money,house
DESCRIPTION:Bring the offers.\\nAnd coffee.
BEGIN:VALARM
DESCRIPTION:Reminder of an alarm
END:VALARM
END:VEVENT
END:VCALENDAR
"""


def calendar(*events: str) -> Document:
    return extract_calendar("BEGIN:VCALENDAR\n" + "".join(events) + "END:VCALENDAR\n", "calendar")


def event(*lines: str) -> str:
    return "\n".join(("BEGIN:VEVENT", *lines, "END:VEVENT", ""))


def test_an_event_is_a_section_under_its_name() -> None:
    document = extract_calendar(MEETING, "calendar")

    assert document.title == "Budget for the boiler, second round"
    assert document.sections[0].headings == ("Budget for the boiler, second round",)
    assert "Location: Room 4, left wing" in document.text.replace(";", ",")
    assert "Starts: 2024-03-12 10:00" in document.text
    assert "Bring the offers.\nAnd coffee." in document.text


def test_alarms_and_time_zones_are_left_out() -> None:
    text = extract_calendar(MEETING, "calendar").text
    assert "alarm" not in text
    assert "1970" not in text


def test_an_event_says_who_and_when() -> None:
    metadata = extract_calendar(MEETING, "calendar").metadata
    assert metadata.created == "2024-03-12T10:00"
    assert metadata.tags == ("money", "house")
    assert [author.lower() for author in metadata.authors] == ["ada byron <ada@example.org>"]
    assert [recipient.lower() for recipient in metadata.recipients] == ["karl <karl@example.org>"]


def test_a_calendar_of_several_events_has_a_section_for_each_and_its_own_name() -> None:
    document = calendar("X-WR-CALNAME:Holidays\n", event("SUMMARY:Sea"), event("SUMMARY:Hills", "DTSTART:20240801"))

    assert document.title == "Holidays"
    assert [section.headings for section in document.sections] == [("Sea",), ("Hills",)]
    assert "Starts: 2024-08-01" in document.text


@pytest.mark.parametrize("cut", [60, 200, 330, 430, 520])
def test_a_calendar_that_is_cut_off_keeps_what_came_before(cut: int) -> None:
    assert isinstance(extract_calendar(MEETING[:cut], "calendar"), Document)


def test_events_without_end_do_not_swallow_the_next() -> None:
    document = calendar("BEGIN:VEVENT\nSUMMARY:Open\n", event("SUMMARY:Closed"))
    assert "Open" in document.text


CARDS = """BEGIN:VCARD
VERSION:3.0
FN:Grace Hopper
N:Hopper;Grace;;;
ORG:Navy;Computing
item1.EMAIL;TYPE=work:grace@example.org
TEL;TYPE=cell:+1 555 0100
PHOTO;ENCODING=b;TYPE=JPEG:AAAABBBBCCCC
 DDDDEEEE
NOTE:Likes clocks\\, slow ones
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg
NOTE;ENCODING=QUOTED-PRINTABLE:first=0D=0A=
second
END:VCARD
"""


def test_a_card_is_a_section_under_the_name_of_the_person() -> None:
    document = extract_contacts(CARDS, "contacts")

    assert document.sections[0].headings == ("Grace Hopper",)
    assert "Email: grace@example.org" in document.text
    assert "Organization: Navy, Computing" in document.text
    assert "Likes clocks, slow ones" in document.text
    assert "AAAA" not in document.text
    assert "DDDD" not in document.text


def test_a_card_of_an_old_telephone_is_decoded() -> None:
    document = extract_contacts(CARDS, "contacts")
    assert document.sections[1].headings == ("Müller Jörg",)
    assert "first\nsecond" in document.text


def test_names_of_people_are_as_they_are_written() -> None:
    event = "BEGIN:VEVENT\nSUMMARY:Tea\nORGANIZER;cn=Rory McDonald:mailto:rory@example.org\nEND:VEVENT\n"
    document = calendar(event)
    assert "Organizer: Rory McDonald <rory@example.org>" in document.text
    assert document.metadata.authors == ("Rory McDonald <rory@example.org>",)
