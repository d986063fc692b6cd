"""What was typed stands first: laws of the evidence that a passage holds it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.analyzer import (
    SIGNS,
    ExtraWords,
    WordsWithPart,
    extra_words,
    index_fields,
    query_words,
    split_into_words,
)
from directory_indexer.ranking.candidates import EMBEDDED_MODEL, Candidate
from directory_indexer.ranking.exactness import LevelWeights, TypedText, weights_of_passages
from directory_indexer.ranking.features import Matcher
from directory_indexer.ranking.ordering import rank
from directory_indexer.ranking.plan import plan_match
from directory_indexer.ranking.query import parse_query
from directory_indexer.ranking.separated import DATE, SEPARATED, dates, separated_word_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

_TYPED = ("kestrel", "falcon", "heron", "egret")
_LATER = ("scale", "same_file")
_OTHERS = ("river", "stone", "cloud", "meadow")
_FILLERS = ("of", "the", "and", "to", "is")
_ALL_WORDS = (*_TYPED, *_OTHERS, *_FILLERS)


class _Words:
    """A vocabulary in which some words are rarer than others."""

    n_chunks = 500
    languages: tuple[str, ...] = ()

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: 2 + 40 * (len(term) % 3) for term in terms}

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(word, n) for word, n in self.counts(_ALL_WORDS).items() if word.startswith(prefix)][:limit]

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        held = [
            (word, n) for word, n in self.counts(_ALL_WORDS).items() if (word.endswith(part) if ends else part in word)
        ]
        return WordsWithPart(held[:limit])


def _score(query: str, texts: Sequence[str], cosines: Sequence[float], *, per_file: int = 1) -> dict[int, float]:
    """Return what each passage scores before the best of them sets the scale; `per_file` of them share a file."""
    candidates = [
        Candidate(
            ChunkId(bytes([at])),
            FilePath(f"/{at // per_file}.md"),
            ordinal=at % per_file,
            is_code=False,
            title="",
            heading="",
            text=text,
            keyword_score=1.0,
            cosine=cosines[at],
            beside=tuple(
                other for place, other in enumerate(texts) if place // per_file == at // per_file and place != at
            ),
        )
        for at, text in enumerate(texts)
    ]
    ranking = rank(plan_match(parse_query(query), _Words()), candidates, limit=len(texts), model=EMBEDDED_MODEL)
    return {
        one.chunk_id[0]: sum(
            value for name, value in one.explanation.signals.items() if name not in {"scale", "same_file"}
        )
        for one in ranking.hits
    }


passages = st.lists(st.lists(st.sampled_from(_TYPED + _OTHERS), min_size=6, max_size=6), min_size=2, max_size=6)


@given(
    st.lists(st.sampled_from(_TYPED), min_size=1, max_size=4, unique=True),
    passages,
    st.integers(1, 4),
    st.data(),
)
def test_one_more_word_of_the_query_never_lowers_a_passage(
    query: list[str], texts: list[list[str]], per_file: int, data: st.DataObject
) -> None:
    cosines = data.draw(st.lists(st.floats(0, 1), min_size=len(texts), max_size=len(texts)))
    at = data.draw(st.integers(0, 5))
    word = data.draw(st.sampled_from(query))
    numbered = [f"{' '.join(row)} n{number}" for number, row in enumerate(texts)]
    before = _score(" ".join(query), numbered, cosines, per_file=per_file)
    if texts[0][at] in query:
        return
    more = [*texts[0][:at], word, *texts[0][at + 1 :]]
    after = _score(" ".join(query), [f"{' '.join(more)} n0", *numbered[1:]], cosines, per_file=per_file)
    assert after[0] >= before[0] - 1e-9


@given(st.lists(st.sampled_from(_ALL_WORDS), min_size=2, max_size=12, unique=True))
def test_a_passage_that_holds_the_whole_query_in_a_row_reaches_the_highest_level(query: list[str]) -> None:
    plan = plan_match(parse_query(" ".join(query)), _Words())
    text = f"before {' '.join(query)} behind"
    share = Matcher(plan).match(text, names="").typed
    assert plan.row == tuple(query)
    assert TypedText(plan).level(text, "", share=share) == 3


@given(st.lists(st.sampled_from([0, 0.2, 0.5, 0.99, 1, 2, 3]), min_size=1, max_size=40), st.integers(1, 10_000))
def test_more_of_what_was_typed_is_worth_more(levels: list[float], n_chunks: int) -> None:
    weights = weights_of_passages(levels, n_chunks, LevelWeights(1.2, 0.6, 1.2))
    for (low, less), (high, more) in zip(*[iter(sorted(zip(levels, weights, strict=True)))] * 2, strict=False):
        assert low == high or less <= more + 1e-9
    assert all(weight >= 0 for weight in weights)


@given(st.from_regex(r"[A-Za-z0-9_.#+-]{1,20}", fullmatch=True))
def test_a_name_is_cut_in_a_question_as_in_the_index(name: str) -> None:
    text, parts, *_ = index_fields(text=name, heading="", title="", path="")
    indexed = {*split_into_words(text), *parts.split()}
    asked = {token for word in parse_query(f'"{name}"').words for token in word.tokens} | {*query_words(name)}
    assert asked <= indexed
    assert {*extra_words(name)} <= indexed


_FRAGMENTS = (
    *("2024", "1999", "20", "31", "1", "12345", "a", "B", "ff", "é", "AB12", " 1234", "net", "c", "f", "_"),
    *("-", "/", ".", ":", ",", "'", "(", ")", "+", " ", "\n", "\n ", "\u2010", "#", "@", "$", "--"),
)


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=20).map("".join) | st.text(max_size=40))
def test_extra_words_come_from_every_match_of_their_patterns(text: str) -> None:
    assert [match.span() for match in separated_word_matches(text)] == [
        match.span() for match in re.finditer(SEPARATED, text)
    ]
    assert [match.span() for match in dates(text)] == [match.span() for match in re.finditer(DATE, text)]
    years = [re.sub(r"\D", "", match["y1"] or match["y2"]) for match in re.finditer(DATE, text) if _is_valid(match)]
    extra = extra_words(text)
    assert all(any(word.startswith(year) and len(word) == 8 for word in extra) for year in years)
    assert {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet"}.keys() >= {*_signs(text)}
    assert sum(word in ("cpp", "csharp", "fsharp", "dotnet") for word in extra) >= len({*_signs(text)})
    n_prefixed = len(re.findall(r"(?<![\w-])(?:--|[#@$])[A-Za-z\d]", text))
    assert bool(n_prefixed) == any("\ue000" <= word[:1] <= "\ue003" for word in extra)


_PARTS_OF_TEXTS = (
    *("re", "elected", "User", "Name", "size", "GrößE", "über", "Straße", "µ", "ΟΔΟΣ", "ДОМ", "K", "49", "1234", "31"),
    *("-", "\u2010", "-\n", " ", ".", ":", "_", "(", "—", "#", "--", "2024-01-31", "C++", "U.S.A."),
)


@given(st.lists(st.sampled_from(_PARTS_OF_TEXTS), max_size=16).map("".join), st.data())
def test_the_extra_words_of_a_query_are_seen_in_every_text(text: str, data: st.DataObject) -> None:
    extra = sorted(extra_words(text))
    asked = {*data.draw(st.lists(st.sampled_from(extra or ["size"]), max_size=4)), "size", "großer", "39"}
    assert asked & ExtraWords(asked).of(text, split_into_words(text)) == asked & {*extra}


@given(
    st.lists(st.sampled_from(_PARTS_OF_TEXTS), max_size=16).map("".join),
    st.sets(st.sampled_from("re elected reelected user name size k 49 491234 20240131 cpp usa strasse 39".split())),
)
def test_a_text_that_may_have_no_word_of_a_query_has_none(text: str, asked: set[str]) -> None:
    words = split_into_words(text)
    assert ExtraWords(asked).may_occur(text) or asked.isdisjoint({*words, *extra_words(text)})


def _is_valid(match: re.Match[str]) -> bool:
    return 1 <= int(match["m1"] or match["m2"]) <= 12 and 1 <= int(match["d1"] or match["d2"]) <= 31


def _signs(text: str) -> list[str]:
    return [match[0].lower() for match in re.finditer(SIGNS, text)]
