"""Messages saved by Outlook (MS-OXMSG): an OLE file, a stream for each property, a storage for each attachment.

Recipients are those of its recipient table, which has their names, and of its headers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.decoding import decode_declared
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.html import extract_html
from directory_indexer.formats.mail.headers import Headers
from directory_indexer.formats.mail.mapi import (
    INNER_MESSAGE,
    MapiProperties,
    MessageFile,
    StoragePath,
    code_page_of_body,
    decompress_rtf,
)
from directory_indexer.formats.mail.message import file_name
from directory_indexer.formats.metadata import distinct_values, single_line_value
from directory_indexer.formats.office.rtf import rtf_text

_OLE_HEADER: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAM_NAME: Final = "__substg1.0_".encode("utf-16-le")
_ATTACHMENT: Final = "__attach_version1.0_"
_ATTACHMENT_NAME_TAGS: Final = ("3707", "3704", "3001")
_SENT: Final = 0x0039
_DELIVERED: Final = 0x0E06
_MAX_DEPTH: Final = 8
_CHARSET: Final = re.compile(rb"charset=[\"']?([\w-]{1,40})")
_CHARSET_WITHIN: Final = 4_096
_FOLDED_LINE_END: Final = re.compile(r"\r?\n[ \t]+")
_DAMAGE: Final = (OSError, ValueError, LookupError, TypeError, OverflowError, struct.error, RecursionError)

_RECIPIENT: Final = "__recip_version1.0_"
_MAX_RECIPIENTS: Final = 2_000
_RECIPIENT_TYPE: Final = 0x0C15
_RECIPIENT_TYPE_MASK: Final = 0xF
_TO: Final = 1
_RECIPIENT_TYPES: Final = {_TO: ("to", "0E04"), 2: ("cc", "0E03"), 3: ("bcc", "0E02")}
_X500_PREFIXES: Final = ("/O=", "/CN=", "IMCEAEX-")


def is_outlook_message(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a message saved by Outlook; the names of its streams are mostly near its beginning."""
    return head.startswith(_OLE_HEADER) and (has_extension or _STREAM_NAME in head)


def open_outlook_message(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a message saved by Outlook.

    Raises:
        ExtractionError: it is damaged, or no message.
    """
    try:
        message = _Message(MessageFile.of(read_whole(file), budget), ())
        if not message.numbers:
            raise ExtractionError("is not an Outlook message")
        return Contents(message.document(kind), message.attachments(), is_message=True)
    except _DAMAGE as error:
        raise ExtractionError(f"is damaged ({type(error).__name__})") from error


class People(NamedTuple):
    """All recipients of a message."""

    to: tuple[str, ...]
    copied: tuple[str, ...]
    blind: tuple[str, ...]
    """Recipients of a blind copy, whom only the sender knows."""


def people_of(message: MapiProperties, headers: Headers) -> People:
    """Return the recipients of a message."""
    listed: dict[int, list[str]] = {kind: [] for kind in _RECIPIENT_TYPES}
    for recipient in message.within(_RECIPIENT)[:_MAX_RECIPIENTS]:
        # A message that was sent again has flags besides the kind.
        listed.get(recipient.numbers.get(_RECIPIENT_TYPE, _TO) & _RECIPIENT_TYPE_MASK, listed[_TO]).append(
            format_person(recipient.text("3001", "3A20"), recipient.text("39FE", "3003"))
        )
    to, copied, blind = (
        _merge_people((*listed[kind], *headers.all_people(name))) or _split_names(message.text(tag))
        for kind, (name, tag) in _RECIPIENT_TYPES.items()
    )
    return People(to, copied, blind)


def format_person(name: str, address: str) -> str:
    """Format a name with its address; an address of a directory (X.500) is left out, since no person knows it."""
    name, address = single_line_value(name).strip("'\" "), single_line_value(address)
    if "@" not in address:
        return "" if name.upper().startswith(_X500_PREFIXES) else name or _without_x500_address(address)
    return f"{name} <{address}>" if name and name.lower() != address.lower() else address


class _Message:
    """A message in an OLE file, at a path of storages: the outermost, or one attached to another."""

    def __init__(self, file: MessageFile, path: StoragePath) -> None:
        self._file = file
        self._budget = file.budget
        self._properties = MapiProperties(file, path)
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
        for attachment in self._properties.within(_ATTACHMENT):
            self._budget.take_member()
            yield self._attachment(attachment)

    def _attachment(self, attachment: MapiProperties) -> Member:
        name = attachment.text(*_ATTACHMENT_NAME_TAGS) or "attachment"
        try:
            if attachment.has(INNER_MESSAGE):
                inner = _Message(self._file, (*attachment.path, INNER_MESSAGE))
                return Member(f"{file_name(name)}.eml", inner.as_mail())
            return self._budget.member(name, attachment.content("3701"))
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
                mail.add_attachment(
                    member.content, "application", "octet-stream", filename=single_line_value(member.name)
                )
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
        sender = metadata.sender or distinct_values(
            [format_person(properties.text("0C1A", "0042"), properties.text("5D01", "5D02", "0C1F"))]
        )
        return metadata._replace(
            authors=metadata.authors or sender,
            sender=sender,
            created=metadata.created or _format_ticks(sent),
            subject=single_line_value(properties.text("0037")) or metadata.subject,
            recipients=distinct_values(self._people.to),
            copied=distinct_values((*self._people.copied, *self._people.blind)),
            message_id=metadata.message_id or single_line_value(properties.text("1035")).strip("<>"),
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
        return rtf_text(decompress_rtf(packed, self._budget.member_bytes)) if packed else ""


def _header_lines(headers: str) -> Iterator[tuple[str, str]]:
    for line in _FOLDED_LINE_END.sub(" ", headers).splitlines():
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


def _without_x500_address(address: str) -> str:
    return "" if address.upper().startswith(_X500_PREFIXES) else address


def _merge_people(people: Iterable[str]) -> tuple[str, ...]:
    """Return each person once, in the fullest form."""
    fullest: dict[str, str] = {}
    for recipient in filter(None, people):
        key = _address(recipient) or recipient.lower()
        fullest[key] = max(fullest.get(key, ""), recipient, key=len)
    named = {recipient.partition(" <")[0].lower() for key, recipient in fullest.items() if "@" in key}
    return tuple(recipient for key, recipient in fullest.items() if "@" in key or key not in named)


def _address(written: str) -> str:
    return written.rpartition("<")[2].rstrip(">").lower() if "@" in written else ""


def _split_names(names: str) -> tuple[str, ...]:
    """Split the names that Outlook displays, when there is nothing else."""
    return tuple(
        filter(None, (format_person(name, "") for name in names.replace("\0", "").split(";")[:_MAX_RECIPIENTS]))
    )
