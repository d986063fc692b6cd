"""Outlines of files and directories, from what is indexed."""

from __future__ import annotations

import os
import re
import sqlite3
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.paths import file_path
from directory_indexer.search.file_texts import Selection, SelectionUnit, read_text
from directory_indexer.search.locators import outline_of_locator, parse_locator, resolve_selection
from directory_indexer.server.mcp import count_json_tokens, record_to_object
from directory_indexer.server.mcp.grep_outline import outline_within_budget
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.structure import folded_note, outline_lines, outline_within, unfolding_command
from directory_indexer.text.terminal import styled

if TYPE_CHECKING:
    from pathlib import Path

    from indexes import Index

    from directory_indexer.search.outlines import Outline

CLASSES = "".join(
    f"class Thing{n}:\n" + "".join(f"    def act_{n}_{m}(self):\n        return {m}\n\n" for m in range(12)) + "\n"
    for n in range(160)
)


def outline(index: Index, path: Path | str) -> Outline:
    with index.docstore.snapshot() as snapshot:
        return outline_of_locator(snapshot, str(path))


def shown(found: Outline) -> str:
    return plain(outline_lines(found, paths=PathStyle()))


def test_every_definition_of_a_file_stands_at_its_line(index: Index) -> None:
    path = index.write("code.py", CLASSES[:6000])
    index.run()
    lines = path.read_text().split("\n")
    entries = outline(index, path).entries
    assert len(entries) > 40
    for entry in entries:
        assert re.search(rf"(class|def) {entry.name}\b", lines[entry.start_line - 1]), entry


def test_sizes_of_parts_come_to_the_size_of_the_file(index: Index) -> None:
    path = index.write("code.py", CLASSES[:6000])
    index.run()
    found = outline(index, path)
    assert sum(entry.n_tokens for entry in found.entries if entry.depth == 0) == pytest.approx(found.n_tokens, rel=0.02)


def test_a_narrow_terminal_shows_the_size_of_a_file_whole(index: Index) -> None:
    path = index.write("a/long/way/down/the/tree/of/directories/code.py", CLASSES[:6000])
    index.run()
    lines = outline_lines(outline(index, path), paths=PathStyle())
    headline, *_ = styled(lines, width=80, environ={"NO_COLOR": "1"}).split("\n")
    shown_text = re.sub(r"\x1b(\].*?\x1b\\|\[[\d;]*m)", "", headline)
    assert re.search(r"/code\.py  python, \d+ lines, \d+ passages, about [\d,]+ tokens$", shown_text)
    assert len(shown_text) <= 80


def test_a_heading_with_commas_is_one_heading_and_goes_on_as_one(index: Index) -> None:
    body = "The very long words of a chapter that takes more than one passage to tell. " * 40
    path = index.write(
        "a.md", f"# What is, was, and will be\n\n{body}\n\n## One, two\n\nShort.\n\n## Three\n\nShort.\n"
    )
    index.run()
    assert [(one.name, one.depth) for one in outline(index, path).entries] == [
        ("What is, was, and will be", 0),
        ("One, two", 1),
        ("Three", 1),
    ]


def test_the_columns_of_a_table_are_one_part_and_are_named_once(index: Index) -> None:
    database = sqlite3.connect(":memory:")
    for table in ("birds", "nests"):
        database.execute(f"CREATE TABLE {table} (id INTEGER, name TEXT, place TEXT)")
        rows = ((number, f"wren {number}", "behind the barn") for number in range(200))
        database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608 - a name of this test
    database.commit()
    path = index.write_bytes("birds.db", database.serialize())
    database.close()
    values = index.write(
        "birds.csv", "id,name,place\n" + "".join(f"{n},wren {n},behind the barn\n" for n in range(200))
    )
    index.run()
    assert [(one.name, one.depth) for one in outline(index, path).entries] == [
        ("birds", 0),
        ("id, name, place", 1),
        ("nests", 0),
        ("id, name, place", 1),
    ]
    assert [(one.name, one.start_line) for one in outline(index, values).entries] == [("id, name, place", 1)]


def test_columns_have_names(index: Index) -> None:
    index.write("docs/long.md", "# Long\n\n" + "The words of a long chapter, as told. " * 20)
    path = index.write("docs/short.md", "# Short\n\nWords.\n\n## Shorter\n\nMore words.\n")
    index.run()
    assert [row.split() for row in shown(outline(index, path)).splitlines()[1:3]] == [
        ["lines", "tokens"],
        ["1-7", "12", "Short"],
    ]
    directory = shown(outline(index, index.root)).splitlines()
    assert directory[1].split() == ["files", "tokens"]
    assert directory[2].startswith(f"{2:>5}  ")
    assert directory[2].endswith("docs/  markdown 2")
    assert shown(outline(index, path.parent)).splitlines()[1] == "  tokens"


