"""No string is a wrong query: SQLite understands whatever comes of it."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from directory_indexer.ranking.analyzer import (
    FTS_COLUMNS,
    FTS_TOKENIZE,
    WordsWithPart,
    index_fields,
    query_words,
    split_into_words,
)
from directory_indexer.ranking.excerpts import MarkedTerms, excerpt
from directory_indexer.ranking.plan import has_in_order, plan_match, select_informative_words
from directory_indexer.ranking.query import GRAMS_A_WORD, MAX_CHARACTERS, MAX_MEANING, MAX_WORDS, parse_query

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = (
    "The quick brown fox jumps over lazy dogs; foxes jumped, a dog was quickly jumping.",
    "def getUserName(self): return self._user_name  # std::vector 3.11.7 --no-wait C++",
    "Müller wohnt in der Straße, der Mietvertrag und die Arbeitsverträge liegen dort",
    "東京都庁はどこにありますか ภาษาไทย हिन्दी العربية ΣΊΣΥΦΟΣ",
)
OPERATORS = st.sampled_from(
    ['"', "-", "*", "path:", "type:", "heading:", "AND", "OR", "NOT", "NEAR(", ")", "(", "^", ":", "{", "}", "+", "\0"]
)
PIECES = st.one_of(
    OPERATORS, st.sampled_from(["fox", "user", "vertrag", "東京", "ไทย", " ", "  "]), st.text(max_size=6)
)


class Table:
    """A full-text table like the product's, and its vocabulary."""

    languages: tuple[str, ...] = ("de", "fr")

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute(
            f"CREATE VIRTUAL TABLE fts USING fts5({', '.join(FTS_COLUMNS)}, content='', tokenize=\"{FTS_TOKENIZE}\")"
        )
        self.connection.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(fts, row)")
        for text in TEXTS:
            fields = index_fields(text=text, heading="A heading", title="title", path="docs/notes.md")
            marks = ", ".join("?" * len(FTS_COLUMNS))
            self.connection.execute(f"INSERT INTO fts ({', '.join(FTS_COLUMNS)}) VALUES ({marks})", fields)  # noqa: S608

    @property
    def n_chunks(self) -> int:
        return len(TEXTS)

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: n for one in terms for term, n in self._rows("term = ?", one)}

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        return self._rows("term >= ? AND term < ?", prefix, prefix + "\U0010ffff")[:limit]

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        condition = "substr(term, -length(?)) = ?" if ends else "instr(term, ?) AND ?"
        return WordsWithPart(self._rows(condition, part, part)[:limit])

    def matches(self, query: str) -> set[int]:
        plan = plan_match(parse_query(query), self)
        for text in TEXTS:
            excerpt(text, MarkedTerms(plan), start_line=1, max_chars=40)
        if plan.expression is None:
            return set()
        rows = self.connection.execute("SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rank", (plan.expression,))
        return {row[0] for row in rows}

    def _rows(self, condition: str, *arguments: object) -> list[tuple[str, int]]:
        return self.connection.execute(
            f"SELECT term, doc FROM vocabulary WHERE {condition}",  # noqa: S608
            arguments,
        ).fetchall()


@cache
def table() -> Table:
    return Table()


@given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=20).map("".join)))
@example('"')
@example('""')
@example('-"')
@example("* ** *a* a*b *")
@example("-fox")
@example("path: type: heading:")
@example("heading:fox -heading:dog")
@example("\ud800 fox")
@example("fox\0dog")
def test_no_query_raises(query: str) -> None:
    table().matches(query)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_a_text_is_found_by_itself(text: str) -> None:
    found = split_into_words(text)
    assert set(query_words(text)) <= set(found)


@given(
    st.sampled_from(
        ["a", "東", "x ", "ab ", '"', "-a ", "a_", "*a ", "wort ", "a.b:1 ", "a.b:1\n", "a.", "at (", "(\0"]
    )
)
def test_a_query_of_a_megabyte_is_bounded(piece: str) -> None:
    query = select_informative_words(parse_query(piece * (1_000_000 // len(piece))), table())
    assert len(query.text) <= MAX_CHARACTERS
    assert len(query.meaning) <= MAX_MEANING
    assert sum(len(word.tokens) for word in query.words) <= GRAMS_A_WORD * MAX_WORDS
    table().matches(query.text)


def test_of_more_words_than_can_be_looked_for_those_are_kept_that_the_index_has() -> None:
    known = ["fox", "dogs", "user_name", "東京都庁"]
    query = parse_query(" ".join([*map(str, range(900)), *known, *(f"unknown{n}" for n in range(900))]))
    assert [word.text for word in select_informative_words(query, table()).words] == ["3", "7", "11", *known]
    query = parse_query(" ".join(f"unknown{n}" for n in range(900)))
    assert len(select_informative_words(query, table()).words) == MAX_WORDS


class Words(Table):
    """A vocabulary of one word that is very long, as encoded data makes them."""

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        word = "a" * 1000
        return [(word, 1)][:limit] if word.startswith(prefix) else []


def test_a_word_of_many_stars_takes_no_longer_than_others() -> None:
    assert plan_match(parse_query("a*" * 20 + "b"), Words()).terms[0].forms == frozenset()
    assert plan_match(parse_query("a*" * 20 + "a"), Words()).terms[0].forms == {"a" * 1000}


@given(st.lists(st.text("ab", max_size=3), min_size=2, max_size=4), st.text("ab", min_size=1, max_size=8))
def test_a_star_stands_for_any_letters(parts: list[str], form: str) -> None:
    assert has_in_order(form, parts) == bool(re.fullmatch(".*".join(parts), form))
