"""Whether anything of a private tree is in an index or in an answer, and whether the index is as a fresh one."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from tortures.contained import CHEAPLY, Containment
from tortures.swap_stage import DIRECTORIES, inside
from tortures.workbench import Child, contents, differences

from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from pathlib import Path

    from serving import RawClient
    from tortures.swap_stage import Stage

PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.002
_LATEST_RUN = "SELECT phase, outcome FROM runs ORDER BY id DESC LIMIT 1"


def wait_for_reading(stage: Stage) -> None:
    """Wait until the run that was just started reads files, or has done so already."""
    address, until = f"file:{stage.data_dir / 'data.db'}?mode=ro", time.monotonic() + PATIENCE_SECONDS
    with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
        n_before = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        while time.monotonic() < until:
            n_runs = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
            phase, outcome = connection.execute(_LATEST_RUN).fetchone()
            if n_runs > n_before and (phase == "reading" or outcome is not None):
                break
            time.sleep(_POLL_SECONDS)


def require_nothing_shown(stage: Stage, client: RawClient) -> None:
    """Ask a server for what is private, by search and by name, and look into its index."""
    first, second = stage.words
    answer = json.dumps(client.call("search", query=f'"{first}"'))
    stage.require(second not in answer, f"a search over MCP shows what is private: {answer[:300]}")
    for path in (*inside(stage), *(stage.root / directory / "file2.md" for directory in DIRECTORIES)):
        answer = json.dumps(client.call("get_content", path=str(path)))
        stage.require(second not in answer, f"get_content of {path} shows what is private: {answer[:300]}")
    answer = json.dumps(client.call("get_content", path=str(stage.mirror_of(stage.root) / "file0.md")))
    stage.require(second not in answer, f"get_content shows the private tree itself: {answer[:300]}")
    require_nothing_private(stage, "while a server is asked")


def require_nothing_private(stage: Stage, when: str) -> None:
    """Look for the words of the private tree in all of the index: names, titles, texts, words."""
    if not (stage.data_dir / "data.db").exists():
        return
    code, count = Child(_private, stage.data_dir, stage.words).wait()
    stage.require(code == 0 and not count, f"{when} the index has what is private: {count}")
    count = json.loads(stage.dirindex("search", stage.words[0], "-m", "keyword", "--json").stdout or b"{}").get("hits")
    stage.require(not count, f"{when} a search finds what is private: {count}")


def _private(data_dir: Path, words: tuple[str, str]) -> list[str]:
    problems = []
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        for root in snapshot.directories.all():
            for path in snapshot.files.within(root):
                texts = [chunk.chunk.text for chunk in snapshot.chunks.of_file(path)]
                problems += [f"{path}: {text[:80]}" for text in (path, *texts) if any(word in text for word in words)]
    with contextlib.closing(sqlite3.connect(f"file:{data_dir / 'data.db'}?mode=ro", uri=True)) as connection:
        for query in _COLUMNS:
            for row in connection.execute(query):
                problems += [
                    f"{query}: {value[:200]}" for value in map(str, row) if any(word in value for word in words)
                ]
    return problems[:5]


_COLUMNS = (
    "SELECT path, title, reason, detail FROM files",
    "SELECT path, mounts FROM directories",
    "SELECT heading FROM chunks",
    "SELECT term FROM chunks_vocab",
    "SELECT path, left_out FROM settled_directories",
)


def require_as_fresh(stage: Stage) -> None:
    fresh = stage.place / "fresh"
    ended = Containment(stage.place).run(*CHEAPLY, "index", stage.root, "--quiet", "--data-dir", fresh)
    stage.require(ended.code == 0, f"a fresh run ends with {ended.code}: {ended.stderr[-300:]!r}")
    (code, mine), (_, truth) = Child(contents, stage.data_dir).wait(), Child(contents, fresh).wait()
    stage.require(code == 0, f"the index cannot be read: {mine}")
    if code == 0:
        problems = differences(_without_vectors(mine), _without_vectors(truth))
        stage.require(not problems, f"not as a fresh index: {'; '.join(problems[:5])}")


def _without_vectors(rows: dict[str, Any]) -> dict[str, Any]:
    """Leave out the vectors, which servers made with the real model and commands without it; none may lack."""
    files = {
        name: (texts, [] if all(v is not None for v in vectors) else [None])
        for name, (texts, vectors) in rows["files"].items()
    }
    return {**rows, "files": files}
