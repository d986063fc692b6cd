"""The API keeps to its OpenAPI document: a contract tester asks it for all that the document allows, and forbids."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commands import DIRINDEX, run_command
from web_servers import WebServer, new_key

SEED = "7"
_CONFIGURATION = """
continue-on-failure = true
# An operation may be waited for; longer than that nothing takes.
request-timeout = 60

[generation]
max-examples = 5
deterministic = true
database = "none"

[phases.stateful]
max-steps = 4

[checks]
# A cursor is none that the document can describe, nor is a day, a glob or a path that an index holds.
positive_data_acceptance.enabled = false
# Who asks without a good key again and again is told to wait; that none gets further is for other tests.
missing_required_header.expected-statuses = [401, 429]
ignored_auth.enabled = false

[[operations]]
include-name = "DELETE /api/v1/operations/{operation_id}"
# What is cancelled stays to be looked at.
checks.use_after_free.enabled = false

[[operations]]
include-name = "GET /api/v1/operations/{operation_id}"
checks.use_after_free.enabled = false

[[operations]]
include-name = "POST /api/v1/operations/{operation_id}/pause"
checks.use_after_free.enabled = false

[[operations]]
include-name = "POST /api/v1/operations/{operation_id}/resume"
checks.use_after_free.enabled = false
"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    for number in range(3):
        (place / f"docs/note-{number}.md").write_text(f"# Carrots {number}\n\nThey grow in garden {number}.\n")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    return place / "data"


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_the_api_keeps_to_its_document(data_dir: Path, tmp_path: Path) -> None:
    key = new_key(data_dir, "tester", "--right", "admin")
    (tmp_path / "schemathesis.toml").write_text(_CONFIGURATION)
    with WebServer(data_dir, DIRINDEX_SERVING__REQUESTS_PER_SECOND="100000") as server:
        command: list[str | Path] = [Path(sys.executable).with_name("st"), "run", f"{server.root}/openapi.json"]
        command += ["--header", f"Authorization: Bearer {key}", "--seed", SEED, "--no-color"]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500)
        logged = server.log()
    assert told.returncode == 0, f"{told.stdout}\n{logged}"
    assert "Stateful" in told.stdout
