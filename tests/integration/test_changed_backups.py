"""Backups and data directories that somebody has changed: they lead nowhere, and are mended."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import sqlite3
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fakes import FakeEmbedder
from tortures.workbench import Child

from directory_indexer.app import App
from directory_indexer.collections import Collections
from directory_indexer.collections.backup import back_up
from directory_indexer.collections.consistency_checks import (
    document_findings,
    registry_findings,
    repair_documents,
    repair_registry,
)
from directory_indexer.collections.documents import DocumentOperations
from directory_indexer.collections.ingest import DocumentIngest, IngestRequest
from directory_indexer.collections.restore import RestoreOptions, restore
from directory_indexer.collections.search import scopes_of_collection, search_collections
from directory_indexer.config import load_config
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.paths import FilePath
from directory_indexer.core.rights import Right
from directory_indexer.embedding.loading import Embedders, ServiceAccess
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchRequest
from directory_indexer.storage.registry.keys import Keys
from directory_indexer.storage.registry.operations import Operations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_SECONDS = 120.0
_CANARY = "a canary of 2f8e1c that sings to nobody"
_SETTINGS = (
    *(("indexing", "extractors"), ("storage", "sqlite_path"), ("ocr", "tesseract"), ("embedding", "endpoint")),
    *(("indexing", "chunk_size"), ("indexing", "ignore_patterns")),
)
_LEADING_OUT = (
    *("../canary", "../../canary", "../../../canary", "../../../../canary", "../../../../../canary/letter.md"),
    *("/etc/hostname", "..", ".", "a/../../../canary", "..\\canary", "team/../../canary", "con", ".hidden", "x" * 300),
)
_TEXTS = (
    *("", " ", "\0", "\x1b[31m\x1b]0;x\x07", "\r", "\u202e", "\ufeff", "\U0010ffff", "\udc80", "\ud800", "'\";--"),
    *("0", "-1", "2147483648", "9223372036854775808", "1e309", "NaN", "1" * 400, "[]", "{}", "null", "[" * 2000),
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("backups") / "pristine"
    code, output = Child(_plant, place).wait()
    assert code == 0, output
    return place


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(200))
def test_a_changed_backup_or_data_directory_leads_nowhere_and_breaks_nothing(
    seed: int, pristine: Path, tmp_path: Path
) -> None:
    descriptions = _changed(pristine, tmp_path, random.Random(seed))  # noqa: S311 - chance decides what to try
    assert _complaint(tmp_path) == "", descriptions


def _plant(pristine: Path) -> None:
    """Make a data directory with all that a backup can hold, and a backup of it."""
    notes = pristine / "notes"
    notes.mkdir(parents=True)
    (notes / "larch.md").write_text("The larch of the ridge.", encoding="utf-8")
    data_dir = pristine / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "config.json").write_text('{"indexing": {"chunk_size": 128}}', encoding="utf-8")
    app = _app(data_dir)
    app.runs.indexer.index([str(notes)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    collections = Collections(app)
    for name in ("birds", "fish"):
        collections.create(name, description=f"of {name}")
        for number in range(2):
            sending = IngestRequest(name, client_id=str(number), sender_metadata={"tags": ["x"]})
            DocumentIngest(collections).add_text(f"The heron number {number} of {name}.", sending)
    scopes_of_collection(collections, "default").put("ridge", [FilePath(str(notes))])
    back_up(app, collections, pristine / "backup", report_progress=lambda _: None)
    Keys(app.registry).add("ann", Right.READ)
    collections.close()
    app.close()


def _app(data_dir: Path) -> App:
    embedder = FakeEmbedder()
    app = App(load_config(file=None, data_dir=data_dir, environ={}))
    app.embedders = Embedders(embedder.space, ServiceAccess(), build=lambda *_: embedder)
    return app


def _changed(pristine: Path, place: Path, chance: random.Random) -> list[str]:
    """Copy the backup, or a data directory itself, with a canary beside it; change it in a few ways, and say how."""
    shutil.copytree(pristine / "backup", place / "backup")
    victim, changes = place / "backup", _CHANGES
    if chance.random() < 0.5:
        victim, changes = Path(shutil.copytree(pristine / "data", place / "home" / "data")), _CHANGES_IN_PLACE
    canary = place / "home" / "canary"
    for name in ("letter.md", "generation-1/vectors", "draft-1/x", "documents/ab/x"):
        (canary / name).parent.mkdir(parents=True, exist_ok=True)
        (canary / name).write_text(_CANARY, encoding="utf-8")
    descriptions = []
    for _ in range(chance.choice((1, 1, 2, 4))):
        change = chance.choice(changes)
        with contextlib.suppress(OSError, sqlite3.Error, UnicodeError, ValueError, OverflowError):
            descriptions.append(f"{change.__name__}: {change(victim, chance)}")
    if chance.random() < 0.9:
        _name_sizes(place / "backup")
    return descriptions


def _name_sizes(backup: Path) -> None:
    """Write the sizes of all files to the manifest, if it can still be parsed."""
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, OSError, UnicodeError):
        path = backup / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        files = [file for file in backup.rglob("*") if file.is_file() and file != path]
        sizes = {file.relative_to(backup).as_posix(): file.stat().st_size for file in files}
        manifest["files"] = {**manifest["files"], **sizes}
        path.write_text(json.dumps(manifest), encoding="utf-8")


def _text(chance: random.Random) -> str:
    return chance.choice((*_LEADING_OUT, *_LEADING_OUT, *_TEXTS))


def _plain(chance: random.Random) -> Any:
    return chance.choice((_text(chance), 0, -1, 1.5, None, True, [], {}, [_text(chance)], {"x": _text(chance)}))


def _mutated(content: bytes, chance: random.Random) -> bytes:
    """Change a content in a few ways: bits, texts put in, parts left out or repeated."""
    for _ in range(chance.randint(1, 5)):
        start = chance.randrange(len(content) + 1)
        end = start + 4 ** chance.randint(0, 6)
        inserted = chance.choice((_text(chance).encode("utf-8", "surrogatepass"), chance.randbytes(9)))
        part = chance.choice((b"", inserted, content[start:end] * chance.choice((2, 100)), bytes(end - start)))
        content = (content[:start] + part + content[chance.choice((start, end)) :])[: 1 << 20]
    return content


def _execute(database: Path, statement: str, values: tuple[object, ...] = ()) -> str:
    """Run a statement on a database, whatever constraints say."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute(statement, values)
        connection.commit()
    return f"{database.name}: {statement} {values!r:.80}"


