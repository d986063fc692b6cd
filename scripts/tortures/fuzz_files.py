"""Batches of files that chance made of real ones, indexed together; what breaks is found by halving."""

from __future__ import annotations

import functools
import shutil
from typing import TYPE_CHECKING, NamedTuple

from tortures.fuzz_corpus import SUFFIXES, some_file
from tortures.fuzz_index import Indexing
from tortures.mutations import mutated, smallest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tortures.fuzz import Round

_BATCHES = (95, 200, 400)
"""Fewer and more than a run parses in its own process."""

_OTHER_SUFFIX = 0.05
_EMBEDS = 0.05
_BATCH_SECONDS = 400.0
_FILE_SECONDS = 200.0
_SECONDS_TO_HALVE = 120.0


class FuzzedFile(NamedTuple):
    """A file of a batch."""

    name: str
    content: bytes


def fuzz_files(this: Round) -> None:
    """Fuzz files that are text, source code and PDFs."""
    fuzz_batches(this, _make)


def fuzz_batches(this: Round, make: Callable[[Round, int], FuzzedFile]) -> None:
    """Index a batch, change its files in place, and index it again."""
    n_files, embeds = this.chance.choice(_BATCHES), this.chance.random() < _EMBEDS
    indexing = Indexing(this.place, this.place / "tree", embeds=embeds)
    for is_last in (False, True):
        files = [make(this, number) for number in range(n_files // 4 if embeds else n_files)]
        this.count(len(files))
        _plant(indexing.tree, files)
        if complaint := indexing.complaint(seconds=_BATCH_SECONDS, looks_closer=is_last):
            if this.is_new(complaint):
                _find(this, files, complaint)
            return


def _make(this: Round, number: int) -> FuzzedFile:
    suffix, content = some_file(this.chance)
    _, other = some_file(this.chance)
    if this.chance.random() < _OTHER_SUFFIX:
        suffix = this.chance.choice(SUFFIXES)
    return FuzzedFile(f"{number:03}.{suffix}", mutated(content, other, this.chance))


def _plant(tree: Path, files: Sequence[FuzzedFile]) -> None:
    tree.mkdir(exist_ok=True)
    for file in files:
        (tree / file.name).write_bytes(file.content)


def _find(this: Round, files: list[FuzzedFile], complaint: str) -> None:
    """Keep the smallest files that do it by themselves, or all of the batch where none does."""
    tried = this.place / "tried"

    @functools.cache
    def told_of(some: tuple[FuzzedFile, ...]) -> str:
        shutil.rmtree(tried, ignore_errors=True)
        tried.mkdir()
        _plant(tried / "tree", some)
        closer = complaint.startswith(("the doctor", "`"))
        is_brief = not closer and not complaint.startswith("a second run")
        seconds = _FILE_SECONDS if len(some) == 1 else _BATCH_SECONDS
        return Indexing(tried, tried / "tree").complaint(seconds=seconds, is_brief=is_brief, looks_closer=closer)

    left = list(smallest(files, lambda some: told_of(tuple(some)) == complaint, seconds=_SECONDS_TO_HALVE))
    if complaint == "takes too long" and len(left) > 1:
        return  # Many slow files are not one that is too slow.
    if len(left) == 1:
        name = left[0].name
        whole = left[0].content
        small = smallest(
            whole,
            lambda some: told_of((FuzzedFile(name, bytes(some)),)) == complaint,
            seconds=_SECONDS_TO_HALVE,
            least=max(len(whole) // 256, 1),
        )
        left = [FuzzedFile(name, bytes(small))]
    alone = "" if told_of(tuple(left)) == complaint else " (only after what was there before)"
    for file in left[:5]:
        this.broke(f"{complaint}{alone}", name=file.name, content=file.content)
