"""Pages of one answer: together they are the answer."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from directory_indexer.core.paths import FilePath
from directory_indexer.ranking import ordering, plan
from directory_indexer.ranking.plan import plan_match
from directory_indexer.ranking.query import parse_query
from directory_indexer.search import retrieval
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index


@pytest.mark.parametrize("mode", SearchMode)
def test_a_longer_answer_begins_with_the_shorter_one(index: Index, mode: SearchMode) -> None:
    generator = random.Random(7)  # noqa: S311 - texts, not secrets
    words = [f"word{number}" for number in range(60)]
    for number in range(160):
        text = "harbour " * generator.randint(1, 5) + " ".join(generator.choices(words, k=generator.randint(5, 60)))
        index.write(f"{number % 7}/{number}.md", text)
    index.run()
    answers = [index.search("harbour word3 word7 town", mode=mode, limit=limit) for limit in (10, 50, 60, 110)]
    whole = [hit.chunk_id for hit in answers[-1]]
    assert len(whole) == 110
    for shorter in answers:
        assert [hit.chunk_id for hit in shorter] == whole[: len(shorter)]
    scores = [hit.score for hit in answers[-1]]
    assert scores == sorted(scores, reverse=True)


def test_all_shows_the_nearest_passages_however_far_they_are(index: Index) -> None:
    index.write("keys.md", "How to rotate the signing keys of the token service.\n")
    index.run()
    assert not index.search("carrots", only_good=True)
    (hit,) = index.search("carrots", only_good=False)
    assert hit.score == 0


@pytest.mark.parametrize(("ending", "n_ranked"), [("md", 40), ("py", 80)])
def test_by_words_twice_as_many_passages_of_code_are_ranked(
    index: Index, monkeypatch: pytest.MonkeyPatch, ending: str, n_ranked: int
) -> None:
    for number in range(100):
        index.write(f"{number}.{ending}", f"harbour = {number}\n")
    index.run()
    ranked: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        ranked.append(len(arguments[1]))
        return ordering.rank(*arguments, **options)

    monkeypatch.setattr(retrieval, "rank", counted)
    index.names("harbour", mode=SearchMode.KEYWORD, limit=10)
    assert ranked == [n_ranked]


@pytest.mark.parametrize("mode", SearchMode)
def test_copies_take_no_place_from_other_passages(index: Index, mode: SearchMode) -> None:
    for number in range(70):
        index.write(f"copies/{number}.md", "harbour harbour harbour")
    for number in range(12):
        index.write(f"others/{number}.md", f"harbour {'of a town far away ' * 3} number{number}")
    index.run()
    found = index.names("harbour", mode=mode, limit=10)
    assert len([name for name in found if name.startswith("others/")]) == 9


def test_what_has_only_common_words_follows_what_has_a_rare_one(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_ENOUGH_CHUNKS", 2)
    monkeypatch.setattr(plan, "_MANY_CHUNKS", 10)
    for number in range(70):
        index.write(f"{number}.md", f"{'kernel ' if number < 4 else ''}memory of subject{number}\n")
    index.run()
    with index.docstore.snapshot() as snapshot:
        assert plan_match(parse_query("kernel memory"), snapshot.words).narrow
    pages = [index.names("kernel memory", mode=SearchMode.KEYWORD, limit=limit) for limit in (3, 10, 70)]
    assert [len(page) for page in pages] == [3, 10, 70]
    assert set(pages[1][:4]) == {"0.md", "1.md", "2.md", "3.md"}
    assert pages[2][:10] == pages[1]
    assert pages[1][:3] == pages[0]


@pytest.fixture
def common(index: Index, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index in which nearly every passage has a word, so that searches weigh one in five, which fill an answer."""
    monkeypatch.setattr(retrieval, "_MAX_WEIGHED", 45)
    monkeypatch.setattr(retrieval, "_MAX_WEIGHED_OF_SEVERAL", 45)
    monkeypatch.setattr(plan, "_ENOUGH_CHUNKS", 20)
    monkeypatch.setattr(plan, "_MANY_CHUNKS", 5)
    for number in range(240):
        animals = {7: "zebra", 11: "llama"}.get(number % 50, "") + (" camel" if number % 2 else "")
        index.write(f"{number}.md", f"{animals} memory of subject{number}, {'x ' * (number % 90)}")
    index.write("things/memory.md", "What this is about stands in its name.")
    index.write("headed.md", "# Memory\n\nAnd here it stands in the heading.")
    index.run()
    return index


def test_a_word_that_all_have_is_found_first_where_it_is_a_name_or_a_heading(common: Index) -> None:
    assert set(common.names("memory", mode=SearchMode.KEYWORD, limit=2)) == {"things/memory.md", "headed.md"}


def test_a_part_of_what_has_a_common_word_is_weighed_and_all_of_it_where_more_is_asked(common: Index) -> None:
    with common.docstore.snapshot() as snapshot:
        all_of_them = snapshot.words.ranked('"memory"', file_ids_json=None, limit=300)
        part = snapshot.words.ranked('"memory"', file_ids_json=None, limit=300, one_in=12)
        assert snapshot.words.count('"memory"') == len(all_of_them) == 242
    assert 0 < len(part) < 60
    assert set(part) < set(all_of_them)
    pages = [common.names("memory", mode=SearchMode.KEYWORD, limit=limit) for limit in (5, 40, 300)]
    assert [len(page) for page in pages] == [5, 40, 242]
    assert pages[1][:5] == pages[0]
    assert pages[2][:40] == pages[1]


def test_a_rare_word_is_never_passed_over_beside_one_that_all_have(common: Index) -> None:
    with_both = {f"{number}.md" for number in (7, 57, 107, 157, 207)}
    for query in ("zebra memory", "zebra memory -lion", '"memory of" zebra'):
        # The file of that name and the one with that heading may come before a long text with both words.
        assert set(common.names(query, mode=SearchMode.KEYWORD, limit=7)) > with_both


def test_what_has_all_of_several_common_words_is_never_passed_over(common: Index) -> None:
    for number in range(200):
        common.write(f"{number}-oasis.md", f"oasis in the desert {'x ' * (number % 90)}")
    with_both = {f"both/{number}.md" for number in range(8)}
    for name in with_both:
        common.write(name, f"A camel at an oasis, {name}. {'y ' * 200}")
    common.run()
    assert set(common.names("camel oasis", mode=SearchMode.KEYWORD, limit=40)) > with_both


def test_a_common_word_is_found_in_the_one_file_that_may_be_searched(common: Index) -> None:
    assert common.names("memory", scope=(FilePath(str(common.root / "63.md")),), mode=SearchMode.KEYWORD) == ["63.md"]