@pytest.mark.parametrize("max_tokens", [150, 300, 600, 1200])
def test_a_long_file_keeps_to_its_budget_and_says_what_is_folded(index: Index, max_tokens: int) -> None:
    path = index.write("code.py", CLASSES[:45_000])
    index.run()
    whole = outline(index, path)
    found = outline_within(whole, max_tokens=max_tokens)
    note = folded_note(found, max_tokens=max_tokens)
    more = unfolding_command(found, paths=PathStyle(), max_tokens=max_tokens)
    assert len(f"{shown(found)}{note}\n{more}\n".encode()) <= max_tokens * 3
    n_hidden = len(whole.entries) - len(found.entries)
    assert n_hidden > 0
    assert note
    if not found.n_left_out:
        assert sum(entry.n_folded for entry in found.entries) == n_hidden


@pytest.mark.parametrize("max_tokens", [200, 600, 5000])
def test_the_answer_to_an_assistant_keeps_to_its_budget(index: Index, max_tokens: int) -> None:
    path = index.write("code.py", CLASSES[:45_000])
    index.run()
    answer = outline_within_budget(outline(index, path), max_tokens=max_tokens)
    assert count_json_tokens(record_to_object(answer)) <= max_tokens
    assert count_json_tokens(answer.outline) <= max_tokens
    assert "Thing" in (answer.outline or "")


def test_a_part_is_outlined_by_its_name(index: Index) -> None:
    path = index.write("code.py", CLASSES[:6000])
    index.run()
    found = outline(index, f"{path}#Thing3")
    assert found.part == "Thing3"
    assert found.entries[0].name == "Thing3"
    assert {"act_3_5", "act_3_8"} < {one.name for one in found.entries}
    assert not any(one.name.startswith("act_4") for one in found.entries)
    with pytest.raises(UsageError, match="has no part 'Nothing'"):
        outline(index, f"{path}#Nothing")


def test_a_file_without_headings_is_told_by_its_passages(index: Index) -> None:
    path = index.write("log.txt", "".join(f"line {n} of a log that nobody reads\n" for n in range(400)))
    index.run()
    entries = outline(index, path).entries
    assert entries[0].name == "line 0 of a log that nobody reads"
    assert entries[-1].end_line == 400


def test_a_directory_is_a_tree_with_counts(index: Index) -> None:
    index.write("a/b/one.md", "# One\n\nwords\n")
    index.write("a/b/two.py", "def two():\n    pass\n")
    index.write("three.md", "# Three\n\nwords\n")
    index.run()
    found = outline(index, index.root)
    assert (found.n_files, found.n_chunks) == (3, 3)
    assert [(one.name, one.depth, one.n_files) for one in found.entries] == [
        (f"a{os.sep}b{os.sep}", 0, 2),
        ("one.md", 1, 0),
        ("two.py", 1, 0),
        ("three.md", 0, 0),
    ]
    assert dict(found.entries[0].kinds) == {"markdown": 1, "python": 1}
    assert "markdown 1, python 1" in shown(found)


def test_what_is_not_indexed_has_no_outline(index: Index, tmp_path: Path) -> None:
    index.write("a.md", "# One\n")
    index.run()
    with pytest.raises(NotIndexedError, match="nothing of"):
        outline(index, tmp_path / "elsewhere")


def test_a_hostile_heading_stays_on_its_line(index: Index) -> None:
    path = index.write("a.md", "# Red \x1b[31m and \u202e backwards\n\nwords\n\n## Next\n\nmore words\n")
    index.run()
    text = shown(outline(index, path))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("ending", "selection"),
    [
        ("", None),
        (":2", Selection(SelectionUnit.LINES, 2, 2)),
        (":2-3", Selection(SelectionUnit.LINES, 2, 3)),
        ("@1", Selection(SelectionUnit.PAGES, 1, 1)),
        ("#Next", Selection(SelectionUnit.LINES, 5, 7)),
        ("#next", Selection(SelectionUnit.LINES, 5, 7)),
    ],
)
def test_a_part_is_read_from_behind_the_name(index: Index, ending: str, selection: Selection | None) -> None:
    path = index.write("a.md", "# First\n\nwords\n\n## Next\n\nmore words\n")
    index.run()
    with index.docstore.snapshot() as snapshot:
        named = parse_locator(snapshot, f"{path}{ending}")
        assert named.path == file_path(str(path))
        assert resolve_selection(snapshot, named) == selection


def test_a_file_that_is_called_like_a_part_is_meant_itself(index: Index) -> None:
    index.write("a.md", "# First\n\nwords\n")
    odd = index.write("a.md#First", "other words\n")
    index.run()
    with index.docstore.snapshot() as snapshot:
        named = parse_locator(snapshot, str(odd))
        assert named.path == file_path(str(odd))
        assert not named.heading
        assert read_text(snapshot, named.path, None).text == "other words\n"
