"""`dirindex grep` finds the very lines that ripgrep finds, whatever the pattern and the options."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from commands import DIRINDEX

ROOT: Final = Path(__file__).parents[2]
RIPGREP: Final = ("rg", "--no-config", "--no-heading", "--with-filename", "--line-number", "--color=never", "-uu")
OPTIONS: Final = (
    *((), ("-i",), ("-w",), ("-o",), ("-c",), ("-l",), ("-v", "-c"), ("-i", "-w"), ("-o", "-i"), ("-S",), ("-x",)),
    *(("-m", "1"), ("-A", "1"), ("-B", "2"), ("-C", "1"), ("-w", "-o"), ("--files-without-match",), ("-F",)),
)
FORMS: Final = (
    *(r"{first}", r"\b{first}\b", r"^\s*{first}", r"{last}\W*$", r"{half}\w+", r"{first}.*{last}", r"{first}\s+\w+"),
    *(r"({first}|{last})\s*[=(:]", r"(?:{first}|{last})\(", r"(?i){first}", r"[^a-z]{last}[^a-z]", r"\.{first}\("),
    *(r"{first}s?\b", r"[[:space:]]{last}", r"\bTODO\b|\bFIXME\b", r"\p{{Lu}}\w+{half}", r"[A-Z]\w*{last}\b"),
)
"""Patterns of the first and the last word of a line, and of half a word."""


def rows_of(*command: str | Path) -> list[str]:
    done = subprocess.run(command, capture_output=True, check=False, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    assert done.returncode in {0, 1}, done.stderr
    return sorted(done.stdout.decode().splitlines())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not shutil.which("rg"), reason="ripgrep is not installed")
def test_lines_are_those_of_ripgrep(tmp_path: Path) -> None:
    tree, at = tmp_path / "tree", ("--data-dir", tmp_path / "data")
    shutil.copytree(ROOT / "directory_indexer" / "search", tree, ignore=shutil.ignore_patterns("__pycache__"))
    chance = random.Random(7)  # noqa: S311 - chance decides what to try
    config = tmp_path / "config.json"
    config.write_text('{"indexing": {"embedding": "off"}}')
    subprocess.run([DIRINDEX, "index", tree, "--yes", "-q", "--config", config, *at], check=True)
    lines = [line for path in sorted(tree.rglob("*.py")) for line in path.read_text("utf-8").splitlines()]
    for number in range(60):
        words = re.findall(r"[A-Za-z_]\w{3,}", chance.choice(lines)) or ["import"]
        half = words[0][: len(words[0]) // 2]
        pattern = FORMS[number % len(FORMS)].format(first=words[0], last=words[-1], half=half)
        arguments = (*chance.choice(OPTIONS), "-e", pattern, tree)
        assert rows_of(DIRINDEX, "grep", "-q", *at, *arguments) == rows_of(*RIPGREP, *arguments), arguments
