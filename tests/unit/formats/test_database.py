"""SQLite databases are read table by table, and no more of them than is data."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.extraction import extract
from directory_indexer.secrets.redaction import redact_document

if TYPE_CHECKING:
    from directory_indexer.formats.document import Document


def database(*statements: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    content = connection.serialize()
    connection.close()
    return content


def read(content: bytes, name: str = "notes.db") -> Document:
    return extract(content, file_path(f"/files/{name}"))


BIRDS = database(
    "CREATE TABLE birds (name TEXT, weight INTEGER, picture BLOB)",
    "INSERT INTO birds VALUES ('Eurasian | wren', 9, x'00ff'), ('Größe', NULL, NULL), (NULL, NULL, x'01')",
    "CREATE VIEW heavy AS SELECT name FROM birds WHERE weight > 100",
)


def test_a_table_is_its_definition_and_its_rows_under_its_name() -> None:
    document = read(BIRDS)
    assert document.kind == "sqlite"
    assert "CREATE TABLE birds" in document.text
    assert "| name | weight | picture |\n| Eurasian wren | 9 |  |\n| Größe |  |  |" in document.text
    assert document.sections[0].headings == ("birds",)


def test_a_database_is_recognised_whatever_it_is_called() -> None:
    assert read(BIRDS, "places.bin").kind == "sqlite"


def test_a_view_is_read_but_never_run() -> None:
    content = database(
        "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n"
    )
    assert "WITH RECURSIVE" in read(content).text


def test_computed_columns_are_left_out() -> None:
    content = database(
        "CREATE TABLE sums (a INTEGER, b TEXT GENERATED ALWAYS AS (printf('%.*c', 1000, 'x')))",
        "INSERT INTO sums (a) VALUES (7)",
    )
    assert "xxx" not in read(content).text


def test_the_words_of_a_full_text_table_are_read_once() -> None:
    content = database(
        "CREATE VIRTUAL TABLE notes USING fts5(body)", "INSERT INTO notes VALUES ('the heron stands in reeds')"
    )
    assert read(content).text.count("the heron stands in reeds") == 1
    assert "notes_data" not in read(content).text


def test_a_table_whose_name_begins_like_a_full_text_table_is_read() -> None:
    database_ = database(
        "CREATE VIRTUAL TABLE notes USING fts5(body)", "CREATE TABLE notes_of_birds (name)",
        "INSERT INTO notes_of_birds VALUES ('wren')",
    )  # fmt: skip
    assert "wren" in read(database_).text


def test_a_table_may_have_the_name_of_a_function_of_the_engine() -> None:
    statements = [f"CREATE TABLE {name} (name, hidden)" for name in ("pragma_table_xinfo", "table_xinfo", "json_each")]
    assert "wren" in read(database(*statements, "INSERT INTO table_xinfo VALUES ('wren', 1)")).text


def test_a_long_default_of_many_rows_is_not_read() -> None:
    rows = ["INSERT INTO a VALUES (1)"] * 3_000
    added = f"ALTER TABLE a ADD COLUMN note TEXT DEFAULT '{'wren ' * 1_000}'"
    with pytest.raises(SkipFileError, match="characters"):
        read(database("CREATE TABLE a (b)", *rows, added))


def test_a_database_of_very_many_tables_is_too_large() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        entries = ((f"v{n}", f"CREATE VIEW v{n} AS SELECT 1") for n in range(10_001))
        connection.executemany("INSERT INTO sqlite_schema VALUES ('view', ?1, ?1, 0, ?2)", entries)
        connection.commit()
        content = connection.serialize()
    with pytest.raises(SkipFileError, match="more than 10,000 tables"):
        read(content)


def test_text_that_is_not_utf_8_is_replaced_not_refused() -> None:
    content = database("CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'c3' AS TEXT) || 'plover')")
    assert "plover" in read(content).text


@pytest.mark.parametrize("size", [0, 20, 100, 4000])
def test_a_truncated_database_fails_with_the_reason(size: int) -> None:
    with pytest.raises(ExtractionError, match="damaged database"):
        read(BIRDS[:16] + BIRDS[16:size])


def test_a_tree_of_pages_that_all_lead_to_one_page_is_given_up() -> None:
    with pytest.raises(SkipFileError, match="cost more than their size"):
        read(braided(database("CREATE TABLE t (a)", *["INSERT INTO t VALUES (zeroblob(900))"] * 40)))


def braided(content: bytes) -> bytes:
    """Return a database whose pages of a tree, each an inner node, lead to the next one hundreds of times."""
    page_bytes, n_levels, n_children = 4096, 5, 300
    pages = [bytearray(content[at : at + page_bytes]) for at in range(0, len(content), page_bytes)]
    for level in range(n_levels):
        child = 3 + level
        header = b"\5\0\0" + n_children.to_bytes(2, "big") + (page_bytes - 8 * n_children).to_bytes(2, "big") + b"\0"
        pointers = b"".join((page_bytes - 8 * (n + 1)).to_bytes(2, "big") for n in range(n_children))
        node = bytearray(page_bytes)
        node[:12] = header + child.to_bytes(4, "big")
        node[12 : 12 + len(pointers)] = pointers
        for n in range(n_children):
            node[page_bytes - 8 * (n + 1) : page_bytes - 8 * n] = child.to_bytes(4, "big") + b"\1\0\0\0"
        pages[1 + level] = node
    return b"".join(map(bytes, pages))


def test_secrets_in_columns_and_settings_are_masked() -> None:
    document = read(
        database(
            "CREATE TABLE users (name TEXT, password TEXT)",
            "INSERT INTO users VALUES ('ann', 'hunter2Secret9!')",
            "CREATE TABLE settings (key TEXT, value TEXT)",
            "INSERT INTO settings VALUES ('db_password', 'tr0ub4dor&3xx')",
        )
    )
    text = redact_document(document).document.text
    assert "hunter2" not in text
    assert "tr0ub4dor" not in text
