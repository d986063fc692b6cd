"""TNEF attachments as Outlook writes them: attributes, and properties in some of them."""

from __future__ import annotations

import struct

from directory_indexer.formats.mail.winmail import HEADER

PROPERTIES, OF_ATTACHMENT, NEW, TITLE, DATA = 0x69003, 0x69005, 0x69002, 0x18010, 0x6800F
SUBJECT, BODY, CODE_PAGES = 0x18004, 0x2800C, 0x69007
BINARY, NARROW, WIDE, OBJECT, WHOLE_NUMBER = 0x102, 0x1E, 0x1F, 0x0D, 3


def attribute(level: int, tag: int, content: bytes) -> bytes:
    return struct.pack("<BII", level, tag, len(content)) + content + struct.pack("<H", sum(content) % 65536)


def variable(kind: int, tag: int, value: bytes, name: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, tag) + name + struct.pack("<II", 1, len(value)) + value + bytes(-len(value) % 4)


def properties(*each: bytes) -> bytes:
    return struct.pack("<I", len(each)) + b"".join(each)


def winmail(*attributes: bytes) -> bytes:
    return HEADER + b"\1\0" + b"".join(attributes)


def attachment(*attributes: bytes) -> bytes:
    return attribute(2, NEW, bytes(14)) + b"".join(attributes)
