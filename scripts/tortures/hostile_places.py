"""Trees and index directories that nobody means well with, and the commands that meet them.

A word that begins with `@` is a path in the place.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_INDEX = (("index", "@docs", "--quiet"),)
_SEARCH = (("search", "words"),)


def _docs(place: Path) -> Path:
    docs = place / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("some words\n", encoding="utf-8")
    return docs


def _data(place: Path) -> Path:
    _docs(place)
    data = place / "data"
    data.mkdir(mode=0o700)
    return data


def _deep(place: Path) -> None:
    """Make directories below directories, deeper than any path may be long."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(_docs(place))
    for _ in range(10_000):
        os.mkdir("d")
        os.chdir("d")
    with open("deep.md", "w", encoding="utf-8") as file:
        file.write("deep words\n")
    os.fchdir(here)
    os.close(here)


def _many_directories(place: Path) -> None:
    docs = _docs(place)
    for number in range(5000):
        (docs / f"d{number}").mkdir()


def _links(place: Path) -> None:
    docs = _docs(place)
    for number in range(50):
        (docs / f"loop{number}").symlink_to(".")
    (docs / "everything").symlink_to("/")


def _rules(name: str, content: bytes) -> Callable[[Path], object]:
    def make(place: Path) -> None:
        docs = _docs(place)
        (docs / ("a" * 200)).write_text("more words\n", encoding="utf-8")
        (docs / name).write_bytes(content)

    return make


def _rules_pipe(place: Path) -> None:
    os.mkfifo(_docs(place) / ".dirindexignore")


def _rules_link(place: Path) -> None:
    (_docs(place) / ".gitignore").symlink_to("/dev/zero")


def _git(content: bytes) -> Callable[[Path], object]:
    def make(place: Path) -> None:
        (_docs(place) / ".git").write_bytes(content)

    return make


def _git_includes_itself(place: Path) -> None:
    git = _docs(place) / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text("[include]\n\tpath = config\n[core]\n\texcludesFile = /dev/zero\n", encoding="utf-8")


def _database(content: bytes) -> Callable[[Path], object]:
    return lambda place: (_data(place) / "data.db").write_bytes(content)


def _database_is_directory(place: Path) -> None:
    (_data(place) / "data.db").mkdir()


def _database_is_link(place: Path) -> None:
    target = place / "precious.txt"
    target.write_text("precious words that nobody may overwrite\n" * 100, encoding="utf-8")
    (_data(place) / "data.db").symlink_to(target)


def _database_is_newer(place: Path) -> None:
    connection = sqlite3.connect(_data(place) / "data.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def _database_of_others(place: Path) -> None:
    connection = sqlite3.connect(_data(place) / "data.db")
    connection.execute("CREATE TABLE files (secret TEXT)")
    connection.close()


def _data_is_file(place: Path) -> None:
    _docs(place)
    (place / "data").write_text("a file\n", encoding="utf-8")


def _lock_is_directory(place: Path) -> None:
    (_data(place) / "write.lock").mkdir()


def _vectors_are_file(place: Path) -> None:
    (_data(place) / "qdrant").write_text("a file\n", encoding="utf-8")


def _config(content: str) -> Callable[[Path], object]:
    return lambda place: (_data(place) / "config.json").write_text(content, encoding="utf-8")


PLACES: dict[str, tuple[Callable[[Path], object], tuple[tuple[str, ...], ...]]] = {
    "directories nested 10,000 deep": (_deep, (*_INDEX, *_SEARCH)),
    "5,000 directories beside each other": (_many_directories, _INDEX),
    "50 links in a loop, and one to /": (_links, _INDEX),
    "`.dirindexignore` of a catastrophic pattern": (_rules(".dirindexignore", b"*a*a*a*a*a*a*a*a*a*a*a*a*b\n"), _INDEX),
    "`.dirindexignore` of 50,000 patterns": (
        _rules(".dirindexignore", b"".join(b"**/x%d/**/y*z\n" % number for number in range(50_000))),
        _INDEX,
    ),
    "`.dirindexignore` of one line of 1 MB": (_rules(".dirindexignore", b"[" * 1_000_000), _INDEX),
    "`.dirindexignore` of more than 1 MB": (_rules(".dirindexignore", b"#" * 2_000_000), _INDEX),
    "`.dirindexignore` of bytes of chance": (_rules(".dirindexignore", bytes(range(256)) * 10), _INDEX),
    "`.dirindexignore` that is a pipe": (_rules_pipe, _INDEX),
    "`.gitignore` that is a link to /dev/zero": (_rules_link, _INDEX),
    "`.git` that leads to itself": (_git(b"gitdir: ."), _INDEX),
    "`.git` of garbage": (_git(b"\xff\0\n" * 1000), _INDEX),
    "git settings that include themselves, and /dev/zero": (_git_includes_itself, _INDEX),
    "a database of garbage": (_database(b"#!/bin/sh\n" * 1000), (*_INDEX, *_SEARCH, ("doctor", "--repair"), *_INDEX)),
    "an empty file as database": (_database(b""), (*_INDEX, *_SEARCH)),
    "a directory as database": (_database_is_directory, (*_INDEX, *_SEARCH)),
    "a link to another file as database": (_database_is_link, (*_INDEX, *_SEARCH)),
    "a database of a newer version": (_database_is_newer, (*_INDEX, *_SEARCH)),
    "a database of another program": (_database_of_others, (*_INDEX, *_SEARCH)),
    "a file as index directory": (_data_is_file, _INDEX),
    "a directory as lock": (_lock_is_directory, (*_INDEX, *_SEARCH)),
    "a file in the place of the vectors": (_vectors_are_file, (*_INDEX, *_SEARCH)),
    "configuration of garbage": (_config("\x00\x1b[31m{{{"), _INDEX),
    "configuration nested 100,000 deep": (_config("[" * 100_000), _INDEX),
    "configuration of impossible numbers": (_config('{"indexing": {"chunk_size": 1e999, "concurrency": -1}}'), _INDEX),
}
