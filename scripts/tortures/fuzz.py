"""Feeds dirindex what chance made of real files, trees, queries, settings and messages, each in containment."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tortures.fuzz_backups import fuzz_backups
from tortures.fuzz_files import fuzz_files
from tortures.fuzz_formats import fuzz_formats
from tortures.fuzz_http import fuzz_http
from tortures.fuzz_mcp import fuzz_mcp
from tortures.fuzz_trees import fuzz_trees
from tortures.fuzz_words import fuzz_queries, fuzz_settings

from directory_indexer.text.formatting import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tortures.workbench import Torture


@dataclass
class Fuzz:
    """The state that all kinds of rounds share: counts, chance, a place for each round and one for what broke."""

    torture: Torture
    n_inputs: Counter[str] = field(default_factory=Counter)
    n_broken: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)

    @property
    def kept(self) -> Path:
        return self.torture.place / "kept"

    def broke(self, kind: str, complaint: str, *, name: str, content: bytes) -> None:
        """Keep a small input that broke something; of each complaint one is told."""
        self.n_broken[kind] += 1
        place = self.kept / kind / f"{self.n_broken[kind]:03}-{name}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if f"{kind}: {complaint}" not in self.seen:
            self.seen.add(f"{kind}: {complaint}")
            self.torture.require(claim=False, message=f"{kind}: {complaint}: {place} ({len(content)} bytes)")


@dataclass
class Round:
    """One round of one kind, which its number and the seed of the torture decide."""

    fuzz: Fuzz
    kind: str
    number: int
    place: Path
    chance: random.Random

    def count(self, n_inputs: int) -> None:
        self.fuzz.n_inputs[self.kind] += n_inputs

    def is_new(self, complaint: str) -> bool:
        """Whether something broke for the first time, and is worth the time to make its input smaller."""
        is_new = f"{self.kind}: {complaint}" not in self.fuzz.seen
        self.fuzz.n_broken[self.kind] += not is_new
        return is_new

    def broke(self, complaint: str, *, name: str, content: bytes) -> None:
        self.fuzz.broke(self.kind, complaint, name=name, content=content)


def fuzz(torture: Torture) -> str:
    """Run `size` rounds, or as many as time allows; a round that breaks does not end it."""
    kinds: tuple[tuple[Callable[[Round], None], int], ...] = (
        (fuzz_files, 6),
        (fuzz_trees, 3),
        (fuzz_queries, 1),
        (fuzz_settings, 1),
        (fuzz_backups, 3),
        (fuzz_mcp, 1),
        (fuzz_http, 1),
    )
    order = [kind for kind, times in kinds for _ in range(times)]
    return _rounds(torture, order, lambda _, n_rounds: n_rounds < torture.size)


def backups(torture: Torture) -> str:
    """Change `size` backups and payloads of clusters, or as many as time allows, and restore or read them."""
    return _rounds(torture, [fuzz_backups], lambda shared, _: shared.n_inputs.total() < torture.size)


def formats(torture: Torture) -> str:
    """Read `size` files of all formats that have parts or are binary, or as many as time allows."""
    return _rounds(torture, [fuzz_formats], lambda shared, _: shared.n_inputs.total() < torture.size)


def _rounds(torture: Torture, order: list[Callable[[Round], None]], goes_on: Callable[[Fuzz, int], bool]) -> str:
    shared, n_rounds = Fuzz(torture), 0
    while goes_on(shared, n_rounds) and not torture.is_over:
        if n_rounds % len(order) == 0:
            torture.chance.shuffle(order)
        _one_round(shared, n_rounds, order[n_rounds % len(order)])
        n_rounds += 1
    return "\n  ".join(_totals(shared))


def _one_round(shared: Fuzz, number: int, kind: Callable[[Round], None]) -> None:
    torture, name = shared.torture, kind.__name__.removeprefix("fuzz_")
    place, started = torture.place / f"round{number}", time.monotonic()
    place.mkdir()
    kind(Round(shared, name, number, place, random.Random(f"{torture.seed} {number}")))
    shared.seconds[name] += int((time.monotonic() - started) * 1000)
    # Names may be longer than Python can follow, and directories closed.
    shutil.rmtree(place, ignore_errors=True)


def _totals(shared: Fuzz) -> list[str]:
    totals = []
    for kind, n_inputs in sorted(shared.n_inputs.items()):
        minutes = shared.seconds[kind] / 60_000
        totals.append(
            f"{kind}: {n_inputs} inputs, {n_inputs / max(minutes, 0.001):.0f} a minute; {shared.n_broken[kind]} broke"
        )
    return [*totals, *(f"broke: {printable(complaint)}" for complaint in sorted(shared.seen))]
