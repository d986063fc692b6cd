"""A passage that several files have is one hit, which says where else it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index

    from directory_indexer.search.requests import Hit

KEYS = "# Keys\n\nRotate the signing keys every ninety days.\n"


def others(index: Index, hit: Hit) -> list[str]:
    return [path.removeprefix(f"{index.root}/") for path in hit.also_in]


def test_a_passage_of_work_trees_is_one_hit_that_names_the_others(index: Index) -> None:
    for tree in ("main", "fix", "topic"):
        index.write(f"{tree}/docs/keys.md", KEYS)
    index.write("main/soup.md", "Boil carrots.\n")
    index.run()
    for mode in SearchMode:
        (hit, *rest) = index.search("rotate signing keys", mode=mode, only_good=True)
        assert others(index, hit) == ["main/docs/keys.md", "topic/docs/keys.md"]
        assert not [one for one in rest if one.text == hit.text]


def test_copies_under_another_name_are_named_too(index: Index) -> None:
    index.write("keys.md", KEYS)
    index.write("keys-old.md", KEYS)
    index.run()
    (hit,) = index.search("rotate signing keys", mode=SearchMode.KEYWORD)
    assert [str(hit.path).removeprefix(f"{index.root}/"), *others(index, hit)] == ["keys-old.md", "keys.md"]


def test_only_what_lies_in_the_scope_of_a_question_is_named(index: Index) -> None:
    for tree in ("main", "fix", "topic"):
        index.write(f"{tree}/keys.md", KEYS)
    index.run()
    (hit,) = index.search("rotate signing keys -path:topic", mode=SearchMode.KEYWORD)
    assert others(index, hit) == ["main/keys.md"]
    (hit,) = index.search("rotate signing keys path:topic", mode=SearchMode.KEYWORD)
    assert others(index, hit) == []


@pytest.mark.parametrize("near", ["main", "main/src", "topic/docs", ".", "elsewhere"])
def test_a_passage_is_shown_in_the_tree_around_the_working_directory(index: Index, near: str) -> None:
    for tree in ("main", "fix", "topic"):
        index.write(
            f"{tree}/docs/keys.md", f"Boil carrots {tree} first.\n\n# Keys\n\n{'Rotate the signing keys. ' * 90}\n"
        )
    index.run()
    trees = ["fix", "main", "topic"]
    first = near.split("/", maxsplit=1)[0] if near.split("/", maxsplit=1)[0] in trees else "fix"
    for mode in SearchMode:
        (hit, *_) = index.search("rotate signing keys", mode=mode, near=file_path(index.root / near))
        assert str(hit.path) == f"{index.root}/{first}/docs/keys.md"
        assert others(index, hit) == [f"{tree}/docs/keys.md" for tree in trees if tree != first]


def test_a_new_work_tree_embeds_nothing_again(index: Index) -> None:
    for number in range(30):
        index.write(f"main/f{number}.md", f"# Part {number}\n\nThe walrus number {number} sleeps.\n")
    index.run()
    for number in range(30):
        index.write(f"fix/f{number}.md", f"# Part {number}\n\nThe walrus number {number} sleeps.\n")
    report = index.run()
    assert (report.n_embedded, report.n_reused) == (0, 30)
    assert index.embedder.embedded == []
    (hit, *_) = index.search("walrus number 7", mode=SearchMode.SEMANTIC)
    assert len(hit.also_in) == 1
