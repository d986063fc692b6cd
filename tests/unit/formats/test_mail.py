from __future__ import annotations

import base64
import binascii
import io
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.mail.mapi import decompress_rtf
from directory_indexer.formats.mail.message import ENCRYPTED, MAX_PARTS, extract_web_archive, open_mailbox, open_message
from directory_indexer.formats.mail.signed import signed_content
from directory_indexer.formats.office.rtf import rtf_text
from directory_indexer.formats.recognition import kind_of
from directory_indexer.formats.table import FORMATS

if TYPE_CHECKING:
    from directory_indexer.formats.containers import Member
    from directory_indexer.formats.document import Document

PLAIN = b"""\
From: =?utf-8?q?J=C3=BCrgen_M=C3=BCller?= <jm@example.org>
To: Ada <ada@example.org>, bob@example.org
Cc: =?iso-8859-1?q?Ren=E9?= <rene@example.org>
Subject: =?utf-8?b?UmVjaG51bmcgZsO8ciBNw6Ryeg==?=
Date: Fri, 1 Mar 2024 12:00:00 +0100
Message-ID: <2@example.org>
References: <1@example.org> <1b@example.org>

The plumber was here.
"""


def read(content: bytes, budget: Budget | None = None) -> tuple[Document, list[Member]]:
    contents = open_message(io.BytesIO(content), "email", budget or Budget())
    assert contents.document is not None
    return contents.document, list(contents.members)


def mail(body: str = "The plumber was here.\n") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ada@example.org", "bob@example.org", "The pipe"
    message.set_content(body)
    return message


def test_everybody_whom_a_message_went_to_is_in_its_text() -> None:
    message = mail()
    people = [f"Person {number} <p{number}@example.org>" for number in range(100)]
    del message["To"]
    message["To"], message["Bcc"] = ", ".join(people), "eve@example.org"
    document, _ = read(message.as_bytes())

    lines = document.text.splitlines()
    assert f"To: {', '.join(people)}" in lines
    assert "Bcc: eve@example.org" in lines
    assert len(document.metadata.recipients) == 32
    assert document.metadata.copied == ("eve@example.org",)


def test_headers_that_people_look_for_come_before_the_body() -> None:
    document, _ = read(PLAIN)

    assert document.title == "Rechnung für März"
    assert document.text.splitlines() == [
        "Subject: Rechnung für März",
        "From: Jürgen Müller <jm@example.org>",
        "To: Ada <ada@example.org>, bob@example.org",
        "Cc: René <rene@example.org>",
        "Date: Fri, 1 Mar 2024 12:00:00 +0100",
        "",
        "The plumber was here.",
    ]


def test_metadata_tell_who_wrote_to_whom_and_when() -> None:
    metadata = read(PLAIN)[0].metadata

    assert metadata.sender == metadata.authors == ("Jürgen Müller <jm@example.org>",)
    assert metadata.recipients == ("Ada <ada@example.org>", "bob@example.org")
    assert metadata.copied == ("René <rene@example.org>",)
    assert metadata.created == "2024-03-01T12:00:00+01:00"
    assert (metadata.message_id, metadata.thread) == ("2@example.org", "1@example.org")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"Subject: =?no-such-charset?q?abc?=", "abc"),
        (b"Subject: caf\xc3\xa9", "café"),
        (b"Subject: caf\xe9", "café"),
        (b"Subject: =?utf-8?b?broken", "=?utf-8?b?broken"),
        (b"Subject: =?utf-8?b?a?=", "=?utf-8?b?a?="),
        (b"Subject: folded\r\n over lines", "folded over lines"),
        (b"Subject:", ""),
    ],
)
def test_no_subject_is_wrong(header: bytes, expected: str) -> None:
    assert read(header + b"\nFrom: a@b.org\n\nText\n")[0].title == expected


@pytest.mark.parametrize("date", ["yesterday", "", "Fri, 99 Mar 2024 12:00:00", "Fri, 1 Mar 99999 12:00:00 +0000"])
def test_no_date_is_better_than_a_wrong_one(date: str) -> None:
    assert read(f"Date: {date}\nFrom: a@b.org\n\nText\n".encode())[0].metadata.created == ""


def test_a_date_without_a_zone_is_kept_without_one() -> None:
    content = b"Date: Fri, 1 Mar 2024 12:00:00 -0000\nFrom: a@b.org\n\nText\n"
    assert read(content)[0].metadata.created == "2024-03-01T12:00:00"


def test_addresses_nested_without_end_name_nobody() -> None:
    document, _ = read(b"From: " + b"(" * 30_000 + b"\nSubject: Roof\n\nText\n")
    assert (document.title, document.metadata.sender) == ("Roof", ())


