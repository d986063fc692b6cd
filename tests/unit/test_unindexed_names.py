"""Which names of files a query may be about."""

from __future__ import annotations

import pytest

from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.query import parse_query
from directory_indexer.search.query_warnings import make_name_predicate


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("invoice", "Invoices-2024.zip"),
        ("signing keys", "signingKeys.bin"),
        ("Überschuss", "uberschuss.dat"),
        ("2024", "report_2024.bak"),
        ("東京", "東京.bin"),
        ("log*", "logfile.txt"),
    ],
)
def test_a_name_is_meant_by_the_beginning_of_one_of_its_words(query: str, name: str) -> None:
    assert make_name_predicate(parse_query(query))(FilePath(f"/docs/{name}"))


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("art", "/docs/chart.png"),
        ("what is the plan", "/docs/the-what.log"),
        ("ab", "/docs/ab.log"),
        ("docs", "/docs/run.log"),
        ("-run other", "/docs/run.log"),
        ("path:run other", "/docs/run.log"),
        ("", "/docs/run.log"),
    ],
)
def test_a_name_is_not_meant_by_less_and_not_by_its_directory(query: str, path: str) -> None:
    assert not make_name_predicate(parse_query(query))(FilePath(path))
