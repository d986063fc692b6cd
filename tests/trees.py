"""Directory trees for tests of the walk, and what a walk says about them in a form that can be compared."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from directory_indexer.core.files import source_file
from directory_indexer.core.paths import exact_text, file_path
from directory_indexer.walk import Listing, WalkPolicy
from directory_indexer.walk.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

EVERYTHING = WalkPolicy(include_hidden=True, include_secrets=True)


@dataclass
class Walked:
    """What became of each path, relative to the root."""

    files: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)


def plant(root: Path, tree: Mapping[str, str | bytes]) -> Path:
    """Write files, with their directories; a name that ends with a slash is an empty directory."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in tree.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def plant_repository(root: Path, tree: Mapping[str, str | bytes] | None = None) -> Path:
    """Make a directory that git takes for a work tree."""
    for name in ("objects", "refs", "info"):
        (root / ".git" / name).mkdir(parents=True)
    return plant(root, {".git/HEAD": "ref: refs/heads/main\n", **(tree or {})})


def let_settle(*paths: Path) -> None:
    """Let the clock go on until any further change of a file would give it another stamp."""
    while not all(source_file(file_path(path)).is_settled(time.time_ns()) for path in paths):
        pass


def listings(root: Path, policy: WalkPolicy) -> Iterator[Listing]:
    """List the directories of a tree of which nothing is settled."""
    for listing in walk(file_path(root), policy):
        assert isinstance(listing, Listing)
        yield listing


def walked(root: Path, policy: WalkPolicy = EVERYTHING) -> Walked:
    """Walk a tree to the end."""
    result = Walked()

    def name_of(path: str) -> str:
        return os.path.relpath(path, root)

    for listing in listings(root, policy):
        result.directories.append(name_of(exact_text(listing.directory)))
        result.files |= {name_of(exact_text(file.path)) for file in listing.files}
        result.skipped |= {name_of(exact_text(skip.path)): f"{skip.reason}: {skip.detail}" for skip in listing.skipped}
        result.ignored |= {name_of(exact_text(ignored.path)): ignored.rule for ignored in listing.ignored}
        result.failures |= {name_of(exact_text(failure.path)): failure.message for failure in listing.failures}
    return result
