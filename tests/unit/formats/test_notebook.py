"""Notebooks are their cells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.notebook import extract_notebook

FORMAT_4 = {
    "nbformat": 4,
    "cells": [
        {"cell_type": "markdown", "source": ["# Training\n", "We load the data.\n", "## Data\n"]},
        {
            "cell_type": "code",
            "source": ["import pandas\n", "pandas.read_csv('x')"],
            "outputs": [
                {"output_type": "stream", "text": ["loaded\n", "\x1b[31mall\x1b[0m\n"]},
                {
                    "output_type": "display_data",
                    "data": {"image/png": "iVBORw0KGgo", "text/plain": ["<Figure>"]},
                },
                {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["long"]},
            ],
        },
        {"cell_type": "code", "source": "", "outputs": []},
        {"cell_type": "markdown", "source": "no heading"},
        {"cell_type": "raw", "source": "raw text"},
    ],
}

FORMAT_3 = {
    "nbformat": 3,
    "worksheets": [
        {
            "cells": [
                {"cell_type": "heading", "level": 2, "source": "Old"},
                {
                    "cell_type": "code",
                    "input": "x = 1",
                    "outputs": [{"output_type": "pyout", "text": "1", "png": "iVBOR"}],
                },
            ]
        }
    ],
}


def parts(notebook: Any) -> list[tuple[tuple[str, ...], str]]:
    document = extract_notebook(json.dumps(notebook), "notebook")
    ends = [section.start for section in document.sections[1:]] + [len(document.text)]
    return [
        (section.headings, document.text[section.start : end].strip())
        for section, end in zip(document.sections, ends, strict=True)
    ]


def test_cells_follow_each_other_under_the_headings_of_the_text_cells() -> None:
    assert parts(FORMAT_4) == [
        (("Training",), "# Training\nWe load the data."),
        (("Training", "Data"), "## Data"),
        (
            ("Training", "Data", "cell 2"),
            "import pandas\npandas.read_csv('x')\nloaded\nall\n<Figure>\nValueError: bad",
        ),
        (("Training", "Data", "cell 3"), "no heading"),
        (("Training", "Data", "cell 4"), "raw text"),
    ]


def test_the_title_is_the_first_big_heading() -> None:
    assert extract_notebook(json.dumps(FORMAT_4), "notebook").title == "Training"


def test_notebooks_of_the_old_format_are_read() -> None:
    assert parts(FORMAT_3) == [(("Old",), "## Old"), (("Old", "cell 2"), "x = 1\n1")]


def test_a_long_output_is_cut_and_media_are_left_out() -> None:
    output = {"output_type": "stream", "text": "spam " * 10_000}
    text = extract_notebook(
        json.dumps({"cells": [{"cell_type": "code", "source": "x", "outputs": [output]}]}), "notebook"
    ).text
    assert len(text) < 1100
    assert "iVBOR" not in extract_notebook(json.dumps(FORMAT_4), "notebook").text


def test_halves_of_surrogate_pairs_do_not_reach_the_store() -> None:
    document = extract_notebook(r'{"cells": [{"cell_type": "code", "source": "a\ud800b\r\nc\u0000"}]}', "notebook")
    assert document.text.encode() == b"a?b\nc \n\n"


@pytest.mark.parametrize(
    "text",
    ["", "{", "not json", "[]", "{}", '"x"', '{"cells": 1}', "[" * 100_000, '{"cells": [' + "9" * 10_000 + "]}"],
)
def test_what_is_no_notebook_fails_with_a_reason(text: str) -> None:
    with pytest.raises(ExtractionError, match="not a valid notebook"):
        extract_notebook(text, "notebook")


@pytest.mark.parametrize(
    "cells",
    [
        [1, None, "x", []],
        [{"cell_type": 3, "source": {"a": 1}}],
        [{"source": [1, None]}],
        [{"outputs": 5}],
        [{"outputs": [1, {"data": 3, "text": 4}]}],
    ],
)
def test_a_notebook_of_odd_cells_has_no_text_but_fails_nothing(cells: list[Any]) -> None:
    assert extract_notebook(json.dumps({"cells": cells}), "notebook").text == ""
