"""Mailboxes of many messages in one file (mbox, RFC 4155): read line by line, each message a member."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from typing import BinaryIO, Final

from directory_indexer.errors import SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.mail.headers import Headers
from directory_indexer.extractors.mail.message import file_name
from directory_indexer.extractors.members import Contents, Member
from directory_indexer.files import SkipReason


def open_mailbox(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a mailbox, whose messages are members."""
    return Contents(None, _messages(file, budget))


def _messages(file: BinaryIO, budget: Budget) -> Iterator[Member]:
    lines: list[bytes] = []
    n_bytes = number = 0
    is_after_blank = True
    while line := file.readline(_MAX_LINE):
        if line.startswith(b"From ") and (is_after_blank or _FULL_SEPARATOR.match(line)) and _SEPARATOR.match(line):
            if number:
                yield _message_member(number, lines, n_bytes, budget)
            number, lines, n_bytes = number + 1, [], 0
        elif number:
            n_bytes += len(line)
            if n_bytes <= budget.member_bytes:
                lines.append(line[1:] if _QUOTED.match(line) else line)
        is_after_blank = not line.strip()
    if number:
        yield _message_member(number, lines, n_bytes, budget)


def _message_member(number: int, lines: list[bytes], n_bytes: int, budget: Budget) -> Member:
    budget.take_member()
    # The blank line before the next message is appended with that message, and must not change this one.
    content = b"".join(lines).rstrip(b"\r\n") + b"\n"
    headers = Headers.of(BytesHeaderParser().parsebytes(_head_of(content)).raw_items())
    sent = headers.sent
    name = f"{number:04} {file_name(headers.text('subject'))}.eml"
    modified_ns = int(sent.timestamp() * 1e9) if sent else 0
    if n_bytes > budget.member_bytes:
        problem = SkipFileError(SkipReason.TOO_LARGE, f"a message of {n_bytes} bytes")
        return Member(name, modified_ns=modified_ns, problem=problem)
    budget.take(len(content))
    return Member(name, content, modified_ns)


def _head_of(content: bytes) -> bytes:
    head = content[:_MAX_HEAD]
    match = _HEAD_END.search(head)
    return head[: match.start()] if match else head


_MAX_LINE: Final = 1 << 20
_MAX_HEAD: Final = 1 << 16
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_QUOTED: Final = re.compile(rb">+From ")
_SEPARATOR: Final = re.compile(rb"From [^\n]{0,400}\d{4}|From - ")
_FULL_SEPARATOR: Final = re.compile(rb"From \S{1,200} +\w{3} +\w{3} +\d{1,2} +\d\d:\d\d(?::\d\d)? [^\n]{0,40}\d{4}")
