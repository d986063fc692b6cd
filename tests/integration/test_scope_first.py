"""Filters count before ranking: ten asked for are ten given while there are ten, whatever else is nearer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from indexes import Index

from directory_indexer.core.paths import file_path
from directory_indexer.ranking.query import parse_query
from directory_indexer.search import scope as scopes
from directory_indexer.search.requests import SearchMode
from directory_indexer.search.similar import SimilarFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLD, NEW = 1_000_000_000, 1_500_000_000
N_WANTED, N_NEARER = 10, 60


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Give an index in which sixty files match better than the ten that a filter leaves."""
    root = tmp_path_factory.mktemp("docs")
    index = Index(root=root, data_dir=tmp_path_factory.mktemp("data"))
    for number in range(N_NEARER):
        path = index.write(f"near/{number}.md", f"Harbour boats number{number}.\n")
        os.utime(path, (OLD, OLD))
    for number in range(N_WANTED):
        rest = " ".join(f"other{number}x{part}" for part in range(9))
        path = index.write(f"far/{number}.txt", f"Harbour boats among {rest}.\n")
        os.utime(path, (NEW, NEW))
    index.run()
    index.vectorizer.merger.merge_all()
    yield index
    index.close()


@pytest.mark.parametrize("mode", SearchMode)
def test_without_a_filter_what_is_nearer_is_all_that_is_given(crowded: Index, mode: SearchMode) -> None:
    found = crowded.names("harbour boats", mode=mode, limit=N_WANTED)
    assert len(found) == N_WANTED
    assert not [name for name in found if name.startswith("far/")]


@pytest.mark.parametrize(
    "n_named", [scopes.MAX_FILES_IN_VECTOR_FILTER, 0], ids=["files are named", "the store is asked for more"]
)
@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize("by", ["directory", "type", "glob", "time"])
def test_ten_asked_for_are_ten_given_while_there_are_ten(
    crowded: Index, monkeypatch: pytest.MonkeyPatch, by: str, mode: SearchMode, n_named: int
) -> None:
    monkeypatch.setattr(scopes, "MAX_FILES_IN_VECTOR_FILTER", n_named)
    filters: dict[str, dict[str, object]] = {
        "directory": {"scope": (file_path(crowded.root / "far"),)},
        "type": {"kinds": ("text",)},
        "glob": {"globs": ("*.txt",)},
        "time": {"since": float(NEW - 1)},
    }
    found = crowded.names("harbour boats", mode=mode, limit=N_WANTED, **filters[by])
    assert sorted(found) == sorted(f"far/{number}.txt" for number in range(N_WANTED))


@pytest.mark.parametrize(
    ("filters", "leaves_any_out"),
    [
        ({}, False),
        ({"since": float(OLD)}, False),
        ({"since": float(OLD + 1)}, True),
        ({"until": float(NEW + 1)}, False),
        ({"until": float(NEW)}, True),
        ({"kinds": ("text", "markdown")}, False),
        ({"kinds": ("text",)}, True),
        ({"globs": ("*",)}, True),
    ],
)
def test_a_filter_that_every_file_passes_names_none(
    crowded: Index, filters: dict[str, object], *, leaves_any_out: bool
) -> None:
    request = crowded.request("", **filters)
    with crowded.docstore.snapshot() as snapshot:
        scope = scopes.resolve_scope(snapshot, request, parse_query(""))
    assert (scope.file_ids is not None) == leaves_any_out


def test_files_without_text_take_no_place_of_those_that_changed_last(tmp_path: Path) -> None:
    index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data")
    index.root.mkdir()
    os.utime(index.write("old.md", "Harbour boats.\n"), (OLD, OLD))
    for number in range(3):
        index.write(f"empty{number}.md", "")
    index.run()
    assert index.names("", since=0.0, limit=2) == ["old.md"]
    index.close()


def test_files_that_are_similar_are_looked_for_in_the_directory_alone(crowded: Index) -> None:
    similar = SimilarFiles(
        docstore=crowded.docstore,
        nearest=crowded.nearest,
        embedder=lambda _: crowded.embedder,
        parse_policy=crowded.parse_policy,
    )
    near, far = file_path(crowded.root / "near/0.md"), file_path(crowded.root / "far")
    found = similar.find(near, within=(far,), limit=N_WANTED).hits
    assert sorted(hit.path for hit in found) == sorted(f"{far}/{number}.txt" for number in range(N_WANTED))
