"""A cluster index: kept in step with the index whatever is cut off, and answering as the index does."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

import pytest
from clusters import ClusteredIndex, Reader
from fakes import FakeEmbedder
from qdrant_client import models

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import NotIndexedError, VectorStoreError
from directory_indexer.core.notes import Verdict
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import Effort, IndexOptions
from directory_indexer.search.file_texts import Selection, SelectionUnit, read_text
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.cluster.catalogue import Catalogue
from directory_indexer.storage.cluster.payloads import MANIFEST_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILES = {
    "ops/keys.md": "---\ntags: [security]\nauthor: Ann Smith\ndate: 2024-03-01\n---\n# Keys\n\n## Rotation\n\n"
    "Rotate the signing keys every ninety days, and never send an api token by mail.\n",
    "ops/backup.md": "---\nauthor: Ben Jones\ndate: 2025-06-01\n---\n# Backups\n\nThe backups of the database are kept "
    "for a year. A token is needed to restore them, and the key for signing.\n",
    "kitchen/soup.md": "# Soup\n\nBoil the carrots with ginger, and serve the soup hot.\n",
    "kitchen/bread.md": "# Bread\n\nKnead the dough, and let it rest for an hour before baking.\n",
    "src/keys.py": "def rotate_keys(days):\n    '''Rotate the signing keys.'''\n    return days * 2\n",
    "de/haus.txt": "Die Häuser am Hafen stehen leer. Das Haus am Markt wurde im Jahr 1910 gebaut und ist bewohnt.\n",
}
TEXTS = {name: text for name, text in FILES.items() if name != "src/keys.py"}
"""Without the file for which a worker is started."""


@contextlib.contextmanager
def indexed(place: Path, files: Mapping[str, str] = FILES) -> Iterator[ClusteredIndex]:
    (place / "docs").mkdir()
    index = ClusteredIndex(root=place / "docs", data_dir=place / "data")
    for name, text in files.items():
        index.write(name, text)
    index.run()
    yield index
    index.cluster.close()
    index.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ClusteredIndex]:
    with indexed(tmp_path, TEXTS) as index:
        yield index


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ClusteredIndex, Reader]]:
    """Give an index that no test changes, and a server."""
    with indexed(tmp_path_factory.mktemp("unchanged")) as index:
        yield index, index.reader()


def passages_of(index: ClusteredIndex) -> str:
    """Name the Qdrant collection of the passages."""
    with index.reader().catalogue.snapshot() as snapshot:
        return snapshot.moment.manifest.passages


def verdict(index: ClusteredIndex) -> Verdict:
    [finding] = index.cluster.findings()
    return finding.verdict


def test_an_accent_that_stands_by_itself_is_no_word_of_the_cluster(tmp_path: Path) -> None:
    with indexed(tmp_path, {"scan.txt": "A cafe \u0301 at the harbour, and \u064e\u0651 a lighthouse."}) as index:
        assert [hit.path for hit in index.reader().result("lighthouse").hits] == [file_path(index.root / "scan.txt")]


@pytest.mark.parametrize(
    "query",
    [
        "how often are keys rotated",
        '"signing keys"',
        '"keys signing"',
        "token -mail",
        "keys type:python",
        "keys path:ops",
        "keys -path:ops",
        "token author:ann",
        "token author:smith since:2024",
        "token since:2025",
        "token until:2025",
        "tag:security",
        "type:markdown",
        "heading:rotation keys",
        "heading:rotation",
        "backpus database",
        "häusern",
        "bak*",
        "rotate_keys",
        '"api token" OR dough',
        "carrots ginger -soup",
        "zeppelin",
    ],
)
@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
def test_a_server_without_a_database_answers_as_the_index_does(
    unchanged: tuple[ClusteredIndex, Reader], query: str, mode: SearchMode
) -> None:
    index, reader = unchanged
    ours, theirs = index.searcher.search(index.request(query, mode=mode)), reader.result(query, mode=mode)
    # Where nothing is found that is good, which of the nearest is shown may differ.
    if not ours.is_weak:
        assert [hit.chunk_id for hit in theirs.hits] == [hit.chunk_id for hit in ours.hits]
    assert theirs.is_weak == ours.is_weak
    assert theirs.corrections == ours.corrections
    assert theirs.note_texts == ours.note_texts
    for hit, other in zip(theirs.hits, ours.hits, strict=False):
        if not ours.is_weak:
            assert hit.score == pytest.approx(other.score, abs=0.02)
            assert hit.excerpt == other.excerpt
            assert hit.metadata == other.metadata
            assert hit.dated_at == other.dated_at


def test_scopes_types_globs_and_facets_are_those_of_the_index(unchanged: tuple[ClusteredIndex, Reader]) -> None:
    index, reader = unchanged
    for options in (
        {"scope": (file_path(str(index.root / "ops")),)},
        {"scope": (file_path(str(index.root / "kitchen/soup.md")),)},
        {"kinds": ("python",)},
        {"globs": ("!kitchen/",)},
        {"since": 1.7e9, "until": 1.8e9},
        {"metadata": (("author", "jones"),)},
        {"mode": SearchMode.SEMANTIC, "kinds": ("text",)},
    ):
        assert sorted(reader.names("keys and soup", **options)) == sorted(index.names("keys and soup", **options))
    request = index.request("")
    assert reader.searcher.facets(request) == index.searcher.facets(request)


def test_a_scope_of_more_files_than_are_named_is_looked_for_deeper(
    unchanged: tuple[ClusteredIndex, Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, reader = unchanged
    monkeypatch.setattr("directory_indexer.cluster_app._MAX_LISTED_FILES", 0)
    scope = (file_path(str(index.root / "kitchen")),)
    assert sorted(reader.names("keys rotate signing", scope=scope, limit=1)) != []
    assert all(name.startswith("kitchen/") for name in reader.names("keys soup", scope=scope))


def test_the_text_of_a_file_and_parts_of_it_are_read_from_the_cluster(
    unchanged: tuple[ClusteredIndex, Reader],
) -> None:
    index, reader = unchanged
    path = file_path(str(index.root / "ops/keys.md"))
    with index.docstore.snapshot() as here, reader.catalogue.snapshot() as there:
        for selection in (None, Selection(SelectionUnit.LINES, 2, 4), Selection(SelectionUnit.CHUNKS, 1, 1)):
            assert read_text(there, path, selection) == read_text(here, path, selection)


def test_what_changes_is_followed_by_a_reader_that_goes_on(index: ClusteredIndex) -> None:
    reader = index.reader()
    assert reader.names('"ninety days"') == ["ops/keys.md"]
    index.write("ops/keys.md", "# Keys\n\nRotate the signing keys every thirty days.\n")
    (index.root / "kitchen/soup.md").unlink()
    index.write("kitchen/stew.md", "# Stew\n\nLet the lentils simmer with thyme.\n")
    index.run()
    assert reader.names('"thirty days"') == ["ops/keys.md"]
    assert reader.words("ginger carrots") == index.names("ginger carrots", mode=SearchMode.KEYWORD)
    assert reader.names("lentils thyme")[0] == "kitchen/stew.md"
    assert (
        reader.result("lentisl thyme").corrections == index.searcher.search(index.request("lentisl thyme")).corrections
    )
    assert verdict(index) is Verdict.OK


def test_a_run_with_nothing_to_do_writes_nothing(index: ClusteredIndex) -> None:
    version = index.reader().catalogue
    with version.snapshot() as snapshot:
        before = snapshot.moment.manifest.version
    index.run()
    index.connection.n_requests = 0
    index.cluster.update()
    assert index.connection.n_requests == 0
    with version.snapshot() as snapshot:
        assert snapshot.moment.manifest.version == before


def test_vectors_that_come_later_are_found_by_meaning(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    index = ClusteredIndex(root=tmp_path / "docs", data_dir=tmp_path / "data", embedding=EmbeddingMode.ON_DEMAND)
    index.write("a.md", "lentils simmer with thyme\n")
    index.run()
    reader = index.reader()
    assert reader.words("lentils") == ["a.md"]
    assert reader.names("lentils", mode=SearchMode.SEMANTIC) == []
    for _ in index.vectorizer.embed_waiting():
        pass
    index.cluster.update()
    assert reader.names("lentils", mode=SearchMode.SEMANTIC) == ["a.md"]
    assert reader.result("lentils").note_texts == ()
    index.cluster.close()
    index.close()


def test_an_answer_counts_what_waits_in_the_directories_where_it_looked(tmp_path: Path) -> None:
    for directory in ("docs", "more"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "a.md").write_text(f"lentils simmer with {directory}\n")
    index = ClusteredIndex(root=tmp_path / "docs", data_dir=tmp_path / "data")
    index.run()
    index.run(tmp_path / "more", options=IndexOptions(effort=Effort.NONE))
    reader = index.reader()

    def remarks(name: str) -> tuple[str, ...]:
        return reader.result("lentils", scope=(file_path(tmp_path / name),)).note_texts

    assert remarks("docs") == ()
    assert remarks("more") == ("1 of 1 passage is not searchable by meaning yet: it is found by words alone",)
    index.cluster.close()
    index.close()


def test_nothing_of_a_forgotten_directory_is_left(index: ClusteredIndex) -> None:
    reader = index.reader()
    assert reader.words("ginger") == ["kitchen/soup.md"]
    assert "ginger" in index.payloads()
    index.indexer.forget(str(index.root))
    assert "ginger" not in index.payloads()
    assert "soup" not in index.payloads()
    with pytest.raises(NotIndexedError):
        reader.words("ginger")


def test_files_that_share_a_text_are_each_found_where_they_are(index: ClusteredIndex, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "kitchen").mkdir(parents=True)
    (copy / "kitchen/soup.md").write_text(FILES["kitchen/soup.md"], encoding="utf-8")
    index.run(copy)
    [hit] = index.reader().result("ginger carrots", scope=(file_path(str(copy)),)).hits
    assert hit.path == str(copy / "kitchen/soup.md")
    [hit] = index.reader("other").result("ginger carrots", limit=1).hits
    assert len(hit.also_in) == 1


def test_another_model_takes_over_when_all_of_its_vectors_are_there(index: ClusteredIndex) -> None:
    reader = index.reader()
    with reader.catalogue.snapshot() as snapshot:
        before = snapshot.moment.manifest
    index.former_embedders[index.embedder.space.name] = index.embedder
    index.embedder = FakeEmbedder(32, model="other")
    index.fingerprint = index.fingerprint._replace(embedding=index.embedder.space.name)
    index.run(options=IndexOptions(has_consent=True, wait=False))
    assert reader.names("ginger carrots") == index.names("ginger carrots")
    with reader.catalogue.snapshot() as snapshot:
        now = snapshot.moment.manifest
    assert now.passages != before.passages
    assert not index.connection.local.collection_exists(before.passages)
    assert verdict(index) is Verdict.OK


def test_the_name_of_the_cluster_index_of_another_index_is_refused(index: ClusteredIndex, tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    other = ClusteredIndex(root=tmp_path / "others", data_dir=tmp_path / "other", connection=index.connection)
    other.write("a.md", "something else\n")
    assert "belongs to another index" in other.run().unavailable
    with pytest.raises(VectorStoreError, match="belongs to another index"):
        other.cluster.update()
    assert index.reader().words("ginger") == ["kitchen/soup.md"]
    other.cluster.close()
    other.close()


def test_what_was_lost_in_the_cluster_is_seen_and_mended(index: ClusteredIndex) -> None:
    client = index.connection.local
    passages = passages_of(index)
    lost = models.FieldCondition(key="path", match=models.MatchValue(value=str(index.root / "kitchen/soup.md")))
    client.delete(passages, models.FilterSelector(filter=models.Filter(must=[lost])))
    assert verdict(index) is Verdict.PROBLEM
    index.cluster.repair()
    assert verdict(index) is Verdict.OK
    assert index.reader("other").words("ginger") == ["kitchen/soup.md"]
    client.delete_collection("test-catalogue")
    index.cluster.update()
    assert verdict(index) is Verdict.OK
    assert index.reader("third").words("ginger") == ["kitchen/soup.md"]


def test_a_point_that_is_not_as_it_was_written_is_named_with_its_collection_and_mended(index: ClusteredIndex) -> None:
    client, path = index.connection.local, str(index.root / "kitchen/soup.md")
    catalogue: list[tuple[str, str, str, object]] = [
        ("path", path, "hash", {}),
        ("path", path, "size", 2**70),
        ("word", "ginger", "n_chunks", None),
    ]
    passages: list[tuple[str, str, str, object]] = [
        ("path", path, "text", None),
        ("path", path, "line_cut", 9),
        ("path", path, "file", "x"),
    ]
    for collection, cases in (("test-catalogue", catalogue), (passages_of(index), passages)):
        for key, value, field, bad in cases:
            found = models.Filter(must=[models.FieldCondition(key=key, match=models.MatchValue(value=value))])
            (point,), _ = client.scroll(collection, found)
            client.overwrite_payload(collection, {**(point.payload or {}), field: bad}, points=[point.id])
            if field != "file":
                said = f"point {point.id} of the Qdrant collection '{collection}' is not as dirindex writes it"
                with pytest.raises(VectorStoreError, match=re.escape(said)) as error:
                    index.reader(f"{field}-{bad}").names("ginger")
                assert "doctor --repair" in str(error.value.hint)
            assert verdict(index) is Verdict.PROBLEM
            index.cluster.repair()
            assert verdict(index) is Verdict.OK
    assert index.reader("mended").words("ginger") == ["kitchen/soup.md"]


def test_a_text_that_is_longer_than_any_passage_is_not_searched(index: ClusteredIndex) -> None:
    path = models.FieldCondition(key="path", match=models.MatchValue(value=str(index.root / "kitchen/soup.md")))
    soup, passages, client = models.Filter(must=[path]), passages_of(index), index.connection.local
    client.set_payload(passages, {"text": f"ginger{' ' * 300_000}"}, points=soup)
    assert index.reader("blank").words("ginger") == ["kitchen/soup.md"]
    client.set_payload(passages, {"text": "ginger " * 50_000}, points=soup)
    with pytest.raises(VectorStoreError, match="longer than any passage"):
        index.reader("long").names("ginger")
    assert verdict(index) is Verdict.PROBLEM


_TOO_MUCH = {"provider": "ollama", "model": "m", "dimensions": 3, "temperature": 1}


@pytest.mark.parametrize(
    "bad", [{"space": []}, {"space": {"provider": "ollama"}}, {"space": _TOO_MUCH}, {"format": 1}, {"version": None}]
)
def test_a_manifest_that_is_not_as_it_was_written_is_to_be_deleted_with_its_collection(
    index: ClusteredIndex, bad: dict[str, object]
) -> None:
    client = index.connection.local
    client.set_payload("test-catalogue", bad, points=[MANIFEST_ID])
    for attempt in (index.reader().catalogue.snapshot().__enter__, index.cluster.repair):
        with pytest.raises(VectorStoreError, match="not as dirindex writes it") as error:
            attempt()
        assert "delete the Qdrant collection 'test-catalogue', and the next dirindex index" in str(error.value.hint)
    client.delete_collection("test-catalogue")
    index.cluster.update()
    assert verdict(index) is Verdict.OK


def test_nobody_falls_between_and_the_next_run_mends_what_was_killed_at_any_request(index: ClusteredIndex) -> None:
    """Two states take turns; the process ends once before and once after every request of the change between them."""
    index.write("ops/keys.md", "# Keys\n\nThe signing keys go with ginger in soup, 0 times.\n")
    index.run()
    lasting = index.reader("lasting")
    both = ({"ops/keys.md", "kitchen/soup.md"}, {"ops/keys.md", "kitchen/stew.md"})
    n_requests = 0
    was_killed = True
    for turn in range(1, 200):
        soup, stew = ("soup", "stew") if turn % 2 else ("stew", "soup")
        (index.root / f"kitchen/{soup}.md").rename(index.root / f"kitchen/{stew}.md")
        index.write("ops/keys.md", f"# Keys\n\nThe signing keys go with ginger in {stew}, {turn} times.\n")
        index.run_apart()
        was_killed = index.update_until_killed(n_requests // 2, is_done_before=bool(n_requests % 2))
        for reader in (lasting, index.reader(f"reader{turn}")):
            result = reader.result("ginger", mode=SearchMode.KEYWORD)
            found = {str(hit.path).removeprefix(f"{index.root}/"): hit.text for hit in result.hits}
            assert set(found) in both
            is_new = f"kitchen/{stew}.md" in found
            assert f"in {stew if is_new else soup}," in found["ops/keys.md"]
        index.cluster.update()
        assert set(lasting.words("ginger")) == {"ops/keys.md", f"kitchen/{stew}.md"}
        assert verdict(index) is Verdict.OK
        if not was_killed:
            break
        n_requests += 1
    assert not was_killed
    assert n_requests >= 20


def test_a_server_says_when_nothing_was_written_yet(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    index = ClusteredIndex(root=tmp_path / "docs", data_dir=tmp_path / "data")
    reader = index.reader()
    assert isinstance(reader.catalogue, Catalogue)
    with pytest.raises(NotIndexedError, match="no cluster index 'test' yet"):
        reader.names("anything")
    index.cluster.close()
    index.close()
