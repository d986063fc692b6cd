"""The database of OpenCode since version 1.2, in which each session is a member, written as `opencode export` does.

It is deserialised in memory, without its journal: what OpenCode has not checkpointed yet is read by a later run. A
database is hostile input: no trigger or view of it is used, and no function of its schema is trusted.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from typing import BinaryIO, Final

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.members import Contents, Member, read_whole
from directory_indexer.extractors.transcripts.json_values import Record, parse_json


def open_opencode_store(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a database; its sessions are members."""
    return Contents(None, _sessions(bytearray(read_whole(file)), budget))


def _sessions(content: bytearray, budget: Budget) -> Iterator[Member]:
    content[18:20] = b"\1\1"  # rollback-journal mode: a database in memory cannot have a WAL
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(bytes(content))
            connection.executescript(
                "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;"
            )
            _require_tables(connection)
            for row in connection.execute("SELECT id, title, directory, time_created, time_updated FROM session"):
                yield _member(connection, *row, budget=budget)
    except sqlite3.Error as error:
        raise ExtractionError(f"damaged database: {error}") from error


def _require_tables(connection: sqlite3.Connection) -> None:
    """Raise unless the names are tables: a view may compute anything."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables >= _TABLES:
        raise ExtractionError("not a database of OpenCode")


def _member(  # noqa: PLR0913 - a row
    connection: sqlite3.Connection,
    name: object,
    title: object,
    directory: object,
    created: object,
    updated: object,
    *,
    budget: Budget,
) -> Member:
    budget.take_member()
    info = {"id": str(name), "title": str(title or ""), "directory": str(directory or ""), "time": {"created": created}}
    messages = [
        {"info": message, "parts": _parts(connection, key)} for key, message in _messages(connection, str(name))
    ]
    content = json.dumps({"info": info, "messages": messages}, ensure_ascii=False).encode("utf-8", "replace")
    budget.take(len(content))
    return Member(f"{name}.json", content, updated * 1_000_000 if isinstance(updated, int) else 0)


def _messages(connection: sqlite3.Connection, session: str) -> list[tuple[str, Record]]:
    rows = connection.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,))
    return [(str(name), value) for name, data in rows if isinstance(value := parse_json(str(data)), dict)]


def _parts(connection: sqlite3.Connection, message: str) -> list[Record]:
    rows = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (message,))
    return [value for (data,) in rows if isinstance(value := parse_json(str(data)), dict)]


_TABLES: Final = frozenset({"session", "message", "part"})
