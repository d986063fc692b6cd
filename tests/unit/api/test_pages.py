"""The pages that describe what goes over a wire agree with the records."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from directory_indexer.server.mcp.executor import TOOLS
from directory_indexer.server.mcp.schemas import record_fields

ROOT = Path(__file__).parents[3]


def test_the_pages_describe_every_field_as_the_records_do() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts/wire_pages", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.stderr == ""


def test_every_field_is_described_in_a_sentence() -> None:
    for record in (one for tool in TOOLS for one in (tool.arguments, tool.answer)):
        for field in record_fields(record):
            assert field.description.endswith((".", "…")), (record, field.name)
