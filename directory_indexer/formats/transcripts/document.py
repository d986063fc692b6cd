"""Sessions with assistants as documents, and recognition of the assistant that a session belongs to.

Each turn is a section headed by its role and time, and by the question that it answers. A JSON Lines file is recognised
by one of its first records, an object by the keys that it begins with. Data that only mentions such keys deeper down is
no session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget, Contents
from directory_indexer.formats.document import Document, Metadata, Section, single_line
from directory_indexer.formats.draft import MAX_CHARACTERS
from directory_indexer.formats.transcripts.claude_code import claude_code_events, is_claude_code
from directory_indexer.formats.transcripts.codex import codex_events, is_codex
from directory_indexer.formats.transcripts.events import (
    Assistant,
    Event,
    Role,
    Session,
    SessionFacts,
    ToolCall,
    Turn,
    turn_heading,
)
from directory_indexer.formats.transcripts.gemini import gemini_events, is_gemini
from directory_indexer.formats.transcripts.opencode import is_opencode, opencode_events
from directory_indexer.formats.transcripts.records import (
    Record,
    objects_of,
    parse_json,
    parse_record,
    remove_noise,
    shorten,
)

_LONG_TURN: Final = 1_500
_FEWEST_WORDS: Final = 3
"""A shorter message, such as "go on", asks nothing new."""

_MAX_QUESTION: Final = 120
_MAX_TOPIC: Final = 80
_MAX_CALLS: Final = 12
_NOT_SHOWN: Final = re.compile(r"[\s\[\]]+")
_NAMES: Final = {
    Assistant.CLAUDE_CODE: "Claude Code",
    Assistant.CODEX: "Codex",
    Assistant.GEMINI: "Gemini",
    Assistant.OPENCODE: "OpenCode",
}


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


def open_transcript(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Read a session as one document, opened as containers are, because it may not fit into memory.

    Raises:
        ExtractionError: it is no session.
    """
    session = open_session(file)
    if session is None:
        raise ExtractionError("not the session of an assistant")
    return Contents(transcript_of(session.events, session.assistant, kind))


def transcript_of(events: Iterable[Event], assistant: Assistant, kind: str) -> Document:
    """Return the events of a session as a document.

    Raises:
        SkipFileError: it is longer than is read.
    """
    writer = _TranscriptWriter()
    for event in events:
        match event:
            case SessionFacts():
                writer.note(event)
            case Turn():
                writer.turn(event)
            case ToolCall():
                writer.call(event)
    return writer.document(assistant, kind)


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


class _TranscriptWriter:
    """Writes turns in order; consecutive turns of one speaker are one section, until it is long."""

    def __init__(self) -> None:
        self._about = SessionFacts()
        self._parts: list[str] = []
        self._length = 0
        self._sections: list[Section] = []
        self._speaker: tuple[Role, bool] | None = None
        self._question = ""
        self._first_question = ""
        self._times: list[str] = []
        self._calls: list[str] = []

    def note(self, about: SessionFacts) -> None:
        """Record facts about the session: the first id and directory, and the last title."""
        known = self._about
        self._about = SessionFacts(
            known.session_id or about.session_id,
            about.title or known.title,
            known.directory or about.directory,
            known.time or about.time,
        )

    def turn(self, turn: Turn) -> None:
        """Write a turn."""
        if not (text := remove_noise(turn.text)):
            return
        self._write_calls()
        if time := _utc_time(turn.time):
            self._times = [self._times[0] if self._times else time, time]
        is_question = turn.role is Role.USER and not turn.is_aside
        speaker = (turn.role, turn.is_aside)
        if speaker != self._speaker or is_question or self._length - self._sections[-1].start > _LONG_TURN:
            self._begin(turn)
        if is_question and (len(text.split()) >= _FEWEST_WORDS or not self._question):
            self._question = shorten(single_line(text), _MAX_QUESTION)
            self._first_question = self._first_question or self._question
        self._speaker = speaker
        self._append(text + "\n\n")

    def call(self, call: ToolCall) -> None:
        """Record a tool call, which is one line of the turn."""
        line = f"[{call.name}: {_call_arguments(call.about)}]" if call.about else f"[{call.name}]"
        if line not in self._calls:
            self._calls.append(line)

    def document(self, assistant: Assistant, kind: str) -> Document:
        """Return the document; a session without turns has no text but its title."""
        about, times = self._about, self._times
        if not self._sections:
            return Document(f"{remove_noise(about.title)}\n" if about.title else "", kind, self._title(assistant))
        self._write_calls()
        metadata = Metadata(
            created=times[0] if times else _utc_time(about.time),
            modified=times[-1] if times else "",
            tags=(str(assistant),),
            thread=about.session_id,
        )
        text = "".join(self._parts).rstrip("\n") + "\n"
        return Document(text, kind, self._title(assistant), tuple(self._sections), metadata=metadata)

    def _title(self, assistant: Assistant) -> str:
        topic = single_line(remove_noise(self._about.title)) or self._first_question
        where = f" in {self._about.directory}" if self._about.directory else ""
        session = f"{_NAMES[assistant]} session {self._about.session_id}".rstrip()
        return single_line(f"{shorten(topic, _MAX_TOPIC)} ({session}{where})".lstrip())

    def _begin(self, turn: Turn) -> None:
        headings = [turn_heading(turn.role, _utc_time(turn.time), is_aside=turn.is_aside)]
        if turn.role is Role.ASSISTANT and self._question:
            headings.append(self._question)
        self._sections.append(Section(self._length, tuple(headings), is_apart=True))

    def _write_calls(self) -> None:
        if self._calls and self._sections:
            n_more = len(self._calls) - _MAX_CALLS
            lines = self._calls[:_MAX_CALLS] + ([f"[and {n_more} more calls of tools]"] if n_more > 0 else [])
            self._append("\n".join(lines) + "\n\n")
        self._calls.clear()

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
        if self._length > MAX_CHARACTERS:
            raise SkipFileError(SkipReason.TOO_LARGE, f"more than {MAX_CHARACTERS // 1_000_000} million characters")


def _call_arguments(about: str) -> str:
    # A command may hold any text; characters that would end the line or look like another call are removed.
    return _NOT_SHOWN.sub(" ", remove_noise(about))


def _utc_time(time: str) -> str:
    """Format a time in UTC to the second; "" if it is invalid."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return ""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except OverflowError:
        return ""


def _first_records(head: bytes) -> list[Record]:
    """Return the complete objects in the head: the single one, the first of a list, or those of the first lines."""
    whole = parse_json(head)
    if whole is not None:
        return [whole] if isinstance(whole, dict) else objects_of(whole)[:1]
    return list(filter(None, map(parse_record, head.split(b"\n")[:_LINES])))
