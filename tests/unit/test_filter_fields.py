"""Every face knows every filter."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from directory_indexer.cli.commands.search import search
from directory_indexer.ranking.filter_fields import FIELDS, METADATA_FIELDS, FilterField
from directory_indexer.ranking.query import Filters, parse_query
from directory_indexer.server.mcp.arguments import Query, SearchCall

ROOT = Path(__file__).parents[2]
_VALUES = {"since": "7d", "until": "2026", "is": "test", "created": "2026"}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.word)
def test_a_query_reads_it_as_a_filter(field: FilterField) -> None:
    value = _VALUES.get(field.word, "rent")
    assert parse_query(f"{field.word}:{value}").required != Filters()


@pytest.mark.parametrize("field", METADATA_FIELDS, ids=lambda field: field.word)
def test_the_command_line_and_programs_have_it(field: FilterField) -> None:
    options = inspect.signature(search).parameters
    assert options[field.argument].annotation.__metadata__[0].default == f"--{field.word}"
    assert field.argument in SearchCall._fields


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.word)
def test_assistants_the_page_and_the_guide_name_it(field: FilterField) -> None:
    completion = (ROOT / "directory_indexer/server/ui/static/views/completion.js").read_text(encoding="utf-8")
    facets, names = re.search(r"const FACETS = {(.*?)};\nconst NAMES = \[(.*?)\];", completion, re.DOTALL).groups()  # type: ignore[union-attr]
    assert f"{field.word}:" in get_args(Query)[1]
    assert (f' {field.word}: "{field.facet}"' in facets) == bool(field.facet)
    assert bool(field.facet) or f'"{field.word}"' in names
    assert f"{field.word}:" in (ROOT / "docs/guide/query-language.md").read_text(encoding="utf-8")
