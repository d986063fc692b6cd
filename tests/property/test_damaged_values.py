"""Whatever stands in a column of an index, a command ends with an error that says what to do, and a repair mends it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from teams import Team

from directory_indexer.api import Position
from directory_indexer.core.errors import CorruptIndexError, DirIndexError
from directory_indexer.core.notes import Verdict
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.file_texts import read_text
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.documents.runs import RunRequest, Verb
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.text import json_pages

if TYPE_CHECKING:
    from directory_indexer.app import App

COLUMNS = [
    *(f"meta:{key}" for key in ("space", "suffix", "generation", "fingerprint", "left_suffix", "former_space")),
    *(f"meta:{key}" for key in ("words_removed_at", "words_drops", "rows_given", "plain_texts_until", "index_id")),
    *("directories.path", "directories.mounts", "directories.completed_at", "files.dated_at"),
    "settled_directories.left_out",
    *(f"runs.{name}" for name in ("directories", "options", "verb", "phase", "origin", "outcome", "message")),
    *(f"runs.{name}" for name in ("started_at", "heartbeat_at", "files_done", "pid", "host")),
    *(f"paused_runs.{name}" for name in ("directories", "options", "paused_at")),
    *("files.page_starts", "files.reason", "files.state", "metadata.name", "metadata.value"),
    *("pending_vectors.vector", "chunk_texts.text", "search_vectors.vector"),
    *("static_vectors.rows", "static_vectors.codes", "static_model.weights", "static_model.own_rows"),
]

PLAIN_COLUMNS = [
    *(f"files.{name}" for name in ("size", "mtime_ns", "recipe", "kind", "title", "language", "hash")),
    *(f"files.{name}" for name in ("n_masked", "detail", "container_id", "holder_id", "tagged_below")),
    *(f"chunks.{name}" for name in ("ordinal", "start_char", "end_char", "start_line", "end_line", "page", "heading")),
    *(f"chunks.{name}" for name in ("cell", "line_cut", "n_tokens", "text_hash")),
    *("directories.added_at", "runs.n_failed"),
]
"""Numbers, texts and hashes, of which any one of the right type may be right."""

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("\ud800"),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts, max_size=3),
    max_leaves=6,
)
VALUES = st.one_of(
    st.binary(max_size=20),
    st.binary(max_size=20).map(lambda raw: ("text", raw)),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    _JSON.map(json.dumps),
    st.sampled_from(
        [
            "",
            "{",
            "[" * 5000,
            "1" * 5000,
            "-1",
            "1e999",
            "\0",
            "/a\0b",
            "notes",
            '{"provider": 1}',
            "/../../x",
            "[[1, 2], [3]]",
        ]
    ),
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an index with a value in every one of the columns."""
    place = tmp_path_factory.mktemp("pristine")
    notes = place / "notes"
    notes.mkdir()
    (notes / "larch.md").write_text("---\nauthor: Ann\n---\n# Larch\n\nThe larch of the ridge.", encoding="utf-8")
    (notes / "empty.md").write_text("", encoding="utf-8")
    (notes / "ignored.log").write_text("x", encoding="utf-8")
    (notes / ".gitignore").write_text("*.log\n", encoding="utf-8")
    team = Team(place / "data")
    index(team, notes)
    index(team, notes)
    with team.app.docstore.transaction() as transaction:
        run = transaction.runs.start(RunRequest(Verb.INDEX, [file_path(notes)]), pid=1, host="h")
        transaction.pauses.put(run)
        space = team.embedder.space
        transaction.search_vectors.put(space.name, {b"x" * 16: bytes(4 * space.dimensions)})  # type: ignore[dict-item]
    team.close()
    with contextlib.closing(sqlite3.connect(place / "data/data.db")) as connection:
        for key in ("suffix", "left_suffix", "words_removed_at", "words_drops", "rows_given", "plain_texts_until"):
            connection.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (key,))
        connection.execute("UPDATE meta SET value = '0' WHERE value = '' AND key NOT LIKE '%suffix'")
        connection.execute("INSERT OR IGNORE INTO static_vectors VALUES (1, zeroblob(8), zeroblob(48))")
        connection.execute("INSERT OR IGNORE INTO settled_directories SELECT path, id, x'00', 1, '' FROM directories")
        connection.commit()
    return place


