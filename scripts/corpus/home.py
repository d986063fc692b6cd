"""Makes up a home directory of one person: letters, invoices, slides, sheets, mail, archives, photos and source code.

Everything follows from the seed, but for ten files that are always there: those that people ask for.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corpus.asked import HomeFile, asked_files
from corpus.papers import KINDS
from corpus.phrases import WORDS

_FIRST = datetime(2022, 1, 3, 9, 0, tzinfo=UTC)
_DAYS = 900


def make_home(directory: Path, *, seed: int, n_files: int) -> int:
    """Write the files, each with the time that it was written, and give their number."""
    chance = random.Random(seed)
    files = [*asked_files(), *(_random_file(chance, number) for number in range(n_files))][:n_files]
    for file in files:
        path = directory / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        os.utime(path, (file.written.timestamp(), file.written.timestamp()))
    return len(files)


def _random_file(chance: random.Random, number: int) -> HomeFile:
    written = _FIRST + timedelta(days=chance.randrange(_DAYS), minutes=chance.randrange(500))
    name, content = chance.choice(KINDS)(chance, WORDS[chance.choice(sorted(WORDS))], written)
    folder, _, base = name.rpartition("/")
    return HomeFile(f"{folder}/{written:%Y-%m-%d} {number:04} {base}", content, written)
