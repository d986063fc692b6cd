"""How an index spreads over directories, and what is not in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archives import zipped

from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.search.directory_usage import DirectoryUsage, directory_usage

if TYPE_CHECKING:
    from indexes import Index


def _spread(index: Index, within: FilePath | None = None, *, depth: int = 3, most: int = 10) -> DirectoryUsage:
    with index.docstore.snapshot() as snapshot:
        return directory_usage(snapshot, within, depth=depth, max_subdirectories=most)


def _names(place: DirectoryUsage) -> list[str]:
    return [one.name for one in place.subdirectories]


def test_directories_are_listed_with_all_that_lies_in_them(index: Index) -> None:
    index.write("a.md", "Carrots.")
    index.write("large/one.md", "Carrots. " * 50)
    index.write("large/inner/two.md", "Carrots. " * 10)
    index.write("small/three.md", "Soup.")
    index.run()
    [root] = _spread(index).subdirectories
    assert (root.counts.n_files, root.counts.n_embedded) == (4, root.counts.n_chunks)
    assert _names(root) == ["large", "small"]
    large = root.subdirectories[0]
    assert (large.counts.n_files, large.counts.n_bytes) == (2, len("Carrots. ") * 60)
    assert _names(large) == ["inner"]


def test_directories_that_hold_nothing_but_another_are_one(index: Index) -> None:
    index.write("main/java/org/a.md", "Carrots.")
    index.write("docs/b.md", "Soup.")
    index.run()
    [root] = _spread(index).subdirectories
    assert sorted(_names(root)) == ["docs", "main/java/org"]


def test_those_too_many_to_list_are_counted(index: Index) -> None:
    for number in range(4):
        index.write(f"d{number}/a.md", "Carrots. " * (number + 1))
    index.run()
    [root] = _spread(index, most=3).subdirectories
    assert (_names(root), root.n_hidden) == (["d3", "d2", "d1"], 1)
    assert root.counts.n_files == 4


def test_what_failed_or_was_skipped_counts_for_the_directory_around_it(index: Index) -> None:
    index.write("a.md", "Carrots.")
    index.write_bytes("only/empty.md", b"")
    index.write_bytes("only/data.bin", b"\0\1\2\3" * 100)
    index.run()
    [root] = _spread(index).subdirectories
    assert root.subdirectories == ()
    assert root.counts.n_skipped == 2


def test_members_count_where_their_container_lies(index: Index) -> None:
    index.write_bytes("box/a.zip", zipped({"x/soup.md": "Boil the carrots.", "y.md": "Serve."}))
    index.write("b.md", "Carrots.")
    index.run()
    [root] = _spread(index).subdirectories
    [box] = root.subdirectories
    assert box.name == "box"
    assert box.subdirectories == ()
    assert box.counts.n_files >= 2
    assert box.counts.n_bytes <= len(zipped({"x/soup.md": "Boil the carrots.", "y.md": "Serve."}))


def test_a_directory_is_looked_at_by_itself(index: Index) -> None:
    index.write("large/inner/two.md", "Carrots.")
    index.write("large/one.md", "Soup.")
    index.run()
    large = _spread(index, file_path(index.root / "large"))
    assert (large.name, large.counts.n_files, _names(large)) == ("large", 2, ["inner"])
    with pytest.raises(NotIndexedError):
        _spread(index, FilePath("/elsewhere"))


def test_what_is_not_in_the_index_is_listed_by_reason(index: Index) -> None:
    index.write("a.md", "Carrots.")
    index.write_bytes("empty.md", b"")
    index.write_bytes("data.bin", b"\0\1\2\3" * 100)
    index.write_bytes("broken.pdf", b"%PDF-1.7 broken")
    index.run()
    with index.docstore.snapshot() as snapshot:
        counts = dict(snapshot.left_out.counts(None))
        everything = snapshot.left_out.listed(None, reason="", limit=10, offset=0)
        following = snapshot.left_out.listed(None, reason="", limit=10, offset=1)
        [empty] = snapshot.left_out.listed(file_path(index.root), reason="empty", limit=10, offset=0)
        assert snapshot.left_out.counts(FilePath("/elsewhere")) == ()
    assert counts.pop("binary") == counts.pop("empty") == 1
    assert sum(counts.values()) == 1
    assert empty.path.endswith("empty.md")
    assert len(everything) == 3
    assert following == everything[1:]
