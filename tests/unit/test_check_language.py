"""Names and docstrings that `scripts/check` refuses, and those that it allows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "scripts" / "check_language"


def problems_of(source: str, directory: Path) -> str:
    file = directory / "module.py"
    file.write_text(source, encoding="utf-8")
    result = subprocess.run([sys.executable, CHECK, file], capture_output=True, text=True, check=False)
    assert result.returncode == bool(result.stdout.strip()), result.stderr
    return result.stdout.strip().removeprefix(f"{file}:")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("found = 1", "1: the name `found` says no type"),
        ("names = [one for one in ()]", "1: the name `one` says no type"),
        ("def _asked(): pass", "1: the name `_asked` says no type"),
        ("\nread = lambda given: 0", "2: the name `given` says no type"),
        ('def names():\n    """Give the names."""', "1: a docstring begins with `Give`"),
        ('"""How names are written."""', "1: a docstring begins with `How`"),
    ],
)
def test_a_retired_name_or_first_word_is_refused_with_its_line(source: str, problem: str, tmp_path: Path) -> None:
    assert problems_of(source, tmp_path) == problem


def test_names_of_a_type_and_docstrings_that_begin_with_a_verb_are_allowed(tmp_path: Path) -> None:
    source = '"""Names of files."""\n\ndef names():\n    """Return the names."""\n    return [name for name in ()]'
    assert not problems_of(source, tmp_path)
