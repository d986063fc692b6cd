"""Makes the files of a home by chance: each of a kind that people have, in one of four languages."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from email.message import EmailMessage
from html import escape
from zlib import crc32

from archives import tarred
from odf_files import cell, heading, packed, row, table
from odf_files import paragraph as odt_paragraph
from office_files import cells, docx, paragraph, pptx, shape, xlsx

from corpus.phrases import PEOPLE, WORDS, Words


def invoice_of(words: Words, trade: str, number: int, amount: int) -> str:
    lines = (f"{words.invoice} {number}", f"{trade}", f"{words.total}: {amount}.00 EUR")
    return "".join(paragraph(line) for line in lines)


Made = tuple[str, bytes]
"""A name and a content."""


def _invoice(chance: random.Random, words: Words, written: datetime) -> Made:
    trade, number = chance.choice(words.trades), chance.randrange(1000, 9999)
    body = invoice_of(words, trade, number, chance.randrange(40, 900))
    return f"Documents/Invoices/{words.invoice} {trade}.docx", docx(body + paragraph(f"{written:%d.%m.%Y}"))


def _letter(chance: random.Random, words: Words, _: datetime) -> Made:
    title = paragraph(chance.choice(words.topics), "<w:pStyle w:val='Heading1'/>")
    return "Documents/Letters/letter.docx", docx(title + "".join(map(paragraph, chance.sample(words.letter, 4))))


def _note(chance: random.Random, words: Words, _: datetime) -> Made:
    topic = chance.choice(words.topics)
    return f"Notes/{topic}.md", f"# {topic}\n\n{' '.join(chance.sample(words.letter, 3))}\n".encode()


def _text(chance: random.Random, words: Words, _: datetime) -> Made:
    body = heading(1, chance.choice(words.topics)) + "".join(odt_paragraph(paragraph) for paragraph in words.letter)
    prices = table(row(cell("Item"), cell("EUR")), row(cell(chance.choice(words.trades)), cell("120")))
    return "Documents/Texts/text.odt", packed("odt", body + prices)


def _sheet(chance: random.Random, words: Words, _: datetime) -> Made:
    rows = [cells(n, A=chance.choice(words.topics), B=str(chance.randrange(10, 5000))) for n in range(2, 30)]
    return "Documents/Sheets/sheet.xlsx", xlsx(
        {chance.choice(words.topics): cells(1, A="Item", B="EUR") + "".join(rows)}
    )


def _slides(chance: random.Random, words: Words, _: datetime) -> Made:
    topics = chance.sample(words.topics, 3)
    pages = {f"s{n}": shape(topic, placeholder="title") + shape(*words.letter[:2]) for n, topic in enumerate(topics)}
    return f"Documents/Slides/{topics[0]}.pptx", pptx(pages)


def message(sender: str, subject: str, text: str, written: datetime, *attached: tuple[str, bytes]) -> bytes:
    message = EmailMessage()
    address = sender.split(maxsplit=1)[0].lower().encode("ascii", "ignore").decode()
    message["From"], message["To"], message["Subject"] = f"{sender} <{address}@example.org>", "me@example.org", subject
    message["Date"] = f"{written:%a, %d %b %Y %H:%M:%S +0000}"
    message["Message-ID"] = f"<{written:%Y%m%d%H%M}.{crc32(subject.encode())}@example.org>".replace("-", "")
    message.set_content(text)
    for name, content in attached:
        message.add_attachment(content, "application", "octet-stream", filename=name)
    return message.as_bytes()


def _mail(chance: random.Random, words: Words, written: datetime) -> Made:
    text = "\n".join(chance.sample(words.letter, 3)) + "\n"
    attached = [("invoice.zip", packed_at({f"{words.invoice}.docx": _invoice(chance, words, written)[1]}, written))]
    attached = attached if chance.random() < _WITH_ATTACHMENT else []
    return "Mail/mail.eml", message(chance.choice(PEOPLE), chance.choice(words.topics), text, written, *attached)


def _archive(chance: random.Random, words: Words, written: datetime) -> Made:
    mails = {f"{n}.eml": _mail(chance, words, written)[1] for n in range(3)}
    return "Archive/old.zip", packed_at(
        {"notes.md": _note(chance, words, written)[1], "mail.tar": tarred(mails)}, written
    )


def _photo(chance: random.Random, words: Words, _: datetime) -> Made:
    text = f"{chance.choice(words.topics)} {chance.choice(PEOPLE)}".encode()
    start = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", bytes((0, 0, 0, 9, 0, 0, 0, 9, 8, 0, 0, 0, 0)))
    return "Pictures/photo.png", start + _chunk(b"iTXt", b"Description\0\0\0\0\0" + text) + _chunk(b"IEND", b"")


def packed_at(members: Mapping[str, bytes], written: datetime) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, written.timetuple()[:6]), content)
    return packed.getvalue()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + crc32(kind + content).to_bytes(4, "big")


def _event(chance: random.Random, words: Words, written: datetime) -> Made:
    event = f"SUMMARY:{chance.choice(words.trades)}\nDTSTART:{written:%Y%m%dT%H%M%SZ}\nLOCATION:{chance.choice(PEOPLE)}"
    return "Calendar/event.ics", f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{event}\nEND:VEVENT\nEND:VCALENDAR\n".encode()


def _contact(chance: random.Random, words: Words, _: datetime) -> Made:
    person, trade = chance.choice(PEOPLE), chance.choice(words.trades)
    phone = f"+49 30 {chance.randrange(10**6, 10**7)}"
    return (
        "Contacts/card.vcf",
        f"BEGIN:VCARD\nVERSION:3.0\nFN:{person}\nTITLE:{trade}\nTEL:{phone}\nEND:VCARD\n".encode(),
    )


def _source(chance: random.Random, words: Words, _: datetime) -> Made:
    name = chance.choice(WORDS["en"].topics)
    text = f'"""Counts the {name}."""\n\n\ndef count_{name}(rows):\n    """{words.letter[0]}"""\n    return len(rows)\n'
    return f"Projects/{name}/count.py", text.encode()


def _page(chance: random.Random, words: Words, _: datetime) -> Made:
    body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in chance.sample(words.letter, 4))
    return (
        "Downloads/page.html",
        f"<html><title>{chance.choice(words.topics)}</title><body>{body}</body></html>".encode(),
    )


_WITH_ATTACHMENT = 0.4
KINDS: tuple[Callable[[random.Random, Words, datetime], Made], ...] = (
    *(_invoice, _letter, _note, _note, _text, _sheet, _slides, _mail, _mail, _mail, _archive, _photo, _event),
    *(_contact, _source, _page),
)
