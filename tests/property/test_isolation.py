"""Nothing of a collection can be told from what another one answers, whatever verb is used and however both grow."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_servers import Server
from teams import Team

from directory_indexer.collections.ingest import WaitUntil
from directory_indexer.core.errors import DirIndexError
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.documents.files import ALL_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.search.requests import Hit

OURS = ("amber", "birch", "cedar", "delta", "ember")
THEIRS = ("quartz", "ruby", "sapphire", "topaz", "zircon")
SHARED = ("the", "and", "of")


def texts_of(words: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    text = st.lists(st.sampled_from((*words, *SHARED)), min_size=1, max_size=12).map(" ".join)
    named = st.tuples(st.sampled_from(words), text).map(lambda pair: f"{pair[0]} {pair[1]}.")
    return st.lists(named, min_size=1, max_size=4)


def fill(team: Team, collection: str, texts: list[str], word: str) -> None:
    team.collections.create(collection, description=f"of {word}", if_missing=True)
    for number, text in enumerate(texts):
        team.add(
            text,
            collection,
            client_id=f"{word}{number}",
            title=f"About {word}",
            sender_metadata={"authors": [f"Dr. {word.title()}"], "tags": [word]},
            wait=WaitUntil.NONE,
        )
    with team.collections.opened(collection) as opened:
        opened.queue.make_keyword_searchable()
        opened.queue.complete()


def answers(team: Team, collection: str) -> dict[str, Any]:
    """Ask one collection everything that there is to ask, with the words of both; times are left out."""
    found: dict[str, Any] = {}
    for query in (*OURS, *THEIRS, f"{OURS[0]} {THEIRS[0]}", f"-{THEIRS[0]} {OURS[1]}", f"{THEIRS[1][:3]}*", "tag:ruby"):
        for mode in SearchMode:
            found[f"search {query} {mode}"] = [
                (hit.path, round(hit.score, 5), hit.text, _why(hit), hit.metadata, hit.sent, hit.n_more_in_file)
                for hit in team.search(query, collection, mode=mode, limit=20)
            ]
    with team.collections.opened(collection) as opened:
        app = opened.app
        found["facets"] = app.searcher.facets(SearchRequest(""))
        with app.docstore.snapshot() as snapshot:
            found["counts"] = snapshot.overview.summary()._replace(completed_at=None)
            found["words"] = snapshot.words.starting_with("", limit=1000)
            found["files"] = [(file.path, file.hash, file.facts) for file in snapshot.files.in_order(ALL_FILES)]
            found["chunks"] = snapshot.chunks.count()
        paths = [path for path, *_ in found["files"]]
        for path in paths:
            result = app.similar_files.find(path, within=(), limit=10)
            found[f"similar {path}"] = [(hit.path, round(hit.score, 6)) for hit in result.hits]
        report = app.status.report(None)
        found["status"] = [(one.path, one.n_files, one.n_chunks, one.n_embedded) for one in report.directories]
    for document in team.verbs.documents(collection).documents:
        found[f"document {document.doc_id}"] = document._replace(added_at=0, changed_at=0, mtime_ns=0)
        found[f"text {document.doc_id}"] = team.verbs.text(collection, document.doc_id).text
    listed = team.collections.get(collection)
    found["listed"] = listed._replace(created_at=None, index=listed.index._replace(completed_at=None))
    return found


def _why(hit: Hit) -> list[object]:
    """Give what a hit has of scores, but for the last digits: a server adds up in any order."""
    flat = (*hit.explanation[:-1], *(part for signal in hit.explanation.signals.items() for part in signal))
    return [round(part, 5) if isinstance(part, float) else part for part in flat]


def words_in(answer: object, words: tuple[str, ...]) -> set[str]:
    told = repr(answer).lower()
    return {word for word in words if word in told}


def without_questions(found: dict[str, Any]) -> list[object]:
    return list(found.values())


@settings(max_examples=settings().max_examples // 12)
@given(ours=texts_of(OURS), theirs=texts_of(THEIRS), more=texts_of(THEIRS))
def test_a_collection_answers_as_if_it_were_alone(ours: list[str], theirs: list[str], more: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        team = Team(Path(place) / "data")
        fill(team, "ours", ours, "amber")
        alone = answers(team, "ours")
        fill(team, "theirs", theirs, "ruby")
        assert answers(team, "ours") == alone
        fill(team, "theirs", [*theirs, *more], "ruby")
        assert answers(team, "ours") == alone
        assert words_in(without_questions(alone), THEIRS) == set()
        assert words_in(without_questions(answers(team, "theirs")), OURS) == set()
        team.collections.delete("theirs")
        assert answers(team, "ours") == alone
        team.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


def test_collections_that_share_a_qdrant_collection_never_meet(server: Server, tmp_path: Path) -> None:
    team = Team(tmp_path / "data", DIRINDEX_STORAGE__QDRANT__ENDPOINT=server.url)
    fill(team, "ours", ["amber and birch.", "cedar of delta."], "amber")
    alone = answers(team, "ours")
    fill(team, "theirs", ["ruby and quartz.", "topaz of zircon.", "sapphire."], "ruby")
    assert answers(team, "ours") == alone
    assert words_in(without_questions(answers(team, "theirs")), OURS) == set()
    team.collections.delete("theirs")
    assert answers(team, "ours") == alone
    team.close()


def test_ids_of_one_collection_mean_nothing_in_another(tmp_path: Path) -> None:
    team = Team(tmp_path / "data")
    fill(team, "ours", ["amber."], "amber")
    fill(team, "theirs", ["ruby."], "ruby")
    (ours,) = team.verbs.documents("ours").documents
    unknown = "a" * 24
    for verb in (team.verbs.document, team.verbs.text, team.verbs.original, team.verbs.delete, team.ingesting.refresh):
        told = []
        for doc_id in (ours.doc_id, unknown):
            with pytest.raises(DirIndexError) as refused:
                verb("theirs", doc_id)
            told.append(str(refused.value).replace(doc_id, "ID"))
        assert told[0] == told[1]
    assert team.add("amber.", "theirs", client_id="amber0").document.doc_id != ours.doc_id
    team.close()
