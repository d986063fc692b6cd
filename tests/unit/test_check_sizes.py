"""Sizes of modules that `scripts/check` refuses, and those that it allows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "scripts" / "check_sizes"
SHORT, USUAL, LONG = "x = 1\n", "x = 1\n" * 100, "x = 1\n" * 501


def problems_of(modules: Mapping[str, str], directory: Path) -> str:
    for name, source in modules.items():
        (directory / name).write_text(source, encoding="utf-8")
    result = subprocess.run([sys.executable, CHECK, directory], capture_output=True, text=True, check=False)
    assert result.returncode == bool(result.stdout.strip()), result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("statement", ["import pack.part", "from pack import part", "from pack.part import x"])
def test_a_short_module_with_a_single_importer_is_refused_however_it_is_imported(
    statement: str, tmp_path: Path
) -> None:
    directory = tmp_path / "pack"
    directory.mkdir()
    modules = {"part.py": SHORT, "whole.py": f"def f():\n    {statement}\n{USUAL}"}
    assert problems_of(modules, directory) == "pack.part has 1 lines and a single importer: move it into pack.whole"


def test_a_module_of_more_than_500_lines_is_refused(tmp_path: Path) -> None:
    assert "has 501 lines" in problems_of({"long.py": LONG}, tmp_path)


def test_modules_of_usual_size_and_short_ones_with_several_importers_are_allowed(tmp_path: Path) -> None:
    directory = tmp_path / "pack"
    directory.mkdir()
    importer = f"from pack.part import x\n{USUAL}"
    assert not problems_of({"part.py": SHORT, "a.py": importer, "b.py": importer, "c.py": USUAL}, directory)
