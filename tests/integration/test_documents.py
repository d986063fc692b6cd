"""Documents that are sent to collections: kept as they are, found by what they say, gone when they are deleted."""

from __future__ import annotations

import errno
import io
import json
import os
import threading
import zipfile
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client
from served import Served
from serving import text_of
from teams import SECRET, Team

from directory_indexer.collections.background import IngestWorker
from directory_indexer.collections.consistency_checks import repair_documents
from directory_indexer.collections.ingest import DocumentIngest, IngestEffect, IngestRequest, OnConflict, WaitUntil
from directory_indexer.collections.originals import Originals
from directory_indexer.core.errors import (
    ConflictError,
    ContentRefusedError,
    DiskFullError,
    NotIndexedError,
    ProviderError,
    RefusalReason,
    UsageError,
)
from directory_indexer.core.ids import DocId
from directory_indexer.core.lock import HeldLock, try_lock, write_lock
from directory_indexer.core.paths import os_path
from directory_indexer.integrations.converting.fetching import FetchedContent
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.registry.documents import Documents
from directory_indexer.storage.registry.stored_documents import DocumentState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from directory_indexer.core.paths import FilePath
    from directory_indexer.storage.registry.stored_documents import StoredDocument

HERON = "# Herons\n\nThe grey heron stands in shallow water and waits.\n"


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    team = Team(tmp_path / "data")
    team.collections.create("birds")
    yield team
    team.close()


def files_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def originals(team: Team, collection: str = "birds") -> list[str]:
    return files_below(team.data_dir / "team" / "collections" / collection / "documents")


def test_a_text_is_found_at_once_and_comes_back_as_it_was(team: Team) -> None:
    sent = team.add(HERON, "birds", client_id="heron", title="On herons")
    assert (sent.effect, sent.document.state, sent.document.n_chunks) == (IngestEffect.CREATED, DocumentState.WORDS, 1)
    (hit,) = team.search("heron", "birds", mode=SearchMode.KEYWORD)
    assert hit.sent is not None
    assert (hit.sent.doc_id, hit.collection, hit.facts.title) == (sent.document.doc_id, "birds", "On herons")
    original = team.verbs.original("birds", sent.document.doc_id)
    with open(os_path(original.path), "rb") as file:
        assert file.read() == HERON.encode()
    assert original.etag == f'"{sent.document.content_hash}"'
    assert team.verbs.text("birds", sent.document.doc_id).text == HERON


def test_a_file_is_kept_byte_for_byte(team: Team) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inner/heron.md", HERON)
    content = packed.getvalue()
    pieces = [content[:10], content[10:]]
    sent = team.ingesting.add_file(
        pieces, IngestRequest("birds", filename="box.zip", wait=WaitUntil.COMPLETE, sender_metadata={"tag": "wader"})
    )
    assert (sent.document.state, sent.document.n_chunks) == (DocumentState.COMPLETE, 1)
    with open(os_path(team.verbs.original("birds", sent.document.doc_id).path), "rb") as file:
        assert file.read() == content
    (hit,) = team.search("heron tag:wader", "birds")
    assert hit.path.endswith("box.zip!/inner/heron.md")
    assert hit.sent is not None
    assert hit.sent.filename == "box.zip"


def test_the_same_again_replaces(team: Team) -> None:
    first = team.add(HERON, "birds", client_id="one", wait=WaitUntil.COMPLETE)
    again = team.add(HERON, "birds", client_id="one", wait=WaitUntil.COMPLETE)
    assert (again.effect, again.document.version) == (IngestEffect.UNCHANGED, 1)
    other = team.add("The stork clatters.", "birds", client_id="one", wait=WaitUntil.COMPLETE)
    assert (other.effect, other.document.doc_id) == (IngestEffect.REPLACED, first.document.doc_id)
    assert other.document.added_at == first.document.added_at
    assert team.names("heron", "birds", mode=SearchMode.KEYWORD) == []
    assert len(team.search("stork", "birds")) == len(originals(team)) == 1


