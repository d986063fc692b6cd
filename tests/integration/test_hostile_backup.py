"""A backup is data: whatever somebody has written into it, a restore and what follows touch nothing outside."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from teams import Team

from directory_indexer.collections.backup import back_up
from directory_indexer.collections.consistency_checks import registry_findings, repair_documents, repair_registry
from directory_indexer.collections.ingest import WaitUntil
from directory_indexer.collections.restore import RestoreOptions, RestoreReport, restore
from directory_indexer.core.errors import (
    ConsentNeededError,
    CorruptRegistryError,
    DirIndexError,
    StoreError,
    UsageError,
    VectorsLostError,
)
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.storage.registry.keys import Keys
from directory_indexer.storage.registry.operations import Operations
from directory_indexer.storage.vectors.generations import GenerationFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

VICTIM = "what lies beside the data directory and is nobody's business"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one good backup, of a tracked directory, two documents and a key."""
    place = tmp_path_factory.mktemp("pristine")
    team = Team(place / "data")
    notes = place / "notes"
    notes.mkdir()
    (notes / "larch.md").write_text("The larch of the ridge.", encoding="utf-8")
    team.app.runs.indexer.index([str(notes)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    team.collections.create("birds")
    for number in range(2):
        team.add(f"The heron of pond {number}.", "birds", client_id=str(number), wait=WaitUntil.COMPLETE)
    back_up(team.app, team.collections, place / "backup", report_progress=lambda _: None)
    team.close()
    return place / "backup"


@pytest.fixture
def backup(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "backup"))


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """Plant a directory beside the data directory that nothing may change, and look that nothing new lies there."""
    victim = tmp_path / "victim"
    (victim / "generation-1").mkdir(parents=True)
    (victim / "draft-1").mkdir()
    for name in ("letter.md", "generation-1/vectors", "draft-1/notes"):
        (victim / name).write_text(VICTIM, encoding="utf-8")
    before = tree(victim)
    yield victim
    assert tree(victim) == before
    assert {path.name for path in tmp_path.iterdir()} <= {"victim", "backup", "home", "outside"}
    assert {path.name for path in (tmp_path / "home").iterdir()} <= {"data"}


def tree(directory: Path) -> dict[str, str]:
    paths = sorted(directory.rglob("*"))
    return {str(path): path.read_text(encoding="utf-8") if path.is_file() else "" for path in paths}


def written(backup: Path, database: str, statement: str, *values: object) -> None:
    """Write something into a database of a backup, whose size the manifest then names."""
    with sqlite3.connect(backup / database) as connection:
        connection.execute(statement, values)
    connection.close()
    sized(backup)


def declared(backup: Path, database: str, kind: str, name: str, table: str, sql: str) -> None:
    """Write into the schema of a database what SQLite would not make, but runs."""
    with sqlite3.connect(backup / database) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, 0, ?)", (kind, name, table, sql))
    connection.close()
    sized(backup)


def redeclared(backup: Path, database: str, table: str, old: str, new: str) -> None:
    """Replace a part of the declaration of a table."""
    with sqlite3.connect(backup / database) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        changed = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)"
        assert connection.execute(changed, (old, new, table, old)).rowcount == 1
    connection.close()
    sized(backup)


_KEY_AGAIN = "CREATE TRIGGER {} AFTER INSERT ON keys BEGIN DELETE FROM scopes; END"