def _write_row(place: Path, chance: random.Random) -> str:
    """Put a value into a column of a database."""
    path = chance.choice([*place.rglob("team.db"), *place.rglob("team.db"), *place.rglob("data.db")])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'chunks_*'")
        table = chance.choice([name for (name,) in tables])
        columns = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    text = _text(chance).encode("utf-8", "surrogatepass")
    value = chance.choice((text, text, text, 0, -1, 2**63 - 1, 1e300, None, b""))
    mark = "CAST(? AS TEXT)" if value == text and chance.random() < 0.9 else "?"
    where = chance.choice(("", f" WHERE {columns[0]} = (SELECT {columns[0]} FROM {table} LIMIT 1)"))  # noqa: S608
    return _execute(path, f"UPDATE OR REPLACE {table} SET {chance.choice(columns)} = {mark}{where}", (value,))  # noqa: S608


_INSERTIONS = (
    "INSERT INTO collections VALUES (CAST(? AS TEXT), '', 1.0, 1)",
    "INSERT INTO keys (name, digest, access_right, created_at) VALUES (CAST(? AS TEXT), zeroblob(32), 'admin', 1.0)",
    "INSERT INTO scopes VALUES ('birds', 'x', CAST(? AS TEXT))",
    """INSERT INTO operations (id, kind, collection, options, state, started_at)
       VALUES (1, 'backup', '', json_object('name', CAST(? AS TEXT)), 'paused', 1.0)""",
)
_STATEMENTS = (
    "CREATE TRIGGER t AFTER UPDATE ON documents BEGIN DELETE FROM collections; END",
    "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM files; END",
    "CREATE VIEW v AS SELECT 1",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "DROP TABLE scopes",
    "ALTER TABLE files RENAME TO x",
    "PRAGMA user_version = 7",
)


def _insert_row(place: Path, chance: random.Random) -> str:
    """Add a collection, document, key or operation that leads out."""
    name = _text(chance).encode("utf-8", "surrogatepass")
    return _execute(place / "team/team.db", chance.choice(_INSERTIONS), (name,))


def _run_statement(place: Path, chance: random.Random) -> str:
    """Add code to a database, or give it another version."""
    return _execute(chance.choice([*place.rglob("*.db")]), chance.choice(_STATEMENTS))


def _mutate_file(place: Path, chance: random.Random, pattern: str = "*") -> str:
    """Change the bytes of a file, more often of one that is small."""
    files = sorted(path for path in place.rglob(pattern) if path.is_file())
    small = [path for path in files if path.suffix == ".json"]
    path = chance.choice(small or files if chance.random() < 0.6 else files)
    path.write_bytes(_mutated(path.read_bytes(), chance))
    return path.relative_to(place).as_posix()


def _write_manifest(backup: Path, chance: random.Random) -> str:
    """Name a file, a collection or a version that leads out."""
    path, name = backup / "manifest.json", _text(chance)
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest |= chance.choice(
        (
            {"files": {**manifest["files"], name: len(_CANARY)}},
            {"files": {**manifest["files"], f"team/collections/{name}/data.db": len(_CANARY)}},
            {"collections": [*manifest["collections"], name]},
            {chance.choice(list(manifest)): _plain(chance)},
        )
    )
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return f"{name!r:.80}"


def _write_settings(backup: Path, chance: random.Random) -> str:
    """Write settings that nobody has asked for."""
    section, key = chance.choice((*_SETTINGS, (_text(chance), _text(chance))))
    (backup / "config.json").write_text(json.dumps({section: {key: _plain(chance)}}), encoding="utf-8")
    return f"{section}.{key}"


