"""What came by mail is found by its mail: members of a message inherit what they do not say themselves."""

from __future__ import annotations

import contextlib
import sqlite3
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

import pytest
from archives import zipped
from office_files import docx, paragraph, pptx, shape
from winmail_files import DATA, TITLE, attachment, attribute, winmail

from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index

SLIDES = pptx({"a": shape("The budget of the harbour grows.")})
REPORT = docx(
    paragraph("The budget of the school shrinks."),
    {
        "docProps/core.xml": "<cp:coreProperties><dc:creator>Carl</dc:creator><dc:subject>Schools</dc:subject>"
        "<dcterms:modified>2020-05-01T00:00:00Z</dcterms:modified></cp:coreProperties>"
    },
)


def mail(
    sender: str = "Anna Berg <anna@example.org>",
    subject: str = "Harbour",
    text: str = "See what is attached.\n",
    **attached: bytes,
) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Cc"] = sender, "bob@example.org", "eve@example.org"
    message["Subject"], message["Date"] = subject, "Fri, 1 Mar 2024 12:00:00 +0100"
    message.set_content(text)
    for name, content in attached.items():
        message.add_attachment(content, "application", "octet-stream", filename=name.replace("_", "."))
    return message


def words(index: Index, query: str) -> list[str]:
    return sorted(index.names(query, mode=SearchMode.KEYWORD))


@pytest.fixture
def mailed(index: Index) -> Index:
    index.write_bytes("a.eml", mail(slides_pptx=SLIDES, report_docx=REPORT).as_bytes())
    index.write_bytes("own.pptx", SLIDES)
    index.run()
    return index


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("budget from:anna", ["a.eml!/report.docx", "a.eml!/slides.pptx"]),
        ("budget type:pptx from:anna", ["a.eml!/slides.pptx"]),
        ("budget -from:anna", ["own.pptx"]),
        ("budget to:bob", ["a.eml!/report.docx", "a.eml!/slides.pptx"]),
        ("budget cc:eve", ["a.eml!/report.docx", "a.eml!/slides.pptx"]),
        ("budget subject:harbour", ["a.eml!/slides.pptx"]),
        ("budget subject:schools", ["a.eml!/report.docx"]),
        ("budget author:anna", []),
        ("budget author:carl", ["a.eml!/report.docx"]),
        ("budget created:2024-03", ["a.eml!/slides.pptx"]),
        ("budget since:2024-03-01 until:2024-03-01", ["a.eml!/slides.pptx"]),
        ("budget until:2020", ["a.eml!/report.docx"]),
    ],
)
def test_an_attachment_is_found_by_what_its_message_says(mailed: Index, query: str, expected: list[str]) -> None:
    assert words(mailed, query) == expected


def test_a_hit_shows_which_mail_it_came_by(mailed: Index) -> None:
    [hit] = mailed.search("budget type:pptx from:anna")
    assert hit.metadata.sender == ("Anna Berg <anna@example.org>",)
    assert hit.metadata.recipients == ("bob@example.org",)
    assert (hit.metadata.subject, hit.metadata.created) == ("Harbour", "2024-03-01T12:00:00+01:00")
    assert hit.metadata.authors == ()


def test_a_file_of_a_maildir_has_no_suffix_and_is_mail_all_the_same(index: Index) -> None:
    index.write_bytes("cur/1700000000.M1P2.host:2,S", mail(soup_md=b"Boil the carrots.\n").as_bytes())
    index.run()

    assert words(index, "carrots from:anna") == ["cur/1700000000.M1P2.host:2,S!/soup.md"]


def test_what_lies_in_an_attached_archive_came_by_mail_too(index: Index) -> None:
    packed = zipped({"inner.zip": zipped({"soup.md": "Boil the carrots.\n"})})
    index.write_bytes("a.zip", zipped({"mail.eml": mail(all_zip=packed).as_bytes(), "stew.md": "Boil the carrots.\n"}))
    index.run()

    assert words(index, "carrots from:anna") == ["a.zip!/mail.eml!/all.zip!/inner.zip!/soup.md"]


