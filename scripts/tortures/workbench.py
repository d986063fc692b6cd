"""Workbench of all tortures: a tree that changes by chance, index runs in processes of their own, and the truth."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import time
import traceback
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.embedding_space import EmbeddingSpace, EmbeddingUsage
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.nearest import Nearest
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations
from directory_indexer.text.formatting import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from directory_indexer.indexing.report import IndexReport

PACKAGE = Path(__file__).resolve().parent.parent.parent / "directory_indexer"

_WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau".split()
_ROUNDING = 0.01
"""So far off a number may be that went through the embedded store."""

_MERGE_AT = 256
_ROOMS = ("walk", "indexing", "storage/documents", "parsing", "text", "search")
_LARGE_CHARS = 300_000


@dataclass
class Torture:
    """One part of one run: its chance, its place, how long it may take, and what went wrong."""

    seed: int
    place: Path
    seconds: float
    size: int
    memory_mb: int
    writes: bool = False
    corpus: Path | None = None
    """Real files of all formats, beside those that are made here."""

    failures: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        remove(self.place)
        self.place.mkdir(parents=True)

    @property
    def is_over(self) -> bool:
        return time.monotonic() - self.started >= self.seconds

    def require(self, claim: bool, message: str) -> None:  # noqa: FBT001 - read as an assertion
        if not claim:
            self.failures.append(message)
            print(f"    FAILED: {printable(message)}", flush=True)


class CheapEmbedder:
    """Gives each text a vector of its own at no cost; equal texts have equal vectors."""

    space = EmbeddingSpace(provider="embedded", model="all-MiniLM-L6-v2", dimensions=DIMENSIONS)
    max_tokens = None
    batch_size = 32
    concurrency = 1
    usage = EmbeddingUsage()

    def check(self) -> None:
        pass

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.embed_query(text) for text in texts], np.float32).reshape(-1, DIMENSIONS)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        chance = np.random.default_rng(zlib.crc32(text.encode("utf-8", "replace")))
        vector = chance.standard_normal(DIMENSIONS).astype(np.float32)
        unit: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return unit

    def close(self) -> None:
        pass


class CheapApp(App):
    """The application as it is, but for the model, and with small batches, so that there are many of them."""

    def embedder(self) -> CheapEmbedder:
        return CheapEmbedder()


def remove(place: Path) -> None:
    """Remove a tree that may be deeper than Python's own way can go."""
    subprocess.run(["rm", "-rf", place], check=True)  # noqa: S603, S607 - a directory of ours


