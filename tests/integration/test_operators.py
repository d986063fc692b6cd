"""Phrases, exclusions and headings bind hits, also those that only meaning finds; phrases do where they can."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder

from directory_indexer.core.errors import UsageError
from directory_indexer.ranking.filter_fields import FIELDS
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    import numpy as np
    from indexes import Index
    from numpy.typing import NDArray

_TEXTS = {
    "red.md": "# Boats\n\nA red boat lies in the harbour.\n",
    "blue.md": "# Boats\n\nA blue boat lies in the harbour.\n",
    "walk.md": "# Walks\n\nA walk along the harbour to the boat, which is red.\n",
}
_RED = {f"red{n}.md": f"# Boats\n\nRed boat number {n} lies in the harbour.\n" for n in range(3)}


@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ('"red boat"', {"red.md"}),
        ("harbour -red", {"blue.md"}),
        ("harbour heading:boats", {"red.md", "blue.md"}),
        ("harbour -heading:boats", {"walk.md"}),
    ],
)
def test_no_mode_finds_what_the_query_rules_out(index: Index, query: str, wanted: set[str], mode: SearchMode) -> None:
    for name, text in _TEXTS.items():
        index.write(name, text)
    index.run()
    assert set(index.names(query, mode=mode)) == wanted


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
@pytest.mark.parametrize("query", ["heading:boats", "type:markdown heading:boats", 'heading:"Boats"'])
def test_what_stands_below_a_heading_is_a_good_hit_where_nothing_else_is_asked_for(
    index: Index, query: str, mode: SearchMode
) -> None:
    for name, text in _TEXTS.items():
        index.write(name, text)
    index.run()
    assert set(index.names(query, mode=mode)) == {"red.md", "blue.md"}
    assert not index.searcher.search(index.request(query, mode=mode)).is_weak


@pytest.mark.parametrize("mode", SearchMode)
def test_what_is_quoted_among_other_words_is_in_every_hit_where_there_are_enough(
    index: Index, mode: SearchMode
) -> None:
    for name, text in (_TEXTS | _RED).items():
        index.write(name, text)
    index.run()
    result = index.searcher.search(index.request('harbour "red boat"', mode=mode))
    assert all("red boat" in hit.text.lower() for hit in result.hits)
    assert len(result.hits) == 4
    assert not any("as quoted" in note for note in result.note_texts)


@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize(
    ("query", "first", "note"),
    [
        ('harbour "red boat"', "red.md", 'one passage has "red boat" as quoted; others follow'),
        ('"boat harbour"', "", 'no passage has "boat harbour" as quoted; searched for its words one by one'),
    ],
)
def test_quotations_that_leave_little_are_relaxed_and_the_answer_says_so(
    index: Index, query: str, first: str, note: str, mode: SearchMode
) -> None:
    for name, text in _TEXTS.items():
        index.write(name, text)
    index.run()
    result = index.searcher.search(index.request(query, mode=mode))
    found = [hit.path.rpartition("/")[2] for hit in result.hits]
    assert sorted(found) == sorted(_TEXTS)
    assert found[0] == first or not first
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
    assert note in result.note_texts


@pytest.mark.parametrize("mode", SearchMode)
def test_what_a_sentence_quotes_binds_nothing(index: Index, mode: SearchMode) -> None:
    for name, text in (_TEXTS | _RED).items():
        index.write(name, text)
    index.run()
    query = 'where in the harbour is what they call a "red boat" and is it blue'
    result = index.searcher.search(index.request(query, mode=mode))
    assert {"blue.md", "walk.md"} <= {hit.path.rpartition("/")[2] for hit in result.hits}
    assert not any("as quoted" in note for note in result.note_texts)


@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize("query", ["-red", '-"red boat"', "-red -harbour", "-heading:boats", "-red type:md"])
def test_a_query_that_only_excludes_finds_nothing_of_that_and_says_why(
    index: Index, query: str, mode: SearchMode
) -> None:
    for name, text in _TEXTS.items():
        index.write(name, text)
    index.run()
    result = index.searcher.search(index.request(query, mode=mode))
    assert result.hits == ()
    assert "add what to look for" in " ".join(result.note_texts)
    assert index.searcher.search(index.request('"-red"', mode=mode)).hits
    assert index.names("-red heading:boats", mode=SearchMode.KEYWORD) == ["blue.md"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "harbour type:markdwon",
            "type:markdwon is searched for as words, since there is no type 'markdwon'; did you mean markdown?",
        ),
        ("harbour -type:markdwon", "did you mean markdown?"),
        ("harbour type:pfd", "did you mean pdf?"),
        ("harbour type:jsno", "did you mean json?"),
        ("type:markdwon", "did you mean markdown?"),
        ("harbour is:tset", "is:tset is searched for as words; did you mean is:test?"),
        ("harbour is:walrus", "is:walrus is searched for as words; there are is:test and is:generated"),
        ("harbour typpe:md", "typpe:md is searched for as words; did you mean type:md?"),
        ("harbour typpe:pfd", "typpe:pfd is searched for as words; did you mean type:pdf?"),
        ("harbour kind:md", "kind:md is searched for as words; did you mean type:md?"),
        ("harbour autor:anna", "did you mean author:anna?"),
        ("harbour since:7dogs", "since:7dogs is searched for as words"),
        ("harbour path:/etc", "no indexed file has '/etc' in its path"),
        ("harbour path:boats/*.py", "no indexed file has 'boats/*.py' in its path"),
    ],
)
def test_a_filter_that_nothing_can_meet_is_told(index: Index, query: str, words: str) -> None:
    index.write("boats/red.md", _TEXTS["red.md"])
    index.run()
    assert words in " ".join(index.searcher.search(index.request(query)).note_texts)
    assert index.searcher.search(index.request("harbour type:md path:boats")).note_texts == ()


def test_no_field_is_taken_for_a_misspelling_of_itself(index: Index) -> None:
    index.write("red.md", _TEXTS["red.md"])
    index.run()
    for field in FIELDS:
        notes = " ".join(index.searcher.search(index.request(f"harbour {field.word}:qzxv")).note_texts)
        assert (field.word, f"{field.word}:qzxv?" in notes) == (field.word, False)


@pytest.mark.parametrize(
    ("query", "globs", "wanted"),
    [
        ("harbour path:boats/r", (), {"boats/red.md"}),
        ("harbour path:OATS", (), {"boats/red.md", "boats/blue.md"}),
        ("harbour path:boats/*", (), {"boats/red.md", "boats/blue.md"}),
        ("harbour path:oats/*", (), {"boats/red.md", "boats/blue.md", "walk.md"}),
        ("harbour -path:boats", (), {"walk.md"}),
        ("harbour", ("b*.md", "/walk.md"), {"boats/blue.md", "walk.md"}),
        ("harbour", ("boats", "!red.md"), {"boats/blue.md"}),
        ("harbour", ("{root}/boats/red.md",), {"boats/red.md"}),
        ("harbour", ("{root}boats/red.md",), set()),
    ],
)
def test_paths_are_narrowed_by_parts_of_them_and_by_patterns(
    index: Index, query: str, globs: tuple[str, ...], wanted: set[str]
) -> None:
    for path, name in (("boats/red.md", "red.md"), ("boats/blue.md", "blue.md"), ("walk.md", "walk.md")):
        index.write(path, _TEXTS[name])
    index.run()
    patterns = tuple(one.format(root=index.root) for one in globs)
    assert set(index.names(query, globs=patterns)) == wanted


@pytest.mark.parametrize(
    ("name", "hint"), [("pyhton", "did you mean python?"), ("?", "code, docs, data"), ("foo", "code, docs, data")]
)
def test_a_type_that_there_is_not_is_said_to_be_none(index: Index, name: str, hint: str) -> None:
    index.write("red.md", _TEXTS["red.md"])
    index.run()
    with pytest.raises(UsageError, match=re.escape(f"unknown type '{name}'")) as refused:
        index.names("harbour", kinds=(name,))
    assert hint in (refused.value.hint or "")
    assert index.names(f"harbour type:{name}") == ["red.md"]
    assert index.names("harbour", kinds=("Markdown",)) == index.names("harbour", kinds=("docs",)) == ["red.md"]


def test_a_query_that_is_refused_goes_to_no_provider(index: Index) -> None:
    asked: list[str] = []

    class Listening(FakeEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            asked.append(text)
            return super().embed_query(text)

    index.write("red.md", _TEXTS["red.md"])
    index.run()
    index.provider = Listening()
    with pytest.raises(UsageError):
        index.names("harbour", kinds=("pyhton",))
    assert asked == []
    assert index.names("harbour") == ["red.md"]
    assert asked == ["harbour"]


@pytest.mark.parametrize(
    "query", ["harbour (blue OR lighthouse)", "harbour (lighthouse OR blue)", "harbour blue OR zither"]
)
def test_what_or_offers_and_a_passage_does_not_have_takes_nothing_from_it(index: Index, query: str) -> None:
    for name, text in (_TEXTS | {f"other{n}.md": f"# Sheds\n\nShed {n} is green.\n" for n in range(30)}).items():
        index.write(name, text)
    index.write("lamp.md", "# Lamps\n\nThe lighthouse has a lamp, and the keeper a zither.\n")
    index.run()
    (alone, *_), (offered, *_) = (
        index.searcher.search(index.request(one, mode=SearchMode.KEYWORD)).hits for one in ("harbour blue", query)
    )
    assert offered.path == alone.path == str(index.root / "blue.md")
    assert offered.score == pytest.approx(alone.score)
    assert dict(offered.explanation.signals)["keyword"] >= dict(alone.explanation.signals)["keyword"] - 1e-9


def test_what_or_offers_is_spelled_as_the_index_spells_it(index: Index) -> None:
    for name, text in _TEXTS.items():
        index.write(name, text)
    index.run()
    (right, *_), (wrong, *_) = (
        index.searcher.search(index.request(query, mode=SearchMode.KEYWORD)).hits
        for query in ("boats (harbour OR walk)", "boats (harbuor OR walk)")
    )
    assert (wrong.path, wrong.score) == (right.path, right.score)