def test_a_message_in_a_message_and_what_it_brings_are_by_its_own_sender(index: Index) -> None:
    inner = mail("Dora <dora@example.org>", "Carrots", soup_md=b"Boil the carrots.\n")
    index.write_bytes("a.eml", mail(forwarded_eml=inner.as_bytes()).as_bytes())
    index.run()

    assert words(index, "carrots from:dora") == ["a.eml!/forwarded.eml", "a.eml!/forwarded.eml!/soup.md"]
    assert words(index, "carrots from:anna") == []


def test_the_same_attachment_of_a_changed_message_is_found_by_the_new_one(index: Index) -> None:
    attached: dict[str, Any] = {
        "one_md": b"The budget of one.\n",
        "all_zip": zipped({"two.md": "The budget of two.\n"}),
    }
    index.write_bytes("a.eml", mail(**attached).as_bytes())
    index.write_bytes("b.zip", zipped({"b.eml": mail(three_md=b"The budget of three.\n").as_bytes()}))
    index.run()
    assert len(words(index, "budget from:anna")) == 3

    index.write_bytes("a.eml", mail("Dora <dora@example.org>", **attached).as_bytes())
    dora = mail("Dora <dora@example.org>", three_md=b"The budget of three.\n").as_bytes()
    index.write_bytes("b.zip", zipped({"b.eml": dora}))
    index.run()

    assert not index.search("budget", metadata=(("from", "anna"),))
    assert words(index, "budget from:dora") == ["a.eml!/all.zip!/two.md", "a.eml!/one.md", "b.zip!/b.eml!/three.md"]


def test_attachments_of_a_message_that_is_known_are_not_read_again(index: Index) -> None:
    unreadable = b"\x89PNG\r\n\x1a\n" + bytes(64)
    message = mail(slides_pptx=SLIDES, picture_png=unreadable).as_bytes()
    index.write_bytes("a.zip", zipped({"a.eml": message}))
    index.run()

    index.write_bytes("a.zip", zipped({"a.eml": message, "new.md": "A page.\n"}))
    report = index.run()

    assert (report.n_added, report.n_changed, report.n_unchanged) == (1, 2, 1)  # the archive and the message, as text
    assert words(index, "budget from:anna") == ["a.zip!/a.eml!/slides.pptx"]


def test_a_secret_that_the_text_of_a_message_gives_away_is_not_inherited(index: Index) -> None:
    given_away = "kX9#mQ2$vL7pR4wZ"
    message = mail(subject=f"It is {given_away}", text=f"password = '{given_away}'\n", soup_md=b"Boil the carrots.\n")
    index.write_bytes("a.eml", message.as_bytes())
    index.run()

    [hit] = index.search("carrots type:markdown from:anna")
    assert given_away not in repr(hit)


def test_an_older_index_has_its_mail_read_again_and_nothing_else(index: Index) -> None:
    before = Fingerprint(embedding="fake/bag-of-words", chunking="64/8", extraction="1", analysis="1")
    index.fingerprint = before._replace(formats={"email": 1, "zip": 1, "markdown": 1, "pptx": 1})
    index.write_bytes("a.zip", zipped({"a.md": "Boil the carrots.\n"}))
    index.write_bytes("b.zip", zipped({"b.eml": mail(slides_pptx=SLIDES).as_bytes(), "c.md": "Peel the carrots.\n"}))
    index.write_bytes("c.eml", mail(report_docx=REPORT).as_bytes())
    index.write_bytes("d.pptx", SLIDES)
    index.run()
    with contextlib.closing(sqlite3.connect(index.app.loaded.config.storage.sqlite_path)) as database, database:
        database.execute("DELETE FROM metadata")

    index.fingerprint = before._replace(formats={"email": 2, "zip": 1, "markdown": 1, "pptx": 1})
    report = index.run()

    assert (report.n_unchanged, report.n_added, report.n_removed) == (3, 0, 0)
    assert words(index, "budget from:anna") == ["b.zip!/b.eml!/slides.pptx", "c.eml!/report.docx"]


def test_what_outlook_packed_into_one_attachment_came_by_its_mail(index: Index) -> None:
    attached = winmail(attachment(attribute(2, TITLE, b"soup.md\0"), attribute(2, DATA, b"Boil the carrots.\n")))
    index.write_bytes("a.eml", mail(winmail_dat=attached).as_bytes())
    index.run()

    assert words(index, "carrots from:anna") == ["a.eml!/winmail.dat!/soup.md"]
