"""Completion files for shells, as `dirindex --show-completion` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.completion import get_completion_script

if TYPE_CHECKING:
    from pathlib import Path

_FILES = {"bash": "dirindex.bash", "zsh": "_dirindex", "fish": "dirindex.fish", "pwsh": "dirindex.ps1"}


def write_completions(directory: Path) -> list[Path]:
    """Write a file for each shell, by the name that the shell looks for."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for shell, name in _FILES.items():
        script = get_completion_script(prog_name="dirindex", complete_var="_DIRINDEX_COMPLETE", shell=shell)
        path = directory / name
        path.write_text(script + "\n", encoding="utf-8")
        files.append(path)
    return files
