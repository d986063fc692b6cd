"""Groups of vectors that are alike, what they are called, and where they are drawn."""

from __future__ import annotations

import numpy as np

from directory_indexer.search.semantic_map import assign_clusters, label_clusters, project_to_plane


def _around(*middles: tuple[float, ...], number: int = 10) -> np.ndarray:
    noise = np.random.default_rng(1).normal(0, 0.05, (number, len(middles[0])))
    return np.concatenate([np.array(middle) + noise for middle in middles]).astype(np.float32)


def test_vectors_of_one_direction_are_one_group() -> None:
    groups = assign_clusters(_around((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    assert [len(set(groups[start : start + 10])) for start in (0, 10, 20)] == [1, 1, 1]
    assert len(set(groups)) == 3


def test_the_largest_group_comes_first() -> None:
    vectors = np.concatenate([_around((1, 0), number=8), _around((0, 1), number=24)])
    sizes = np.bincount(assign_clusters(vectors)).tolist()
    assert sizes == sorted(sizes, reverse=True)


def test_few_vectors_are_one_group() -> None:
    assert set(assign_clusters(np.eye(3, dtype=np.float32))) == {0}
    assert set(assign_clusters(np.zeros((1, 3), np.float32))) == {0}


def test_a_group_is_called_by_what_only_it_has() -> None:
    texts = ["common carrots", "common carrots soup", "common rivers", "common rivers boats"]
    assert label_clusters(texts, [0, 0, 1, 1]) == ("carrots, soup", "rivers, boats")


def test_words_that_say_nothing_by_themselves_name_no_group() -> None:
    texts = ["carrots with what they have", "soup and carrots, which they have with them", "boats", "rivers, boats"]
    assert label_clusters(texts, [0, 0, 1, 1]) == ("carrots, soup", "boats, rivers")


def test_one_group_needs_no_name() -> None:
    assert label_clusters(["some words", "other words"], [0, 0]) == ("",)


def test_what_is_nearer_is_drawn_nearer() -> None:
    apart = np.random.default_rng(2).normal(size=(40, 16)).astype(np.float32)
    nearness = np.linspace(0.9, 0.2, 40)
    xs, ys = project_to_plane(apart, nearness)
    assert (np.diff(np.hypot(xs, ys)) > 0).all()
    assert np.hypot(xs, ys).max() <= 1.0001


def test_a_single_neighbour_has_a_place() -> None:
    xs, ys = project_to_plane(np.ones((1, 4), np.float32), np.array([0.5]))
    assert np.isfinite([*xs, *ys]).all()
