"""Paths and patterns are understood as people, shells, editors and assistants write them, by every face alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from directory_indexer.cli.commands import parse_location, parse_path
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.paths import resolved_path
from directory_indexer.matching import PatternOptions
from directory_indexer.search.grep import GrepRequest, grep
from directory_indexer.search.locators import outline_of_locator, parse_locator
from directory_indexer.search.requests import SearchMode
from directory_indexer.server.mcp.grep_outline import outline_of_name
from directory_indexer.server.mcp.index_tool import directories_to_index
from directory_indexer.server.path_resolution import (
    resolve_file_and_lines,
    resolve_indexed_file,
    resolve_scope_directories,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from indexes import Index

    Indexed = Callable[[Mapping[str, str]], Index]

FORMS = (
    "{file}",
    "~/{below}",
    "file://{uri}",
    "file://localhost{uri}",
    '"{file}"',
    "'{file}'",
    "`~/{below}`",
    "{file}:1",
)


@pytest.fixture(params=FORMS)
def written(request: pytest.FixtureRequest, index: Index, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOME", os.path.dirname(index.root))
    file = index.write("my notes/n ü.md", "# Numbats\n\nA numbat eats termites.\n")
    index.write("other.md", "# Others\n\nThis numbat is another one.\n")
    index.run()
    uri = str(file).replace(" ", "%20").replace("ü", "%C3%BC")
    return str(request.param).format(file=file, uri=uri, below=file.relative_to(index.root.parent))


def test_a_file_is_found_by_any_form_of_its_path(index: Index, written: str) -> None:
    file = index.root / "my notes/n ü.md"
    with index.docstore.snapshot() as snapshot:
        assert resolve_indexed_file(snapshot, written) == str(file)
        assert resolve_file_and_lines(snapshot, written)[0] == str(file)
        assert resolve_scope_directories(snapshot, written) == (str(file),)
        assert parse_locator(snapshot, written).path == str(file)
        assert outline_of_name(snapshot, written).path == outline_of_locator(snapshot, written).path == str(file)
    assert resolved_path(parse_location(written)) == str(file)


def test_a_filter_and_a_pattern_take_the_same_forms(index: Index, written: str) -> None:
    quoted = written if '"' in written else f'"{written}"'
    assert index.names(f"numbat path:{quoted}", mode=SearchMode.KEYWORD) == ["my notes/n ü.md"]
    if not written.endswith(":1"):
        assert index.names("numbat", globs=(written,)) == ["my notes/n ü.md"]


def test_a_name_that_looks_like_another_form_is_that_of_the_file_that_has_it(tmp_path: Path) -> None:
    for name in ('"quoted"', "with.md:12"):
        (tmp_path / name).touch()
        assert parse_path(str(tmp_path / name)) == parse_location(str(tmp_path / name)) == tmp_path / name
    (tmp_path / "with.md").touch()
    assert parse_location(str(tmp_path / "with.md:13")) == tmp_path / "with.md"
    assert parse_path(str(tmp_path / "with.md:13")) == tmp_path / "with.md:13"


@pytest.mark.parametrize(
    "name", ["file:///etc/passwd", "~/nothing", "file://elsewhere/x", '""', "''", "~root/x", "a:0"]
)
def test_no_form_leads_out_of_the_index(indexed: Indexed, name: str) -> None:
    index = indexed({"a.md": "A text.\n"})
    with index.docstore.snapshot() as snapshot:
        for find in (resolve_indexed_file, resolve_scope_directories):
            with pytest.raises(NotIndexedError):
                find(snapshot, name)


def test_what_is_to_be_indexed_takes_them_too(tmp_path: Path) -> None:
    root = resolved_path(tmp_path)
    (tmp_path / "a b").mkdir()
    for name in (f"file://{root}/a%20b", f'"{root}/a b"'):
        assert directories_to_index(name, tracked=[root], allowed=[], is_known=lambda _: False) == (root,)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.{cpp,ts}", {"code/q.cpp", "code/s.ts"}),
        ("**/*.{cpp,ts}", {"code/q.cpp", "code/s.ts"}),
        ("{code,[[]draft] x}/*", {"code/q.cpp", "code/s.ts", "[draft] x/g.md"}),
        ("./code/*", {"code/q.cpp", "code/s.ts"}),
        ("./docs/code/*", {"code/q.cpp", "code/s.ts"}),
        ("!./code/*", {"r.md", "[draft] x/g.md"}),
        ("!*.{cpp,{t,j}s}", {"r.md", "[draft] x/g.md"}),
        ("'*.ts'", {"code/s.ts"}),
        ("file://{root}/code/*.ts", {"code/s.ts"}),
        ("{root}/code/*.{ts,cpp}", {"code/q.cpp", "code/s.ts"}),
    ],
)
def test_patterns_mean_the_same_to_a_search_and_to_grep(indexed: Indexed, pattern: str, names: set[str]) -> None:
    index = indexed({name: f"frobCount in {name}\n" for name in ("code/q.cpp", "code/s.ts", "r.md", "[draft] x/g.md")})
    globs = (pattern.replace("{root}", str(index.root)),)
    assert set(index.names("frobCount", globs=globs)) == names
    with index.docstore.snapshot() as snapshot:
        found = grep(snapshot, GrepRequest(PatternOptions(("frobCount",)), globs=globs)).files
        assert {file.path.removeprefix(f"{index.root}/") for file in found} == names


@pytest.mark.parametrize("text", ["[draft]", "path with", "./code", "{a}", "code/q.cpp:12", "code/q.cpp:12-14"])
def test_a_filter_takes_signs_of_patterns_as_letters_too(indexed: Indexed, text: str) -> None:
    names = ("[draft] x/g.md", "a path with/blanks.md", "code/q.cpp", "x{a}/b.md")
    index = indexed(dict.fromkeys(names, "A gnu.\n"))
    assert len(index.names(f'gnu path:"{text}"', mode=SearchMode.KEYWORD)) == 1