def test_another_file_name_for_the_same_id_leaves_nothing_of_the_old_one(team: Team) -> None:
    team.add(HERON, "birds", client_id="one", filename="old.md")
    team.add("The stork clatters.", "birds", client_id="one", filename="new.md")
    assert originals(team) == ["new.md"]
    assert team.names("heron", "birds", mode=SearchMode.KEYWORD) == []
    assert team.names("stork", "birds") == ["new.md"]


def test_what_a_sender_says_can_be_searched_for_and_can_change_alone(team: Team) -> None:
    said: dict[str, Any] = {"authors": ["Ann Baker"], "tags": ["wader"], "created": "2024-05-01", "shelf": 7}
    sent = team.add(HERON, "birds", client_id="one", sender_metadata=said)
    assert sent.document.sender_metadata() == said
    assert len(team.search("heron", "birds", metadata=(("author", "baker"), ("tag", "wader")))) == 1
    again = team.add(HERON, "birds", client_id="one", title="Grey ones", sender_metadata={"tags": ["fisher"]})
    assert again.effect is IngestEffect.REPLACED
    assert team.search("heron", "birds", metadata=(("tag", "wader"),)) == ()
    (hit,) = team.search("heron", "birds", metadata=(("tag", "fisher"),))
    assert hit.facts.title == "Grey ones"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", RefusalReason.EMPTY),
        (" \n\t ", RefusalReason.EMPTY),
        (f"Deploy with {SECRET} and go.", RefusalReason.SECRET),
        ("x" * 11_000_000, RefusalReason.TOO_LARGE),
    ],
)
def test_what_is_refused_changes_nothing(team: Team, text: str, reason: RefusalReason) -> None:
    before = team.add(HERON, "birds", client_id="one", wait=WaitUntil.COMPLETE).document
    with pytest.raises(ContentRefusedError) as refused:
        team.add(text, "birds", client_id="one")
    assert refused.value.reason is reason
    assert SECRET not in str(refused.value)
    assert team.verbs.document("birds", before.doc_id) == before
    assert len(team.search("heron", "birds")) == 1
    assert files_below(team.data_dir / "team/collections/birds/incoming") == []


def test_secrets_that_are_allowed_are_masked_in_the_index_and_kept_in_the_original(team: Team) -> None:
    text = f"To deploy, log in with {SECRET} as everybody does, and then wait for the operator to say so.\n" * 2
    sent = team.add(text, "birds", client_id="one", allows_secrets=True)
    assert sent.document.n_masked == 2
    (hit,) = team.search("deploy", "birds")
    assert SECRET not in hit.text
    assert SECRET not in team.verbs.text("birds", sent.document.doc_id).text
    with open(os_path(team.verbs.original("birds", sent.document.doc_id).path), encoding="utf-8") as file:
        assert file.read() == text


@pytest.mark.parametrize(
    "filename",
    ["id_rsa", ".env", "deep/.env.local", "home/.netrc", "etc/shadow", "C:\\etc\\shadow", "x/.docker/config.json"],
)
def test_what_is_a_secret_by_its_name_is_refused(team: Team, filename: str) -> None:
    with pytest.raises(ContentRefusedError) as refused:
        team.ingesting.add_file([b"harmless words"], IngestRequest("birds", filename=filename))
    assert refused.value.reason is RefusalReason.SECRET


@pytest.mark.parametrize("path", ["/etc/shadow", "/home/ann/.aws/credentials", "/home/ann/.ssh/config"])
def test_the_path_of_a_file_shows_that_it_is_a_secret(team: Team, path: str) -> None:
    request = IngestRequest("birds", filename="harmless.md", sender_path=path)
    with pytest.raises(ContentRefusedError, match="is a secret by its name"):
        team.ingesting.add_file([b"harmless words"], request)


def test_what_is_said_of_a_document_must_hold_no_secret(team: Team) -> None:
    with pytest.raises(ContentRefusedError):
        team.add(HERON, "birds", sender_metadata={"note": f"key {SECRET}"})


def test_a_file_that_cannot_be_read_is_refused(team: Team) -> None:
    with pytest.raises(ContentRefusedError) as refused:
        team.ingesting.add_file([b"\x00\x01\x02" * 500], IngestRequest("birds", filename="noise.bin"))
    assert refused.value.reason is RefusalReason.UNREADABLE
    assert originals(team) == []


