"""A tree with a private tree beside it, and links to that one in the place of what is indexed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from serving import RawClient
from tortures.contained import CHEAPLY, Containment, Ended

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tortures.workbench import Torture

DIRECTORIES = ("", "zz", "zz/inner", "library", "library/deep", "library/deep/deeper")
_N_FILES = 8
_FILES_TO_CHANGE = 30
_MANY_FILES = 400
_AT_FDCWD, _EXCHANGE = -100, 2


@dataclass
class Stage:
    """A tree, a private tree beside it with the same names below each directory, and an index."""

    torture: Torture
    place: Path
    chance: random.Random
    what: str
    words: tuple[str, str]
    """Unmistakable words that only the private tree has: one to look for, and one that is then shown."""

    @classmethod
    def made(cls, torture: Torture, number: int, what: str) -> Stage:
        chance = random.Random(f"{torture.seed} {number}")
        words = (f"qzx{chance.randrange(10**9)}", f"vkj{chance.randrange(10**9)}")
        stage = cls(torture, torture.place / f"round{number}", chance, f"round {number}, {what}", words)
        for directory in DIRECTORIES:
            for place in (stage.root, stage.mirror_of(stage.root)):
                (place / directory).mkdir(parents=True)
        for number_of_file in range(_N_FILES):
            for directory in DIRECTORIES:
                stage.write(stage.root / directory / f"file{number_of_file}.md", 0)
                stage.write_private(stage.mirror_of(stage.root / directory / f"file{number_of_file}.md"))
        for directory in DIRECTORIES:
            stage.write_private(stage.mirror_of(stage.root) / directory / f"{words[1]}.md")
        # Names that rules on secrets would know, had they the path that is really read.
        stage.write(stage.root / "zz" / "hosts.yml", 0)
        stage.write_private(stage.mirror_of(stage.root / "zz" / "hosts.yml"))
        (stage.root / "library" / "link").symlink_to(stage.root / "zz")
        stage.mirror_of(stage.root / "library" / "link").mkdir()
        stage.write_private(stage.mirror_of(stage.root / "library" / "link") / "file0.md")
        return stage

    @property
    def outer(self) -> Path:
        return self.place / "outer"

    @property
    def root(self) -> Path:
        return self.outer / "middle" / "root"

    @property
    def data_dir(self) -> Path:
        return self.place / "index"

    def mirror_of(self, path: Path) -> Path:
        return self.place / self.words[0] / path.relative_to(self.outer)

    def write(self, path: Path, version: int) -> None:
        path.write_text(f"# Note\n\nHarmless words of {path.name}, version {version}.\n", encoding="utf-8")

    def write_private(self, path: Path) -> None:
        first, second = self.words
        path.write_text(f"# Private {second}\n\nThe {first} of {path.name} is {second}.\n", encoding="utf-8")

    def change_files(self) -> None:
        """Write something for a run to read, also where directories are swapped just now."""
        for _ in range(_FILES_TO_CHANGE):
            path = self.root / self.chance.choice(DIRECTORIES) / f"file{self.chance.randrange(_N_FILES)}.md"
            # Whoever writes through a link would make the private tree public himself.
            if path.resolve(strict=False) == path:
                with contextlib.suppress(OSError):
                    self.write(path, self.chance.randrange(10**6))

    def write_many(self) -> None:
        """Write so much for a run to read that there is time to swap what it reads last."""
        for number in range(_MANY_FILES):
            self.write(self.root / f"a{number}.md", number)
        for number in range(_N_FILES):
            self.write(self.root / "zz" / f"file{number}.md", number + 1)

    def require(self, claim: bool, message: str) -> None:  # noqa: FBT001 - read as an assertion
        if not self.torture.failures:
            self.torture.require(claim, f"{self.what}: {message}")

    def dirindex(self, *words: str | Path) -> Ended:
        return Containment(self.place).run(*CHEAPLY, *words, "--data-dir", self.data_dir)

    def started(self, *words: str | Path) -> subprocess.Popen[bytes]:
        return Containment(self.place).started(*CHEAPLY, *words, "--data-dir", self.data_dir)

    @contextlib.contextmanager
    def served(self, *words: str | Path) -> Iterator[RawClient]:
        with RawClient(*words, "--data-dir", self.data_dir, environ=Containment(self.place).environ()) as client:
            client.shake_hands()
            yield client


class Swapper:
    """Swaps one thing after the other, and puts each back."""

    def __init__(self, stage: Stage, victims: tuple[Path, ...]) -> None:
        self._stage, self._victims = stage, victims
        self._must_end = threading.Event()
        self._thread = threading.Thread(target=self._swap_on)
        self.n_swaps = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._must_end.set()
        self._thread.join()

    def _swap_on(self) -> None:
        chance = random.Random(self._stage.chance.random())
        while not self._must_end.wait(10 ** chance.uniform(-3.5, 0)):
            with swapped(self._stage, chance.choice(self._victims), exchanges=chance.random() < 0.5):  # noqa: PLR2004
                # Not cut short by the end, for a run that is just ending should meet it.
                time.sleep(10 ** chance.uniform(-3.5, 0.3))
            self.n_swaps += 1


@contextlib.contextmanager
def swapped(stage: Stage, victim: Path, *, exchanges: bool = False) -> Iterator[None]:
    """Put a link to the private tree in the place of a file or directory."""
    spare = victim.with_name(f".{victim.name}.spare")
    if exchanges and sys.platform == "linux":
        spare.symlink_to(stage.mirror_of(victim))
        _exchange(spare, victim)
    else:
        victim.rename(spare)
        victim.symlink_to(stage.mirror_of(victim))
    try:
        yield
    finally:
        if exchanges and sys.platform == "linux":
            _exchange(spare, victim)
            spare.unlink()
        else:
            victim.unlink()
            spare.rename(victim)


def _exchange(first: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(other), _EXCHANGE):
        raise OSError(ctypes.get_errno(), "cannot exchange", str(first))


def inside(stage: Stage) -> tuple[Path, ...]:
    """Return what can be swapped below a root: directories, files and a link."""
    directories = [stage.root / name for name in DIRECTORIES if name]
    files = [stage.root / "file0.md", stage.root / "zz/file1.md", stage.root / "zz/hosts.yml"]
    return (*directories, *files, stage.root / "library/link")


def everything(stage: Stage) -> tuple[Path, ...]:
    return (*inside(stage), *upwards(stage) * 2)


def upwards(stage: Stage) -> tuple[Path, ...]:
    """Return the root and the directory above it."""
    return (stage.root, stage.root.parent)