def index(team: Team, notes: Path) -> None:
    team.app.runs.indexer.index([str(notes)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)


def damage(database: Path, column: str, value: object) -> None:
    mark = "?"
    if isinstance(value, tuple):
        mark, value = "CAST(? AS TEXT)", value[1]
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        if column.startswith("meta:"):
            connection.execute(f"INSERT OR REPLACE INTO meta VALUES (?, {mark})", (column[5:], value))  # noqa: S608
        else:
            table, name = column.split(".")
            connection.execute(f"UPDATE OR IGNORE {table} SET {name} = {mark}", (value,))  # noqa: S608
        connection.commit()


def get(app: App, path: Path) -> None:
    with app.docstore.snapshot() as snapshot:
        json_pages.get_json(read_text(snapshot, file_path(path), None))


def search(app: App, mode: SearchMode) -> None:
    result = app.searcher.search(SearchRequest("larch", mode=mode))
    json_pages.search_json(result, index=result.summary, position=Position(b""), explain=True)


def verbs(team: Team, notes: Path) -> list[Callable[[], object]]:
    app = team.app
    return [
        *(lambda mode=mode: search(app, mode) for mode in SearchMode),
        lambda: get(app, notes / "larch.md"),
        lambda: json_pages.status_json(app.status.report(), verbose=True),
        lambda: list(app.doctor.check()),
        lambda: index(team, notes),
    ]


def asked(team: Team, notes: Path) -> list[DirIndexError]:
    """Ask for everything, and collect the errors; any other exception is a bug."""
    errors = []
    for verb in verbs(team, notes):
        try:
            verb()
        except DirIndexError as error:
            errors.append(error)
    return errors


def check(pristine: Path, data_dir: Path, column: str, value: object) -> None:
    assume((column, value) != ("directories.path", os.sep))  # a valid root, below which nothing can be tracked
    notes = pristine / "notes"
    shutil.rmtree(data_dir, ignore_errors=True)
    shutil.copytree(pristine / "data", data_dir)
    damage(data_dir / "data.db", column, value)
    team = Team(data_dir)
    errors = asked(team, notes)
    assert all(error.hint for error in errors), errors
    with contextlib.suppress(CorruptIndexError):  # then the database is set aside, and there is a new one
        team.app.docstore.maintenance.require_integrity()
        team.app.docstore.maintenance.repair_values()
        team.close()
        team = Team(data_dir)
        assert asked(team, notes) == []
        assert len(team.search("larch", mode=SearchMode.KEYWORD)) == 1
    team.close()


_SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@settings(_SHARED, max_examples=6)
@given(column=st.sampled_from(COLUMNS), value=VALUES)
@example(column="files.dated_at", value=b"\0")
@example(column="files.dated_at", value=1e300)
@example(column="directories.completed_at", value="x")
@example(column="files.reason", value=b"\0")
def test_a_damaged_value_is_an_error_that_says_what_to_do_and_can_be_mended(
    pristine: Path, tmp_path: Path, column: str, value: object
) -> None:
    check(pristine, tmp_path / "data", column, value)


@settings(_SHARED, max_examples=5)
@given(column=st.sampled_from(PLAIN_COLUMNS), value=VALUES)
@example(column="files.detail", value=b"\0")
def test_a_damaged_plain_value_is_not_reported_as_a_bug(
    pristine: Path, tmp_path: Path, column: str, value: object
) -> None:
    shutil.rmtree(tmp_path / "data", ignore_errors=True)
    shutil.copytree(pristine / "data", tmp_path / "data")
    damage(tmp_path / "data/data.db", column, value)
    team = Team(tmp_path / "data")
    assert all(error.hint for error in asked(team, pristine / "notes"))
    team.close()


def test_a_stored_path_with_a_nul_is_reported_with_its_repair(pristine: Path, tmp_path: Path) -> None:
    shutil.copytree(pristine / "data", tmp_path / "data")
    with contextlib.closing(sqlite3.connect(tmp_path / "data/data.db")) as connection:
        connection.execute("UPDATE files SET path = char(0) WHERE path LIKE '%/larch.md'")
        connection.commit()
    team = Team(tmp_path / "data")
    with pytest.raises(CorruptIndexError) as raised:
        search(team.app, SearchMode.KEYWORD)
    assert "doctor --repair" in (raised.value.hint or "")
    team.close()


def test_an_error_over_an_index_that_is_whole_is_a_bug(pristine: Path, tmp_path: Path) -> None:
    shutil.copytree(pristine / "data", tmp_path / "data")
    store = DocStore(tmp_path / "data/data.db")
    with pytest.raises(TypeError), store.snapshot():
        raise TypeError
    store.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(_SHARED, max_examples=6 * settings().max_examples)
@given(column=st.sampled_from(COLUMNS), value=VALUES)
def test_many_damaged_values_are_errors_that_can_be_mended(
    pristine: Path, tmp_path: Path, column: str, value: object
) -> None:
    check(pristine, tmp_path / "data", column, value)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("runs.directories", "{"), ("files.reason", "x"), ("meta:space", "{"), ("meta:suffix", "/..")),
        *(("directories.path", value) for value in ("", "/a\0b", "notes", "/elsewhere")),
    ],
)
def test_the_doctor_repairs_a_damaged_value(pristine: Path, tmp_path: Path, column: str, value: str) -> None:
    shutil.copytree(pristine / "data", tmp_path / "data")
    damage(tmp_path / "data/data.db", column, value)
    team = Team(tmp_path / "data")
    assert [finding for finding in team.app.doctor.check() if finding.verdict is Verdict.PROBLEM]
    assert [finding for finding in team.app.doctor.repair() if finding.verdict is Verdict.REPAIRED]
    team.close()
    team = Team(tmp_path / "data")
    index(team, pristine / "notes")
    assert asked(team, pristine / "notes") == []
    team.close()


@pytest.mark.skipif(os.sep != "/", reason="a backslash is no letter of a name")
def test_a_backslash_in_a_name_is_no_damage(tmp_path: Path) -> None:
    notes = tmp_path / "notes\\"
    notes.mkdir()
    for name in (r"x\.\notes.md", r"x\..\y.md", r"..\z.md"):
        (notes / name).write_text(f"The larch of {name}.", encoding="utf-8")
    team = Team(tmp_path / "data")
    index(team, notes)
    assert not [finding for finding in team.app.doctor.check() if finding.verdict is Verdict.PROBLEM]
    (notes / r"..\z.md").unlink()
    index(team, notes)
    assert len(team.search("larch", mode=SearchMode.KEYWORD)) == 2
    team.close()