def _plant_link(backup: Path, chance: random.Random) -> str:
    """Replace a file or a directory by a link to the canary."""
    path = chance.choice(sorted(backup.rglob("*")))
    canary = backup.parent / "home" / "canary"
    target = canary if path.is_dir() else canary / "letter.md"
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(target)
    return path.relative_to(backup).as_posix()


def _plant_journal(place: Path, chance: random.Random) -> str:
    """Write the journal of a restore that was cut off, or another file that does not belong there."""
    names = ("restore.json", "restore.json", "team/team.db-journal", "data.db-wal", "team/gone-../k")
    path = place / chance.choice(names)
    canary, inside = str(place.parent / "canary"), str(place / chance.choice(("data.db", "team", "x")))
    move = {"staged": "", "place": chance.choice((inside, _text(chance))), "aside": canary}
    move[chance.choice(list(move))] = chance.choice((canary, _text(chance), inside))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([move]), encoding="utf-8")
    return f"{path.name}: {move}"


_CHANGES: tuple[Callable[[Path, random.Random], str], ...] = (
    *(_write_row, _write_row, _write_row, _write_row, _insert_row, _insert_row, _run_statement, _mutate_file),
    *(_mutate_file, _write_manifest, _write_manifest, _write_settings, _plant_link, _plant_journal),
)
_CHANGES_IN_PLACE: tuple[Callable[[Path, random.Random], str], ...] = (
    *(_write_row, _write_row, _write_row, _insert_row, _run_statement, _plant_journal),
    lambda place, chance: _mutate_file(place, chance, "*.db*"),
)


def _complaint(place: Path) -> str:
    """Restore and read in a process of its own; say what is wrong with what came of it."""
    before = _tree(place, without=place / "home" / "data")
    child = Child(_restore_and_read, place)
    if not child.ends_within(_SECONDS):
        child.kill()
        child.wait()
        return "takes too long"
    code, output = child.wait()
    after = _tree(place, without=place / "home" / "data")
    if before != after:
        return "something outside of the data directory is not as it was"
    if code:
        first, *_, where, _, _ = f"{output}\n\n\n\n".splitlines() if output else [f"ends with {code}", "", "", ""]
        return f"{first[:120]} at {where.strip()[-80:]}"
    return "a canary is shown" if _CANARY in output else ""


def _tree(place: Path, *, without: Path) -> dict[str, tuple[int, bytes]]:
    """Return the mode and the digest of content or link of every path in a place."""
    entries = {}
    for directory, names, files in os.walk(place):
        if Path(directory) == without:
            names.clear()
            continue
        for path in (Path(directory, name) for name in (*names, *files)):
            if path == without:
                continue
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            entries[str(path)] = path.lstat().st_mode, hashlib.sha256(content).digest()
    return entries


def _restore_and_read(place: Path) -> str:
    """Restore with every answer to the question, read all as commands and servers do, repair, and read again."""
    output: list[str] = []
    data_dir = place / "home" / "data"
    for accepts in (None, False):
        with _only_our_errors(output):
            restore(
                _app(data_dir),
                place / "backup",
                RestoreOptions(accepts_settings=accepts),
                report_progress=output.append,
            )
            break
    for repairs in (False, True):
        app = _app(data_dir)
        collections = Collections(app)
        for reading in _readings(app, collections, repairs=repairs):
            with _only_our_errors(output):
                output.append(str(reading()))
        collections.close()
        app.close()
    return "\n".join(output)


@contextlib.contextmanager
def _only_our_errors(output: list[str]) -> Iterator[None]:
    try:
        yield
    except DirIndexError as error:
        output.append(f"{error.message} {error.hint}")
        if not error.hint:
            raise AssertionError(f"an error without a hint: {error.message}") from error


def _readings(app: App, collections: Collections, *, repairs: bool) -> Iterator[Callable[[], object]]:
    verbs = DocumentOperations(collections)
    if repairs:
        yield lambda: list(repair_registry(app.registry, app.loaded.data_dir))
    yield collections.recover
    yield collections.list
    yield Keys(app.registry).all
    yield Operations(app.registry).newest
    yield lambda: scopes_of_collection(collections, "default").all()
    yield lambda: list(registry_findings(app.registry))
    yield lambda: list(app.doctor.check())
    yield app.status.report
    for name in ("default", "birds", "fish"):
        yield partial(verbs.documents, name)
        yield partial(_originals, verbs, name)
        yield partial(search_collections, collections, (name,), SearchRequest("heron larch"))
        yield partial(_documents_checked, collections, name, repairs=repairs)


def _originals(verbs: DocumentOperations, name: str) -> list[bytes]:
    ids = [document.doc_id for document in verbs.documents(name).documents]
    return [Path(verbs.original(name, doc_id).path).read_bytes() for doc_id in ids]


def _documents_checked(collections: Collections, name: str, *, repairs: bool) -> list[object]:
    with collections.opened(name) as opened:
        return [*(repair_documents(opened) if repairs else ()), *document_findings(opened)]
