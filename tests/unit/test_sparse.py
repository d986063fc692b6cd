"""Words as sparse vectors: what is asked for and what a passage has meet in their places."""

from __future__ import annotations

from directory_indexer.ranking.sparse import PassageFields, SparseVector, passage_weights, passage_words, query_weights
from directory_indexer.ranking.word_forms import Term


def product(one: SparseVector, other: SparseVector) -> float:
    values = dict(zip(other.indices, other.values, strict=True))
    return sum(value * values.get(place, 0.0) for place, value in zip(one.indices, one.values, strict=True))


def passage(text: str, *, heading: str = "", language: str = "en") -> SparseVector:
    return passage_weights(PassageFields(text, heading, "", "notes/a.md"), language=language)


def asked(*words: str, languages: tuple[str, ...] = ("english",)) -> SparseVector:
    return query_weights([Term(word, frozenset((word,)), 1) for word in words], languages)


def test_a_word_as_it_is_typed_counts_more_than_another_form_of_it_and_that_more_than_none() -> None:
    typed, other, none = map(passage, ("they rotate keys", "keys are rotated", "soup with ginger"))
    question = asked("rotate")
    assert product(question, typed) > product(question, other) > product(question, none) == 0


def test_a_word_counts_more_in_a_short_passage_and_in_a_heading() -> None:
    question = asked("ginger")
    short = passage("ginger")
    assert product(question, short) > product(question, passage("ginger " + "and more " * 200))
    assert product(question, passage("soup", heading="Ginger")) > product(question, short)


def test_endings_are_those_of_the_language_of_the_passage_and_of_the_question() -> None:
    german = passage("die häuser am hafen", language="de")
    assert product(asked("haus", languages=("german",)), german) > 0
    assert product(asked("haus"), passage("die hafen am markt", language="de")) == 0


def test_a_name_in_parts_is_asked_for_as_one_word_and_a_wildcard_by_its_forms() -> None:
    name = query_weights([Term("rotateKeys", frozenset(("rotatekeys",)), 1, (("rotate", "keys"),))], ("english",))
    assert product(name, passage("def rotateKeys(days)")) > 0
    wildcard = query_weights([Term("bak*", frozenset(("baking", "baker")), 2)], ("english",))
    assert product(wildcard, passage("before baking")) > 0


def test_the_words_for_filters_are_those_of_all_fields() -> None:
    fields = PassageFields("Kühne Häuser", "Am Hafen", "Titel", "de/haus.txt")
    assert set(passage_words(fields).split()) >= {"kuhne", "hauser", "am", "hafen", "titel", "de", "haus", "txt"}
