"""Whatever directories a run is asked for, it embeds all that lies in them and nothing that lies elsewhere."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import Index

from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.indexing.options import Effort, IndexOptions
from directory_indexer.storage.documents import IndexScope

if TYPE_CHECKING:
    from directory_indexer.storage.documents.store import Snapshot

ROOTS = ("a", "b", "c")
TEXTS = ("Boil the carrots.\n", "Rotate the keys.\n", "Ledger of March.\n" * 60)
trees = st.fixed_dictionaries(
    {root: st.dictionaries(st.sampled_from(("x.md", "y.md", "sub/z.md")), st.sampled_from(TEXTS)) for root in ROOTS}
)
scopes = st.lists(st.sets(st.sampled_from(ROOTS), min_size=1), min_size=1, max_size=3)


def waiting_by_root(snapshot: Snapshot) -> dict[FilePath, set[int]]:
    """Return the rows of chunks that wait by root, counted file by file; a text that several files have is in all."""
    rows = set(snapshot.embedding_queue.rows().rows)
    return {
        root: {chunk.id for path in snapshot.files.records_within(root) for chunk in snapshot.chunks.of_file(path)}
        & rows
        for root in snapshot.directories.all()
    }


@settings(max_examples=settings().max_examples // 2)
@given(trees, scopes)
def test_what_is_embedded_and_what_is_left_are_all_and_nothing_outside_gets_a_vector(
    tree: dict[str, dict[str, str]], chosen: list[set[str]]
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(os.path.realpath(temporary))
        for root, files in tree.items():
            for name, text in {"stays.md": f"This stays in {root}.\n", **files}.items():
                (place / root / name).parent.mkdir(parents=True, exist_ok=True)
                (place / root / name).write_text(text)
        index = Index(root=place / "a", data_dir=place / "data")
        index.run(*(place / root for root in ROOTS), options=IndexOptions(effort=Effort.NONE))
        done: set[int] = set()
        for names in chosen:
            scope = IndexScope(tuple(file_path(place / name) for name in sorted(names)))
            with index.docstore.snapshot() as snapshot:
                before, all_rows = waiting_by_root(snapshot), set(snapshot.embedding_queue.rows().rows)
                expected = set().union(*(before[root] for root in scope.roots))
                assert set(snapshot.embedding_queue.rows(scope).rows) == expected
                assert snapshot.embedding_queue.count(scope) == len(expected)
            report = index.run(*(place / name for name in names))
            with index.docstore.snapshot() as snapshot:
                left = set(snapshot.embedding_queue.rows().rows)
            assert (report.n_embedded + report.n_reused, report.n_pending) == (len(expected), 0)
            assert left == all_rows - expected
            done |= expected
        with index.docstore.snapshot() as snapshot:
            assert len(done) + snapshot.embedding_queue.count() == snapshot.chunks.count()
        index.close()
