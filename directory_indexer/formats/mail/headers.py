"""Headers of messages, decoded however malformed: every mail program has its own mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.errors import MessageError
from email.header import decode_header
from email.utils import getaddresses, parsedate_to_datetime
from typing import Final, NamedTuple

from directory_indexer.formats.decoding import decode_declared, decode_strictly
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.metadata import MAX_CHARACTERS, distinct_values, single_line_value


class Headers(NamedTuple):
    """The headers of a message by their names in lower case, each as it was written."""

    raw: Mapping[str, str]
    charset: str = ""
    """The charset of the body, in which some programs write raw bytes into headers as well."""

    @classmethod
    def of(cls, items: Iterable[tuple[str, object]]) -> Headers:
        """Create from the headers of a message; of several with one name, the first counts."""
        raw: dict[str, str] = {}
        for name, value in items:
            raw.setdefault(name.lower(), str(value)[:_MAX_HEADER])
        declared = _CHARSET.search(raw.get("content-type", ""))
        return cls(raw, declared[1] if declared else "")

    def text(self, name: str) -> str:
        """Return a decoded header on one line."""
        return single_line_value(decode_header_text(self.raw.get(name, ""), self.charset))

    def distinct_people(self, name: str) -> tuple[str, ...]:
        """Return each person in a header once, as many as an index keeps."""
        return distinct_values(self.all_people(name))

    def all_people(self, name: str) -> list[str]:
        """Return all people in a header: `Ada Lovelace <ada@example.org>`."""
        if not (raw := self.raw.get(name)):
            return []
        try:
            pairs = getaddresses([_decode_raw_bytes(raw, self.charset)])
        except (*_DAMAGED, AttributeError, RecursionError):
            return []
        return [_format_person(decode_header_text(person), address) for person, address in pairs]

    @property
    def sent(self) -> datetime | None:
        """The date on which the message was sent; None if it has none."""
        try:
            moment = parsedate_to_datetime(self.raw.get("date", ""))
        except (*_DAMAGED, OverflowError):
            return None
        return moment if _FIRST_YEAR <= moment.year <= _LAST_YEAR else None

    @property
    def metadata(self) -> Metadata:
        """The metadata of the message."""
        sent, references = self.sent, self.text("references").split()
        sender = self.distinct_people("from") or self.distinct_people("sender")
        message_id = self.text("message-id").strip("<> ")
        thread = (references[:1] or self.text("in-reply-to").split()[:1] or [message_id])[0].strip("<>")
        return Metadata(
            authors=sender,
            created=sent.isoformat() if sent else "",
            subject=self.text("subject"),
            tags=distinct_values(re.split(r"[,;]", self.text("keywords"))),
            sender=sender,
            recipients=self.distinct_people("to"),
            copied=distinct_values((*self.all_people("cc"), *self.all_people("bcc"))),
            message_id=message_id,
            thread=thread,
        )

    def to_text(self) -> str:
        """Format the most important headers, with every person in them, as the first lines of the text."""
        lines = (
            (name, " ".join(decode_header_text(self.raw.get(name.lower(), ""), self.charset).split()))
            for name in _TEXT_HEADERS
        )
        return "".join(f"{name}: {value}\n" for name, value in lines if value)


def decode_header_text(raw: str, charset: str = "") -> str:
    """Decode a header: its encoded words (RFC 2047), and raw bytes, which are mostly in `charset`."""
    if raw.isascii() and "=?" not in raw:
        return _UNFOLDED.sub(" ", raw) if "\n" in raw else raw
    try:
        pieces = decode_header(_UNFOLDED.sub(" ", _decode_raw_bytes(raw, charset)))
    except _DAMAGED:
        return raw
    return "".join(piece if isinstance(piece, str) else decode_declared(piece, charset) for piece, charset in pieces)


def _decode_raw_bytes(raw: str, charset: str) -> str:
    """Decode the raw bytes that the parser kept as surrogates, mostly UTF-8."""
    if raw.isascii():
        return raw
    content = raw.encode("utf-8", "surrogateescape")
    text = decode_strictly(content, "utf-8")
    return decode_declared(content, charset) if text is None else text


def _format_person(name: str, address: str) -> str:
    name = name.strip(" '\"")
    if not address:
        return name
    return f"{name} <{address}>"[:MAX_CHARACTERS] if name and name != address else address


_DAMAGED: Final = (MessageError, ValueError, TypeError, IndexError)
"""Exceptions of the standard library for malformed headers."""

_MAX_HEADER: Final = 32_768
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 2100
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_UNFOLDED: Final = re.compile(r"\r?\n[ \t]*")
_TEXT_HEADERS: Final = ("Subject", "From", "To", "Cc", "Bcc", "Date")
