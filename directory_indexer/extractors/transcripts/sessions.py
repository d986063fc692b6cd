"""Recognition of the assistant that a session belongs to, by its content, and its events.

A JSON Lines file is recognised by one of its first records, an object by the keys that it begins with. Data that only
mentions such keys deeper down is no session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.extractors.transcripts.claude_code import claude_code_events, is_claude_code
from directory_indexer.extractors.transcripts.codex import codex_events, is_codex
from directory_indexer.extractors.transcripts.events import Assistant, Event, Session
from directory_indexer.extractors.transcripts.gemini import gemini_events, is_gemini
from directory_indexer.extractors.transcripts.json_values import Record, objects_of, parse_json, parse_record
from directory_indexer.extractors.transcripts.opencode import is_opencode, opencode_events


def open_session(file: BinaryIO) -> Session | None:
    """Open the session in a file, which must be seekable; None if there is none. Events are read on demand."""
    assistant = assistant_of(file.read(HEAD_BYTES))
    file.seek(0)
    return Session(assistant, _READERS[assistant].events(file)) if assistant else None


def assistant_of(head: bytes) -> Assistant | None:
    """Return the assistant that a session belongs to, by the first kilobytes of the file; None if it is no session."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first_records = _first_records(head)
    for assistant, reader in _READERS.items():
        if any(map(reader.is_session, first_records)) or (not first_records and reader.opening.match(head)):
            return assistant
    return None


def _first_records(head: bytes) -> list[Record]:
    """Return the complete objects in the head: the single one, the first of a list, or those of the first lines."""
    whole = parse_json(head)
    if whole is not None:
        return [whole] if isinstance(whole, dict) else objects_of(whole)[:1]
    return list(filter(None, map(parse_record, head.split(b"\n")[:_LINES])))


class _Reader(NamedTuple):
    is_session: Callable[[Record], bool]
    events: Callable[[BinaryIO], Iterator[Event]]
    opening: re.Pattern[bytes]
    """A pattern of files whose first object is longer than the head."""


HEAD_BYTES: Final = 8_192
_LINES: Final = 8
_STRING: Final = rb"\"(?:[^\"\\]|\\.){0,200}+\""
_READERS: Final = {
    Assistant.CLAUDE_CODE: _Reader(
        is_claude_code,
        claude_code_events,
        re.compile(
            rb"\{\"parentUuid\":(?:null|" + _STRING + rb"),(?:\"logicalParentUuid\":[^,]{1,60},)?\"isSidechain\":"
            rb"|\{\"type\":\"file-history-snapshot\",\"messageId\":"
        ),
    ),
    Assistant.CODEX: _Reader(
        is_codex,
        codex_events,
        re.compile(
            rb"\{\s*\"timestamp\":\s*" + _STRING + rb",\s*(?:\"ordinal\":\s*\d+,\s*)?\"type\":\s*\"session_meta\""
        ),
    ),
    Assistant.GEMINI: _Reader(
        is_gemini,
        gemini_events,
        re.compile(
            rb"\{\s*\"sessionId\":\s*"
            + _STRING
            + rb",\s*\"projectHash\":\s*\"|\[\s*\{\s*\"sessionId\":\s*"
            + _STRING
            + rb",\s*\"messageId\":\s*\d+,\s*\"(?:type|timestamp)\""
        ),
    ),
    Assistant.OPENCODE: _Reader(
        is_opencode,
        opencode_events,
        re.compile(
            rb"\{\s*\"info\":\s*\{\s*\"id\":\s*\"ses_|\{\s*\"id\":\s*\"(?:prt|msg)_\w{1,60}\",\s*\"(?:messageID|sessionID|role)\""
        ),
    ),
}