def test_parameters_against_the_rules_say_nothing() -> None:
    content = b"Subject: Roof\nContent-Type: text/plain; charset*=utf-8''%ff; charset*0*=x'y'%41\n\nText\n"
    assert read(content)[0].text.endswith("Text\n")


def test_of_a_body_in_two_forms_the_plain_one_is_read() -> None:
    message = mail("The aviary is closed.\n")
    message.add_alternative("<p>The <b>aviary</b> is closed.</p>", subtype="html")

    assert read(message.as_bytes())[0].text.count("aviary") == 1


def test_of_a_body_in_two_forms_a_line_of_the_other_with_another_word_is_read() -> None:
    message = mail("The aviary is closed.\nWith regards\n")
    message.add_alternative("<p>The aviary is closed.</p><p>With regards</p><p>Kea Takahe</p>", subtype="html")

    text = read(message.as_bytes())[0].text

    assert text.count("aviary") == text.count("regards") == 1
    assert "\nKea Takahe\n" in f"{text}\n"


def test_of_a_body_in_two_forms_that_say_different_things_both_are_read() -> None:
    message = mail("To read this message, please allow your program to show HTML, or open it in a browser.\n")
    message.add_alternative("<p>The aviary stays closed on Monday.</p><p>Kea</p><p>12</p>", subtype="html")

    text = read(message.as_bytes())[0].text

    assert "please allow" in text
    assert "The aviary stays closed on Monday." in text


def test_a_plain_form_that_says_something_else_is_read_behind_the_fuller_one() -> None:
    message = mail("Just a fallback for those old terminals.\n")
    message.add_alternative(f"<p>The aviary {' '.join(f'kea{number}' for number in range(20))}.</p>", subtype="html")

    text = read(message.as_bytes())[0].text

    assert text.index("kea19") < text.index("Just a fallback")


@pytest.mark.parametrize("eggs", ["two", "two of them laid on Friday"])
def test_what_the_other_form_says_in_some_lines_follows(eggs: str) -> None:
    message = mail("The aviary is closed, kakapo weka takahe.\nSee <mailto:kea@example.org>.\nWith regards\n")
    rows = f"<p>The aviary is closed.</p>\n<p>Kiwi eggs: {eggs}.</p>\n<p>With regards</p>"
    message.add_alternative(rows, subtype="html")

    text = read(message.as_bytes())[0].text

    assert text.count("takahe") == text.count("Kiwi") == text.count("regards") == 1


def test_a_body_in_html_alone_is_read_without_its_tags() -> None:
    message = mail()
    message.set_content("<html><style>p{}</style><p>In <b>HTML</b>.</p></html>", subtype="html")

    text = read(message.as_bytes())[0].text

    assert "In HTML." in text
    assert "style" not in text


def test_attachments_are_members() -> None:
    message = mail()
    message.add_attachment(b"a,b\n1,2\n", "text", "csv", filename="Zahlen für März.csv")
    message.add_attachment(mail("Inside.\n"))
    message.add_attachment(b"\x89PNG", "image", "png")

    document, members = read(message.as_bytes())

    assert [member.name for member in members] == ["Zahlen für März.csv", "The pipe.eml", "part 5.png"]
    assert members[0].content == b"a,b\n1,2\n"
    assert b"Inside." in members[1].content
    assert "Inside" not in document.text


def uuencoded(name: str, content: bytes, end: str = "`\nend\n") -> str:
    lines = (binascii.b2a_uu(content[at : at + 45], backtick=True) for at in range(0, len(content), 45))
    return f"begin 644 {name}\n{b''.join(lines).decode()}{end}"


def test_a_file_in_a_body_is_an_attachment_and_no_text() -> None:
    first, second = b"a,b\n" * 40, bytes(range(256))
    body = f"See the two files.\n{uuencoded('März.csv', first)}\nand\n{uuencoded('b.bin', second, 'end')}\nAnn\n"
    document, members = read(mail(body).as_bytes())

    assert document.text.split("\n\n", 1)[1].split() == ["See", "the", "two", "files.", "and", "Ann"]
    assert [(member.name, member.content) for member in members] == [("März.csv", first), ("b.bin", second)]


def test_a_file_in_a_body_that_is_cut_off_is_as_long_as_it_is() -> None:
    document, [member] = read(mail(uuencoded("a.csv", b"a,b\n" * 30, "")[:-2]).as_bytes())

    assert "begin" not in document.text
    assert member.content.startswith(b"a,b\n" * 22)


