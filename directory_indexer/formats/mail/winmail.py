"""TNEF attachments (MS-OXTNEF), mostly called `winmail.dat`, into which Outlook packs the body and its attachments."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.decoding import decode_declared
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.html import extract_html
from directory_indexer.formats.mail.mapi import decompress_rtf, encoding_of
from directory_indexer.formats.metadata import single_line_value
from directory_indexer.formats.office.rtf import rtf_text

MAX_ATTACHMENTS: Final = 2_000
HEADER: Final = b"\x78\x9f\x3e\x22"


def is_winmail(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a TNEF attachment."""
    return head.startswith(HEADER)


def open_winmail(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a TNEF attachment, up to any damage.

    Raises:
        ExtractionError: nothing of it can be read.
    """
    message, attachments = _Item(), list[_Item]()
    for attribute in _attributes(read_whole(file)):
        if attribute.tag == _ATTACHMENT_BEGINS:
            if len(attachments) == MAX_ATTACHMENTS:
                break
            attachments.append(_Item())
        (attachments[-1] if attribute.is_of_attachment and attachments else message).take(attribute)
    if not (message.values or attachments):
        raise ExtractionError("is damaged: it has neither a body nor attachments")
    text = message.body(budget.member_bytes)
    title = single_line_value(message.text(_SUBJECT) or message.text(_LEGACY_SUBJECT))
    document = Document(text, kind, title, metadata=Metadata(subject=title)) if text.strip() else None
    encoding = message.encoding
    return Contents(document, (_member(number, item, encoding, budget) for number, item in enumerate(attachments, 1)))


class _Attribute(NamedTuple):
    is_of_attachment: bool
    tag: int
    content: bytes


class _Item:
    """A message or an attachment: its attributes, overridden by the properties in them."""

    def __init__(self) -> None:
        self.values: dict[int, bytes] = {}
        self._types: dict[int, int] = {}

    def take(self, attribute: _Attribute) -> None:
        """Add the values of an attribute."""
        if attribute.tag in _PROPERTY_ATTRIBUTES:
            for kind, tag, value in _properties(attribute.content):
                self.values[tag], self._types[tag] = value, kind
        elif attribute.tag in _ATTRIBUTES:
            self.values[attribute.tag] = attribute.content

    @property
    def encoding(self) -> str:
        """The encoding of texts that are not Unicode."""
        pages = self.values.get(_CODE_PAGES, b"")
        return encoding_of(int.from_bytes(pages[:4], "little")) if len(pages) >= _CODE_PAGE_BYTES else "cp1252"

    def text(self, tag: int, encoding: str = "") -> str:
        """Return the text of a value."""
        name = "utf-16-le" if self._types.get(tag) == _UNICODE_STRING else encoding or self.encoding
        return self.values.get(tag, b"").decode(name, "replace").partition("\0")[0]

    @property
    def content(self) -> bytes:
        """The bytes of an attachment, without the interface id in front of a message or an OLE object."""
        content = self.values.get(_CONTENT, b"")[_INTERFACE_BYTES if self._types.get(_CONTENT) == _OBJECT else 0 :]
        return content or self.values.get(_LEGACY_ATTACHMENT_DATA, b"")

    def body(self, max_bytes: int) -> str:
        """Return the text of the body, in whichever form it is."""
        if plain := self.text(_BODY) or self.text(_LEGACY_BODY):
            return plain.replace("\r\n", "\n")
        if page := self.values.get(_HTML):
            return extract_html(decode_declared(page, None), "html").text
        packed = self.values.get(_RICH_TEXT, b"")
        return rtf_text(decompress_rtf(packed, max_bytes)) if packed else ""


def _member(number: int, attachment: _Item, encoding: str, budget: Budget) -> Member:
    budget.take_member()
    names = (attachment.text(tag, encoding) for tag in (_LONG_NAME, _SHORT_NAME, _LEGACY_ATTACHMENT_TITLE))
    name = next(filter(None, map(single_line_value, names)), f"attachment {number}")
    content = attachment.content
    if content.startswith(HEADER):
        name = f"{name}.tnef"
    return budget.member(name, content)


def _attributes(content: bytes) -> Iterator[_Attribute]:
    """Yield the attributes in order, up to a truncated one."""
    at = _FIRST_ATTRIBUTE_AT
    while at + _ATTRIBUTE.size <= len(content):
        level, tag, size = _ATTRIBUTE.unpack_from(content, at)
        at += _ATTRIBUTE.size
        if level not in _LEVELS or at + size > len(content):
            return
        yield _Attribute(level == _OF_ATTACHMENT, tag, content[at : at + size])
        at += size + _CHECKSUM_BYTES


def _properties(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the types, tags and values of properties, up to a truncated one; of several values the first."""
    at = 4
    for _ in range(int.from_bytes(content[:4], "little")):
        if at + 4 > len(content):
            return
        kind, tag = struct.unpack_from("<HH", content, at)
        at = _end_of_name(content, at + 4) if tag >= _FIRST_NAMED else at + 4
        has_count = bool(kind & _MULTIPLE_VALUES_FLAG) or kind in _VARIABLE_TYPES
        n_values = int.from_bytes(content[at : at + 4], "little") if has_count else 1
        at += 4 * has_count
        for number in range(n_values):
            size = _FIXED_SIZES.get(kind & ~_MULTIPLE_VALUES_FLAG)
            if size is None:
                size = int.from_bytes(content[at : at + 4], "little")
                at += 4
            if at + size > len(content) or (
                kind & ~_MULTIPLE_VALUES_FLAG not in _FIXED_SIZES
                and kind & ~_MULTIPLE_VALUES_FLAG not in _VARIABLE_TYPES
            ):
                return
            if number == 0:
                yield kind, tag, content[at : at + size]
            at += -(-size // 4) * 4


def _end_of_name(content: bytes, at: int) -> int:
    """Return the offset behind the name of a property: a number, or a text behind its length."""
    at += _INTERFACE_BYTES
    is_text = content[at : at + 4] != bytes(4)
    size = int.from_bytes(content[at + 4 : at + 8], "little")
    return at + 8 + (-(-size // 4) * 4 if is_text else 0)


_ATTRIBUTE: Final = struct.Struct("<BII")
_FIRST_ATTRIBUTE_AT: Final = 6
_CHECKSUM_BYTES: Final = 2
_OF_ATTACHMENT: Final = 2
_LEVELS: Final = (1, _OF_ATTACHMENT)
_ATTACHMENT_BEGINS: Final = 0x0006_9002
_PROPERTY_ATTRIBUTES: Final = (0x0006_9003, 0x0006_9005)
_LEGACY_SUBJECT: Final = 0x0001_8004
_LEGACY_BODY: Final = 0x0002_800C
_CODE_PAGES: Final = 0x0006_9007
_CODE_PAGE_BYTES: Final = 4
_LEGACY_ATTACHMENT_TITLE: Final = 0x0001_8010
_LEGACY_ATTACHMENT_DATA: Final = 0x0006_800F
_ATTRIBUTES: Final = frozenset(
    {_LEGACY_SUBJECT, _LEGACY_BODY, _CODE_PAGES, _LEGACY_ATTACHMENT_TITLE, _LEGACY_ATTACHMENT_DATA}
)
_SUBJECT: Final = 0x0037
_BODY: Final = 0x1000
_HTML: Final = 0x1013
_RICH_TEXT: Final = 0x1009
_LONG_NAME: Final = 0x3707
_SHORT_NAME: Final = 0x3704
_CONTENT: Final = 0x3701
_UNICODE_STRING: Final = 0x1F
_OBJECT: Final = 0x0D
_VARIABLE_TYPES: Final = frozenset({_OBJECT, 0x1E, _UNICODE_STRING, 0x102})
_FIXED_SIZES: Final = {2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0x0A: 4, 0x0B: 2, 0x14: 8, 0x40: 8, 0x48: 16}
_MULTIPLE_VALUES_FLAG: Final = 0x1000
_FIRST_NAMED: Final = 0x8000
_INTERFACE_BYTES: Final = 16
