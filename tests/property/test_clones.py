"""Whatever happens to clones, an index answers as one that is made of nothing does."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import Index

from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.matching import PatternOptions
from directory_indexer.search.grep import GrepRequest, grep
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterator

TREES = ("one", "two", "three")
NAMES = ("a.md", "b.py", "sub/a.md", "sub/deep/c.md")
TEXTS = ("", "alpha beta\n", "# Gamma\n\nalpha delta\n", "def epsilon():\n    return 1\n", "beta zeta\n" * 80)
QUERIES = ("alpha", "gamma beta")

tree, name = st.sampled_from(TREES), st.sampled_from(NAMES)
write = st.tuples(st.just("write"), tree, name, st.sampled_from(TEXTS))
clone = st.tuples(st.just("clone"), tree, tree, st.just(""))
rename = st.tuples(st.just("rename"), tree, name, name)
delete = st.tuples(st.just("delete"), tree, st.sampled_from((*NAMES, "sub")), st.just(""))
forget = st.tuples(st.just("forget"), tree, st.just(""), st.just(""))
changes = st.lists(st.one_of(write, write, clone, clone, rename, delete, forget), min_size=1, max_size=6)
asked = st.tuples(st.lists(tree, min_size=1, max_size=3, unique=True), st.booleans(), st.booleans())
rounds = st.lists(st.tuples(changes, asked), min_size=2, max_size=4)


def change(place: Path, kind: str, tree: str, name: str, other: str) -> None:
    path = place / tree / name
    with contextlib.suppress(OSError):
        if kind == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(other, encoding="utf-8")
        elif kind == "clone" and tree != name:
            shutil.copytree(place / tree, place / name, dirs_exist_ok=True)
        elif kind == "rename":
            (place / tree / other).parent.mkdir(parents=True, exist_ok=True)
            path.replace(place / tree / other)
        elif kind == "delete":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextlib.contextmanager
def places() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(os.path.realpath(temporary))
        for tree in TREES:
            (place / tree).mkdir()
            # Without one file that stays, an empty directory would be an error.
            (place / tree / "stays.md").write_text("this stays\n", encoding="utf-8")
        yield place


def answers(index: Index) -> dict[object, object]:
    """Give all that can be asked: of every file its text, of every scope what it finds by words, meaning and lines."""
    with index.docstore.snapshot() as snapshot:
        roots = list(snapshot.directories.all())
        given: dict[object, object] = {
            "roots": roots,
            "rows": snapshot.words.count_rows(),
            "n": snapshot.chunks.count(),
        }
        for root in roots:
            for path, known in snapshot.files.records_within(root).items():
                chunks = snapshot.chunks.of_file(path)
                vectors = index.nearest.vectors(snapshot, [one.chunk_id for one in chunks])
                given[path] = known.state, known.hash, [one.chunk for one in chunks], len(vectors)
        below = [file_path(f"{root}/sub") for root in roots]
        scopes = [(), *((one,) for one in (*roots, *(one for one in below if snapshot.files.covers(one))))]
        for scope in scopes:
            wanted = GrepRequest(PatternOptions(("a",)), scope)
            given["grep", scope] = [(one.path, one.n_matches) for one in grep(snapshot, wanted).files]
    for scope in scopes:
        for query in QUERIES:
            for mode in (SearchMode.KEYWORD, SearchMode.SEMANTIC):
                given[query, scope, mode] = found(index, query, scope, mode)
    return given


def found(index: Index, query: str, scope: tuple[FilePath, ...], mode: SearchMode) -> object:
    hits = index.search(query, scope=scope, mode=mode, limit=50)
    return sorted((hit.path, hit.ordinal, hit.also_in, hit.n_more_in_file, round(hit.score, 2)) for hit in hits)


@pytest.mark.slow
@settings(max_examples=4)
@given(rounds)
def test_any_changes_to_clones_end_in_the_answers_of_a_fresh_index(
    history: list[tuple[list[tuple[str, str, str, str]], tuple[list[str], bool, bool]]],
) -> None:
    with places() as place:
        index = Index(root=place, data_dir=place / "data")
        for some, (trees, reads_everything, merges) in history:
            for kind, tree, name, other in some:
                with index.docstore.snapshot() as snapshot:
                    is_tracked = file_path(place / tree) in snapshot.directories.all()
                if kind == "forget" and is_tracked:
                    index.indexer.forget(str(place / tree))
                change(place, kind, tree, name, other)
            options = IndexOptions(wait=False, read_everything=reads_everything)
            index.run(*(place / tree for tree in trees), options=options)
            if merges:
                index.vectorizer.merger.merge_all()
        roots = [place / tree for tree in TREES]
        index.run(*roots)
        fresh = Index(root=place, data_dir=place / "fresh")
        fresh.run(*roots)
        for one in (index, fresh):  # the vector store rounds what it takes
            one.vectorizer.merger.merge_all()
        given, expected = answers(index), answers(fresh)
        assert given.keys() == expected.keys()
        for key, answer in expected.items():
            assert given[key] == answer, key
        index.close()
        fresh.close()
