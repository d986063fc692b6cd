"""Damages one file of an index, and looks whether searches stand it, the doctor sees it, and a repair mends it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from tortures.workbench import CheapApp, Child, contents, differences, plant_small, run_index

from directory_indexer.config import load_config
from directory_indexer.core.errors import CorruptIndexError, DirIndexError
from directory_indexer.core.findings import Verdict
from directory_indexer.search.requests import SearchMode, SearchRequest

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from tortures.workbench import Torture

_MERGE_AT = 48


def damage(torture: Torture) -> str:
    """Damage `size` files one after the other, or as many as time allows, each of a copy of the same index."""
    root, before, data_dir = torture.place / "tree", torture.place / "before", torture.place / "index"
    plant_small(root)
    _must(torture, "a run without damage", Child(run_index, before, root, merge_at=_MERGE_AT))
    truth = _must(torture, "an index without damage", Child(contents, before))
    victims = sorted(path.relative_to(before) for path in before.rglob("*") if path.is_file() and _matters(path))
    n_damaged = n_seen = 0
    while n_damaged < torture.size and not torture.is_over and not torture.failures:
        shutil.rmtree(data_dir, ignore_errors=True)
        shutil.copytree(before, data_dir)
        # Half of the time the database, which is one file of many.
        victim = data_dir / ("data.db" if n_damaged % 2 else torture.chance.choice(victims))
        # What stands in the place of the database and is no file is nobody's to remove.
        way = torture.chance.choice(_WAYS[:-1] if victim.name == "data.db" else _WAYS)
        way(victim, torture.chance)
        n_damaged += 1
        what = f"damage {n_damaged}: {victim.relative_to(data_dir)}, {way.__name__.removeprefix('_')}"
        _must(torture, f"{what}: search", Child(_search, data_dir))
        problems = _must(torture, f"{what}: doctor", Child(_problems, data_dir))
        n_seen += bool(problems)
        is_same = victim.is_file() and victim.read_bytes() == (before / victim.relative_to(data_dir)).read_bytes()
        is_seen = problems or is_same or victim.name == "data.db"
        torture.require(is_seen, f"{what}: the doctor does not see it")
        _must(torture, f"{what}: repair", Child(_repair, data_dir))
        left = _must(torture, f"{what}: doctor after the repair", Child(_problems, data_dir))
        torture.require(not left, f"{what}: after the repair there is: {left}")
        _must(torture, f"{what}: the next run", Child(run_index, data_dir, root, merge_at=_MERGE_AT))
        mine = _must(torture, f"{what}: what is there then", Child(contents, data_dir))
        # SQLite has no checksums: a changed letter in a text is a letter.
        if mine and truth and (problems or victim.name != "data.db"):
            problems = differences(mine, truth)
            torture.require(not problems, f"{what}: {'; '.join(problems[:5])}")
    return f"{n_damaged} files damaged, {n_seen} of them so that the doctor saw it before the repair"


def _must(torture: Torture, what: str, child: Child) -> Any:
    code, result = child.wait()
    torture.require(code == 0, f"{what} ends with {code}: {result}")
    return result if code == 0 else None


def _matters(path: Path) -> bool:
    return path.name == "data.db" or ("qdrant" in path.parts and path.suffix != ".lock")


def _search(data_dir: Path) -> None:
    """Search in every mode; an error must be one of ours, which says what to do."""
    for mode in SearchMode:
        try:
            app = CheapApp(load_config(file=None, data_dir=data_dir, environ={}))
            app.searcher.search(SearchRequest("import sqlite3", mode=mode))
        except DirIndexError as error:
            if "dirindex" not in (error.hint or ""):
                raise AssertionError(f"says not what to do: {error.message} ({error.hint})") from error


def _problems(data_dir: Path) -> list[str]:
    app = CheapApp(load_config(file=None, data_dir=data_dir, environ={}))
    return [finding.message for finding in app.doctor.check() if finding.verdict is Verdict.PROBLEM]


def _repair(data_dir: Path) -> None:
    app = CheapApp(load_config(file=None, data_dir=data_dir, environ={}))
    problems = [finding.message for finding in app.doctor.repair() if finding.verdict is Verdict.PROBLEM]
    if problems:
        raise CorruptIndexError("; ".join(problems))


def _cut_short(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content) + 1)])


def _empty(path: Path, _: random.Random) -> None:
    path.write_bytes(b"")


def _remove(path: Path, _: random.Random) -> None:
    path.unlink()


def _lengthen(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(100))


def _flip_one_bit(path: Path, chance: random.Random) -> None:
    _flip(path, chance, n_bits=1)


def _flip_many_bits(path: Path, chance: random.Random) -> None:
    _flip(path, chance, n_bits=100)


def _flip(path: Path, chance: random.Random, *, n_bits: int) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    for _ in range(n_bits):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _zero_a_page(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content) + 1) // 4096 * 4096
    content[start : start + 4096] = bytes(len(content[start : start + 4096]))
    path.write_bytes(content)


def _zero_all(path: Path, _: random.Random) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _replace_by_chance(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(path.stat().st_size))


def _replace_by_directory(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


_WAYS: tuple[Callable[[Path, random.Random], None], ...] = (
    *(_cut_short, _empty, _remove, _lengthen, _flip_one_bit, _flip_many_bits),
    *(_zero_a_page, _zero_all, _replace_by_chance, _replace_by_directory),
)
