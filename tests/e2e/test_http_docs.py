"""What docs/http.md tells people to type works, and what it says of errors is all of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command
from web_servers import WebServer, new_key

from directory_indexer.server.middleware import request_context
from directory_indexer.server.middleware.request_context import Problem
from directory_indexer.server.rest import administration, application, background, documents, ingesting, messages

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).resolve().parents[2] / "docs/http.md").read_text(encoding="utf-8")
_ADDRESS = "http://127.0.0.1:8765"
MODULES = (
    administration,
    messages,
    ingesting,
    documents,
    request_context,
    background,
    application,
)
_PRELUDE = 'set -euo pipefail; curl() { command curl --fail-with-body --noproxy "*" "$@"; }\n'


def _commands() -> Iterator[str]:
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for command in re.findall(r"^\$ (.*?(?<!\\))\n", block, re.DOTALL | re.MULTILINE):
            if not command.startswith("dirindex serve"):
                yield command


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("curl"), reason="there is no curl")
def test_the_examples_work(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/keys.md").write_text("How we rotate the keys: every month.\n")
    data_dir = tmp_path / "data"
    run_command([DIRINDEX, "index", tmp_path / "docs", "-q", "--data-dir", data_dir])
    new_key(data_dir, "another")
    environ = {**os.environ, "DIRINDEX_DATA_DIR": str(data_dir), "PATH": f"{DIRINDEX.parent}:{os.environ['PATH']}"}
    commands = list(_commands())
    assert len(commands) > 8
    with WebServer(data_dir) as server:
        script = _PRELUDE + "\n".join(commands).replace(_ADDRESS, server.root)
        bash = ["bash", "-c", script]
        done = subprocess.run(bash, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every month" in done.stdout
    assert done.stdout.count('"state":"completed"') >= 2
    assert "Herons wait" in done.stdout
    assert "The kestrel hovers." in done.stdout
    assert done.stdout.count('{"line":') == 2


def _problems(module: ModuleType) -> Iterator[Problem]:
    for value in vars(module).values():
        if isinstance(value, Problem):
            yield value


def test_every_error_is_told() -> None:
    table = PAGE[PAGE.index("| status | `error` |") :]
    told = {(int(line[2:5]), name) for line in table.splitlines() if re.match(r"\| \d", line)
            for name in re.findall(r"`(\w+)`", line)}  # fmt: skip
    found = {problem for module in MODULES for problem in _problems(module)}
    found |= {problem for _, problem in messages.PROBLEMS}
    found |= {
        request_context.body_too_large(1),
        request_context.missing_right("a", "b"),
        request_context.path_not_found(),
        request_context.method_not_allowed([]),
    }
    assert {(problem.status, problem.error) for problem in found} <= told
