from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import pytest
from sqlite_utils import Database

from directory_indexer.core.errors import NotIndexedError, UnavailableError, UsageError
from directory_indexer.core.ids import uuid_text
from directory_indexer.core.paths import display, file_path, path_of_place
from directory_indexer.integrations import exporting
from directory_indexer.integrations.exporting import EXPORT_FORMATS, ExportFormat, export_format
from directory_indexer.integrations.exporting.exporter import Exporter, ExportReport, ExportRequest
from directory_indexer.integrations.exporting.writers import (
    CHUNK_COLUMNS,
    FILE_COLUMNS,
    HEADING_COLUMNS,
    PASSAGE_COLUMNS,
    DatabaseWriter,
    ExportedFile,
    ExportStart,
    utc,
)
from directory_indexer.policies import walk_policy
from directory_indexer.storage.documents.runs import Outcome, RunProgress

if TYPE_CHECKING:
    from indexes import Index

DOCUMENT = Path(__file__).parents[2] / "docs" / "export.md"
ENDINGS = [one.suffixes[0].removeprefix(".") for one in EXPORT_FORMATS]
TREE = {
    "bread.md": f"# Bread\n\n{'Flour. ' * 60}\n\n## Baking\n\n{'Steam. ' * 60}\n\n# Storing\n\n{'In linen. ' * 30}\n",
    "deep/er/soup.txt": "Boil the carrots with ginger. " * 60,
    "deep/sum.txt": '=SUM(A1:A9)\t"quoted", comma; \u2028 emoji 🥕\r\nnext line\n',
    "settings.ini": "password=hunter2-correct-horse-battery\ncolour=blue\n",
}

Row: TypeAlias = dict[str, Any]


@pytest.fixture
def filled(index: Index) -> Index:
    for name, text in TREE.items():
        index.write(name, text)
    index.run()
    return index


