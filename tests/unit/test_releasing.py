"""What `scripts/release` makes of the commands and of the templates."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import typer
from releasing.bundle import bundled_files, write_bundle
from releasing.channels import Published, write_channels
from releasing.completions import write_completions
from releasing.manual import write_manual
from releasing.materials import finished_materials, licences_in

from directory_indexer import __version__
from directory_indexer.cli.command_line import cli

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    written = write_manual(tmp_path_factory.mktemp("man1"), date="2026-01-31")
    return {page.name: page.read_text(encoding="utf-8") for page in written}


def test_every_command_has_a_manual_page_with_each_of_its_options(pages: dict[str, str]) -> None:
    commands = typer.main.get_command(cli).commands  # type: ignore[attr-defined]  # a group has them
    for name, command in commands.items():
        page = pages[f"dirindex-{name}.1"].replace("\\-", "-")
        options = [opt for one in command.params if not getattr(one, "hidden", False) for opt in one.opts]
        assert [opt for opt in options if opt.startswith("-") and opt not in page] == [], name
        for below in getattr(command, "commands", None) or {}:
            assert f"dirindex-{name}-{below}.1" in pages


def test_a_manual_page_of_a_program_has_no_line_that_roff_takes_for_a_request(pages: dict[str, str]) -> None:
    requests = {line.split()[0] for page in pages.values() for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".TP", ".PP", ".B", ".BR"}


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_a_manual_page_passes_the_checker_of_mandoc(tmp_path: Path) -> None:
    written = write_manual(tmp_path, date="2026-01-31")
    checked = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *map(str, written)], capture_output=True, check=False
    )
    assert checked.stdout == b""


def test_each_shell_has_a_completion_file_that_asks_the_program(tmp_path: Path) -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in write_completions(tmp_path)}
    assert written.keys() == {"dirindex.bash", "_dirindex", "dirindex.fish", "dirindex.ps1"}
    assert all("_DIRINDEX_COMPLETE" in script for script in written.values())


def test_the_files_of_package_managers_have_the_addresses_and_hashes_of_the_release(tmp_path: Path) -> None:
    published = Published(
        version=__version__,
        date="2026-01-31",
        url="https://example.org/release",
        wheel="directory_indexer-0.1.0-py3-none-any.whl",
        wheel_sha256="a" * 64,
        manual="dirindex-0.1.0-manual.tar.gz",
        manual_sha256="b" * 64,
        bundle="dirindex-0.1.0.mcpb",
        bundle_sha256="c" * 64,
    )
    written = write_channels(ROOT / "packaging" / "channels", tmp_path, published)
    texts = {path.name: path.read_text(encoding="utf-8") for path in written}
    assert [name for name, text in texts.items() if re.search(r"@[a-z0-9_]+@", text)] == []
    scoop = json.loads(texts["dirindex.json"])
    assert (scoop["hash"], scoop["url"]) == (
        "a" * 64,
        "https://example.org/release/directory_indexer-0.1.0-py3-none-any.whl",
    )
    assert "a" * 64 in texts["dirindex.rb"]
    assert "b" * 64 in texts["dirindex.rb"]
    entry = json.loads(texts["server.json"])
    (package,) = entry["packages"]
    assert (entry["version"], package["registryType"]) == (__version__, "mcpb")
    assert package["identifier"] == "https://example.org/release/dirindex-0.1.0.mcpb"
    assert package["fileSha256"] == "c" * 64
    assert len(entry["description"]) <= 100
    if shutil.which("ruby"):
        subprocess.run(["ruby", "-c", str(tmp_path / "dirindex.rb")], check=True, capture_output=True)


def test_a_bundle_is_the_same_whenever_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging/manifest.json").write_text("{}")
    (tmp_path / "a.py").write_text("a")
    for name in ("one", "two"):
        write_bundle(tmp_path, ["a.py"], tmp_path / name, 1_700_000_000)
        (tmp_path / "a.py").touch()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with zipfile.ZipFile(tmp_path / "one") as archive:
        assert archive.namelist() == ["a.py", "manifest.json"]


def test_a_bundle_holds_what_the_server_needs() -> None:
    files = bundled_files(ROOT)
    assert {"pyproject.toml", "directory_indexer/__main__.py"} <= set(files)
    assert "directory_indexer/integrations/assistants/plugin/skills/dirindex/SKILL.md" in files
    assert not [name for name in files if name.startswith(("tests/", ".claude-plugin/"))]


def test_a_bill_of_materials_says_what_it_is_of_and_nothing_of_the_machine_that_made_it() -> None:
    wheel = {"url": "file:///home/ann/dist/dirindex.whl", "type": "distribution"}
    components = [
        {
            "name": "directory-indexer",
            "version": "1",
            "type": "library",
            "bom-ref": "dirindex==1",
            "externalReferences": [wheel],
        },
        {"name": "ahocorasick_rs", "version": "2", "type": "library"},
        {"name": "anyio", "version": "3", "type": "library", "licenses": [{"license": {"id": "MIT"}}]},
    ]
    licences = licences_in((ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8"))
    bill = finished_materials({"metadata": {"tools": {}}, "components": components, "dependencies": []}, licences)
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["type"]) == (
        "directory-indexer",
        "application",
    )
    assert [one["name"] for one in bill["components"]] == ["ahocorasick_rs", "anyio"]
    assert [one["licenses"][0]["license"] for one in bill["components"]] == [{"name": "Apache 2.0"}, {"id": "MIT"}]
    assert "ann" not in json.dumps(bill)


def test_a_bill_of_materials_is_refused_where_a_licence_is_not_known() -> None:
    components = [{"name": "directory-indexer", "version": "1"}, {"name": "unheard-of", "version": "2"}]
    with pytest.raises(SystemExit, match="unheard-of"):
        finished_materials({"metadata": {}, "components": components}, {"other": "MIT"})
