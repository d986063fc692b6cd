"""Gives every grammar what repeats and nests without end, and looks at the time and memory that it takes.

Each file goes the way of every file, to a worker process with limits, and must come back as text that is indexed.
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.files import SourceFile
from directory_indexer.core.paths import file_path
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.formats.grammars import GRAMMARS
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy

if TYPE_CHECKING:
    from tortures.workbench import Torture

DIRINDEX = Path(sys.executable).with_name("dirindex")
_SUFFIXES = {
    "bash": "sh", "c": "c", "cpp": "cpp", "csharp": "cs", "elixir": "ex", "go": "go", "haskell": "hs", "java": "java",
    "javascript": "js", "kotlin": "kt", "lua": "lua", "php": "php", "powershell": "ps1", "python": "py", "ruby": "rb",
    "rust": "rs", "scala": "scala", "swift": "swift", "tsx": "tsx", "typescript": "ts", "zig": "zig",
}  # fmt: skip
_PATTERNS = (
    *"( [ { < > ) } # @ $ \\ ` ' \" ! ? : ; , . = + - * / % & | ^ ~ _".split(),
    *(
        "a<",
        "a<b<",
        "a(",
        "a[",
        "a{",
        "a.",
        "a,",
        "a:",
        "a ",
        "a;\n",
        "a=",
        "a->",
        "a::",
        "a?",
        "a?.",
        "!a ",
        "-a",
        "(a)",
    ),
    *(
        "\n",
        "\t",
        " \n",
        "/*",
        "/**/",
        "//",
        "//\n",
        "#\n",
        "--",
        "--[[",
        "{-",
        '"""',
        "'''",
        "<<A\n",
        "<<-A\n",
        "<<<A\n",
    ),
    *("if ", "else ", "if a then ", "if (a) ", "for ", "while ", "do ", "end ", "case ", "fn ", "def a ", "class A "),
    *("class A {", "namespace a {", "function a() {", "func a() {", "fun a() {", "struct a {", "{ a: ", "<a>", "</a>"),
    *("@a ", "@a\n", "#[a]\n", "#if a\n", "#define a\n", "#{", "${", "$(", "\\(", "f'{", "`${", '#"', 'r#"', "a => "),
    *(
        "lambda: ",
        "async ",
        "await ",
        "not ",
        "return ",
        "x = [\n",
        "(a, b",
        "a ? b : ",
        "a ?? ",
        "1e",
        "0x",
        "é",
        "\0",
    ),
    *("let a = ", "where ", "\\a -> ", "a $ ", "a <- ", "|a| ", "template<", "operator<", "a<b>(c", "public ", "\\\n"),
)
_SIZES = (50_000, 262_000)
_OF_A_WORKER = 2.0
"""Seconds of the processor that a worker takes besides, on a machine that has other things to do."""

_INTERRUPTED_WITHIN = 20.0


class _Cost(NamedTuple):
    seconds: float
    what: str


def grammars(torture: Torture) -> str:
    """Try as many patterns as there is time for, in an order of chance, and then interrupt a run at the worst."""
    tries = list(itertools.product(GRAMMARS, _PATTERNS, _SIZES))
    torture.chance.shuffle(tries)
    costs: list[_Cost] = []
    for kind, pattern, size in tries[: torture.size]:
        if torture.is_over:
            break
        costs.append(_try(torture, kind, pattern, size))
    worst = "\n    ".join(f"{cost.seconds:5.1f} s {cost.what}" for cost in sorted(costs, reverse=True)[:10])
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    torture.require(megabytes < torture.memory_mb, f"a worker held {megabytes:.0f} MB")
    _interrupt(torture)
    return f"{len(costs)} of {len(tries)} files, at most {megabytes:.0f} MB in a worker; the worst:\n    {worst}"


def _try(torture: Torture, kind: str, pattern: str, size: int) -> _Cost:
    path = torture.place / f"a.{_SUFFIXES[kind]}"
    path.write_text((pattern * (size // len(pattern)))[:size], encoding="utf-8")
    policy = ParsePolicy(10_000_000, include_secrets=True, chunking=ChunkPolicy(), count_tokens=count_tokens)
    status = path.stat()
    request = ParseRequest(SourceFile(file_path(path), status.st_size, status.st_mtime_ns), None)
    before = _seconds()
    (outcome,) = parse_all([request], policy)
    cost = _Cost(_seconds() - before, f"{kind} {size // 1000} KB of {pattern!r}")
    is_nothing = not pattern.strip("\0\t\n ")
    torture.require(isinstance(outcome, ParsedFile) or is_nothing, f"{cost.what}: {outcome!r:.300}")
    # So much in the worker, and not more here when it is taken for plain text.
    allowed = 2 * (3 + 12 * status.st_size / 1e6) + _OF_A_WORKER
    torture.require(cost.seconds < allowed, f"{cost.what}: took {cost.seconds:.1f} s")
    return cost


def _seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _interrupt(torture: Torture) -> None:
    root = torture.place / "slow"
    root.mkdir()
    for number in range(20):
        (root / f"{number}.swift").write_text("#" * 262_000 + str(number), encoding="ascii")
    process = subprocess.Popen(  # noqa: S603 - the program under test
        [DIRINDEX, "index", root, "--quiet", "--data-dir", torture.place / "data"], stderr=subprocess.DEVNULL
    )
    time.sleep(torture.chance.uniform(2, 6))
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    code = process.wait()
    seconds = time.monotonic() - started
    torture.require(code in {0, 130} and seconds < _INTERRUPTED_WITHIN, f"interrupted: {code} after {seconds:.0f} s")
    workers = [path for path in Path("/proc").glob("[0-9]*") if _is_orphan(path)]
    torture.require(not workers, f"workers that outlive their run: {workers}")


def _is_orphan(process: Path) -> bool:
    try:
        command = (process / "cmdline").read_bytes()
        parent = int((process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return False
    return b"parsing.worker" in command and parent in {1, os.getpid()}
