"""Takes files of known formats out of git repositories, and nothing else: no link, nothing that is executed."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from corpus.sources import MOST_BYTES, SOURCES, SUFFIXES, Source

DEFAULT_ORIGIN = "https://github.com"
_FILE_MODES = ("100644", "100755")


class _Blob(NamedTuple):
    """A file of a commit."""

    path: str
    hash: str


def fetch(directory: Path, origin: str, *, mirrors: Path | None = None) -> Iterator[str]:
    """Fetch the files of every source into a directory of its own, and say of each what came."""
    for source in SOURCES:
        target = directory / source.repository.replace("/", "+")
        if mirrors:
            yield _take(source, _mirror(source, mirrors), target)
            continue
        with tempfile.TemporaryDirectory() as temporary:
            yield _take(source, _fetched(source, origin, Path(temporary)), target)


def _fetched(source: Source, origin: str, place: Path) -> Path:
    _git(place, "init", "--quiet", "--bare")
    _git(place, "fetch", "--quiet", "--depth", "1", f"{origin}/{source.repository}", source.commit)
    return place


def _mirror(source: Source, mirrors: Path) -> Path:
    place = mirrors / source.repository.replace("/", "+")
    return place / "repo" if (place / "repo").exists() else place


def _take(source: Source, git_directory: Path, target: Path) -> str:
    if not git_directory.exists():
        return f"{source.repository}: not there"
    known = _git(git_directory, "cat-file", "-t", source.commit, check=False).strip() == b"commit"
    commit = source.commit if known else "HEAD"
    blobs = [blob for blob in _blobs(git_directory, commit) if _is_wanted(blob.path)]
    n_taken = sum(_write(git_directory, blob, target) for blob in blobs)
    other = "" if known else f"; {source.commit[:7]} is not there, these are of {_head(git_directory)}"
    lacking = f"; {len(blobs) - n_taken} are too large, or not there" if n_taken < len(blobs) else ""
    return f"{source.repository}: {n_taken} files{other}{lacking}"


def _head(git_directory: Path) -> str:
    return _git(git_directory, "rev-parse", "--short", "HEAD").decode().strip()


def _blobs(git_directory: Path, commit: str) -> Iterator[_Blob]:
    for line in _git(git_directory, "ls-tree", "-r", "-z", commit).decode("utf-8", "surrogateescape").split("\0"):
        described, _, path = line.partition("\t")
        mode, _, hashed = described.partition(" blob ")
        if mode in _FILE_MODES:
            yield _Blob(path, hashed)


def _is_wanted(path: str) -> bool:
    parts = PurePosixPath(path)
    return path.lower().endswith(SUFFIXES) and not parts.is_absolute() and ".." not in parts.parts


def _write(git_directory: Path, blob: _Blob, target: Path) -> bool:
    """Write a file, unless it is too large or lacks in the repository."""
    path = target / blob.path
    size = _git(git_directory, "cat-file", "-s", blob.hash, check=False)
    if not size.strip() or int(size) > MOST_BYTES:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_git(git_directory, "cat-file", "blob", blob.hash))
    return True


def _git(git_directory: Path, *words: str, check: bool = True) -> bytes:
    command = ("git", "--git-dir", str(git_directory), "-c", "core.hooksPath=/dev/null", *words)
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout  # noqa: S603
