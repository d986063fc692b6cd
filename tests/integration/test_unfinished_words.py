"""The word that is being typed stands for all words that begin so; whole words come first."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from trees import plant

from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index

MOST = 20
WITHIN = 24


def typed(index: Index, query: str, mode: SearchMode = SearchMode.KEYWORD, limit: int = WITHIN) -> list[str]:
    return index.names(query, mode=mode, limit=limit, is_prefix=True, only_good=True)


@pytest.fixture
def notes(index: Index) -> Index:
    plant(
        index.root,
        {
            "rules.md": "Pets: Haustiere are welcome, dogs too.\n",
            "house.md": "Das Haus hat ein Dach. Haus, Haus, Haus.\n",
            "flask.md": "Register the blueprint on the application.\n",
            "build.md": "The build is blue and builds blueberries.\n",
            "cookies.md": "The session cookie is signed.\n",
            "coop.md": "The session of the cooperative begins.\n",
            **{f"filler{at}.md": f"Sessions of day {at} went well.\n" for at in range(6)},
        },
    )
    index.run()
    return index


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("blu", "flask.md"),
        ("bluepr", "flask.md"),
        ("bluepri", "flask.md"),
        ("Ha", "rules.md"),
        ("Haus", "rules.md"),
        ("Hausti", "rules.md"),
    ],
)
def test_a_file_is_found_by_the_beginning_of_a_word(notes: Index, query: str, name: str, mode: SearchMode) -> None:
    assert name in typed(notes, query, mode)


def test_whole_words_come_before_words_that_only_begin_so(notes: Index) -> None:
    assert typed(notes, "haus")[:2] == ["house.md", "rules.md"]
    scores = [hit.score for hit in notes.search("haus", mode=SearchMode.KEYWORD, is_prefix=True)]
    assert scores == sorted(scores, reverse=True)


def test_words_that_have_been_typed_count_beside_the_one_that_is_being_typed(notes: Index) -> None:
    assert typed(notes, "session cook")[0] == "cookies.md"
    assert typed(notes, "session coo")[:2] in (["coop.md", "cookies.md"], ["cookies.md", "coop.md"])
    assert "cookies.md" in typed(notes, "session c")


def test_a_last_word_too_short_to_be_a_prefix_is_searched_as_a_whole_word(index: Index) -> None:
    plant(index.root, {f"{letter}.md": f"Take vitamin {letter} every day.\n" * 4 for letter in "abcdk"})
    index.run()
    for mode in (SearchMode.KEYWORD, SearchMode.HYBRID):
        names = typed(index, "vitamin c", mode)
        assert (names[0], sorted(names)) == ("c.md", ["a.md", "b.md", "c.md", "d.md", "k.md"])


def test_meaning_does_not_outvote_the_beginning_of_a_word(notes: Index) -> None:
    assert typed(notes, "bluepri", SearchMode.HYBRID) == ["flask.md"]


def test_the_beginning_of_a_word_is_no_typing_error(notes: Index) -> None:
    result = notes.searcher.search(notes.request("bluepri", is_prefix=True))
    assert (result.corrections, result.is_weak) == ((), False)


def test_an_answer_of_words_that_only_begin_so_keeps_its_notes(notes: Index) -> None:
    result = notes.searcher.search(notes.request("path:cellar bluepri", mode=SearchMode.KEYWORD, is_prefix=True))
    assert [hit.path.rpartition("/")[2] for hit in result.hits] == ["flask.md"]
    expected = "no indexed file has 'cellar' in its path: path:cellar is searched for as words"
    assert [note.text for note in result.notes] == [expected]


def test_a_word_that_begins_nothing_is_looked_for_as_ever(notes: Index) -> None:
    assert notes.search("bluprint", is_prefix=True) == notes.search("bluprint")


@pytest.mark.parametrize("query", ["blueprint ", "path:blu", "-blu", "b", '"blueprint"', "blue*", "", "   ", '"', "*"])
def test_what_is_no_beginning_is_looked_for_as_ever(notes: Index, query: str) -> None:
    assert notes.search(query, is_prefix=True) == notes.search(query)


def test_without_being_typed_a_word_begins_nothing(notes: Index) -> None:
    assert "flask.md" not in notes.names("blu", mode=SearchMode.KEYWORD)


def test_each_file_is_shown_once(index: Index) -> None:
    index.write("long.md", "\n\n".join(f"## Part {at}\n\nblueprints {at} " + "word " * 60 for at in range(30)))
    index.write("short.md", "A blueprint among many other words that fill this file with something else.\n")
    index.run()
    hits = index.search("bluep", mode=SearchMode.KEYWORD, is_prefix=True)
    assert sorted(hit.path.rpartition("/")[2] for hit in hits) == ["long.md", "short.md"]


def test_copies_take_the_place_of_no_other_file(index: Index) -> None:
    plant(index.root, {f"copy{at}.md": f"zebrafishes one two three{' ' * at}\n" for at in range(50)})
    index.write("other.md", "Of zebrafishes in the river, there are many more words to say than in a copy.\n")
    index.run()
    assert "other.md" in typed(index, "zebraf")


def test_a_passage_that_is_filtered_out_hides_no_other_of_its_file(index: Index) -> None:
    parts = ("blueprints blueprints blueprints", "blueprints and a needle")
    index.write("long.md", "\n\n".join(f"## Part\n\n{part} " + "word " * 400 for part in parts))
    index.run()
    assert index.names("bluep", mode=SearchMode.KEYWORD, is_prefix=True, grep="needle") == ["long.md"]


def test_a_longer_answer_continues_a_shorter_one(index: Index) -> None:
    plant(index.root, {f"{at}.md": f"{'harbour ' * (at % 7 + 1)}of town {at}, {'and ' * at}more\n" for at in range(60)})
    index.run()
    assert typed(index, "harbour", limit=48)[:24] == typed(index, "harbour", limit=24)


def test_beginnings_are_found_in_the_scope_alone(notes: Index) -> None:
    assert typed(notes, "blu path:rules") == []
    assert typed(notes, "path:flask bluep") == ["flask.md"]
    assert typed(notes, "-application bluep") == []


def grown(n_words: int) -> dict[str, str]:
    """Make words of syllables, so that many begin alike, each in a file with others of them."""
    words = ["".join(parts) for parts in product(("ka", "kan", "lo", "lom"), ("ri", "rit", "so"), ("tu", "mel", "dan"))]
    longer = [f"{word}{ending}" for word in words for ending in ("", "ax", "axon", "be")]
    mixed = sorted(longer, key=lambda word: word[::-1])
    others = zip(longer, mixed[7:], strict=False)
    return {word: " ".join(two) for word, two in zip(mixed[:n_words], others, strict=False)}


@pytest.mark.parametrize("n_words", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_a_file_stays_in_the_list_once_few_files_have_such_a_word(index: Index, n_words: int) -> None:
    words = grown(n_words)
    texts = {f"n{at}/{at}.md": f"{word} beside {others}\n" for at, (word, others) in enumerate(words.items())}
    plant(index.root, texts)
    index.run()
    missing = []
    for at, word in enumerate(words):
        for n_letters in range(3, len(word) + 1):
            prefix = word[:n_letters]
            n_files = sum(any(one.startswith(prefix) for one in text.split()) for text in texts.values())
            if n_files < MOST and f"n{at}/{at}.md" not in typed(index, prefix):
                missing.append((word, prefix))
    assert not missing


@pytest.mark.parametrize("n_words", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_a_name_stays_in_the_list_once_few_files_have_such_a_name(index: Index, n_words: int) -> None:
    names = [f"{word}.{kind}" for word, kind in zip(grown(n_words), ("md", "bin") * n_words, strict=False)]
    plant(index.root, {name: b"\x00\x01\x02" * 50 if name.endswith("bin") else "Nothing.\n" for name in names})
    index.run()
    missing = []
    for name in names:
        for n_letters in range(3, len(name) + 1):
            prefix = name[:n_letters]
            if sum(one.startswith(prefix) for one in names) < MOST and name not in typed(index, prefix):
                missing.append((name, prefix))
    assert not missing


@pytest.mark.parametrize("typed", ["4.17.2", "CVE-2021-44", "31.12.20", "LedgerJob.ja"])
def test_a_name_of_several_words_is_found_while_its_last_one_is_typed(index: Index, typed: str) -> None:
    index.write("right.md", "Mended CVE-2021-44228 in 4.17.21 on 31.12.2025, and LedgerJob.java is next.\n")
    for number in (2, 17, 20, 44):
        index.write(f"meeting-{number}.md", f"Meeting {number} of 2021: 44 of 31 came, 4 left, 12 of the ledger job.\n")
    index.run()
    first, *_ = index.search(typed, mode=SearchMode.KEYWORD, is_prefix=True)
    assert first.path == f"{index.root}/right.md"
