"""The pages that describe what goes over a wire agree with the records."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from directory_indexer.server.mcp import record_fields
from directory_indexer.server.mcp.executor import TOOLS

ROOT = Path(__file__).parents[3]


def test_the_pages_describe_every_field_as_the_records_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["wire_pages", "--check"])
    runpy.run_path(str(ROOT / "scripts/wire_pages"), run_name="__main__")


def test_every_field_is_described_in_a_sentence() -> None:
    for record in (one for tool in TOOLS for one in (tool.arguments, tool.answer)):
        for field in record_fields(record):
            assert field.description.endswith((".", "…")), (record, field.name)