@pytest.mark.parametrize(
    "filename",
    [
        "../../../../etc/passwd",
        "/etc/cron.d/evil",
        "..",
        "a/../../b.md",
        "..\\..\\windows\\win.ini",
        "C:\\boot.ini",
        "CON.md",
        "nul",
        "trailing. . .",
        ".hidden.md",
        ".gitignore",
        ".dirindexignore",
        "x" * 300,
        "ü" * 400 + ".md",
        "a:b|c?.md",
        "node_modules",
        "-rf",
        "~root",
        "$(reboot).md",
    ],
)
def test_no_file_name_leads_out_of_its_place_or_hides_a_document(team: Team, filename: str) -> None:
    sent = team.ingesting.add_file([HERON.encode()], IngestRequest("birds", filename=filename))
    assert (sent.document.state, sent.document.filename) == (DocumentState.WORDS, filename)
    documents = team.data_dir / "team" / "collections" / "birds" / "documents"
    (found,) = (path for path in documents.rglob("*") if path.is_file())
    assert found.parent == documents / sent.document.doc_id[:2] / sent.document.doc_id
    assert len(found.name.encode()) <= 255
    with team.collections.opened("birds") as opened:
        opened.app.runs.indexer.index(
            [str(documents)], options=_options(), listener=lambda _: None, stop_reason=lambda: None
        )
    assert team.names("heron", "birds", mode=SearchMode.KEYWORD) == [filename]
    assert team.verbs.delete("birds", sent.document.doc_id)
    assert originals(team) == []


def _options() -> Any:
    from directory_indexer.indexing.options import IndexOptions  # noqa: PLC0415 - for this test alone

    return IndexOptions(wait=False, read_everything=True)


@pytest.mark.parametrize("filename", ["", "  ", "nul\0byte", "line\nbreak", "x" * 2000, "right\u202eto left", "\ud800"])
def test_no_name_that_cannot_be_shown_is_taken(team: Team, filename: str) -> None:
    with pytest.raises(UsageError):
        team.ingesting.add_file([HERON.encode()], IngestRequest("birds", filename=filename))


@pytest.mark.parametrize(
    ("wait", "state"), [(WaitUntil.NONE, "queued"), (WaitUntil.WORDS, "words"), (WaitUntil.COMPLETE, "complete")]
)
def test_a_document_can_be_seen_and_deleted_in_every_state(team: Team, wait: WaitUntil, state: str) -> None:
    sent = team.add(HERON, "birds", client_id="one", wait=wait)
    assert sent.document.state == state
    assert [one.state for one in team.verbs.documents("birds").documents] == [state]
    assert team.verbs.delete("birds", sent.document.doc_id)
    assert team.verbs.documents("birds").documents == ()
    assert originals(team) == []
    with team.collections.opened("birds") as opened:
        opened.queue.make_keyword_searchable()
        opened.queue.complete()
    if wait is not WaitUntil.NONE:
        assert team.names("heron", "birds") == []
    for verb in (team.verbs.document, team.verbs.original, team.verbs.delete, team.verbs.text):
        with pytest.raises(NotIndexedError):
            verb("birds", sent.document.doc_id)


def test_a_document_that_cannot_be_removed_yet_is_gone_for_everybody(team: Team) -> None:
    sent = team.add(HERON, "birds", client_id="one")
    with write_lock(team.data_dir / "team/collections/birds/write.lock", wait=False):
        assert not team.verbs.delete("birds", sent.document.doc_id, seconds=0)
        assert team.names("heron", "birds") == []
        with pytest.raises(NotIndexedError):
            team.verbs.document("birds", sent.document.doc_id)
        with pytest.raises(ConflictError):
            team.add(HERON, "birds", client_id="one")
        late = team.add("The stork clatters.", "birds", client_id="two", seconds=0)
        assert late.document.state is DocumentState.QUEUED
    with team.collections.opened("birds") as opened:
        opened.queue.recover()
        opened.queue.make_keyword_searchable()
    assert [one.doc_id for one in team.verbs.documents("birds").documents] == [late.document.doc_id]
    assert team.names("stork", "birds", mode=SearchMode.KEYWORD) == ["two.md"]


