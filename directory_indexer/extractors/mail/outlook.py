"""Messages saved by Outlook (MS-OXMSG): an OLE file, a stream for each property, a storage for each attachment."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from typing import BinaryIO, Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.decoding import decode_declared
from directory_indexer.extractors.document import Document, Metadata
from directory_indexer.extractors.html import extract_html
from directory_indexer.extractors.mail.headers import Headers
from directory_indexer.extractors.mail.message import file_name
from directory_indexer.extractors.mail.outlook_people import people_of, person
from directory_indexer.extractors.mail.outlook_properties import (
    INNER_MESSAGE,
    MessageFile,
    Path,
    Properties,
    code_page_of_body,
)
from directory_indexer.extractors.mail.rtf_body import unpacked_rtf
from directory_indexer.extractors.members import Contents, Member, read_whole
from directory_indexer.extractors.office.rtf import rtf_text
from directory_indexer.extractors.properties import one_value, values


def is_outlook_message(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a message saved by Outlook; the names of its streams are mostly near its beginning."""
    return head.startswith(_OLE_HEADER) and (is_named or _STREAM_NAME in head)


def open_outlook_message(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a message saved by Outlook.

    Raises:
        ExtractionError: it is damaged, or no message.
    """
    try:
        message = _Message(MessageFile.of(read_whole(file), budget), ())
        if not message.numbers:
            raise ExtractionError("is no message of Outlook")
        return Contents(message.document(kind), message.attachments(), is_message=True)
    except _DAMAGE as error:
        raise ExtractionError(f"is damaged ({type(error).__name__})") from error


class _Message:
    """A message in an OLE file, at a path of storages: the outermost, or one attached to another."""

    def __init__(self, file: MessageFile, path: Path) -> None:
        self._file = file
        self._budget = file.budget
        self._properties = Properties(file, path)
        self.numbers = self._properties.numbers
        headers = self._properties.text("007D")
        self._headers = Headers.of(_header_lines(headers)) if headers else Headers({})
        self._people = people_of(self._properties, self._headers)

    def document(self, kind: str) -> Document:
        """Return the message as a document: the main headers and the body."""
        metadata = self._metadata()
        items = (*self._header_items(metadata), ("Date", metadata.created))
        header_text = "".join(f"{name}: {value}\n" for name, value in items if value)
        return Document(f"{header_text}\n{self._body()}".lstrip("\n"), kind, metadata.subject, metadata=metadata)

    def attachments(self) -> Iterator[Member]:
        """Yield the attachments; an attached message as a message."""
        for attached in self._properties.within(_ATTACHMENT):
            self._budget.take_member()
            yield self._attachment(attached)

    def _attachment(self, attached: Properties) -> Member:
        name = attached.text(*_NAMES_OF_ATTACHMENTS) or "attachment"
        try:
            if attached.has(INNER_MESSAGE):
                inner = _Message(self._file, (*attached.path, INNER_MESSAGE))
                return Member(f"{file_name(name)}.eml", inner.as_mail())
            content = attached.content("3701")
            pieces = self._budget.counted([content], packed_bytes=len(content))
            return Member(name, b"".join(pieces))
        except SkipFileError as error:
            if self._budget.is_spent:
                raise
            return Member(name, problem=error)
        except _DAMAGE as error:
            return Member(name, problem=ExtractionError(f"is damaged in the message ({type(error).__name__})"))

    def as_mail(self) -> bytes:
        """Return the message in MIME, with its attachments."""
        metadata = self._metadata()
        sent = format_datetime(datetime.fromisoformat(metadata.created)) if metadata.created else ""
        items = (*self._header_items(metadata), ("Date", sent), ("Message-ID", metadata.message_id))
        mail = EmailMessage()
        mail.set_content(self._body())
        if len(self._properties.path) < _MAX_DEPTH:
            for member in self.attachments():
                mail.add_attachment(member.content, "application", "octet-stream", filename=one_value(member.name))
        # `EmailMessage` rejects many names and addresses that occur in practice.
        lines = (f"{name}: {value}\n".encode("utf-8", "replace") for name, value in items if value)
        return b"".join(lines) + mail.as_bytes()

    def _header_items(self, metadata: Metadata) -> Iterator[tuple[str, str]]:
        yield "Subject", metadata.subject
        yield "From", ", ".join(metadata.sender)
        for name, people in zip(("To", "Cc", "Bcc"), self._people, strict=True):
            yield name, ", ".join(people)

    def _metadata(self) -> Metadata:
        properties, metadata = self._properties, self._headers.metadata
        sent = self.numbers.get(_SENT) or self.numbers.get(_DELIVERED)
        sender = metadata.sender or values(
            [person(properties.text("0C1A", "0042"), properties.text("5D01", "5D02", "0C1F"))]
        )
        return metadata._replace(
            authors=metadata.authors or sender,
            sender=sender,
            created=metadata.created or _format_ticks(sent),
            subject=one_value(properties.text("0037")) or metadata.subject,
            recipients=values(self._people.to),
            copied=values((*self._people.copied, *self._people.blind)),
            message_id=metadata.message_id or one_value(properties.text("1035")).strip("<>"),
        )

    def _body(self) -> str:
        properties = self._properties
        if body := properties.text("1000"):
            return body.replace("\r\n", "\n")
        if html := properties.content("1013"):
            declared = _CHARSET.search(html[:_CHARSET_WITHIN])
            charset = declared[1].decode() if declared else code_page_of_body(self.numbers)
            return extract_html(decode_declared(html, charset), "html").text
        if html_text := properties.text("1013"):
            return extract_html(html_text, "html").text
        packed = properties.content("1009")
        return rtf_text(unpacked_rtf(packed, self._budget.member_bytes)) if packed else ""


def _header_lines(headers: str) -> Iterator[tuple[str, str]]:
    for line in _UNFOLDED.sub(" ", headers).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            yield name, value.strip()


def _format_ticks(ticks: int | None) -> str:
    """Format a Windows file time: 100 ns ticks since 1601."""
    if not ticks:
        return ""
    try:
        moment = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
    except OverflowError:
        return ""
    return moment.replace(microsecond=0).isoformat()


_OLE_HEADER: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAM_NAME: Final = "__substg1.0_".encode("utf-16-le")
_ATTACHMENT: Final = "__attach_version1.0_"
_NAMES_OF_ATTACHMENTS: Final = ("3707", "3704", "3001")
_SENT: Final = 0x0039
_DELIVERED: Final = 0x0E06
_MAX_DEPTH: Final = 8
_CHARSET: Final = re.compile(rb"charset=[\"']?([\w-]{1,40})")
_CHARSET_WITHIN: Final = 4_096
_UNFOLDED: Final = re.compile(r"\r?\n[ \t]+")
_DAMAGE: Final = (OSError, ValueError, LookupError, TypeError, OverflowError, struct.error, RecursionError)
