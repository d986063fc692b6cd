"""What people paste is found: the files of a stack trace at their lines, and the message of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from indexes import Index
from pasted_texts import FILES, TEXTS, Pasted

from directory_indexer.embedding.embedded import EmbeddedEmbedder
from directory_indexer.ranking.query import MAX_CHARACTERS
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.embedding import Embedder


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    yield from _shop(tmp_path_factory.mktemp("pasted"), None)


@pytest.fixture(scope="module")
def shop_by_meaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    yield from _shop(tmp_path_factory.mktemp("pasted by meaning"), EmbeddedEmbedder())


def _shop(directory: Path, provider: Embedder | None) -> Iterator[Index]:
    index = Index(root=directory / "tree", data_dir=directory / "data", provider=provider)
    for name, text in FILES.items():
        index.write(name, text)
    index.run()
    yield index
    index.close()


@pytest.mark.parametrize("pasted", TEXTS, ids=lambda pasted: pasted.name)
def test_the_first_hit_of_a_pasted_text_is_what_it_is_about(shop: Index, pasted: Pasted) -> None:
    _check(shop, pasted, SearchMode.KEYWORD)


@pytest.mark.slow
@pytest.mark.parametrize("pasted", TEXTS, ids=lambda pasted: pasted.name)
def test_so_it_is_where_meaning_counts_too(shop_by_meaning: Index, pasted: Pasted) -> None:
    _check(shop_by_meaning, pasted, SearchMode.HYBRID)


def _check(index: Index, pasted: Pasted, mode: SearchMode) -> None:
    result = index.searcher.search(index.request(pasted.text, mode=mode))
    assert not result.is_weak
    first = result.hits[0]
    assert _name(index, first.path) == pasted.file
    if pasted.line:
        assert first.excerpt.line == pasted.line


def _name(index: Index, path: str) -> str:
    return path.removeprefix(f"{index.root}/")


def test_own_frames_come_first_the_deepest_before_all_and_those_of_libraries_not_at_all(shop: Index) -> None:
    trace = next(one.text for one in TEXTS if one.name == "node")
    hits = shop.search(trace, mode=SearchMode.KEYWORD)
    assert [(_name(shop, hit.path), hit.excerpt.line) for hit in hits[:2]] == [
        ("web/src/cart.js", 12),
        ("web/src/checkout.ts", 6),
    ]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert not any("named_line" in dict(hit.explanation.signals) for hit in hits[2:])


def test_a_file_of_a_library_is_not_taken_for_an_own_one_of_the_same_name(shop: Index) -> None:
    trace = '  File "/usr/lib/python3/dist-packages/sqlalchemy/orders/db.py", line 5, in load\nValueError: unofficial\n'
    hits = shop.search(f"Traceback (most recent call last):\n{trace}", mode=SearchMode.KEYWORD)
    assert not any("named_line" in dict(hit.explanation.signals) for hit in hits)


def test_of_files_with_one_name_the_one_is_meant_that_has_the_words_of_the_frame(shop: Index) -> None:
    trace = (
        'Traceback:\n  File "/elsewhere/db.py", line 5, in vacuum\n    return connect(path).compact()\nOSError: full\n'
    )
    first, *_ = shop.search(trace, mode=SearchMode.KEYWORD)
    assert (_name(shop, first.path), first.excerpt.line) == ("tools/db.py", 5)


def test_a_frame_behind_the_end_of_a_file_that_has_become_shorter_still_names_it(shop: Index) -> None:
    first, *_ = shop.search("web/src/cart.js:999", mode=SearchMode.KEYWORD)
    assert _name(shop, first.path) == "web/src/cart.js"


def test_frames_are_found_only_where_a_search_looks(shop: Index) -> None:
    hits = shop.search("web/src/cart.js:12 total", mode=SearchMode.KEYWORD, globs=("docs/**",))
    assert not any(_name(shop, hit.path).startswith("web/") for hit in hits)


def test_a_longer_answer_to_a_trace_goes_on_where_a_shorter_one_ended(shop: Index) -> None:
    trace = next(one.text for one in TEXTS if one.name == "java")
    short, long = (shop.search(trace, mode=SearchMode.KEYWORD, limit=limit) for limit in (3, 20))
    assert [hit.chunk_id for hit in long[:3]] == [hit.chunk_id for hit in short]


@pytest.mark.parametrize("n_characters", [3_000, MAX_CHARACTERS, 10 * MAX_CHARACTERS])
@pytest.mark.parametrize("is_last", [True, False])
def test_the_rarest_words_of_a_long_text_are_looked_for(shop: Index, n_characters: int, *, is_last: bool) -> None:
    filler = ("bread errors sessions tables " + " ".join(f"word{n}" for n in range(n_characters)))[: n_characters - 100]
    told = "the table zebra_orders is made by migration"
    query = f"{filler} {told}" if is_last else f"{told} {filler}"
    first, *_ = shop.search(query, mode=SearchMode.KEYWORD)
    assert _name(shop, first.path) == "docs/migrations.md"


def test_a_filter_that_no_file_meets_is_searched_for_as_words_and_named(shop: Index) -> None:
    request = shop.request("connection from:10.1.2.3 to:10.9.8.7 refused", mode=SearchMode.KEYWORD)
    notes = shop.searcher.search(request).note_texts
    assert "no indexed file has from '10.1.2.3': from:10.1.2.3 is searched for as words" in notes
    assert "no indexed file has to '10.9.8.7': to:10.9.8.7 is searched for as words" in notes


def test_filters_that_files_meet_bind_and_those_that_none_meets_together_are_named(shop: Index) -> None:
    request = shop.request("table path:docs type:python", mode=SearchMode.KEYWORD)
    result = shop.searcher.search(request)
    assert result.hits == ()
    assert result.note_texts == ("no indexed file here meets path:docs type:python",)
    assert shop.names("table path:docs", mode=SearchMode.KEYWORD)[0] == "docs/migrations.md"


@pytest.mark.parametrize(
    ("query", "options", "void"),
    [
        ("type:pdf path:docs", {}, "type:pdf"),
        ("table", {"kinds": ("pdf", "docx")}, "type:pdf OR type:docx"),
        ("", {"kinds": ("python",), "since": 0.0, "until": 86_400.0}, "until:1970-01-01"),
        ("table path:docs", {"metadata": (("author", "Nobody"),)}, "author:Nobody"),
        ("table since:1990", {"globs": ("*.zig",)}, "*.zig"),
        ("table path:docs -path:o", {}, "-path:o"),
    ],
)
def test_only_the_filters_that_no_file_meets_are_named(
    shop: Index, query: str, options: dict[str, Any], void: str
) -> None:
    result = shop.searcher.search(shop.request(query, mode=SearchMode.KEYWORD, **options))
    assert (result.hits, result.note_texts) == ((), (f"no indexed file here meets {void}",))


def test_a_filter_in_or_that_no_file_meets_leaves_the_other_one_binding(shop: Index) -> None:
    names = shop.names("table (path:docs OR path:nowhere)", mode=SearchMode.KEYWORD)
    assert names
    assert all(name.startswith("docs/") for name in names)


def test_a_date_is_always_meant(shop: Index) -> None:
    result = shop.searcher.search(shop.request("table until:1990", mode=SearchMode.KEYWORD))
    assert (result.hits, result.note_texts) == ((), ("no indexed file here meets until:1990",))


def test_no_filter_is_blamed_for_what_alternatives_exclude(index: Index) -> None:
    index.write("docs/plan.md", "Nothing.")
    index.write("src/plan.py", "Nothing = 1")
    index.run()
    result = index.searcher.search(index.request("(path:src/ OR path:lib/) type:markdown"))
    assert not any("meets type:markdown" in note for note in result.note_texts)
