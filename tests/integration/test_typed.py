"""What is typed is found, first: words, names, numbers and parts of words, whatever is like them in meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from indexes import Index

from directory_indexer.core.paths import FilePath
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXTS = {
    "bank.md": "Please pay to DE89 3704 0044 0532 0130 00 before the end of the month.",
    "book.md": "The handbook has the number ISBN 978-3-16-148410-0 on its back.",
    "call.md": "The office answers at +49 89 1234567 from nine to five.",
    "card.md": "The network card is 00:1A:2B:3C:4D:5E and sits in the second slot.",
    "lease.md": "Der Mietvertrag hat eine Kündigungsfrist von drei Monaten.",
    "meeting.md": "The meeting of 31.01.2026 was about the budget of the harbour.",
    "release.md": "In the year 2024 the author was re-elected by the members of the U.S.A. branch.",
    "parser.md": "The lexer is in C++ and the rest of it in Python.",
    "letters.md": "A grade of c is enough for the rest of it.",
    "hash.md": "The commit 41a1615b9c0de7f mends the importer of urllib3 for log4j users.",
    "log.md": "The log of the importer names 4 users and 3 urls.",
    "flag.md": "Call it with --dry-run to see what would happen.",
    "run.md": "A dry run of the river in summer is nothing new.",
    "tokyo.md": "東京都庁 大阪、目次。猫が好き。",
    "korean.md": "회의는 목요일 오후에 열립니다.",
    "taipei.md": "臺灣的圖書館在週末開放。",
    "beijing.md": "中国的电脑价格下降。",
    "jerusalem.md": "התינוק ישן בבית הגדול.",
    "party.md": "The party is on Friday 🎉👍🏽 at the pier.",
    "street.md": "Herr Müller wohnt in Großröhrsdorf.",
    "bundle.js": f"{';'.join(f'function f{at}(){{}}' for at in range(400))};kestrelRanges();{'x' * 3000};range()",
    "page.html": "{% extends 'base.html' %}\n<p id=\"harbourStatus\">Open</p>\n<script>moorBoat()</script>",
    "json.md": "The importer takes --json to write rows, and #34 asked for it.",
    "signs.py": f"class A:\n    def __kelp__(self):\n        return {' + '.join(map('self.x{}'.format, range(60)))}\n",
    "quay.md": "\n\n".join(
        f"# Part {number}\n\n{sentence} {'The boats lie at the quay and the nets are dry. ' * 40}"
        for number, sentence in enumerate(["The river branched here.", "It is calm.", "A cormorant sat on the pole."])
    ),
    "copies/report (1).md": "The colugo report of the spring.",
    "copies/report.md": "The colugo report of the spring.",
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place: Path = tmp_path_factory.mktemp("typed")
    (place / "docs").mkdir()
    index = Index(root=place / "docs", data_dir=place / "data")
    for name, text in TEXTS.items():
        index.write(name, f"{text}\n")
    for number in range(30):
        index.write(f"notes/{number}.md", f"Note {number} is about the budget, the branch, the rest and the commit.\n")
    for number in range(500):
        index.write(f"rows/{number}.md", f"Row {number} of json: 34 more. {'Kelp.' * (number < 300)}\n")
    index.run()
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("DE89370400440532013000", "bank.md"),
        ("DE89 3704 0044 0532 0130 00", "bank.md"),
        ("9783161484100", "book.md"),
        ("+49 (89) 1234567", "call.md"),
        ("4989 1234567", "call.md"),
        ("00-1a-2b-3c-4d-5e", "card.md"),
        ("2026-01-31", "meeting.md"),
        ("reelected", "release.md"),
        ("re-elected", "release.md"),
        ("USA", "release.md"),
        ("C++", "parser.md"),
        ("urllib3", "hash.md"),
        ("log4j", "hash.md"),
        ("41a1615", "hash.md"),
        ("Frist", "lease.md"),
        ("Vertrag", "lease.md"),
        ("--dry-run", "flag.md"),
        ("--json", "json.md"),
        ("#34", "json.md"),
        ("kestrelRanges range", "bundle.js"),
        ("harbourStatus", "page.html"),
        ("moorBoat", "page.html"),
        ("猫", "tokyo.md"),
        ('"東京都庁 大阪"', "tokyo.md"),
        ('"목요일 오후에"', "korean.md"),
        ("图书馆", "taipei.md"),
        ("電腦", "beijing.md"),
        ("🎉", "party.md"),
        ("👍", "party.md"),
        ("Mueller", "street.md"),
        ("Grossroehrsdorf", "street.md"),
        ("was about the budget of the harbour", "meeting.md"),
        ("__kelp__", "signs.py"),
    ],
)
@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
def test_what_stands_in_one_file_is_first_and_not_called_weak(
    typed: Index, query: str, name: str, mode: SearchMode
) -> None:
    result = typed.searcher.search(typed.request(query, mode=mode, only_good=True))
    assert [hit.path.removeprefix(f"{typed.root}/") for hit in result.hits[:1]] == [name]
    assert not result.is_weak


def test_a_word_within_others_is_named_in_the_answer(typed: Index) -> None:
    (correction,) = typed.searcher.search(typed.request("Frist", mode=SearchMode.KEYWORD)).corrections
    assert correction.note == "no text has the word Frist; searched for words that contain it"


def test_a_copy_stands_behind_its_original(typed: Index) -> None:
    (hit,) = typed.search("colugo", mode=SearchMode.KEYWORD)
    assert hit.path.endswith("/copies/report.md")


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
def test_each_passage_of_a_file_with_another_rare_word_is_shown(typed: Index, mode: SearchMode) -> None:
    hits = typed.searcher.search(typed.request("branched cormorant", mode=mode, only_good=True)).hits
    assert [hit.path.endswith("/quay.md") for hit in hits[:2]] == [True, True]
    with typed.docstore.snapshot() as snapshot:
        chunks = snapshot.chunks.by_id([hit.chunk_id for hit in hits[:2]])
    both = "".join(chunks[hit.chunk_id].chunk.text for hit in hits[:2])
    assert "branched" in both
    assert "cormorant" in both


@pytest.mark.parametrize("query", ["בית", "לתינוק"])
def test_a_hebrew_word_is_found_behind_the_words_that_are_joined_to_it(typed: Index, query: str) -> None:
    assert typed.names(query, mode=SearchMode.KEYWORD)[:1] == ["jerusalem.md"]


def test_the_words_of_a_short_file_count_for_each_of_its_passages(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data")
    section = "The boats lie at the quay and the nets are dry. " * 2
    mooring = "# Mooring\n\nHow to moor a kestrel boat in"
    index.write("one.md", f"{mooring} spring. {section}\n\n# Nets\n\nThe nets are mended. {section}\n")
    index.write("two.md", f"{mooring} summer. {section}\n\n# Fees\n\nThe tariff is paid. {section}\n")
    index.write("long.md", "\n\n".join(f"# Part {number}\n\n{section}" for number in range(12)))
    index.run()
    assert index.names("moor a kestrel boat tariff", mode=SearchMode.KEYWORD)[0] == "two.md"
    with index.docstore.snapshot() as snapshot:
        chunks = {name: snapshot.chunks.of_file(FilePath(str(index.root / name))) for name in ("two.md", "long.md")}
        beside = snapshot.chunks.other_texts_of_files([*chunks["two.md"], *chunks["long.md"]])
    first, second = chunks["two.md"]
    assert len(chunks["long.md"]) > 4
    assert beside == {first.chunk_id: (second.chunk.text,), second.chunk_id: (first.chunk.text,)}
    index.close()