def try_index(data_dir: Path, root: Path, *, merge_at: int = _MERGE_AT) -> IndexReport:
    """Index a tree in this process, as far as that goes."""
    EmbeddedVectorStore.merge_at, EmbeddedVectorStore.keep_pending = merge_at, max(merge_at // 3, 1)
    # A few merges make a graph, and some more the next one.
    EmbeddedVectorStore.graph_from_kb, EmbeddedVectorStore.max_segment_kb = merge_at, 2 * merge_at
    environ = {"DIRINDEX_MONITORING__BATCH_SIZE": "10"} if merge_at <= _MERGE_AT else {}
    app = CheapApp(load_config(file=None, data_dir=data_dir, environ=environ))
    report = app.indexer.index(
        [os.fspath(root)],
        options=IndexOptions(has_consent=True),
        listener=lambda _: None,
        stop_reason=lambda: None,
    )
    app.close()
    return report


def run_index(data_dir: Path, root: Path, *, merge_at: int = _MERGE_AT) -> None:
    """Index a tree in this process, all of it."""
    report = try_index(data_dir, root, merge_at=merge_at)
    if report.outcome is not Outcome.COMPLETED or report.failures:
        raise RuntimeError(f"the run ended as {report.outcome}: {report.failures[:3]}")


class Child:
    """A function at work in a process of its own, in a group that can be killed as one."""

    def __init__(self, function: Callable[..., object], *arguments: object, **options: object) -> None:
        self._result, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            os.close(self._result)
            _work(functools.partial(function, *arguments, **options), write_end)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        os.close(write_end)

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at most, and tell whether it has ended."""
        return bool(select.select([self._result], [], [], seconds)[0])

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wait(self) -> tuple[int, Any]:
        """Return the exit code, negative for a signal, and what the function returned or raised as text."""
        with open(self._result, "rb") as pipe:
            content = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        self.kill()  # its workers
        return os.waitstatus_to_exitcode(status), pickle.loads(content) if content else None  # noqa: S301 - our own child wrote it


def _work(function: Callable[[], object], write_end: int) -> NoReturn:
    code, result = 0, None
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001 - the parent wants to know
        code, result = 1, f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}"
    with open(write_end, "wb") as pipe:
        pipe.write(pickle.dumps(result))
    os._exit(code)


def contents(data_dir: Path) -> dict[str, Any]:
    """Return all that a search can see: files, texts, words and vectors."""
    vectorstore = EmbeddedVectorStore(Generations(data_dir / "qdrant" / "directory-indexer"), dimensions=DIMENSIONS)
    nearest, vectors_by_id = Nearest(place=vectorstore.place, vectorstore=lambda _: vectorstore), {}
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        for root in snapshot.directories.all():
            for path, known in snapshot.files.within(root).items():
                chunks = snapshot.chunks.of_file(path)
                vectors = nearest.vectors(snapshot, [chunk.chunk_id for chunk in chunks])
                vectors_by_id[path.removeprefix(root)] = (
                    (known.state, known.reason, known.hash, [chunk.chunk for chunk in chunks]),
                    [vectors.get(chunk.chunk_id) for chunk in chunks],
                )
        n_rows = snapshot.words.count_rows()
    vectorstore.close()
    with contextlib.closing(sqlite3.connect(data_dir / "data.db")) as connection:
        words = connection.execute("SELECT term, doc, cnt FROM chunks_vocab ORDER BY term").fetchall()
    return {"files": vectors_by_id, "words": words, "rows": n_rows}


def differences(mine: dict[str, Any], truth: dict[str, Any]) -> list[str]:
    """Return how one index differs from another."""
    names = set(mine["files"]) ^ set(truth["files"])
    problems = [f"{name} is in one index only" for name in sorted(names)]
    for name in sorted(set(mine["files"]) & set(truth["files"])):
        (texts, vectors), (true_texts, true_vectors) = mine["files"][name], truth["files"][name]
        if texts != true_texts:
            problems.append(f"{name} has another text")
        elif not all(_is_near(*pair) for pair in zip(vectors, true_vectors, strict=True)):
            problems.append(f"{name} has other vectors")
    problems += [f"{key} differ" for key in ("words", "rows") if mine[key] != truth[key]]
    return problems


def _is_near(vector: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> bool:
    return vector is not None and other is not None and bool(np.allclose(vector, other, atol=_ROUNDING))


def compare_with_fresh(torture: Torture, data_dir: Path, root: Path, what: str) -> None:
    """Complete an index without disturbing it, and compare it with a new one."""
    fresh = torture.place / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    for place in (data_dir, fresh):
        code, result = Child(run_index, place, root).wait()
        torture.require(code == 0, f"{what}: a run that nobody disturbs ends with {code}: {result}")
    (code, mine), (_, truth) = Child(contents, data_dir).wait(), Child(contents, fresh).wait()
    torture.require(code == 0, f"{what}: the index cannot be read: {mine}")
    if code == 0:
        problems = differences(mine, truth)
        torture.require(not problems, f"{what}: {'; '.join(problems[:5])}")


def plant_small(root: Path) -> None:
    """Make a tree of a few real files."""
    documents = PACKAGE / "storage" / "documents"
    shutil.copytree(documents, root / "documents", ignore=shutil.ignore_patterns("__pycache__"))


def plant(root: Path) -> None:
    """Make a tree of real files, a part of this package, with one that is large enough for a worker process."""
    for room in _ROOMS:
        shutil.copytree(PACKAGE / room, root / room, ignore=shutil.ignore_patterns("__pycache__"))
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "walk").glob("*.py")))
    (root / "large.txt").write_text(sources[:_LARGE_CHARS] * (_LARGE_CHARS // len(sources) + 1), encoding="utf-8")


def mutate(root: Path, chance: random.Random) -> str:
    """Change a tree in one of the ways in which trees change; say how."""
    paths = (path for path in root.rglob("*") if not path.name.startswith("."))
    files = sorted(path for path in paths if path.is_file() and not path.is_symlink())
    directories = sorted(path for path in root.rglob("*") if path.is_dir())
    change = chance.choice(_CHANGES)
    with contextlib.suppress(FileNotFoundError, FileExistsError, IndexError, OSError):
        change(root, files, directories, chance)
    return change.__name__.removeprefix("_")


def some_text(chance: random.Random) -> str:
    """Make a text of a few paragraphs."""
    lines = (" ".join(chance.choices(_WORDS, k=9)) for _ in range(chance.randint(1, 40)))
    return f"# Note {chance.randrange(1000)}\n\n" + "\n\n".join(lines) + "\n"


Paths = list[Path]


def _add(root: Path, _files: Paths, directories: Paths, chance: random.Random) -> None:
    place = chance.choice([root, *directories])
    (place / f"note{chance.randrange(10**6)}.md").write_text(some_text(chance), encoding="utf-8")


def _edit(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    path = chance.choice(files)
    path.write_text(path.read_text("utf-8", "replace") + f"\n{some_text(chance)}", encoding="utf-8")


def _replace(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    path = chance.choice(files)
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(some_text(chance), encoding="utf-8")
    draft.replace(path)


def _delete(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    if len(files) > 5:  # noqa: PLR2004 - something must be left
        chance.choice(files).unlink()


def _move(root: Path, files: Paths, directories: Paths, chance: random.Random) -> None:
    path = chance.choice(files)
    path.rename(chance.choice([root, *directories]) / f"moved{chance.randrange(1000)}-{path.name}")


def _copy(root: Path, files: Paths, directories: Paths, chance: random.Random) -> None:
    path = chance.choice(files)
    shutil.copy(path, chance.choice([root, *directories]) / f"copy{chance.randrange(1000)}-{path.name}")


def _swap(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    file, other = chance.sample(files, 2)
    spare = file.with_name("spare")
    file.rename(spare)
    other.rename(file)
    spare.rename(other)


def _move_directory(root: Path, _files: Paths, directories: Paths, chance: random.Random) -> None:
    path = chance.choice(directories)
    path.rename(root / f"dir{chance.randrange(10**6)}")


def _make_empty(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    chance.choice(files).write_bytes(b"")


def _make_binary(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    chance.choice(files).write_bytes(b"\x7fELF" + chance.randbytes(500))


def _ignore(root: Path, files: Paths, directories: Paths, chance: random.Random) -> None:
    rules = [chance.choice(files).name, chance.choice(directories).name + "/", f"!{chance.choice(files).name}", "*.txt"]
    name = chance.choice([".gitignore", ".dirindexignore"])
    (chance.choice([root, *directories]) / name).write_text("\n".join(rules), encoding="utf-8")


def _ignore_no_more(root: Path, _files: Paths, _directories: Paths, chance: random.Random) -> None:
    chance.choice(sorted(root.rglob(".*ignore"))).unlink()


def _touch(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    os.utime(chance.choice(files), (1_000_000_000, 1_000_000_000 + chance.randrange(100)))


def _file_becomes_directory(_root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    path = chance.choice(files)
    path.unlink()
    path.mkdir()
    (path / "inside.md").write_text(some_text(chance), encoding="utf-8")


def _link(root: Path, files: Paths, _directories: Paths, chance: random.Random) -> None:
    (root / f"link{chance.randrange(1000)}").symlink_to(chance.choice([*files, root]))


_CHANGES = (
    *(_add, _edit, _replace, _delete, _move, _copy, _swap, _move_directory, _make_empty, _make_binary, _ignore),
    *(_ignore_no_more, _touch, _file_becomes_directory, _link),
)
