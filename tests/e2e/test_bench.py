"""The benchmarks of scripts/bench run on small trees, and give figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
SMALL = "--rounds 1 --chunks 500 --chunks-large 1000 --files 20 --files-large 40".split()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="memory and processor time are read from /proc"),
]


@pytest.mark.parametrize("name", ["update", "start", "search", "serving", "words"])
def test_a_benchmark_gives_figures(name: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    words: list[str | Path] = [sys.executable, SCRIPTS / "bench", name, *SMALL, "--place", tmp_path, "--json", file]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert rows
    assert all(row["ours"] > 0 for row in rows)
