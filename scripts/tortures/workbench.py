"""Workbench of all tortures: a randomly changing tree, runs in separate processes, and comparison of indexes."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
from cheap import cheap_app, index_tree

from directory_indexer.core.notes import Verdict
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.search.vector_search import VectorSearch
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations
from directory_indexer.text.formatting import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from directory_indexer.indexing.report import IndexReport

DIRINDEX: Final = str(Path(sys.executable).with_name("dirindex"))
PACKAGE: Final = Path(__file__).resolve().parents[2] / "directory_indexer"
_BUG = re.compile(rb"this is a bug(?: \(\w+)?|Traceback \(most recent call last\)")
_MEMORY_BYTES = 6 << 30
_WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau".split()
_ROUNDING = 0.01
"""Tolerance of a number that passed through the embedded store."""

_MERGE_AT = 256
_PARTS = ("walk", "indexing", "storage/documents", "parsing", "text", "search")
_LARGE_CHARS = 300_000


@dataclass
class Torture:
    """One part of one run: its random generator, directory and time limit, and the failures so far."""

    seed: int
    place: Path
    seconds: float
    size: int
    memory_mb: int
    failures: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        remove(self.place)
        self.place.mkdir(parents=True)

    def goes_on(self, n_done: int) -> bool:
        """Whether rounds and time remain, and nothing failed."""
        return n_done < self.size and not self.failures and time.monotonic() - self.started < self.seconds

    def require(self, claim: bool, message: str) -> None:  # noqa: FBT001 - read as an assertion
        if not claim:
            self.failures.append(message)
            print(f"    FAILED: {printable(message)}", flush=True)

    def result_of(self, what: str, child: Child) -> Any:
        """Wait for a child process that must succeed, and return its result."""
        code, result = child.wait()
        self.require(code == 0, f"{what} ends with {code}: {result}")
        return result if code == 0 else None

    def require_same(self, what: str, mine: dict[str, Any] | None, truth: dict[str, Any] | None) -> None:
        """Compare the contents of two indexes, if they could be read."""
        if mine and truth:
            problems = differences(mine, truth)
            self.require(not problems, f"{what}: {'; '.join(problems[:5])}")

    def compare_with_fresh(self, data_dir: Path, root: Path, what: str) -> None:
        """Complete an index undisturbed, and compare it with a new one."""
        fresh = self.place / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        for place in (data_dir, fresh):
            self.result_of(f"{what}: a run that nobody disturbs", Child(run_index, place, root))
        mine, truth = (self.result_of(f"{what}: reading", Child(contents, place)) for place in (data_dir, fresh))
        self.require_same(what, mine, truth)


def remove(place: Path) -> None:
    """Remove a tree that may be too deep for shutil."""
    subprocess.run(["rm", "-rf", place], check=True)  # noqa: S603, S607 - a directory of ours


def run_command(
    *words: str | os.PathLike[str], seconds: float = 600.0, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command within limits of memory and time; at the time limit, it is killed with its descendants."""
    process = start_command(*words, **options)
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        stdout, stderr = process.communicate()
    kill_group(process.pid)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def start_command(*words: str | os.PathLike[str], **options: Any) -> subprocess.Popen[bytes]:
    limits = {"preexec_fn": functools.partial(resource.setrlimit, resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, start_new_session=True, **{**limits, **pipes, **options})  # noqa: S603 - under test


def complaint_of(done: subprocess.CompletedProcess[bytes], codes: frozenset[int]) -> str:
    """Return the problem with the outcome of a command; "" if there is none."""
    if bug := _BUG.search(done.stderr):
        return f"ends with {done.returncode} and says '{bug[0].decode()}'"
    return "" if done.returncode in codes else f"ends with {done.returncode}: {done.stderr[-300:]!r}"


def kill_group(pid: int, number: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def try_index(data_dir: Path, root: Path, *, merge_at: int = _MERGE_AT) -> IndexReport:
    """Index a tree in this process as far as possible, in many small batches."""
    EmbeddedVectorStore.merge_at, EmbeddedVectorStore.min_pending_to_merge = merge_at, max(merge_at // 3, 1)
    # A few merges make a graph, and some more the next one.
    EmbeddedVectorStore.graph_from_kb, EmbeddedVectorStore.max_segment_kb = merge_at, 2 * merge_at
    environ = {"DIRINDEX_MONITORING__BATCH_SIZE": "10"} if merge_at <= _MERGE_AT else {}
    app = cheap_app(data_dir, batch_size=32, environ=environ)
    report = index_tree(app, root)
    app.close()
    return report


def run_index(data_dir: Path, root: Path, *, merge_at: int = _MERGE_AT) -> None:
    """Index a whole tree in this process."""
    report = try_index(data_dir, root, merge_at=merge_at)
    if report.outcome is not Outcome.COMPLETED or report.failures:
        raise RuntimeError(f"the run ended as {report.outcome}: {report.failures[:3]}")


def problems_of(data_dir: Path, *, repairs: bool = False) -> list[str]:
    """Return the problems that the doctor finds, or that remain after its repair."""
    app = cheap_app(data_dir)
    findings = app.doctor.repair() if repairs else app.doctor.check()
    return [finding.message for finding in findings if finding.verdict is Verdict.PROBLEM]


class Child:
    """A function in a separate process, whose process group can be killed."""

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
        """Whether it ends within a time limit."""
        return bool(select.select([self._result], [], [], seconds)[0])

    def kill(self) -> None:
        kill_group(self.pid)

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
    """Return everything searchable: files, texts, words and vectors."""
    vectorstore = EmbeddedVectorStore(Generations(data_dir / "qdrant" / "directory-indexer"), dimensions=DIMENSIONS)
    nearest, vectors_by_id = VectorSearch(place=vectorstore.place, vectorstore=lambda _: vectorstore), {}
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        for root in snapshot.directories.all():
            for path, known in snapshot.files.records_within(root).items():
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


def plant_small(root: Path) -> None:
    """Write a tree of a few real files."""
    documents = PACKAGE / "storage" / "documents"
    shutil.copytree(documents, root / "documents", ignore=shutil.ignore_patterns("__pycache__"))


def plant(root: Path) -> None:
    """Write a tree of real files from this package, one of them large enough for a worker process."""
    for part in _PARTS:
        shutil.copytree(PACKAGE / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "walk").glob("*.py")))
    (root / "large.txt").write_text(sources[:_LARGE_CHARS] * (_LARGE_CHARS // len(sources) + 1), encoding="utf-8")


def some_text(rng: random.Random) -> str:
    """Return a text of a few paragraphs."""
    lines = (" ".join(rng.choices(_WORDS, k=9)) for _ in range(rng.randint(1, 40)))
    return f"# Note {rng.randrange(1000)}\n\n" + "\n\n".join(lines) + "\n"


def mutate(root: Path, rng: random.Random) -> str:
    """Apply a random kind of change to a tree; return its name."""
    paths = [path for path in sorted(root.rglob("*")) if not path.name.startswith(".")]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    directories = [path for path in paths if path.is_dir()]
    name = rng.choice(list(_CHANGES))
    with contextlib.suppress(OSError, IndexError, ValueError):
        _CHANGES[name](_Chosen(root, *rng.sample(files, 2), rng.choice(directories), len(files), rng))
    return name


@dataclass(frozen=True)
class _Chosen:
    """The parts of a tree that a change affects."""

    root: Path
    file: Path
    other: Path
    directory: Path
    n_files: int
    rng: random.Random

    @property
    def text(self) -> str:
        return some_text(self.rng)

    def new(self, name: str) -> Path:
        """Return a path for a new file, beside a random one."""
        return self.rng.choice((self.root, self.directory, self.file.parent)) / f"{self.rng.randrange(10**6)}{name}"

    def written(self, path: Path) -> Path:
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return path

    def rules(self) -> str:
        return "\n".join((self.file.name, f"{self.directory.name}/", f"!{self.other.name}", "*.txt"))

    def swap(self) -> None:
        spare = self.file.rename(self.file.with_name("spare"))
        self.other.rename(self.file)
        spare.rename(self.other)

    def time_ns(self) -> tuple[int, int]:
        return 10**9, 10**9 + self.rng.randrange(100)


_CHANGES: Final[dict[str, Callable[[_Chosen], object]]] = {
    "add": lambda it: it.written(it.new("note.md")),
    "edit": lambda it: it.file.write_text(it.file.read_text("utf-8", "replace") + it.text, encoding="utf-8"),
    "replace": lambda it: it.written(it.file.with_name(f"{it.file.name}.draft")).replace(it.file),
    "delete": lambda it: it.n_files > len(_PARTS) and it.file.unlink(),
    "move": lambda it: it.file.rename(it.new(it.file.name)),
    "copy": lambda it: shutil.copy(it.file, it.new(it.file.name)),
    "swap": _Chosen.swap,
    "move a directory": lambda it: it.directory.rename(it.root / f"dir{it.rng.randrange(10**6)}"),
    "empty": lambda it: it.file.write_bytes(b""),
    "make binary": lambda it: it.file.write_bytes(b"\x7fELF" + it.rng.randbytes(500)),
    "ignore": lambda it: (it.directory / it.rng.choice((".gitignore", ".dirindexignore"))).write_text(it.rules()),
    "ignore no more": lambda it: it.rng.choice(sorted(it.root.rglob(".*ignore"))).unlink(),
    "touch": lambda it: os.utime(it.file, ns=it.time_ns()),
    "make a directory of a file": lambda it: (it.file.unlink(), it.written(it.file / "inside.md")),
    "link": lambda it: it.new("link").symlink_to(it.rng.choice((it.file, it.other, it.root))),
}