@pytest.fixture
def out(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    place.mkdir()
    return place


def export(index: Index, target: Path, **options: Any) -> ExportReport:
    hooks = {name: options.pop(name) for name in ("listener", "must_stop") if name in options}
    exporter = Exporter(docstore=index.docstore, own=walk_policy(index.app.loaded).own)
    return exporter.to_file(path_of_place(target), ExportRequest(export_format(target.name, None), **options), **hooks)


def rows(path: Path, query: str) -> list[Row]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def passages(path: Path) -> list[Row]:
    """Read the passages of an export, whatever its format."""
    return READERS[path.suffix](path)


def _passages_of_database(path: Path) -> list[Row]:
    return rows(path, "SELECT * FROM passages ORDER BY path, chunk")


def _passages_of_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def _passages_of_cells(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


READERS: dict[str, Callable[[Path], list[Row]]] = {
    ".db": _passages_of_database,
    ".jsonl": _passages_of_lines,
    ".csv": _passages_of_cells,
}


def _value(name: str, text: str) -> str | int | None:
    if not text:
        return None
    return (
        int(text) if name in {"size", "chunk", "page", "start_line", "end_line", "tokens"} else text.removeprefix("'")
    )


def held(index: Index) -> list[Row]:
    """Give what the index holds, in the words of an export."""
    found: list[Row] = []
    with index.docstore.snapshot() as snapshot:
        for root in snapshot.directories.all():
            for path, known in sorted(snapshot.files.records_within(root).items()):
                found += [
                    {
                        "chunk_id": uuid_text(one.chunk_id),
                        "path": display(path),
                        "directory": display(root),
                        "kind": one.facts.kind,
                        "title": one.facts.title or None,
                        "size": known.source.size,
                        "modified_at": utc(one.mtime_ns),
                        "chunk": one.chunk.ordinal + 1,
                        "heading": one.chunk.heading or None,
                        "page": one.chunk.page,
                        "start_line": one.chunk.start_line,
                        "end_line": one.chunk.end_line,
                        "tokens": one.chunk.n_tokens,
                        "text": one.chunk.text,
                    }
                    for one in snapshot.chunks.of_file(path)
                ]
    return found


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_export_holds_what_the_index_holds(filled: Index, out: Path, ending: str) -> None:
    target = out / f"all.{ending}"
    report = export(filled, target)
    expected = held(filled)
    assert passages(target) == expected
    assert (report.n_files, report.n_chunks) == (len(TREE), len(expected))
    assert report.n_bytes == target.stat().st_size
    assert [tuple(row) for row in passages(target)] == [PASSAGE_COLUMNS] * len(expected)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_export_in_many_batches_is_the_same(
    filled: Index, out: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directory_indexer.integrations.exporting.writers._BATCH_CHUNKS", 2)
    export(filled, out / f"all.{ending}")
    assert passages(out / f"all.{ending}") == held(filled)


def test_sqlite_finds_the_database_whole_and_its_keys_kept(filled: Index, out: Path) -> None:
    export(filled, out / "all.db")
    assert rows(out / "all.db", "PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert rows(out / "all.db", "PRAGMA foreign_key_check") == []
    with closing(Database(out / "all.db")) as database:
        assert {key.other_table for key in database.table("chunks").foreign_keys} == {"files", "headings"}
        assert {key.other_table for key in database.table("files").foreign_keys} == {"directories"}
        assert database.table("chunks").detect_fts() == "chunks_fts"
        (found,) = database.table("chunks").search("linen", limit=1)
        assert database.table("files").get(found["file_id"])["path"] == str(filled.root / "bread.md")


def test_headings_stand_in_their_order_with_their_lines(filled: Index, out: Path) -> None:
    export(filled, out / "all.db")
    found = rows(
        out / "all.db",
        "SELECT heading, h.start_line, h.end_line FROM headings h JOIN files f ON f.id = file_id "
        "WHERE path LIKE '%bread.md' ORDER BY h.id",
    )
    assert [row["heading"] for row in found] == ["Bread", "Bread > Baking", "Storing"]
    assert [row["start_line"] for row in found] == [1, 5, 9]


def test_the_database_tells_when_and_by_what_it_was_made(filled: Index, out: Path) -> None:
    export(filled, out / "all.db", within=(file_path(filled.root / "deep"),))
    about = {row["name"]: row["value"] for row in rows(out / "all.db", "SELECT * FROM about")}
    assert about["export_version"] == "1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", about["exported_at"])
    assert json.loads(about["restricted_to"]) == [str(filled.root / "deep")]


def test_dates_are_those_of_the_files(filled: Index, out: Path) -> None:
    os.utime(filled.root / "bread.md", (1_000_000_000, 1_000_000_000))
    filled.run()
    export(filled, out / "all.db")
    (row,) = rows(out / "all.db", "SELECT modified_at, checked_at FROM files WHERE path LIKE '%bread.md'")
    assert row["modified_at"] == "2001-09-09T01:46:40Z"
    assert row["checked_at"] > "2020"


@pytest.mark.parametrize("moment", [-(2**63) + 1, 2**63 - 1, -1, 0])
def test_every_time_that_the_index_can_hold_has_a_date(moment: int) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", utc(moment))


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_masked_stays_masked(filled: Index, out: Path, ending: str) -> None:
    export(filled, out / f"all.{ending}")
    assert b"hunter2" not in (out / f"all.{ending}").read_bytes()
    assert any("colour=blue" in row["text"] for row in passages(out / f"all.{ending}"))


@pytest.mark.skipif(sys.platform != "linux", reason="names may hold any byte")
@pytest.mark.parametrize("ending", ENDINGS)
def test_hostile_names_are_written_so_that_every_reader_takes_them(index: Index, out: Path, ending: str) -> None:
    names = (b"caf\xe9.txt", b"line\nbreak.txt", b"quote\"'.txt", b"=HYPERLINK.txt", b"\x1b[2J.txt")
    for name in names:
        with open(os.path.join(os.fsencode(index.root), name), "wb") as file:
            file.write(b"carrots")
    index.run()
    export(index, out / f"all.{ending}")
    found = {row["path"].removeprefix(f"{index.root}/") for row in passages(out / f"all.{ending}")}
    assert found == {"caf\\xe9.txt", "line\nbreak.txt", "quote\"'.txt", "=HYPERLINK.txt", "\x1b[2J.txt"}


def test_no_cell_of_csv_is_a_formula(filled: Index, out: Path) -> None:
    export(filled, out / "all.csv")
    with (out / "all.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in set("=+-@\t\r")]
    assert any(cell.startswith("'=SUM(A1:A9)") for cell in cells)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_path_narrows_an_export(filled: Index, out: Path, ending: str) -> None:
    within = (file_path(filled.root / "deep" / "er"), file_path(filled.root / "bread.md"))
    progress: list[RunProgress] = []
    report = export(filled, out / f"some.{ending}", within=within, listener=progress.append)
    names = {os.path.basename(row["path"]) for row in passages(out / f"some.{ending}")}
    assert names == {"soup.txt", "bread.md"}
    assert report.n_files == 2
    assert {(told.chunks_done <= report.n_chunks, told.chunks_total) for told in progress} == {(True, report.n_chunks)}


def test_of_a_path_that_is_not_indexed_nothing_is_written(filled: Index, out: Path) -> None:
    with pytest.raises(NotIndexedError):
        export(filled, out / "none.db", within=(file_path(out),))
    assert os.listdir(out) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_index_makes_an_empty_export(index: Index, out: Path, ending: str) -> None:
    assert export(index, out / f"all.{ending}").n_chunks == 0
    assert passages(out / f"all.{ending}") == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_export_is_of_one_moment(filled: Index, out: Path, ending: str) -> None:
    before = held(filled)
    changed: list[object] = []

    def change(_: object) -> None:
        if not changed:
            changed.append(filled.write("zzz.md", "A new file."))
            (filled.root / "settings.ini").unlink()
            filled.run()

    export(filled, out / f"all.{ending}", listener=change)
    assert held(filled) != before
    assert passages(out / f"all.{ending}") == before


def after(n_calls: int) -> Callable[[], bool]:
    calls = iter(range(n_calls))
    return lambda: next(calls, None) is None


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("n_calls", [0, 1, 3])
def test_what_is_stopped_leaves_nothing(filled: Index, out: Path, ending: str, n_calls: int) -> None:
    report = export(filled, out / f"all.{ending}", must_stop=after(n_calls))
    assert report.outcome is Outcome.INTERRUPTED
    assert os.listdir(out) == []


def test_a_stop_ends_a_long_statement_of_sqlite(filled: Index, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("directory_indexer.integrations.exporting.writers._STEPS_BETWEEN_STOPS", 100)
    finishing: list[str] = []
    report = export(
        filled,
        out / "all.db",
        listener=lambda progress: finishing.extend(filter(None, [progress.notice])),
        must_stop=lambda: bool(finishing),
    )
    assert report.outcome is Outcome.INTERRUPTED
    assert os.listdir(out) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_breaks_leaves_what_was_there(filled: Index, out: Path, ending: str) -> None:
    target = out / f"all.{ending}"
    target.write_text("precious")

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(filled, target, force=True, listener=interrupt)
    assert export(filled, target, force=True, must_stop=lambda: True).outcome is Outcome.INTERRUPTED
    assert os.listdir(out) == [target.name]
    assert target.read_text() == "precious"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_replaced_only_by_force(filled: Index, out: Path, ending: str) -> None:
    target = out / f"all.{ending}"
    target.write_text("precious")
    with pytest.raises(UsageError, match="already exists") as caught:
        export(filled, target)
    assert "--force" in (caught.value.hint or "")
    assert target.read_text() == "precious"
    export(filled, target, force=True)
    assert passages(target) == held(filled)


def test_a_file_that_appears_meanwhile_is_not_replaced(filled: Index, out: Path) -> None:
    target = out / "all.jsonl"
    with pytest.raises(UsageError, match="already exists"):
        export(filled, target, listener=lambda _: target.write_text("precious"))
    assert target.read_text() == "precious"
    assert os.listdir(out) == [target.name]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize("ending", ENDINGS)
def test_only_the_user_can_read_an_export(filled: Index, out: Path, ending: str) -> None:
    before = os.umask(0o000)
    try:
        export(filled, out / f"all.{ending}")
    finally:
        os.umask(before)
    assert stat.S_IMODE((out / f"all.{ending}").stat().st_mode) == 0o600


def test_nothing_is_written_over_the_index(filled: Index, out: Path) -> None:
    place = out / "link"
    place.symlink_to(filled.data_dir, target_is_directory=True)
    for target in (filled.docstore.path, filled.data_dir / "new.db", place / "data.db"):
        with pytest.raises(UsageError, match="belongs to the index"):
            export(filled, target, force=True)


def test_a_link_is_replaced_and_not_followed(filled: Index, out: Path) -> None:
    other = out / "other.db"
    other.write_text("precious")
    (out / "all.db").symlink_to(other)
    with pytest.raises(UsageError):
        export(filled, out / "all.db", force=True)
    assert other.read_text() == "precious"


def test_only_a_file_can_be_replaced(filled: Index, out: Path) -> None:
    (out / "all.db").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        export(filled, out / "all.db", force=True)
    with pytest.raises(UsageError, match="there is no directory"):
        export(filled, out / "missing" / "all.db")


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_database_that_is_in_use_is_not_replaced(filled: Index, out: Path, end: str) -> None:
    export(filled, out / "all.db")
    (out / f"all.db{end}").write_text("pages")
    with pytest.raises(UnavailableError, match="is in use"):
        export(filled, out / "all.db", force=True)


def test_a_place_that_cannot_be_written_is_told_as_such(out: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be written"):
        DatabaseWriter(str(out), ExportStart({}, {}, lambda: False))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_target_among_the_indexed_files_is_told(filled: Index, out: Path, ending: str) -> None:
    assert export(filled, filled.root / f"all.{ending}").tracked_in == file_path(filled.root)
    assert export(filled, out / f"all.{ending}").tracked_in is None


class _Titles:
    """A format that nobody else knows: the titles of files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, exported: ExportedFile) -> None:
        self._stream.write(f"{exported.file.facts.title}\n")

    def finish(self) -> None:
        self._stream.write("end\n")


def test_a_row_of_the_table_is_a_format(filled: Index, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    titles = ExportFormat("titles", "a list of titles", (".titles",), text=_Titles, is_verbatim=True)
    monkeypatch.setattr(exporting, "EXPORT_FORMATS", (*EXPORT_FORMATS, titles))
    export(filled, out / "all.titles", within=(file_path(filled.root / "bread.md"),))
    assert (out / "all.titles").read_text() == "Bread\nend\n"
    assert exporting.named_format("titles") is titles
    with pytest.raises(UsageError) as caught:
        export_format("-", None)
    assert caught.value.hint == "add --format jsonl, --format csv or --format titles"
    with pytest.raises(UsageError) as caught:
        exporting.named_format("title")
    assert caught.value.hint == "choose sqlite, jsonl, csv or titles"


def test_what_could_steer_a_terminal_is_not_shown_on_one() -> None:
    with pytest.raises(UsageError, match="CSV contains raw text") as caught:
        exporting.require_printable(exporting.named_format("csv"))
    assert caught.value.hint == "write it to a file, or as jsonl"
    exporting.require_printable(exporting.named_format("jsonl"))


def test_a_database_is_not_written_to_a_stream(filled: Index) -> None:
    exporter = Exporter(docstore=filled.docstore, own=())
    with pytest.raises(UsageError, match="a SQLite database cannot be written"):
        exporter.to_stream(io.StringIO(), ExportRequest(exporting.named_format("sqlite")))


def test_the_documentation_names_every_format() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert not [suffix for one in EXPORT_FORMATS for suffix in one.suffixes if f"`{suffix}`" not in text]


def test_the_documentation_names_every_column() -> None:
    text = DOCUMENT.read_text("utf-8")
    sections = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    expected = {
        "files": FILE_COLUMNS,
        "headings": HEADING_COLUMNS,
        "chunks": CHUNK_COLUMNS,
        "passages": PASSAGE_COLUMNS,
    }
    for name, columns in expected.items():
        assert re.findall(r"^\| `(\w+)` \|", sections[name], re.MULTILINE) == list(columns), name