def test_a_deleted_document_is_gone_for_assistants_while_others_write(team: Team) -> None:
    birds = ("whinchat", "stonechat")
    sent = [
        team.add(f"# {bird}\n\nThe {bird} perches on gorse.\n", "birds", filename=f"{bird}.md", wait=WaitUntil.COMPLETE)
        for bird in birds
    ]
    gone, there = (team.search(bird, "birds", mode=SearchMode.KEYWORD)[0].path for bird in birds)
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        *(("search", {"query": "gorse", "mode": mode, "all": True}) for mode in SearchMode),
        ("grep", {"pattern": "perches"}),
        ("symbol", {"name": "whinchat"}),
        ("locate", {"report": "the whinchat perches on gorse"}),
        ("similar_files", {"path": there}),
        *(("outline", {"path": path}) for path in (gone, gone.rpartition("/")[0])),
        *(("get_content", {"path": path}) for path in (gone, "whinchat.md")),
        ("convert_to_text", {"source": gone}),
    )

    several, one = {"collections": ["birds"]}, {"collection": "birds"}

    async def answers() -> list[str]:
        async with Client(served.protocol) as client:
            results = [
                await client.call_tool(tool, given | (several if tool == "search" else one)) for tool, given in calls
            ]
        return ["" if result.is_error else text_of(result.model_dump()) for result in results]

    place = gone.rpartition("/")[0][-20:]
    with Served(team) as served:
        assert all(place in answer for answer in anyio.run(answers))
        with write_lock(team.data_dir / "team/collections/birds/write.lock", wait=False):
            assert not team.verbs.delete("birds", sent[0].document.doc_id, seconds=0)
            assert not [call for call, answer in zip(calls, anyio.run(answers), strict=True) if place in answer]


def test_what_is_there_can_be_kept_or_reported(team: Team) -> None:
    team.add(HERON, "birds", client_id="one")
    kept = team.add("Another text.", "birds", client_id="one", on_conflict=OnConflict.SKIP)
    assert kept.effect is IngestEffect.SKIPPED
    assert len(team.search("heron", "birds")) == 1
    with pytest.raises(ConflictError):
        team.add("Another text.", "birds", client_id="one", on_conflict=OnConflict.ERROR)


def test_documents_are_listed_in_pages(team: Team) -> None:
    sent = {team.add(f"Bird number {number}.", "birds", client_id=str(number)).document.doc_id for number in range(7)}
    listed: list[str] = []
    cursor = ""
    while True:
        page = team.verbs.documents("birds", cursor=cursor, limit=3)
        listed += [one.doc_id for one in page.documents]
        cursor = page.next_cursor
        if not cursor:
            break
    assert listed == sorted(sent)
    with pytest.raises(UsageError):
        team.verbs.documents("birds", cursor="' OR 1=1 --")


def test_an_address_is_fetched_kept_and_refreshed(team: Team) -> None:
    page = b"<html><head><title>Birds</title></head><body><p>The grey heron waits.</p></body></html>"
    url = "https://example.org/birds?id=1"
    team.web[url] = FetchedContent(
        "https://example.org/birds/1", "birds.html", page, "text/html; charset=utf-8", '"v1"', "Mon"
    )
    sent = team.ingesting.add_url("HTTPS://Example.org:443/birds?id=1#top", IngestRequest("birds"))
    document = sent.document
    assert (document.url, document.media_type, document.etag) == (url, "text/html", '"v1"')
    assert document.sender_metadata()["final_url"] == "https://example.org/birds/1"
    (hit,) = team.search("heron", "birds")
    assert hit.sent is not None
    assert hit.sent.url == url
    assert team.ingesting.refresh("birds", document.doc_id).effect is IngestEffect.UNCHANGED
    assert team.asked[-1] == ('"v1"', "Mon")
    team.web[url] = FetchedContent(url, "birds.html", page.replace(b"heron", b"stork"), "text/html", '"v2"')
    again = team.ingesting.refresh("birds", document.doc_id)
    assert (again.effect, again.document.doc_id, again.document.version) == (IngestEffect.REPLACED, document.doc_id, 2)
    assert team.names("stork", "birds", mode=SearchMode.KEYWORD) == ["birds.html"]
    assert team.names("heron", "birds", mode=SearchMode.KEYWORD) == []


