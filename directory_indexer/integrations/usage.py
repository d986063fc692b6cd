"""Usage of search tools by assistants, counted in their transcripts; nothing is sent anywhere.

Counted are tool calls, the text that each kind returned, and lines that are no records: truncated, too long, or
otherwise invalid. A transcript is hostile input: a file that is not one, cannot be read or crashes its reader is
reported and skipped.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.archives import ZSTANDARD_HEADER, open_zstandard_stream
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.transcripts.document import open_session
from directory_indexer.formats.transcripts.events import Session, SessionFacts, ToolCall, ToolKind
from directory_indexer.formats.transcripts.opencode import open_opencode_store

_BYTES_PER_TOKEN: Final = 3
"""As the MCP server estimates tokens."""

_OWN_TOOL = re.compile(r"(?i)\bdirindex\b")
_SUFFIXES: Final = (".jsonl", ".json", ".jsonl.zst")
_OPENCODE_STORE: Final = "opencode.db"
_SQLITE_STORE: Final = b"SQLite format 3\0"


class ToolUse(NamedTuple):
    """Calls of tools of one kind, and the size of their results; results of `n_unknown` calls are not in the file."""

    kind: ToolKind
    n_calls: int = 0
    n_own: int = 0
    """Calls of dirindex among them."""

    n_bytes: int = 0
    most_bytes: int = 0
    n_unknown: int = 0

    def plus(self, call: ToolCall) -> ToolUse:
        """Return the counts with one more call."""
        is_own = bool(_OWN_TOOL.search(call.name.replace("_", " ")) or _OWN_TOOL.match(call.about))
        n_bytes = call.n_result_bytes or 0
        return self._replace(
            n_calls=self.n_calls + 1,
            n_own=self.n_own + is_own,
            n_bytes=self.n_bytes + n_bytes,
            most_bytes=max(self.most_bytes, n_bytes),
            n_unknown=self.n_unknown + (call.n_result_bytes is None),
        )


class Usage(NamedTuple):
    """The counts, and the unreadable files."""

    sessions: frozenset[tuple[str, str]] = frozenset()
    """Assistant and session id; one session may be in many files."""

    uses: Mapping[ToolKind, ToolUse] = {}
    unreadable: Mapping[str, str] = {}
    """Reasons why files were not counted, by path."""

    n_other: int = 0
    """Files in directories that are no transcripts."""

    n_passed_over: int = 0
    """Lines of transcripts that are not records."""

    @property
    def n_sessions(self) -> dict[str, int]:
        """The number of sessions of each assistant."""
        return dict(Counter(assistant for assistant, _ in self.sessions))


def tokens_of(n_bytes: int) -> int:
    """Return the estimated number of tokens of some bytes."""
    return -(-n_bytes // _BYTES_PER_TOKEN)


def usage_in(paths: Iterable[str]) -> Usage:
    """Count the tool calls in files, and in all transcripts below directories."""
    tally = _Counter()
    for path, is_named in _files_in(paths):
        try:
            with TranscriptFile(path) as file:
                tally.add_file(file, path, is_named=is_named)
        except (OSError, ExtractionError) as error:
            tally.unreadable[path] = (error.strerror if isinstance(error, OSError) else str(error)) or "it is damaged"
    return Usage(frozenset(tally.sessions), tally.uses, tally.unreadable, tally.n_other, tally.n_passed_over)


class _Counter:
    """The counts so far."""

    def __init__(self) -> None:
        self.sessions: set[tuple[str, str]] = set()
        self.uses: dict[ToolKind, ToolUse] = {}
        self.unreadable: dict[str, str] = {}
        self.n_other = self.n_passed_over = 0

    def add_file(self, file: TranscriptFile, path: str, *, is_named: bool) -> None:
        """Count the sessions of a file."""
        session_ids = [self._add_session(session, path) for session in _sessions(file)]
        if session_ids:
            self.sessions |= set(session_ids)
            self.n_passed_over += file.n_passed_over
        elif is_named:
            self.unreadable[path] = "it is not a transcript"
        else:
            self.n_other += 1

    def _add_session(self, session: Session, path: str) -> tuple[str, str]:
        name, uses = "", dict(self.uses)
        for event in session.events:
            if isinstance(event, ToolCall):
                uses[event.kind] = uses.get(event.kind, ToolUse(event.kind)).plus(event)
            elif isinstance(event, SessionFacts):
                name = name or event.session_id
        self.uses = uses  # a session counts only if it can be read to its end
        return session.assistant, name or path


def _sessions(file: BinaryIO) -> Iterator[Session]:
    is_store = file.read(len(_SQLITE_STORE)) == _SQLITE_STORE
    file.seek(0)
    if not is_store:
        session = open_session(file)
        if session:
            yield session
        return
    for member in open_opencode_store(file, "", Budget()).members:
        session = open_session(io.BytesIO(member.content))
        if session:
            yield session


def _files_in(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for path in paths:
        if not os.path.isdir(path):
            yield path, True
            continue
        for directory, names, files in os.walk(path):
            names.sort()
            likely = [name for name in sorted(files) if name.endswith(_SUFFIXES) or name == _OPENCODE_STORE]
            yield from ((os.path.join(directory, name), False) for name in likely)


class TranscriptFile(io.BufferedReader):
    """A file, decompressed if it is in Zstandard format, that counts the lines that its reader skips."""

    def __init__(self, path: str) -> None:
        """Open a regular file without blocking on a pipe.

        Raises:
            OSError: it cannot be opened, or is no regular file.
            SkipFileError: it is compressed, and no decompressor is installed.
        """
        self._packed = _regular_file(path)
        try:
            super().__init__(_unpacked(self._packed))
        except BaseException:
            self._packed.close()
            raise
        self.n_passed_over = 0
        self._is_within_line = False

    def close(self) -> None:
        """Close the file, compressed or not."""
        super().close()
        self._packed.close()

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line; one that is no JSON object is counted."""
        line = super().readline(size)
        if not self._is_within_line:
            record = line.strip()
            self.n_passed_over += bool(record) and not (record.startswith(b"{") and record.endswith(b"}"))
        self._is_within_line = bool(line) and not line.endswith(b"\n")
        return line


def _regular_file(path: str) -> io.FileIO:
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    file = io.FileIO(os.open(path, flags))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "it is not a regular file")
    return file


def _unpacked(file: io.FileIO) -> io.FileIO | io.BufferedReader:
    is_packed = file.read(len(ZSTANDARD_HEADER)) == ZSTANDARD_HEADER
    file.seek(0)
    return open_zstandard_stream(io.BufferedReader(file)) if is_packed else file
