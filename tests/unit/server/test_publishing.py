"""What is published about the server agrees with the server."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import directory_indexer
from directory_indexer.server.mcp import record_schema
from directory_indexer.server.mcp.executor import TOOLS

ROOT = Path(__file__).parents[3]


def published(name: str) -> dict[str, Any]:
    content = json.loads((ROOT / "packaging" / name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def project() -> dict[str, Any]:
    section = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(section, dict)
    return section


def test_the_bundle_names_this_version_and_these_tools() -> None:
    manifest = published("manifest.json")
    assert manifest["version"] == directory_indexer.__version__
    assert [tool["name"] for tool in manifest["tools"]] == [entry.name for entry in TOOLS]
    assert set(manifest["server"]) == {"type", "entry_point", "mcp_config"}
    assert (ROOT / manifest["server"]["entry_point"]).is_file()
    assert manifest["compatibility"]["runtimes"]["python"] == project()["requires-python"]
    asked = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert asked == set(manifest["user_config"])


def test_the_documentation_names_every_tool_and_argument() -> None:
    text = (ROOT / "docs/mcp.md").read_text(encoding="utf-8")
    for entry in TOOLS:
        assert f"### `{entry.name}`" in text
        properties: dict[str, Any] = record_schema(entry.arguments)["properties"]
        missing = [name for name in properties if f"`{name}`" not in text]
        assert not missing
