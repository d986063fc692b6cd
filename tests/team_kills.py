"""Does one thing to a collection again and again, each time killed one step later, and looks at what is left.

A step is whatever lasts: a commit, and a change of a directory or of what is in the file system. Whoever is killed
before it was done has promised nothing; but nothing else may be lost, nothing be there twice, and the same again must
lead to where it would have led at once.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
import traceback
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from teams import Team

from directory_indexer.collections.backup import back_up
from directory_indexer.collections.ingest import IngestRequest, WaitUntil
from directory_indexer.collections.restore import RestoreOptions
from directory_indexer.collections.restore import restore as restored
from directory_indexer.core.errors import ConflictError, NotIndexedError
from directory_indexer.integrations.converting.fetching import FetchedContent
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.files import ALL_FILES
from directory_indexer.storage.registry.stored_documents import DocumentState

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "https://example.org/page"
OLD, NEW, OTHER = "An old heron waits.", "A new stork clatters.", "Another carp swims."
OLD_PAGE, NEW_PAGE = "On the web there is a heron.", "On the web there is a stork now."
_CONNECT = sqlite3.connect


class Killer:
    """Ends the process when it is about to take one step, counted from 1."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.is_armed = False
        """Whether steps are counted."""

    def step(self) -> None:
        self._left -= self.is_armed
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)

    def stand_by(self) -> None:
        """Look at every step."""
        for name in ("replace", "fsync", "unlink", "rmdir", "mkdir", "rename"):
            setattr(os, name, self._counted(getattr(os, name)))
        killer = self

        class Counted(sqlite3.Connection):
            def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
                if statement == "COMMIT":
                    killer.step()
                return super().execute(statement, *arguments)

        sqlite3.connect = partial(_CONNECT, factory=Counted)  # type: ignore[assignment]

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.step()
            return call(*arguments, **options)

        return counted


def main() -> None:
    """Go on with every STRIDE-th step of a VERB, from the step START on, in a PLACE."""
    place, verb = Path(sys.argv[1]), VERBS[sys.argv[2]]
    stride, start = map(int, sys.argv[3:])
    origin, data_dir = place / "origin", place / "data"
    in_a_child(prepare, data_dir)
    shutil.move(data_dir, origin)
    for n_kills, at in enumerate(count(start, stride)):
        shutil.rmtree(data_dir, ignore_errors=True)
        shutil.copytree(origin, data_dir)
        was_killed = in_a_child(killed, data_dir, verb, at)
        in_a_child(look, data_dir)
        in_a_child(go_on, data_dir, verb)
        if not was_killed:
            sys.stdout.write(f"{n_kills} kills\n")
            return


