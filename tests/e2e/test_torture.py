"""The parts of scripts/torture work, and find nothing in the little time they have here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TORTURE = Path(__file__).parent.parent.parent / "scripts" / "torture"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="kills and forks")
@pytest.mark.parametrize(
    ("part", "size"),
    [
        ("kills", 2),
        ("faults", 3),
        ("damage", 4),
        ("copies", 1),
        ("changes", 1),
        ("swaps", 5),
        ("large", 500),
        ("many", 500),
    ],
)
def test_a_part_passes(part: str, size: int, tmp_path: Path) -> None:
    words: list[str | Path] = [sys.executable, TORTURE, part, "--size", str(size), "--seed", "7", "--place", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
