"""Whatever happens to a tree, a run ends in the index that a new one would be."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import Index

NAMES = ("a.md", "b.py", "sub/a.md", "sub/deep/b.py", ".gitignore", "sub/.dirindexignore")
TEXTS = (
    *("", "alpha beta\n", "# Gamma\n\ndelta\n", "def epsilon():\n    return 1\n", "alpha beta\n" * 80),
    *("*.py\n", "sub/\n", "!a.md\n*.md\n", "\x7fELF\0\1\2" * 50),
)

write = st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS))
move = st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES))
delete = st.tuples(st.just("delete"), st.sampled_from((*NAMES, "sub", "sub/deep")), st.just(""))
link = st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(NAMES))
touch = st.tuples(st.just("touch"), st.sampled_from(NAMES), st.just(""))
rounds = st.lists(
    st.lists(st.one_of(write, write, write, move, delete, link, touch), min_size=1, max_size=8), min_size=2, max_size=4
)


def change(root: Path, kind: str, name: str, other: str) -> None:
    path = root / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "write":
            path.write_text(other, encoding="utf-8")
        elif kind == "move":
            (root / other).parent.mkdir(parents=True, exist_ok=True)
            path.replace(root / other)
        elif kind == "delete":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif kind == "link":
            path.symlink_to(root / other)
        elif kind == "touch":
            os.utime(path, (1_000_000_000, 1_000_000_000))
    except OSError:
        return  # what cannot be done to this tree is no change


@settings(max_examples=25)
@given(rounds)
def test_any_changes_and_a_run_end_in_the_index_of_a_fresh_one(changes: list[list[tuple[str, str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(os.path.realpath(temporary))
        root = place / "docs"
        root.mkdir()
        # Without one file that stays, an empty directory would be an error.
        (root / "stays.md").write_text("this stays\n", encoding="utf-8")
        index = Index(root=root, data_dir=place / "data")
        for some in changes:
            for kind, name, other in some:
                change(root, kind, name, other)
            index.run()
        index.vectorizer.merge_all()
        fresh = Index(root=root, data_dir=place / "fresh")
        fresh.run()
        assert index.contents() == fresh.contents()
        index.close()
        fresh.close()
