"""In which order chunks get their vectors."""

from __future__ import annotations

import pytest

from directory_indexer.core.paths import FilePath
from directory_indexer.indexing.embedding_batches import embedding_order
from directory_indexer.storage.documents.embedding_queue import FileWithWaitingChunks, WaitingChunkRows


def ordered(*files: tuple[str, str, int], asked: tuple[str, ...] = ()) -> list[str]:
    """Give the names in the order in which files of (name, kind, time) would be embedded, each of two chunks."""
    waiting = [
        FileWithWaitingChunks(number, FilePath(f"/r/{name}"), kind, time)
        for number, (name, kind, time) in enumerate(files)
    ]
    rows = WaitingChunkRows(list(range(2 * len(files))), [row // 2 for row in range(2 * len(files))])
    found = embedding_order(rows, waiting, {FilePath(f"/r/{name}") for name in asked})
    assert sorted(found) == rows.rows
    assert all(first + 1 == second and first % 2 == 0 for first, second in zip(found[::2], found[1::2], strict=True))
    return [files[row // 2][0] for row in found[::2]]


def test_what_changed_last_comes_first() -> None:
    assert ordered(("old.md", "markdown", 1), ("new.md", "markdown", 3), ("mid.py", "python", 2)) == [
        "new.md",
        "mid.py",
        "old.md",
    ]


def test_what_was_asked_for_comes_before_all_else() -> None:
    assert (
        ordered(("new.md", "markdown", 9), ("dist/old.js", "javascript", 1), asked=("dist/old.js",))[0] == "dist/old.js"
    )


@pytest.mark.parametrize(
    "late",
    [
        ("rates.csv", "csv"),
        ("vendor/github.com/x/y.go", "go"),
        ("third_party/zlib/inflate.c", "c"),
        ("dist/app.js", "javascript"),
        ("web/jquery.min.js", "javascript"),
        ("api/service_pb2.py", "python"),
        ("api/service.pb.go", "go"),
        ("package-lock.json", "json"),
        ("Cargo.lock", "toml"),
        ("site/app.js.map", "json"),
    ],
)
def test_prose_and_code_come_before_data_and_what_tools_write(late: tuple[str, str]) -> None:
    assert ordered((*late, 9), ("main.py", "python", 1))[0] == "main.py"


@pytest.mark.parametrize(
    "name", ["builder.py", "outline.md", "distance.c", "generator.py", "vendors.md", "lock.py", "map.ts"]
)
def test_a_name_that_only_resembles_is_no_sign(name: str) -> None:
    assert ordered((name, "python", 9), ("main.py", "python", 1))[0] == name


def test_nothing_waits() -> None:
    assert embedding_order(WaitingChunkRows([], []), []) == []
