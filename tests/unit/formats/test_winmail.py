"""TNEF attachments of Outlook: the body and the attachments, up to any damage."""

from __future__ import annotations

import io
import struct

import pytest
from winmail_files import (
    BINARY,
    BODY,
    CODE_PAGES,
    DATA,
    NARROW,
    OBJECT,
    OF_ATTACHMENT,
    PROPERTIES,
    SUBJECT,
    TITLE,
    WHOLE_NUMBER,
    WIDE,
    attachment,
    attribute,
    properties,
    variable,
    winmail,
)

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget, Contents
from directory_indexer.formats.mail.winmail import MAX_ATTACHMENTS, open_winmail
from directory_indexer.formats.recognition import kind_of


def opened(content: bytes) -> Contents:
    return open_winmail(io.BytesIO(content), "tnef", Budget())


def test_it_is_known_by_its_content() -> None:
    assert kind_of(file_path("/root/winmail.dat"), winmail()) == "tnef"


def test_the_body_is_read_in_its_code_page() -> None:
    pages = attribute(1, CODE_PAGES, struct.pack("<II", 1251, 0))
    content = winmail(pages, attribute(1, SUBJECT, "Гавань\0".encode("cp1251")), attribute(1, BODY, b"Boil.\r\nEat.\0"))
    document = opened(content).document
    assert document is not None
    assert (document.title, document.text) == ("Гавань", "Boil.\nEat.")


def test_properties_win_over_what_programs_wrote_before() -> None:
    number = struct.pack("<HHI", WHOLE_NUMBER, 0x8001, 7)[:4] + bytes(20) + struct.pack("<II", 5, 7)
    named = variable(WIDE, 0x8002, b"x\0", bytes(16) + struct.pack("<II", 1, 6) + b"n\0m\0\0\0" + bytes(2))
    wide = variable(WIDE, 0x37, "Grüße\0".encode("utf-16-le"))
    page = variable(BINARY, 0x1013, b"<p>The walrus sleeps.</p>")
    document = opened(winmail(attribute(1, PROPERTIES, properties(number, named, wide, page)))).document
    assert document is not None
    assert (document.title, document.text.strip()) == ("Grüße", "The walrus sleeps.")


def test_attachments_are_members_by_their_long_names() -> None:
    short = attachment(attribute(2, TITLE, b"SOUP~1.MD\0"), attribute(2, DATA, b"Boil."))
    name = properties(variable(NARROW, 0x3707, b"../soup of carrots.md\0"))
    long = attachment(
        attribute(2, TITLE, b"SOUP~2.MD\0"), attribute(2, DATA, b"Peel."), attribute(2, OF_ATTACHMENT, name)
    )
    members = [(member.name, member.content) for member in opened(winmail(short, long)).members]
    assert members == [("SOUP~1.MD", b"Boil."), ("../soup of carrots.md", b"Peel.")]


def test_another_message_is_a_member_that_is_read_in_the_same_way() -> None:
    inner = winmail(attribute(1, BODY, b"The walrus sleeps.\0"))
    whole = properties(variable(OBJECT, 0x3701, bytes(16) + inner))
    [member] = opened(winmail(attachment(attribute(2, TITLE, b"Re\0"), attribute(2, OF_ATTACHMENT, whole)))).members
    assert (member.name, member.content) == ("Re.tnef", inner)


def test_what_comes_before_a_cut_is_read() -> None:
    content = winmail(attachment(attribute(2, DATA, b"Boil.")), attribute(1, BODY, b"x" * 100))
    [member] = opened(content[:-50]).members
    assert (member.name, member.content) == ("attachment 1", b"Boil.")


@pytest.mark.parametrize(
    "content",
    [
        winmail(),
        winmail(b"\1\3\x90\6\0\xff\xff\xff\xff"),
        winmail(attribute(1, PROPERTIES, b"\xff\xff\xff\xff" + struct.pack("<HHI", 0x1003, 0x37, 0xFFFFFFFF))),
        winmail(attribute(1, PROPERTIES, b"\1\0\0\0" + struct.pack("<HHII", WIDE, 0x37, 1, 0xFFFFFFFF))),
        winmail(attribute(1, PROPERTIES, b"\1\0\0\0" + struct.pack("<HHI", 0x77, 0x37, 1))),
    ],
)
def test_what_claims_more_than_there_is_fails(content: bytes) -> None:
    with pytest.raises(ExtractionError):
        opened(content)


def test_no_more_attachments_are_taken_than_a_message_may_have() -> None:
    content = winmail(*[attachment(attribute(2, DATA, b"x"))] * (MAX_ATTACHMENTS + 10))
    assert len(list(opened(content).members)) == MAX_ATTACHMENTS