def in_a_child(work: Callable[..., None], *arguments: Any) -> bool:
    """Work in a process of its own, and tell whether it was killed."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work(*arguments)
            code = 0
        except BaseException:  # noqa: BLE001 - it is shown, and the exit code tells of it
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, -signal.SIGKILL}:
        sys.exit(f"{work.__name__} {arguments} ended with {code}")
    return code < 0


def prepare(data_dir: Path) -> None:
    team = Team(data_dir)
    team.collections.create("birds")
    team.web[URL] = page(OLD_PAGE, "v1")
    team.add(OTHER, "birds", client_id="other", wait=WaitUntil.COMPLETE)
    new = team.add(NEW, "birds", wait=WaitUntil.COMPLETE)
    back_up(team.app, team.collections, data_dir.parent / "backup", report_progress=lambda _: None)
    team.verbs.delete("birds", new.document.doc_id)
    team.add(OLD, "birds", client_id="text", wait=WaitUntil.COMPLETE)
    team.ingesting.add_url(URL, IngestRequest("birds", wait=WaitUntil.COMPLETE))
    team.close()


def page(text: str, etag: str) -> FetchedContent:
    return FetchedContent(URL, "page.txt", text.encode(), "text/plain", f'"{etag}"')


def killed(data_dir: Path, verb: Callable[[Team], None], at: int) -> None:
    killer = Killer(at)
    killer.stand_by()
    team = Team(data_dir)
    team.web[URL] = page(NEW_PAGE, "v2")
    team.collections.list()
    killer.is_armed = True
    verb(team)


def look(data_dir: Path) -> None:
    """Recover, and check that registry, originals and index say the same."""
    team = Team(data_dir)
    if (data_dir / "restore.json").exists():
        return  # the next restore goes on
    team.collections.recover()
    if "birds" in team.collections.names():
        require_agreement(team)
    else:
        assert not (data_dir / "team/collections/birds").exists()
    assert list((data_dir / "team").glob("gone-*")) == []
    team.close()


def require_agreement(team: Team) -> None:
    with team.collections.opened("birds") as opened:
        opened.queue.make_keyword_searchable()
        opened.queue.complete()
        documents = opened.documents.page(limit=100)
        kept = {os.fspath(path) for path in opened.originals.directory.rglob("*") if path.is_file()}
        with opened.app.docstore.snapshot() as snapshot:
            indexed = {file.path for file in snapshot.files.in_order(ALL_FILES)}
            assert snapshot.words.count_rows() == snapshot.chunks.count()
        named = {str(opened.originals.path_of(one.doc_id, one.stored_name)): one for one in documents}
        assert set(named) == kept == indexed, (sorted(named), sorted(kept), sorted(indexed))
        for under_way in ("incoming", "replaced"):
            assert [path.name for path in opened.originals.directory.parent.glob(f"{under_way}/*")] == []
    for path, document in named.items():
        assert document.state is DocumentState.COMPLETE, document
        text = Path(path).read_text(encoding="utf-8")
        assert team.verbs.text("birds", document.doc_id).text == text
        assert document.n_bytes == len(text)
    texts = sorted(Path(path).read_text(encoding="utf-8") for path in named)
    assert texts.count(OTHER) == 1, texts
    for word in ("heron", "stork", "carp"):
        found = team.search(word, "birds", mode=SearchMode.KEYWORD)
        assert sorted(hit.text for hit in found) == [text for text in texts if word in text], (texts, found)


def go_on(data_dir: Path, verb: Callable[[Team], None]) -> None:
    """Do it again, to the end."""
    team = Team(data_dir)
    team.web[URL] = page(NEW_PAGE, "v2")
    if verb is not restore:
        team.collections.recover()
    verb(team)
    if verb is restore:
        team = Team(data_dir)
    if verb is not delete_collection:
        require_agreement(team)
        texts = sorted(team.verbs.text("birds", one.doc_id).text for one in team.verbs.documents("birds").documents)
        assert texts == sorted(OUTCOMES[verb]), texts
    team.close()


def add(team: Team) -> None:
    team.add(NEW, "birds", client_id="new", wait=WaitUntil.COMPLETE)


def replace(team: Team) -> None:
    team.add(NEW, "birds", client_id="text", wait=WaitUntil.COMPLETE)


def rename(team: Team) -> None:
    team.add(NEW, "birds", client_id="text", filename="other name.md", wait=WaitUntil.COMPLETE)


def refresh(team: Team) -> None:
    (document,) = (one for one in team.verbs.documents("birds").documents if one.url)
    team.ingesting.refresh("birds", document.doc_id, wait=WaitUntil.COMPLETE)


def cancel(team: Team) -> None:
    """Have what was to take the place of a document taken back."""
    team.add(OLD, "birds", client_id="text", wait=WaitUntil.COMPLETE)
    sent = team.add(NEW, "birds", client_id="text", filename="other name.md", wait=WaitUntil.NONE)
    team.verbs.cancel(sent.document)


def delete(team: Team) -> None:
    for one in team.verbs.documents("birds").documents:
        if one.filename == "text.md":
            team.verbs.delete("birds", one.doc_id)


def delete_collection(team: Team) -> None:
    try:
        team.collections.delete("birds")
    except (NotIndexedError, ConflictError):
        assert "birds" not in team.collections.names()


def restore(team: Team) -> None:
    """Put a backup of another state into the place of this one."""
    options = RestoreOptions(may_replace=True)
    restored(team.app, team.data_dir.parent / "backup", options, report_progress=lambda _: None)


VERBS = {verb.__name__: verb for verb in (add, replace, rename, refresh, cancel, delete, delete_collection, restore)}
OUTCOMES: dict[Callable[[Team], None], list[str]] = {
    add: [OTHER, OLD, OLD_PAGE, NEW],
    replace: [OTHER, NEW, OLD_PAGE],
    rename: [OTHER, NEW, OLD_PAGE],
    refresh: [OTHER, OLD, NEW_PAGE],
    cancel: [OTHER, OLD, OLD_PAGE],
    delete: [OTHER, OLD_PAGE],
    restore: [OTHER, NEW],
}

if __name__ == "__main__":
    main()
