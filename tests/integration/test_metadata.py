"""What documents say about themselves can be asked for, is shown with hits, and can be counted."""

from __future__ import annotations

import os
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest
from indexes import Index
from PIL import Image

from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.statistics import FacetValue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GERMAN = "Der Klempner war im März hier und hat die Leitung repariert, die nun wieder dicht ist.\n" * 3
ENGLISH = "The plumber was here in March and has repaired the pipe, which is now as good as new.\n" * 3


def write_mail(index: Index, name: str, sender: str, date: str, subject: str, *, tags: str = "") -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"], message["Date"] = sender, "bob@example.org", subject, date
    if tags:
        message["Keywords"] = tags
    message.set_content("The plumber is paid.\n")
    index.write_bytes(name, message.as_bytes())


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Mails and texts for tests that only read, indexed once."""
    root = tmp_path_factory.mktemp("docs")
    index = Index(root=root, data_dir=tmp_path_factory.mktemp("data"))
    write_mail(
        index, "a.eml", "Ada Löwe <ada@example.org>", "Fri, 1 Mar 2024 12:00:00 +0000", "Invoice", tags="House, Tax"
    )
    write_mail(index, "b.eml", "eve@example.org", "Sat, 2 Mar 2025 12:00:00 +0000", "Budget", tags="tax")
    picture = Image.new("RGB", (4, 4))
    exif = picture.getexif()
    exif[0x010F], exif[0x0110] = "Fujifilm", "X100V"
    picture.save(root / "e.jpg", exif=exif)
    index.write("c.md", GERMAN)
    path = index.write("sub/d.md", ENGLISH)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    index.run()
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from:ada", ["a.eml"]),
        ("from:lowe", ["a.eml"]),
        ('from:"ada löwe"', ["a.eml"]),
        ("-from:ada", ["b.eml", "c.md", "e.jpg", "sub/d.md"]),
        ("to:bob", ["a.eml", "b.eml"]),
        ("subject:invoice", ["a.eml"]),
        ("tag:tax", ["a.eml", "b.eml"]),
        ("tag:tax tag:house", ["a.eml"]),
        ("lang:de", ["c.md"]),
        ("lang:DE-at", ["c.md"]),
        ("created:2024", ["a.eml"]),
        ("created:2024-03", ["a.eml"]),
        ("created:2024-04", []),
        ("author:eve", ["b.eml"]),
        ("until:2021", ["sub/d.md"]),
        ("since:2024 until:2024", ["a.eml"]),
        ("since:2024-03-01 until:2024-03-01", ["a.eml"]),
        ("since:2025-01 until:2025-12", ["b.eml"]),
    ],
)
def test_filters_choose_by_what_documents_say(mails: Index, query: str, expected: list[str]) -> None:
    by_meaning = mails.names(f"plumber Klempner {query}", mode=SearchMode.SEMANTIC)
    assert sorted(by_meaning) == sorted(mails.names(query)) == expected


@pytest.mark.parametrize("query", ["tag:ta", "created:[*", "from:adam"])
def test_a_filter_that_no_document_meets_is_searched_for_as_words(mails: Index, query: str) -> None:
    result = mails.searcher.search(mails.request(f"plumber {query}"))
    assert any(f"{query} is searched for as words" in note for note in result.note_texts)
    assert {hit.path for hit in result.hits} >= {hit.path for hit in mails.search("plumber")}


def test_a_request_has_the_same_filters(mails: Index) -> None:
    assert mails.names("plumber", metadata=(("from", "ada"),)) == ["a.eml"]
    assert mails.names("plumber", until=1_650_000_000.0) == ["sub/d.md"]


def test_hits_come_with_what_their_documents_say(mails: Index) -> None:
    [hit] = mails.search("plumber from:ada")
    assert hit.metadata.sender == ("Ada Löwe <ada@example.org>",)
    assert hit.metadata.created == "2024-03-01T12:00:00+00:00"
    assert hit.facts.title == "Invoice"


def test_metadata_go_with_their_file(index: Index) -> None:
    write_mail(index, "a.eml", "ada@example.org", "Fri, 1 Mar 2024 12:00:00 +0000", "Invoice")
    index.run()
    assert index.names("plumber", metadata=(("from", "ada"),)) == ["a.eml"]
    index.write("a.eml", "Plain text now.\n")
    index.run()
    assert index.names("plain", metadata=(("from", "ada"),)) == []


def test_secrets_in_metadata_are_masked(index: Index) -> None:
    write_mail(index, "a.eml", "ada@example.org", "Fri, 1 Mar 2024 12:00:00 +0000", "password = 'kX9#mQ2$vL7pR4wZ'")
    index.run()
    [hit] = index.search("plumber")
    assert "kX9#mQ2$vL7pR4wZ" not in repr(hit)


@pytest.mark.parametrize("query", ["camera:x100v", "camera:fujifilm", 'camera:"Fujifilm X100V"'])
def test_photos_are_found_by_their_camera(mails: Index, query: str) -> None:
    assert mails.names(query) == ["e.jpg"]


def test_facets_count_what_is_in_scope(mails: Index) -> None:
    facets = mails.searcher.facets(mails.request(""))

    assert facets.n_files == 5
    assert facets.types == (FacetValue("email", 2), FacetValue("markdown", 2), FacetValue("jpeg", 1))
    assert facets.languages == (FacetValue("en", 3), FacetValue("de", 1))
    assert facets.tags == (FacetValue("tax", 2), FacetValue("House", 1))
    assert [value for value, _ in facets.years][-1] == "2020" or FacetValue("2020", 1) in facets.years
    assert facets.directories == (FacetValue(f"{mails.root}/", 4), FacetValue(f"{mails.root}/sub", 1))


def test_facets_follow_the_filters_of_a_request(mails: Index) -> None:
    assert mails.searcher.facets(mails.request("type:email from:ada")).n_files == 1
    assert mails.searcher.facets(mails.request("type:emial tax")).n_files == 5  # it is searched for as words
    within = mails.searcher.facets(mails.request("", scope=(file_path(mails.root / "sub"),)))
    assert (within.n_files, within.types) == (1, (FacetValue("markdown", 1),))


def test_tracked_directories_are_counted_as_a_whole_before_those_below_them(index: Index, tmp_path: Path) -> None:
    for name in ("years/1995/a.md", "years/1995/b.md", "years/1996/c.md"):
        index.write(name, ENGLISH)
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.md").write_text(ENGLISH)
    index.run()
    index.run(other)
    counts = index.searcher.facets(index.request("")).directories
    assert counts == (FacetValue(f"{index.root}/", 3), FacetValue(f"{other}/", 1), FacetValue(f"{index.root}/years", 3))


def test_filters_alone_list_the_files_they_leave_newest_first(mails: Index) -> None:
    everything = mails.searcher.search(mails.request("type:email"))
    assert not everything.is_weak
    assert [os.path.splitext(hit.path)[1] for hit in everything.hits] == [".eml", ".eml"]
    dates = [hit.metadata.created for hit in everything.hits]
    assert dates == sorted(dates, reverse=True)

    by_option = mails.searcher.search(mails.request("", kinds=("email",)))
    assert [hit.path for hit in by_option.hits] == [hit.path for hit in everything.hits]
    assert len(mails.searcher.search(mails.request("from:ada")).hits) == 1


@pytest.mark.parametrize("query", ["", "heading:nothing"])
def test_a_query_without_words_or_filters_finds_nothing(mails: Index, query: str) -> None:
    assert mails.searcher.search(mails.request(query)).hits == ()
