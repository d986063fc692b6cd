"""Somebody at a terminal, with the installed command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from warm_commands import is_warm, run_warm

DIRINDEX = Path(sys.executable).with_name("dirindex")


class Shell:
    """A person with one data directory and one directory of documents."""

    def __init__(self, tmp_path: Path, home: Path) -> None:
        self.docs = tmp_path / "docs"
        self.docs.mkdir(exist_ok=True)
        self.data_dir = tmp_path / "data"
        self.environ = {**os.environ, "HOME": str(home), "DIRINDEX_DATA_DIR": str(self.data_dir)}

    def run(self, *words: str | Path, expect: int | None = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [os.fspath(word) for word in (DIRINDEX, *words)]
        if is_warm(self.environ):
            done = run_warm(command, cwd=os.fspath(self.docs), environ=self.environ, stdin=stdin, seconds=100)
        else:
            done = subprocess.run(
                command,
                capture_output=True,
                check=False,
                cwd=self.docs,
                encoding="utf-8",
                env=self.environ,
                input=stdin,
                timeout=100,
            )
        assert expect is None or done.returncode == expect, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str | Path, expect: int = 0) -> dict[str, Any]:
        answer = json.loads(self.run(*words, "--json", expect=expect).stdout)
        assert isinstance(answer, dict)
        return answer

    def write(self, name: str, text: str) -> Path:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
