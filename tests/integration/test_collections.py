"""Collections: made, listed and deleted, each with an index of its own, on one model."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from teams import Team

from directory_indexer import collections as opened_module
from directory_indexer.collections.ingest import WaitUntil
from directory_indexer.collections.search import directories_of_named_scope, scopes_of_collection, search_collections
from directory_indexer.core.errors import ConflictError, NotIndexedError, UsageError
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.registry import CollectionRows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    team = Team(tmp_path / "data")
    yield team
    team.close()


def places(team: Team) -> list[str]:
    below = team.data_dir / "team" / "collections"
    return sorted(path.name for path in below.iterdir()) if below.is_dir() else []


def test_the_default_collection_is_always_there(team: Team) -> None:
    assert team.collections.names() == ["default"]
    with pytest.raises(UsageError):
        team.collections.delete("default")
    with pytest.raises(ConflictError):
        team.collections.create("default")


@pytest.mark.parametrize(
    "name",
    ["", "A", "a b", "-a", "a-", "a_b", "../x", "a/b", "a.b", "ä", "x" * 64, "a\n", "con.", "a\0", "nul", "com1"],
)
def test_names_that_file_systems_or_addresses_take_otherwise_are_refused(team: Team, name: str) -> None:
    with pytest.raises(UsageError):
        team.collections.create(name)
    assert places(team) == []


@pytest.mark.parametrize("name", ["a", "0", "a-b", "x" * 63, "team", "list"])
def test_a_collection_is_made_once(team: Team, name: str) -> None:
    team.collections.create(name, description="of birds")
    with pytest.raises(ConflictError):
        team.collections.create(name)
    team.collections.create(name, if_missing=True)
    assert [one.name for one in team.collections.list()] == ["default", name]
    assert team.collections.get(name).description == "of birds"
    team.collections.describe(name, "of fish")
    assert team.collections.get(name).description == "of fish"


def test_an_unknown_collection_is_told_by_every_verb(team: Team) -> None:
    for verb in (team.collections.get, team.collections.delete, team.collections.app_of, team.verbs.documents):
        with pytest.raises(NotIndexedError, match="no collection 'birds'"):
            verb("birds")
    with pytest.raises(NotIndexedError, match="no collection 'birds'"):
        team.add("text", "birds")
    with pytest.raises(NotIndexedError, match="no collection 'birds'"):
        team.search("text", "birds")
    assert places(team) == []


def test_nothing_is_left_of_a_deleted_collection(team: Team) -> None:
    for name in ("birds", "fish"):
        team.collections.create(name)
        team.add(f"The {name} of the pond.", name, client_id="one", wait=WaitUntil.COMPLETE)
    team.collections.delete("birds")
    assert places(team) == ["fish"]
    assert [path.name for path in (team.data_dir / "team").iterdir() if path.name.startswith("gone-")] == []
    assert team.names("pond", "fish") == ["one.md"]
    team.collections.create("birds")
    assert team.verbs.documents("birds").documents == ()
    with pytest.raises(NotIndexedError):
        team.search("pond", "birds")


def test_a_deletion_that_was_cut_off_is_completed_later(team: Team) -> None:
    team.collections.create("birds")
    team.add("The heron of the pond.", "birds")
    CollectionRows(team.app.registry).mark_deleting("birds")
    assert team.collections.names() == ["default"]
    with pytest.raises(ConflictError, match="being deleted"):
        team.collections.create("birds")
    team.collections.recover()
    assert places(team) == []
    team.collections.create("birds")


def test_nothing_can_be_sent_to_a_collection_that_is_being_deleted(team: Team) -> None:
    team.collections.create("birds")
    with team.collections.opened("birds") as opened:
        team.collections.delete("birds")
        with pytest.raises(ConflictError), opened.documents.replacing("a" * 24):
            pass
    assert places(team) == []


def test_one_model_serves_all(team: Team) -> None:
    loaded = []
    build = team.app.embedders._build  # noqa: SLF001 - to count what is loaded
    team.app.embedders._build = lambda *given: loaded.append(given) or build(*given)  # type: ignore[func-returns-value]  # noqa: SLF001
    for name in ("birds", "fish", "trees"):
        team.collections.create(name)
        team.add(f"The {name} of the pond.", name, wait=WaitUntil.COMPLETE)
        assert len(team.search("pond", name)) == 1
    assert len(loaded) == 1


def test_few_collections_stay_open(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_module, "_MAX_OPEN", 2)
    for number in range(5):
        team.collections.create(f"c{number}")
        team.add(f"The heron of pond {number}.", f"c{number}", wait=WaitUntil.COMPLETE)
    assert team.collections._pool.count() == 2  # noqa: SLF001 - what is meant
    with team.collections.opened("c0") as first, team.collections.opened("c1"), team.collections.opened("c2"):
        assert len(team.search("heron", "c3")) == 1
        assert first.documents.counts() != {}
    names = [f"c{number}" for number in range(5)]
    assert {hit.collection for hit in team.search("heron", *names)} == set(names)


def test_several_collections_are_searched_as_one(team: Team) -> None:
    team.collections.create("birds")
    team.collections.create("fish")
    for number in range(4):
        team.add(f"The heron eats carp number {number} in the morning.", "birds", client_id=f"b{number}")
        team.add(f"Carp {number}.", "fish", client_id=f"f{number}")
    team.add("Of the pond and its carp.", client_id="d")
    alone = {name: team.search("carp", name, limit=10) for name in ("birds", "fish", "default")}
    together = team.search("carp", "birds", "fish", "default", limit=10)
    assert {hit.collection for hit in together} == {"birds", "fish", "default"}
    assert [hit.score for hit in together] == sorted((hit.score for hit in together), reverse=True)
    assert sorted((hit.path, hit.score) for hit in together) == sorted(
        (hit.path, hit.score) for hits in alone.values() for hit in hits
    )
    assert team.search("carp", "birds", "fish", limit=3) == team.search("carp", "birds", "fish", limit=10)[:3]


@pytest.mark.parametrize("collection", ["birds", "default"])
def test_the_place_of_the_originals_is_no_answer(team: Team, collection: str) -> None:
    team.collections.create("birds")
    added = team.add("A heron.", collection, filename="heron.md", wait=WaitUntil.COMPLETE)
    doc_id = added.document.doc_id
    for query in ("documents", collection, "collections", doc_id[:2], doc_id):
        hits = search_collections(team.collections, [collection], SearchRequest(query, only_good=False)).hits
        assert [hit.path for hit in hits if hit.named] == []


def test_what_is_weak_beside_the_best_of_all_is_left_out(team: Team) -> None:
    team.collections.create("birds")
    team.collections.create("fish")
    team.add("The heron of the pond stands in the reeds and waits for carp.", "birds", wait=WaitUntil.COMPLETE)
    team.add("Roses, lilies, tulips and many other flowers grow beside the pond.", "fish", wait=WaitUntil.COMPLETE)
    query = "heron pond reeds"
    assert {hit.collection for hit in team.search(query, "birds", "fish")} == {"birds", "fish"}
    request = SearchRequest(query, only_good=True)
    result = search_collections(team.collections, ["birds", "fish"], request)
    assert {hit.collection for hit in result.hits} == {"birds"}
    assert result.was_cut


def test_a_collection_without_anything_does_not_keep_others_from_answering(team: Team) -> None:
    team.collections.create("birds")
    team.collections.create("empty")
    team.add("The heron of the pond.", "birds")
    assert len(team.search("heron", "birds", "empty")) == 1
    with pytest.raises(NotIndexedError, match="'empty'"):
        team.search("heron", "empty")


def test_a_deletion_meanwhile_breaks_nobody(team: Team) -> None:
    """Readers of a collection that goes away end with an answer or with an error of ours."""
    team.collections.create("birds")
    for number in range(20):
        team.add(f"The heron of pond {number}.", "birds", client_id=str(number), wait=WaitUntil.NONE)
    with team.collections.opened("birds") as opened:
        opened.queue.make_keyword_searchable()
    outcomes: list[object] = []

    def read() -> None:
        try:
            while True:
                outcomes.append(len(team.search("heron", "birds", mode=SearchMode.KEYWORD)))
        except NotIndexedError as error:
            outcomes.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    team.collections.delete("birds")
    for reader in readers:
        reader.join()
    assert sum(isinstance(one, NotIndexedError) for one in outcomes) == 3


def test_scopes_belong_to_one_collection(team: Team) -> None:
    team.collections.create("birds")
    place = str(team.data_dir / "team/collections/birds/documents")
    scopes_of_collection(team.collections, "birds").put("all", [place])  # type: ignore[list-item]  # as the maker of paths gives it
    assert directories_of_named_scope(team.collections, "birds", "all") == (place,)
    assert scopes_of_collection(team.collections, "default").all() == {}
    with pytest.raises(NotIndexedError):
        directories_of_named_scope(team.collections, "default", "all")
    assert scopes_of_collection(team.collections, "birds").remove("all")
    assert not scopes_of_collection(team.collections, "birds").remove("all")
