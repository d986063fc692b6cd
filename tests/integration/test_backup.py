"""A backup holds everything as it was at one moment, and a restore brings all of it back, or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from qdrant_servers import Server
from teams import Team

from directory_indexer.app import App
from directory_indexer.collections import OpenCollection
from directory_indexer.collections.backup import back_up
from directory_indexer.collections.consistency_checks import document_findings, repair_documents
from directory_indexer.collections.ingest import WaitUntil
from directory_indexer.collections.restore import RestoreOptions, restore
from directory_indexer.collections.search import scopes_of_collection
from directory_indexer.config import load_config
from directory_indexer.core.errors import (
    ConflictError,
    ConsentNeededError,
    LockedError,
    NotIndexedError,
    StoreError,
    UsageError,
)
from directory_indexer.core.lock import write_lock
from directory_indexer.core.notes import Verdict
from directory_indexer.core.rights import Right
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.registry.keys import Keys
from directory_indexer.storage.registry.stored_documents import DocumentState

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    team = Team(tmp_path / "data")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "larch.md").write_text("The larch of the ridge.", encoding="utf-8")
    team.app.runs.indexer.index([str(notes)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    for name in ("birds", "fish"):
        team.collections.create(name, description=f"of {name}")
        for number in range(3):
            team.add(
                f"Number {number} of the {name}.",
                name,
                client_id=str(number),
                sender_metadata={"tags": [name]},
                wait=WaitUntil.COMPLETE,
            )
    yield team
    team.close()


def silent(_: str) -> None:
    """Say nothing."""


def tried(team: Team, target: Path) -> None:
    back_up(team.app, team.collections, target, report_progress=silent)


def restored(
    source: Path, data_dir: Path, *, may_replace: bool = False, environ: Mapping[str, str] = MappingProxyType({})
) -> Team:
    team = Team(data_dir, **environ)
    restore(team.app, source, RestoreOptions(may_replace=may_replace), report_progress=silent)
    team.close()
    return Team(data_dir, **environ)


def contents(team: Team) -> dict[str, Any]:
    """Give what everybody can see of all collections, wherever they lie."""
    found: dict[str, Any] = {}
    for name in team.collections.names():
        listed = team.collections.get(name)
        found[name] = (listed.description, listed.documents, listed.index.n_files, listed.index.n_chunks)
        for document in team.verbs.documents(name).documents:
            text = Path(team.verbs.original(name, document.doc_id).path).read_text(encoding="utf-8")
            found[document.doc_id] = (document._replace(state=DocumentState.WORDS, message=""), text)
        hits = team.search("number ridge", name, mode=SearchMode.KEYWORD)
        found[f"hits of {name}"] = [(hit.text, round(hit.score, 5), hit.metadata) for hit in hits]
    found["keys"] = Keys(team.app.registry).all()
    return found


def problems(team: Team) -> list[str]:
    found = []
    for name in team.collections.names():
        with team.collections.opened(name) as opened:
            found += [
                one.message
                for one in (*opened.app.doctor.check(), *document_findings(opened))
                if one.verdict is Verdict.PROBLEM
            ]
    return found


def complete(team: Team) -> None:
    for name in team.collections.names():
        with team.collections.opened(name) as opened:
            opened.queue.make_keyword_searchable()
            opened.queue.complete()


def test_a_backup_counts_what_is_indexed_and_what_it_takes_on_the_disk(team: Team, tmp_path: Path) -> None:
    report = back_up(team.app, team.collections, tmp_path / "backup", report_progress=silent)
    listed = [team.collections.get(name) for name in team.collections.names()]
    assert report.n_indexed == sum(one.index.n_files for one in listed) > 0
    assert report.n_documents == sum(sum(one.documents.values()) for one in listed)
    on_disk = sum(path.stat().st_blocks * 512 for path in (tmp_path / "backup").rglob("*") if path.is_file())
    assert report.n_bytes == pytest.approx(on_disk, abs=10_000)  # without its manifest


def test_doctor_tells_vectors_in_the_store_from_those_that_wait_in_the_database(team: Team) -> None:
    with team.collections.opened("birds") as opened:
        store, agreement = (one.message for one in opened.app.doctor.check() if one.check == "Qdrant")
    assert store == "the embedded engine keeps no files yet; the database keeps the first passages"
    assert re.fullmatch(
        r"its passages are those of the index: 0 in it, [1-9]\d* in the database until they are merged", agreement
    )


def test_everything_comes_back_in_the_same_place(team: Team, tmp_path: Path) -> None:
    Keys(team.app.registry).add("ann", Right.WRITE)
    scopes_of_collection(team.collections, "default").put("ridge", [])
    before = contents(team)
    n_embedded = len(team.embedder.embedded)
    tried(team, tmp_path / "backup")
    team.add("Something else.", "birds", client_id="0")
    team.collections.delete("fish")
    again = restored(tmp_path / "backup", tmp_path / "data", may_replace=True)
    assert contents(again) == before
    assert problems(again) == []
    complete(again)
    assert again.embedder.embedded == []
    assert n_embedded == 7
    again.close()


def test_everything_comes_back_elsewhere_without_being_embedded_again(team: Team, tmp_path: Path) -> None:
    before = contents(team)
    tried(team, tmp_path / "backup")
    shutil.rmtree(tmp_path / "data")
    again = restored(tmp_path / "backup", tmp_path / "deep" / "other")
    complete(again)
    assert contents(again) == before
    assert problems(again) == []
    assert again.embedder.embedded == []
    assert [one.state for one in again.verbs.documents("birds").documents] == [DocumentState.COMPLETE] * 3
    again.close()


def test_a_data_directory_that_was_moved_finds_its_documents(team: Team, tmp_path: Path) -> None:
    before = contents(team)
    team.close()
    (tmp_path / "data").rename(tmp_path / "moved")
    moved = Team(tmp_path / "moved")
    moved.collections.recover()
    complete(moved)
    assert contents(moved) == before
    assert moved.embedder.embedded == []
    assert problems(moved) == []
    moved.close()


class Crowd:
    """Senders of documents and somebody who embeds them, until the block ends."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._is_over = threading.Event()
        self._failures: list[BaseException] = []
        work = [partial(self._send, 0), partial(self._send, 1), self._embed]
        self._threads = [threading.Thread(target=self._until_over, args=(one,)) for one in work]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        assert self._failures == []

    def _until_over(self, work: Callable[[int], None]) -> None:
        try:
            for number in count():
                if self._is_over.is_set():
                    return
                work(number)
        except BaseException as error:  # noqa: BLE001 - the thread hands over whatever went wrong
            self._failures.append(error)

    def _send(self, sender: int, number: int) -> None:
        # Another one may have deleted it, or be about to.
        with contextlib.suppress(NotIndexedError, ConflictError):
            self._team.add(f"Sender {sender} writes number {number}.", "birds", client_id=f"{sender}/{number % 4}")
            if number % 3 == 0:
                self._team.verbs.delete("birds", self._team.verbs.documents("birds").documents[0].doc_id)

    def _embed(self, _: int) -> None:
        with self._team.collections.opened("birds") as opened:
            opened.queue.complete()