@pytest.mark.parametrize(
    "body", ["begin 644 words\nwith no data\nend\n", "begin 644 a\n" * 3 + "MORE\n", "begin\nend\n"]
)
def test_words_that_begin_like_a_file_are_words(body: str) -> None:
    document, members = read(mail(body).as_bytes())

    assert document.text.endswith(body)
    assert members == []


def test_an_attached_message_may_be_encoded_like_a_file() -> None:
    content = (
        b"From: a@b.org\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822\n"
        b"Content-Transfer-Encoding: base64\n\nU3ViamVjdDogaW5uZXIKCkhlbGxvCg==\n--x--\n"
    )
    [member] = read(content)[1]
    assert member.content == b"Subject: inner\n\nHello\n"


@pytest.mark.parametrize("kind", ["multipart/encrypted; boundary=x", "application/pkcs7-mime; name=smime.p7m"])
def test_an_encrypted_message_says_so(kind: str) -> None:
    text = read(f"From: a@b.org\nSubject: Secret\nContent-Type: {kind}\n\n--x\n\nabc\n--x--\n".encode())[0].text

    assert "Subject: Secret" in text
    assert text.endswith(ENCRYPTED)


def test_parts_beyond_the_limit_are_said_to_be_left() -> None:
    part = b"--x\nContent-Type: text/plain; name=a.txt\n\nhello\n"
    content = b"From: a@b.org\nContent-Type: multipart/mixed; boundary=x\n\n" + part * 3_000 + b"--x--\n"
    contents = open_message(io.BytesIO(content), "email", Budget())
    members: list[Member] = []

    with pytest.raises(SkipFileError, match="more than 2000 parts"):
        members.extend(contents.members)

    assert contents.document is not None
    assert len(members) <= MAX_PARTS


def test_parts_nested_without_end_are_a_failure() -> None:
    levels = b"".join(
        b"Content-Type: multipart/mixed; boundary=x%d\n\n--x%d\n" % (level, level) for level in range(5_000)
    )
    with pytest.raises(ExtractionError):
        read(b"From: a@b.org\n" + levels)


def test_headers_of_any_length_are_cut() -> None:
    content = b"Subject: " + b"word " * 2_000_000 + b"\nFrom: a@b.org\n\nText\n"
    document, _ = read(content)
    assert len(document.title) <= 500
    assert document.text.endswith("Text\n")


def test_broken_base64_is_one_bad_attachment_at_most() -> None:
    content = (
        b"From: a@b.org\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: application/zip; name=a.zip\n"
        b"Content-Transfer-Encoding: base64\n\n!!!not base64!!\n--x\nContent-Type: text/plain\n\nThe body.\n--x--\n"
    )
    document, members = read(content)
    assert "The body." in document.text
    assert [member.name for member in members] == ["a.zip"]


MAILBOX = b"""\
From ada@example.org Fri Mar  1 12:00:00 2024
Subject: First ../mail: a/b?
Date: Fri, 1 Mar 2024 12:00:00 +0000

>From here on it is quoted.
From now on this is no separator.

From bob@example.org Sat Mar  2 12:00:00 2024
Subject: Second

Text.
"""


def members_of(content: bytes, budget: Budget | None = None) -> list[Member]:
    return list(open_mailbox(io.BytesIO(content), "mbox", budget or Budget()).members)


def test_each_message_of_a_mailbox_is_a_member() -> None:
    first, second = members_of(MAILBOX)

    assert [first.name, second.name] == ["0001 First .. mail a b.eml", "0002 Second.eml"]
    assert first.modified_ns == 1_709_294_400_000_000_000
    assert first.content.endswith(b"\n\nFrom here on it is quoted.\nFrom now on this is no separator.\n")
    assert second.content == b"Subject: Second\n\nText.\n"


def test_a_mailbox_that_grows_keeps_its_members() -> None:
    more = MAILBOX + b"\nFrom eve@example.org Sun Mar  3 12:00:00 2024\nSubject: Third\n\nText.\n"
    assert [member.name for member in members_of(more)][:2] == [member.name for member in members_of(MAILBOX)]


def test_a_message_that_is_too_large_is_one_problem() -> None:
    large = MAILBOX.replace(b"Text.", b"word " * 1_000)
    first, second = members_of(large, Budget(member_bytes=2_000))
    assert first.problem is None
    assert "5018 bytes" in str(second.problem)


