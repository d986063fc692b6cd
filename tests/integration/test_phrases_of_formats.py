"""Phrases that stand in files of many formats are found as they are quoted, however the files were made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from indexes import Index

from directory_indexer.paths import file_path
from directory_indexer.relevance.analyzer import query_words
from directory_indexer.relevance.forms import phrase_of
from directory_indexer.searching.texts import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = Path(__file__).parent.parent / "data" / "formats"

MAIL = {
    "alternatives/alt_plain_stub.eml": ["real content about a bilby"],
    "alternatives/html_stub_newsletter.eml": ["aviary reopens on the first of April"],
    "alternatives/x_gm_html_plain_same.eml": ["Vervet 17 kg"],
    "mail/smime_opaque.eml": ["opaque signed body platypus"],
    "mail/letter.eml.p7m": ["opaque signed body platypus"],
    "mail/dsn.eml": ["no such user emuwren", "original fairywren"],
    "mail/page.mhtml": ["Blink saved page “cockatoo” nest", "inside iframe galah"],
    "mail/flowed.eml": ["the wombat sleeps well"],
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("formats")
    shutil.copytree(FILES, place / "files")
    index = Index(place / "files", place / "data")
    index.run()
    yield index
    index.close()


def paths_of(index: Index, name: str) -> list[str]:
    with index.docstore.snapshot() as snapshot:
        paths = [path for root in snapshot.directories.all() for path in snapshot.files.within(root)]
    whole = str(file_path(str(index.root / name)))
    return [path for path in paths if path == whole or path.startswith(f"{whole}!")]


def has_phrase(index: Index, name: str, phrase: str) -> bool:
    with index.docstore.snapshot() as snapshot:
        chunks = [chunk.chunk_id for path in paths_of(index, name) for chunk in snapshot.chunks.of_file(path)]
        return bool(snapshot.words.matching(phrase_of(tuple(query_words(phrase))), chunks))


def text_of(index: Index, name: str) -> str:
    with index.docstore.snapshot() as snapshot:
        return "\n".join(
            read_text(snapshot, path, None).text for path in paths_of(index, name) if snapshot.chunks.has_text(path)
        )


@pytest.mark.parametrize(("name", "phrase"), [(name, phrase) for name, all_ in MAIL.items() for phrase in all_])
def test_what_a_message_says_in_any_of_its_parts_is_found(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)