def test_a_backup_that_is_made_while_documents_are_sent_fits_together(team: Team, tmp_path: Path) -> None:
    with Crowd(team):
        for number in range(3):
            tried(team, tmp_path / f"backup{number}")
    for number in range(3):
        again = restored(tmp_path / f"backup{number}", tmp_path / f"restored{number}")
        complete(again)
        assert problems(again) == []
        assert {one.state for one in again.verbs.documents("birds").documents} <= {DocumentState.COMPLETE}
        assert len(again.search("number", "fish", mode=SearchMode.KEYWORD)) == 3
        again.close()


def test_no_secret_of_the_configuration_is_backed_up(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    config = {
        "embedding": {
            "provider": "openai",
            "model": "m",
            "endpoint": "https://example.org",
            "api_key": "sk-very-secret",
        },
        "indexing": {"chunk_size": 128},
    }
    (data_dir / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (data_dir / "config.json").chmod(0o600)
    app = App(load_config(file=None, data_dir=data_dir, environ={}))
    team = Team(data_dir)
    back_up(app, team.collections, tmp_path / "backup", report_progress=silent)
    said = json.loads((tmp_path / "backup" / "config.json").read_text(encoding="utf-8"))
    assert said["indexing"] == {"chunk_size": 128}
    assert said["embedding"]["model"] == "m"
    files = [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    assert not any(b"very-secret" in path.read_bytes() for path in files)
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0
    team.close()


def test_a_backup_is_whole_or_not_there(team: Team, tmp_path: Path) -> None:
    database = team.data_dir / "team/collections/fish/data.db"
    with database.open("r+b") as file:
        file.write(b"no database at all" * 100)
    for end in ("-wal", "-shm"):
        database.with_name(database.name + end).unlink(missing_ok=True)
    with pytest.raises(StoreError):
        tried(team, tmp_path / "backup")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "notes"]


@pytest.mark.parametrize("place", ["data/backup", "notes", "nowhere/backup", "data"])
def test_no_backup_is_written_where_it_does_not_belong(team: Team, tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError):
        tried(team, tmp_path / place)


def test_nothing_is_replaced_without_consent_or_during_a_run(team: Team, tmp_path: Path) -> None:
    before = contents(team)
    tried(team, tmp_path / "backup")
    with pytest.raises(ConsentNeededError):
        restore(team.app, tmp_path / "backup", RestoreOptions(may_replace=False), report_progress=silent)
    with write_lock(team.data_dir / "team/collections/fish/write.lock", wait=False), pytest.raises(LockedError):
        restore(team.app, tmp_path / "backup", RestoreOptions(may_replace=True), report_progress=silent)
    assert contents(team) == before
    assert [path.name for path in team.data_dir.iterdir() if "restor" in path.name] == []


def change_manifest(backup: Path, **changes: object) -> None:
    manifest = json.loads((backup / "manifest.json").read_text(encoding="utf-8"))
    (backup / "manifest.json").write_text(json.dumps({**manifest, **changes}), encoding="utf-8")


def lead_outside(backup: Path) -> None:
    (backup.parent / "secret.txt").write_text("secret", encoding="utf-8")
    change_manifest(backup, files={"team/../../secret.txt": 6})


def add_another_file(backup: Path) -> None:
    (backup / "dirindex.log").write_text("x", encoding="utf-8")
    change_manifest(backup, files={"dirindex.log": 1})


def put_a_link(backup: Path) -> None:
    (backup / "data.db").unlink()
    (backup / "data.db").symlink_to("/etc/hostname")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no manifest": lambda backup: (backup / "manifest.json").unlink(),
    "no json": lambda backup: (backup / "manifest.json").write_text("{", encoding="utf-8"),
    "newer": lambda backup: change_manifest(backup, format=2),
    "outside": lead_outside,
    "absolute": lambda backup: change_manifest(backup, files={"/etc/passwd": 1}),
    "other": add_another_file,
    "link": put_a_link,
    "short": lambda backup: os.truncate(backup / "data.db", 100),
    "damaged": lambda backup: (backup / "data.db").write_bytes(b"x" * (backup / "data.db").stat().st_size),
    "name": lambda backup: change_manifest(backup, collections=["../up"]),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_no_whole_backup_changes_nothing(team: Team, tmp_path: Path, how: str) -> None:
    before = contents(team)
    tried(team, tmp_path / "backup")
    DAMAGES[how](tmp_path / "backup")
    with pytest.raises((UsageError, StoreError)):
        restore(team.app, tmp_path / "backup", RestoreOptions(may_replace=True), report_progress=silent)
    assert contents(team) == before
    with pytest.raises((UsageError, StoreError)):
        restored(tmp_path / "backup", tmp_path / "other")
    assert not (tmp_path / "other" / "data.db").exists()


@pytest.mark.slow
def test_vectors_on_a_server_are_made_again_and_those_of_before_stay(tmp_path: Path) -> None:
    server = Server()
    environ = {"DIRINDEX_STORAGE__QDRANT__ENDPOINT": server.url}
    try:
        team = Team(tmp_path / "data", **environ)
        team.collections.create("birds")
        team.add("The heron of the pond.", "birds", wait=WaitUntil.COMPLETE)
        report = back_up(team.app, team.collections, tmp_path / "backup", report_progress=silent)
        assert not report.has_vectors
        again = restored(tmp_path / "backup", tmp_path / "other", environ=environ)
        complete(again)
        assert len(again.embedder.embedded) == 1
        for one in (team, again):
            (hit,) = one.search("heron", "birds", mode=SearchMode.SEMANTIC)
            assert hit.text == "The heron of the pond."
        again.collections.delete("birds")
        assert len(team.search("heron", "birds", mode=SearchMode.SEMANTIC)) == 1
        for one in (team, again):
            one.close()
    finally:
        server.stop()


def test_what_does_not_fit_together_is_found_and_mended(team: Team) -> None:
    documents = team.verbs.documents("birds").documents
    lost, changed, _ = (Path(team.verbs.original("birds", one.doc_id).path) for one in documents)
    lost.unlink()
    changed.write_text("Somebody else wrote this.", encoding="utf-8")
    stray = team.data_dir / "team/collections/birds/documents/zz/zzzz/stray.md"
    stray.parent.mkdir(parents=True)
    stray.write_text("A stray text.", encoding="utf-8")
    with team.collections.opened("birds") as opened:
        found = [one.message for one in document_findings(opened) if one.verdict is Verdict.PROBLEM]
        assert len(found) == 3
        list(repair_documents(opened))
        assert not stray.exists()
        left = [one.message for one in document_findings(opened) if one.verdict is Verdict.PROBLEM]
    assert len(left) == 2, "what was lost nobody can bring back"
    assert isinstance(opened, OpenCollection)
