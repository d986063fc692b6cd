"""docs/qdrant-server.md shows configurations that are valid, and promises nothing that no test holds it to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from directory_indexer.config import load_config

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "qdrant-server.md").read_text(encoding="utf-8")
PROOFS = ("integration/test_qdrant_faults.py", "integration/test_migration.py", "e2e/test_qdrant_server.py")


@pytest.mark.parametrize("example", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_every_configuration_is_valid(example: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key")
    (tmp_path / "key").chmod(0o600)
    content = json.loads(example)
    content["storage"]["qdrant"]["api_key_file"] = str(tmp_path / "key")
    (tmp_path / "config.json").write_text(json.dumps(content))
    loaded = load_config(file=tmp_path / "config.json", data_dir=None, environ={"HOME": str(tmp_path)})
    assert loaded.warnings == ()


def test_what_the_page_says_that_one_sees_is_what_a_test_sees() -> None:
    rows = [row.split("|") for row in PAGE.partition("what you see")[2].splitlines() if row.startswith("|")]
    seen = [words for row in rows for words in re.findall(r"`([^`]+)`", row[2]) if " " in words]
    proofs = " ".join((TESTS / name).read_text(encoding="utf-8") for name in PROOFS)
    assert len(rows) > 15
    assert [words for words in seen if words.removeprefix("is ") not in proofs and words != "dirindex doctor"] == []
