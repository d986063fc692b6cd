"""What texts are taken apart into: colours, rows, and the form that each kind is shown in."""

from __future__ import annotations

import pytest

from directory_indexer.formats.table import FORMATS
from directory_indexer.integrations.previewing.colours import colours_of
from directory_indexer.integrations.previewing.requests import Row, TableRequest
from directory_indexer.integrations.previewing.workers import RENDERED_KINDS, Form, form_of, rows_of


def test_every_kind_has_a_form() -> None:
    assert {form_of(kind) for kind in FORMATS} == set(Form)
    assert {kind for kind in FORMATS if form_of(kind) is Form.PAGES} == RENDERED_KINDS


@pytest.mark.parametrize(
    ("style", "words"), [("keyword", "def"), ("definition", "f"), ("literal", "'a'"), ("comment", "# c")]
)
def test_code_is_coloured(style: str, words: str) -> None:
    text = "def f(x):\n    return 'a'  # c\n"
    assert words in [text[start:end] for start, end, of in colours_of(text, "python") if of == style]


def test_a_language_that_nobody_knows_has_no_colours() -> None:
    assert list(colours_of("x", "no-such-language")) == []


def test_separated_values_are_cells_with_the_lines_they_begin_in() -> None:
    rows = rows_of(TableRequest('a,b\n"two\nlines",2\nc,3\n', "csv", 5)).rows
    assert rows == (Row(5, ("a", "b")), Row(6, ("two\nlines", "2")), Row(8, ("c", "3")))


def test_semicolons_separate_where_they_do() -> None:
    assert rows_of(TableRequest("a;b\n1,5;2\n", "csv", 1)).rows[1].cells == ("1,5", "2")


def test_sheets_have_headings_and_rows() -> None:
    rows = rows_of(TableRequest("# Plan\n\n| a | b |\n| c |  |\n", "xlsx", 1)).rows
    assert rows == (Row(1, (), "Plan"), Row(3, ("a", "b")), Row(4, ("c", "")))
