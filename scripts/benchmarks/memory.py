"""What an index run holds in memory at most, with the processes that parse for it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus import CHUNKS_PER_FILE, make_tree
from benchmarks.measure import DIRINDEX, PYTHON, Options, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INDEX = """
import sys
from pathlib import Path
from benchmarks.corpus import make_index
make_index(*map(Path, sys.argv[1:])).close()
"""
_SCRIPTS = Path(__file__).parent.parent

_SECONDS = 0.05
_MODEL_SECONDS = 60


def memory(options: Options) -> Iterator[Row]:
    """Measure an index run of a large tree with vectors of chance, and the beginning of one with the model."""
    tree = options.place / f"large-{options.n_chunks}-tree"
    make_tree(tree, n_files=-(-options.n_chunks // CHUNKS_PER_FILE), n_chunks_each=CHUNKS_PER_FILE)
    n_bytes = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    what = f"index run, {n_bytes / 1e6:,.0f} MB of files"
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        yield from _rows(what, (PYTHON, "-c", _INDEX, f"{temporary}/chance", str(tree)))
        limits = ("--max-seconds", str(_MODEL_SECONDS), "--yes", "--quiet")
        command = (DIRINDEX, "index", str(tree), "--data-dir", f"{temporary}/model", *limits)
        yield from _rows(f"{what}, {_MODEL_SECONDS} s with the model", command)


def _rows(what: str, command: Sequence[str]) -> Iterator[Row]:
    """Add up what its processes hold: memory that several share counts once (PSS)."""
    interpreter = _highest((PYTHON, "-c", "import time; time.sleep(0.3)"))
    highest = _highest(command)
    for name, which in (("", "Pss"), (", not shared with files", "Pss_Anon")):
        yield Row(f"{what}{name}", "MB at most", highest[which], interpreter[which], "python -c pass")


def _highest(command: Sequence[str]) -> dict[str, float]:
    highest = {"Pss": 0.0, "Pss_Anon": 0.0}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=_SCRIPTS)  # noqa: S603 - a command of a benchmark
    while process.poll() is None:
        held = [_held(pid) for pid in _family(process.pid)]
        highest = {name: max(most, sum(one.get(name, 0) for one in held)) for name, most in highest.items()}
        time.sleep(_SECONDS)
    if process.returncode:
        sys.exit(f"'{' '.join(command)}' ended with {process.returncode}")
    return highest


def _family(pid: int) -> list[int]:
    """Give a process and all that it started."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text(encoding="ascii").split()
        ]
    except OSError:  # it ended meanwhile
        return []
    return [pid, *(one for child in children for one in _family(child))]


def _held(pid: int) -> dict[str, float]:
    """Give megabytes by the names that the kernel has for them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # it ended meanwhile
        return {}
    return {name: int(rest.split()[0]) / 1000 for name, _, rest in (line.partition(":") for line in lines)}
