"""Every face knows every filter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from directory_indexer.cli.commands.search import SearchCall as SearchCommand
from directory_indexer.cli.parameters import OptionTable, parameters_of
from directory_indexer.ranking.filter_fields import ARGUMENT_FIELDS, FIELDS, METADATA_FIELDS, SOURCE_FIELDS, FilterField
from directory_indexer.ranking.query import Filters, parse_query
from directory_indexer.server.mcp.arguments import Query, SearchCall
from directory_indexer.server.ui.application import read_assets

ROOT = Path(__file__).parents[2]
_VALUES = {"since": "7d", "until": "2026", "is": "test", "created": "2026"}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.word)
def test_a_query_reads_it_as_a_filter(field: FilterField) -> None:
    value = _VALUES.get(field.word, "rent")
    assert parse_query(f"{field.word}:{value}").required != Filters()


@pytest.mark.parametrize("field", METADATA_FIELDS, ids=lambda field: field.word)
def test_the_command_line_has_it(field: FilterField) -> None:
    tables = [each.spec for each in parameters_of(SearchCommand) if isinstance(each.spec, OptionTable)]
    assert tables[0].options[field.word].names == (f"--{field.word}",)


@pytest.mark.parametrize("field", ARGUMENT_FIELDS, ids=lambda field: field.word)
def test_programs_have_it(field: FilterField) -> None:
    assert field.argument in SearchCall._fields


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.word)
def test_the_page_and_the_guide_name_it(field: FilterField) -> None:
    filters = json.loads(
        read_assets()["filters.js"].content.decode().removeprefix("export const FILTERS = ").rstrip(";\n")
    )
    assert filters[field.word] == field.facet
    assert f"{field.word}:" in (ROOT / "docs/guide/query-language.md").read_text(encoding="utf-8")


def test_assistants_are_told_only_what_programs_pass_too() -> None:
    named = re.findall(r"\b([a-z]+):(?= )", get_args(Query)[1])
    assert set(named) - {"it"} == {field.word for field in (*SOURCE_FIELDS, *ARGUMENT_FIELDS)}