def test_a_refresh_that_brings_a_secret_leaves_the_document_as_it_was(team: Team) -> None:
    url = "https://example.org/"
    team.web[url] = FetchedContent(url, "index", b"The grey heron waits.", "text/plain", '"v1"')
    document = team.ingesting.add_url(url, IngestRequest("birds")).document
    team.web[url] = FetchedContent(url, "index", f"Deploy with {SECRET}".encode(), "text/plain", '"v2"')
    with pytest.raises(ContentRefusedError):
        team.ingesting.refresh("birds", document.doc_id)
    assert team.verbs.document("birds", document.doc_id) == document
    assert len(team.search("heron", "birds")) == 1


def test_only_what_was_fetched_can_be_refreshed(team: Team) -> None:
    sent = team.add(HERON, "birds")
    with pytest.raises(ConflictError):
        team.ingesting.refresh("birds", sent.document.doc_id)


@pytest.mark.parametrize("url", ["ftp://x/y", "https://ann:pw@example.org/", "not an address", "https://", "//x", ""])
def test_what_is_no_address_is_refused_before_anything_is_fetched(team: Team, url: str) -> None:
    with pytest.raises(UsageError):
        team.ingesting.add_url(url, IngestRequest("birds"))
    assert team.asked == []


@pytest.mark.parametrize("said", [{"x": "y" * 20_000}, {"x": object()}])
def test_what_is_said_has_limits(team: Team, said: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        team.add(HERON, "birds", sender_metadata=said)


def test_many_senders_at_once_lose_nothing_and_share_runs(team: Team) -> None:
    failures: list[BaseException] = []

    def send(sender: int) -> None:
        try:
            for number in range(6):
                team.add(f"A bird sings {_word(sender, number)}.", "birds", client_id=f"{sender}/{number}")
                team.add(f"All write this: {sender}.", "birds", client_id="shared")
        except BaseException as error:  # noqa: BLE001 - the thread hands over whatever went wrong
            failures.append(error)

    threads = [threading.Thread(target=send, args=(sender,)) for sender in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    documents = team.verbs.documents("birds", limit=1000).documents
    assert len(documents) == 31
    assert {one.state for one in documents} == {DocumentState.WORDS}
    for sender in range(5):
        for number in range(6):
            assert len(team.search(_word(sender, number), "birds", mode=SearchMode.KEYWORD)) == 1
    shared = next(one for one in documents if one.filename == "shared.md")
    with open(os_path(team.verbs.original("birds", shared.doc_id).path), encoding="utf-8") as file:
        kept = file.read()
    assert team.verbs.text("birds", shared.doc_id).text == kept
    with team.collections.opened("birds") as opened, opened.app.docstore.snapshot() as snapshot:
        assert snapshot.words.count_rows() == 31


def _word(sender: int, number: int) -> str:
    return f"{'abcde'[sender] * 3}{'pqrstu'[number] * 3}"


@pytest.mark.parametrize("mending", ["goes on", "is over"])
def test_a_sender_marks_anew_what_those_who_mend_took_for_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mending: str
) -> None:
    documents = Originals(tmp_path / "documents")
    doc_id = DocId("aaaaaaaaaaaaaaaaaaaaaaaa")
    menders: list[Iterator[DocId]] = []

    def beaten(path: Path, *, exclusive: bool) -> HeldLock | None:
        """Lock a new mark just after somebody else did, or just before they remove it."""
        if menders:
            return try_lock(path, exclusive=exclusive)
        path.touch()
        menders.append(documents.clear_interrupted_marks())
        if mending == "goes on":
            monkeypatch.setattr("directory_indexer.collections.originals.try_lock", try_lock)
            assert next(menders[0]) == doc_id
            return try_lock(path, exclusive=exclusive)
        lock = try_lock(path, exclusive=exclusive)
        path.unlink()
        return lock

    monkeypatch.setattr("directory_indexer.collections.originals.try_lock", beaten)
    with documents.mark_in_progress(doc_id) as place:
        assert list(Originals(tmp_path / "documents").clear_interrupted_marks()) == []
        assert place.with_suffix(".mark").exists()


def test_what_is_sent_while_others_mend_stays(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    team.add("The old egret stalks.", "birds", client_id="first")
    known = Documents.all

    def sent_meanwhile(self: Documents) -> list[StoredDocument]:
        found = known(self)
        team.add(HERON, "birds", client_id="heron")
        return found

    with team.collections.opened("birds") as opened:
        monkeypatch.setattr(Documents, "all", sent_meanwhile)
        list(repair_documents(opened))
        monkeypatch.undo()

    assert len(originals(team)) == 2
    assert len(team.names("heron", "birds", mode=SearchMode.KEYWORD)) == 1


def test_what_is_sent_again_while_two_delete_it_stays(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    doc_id = team.add(HERON, "birds", client_id="heron").document.doc_id
    other = Team(team.data_dir)
    paths_of = Originals.paths_of

    def quicker(self: Originals, doc_id: DocId) -> list[FilePath]:
        found = paths_of(self, doc_id)
        monkeypatch.undo()
        other.verbs.delete("birds", doc_id)
        other.add("The new heron wades.", "birds", client_id="heron")
        return found

    monkeypatch.setattr(Originals, "paths_of", quicker)
    team.verbs.delete("birds", doc_id)
    other.close()

    assert len(originals(team)) == 1
    with team.collections.opened("birds") as opened:
        opened.queue.make_keyword_searchable()
    assert len(team.names("wades", "birds", mode=SearchMode.KEYWORD)) == 1


def test_meaning_gives_way_to_words(team: Team) -> None:
    """Words of something new do not wait for the vectors of something old."""
    for number in range(8):
        team.add(f"Old bird number {number}.", "birds", client_id=f"old{number}")
    team.embedder.batch_size = 1
    embedding, may_go_on = threading.Event(), threading.Event()
    embed = team.embedder.embed_documents

    def slowly(texts: Any) -> Any:
        embedding.set()
        may_go_on.wait(60)
        return embed(texts)

    team.embedder.embed_documents = slowly  # type: ignore[method-assign]
    with team.collections.opened("birds") as opened:
        background = threading.Thread(target=opened.queue.complete)
        background.start()
        assert embedding.wait(60)
        sending = threading.Thread(target=lambda: team.add("The stork clatters.", "birds", client_id="new"))
        sending.start()
        wanted = team.data_dir / "team/collections/birds/write.lock-wanted"
        while not is_shared(wanted):
            pass
        may_go_on.set()
        sending.join()
        background.join()
    assert {one.state for one in team.verbs.documents("birds").documents} == {DocumentState.COMPLETE}
    place = next(at for at, text in enumerate(team.embedder.embedded) if "stork" in text)
    assert place < len(team.embedder.embedded) - 1, "what is new does not wait for what is old"


def is_shared(path: Path) -> bool:
    lock = try_lock(path, exclusive=True)
    if lock is None:
        return True
    lock.release()
    return False


def test_a_document_survives_a_new_index(team: Team) -> None:
    """What the index holds can be made again from originals and registry."""
    sent = team.add(
        HERON, "birds", client_id="one", title="On herons", sender_metadata={"tags": ["wader"]}, wait=WaitUntil.COMPLETE
    )
    documents = team.data_dir / "team" / "collections" / "birds" / "documents"
    with team.collections.opened("birds") as opened:
        opened.app.runs.indexer.index(
            [str(documents)], options=_options(), listener=lambda _: None, stop_reason=lambda: None
        )
    (hit,) = team.search("heron tag:wader", "birds")
    assert (hit.facts.title, hit.sent and hit.sent.doc_id) == ("On herons", sent.document.doc_id)


def test_the_metadata_of_a_document_is_json(team: Team) -> None:
    sent = team.add(HERON, "birds", sender_metadata={"größe": "40 cm"})
    assert json.loads(sent.document.metadata) == {"größe": "40 cm"}


def test_documents_can_be_sent_to_the_default_collection(team: Team, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "heron.md").write_text(HERON, encoding="utf-8")
    team.app.runs.indexer.index([str(root)], options=_options(), listener=lambda _: None, stop_reason=lambda: None)
    team.add("The stork clatters.", client_id="one")
    assert team.names("stork", mode=SearchMode.KEYWORD) == ["one.md"]
    assert team.names("heron", mode=SearchMode.KEYWORD) == [str(root / "heron.md")]
    with pytest.raises(UsageError, match="sent documents"):
        team.app.runs.indexer.forget(str(team.data_dir / "team/collections/default/documents"))
    assert sorted(os.listdir(team.data_dir / "team/collections/default")) == ["documents", "incoming"]


def test_a_disk_that_is_full_is_told_and_leaves_nothing_behind(team: Team) -> None:
    def pieces() -> Iterator[bytes]:
        yield HERON.encode()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DiskFullError):
        team.ingesting.add_file(pieces(), IngestRequest("birds", filename="heron.md"))
    assert team.verbs.documents("birds").documents == ()
    assert files_below(team.data_dir / "team/collections/birds/incoming") == []


def test_a_paused_document_goes_no_further_even_if_it_waited_for_its_turn(team: Team) -> None:
    first, second = (team.add(f"The {name}.", "birds", client_id=name, wait=WaitUntil.NONE).document for name in "ab")
    team.verbs.pause(first, is_paused=True)
    background = IngestWorker(team.collections)
    background.start()
    wait_until(lambda: team.verbs.document("birds", second.doc_id).state is DocumentState.COMPLETE)
    assert team.verbs.document("birds", first.doc_id).state is DocumentState.QUEUED
    team.verbs.pause(first, is_paused=False)
    background.enqueue("birds")
    wait_until(lambda: team.verbs.document("birds", first.doc_id).state is DocumentState.COMPLETE)
    background.stop()
    background.join()


def test_a_document_that_is_paused_or_replaced_while_others_write_is_left_to_later(team: Team) -> None:
    one, other = (team.add(f"The {name}.", "birds", client_id=name, wait=WaitUntil.NONE).document for name in "ab")
    with team.collections.opened("birds") as opened:
        with write_lock(opened.app.lock_path, wait=True) as lock:
            reader = threading.Thread(target=opened.queue.make_keyword_searchable)
            reader.start()
            wait_until(lambda: lock.is_wanted)
            team.verbs.pause(one, is_paused=True)
        reader.join()
    assert team.verbs.document("birds", one.doc_id).state is DocumentState.QUEUED
    assert team.verbs.document("birds", other.doc_id).state is DocumentState.WORDS


def test_what_nobody_waits_for_is_done_in_the_background(team: Team) -> None:
    before = team.add(HERON, "birds", client_id="before", wait=WaitUntil.NONE).document
    background = IngestWorker(team.collections)
    ingesting = DocumentIngest(team.collections, on_work=background.enqueue)
    background.start()
    after = ingesting.add_text(
        "The stork clatters.", IngestRequest("birds", client_id="after", wait=WaitUntil.NONE)
    ).document
    wait_until(lambda: {one.state for one in team.verbs.documents("birds").documents} == {DocumentState.COMPLETE})
    background.stop()
    background.join()
    assert {one.doc_id for one in team.verbs.documents("birds").documents} == {before.doc_id, after.doc_id}
    assert team.names("stork", "birds", mode=SearchMode.KEYWORD) == ["after.md"]


def test_the_background_survives_a_provider_that_is_away(team: Team) -> None:
    embed, told = team.embedder.embed_documents, threading.Event()

    def away(_: Any) -> Any:
        told.set()
        raise ProviderError("the provider is away")

    team.embedder.embed_documents = away  # type: ignore[method-assign, assignment]
    background = IngestWorker(team.collections)
    ingesting = DocumentIngest(team.collections, on_work=background.enqueue)
    background.start()
    document = ingesting.add_text(HERON, IngestRequest("birds", wait=WaitUntil.WORDS)).document
    assert document.state is DocumentState.WORDS
    assert told.wait(60)
    team.embedder.embed_documents = embed  # type: ignore[method-assign]
    background.enqueue("birds")
    wait_until(lambda: team.verbs.document("birds", document.doc_id).state is DocumentState.COMPLETE)
    background.stop()
    background.join()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again; the limit of the test is the limit of this."""
    while not is_so():
        pass