def sized(backup: Path, *added: str) -> None:
    manifest = json.loads((backup / "manifest.json").read_text(encoding="utf-8"))
    files = dict.fromkeys((*manifest["files"], *added))
    manifest["files"] = {name: (backup / name).stat().st_size for name in files if (backup / name).exists()}
    (backup / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def restored(tmp_path: Path, backup: Path, *, accepts: bool | None = None) -> tuple[Team, RestoreReport]:
    team = Team(tmp_path / "home" / "data")
    report = restore(team.app, backup, RestoreOptions(accepts_settings=accepts), report_progress=lambda _: None)
    team.close()
    return Team(tmp_path / "home" / "data"), report


def documents_of(backup: Path) -> list[Path]:
    return sorted(path.parent for path in (backup / "team/collections/birds/documents").rglob("*.md"))


def named(backup: Path, name: str) -> None:
    """Rename the collection of a backup in its registry."""
    written(backup, "team/team.db", "UPDATE collections SET name = ?", name)
    written(backup, "team/team.db", "UPDATE documents SET collection = ?", name)


REGISTRIES: dict[str, Callable[[Path], object]] = {
    "an id that leads out, being deleted": lambda backup: written(
        backup, "team/team.db", "UPDATE OR REPLACE documents SET doc_id = '../../../../victim', state = 'deleting'"
    ),
    "a collection that leads out": lambda backup: named(backup, "../../../victim"),
    "a collection that leads out, being deleted": lambda backup: written(
        backup, "team/team.db", "INSERT INTO collections VALUES ('../../../victim', '', 1.0, 1)"
    ),
    "a collection of an absolute path": lambda backup: named(backup, "/tmp/x"),  # noqa: S108 - never made
    "a name of a file that leads out": lambda backup: written(
        backup, "team/team.db", "UPDATE documents SET stored_name = '../../../../../../victim/letter.md'"
    ),
    "a name of a file with a backslash": lambda backup: written(
        backup, "team/team.db", "UPDATE documents SET stored_name = '..\\victim'"
    ),
    "a name that is the directory": lambda backup: written(
        backup, "team/team.db", "UPDATE documents SET stored_name = '.'"
    ),
    "a media type of two lines": lambda backup: written(
        backup, "team/team.db", "UPDATE documents SET media_type = 'text/plain' || char(13, 10) || 'X: y'"
    ),
    "metadata that is none": lambda backup: written(backup, "team/team.db", "UPDATE documents SET metadata = '[1'"),
    "what was replaced leads out": lambda backup: written(
        backup, "team/team.db", 'INSERT INTO replaced SELECT collection, doc_id, \'["birds", "../x"]\' FROM documents'
    ),
    "a trigger": lambda backup: written(
        backup,
        "team/team.db",
        "CREATE TRIGGER t AFTER UPDATE ON documents BEGIN DELETE FROM collections; END",
    ),
    "a trigger called as tables of SQLite are": lambda backup: declared(
        backup, "team/team.db", "trigger", "sqlite_t", "keys", _KEY_AGAIN.format("sqlite_t")
    ),
    "a trigger called as its statistics": lambda backup: declared(
        backup, "team/team.db", "trigger", "sqlite_stat1", "keys", _KEY_AGAIN.format("sqlite_stat1")
    ),
    "a constraint that nothing meets": lambda backup: redeclared(
        backup, "team/team.db", "keys", "expires_at   REAL", "expires_at REAL CHECK (0)"
    ),
    "another default": lambda backup: redeclared(
        backup, "team/team.db", "keys", "created_at   REAL NOT NULL", "created_at REAL NOT NULL DEFAULT (randomblob(9))"
    ),
    "an index over what is made": lambda backup: redeclared(
        backup, "team/team.db", "documents_to_do", "(collection", "((length(zeroblob(9))), collection"
    ),
    "a column more": lambda backup: written(backup, "team/team.db", "ALTER TABLE scopes ADD COLUMN x"),
    "a generated column": lambda backup: written(
        backup, "team/team.db", "ALTER TABLE scopes ADD COLUMN x AS (upper(name))"
    ),
    "a newer version": lambda backup: written(backup, "team/team.db", "PRAGMA user_version = 99"),
}

INDEXES: dict[str, Callable[[Path], object]] = {
    "vectors that lead out": lambda backup: written(
        backup, "data.db", "INSERT OR REPLACE INTO meta VALUES ('suffix', '/../../../victim')"
    ),
    "former vectors that lead out": lambda backup: written(
        backup, "data.db", "INSERT OR REPLACE INTO meta VALUES ('left_suffix', '/../../../../victim')"
    ),
    "a file outside of its directory": lambda backup: written(
        backup, "data.db", "UPDATE files SET path = '/etc/hostname'"
    ),
    "a file that leads out of its directory": lambda backup: written(
        backup, "data.db", "UPDATE files SET path = (SELECT path FROM directories) || '/../victim/letter.md'"
    ),
    "a file beside its directory": lambda backup: written(
        backup, "data.db", "UPDATE files SET path = (SELECT path FROM directories) || '-private/letter.md'"
    ),
    "a file of no directory": lambda backup: written(backup, "data.db", "UPDATE files SET directory_id = 99"),
    "a directory that is not resolved": lambda backup: written(
        backup, "data.db", "UPDATE directories SET path = path || '/../victim'"
    ),
    "a trigger": lambda backup: written(
        backup, "data.db", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM files; END"
    ),
    "a trigger called as tables of SQLite are, in capitals": lambda backup: declared(
        backup,
        "data.db",
        "trigger",
        "SQLite_t",
        "runs",
        "CREATE TRIGGER SQLite_t AFTER INSERT ON runs BEGIN DELETE FROM files; END",
    ),
    "a view called as tables of SQLite are": lambda backup: declared(
        backup, "data.db", "view", "sqlite_v", "sqlite_v", "CREATE VIEW sqlite_v AS SELECT * FROM files"
    ),
    "a view": lambda backup: written(backup, "data.db", "CREATE VIEW v AS SELECT * FROM files"),
    "another virtual table": lambda backup: written(backup, "data.db", "CREATE VIRTUAL TABLE v USING fts5(x)"),
    "damaged runs": lambda backup: written(
        backup,
        "team/collections/birds/data.db",
        "UPDATE runs SET directories = '{'",
    ),
    "a trigger in a collection": lambda backup: written(
        backup, "team/collections/birds/data.db", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END"
    ),
}


def rightless(backup: Path) -> None:
    with sqlite3.connect(backup / "team/team.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        digest = hashlib.sha256(b"k").digest()
        connection.execute(
            "INSERT INTO keys (name, digest, access_right, created_at) VALUES ('k', ?, 'owner', 1.0)", (digest,)
        )
    connection.close()
    sized(backup)


def replaced_by_view(backup: Path) -> None:
    written(backup, "team/team.db", "ALTER TABLE scopes RENAME TO x")
    written(backup, "team/team.db", "CREATE VIEW scopes AS SELECT * FROM x")


CHANGES = {
    **REGISTRIES,
    **{f"index: {name}": change for name, change in INDEXES.items()},
    "a view in the place of a table": replaced_by_view,
    "a key with the right of the owner": rightless,
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_database_that_dirindex_cannot_have_written_is_refused_and_changes_nothing(
    backup: Path, canary: Path, tmp_path: Path, how: str
) -> None:
    CHANGES[how](backup)
    with pytest.raises(StoreError):
        restored(tmp_path, backup)
    assert [path.name for path in (tmp_path / "home" / "data").iterdir()] == []
    assert canary.is_dir()


MANIFESTS = [
    "team/../../victim/letter.md",
    "team/gone-../k",
    "team/collections/../../../victim/x",
    "team/collections/birds/documents/5z/../../x",
    "team/collections/birds/documents/ab/abc/letter.md",
    "team/collections/birds/incoming/x.mark",
    "team/team.db-journal",
    "team/team.db-wal",
    "data.db-wal",
    "data.db/x",
    "qdrant/../../victim/x",
    "qdrant/./x",
    "qdrant//x",
    "qdrant\\..\\x",
    "restore.json",
    "assistants.json",
    "write.lock",
    "",
    "/etc/passwd",
    "\ud800",
    "qdrant/\0",
]


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_names_no_file_that_no_backup_has(backup: Path, canary: Path, tmp_path: Path, name: str) -> None:
    manifest = json.loads((backup / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"][name] = len(VICTIM)
    (backup / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises((StoreError, UsageError)):
        restored(tmp_path, backup)
    assert canary.is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("depth", ["file", "directory", "documents", "team"])
def test_no_link_leads_out_of_a_backup(backup: Path, canary: Path, tmp_path: Path, depth: str) -> None:
    original = documents_of(backup)[0]
    place = {
        "file": next(original.iterdir()),
        "directory": original,
        "documents": original.parent.parent,
        "team": backup / "team",
    }[depth]
    outside = tmp_path / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    with pytest.raises(StoreError, match="has changed since the backup"):
        restored(tmp_path, backup)
    assert canary.is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_backup_that_the_user_names_by_a_link_is_restored(backup: Path, canary: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").symlink_to(backup)
    team, report = restored(tmp_path, tmp_path / "outside")
    assert report.n_documents == 2
    assert [str(path) for path in report.directories] == [str(backup.parent / "notes")] or report.directories
    team.close()
    assert canary.is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_in_a_backup_is_not_waited_for(backup: Path, canary: Path, tmp_path: Path) -> None:
    original = next(documents_of(backup)[0].iterdir())
    size = original.stat().st_size
    original.unlink()
    os.mkfifo(original)
    assert size
    with pytest.raises(StoreError, match="has changed since the backup"):
        restored(tmp_path, backup)
    assert canary.is_dir()


COMMAND = {"kind": "x", "suffixes": ["x"], "command": ["/bin/sh", "-c", "touch PWNED", "x", "{file}"]}


def configured(backup: Path, **settings: object) -> None:
    (backup / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    sized(backup, "config.json")


def test_settings_that_bring_commands_addresses_or_paths_are_shown_and_not_taken(
    backup: Path, canary: Path, tmp_path: Path
) -> None:
    configured(
        backup,
        indexing={"extractors": [COMMAND], "chunk_size": 128, "include_secrets": True},
        ocr={"tesseract": "/tmp/evil", "engine": "gemini"},  # noqa: S108
        embedding={"provider": "openai", "endpoint": "https://evil.example", "api_key": "sk-secret"},
        storage={"sqlite_path": str(canary / "data.db")},
        telemetry={"otlp_endpoint": "https://evil.example"},
        fetching={"allowed": ["10.0.0.0/8"]},
    )
    with pytest.raises(ConsentNeededError) as caught:
        restored(tmp_path, backup)
    for part in ("touch PWNED", "include_secrets", "ocr.tesseract", "evil.example", "sqlite_path", "fetching.allowed"):
        assert part in caught.value.message
    assert "sk-secret" not in caught.value.message
    assert "chunk_size" not in caught.value.message
    assert "--accept-settings" in str(caught.value.hint)
    assert [path.name for path in (tmp_path / "home" / "data").iterdir()] == []
    team, report = restored(tmp_path, backup, accepts=False)
    assert len(report.left_out) == 10
    kept = json.loads((tmp_path / "home/data/config.json").read_text(encoding="utf-8"))
    assert kept == {"indexing": {"chunk_size": 128}}
    team.close()


def test_settings_are_taken_with_consent(backup: Path, canary: Path, tmp_path: Path) -> None:
    configured(backup, indexing={"extractors": [COMMAND]})
    team, report = restored(tmp_path, backup, accepts=True)
    assert report.left_out == ()
    assert "touch PWNED" in (tmp_path / "home/data/config.json").read_text(encoding="utf-8")
    team.close()
    assert canary.is_dir()


def test_a_setting_that_is_too_long_to_be_shown_is_not_taken_unseen(backup: Path, canary: Path, tmp_path: Path) -> None:
    configured(backup, indexing={"extractors": [COMMAND | {"command": ["true", "a" * 5_000, "touch PWNED"]}]})
    with pytest.raises(StoreError, match="too long to be shown"):
        restored(tmp_path, backup, accepts=True)
    team, report = restored(tmp_path, backup, accepts=False)
    assert len(report.left_out) == 1
    team.close()
    assert canary.is_dir()


def test_harmless_settings_need_no_consent(backup: Path, canary: Path, tmp_path: Path) -> None:
    configured(backup, indexing={"chunk_size": 128}, embedding={"provider": "embedded"})
    team, report = restored(tmp_path, backup)
    assert report.left_out == ()
    assert json.loads((tmp_path / "home/data/config.json").read_text(encoding="utf-8"))["indexing"]["chunk_size"] == 128
    team.close()
    assert canary.is_dir()


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]", b'{"indexing": {"chunk_size": "x"}}', b"[" * 100_000])
def test_a_configuration_that_is_none_is_not_restored(
    backup: Path, canary: Path, tmp_path: Path, content: bytes
) -> None:
    (backup / "config.json").write_bytes(content)
    sized(backup, "config.json")
    with pytest.raises((StoreError, ConsentNeededError)):
        restored(tmp_path, backup)
    assert canary.is_dir()


def test_keys_that_are_new_here_are_shown_and_taken_only_with_consent(
    backup: Path, canary: Path, tmp_path: Path
) -> None:
    digest = hashlib.sha256(b"k").digest()
    written(
        backup,
        "team/team.db",
        "INSERT INTO keys (name, digest, access_right, created_at) VALUES ('eve', ?, 'admin', 1.0)",
        digest,
    )
    with pytest.raises(ConsentNeededError, match=r"key 'eve' \(admin, all collections\)"):
        restored(tmp_path, backup)
    team, report = restored(tmp_path, backup, accepts=False)
    assert report.left_out == ("key 'eve' (admin, all collections)",)
    assert Keys(team.app.registry).all() == ()
    team.close()
    assert canary.is_dir()


def test_administrative_work_of_elsewhere_does_not_go_on_here(backup: Path, canary: Path, tmp_path: Path) -> None:
    written(
        backup,
        "team/team.db",
        "INSERT INTO operations (id, kind, collection, options, state, started_at) "
        "VALUES (1, 'backup', '', '{\"name\": \"../../victim\"}', 'paused', 1.0)",
    )
    team, _ = restored(tmp_path, backup)
    assert Operations(team.app.registry).newest() == []
    team.close()
    assert canary.is_dir()


def test_a_journal_of_elsewhere_moves_and_removes_nothing(backup: Path, canary: Path, tmp_path: Path) -> None:
    data = tmp_path / "home" / "data"
    data.mkdir(parents=True)
    moves = [{"staged": "", "place": str(data / "data.db"), "aside": str(canary)}]
    (data / "restore.json").write_text(json.dumps(moves), encoding="utf-8")
    with pytest.raises(StoreError, match="was not written by a restore"):
        restored(tmp_path, backup)
    assert canary.is_dir()


# What a database that is here already says leads nowhere either: a disk fails, and a data directory may be shared.


@pytest.fixture
def team(pristine: Path, canary: Path, tmp_path: Path) -> Iterator[Team]:
    assert canary
    team, _ = restored(tmp_path, pristine)
    yield team
    team.close()


def in_registry(team: Team, statement: str) -> None:
    with sqlite3.connect(team.data_dir / "team/team.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute(statement)
    connection.close()


ROWS = [
    "UPDATE OR REPLACE documents SET doc_id = '../../../../victim', state = 'deleting'",
    "INSERT INTO collections VALUES ('../../../../victim', '', 1.0, 1)",
    "UPDATE documents SET stored_name = '../../../../../../victim/letter.md', n_bytes = 60",
    "UPDATE documents SET metadata = '{'",
    "UPDATE documents SET state = 'nonsense'",
    "UPDATE documents SET added_at = 1e300",
    "UPDATE documents SET n_bytes = 'many'",
    "UPDATE documents SET title = CAST(x'ff' AS TEXT)",
    "UPDATE collections SET description = x'00'",
    "UPDATE collections SET is_leaving = 1, name = 'default'",
    "INSERT INTO scopes VALUES ('birds', 'x', '../../x')",
    "INSERT INTO operations (id, kind, collection, options, state, started_at) VALUES (1, 'backup', '', '[', 'x', 1)",
    "INSERT INTO keys (name, digest, access_right, created_at) VALUES ('k', x'00', 'admin', 1.0)",
    """INSERT INTO keys (name, digest, access_right, collections, created_at)
       VALUES ('k', zeroblob(32), 'admin', '"ab"', 1.0)""",
]


@pytest.mark.parametrize("statement", ROWS)
def test_a_damaged_row_of_the_registry_stops_nothing_else_and_leads_nowhere(team: Team, statement: str) -> None:
    in_registry(team, statement)
    verbs: list[Callable[[], object]] = [
        team.collections.recover,
        team.collections.list,
        lambda: [team.verbs.documents(name) for name in team.collections.names()],
        lambda: [team.verbs.original("birds", path.parent.name) for path in team.data_dir.rglob("documents/*/*/*.md")],
        lambda: team.search("heron", "birds"),
        Keys(team.app.registry).all,
        Operations(team.app.registry).newest,
    ]
    for verb in verbs:
        with contextlib.suppress(DirIndexError):
            verb()
    originals = sorted(team.data_dir.rglob("documents/*/*/*.md"))
    list(repair_registry(team.app.registry, team.data_dir))
    assert list(registry_findings(team.app.registry)) == []
    for name in team.collections.names():
        with team.collections.opened(name) as opened:
            list(repair_documents(opened))
    if "doc_id" not in statement and "stored_name" not in statement and "default" not in statement:
        assert sorted(team.data_dir.rglob("documents/*/*/*.md")) == originals
        assert len(team.search("heron", "birds")) == 2


def test_a_registry_with_a_damaged_row_is_not_backed_up_in_silence(team: Team, tmp_path: Path) -> None:
    in_registry(team, "UPDATE documents SET metadata = '{'")
    with pytest.raises(CorruptRegistryError, match="damaged") as caught:
        back_up(team.app, team.collections, tmp_path / "outside", report_progress=lambda _: None)
    assert "doctor --repair" in str(caught.value.hint)


def test_a_collection_that_the_registry_has_lost_keeps_its_documents(team: Team) -> None:
    in_registry(team, "DELETE FROM collections")
    team.collections.recover()
    assert len(list((team.data_dir / "team/collections/birds/documents").rglob("*.md"))) == 2


def test_the_vectors_of_an_index_lead_nowhere(team: Team) -> None:
    with sqlite3.connect(team.data_dir / "data.db") as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('suffix', '/../../../victim')")
    connection.close()
    for verb in (
        lambda: team.search("larch"),
        lambda: team.app.runs.indexer.index(
            [], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None
        ),
        lambda: list(team.app.doctor.check()),
    ):
        with contextlib.suppress(DirIndexError):
            verb()


@pytest.mark.parametrize("name", ["../../victim/letter.md", "/etc/hostname", "a/../../x", "a//b", "..", "a\\b", ""])
@pytest.mark.parametrize("listing", ["contents.json", "checksums.json"])
def test_a_list_of_files_of_vectors_names_none_outside(tmp_path: Path, canary: Path, name: str, listing: str) -> None:
    generation = tmp_path / "home" / "data"
    generation.mkdir(parents=True)
    value: object = len(VICTIM) if listing == "contents.json" else "0" * 64
    (generation / "contents.json").write_text("{}", encoding="utf-8")
    (generation / listing).write_text(json.dumps({name: value}), encoding="utf-8")
    files = GenerationFiles(generation)
    with pytest.raises(VectorsLostError, match="lies elsewhere"):
        files.lengths() if listing == "contents.json" else files.require_intact()
    assert canary.is_dir()


@pytest.mark.parametrize("content", ["[]", "{", '{"a": "b"}', "null", "[" * 100_000])
def test_a_list_of_files_that_is_none_is_damage(tmp_path: Path, content: str) -> None:
    (tmp_path / "contents.json").write_text(content, encoding="utf-8")
    with pytest.raises(VectorsLostError, match="damaged"):
        GenerationFiles(tmp_path).lengths()


def test_a_data_directory_behind_a_link_is_restored_into(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "home" / "data").symlink_to(tmp_path / "elsewhere")

    team, _ = restored(tmp_path, backup)

    assert team.collections.names() == ["default", "birds"]
    team.close()
    assert (tmp_path / "elsewhere" / "data.db").is_file()
