"""The parts of JSON, YAML, TOML, INI and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.formats.structured import extract_json, extract_rows, extract_tables, extract_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from directory_indexer.formats.document import Document

JSON = """\
{
  "name": "x",
  "scripts": {
    "build": "tsc",
    "nested": {
      "deep": {}
    },
    "test": "jest"
  },
  "version": "1.0",
  "files": [
    "a"
  ]
}
"""

YAML = """\
# a comment: no key
name: x
on:
  push:
    branches: [main]
  schedule: daily
jobs: &anchor  # comment
  "quoted key":
    run: |
      key: not one
script: |
  text: not a key
url: http://x.y
"""


def parts(extract: Callable[[str, str], Document], text: str) -> list[tuple[int, str]]:
    document = extract(text, "any")
    assert document.text == text
    return [(text.count("\n", 0, section.start) + 1, "/".join(section.headings)) for section in document.sections]


def test_keys_of_formatted_json_head_their_parts() -> None:
    assert parts(extract_json, JSON) == [
        (1, ""),
        (3, "scripts"),
        (5, "scripts/nested"),
        (8, "scripts"),
        (10, ""),
        (11, "files"),
    ]


@pytest.mark.parametrize("text", ['{"a": {"b": 1}}', '[\n  {\n    "a": {\n      "b": 1\n    }\n  }\n]', "{", ""])
def test_json_without_lines_of_keys_is_one_part(text: str) -> None:
    assert len(parts(extract_json, text)) <= 1


def test_keys_of_yaml_head_their_parts() -> None:
    assert parts(extract_yaml, YAML) == [
        (1, ""),
        (3, "on"),
        (4, "on/push"),
        (6, "on"),
        (7, "jobs"),
        (8, "jobs/quoted key"),
        (11, ""),
    ]


def test_tables_of_toml_and_ini_head_their_parts() -> None:
    text = 'top = 1\n[tool.ruff]\nselect = [\n  "ALL",\n]\n[[array]]  # comment\nx = [1, 2]\n[remote "origin"]\n'
    assert parts(extract_tables, text) == [(1, ""), (2, "tool.ruff"), (6, "array"), (8, 'remote "origin"')]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,name,price\n1,tea,2\n", [(1, ""), (2, "id, name, price")]),
        ('"id"\t"full name"\n1\ttea\n', [(1, ""), (2, "id, full name")]),
        ("1,2,3\n4,5,6\n", []),
        ("one column\nx\n", []),
        ("a,b", []),
        ("", []),
    ],
)
def test_the_column_names_head_the_rows(text: str, expected: list[tuple[int, str]]) -> None:
    assert parts(extract_rows, text) == expected