def test_a_line_without_end_is_read_in_pieces() -> None:
    [member] = members_of(b"From a@b.org Fri Mar  1 12:00:00 2024\n" + b"x" * 3_000_000, Budget(member_bytes=1_000_000))
    assert member.problem is not None


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.eml", PLAIN, "email"),
        ("1709294400.M1P2.host:2,S", PLAIN, "email"),
        ("Inbox", MAILBOX, "mbox"),
        ("letter.txt", b"From: me\nDear Ada,\n", "text"),
        ("notes", b"From here on all is well.\nReally.\n", "text"),
    ],
)
def test_mail_is_recognised_by_what_it_says(name: str, content: bytes, kind: str) -> None:
    assert kind_of(file_path(name), content) == kind


def test_a_saved_page_is_read_as_a_page() -> None:
    content = (
        b"From: <Saved by Blink>\nSubject: A page\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n"
        b"--x\nContent-Type: text/html; charset=utf-8\n\n<title>The page</title><h1>Foxes</h1>"
        b"<p>They live in dens.</p>\n"
        b"--x\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAAA\n--x--\n"
    )
    document = extract_web_archive(content, "mhtml", Budget())
    assert document.title == "The page"
    assert "They live in dens." in document.text
    assert document.sections[-1].headings == ("Foxes",)


def test_a_compressed_body_is_unpacked() -> None:
    # The example of MS-OXRTFCP, section 4.1.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232 0af3206865 6c09002062770 5b06c647d0a800fa0".replace(
            " ", ""
        )
    )
    assert rtf_text(decompress_rtf(packed, 1_000)) == "hello world\n"
    assert decompress_rtf(packed, 10) == b"{\\rtf1\\ansi\\ansicpg125"
    assert decompress_rtf(packed[:10], 1_000) == b""


def test_a_format_of_mail_needs_a_worker() -> None:
    assert all(FORMATS[kind].needs_worker for kind in ("email", "mbox", "msg", "emlx"))


def test_of_two_forms_that_say_the_same_the_plain_one_is_read() -> None:
    message = mail("The plumber was here.\n")
    message.add_alternative("<p>The <b>plumber</b> was here.</p><img alt='Logo'>", subtype="html")

    assert "\n\nThe plumber was here.\n" in read(message.as_bytes())[0].text


def test_what_is_signed_in_pieces_of_open_length_is_read() -> None:
    oid = bytes.fromhex("06092a864886f70d010702")
    data = bytes.fromhex("06092a864886f70d010701")
    entity = b"Content-Type: text/plain\n\nThe tapir is signed.\n"
    pieces = b"\x24\x80" + b"".join(b"\x04\x05" + entity[at : at + 5] for at in range(0, len(entity) - 4, 5)) + b"\0\0"
    inner = b"\x30\x80" + data + b"\xa0\x80" + pieces + b"\0\0" + b"\0\0"
    sealed = b"\x30\x80" + oid + b"\xa0\x80\x30\x80\x02\x01\x01\x31\x00" + inner + b"\0\0" * 3

    assert signed_content(sealed) == entity[: len(entity) // 5 * 5]
    assert signed_content(base64.encodebytes(sealed)) == signed_content(sealed)


@pytest.mark.parametrize("cut", range(2, 60, 3))
def test_a_signature_that_is_cut_off_is_damaged_or_gives_what_it_has(cut: int) -> None:
    oid = bytes.fromhex("06092a864886f70d010702")
    sealed = b"\x30\x80" + oid + b"\xa0\x80\x30\x80\x02\x01\x01\x31\x00\x30\x80\x06\x01\x00\xa0\x80\x24\x80\x04\x03abc"

    try:
        signed = signed_content(sealed[:cut])
    except ExtractionError:
        return
    assert signed in {None, b"", b"a", b"ab", b"abc"}


def test_what_is_encrypted_is_told_to_be_so() -> None:
    content = b"Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\n"
    sealed = bytes.fromhex("308006092a864886f70d010703a0800000")

    assert ENCRYPTED in read(b"Subject: Key\n" + content + base64.encodebytes(sealed))[0].text


def test_headers_with_blanks_before_the_colon_are_read() -> None:
    document, _ = read(b"From : Joe Q. Public <john.q.public@example.com>\nSubject    : The capybara\n\nBody : text\n")

    assert (document.title, document.metadata.sender) == (
        "The capybara",
        ("Joe Q. Public <john.q.public@example.com>",),
    )
    assert document.text.endswith("\n\nBody : text\n")


def test_flowed_lines_of_one_quotation_are_joined() -> None:
    head = b"Subject: Flow\nContent-Type: text/plain; format=flowed; delsp=yes\n\n"
    document, _ = read(head + b"> quoted part of a quo \n> kka letter\n  indented\n-- \nAda\n")

    assert document.text.endswith("> quoted part of a quokka letter\n indented\n-- \nAda\n")
