"""Two lists of results become one order, with scores that say how good the best is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.analyzer import WordsWithPart
from directory_indexer.ranking.candidates import EMBEDDED_MODEL, MULTILINGUAL_MODEL, OTHER_MODEL, Candidate
from directory_indexer.ranking.ordering import cut_below_threshold, drop_zero_scores, rank, rank_by_keyword_score
from directory_indexer.ranking.plan import MatchPlan, plan_match
from directory_indexer.ranking.query import parse_query
from directory_indexer.ranking.scoring import score_candidates

if TYPE_CHECKING:
    from collections.abc import Sequence


class Words:
    """A vocabulary of a thousand chunks in which every word is rare."""

    n_chunks = 1000
    languages: tuple[str, ...] = ()

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(terms, 3)

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(prefix, 3)][:limit]

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:  # noqa: ARG002 - as the protocol has it
        return WordsWithPart([(part, 3)][:limit])


CREDENTIALS = "credentials get replaced every few months"
PLAN = plan_match(parse_query("how do we rotate the signing keys"), Words())


def candidate(  # noqa: PLR0913 - one for each thing that ranking looks at
    name: str,
    text: str,
    *,
    path: str = "",
    words: float | None = None,
    meaning: float | None = None,
    ordinal: int = 0,
    is_code: bool = False,
) -> Candidate:
    return Candidate(
        ChunkId(name.encode()),
        FilePath(path or f"/{name}.md"),
        ordinal=ordinal,
        is_code=is_code,
        title="",
        heading="",
        text=text,
        keyword_score=words,
        semantic_score=meaning,
        cosine=meaning,
    )


def test_what_both_lists_have_on_top_comes_first() -> None:
    both = candidate("both", "rotate the signing keys", words=9.0, meaning=0.7)
    others = [candidate("a", "keys of a piano", words=8.0), candidate("b", "credentials", meaning=0.6)]
    ranking = rank(PLAN, [*others, both], limit=3, model=EMBEDDED_MODEL)
    assert ranking.hits[0].chunk_id == b"both"
    assert not ranking.is_weak
    assert 0.8 < ranking.hits[0].score <= 1


def test_the_order_does_not_depend_on_the_order_of_candidates() -> None:
    candidates = [candidate(str(n), f"text {n} keys", words=n % 5, meaning=n % 7 / 10) for n in range(30)]
    assert rank(PLAN, candidates, limit=30, model=EMBEDDED_MODEL) == rank(
        PLAN, candidates[::-1], limit=30, model=EMBEDDED_MODEL
    )


def test_passages_that_have_nothing_to_do_with_the_query_are_weak() -> None:
    ranking = rank(
        PLAN,
        [candidate("a", "carrots", meaning=0.18), candidate("b", "soup", meaning=0.1)],
        limit=5,
        model=EMBEDDED_MODEL,
    )
    assert ranking.is_weak
    assert all(hit.score < 0.1 for hit in ranking.hits)


def test_what_would_score_nothing_is_no_hit() -> None:
    far = [candidate("a", "carrots", meaning=0.02), candidate("b", "soup", meaning=0.01)]
    assert drop_zero_scores(rank(PLAN, far, limit=5, model=EMBEDDED_MODEL)) == ()


def test_what_has_the_words_is_a_hit_whatever_it_scores() -> None:
    weak = [candidate("a", "carrots", words=0.1, meaning=0.02), candidate("b", "soup", meaning=0.01)]
    ranking = rank(PLAN, weak, limit=5, model=EMBEDDED_MODEL)
    assert ranking.is_weak
    assert [hit.chunk_id for hit in drop_zero_scores(ranking)] == [b"a"]


def test_a_good_answer_is_shown_to_its_end() -> None:
    good = [candidate("good", "rotate the signing keys", words=9.0, meaning=0.7)]
    rest = [candidate(f"r{n}", f"soup {n}", meaning=-0.9) for n in range(3)]
    ranking = rank(PLAN, [*good, *rest], limit=5, model=EMBEDDED_MODEL)
    assert not ranking.is_weak
    assert ranking.hits[-1].score < 0.005
    assert drop_zero_scores(ranking) == ranking.hits


def test_an_answer_ends_at_a_share_of_its_best_score() -> None:
    candidates = [candidate(str(n), f"rotate the signing keys {'of it ' * n}", meaning=0.7 - n / 10) for n in range(6)]
    hits = rank(PLAN, candidates, limit=6, model=EMBEDDED_MODEL).hits
    shown = cut_below_threshold(hits, by_words_alone=False)
    assert shown == tuple(hit for hit in hits if hit.score >= hits[0].score / 2)
    assert 1 < len(shown) < len(cut_below_threshold(hits, by_words_alone=True)) < len(hits)
    assert cut_below_threshold((), by_words_alone=False) == ()


def test_words_alone_make_an_order() -> None:
    candidates = [candidate("a", "keys of a piano", words=3.0), candidate("b", "rotate the signing keys", words=9.0)]
    ranking = rank(PLAN, candidates, limit=5, model=EMBEDDED_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"b", b"a"]
    assert not ranking.is_weak


def weight_of_meaning(*passages: tuple[str, int]) -> float:
    """Tell what a cosine of 0.5 counts beside passages in "code" or "prose" of so many words."""
    found = [
        candidate(str(n), f"{n} keys " * times, words=5.0, meaning=0.5, is_code=kind == "code")
        for n, (kind, times) in enumerate(passages)
    ]
    return dict(rank(PLAN, found, limit=1, model=EMBEDDED_MODEL).hits[0].explanation.signals)["semantic"]


def test_meaning_weighs_the_same_in_all_prose_and_more_in_short_code() -> None:
    prose = weight_of_meaning(("prose", 30), ("prose", 30))
    assert weight_of_meaning(("prose", 150), ("prose", 90)) == prose
    assert weight_of_meaning(("code", 30), ("code", 30)) > weight_of_meaning(("code", 90), ("code", 90)) > prose
    assert weight_of_meaning(("code", 900), ("code", 900)) == prose


def test_code_among_prose_counts_by_its_share_and_its_own_length() -> None:
    prose, code = weight_of_meaning(("prose", 30), ("prose", 30)), weight_of_meaning(("code", 30), ("code", 30))
    assert weight_of_meaning(("code", 30), ("prose", 30)) == pytest.approx((prose + code) / 2)
    assert weight_of_meaning(("code", 30), ("prose", 900)) == pytest.approx((prose + code) / 2)


def test_by_meaning_alone_what_has_the_words_is_good_wherever_it_stands() -> None:
    nearer = [candidate(f"n{n}", f"soup {n}", meaning=0.3 - n / 1000) for n in range(9)]
    last = candidate("last", "rotate the signing keys", meaning=0.25)
    ranking = rank(PLAN, [*nearer, last], limit=10, model=EMBEDDED_MODEL)
    assert ranking.hits[-1].chunk_id == b"last"
    assert not ranking.is_weak
    assert rank(PLAN, nearer, limit=10, model=EMBEDDED_MODEL).is_weak


def test_by_meaning_alone_less_is_good() -> None:
    """Because words that a passage has by chance do not help it."""
    near = candidate("near", CREDENTIALS, meaning=0.48)
    assert not rank(PLAN, [near], limit=2, model=EMBEDDED_MODEL).is_weak
    assert rank(PLAN, [near, candidate("a", "soup", words=0.1)], limit=2, model=EMBEDDED_MODEL).is_weak


@pytest.mark.parametrize("question", ["حدوث المثانة", "rotate the signing keys"])
def test_of_what_the_model_cannot_read_only_the_first_three_count(question: str) -> None:
    plan = plan_match(parse_query(question), Words())
    nearer = [candidate(f"n{n}", f"ش{n}", meaning=0.9)._replace(language="ar") for n in range(3)]
    last = candidate("last", question, meaning=0.1)._replace(language="ar")
    assert rank(plan, [*nearer, last], limit=4, model=EMBEDDED_MODEL).is_weak
    assert not rank(plan, [last], limit=4, model=EMBEDDED_MODEL).is_weak


def test_nothing_at_all_is_weak() -> None:
    assert rank(PLAN, [], limit=5, model=EMBEDDED_MODEL).is_weak


def test_copies_of_a_passage_are_shown_once() -> None:
    copies = [candidate(str(n), "rotate  the signing keys", meaning=0.7) for n in range(4)]
    assert [hit.chunk_id for hit in rank(PLAN, copies, limit=5, model=EMBEDDED_MODEL).hits] == [b"0"]


def test_one_file_does_not_crowd_out_the_others() -> None:
    many = [candidate(f"m{n}", f"rotate keys {n}", path="/many.md", ordinal=n, meaning=0.7) for n in range(4)]
    others = [candidate(f"o{n}", f"rotate the keys of {n}", meaning=0.65) for n in range(4)]
    ranking = rank(PLAN, [*many, *others], limit=5, model=EMBEDDED_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"m0", b"o0", b"o1", b"o2", b"o3"]
    assert ranking.hits[0].n_more_in_file == 3


def test_a_longer_answer_continues_a_shorter_one() -> None:
    candidates = [
        candidate(str(n), f"text {n} keys", path=f"/{n % 4}.md", ordinal=n, words=n % 5, meaning=n % 7 / 10)
        for n in range(30)
    ]
    long = [hit.chunk_id for hit in rank(PLAN, candidates, limit=30, model=EMBEDDED_MODEL).hits]
    for limit in (1, 5, 12):
        assert [hit.chunk_id for hit in rank(PLAN, candidates, limit=limit, model=EMBEDDED_MODEL).hits] == long[:limit]


def test_the_first_of_several_copies_in_a_file_is_shown() -> None:
    copies = [candidate(str(n), "rotate keys", path="/a.md", ordinal=9 - n, meaning=0.7) for n in range(4)]
    assert [hit.chunk_id for hit in rank(PLAN, copies, limit=5, model=EMBEDDED_MODEL).hits] == [b"3"]


def test_a_test_comes_after_the_code_unless_tests_are_looked_for() -> None:
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.5, is_code=True)
    test = candidate("test", "rotate the keys", path="/tests/test_keys.py", words=2.0, meaning=0.55, is_code=True)
    assert rank(PLAN, [code, test], limit=1, model=EMBEDDED_MODEL).hits[0].chunk_id == b"code"
    asked = plan_match(parse_query("the tests of key rotation"), Words())
    assert rank(asked, [code, test], limit=1, model=EMBEDDED_MODEL).hits[0].chunk_id == b"test"


def test_however_well_a_test_matches_the_code_it_tests_comes_first() -> None:
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.4, is_code=True)
    test = candidate("test", "rotate the signing keys", path="/src/keys_test.py", words=4.0, meaning=0.6, is_code=True)
    assert order(PLAN, test, code) == [b"code", b"test"]
    for asked in ("spec for how we rotate the signing keys", "example: rotate the signing keys"):
        assert order(plan_match(parse_query(asked), Words()), test, code) == [b"test", b"code"]


def test_what_stands_behind_the_code_is_not_called_worse_for_that() -> None:
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.5, is_code=True)
    test = candidate("test", "rotate the keys", path="/tests/test_keys.py", words=2.0, meaning=0.5, is_code=True)
    first, second = rank(PLAN, [code, test], limit=2, model=EMBEDDED_MODEL).hits
    assert dict(second.explanation.signals)["beside_code"] < -0.5
    assert second.score > 0.9 * first.score


def test_an_answer_is_good_when_what_stands_behind_the_code_is() -> None:
    code = [
        candidate(f"c{n}", f"keys {n}", path=f"/src/{n}.py", words=0.1, meaning=0.3, is_code=True) for n in range(4)
    ]
    test = candidate("test", "rotate the keys", path="/tests/test_keys.py", words=2.0, meaning=0.5, is_code=True)
    ranking = rank(PLAN, [*code, test], limit=5, model=EMBEDDED_MODEL)
    assert ranking.hits[0].chunk_id == b"c0"
    assert not ranking.is_weak
    assert rank(PLAN, code, limit=5, model=EMBEDDED_MODEL).is_weak


def test_prose_and_generated_files_come_after_code_unless_prose_is_looked_for() -> None:
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.5, is_code=True)
    made = candidate("made", "rotate the keys", path="/src/keys_pb2.py", words=2.0, meaning=0.6, is_code=True)
    notes = candidate("notes", "rotate the keys.", path="/notes.md", words=2.0, meaning=0.76)
    more = candidate("more", "keys", path="/src/more.py", words=0.1, meaning=0.1, is_code=True)
    assert order(PLAN, code, made, notes, more)[:3] == [b"code", b"notes", b"made"]
    asked = plan_match(parse_query("documentation of how we rotate keys"), Words())
    assert order(asked, code, made, notes, more)[0] == b"notes"
    nearer = candidate("notes", "rotate the keys.", path="/notes.md", words=2.0, meaning=0.9)
    assert order(PLAN, code, nearer)[0] == b"notes", "one passage of code tells nothing"


def test_a_list_of_changes_comes_after_other_prose_unless_it_is_asked_for_changes() -> None:
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.2, is_code=True)
    notes = candidate("notes", "rotate keys.", path="/notes.md", words=2.0, meaning=0.62)
    changes = candidate("changes", "rotate the keys", path="/CHANGELOG.md", words=2.0, meaning=0.65)
    more = candidate("more", "keys", path="/src/more.py", words=0.1, meaning=-0.3, is_code=True)
    assert order(PLAN, code, notes, changes, more)[:3] == [b"notes", b"code", b"changes"]
    asked = plan_match(parse_query("in which version we rotate keys"), Words())
    assert order(asked, code, notes, changes, more)[0] == b"changes"


def test_a_long_lock_file_does_not_make_a_question_one_about_prose() -> None:
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.5, is_code=True)
    locked = [
        candidate(f"l{n}", f"rotate the keys {n}", path="/Cargo.lock", words=2.0, meaning=0.6, ordinal=n)
        for n in range(9)
    ]
    assert order(PLAN, code, *locked)[0] == b"code"


def test_where_there_is_little_code_or_nothing_but_tests_nothing_stands_back() -> None:
    notes = [candidate(f"n{n}", f"rotate keys {n}", path=f"/n{n}.md", words=2.0, meaning=0.8) for n in range(3)]
    code = candidate("code", "rotate keys", path="/src/keys.py", words=2.0, meaning=0.5, is_code=True)
    assert order(PLAN, code, *notes)[-1] == b"code"
    tests = [
        candidate(f"t{n}", f"rotate keys {n}", path=f"/{n}/t_test.py", words=2.0, meaning=0.6, is_code=True)
        for n in range(2)
    ]
    hits = rank(PLAN, tests, limit=2, model=EMBEDDED_MODEL).hits
    assert {dict(hit.explanation.signals)["beside_code"] for hit in hits} == {0.0}


def order(plan: MatchPlan, *candidates: Candidate) -> list[bytes]:
    return [hit.chunk_id for hit in rank(plan, candidates, limit=len(candidates), model=EMBEDDED_MODEL).hits]


def test_the_rest_of_a_short_file_counts_for_the_words_that_a_passage_lacks() -> None:
    lone = candidate("lone", "rotate it and store it", words=9.0)
    part = candidate("part", "rotate it and file it", words=9.0)._replace(beside=("the signing keys are in a safe",))
    assert order(PLAN, lone, part) == [b"part", b"lone"]
    first, second = score_candidates(PLAN, [lone, part], EMBEDDED_MODEL)
    assert first.coverage == second.coverage, "it counts for the order, not for what a passage has itself"


def test_the_more_passages_a_file_has_the_less_they_count_for_each_other() -> None:
    one, rest = "the signing keys are in a safe", "nothing of the kind is said here at all"
    short = candidate("short", "rotate it and store it", words=9.0)._replace(beside=(one,))
    longer = candidate("longer", "rotate it and file it", words=9.0)._replace(beside=(one, rest, rest))
    assert order(PLAN, longer, short) == [b"short", b"longer"]


def test_a_passage_that_has_the_words_itself_precedes_one_beside_them() -> None:
    words_of_one = candidate("own", "rotate the signing keys", words=9.0)._replace(beside=("nothing else is here",))
    beside = candidate("beside", "nothing is said of it", words=9.0)._replace(beside=("rotate the signing keys",))
    assert order(PLAN, beside, words_of_one) == [b"own", b"beside"]


def test_spelling_decides_when_nothing_but_a_name_is_looked_for() -> None:
    plan = plan_match(parse_query("HR-77120-B"), Words())
    named = candidate("named", "policy HR-77120-B", words=9.0, meaning=0.1)
    alike = candidate("alike", "policy HR-88000-C", meaning=0.6)
    assert rank(plan, [alike, named], limit=1, model=EMBEDDED_MODEL).hits[0].chunk_id == b"named"


def test_cosines_of_an_unmeasured_model_are_compared_with_each_other_only() -> None:
    near = candidate("near", "credentials", meaning=0.93)
    far = candidate("far", "soup", meaning=0.91)
    ranking = rank(PLAN, [near, far], limit=2, model=OTHER_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"near", b"far"]
    assert ranking.hits[1].score < ranking.hits[0].score / 2


def test_one_file_fills_the_answer_when_there_is_no_other() -> None:
    many = [candidate(f"m{n}", f"rotate keys {n}", path="/many.md", meaning=0.7 - n / 100) for n in range(8)]
    assert len(rank(PLAN, many, limit=6, model=EMBEDDED_MODEL).hits) == 6


def test_words_decide_in_a_language_that_the_model_hardly_knows() -> None:
    plan = plan_match(parse_query("wie werden die Schlüssel für die Unterschriften gewechselt"), Words())
    by_words = candidate("words", "die Schlüssel werden gewechselt", words=9.0, meaning=0.2)
    by_meaning = candidate("meaning", "die Suppe", words=1.0, meaning=0.7)
    assert rank(plan, [by_words, by_meaning], limit=2, model=EMBEDDED_MODEL).hits[0].chunk_id == b"words"


def test_meaning_weighs_little_in_a_language_that_the_model_does_not_understand() -> None:
    found = [
        candidate("a", "rotate signing keys", words=3.0, meaning=0.6)._replace(language="en"),
        candidate("b", "signing keys rotate often", words=3.0, meaning=0.6)._replace(language="de"),
        candidate("c", "keys rotate for signing", words=3.0, meaning=0.6),
    ]
    ranking = rank(PLAN, found, limit=3, model=EMBEDDED_MODEL)
    shown = {one.chunk_id: dict(one.explanation.signals)["semantic"] for one in ranking.hits}
    english, german, unknown = (shown[one.chunk_id] for one in found)
    assert german < english == unknown


def test_the_nearest_of_few_chunks_is_better_than_one_as_near_of_many() -> None:
    def score(n_chunks: int) -> float:
        words = Words()
        words.n_chunks = n_chunks
        plan = plan_match(parse_query("how do we rotate the signing keys"), words)
        return rank(plan, [candidate("a", CREDENTIALS, meaning=0.4)], limit=1, model=EMBEDDED_MODEL).hits[0].score

    assert score(100) > score(1000) > score(2000) == score(100_000)


def test_where_only_meaning_was_asked_for_no_language_moves_a_passage() -> None:
    english = candidate("a", "rotate signing keys", meaning=0.5)._replace(language="en")
    german = candidate("b", "Schlüssel werden gewechselt", meaning=0.6)._replace(language="de")
    assert [one.chunk_id for one in rank(PLAN, [english, german], limit=2, model=EMBEDDED_MODEL).hits] == [b"b", b"a"]


def test_cosines_of_a_measured_model_say_how_good_an_answer_is() -> None:
    def score(meaning: float, text: str = CREDENTIALS) -> float:
        return rank(PLAN, [candidate("a", text, meaning=meaning)], limit=1, model=MULTILINGUAL_MODEL).hits[0].score

    assert score(0.80) < 0.1 < score(0.86) < score(0.90) <= 1
    assert rank(
        PLAN, [candidate("a", "soup of the day with bread", meaning=0.80)], limit=1, model=MULTILINGUAL_MODEL
    ).is_weak
    assert not rank(
        PLAN, [candidate("a", "soup of the day with bread", meaning=0.90)], limit=1, model=MULTILINGUAL_MODEL
    ).is_weak


def test_a_model_that_knows_all_languages_weighs_the_same_in_each() -> None:
    plan = plan_match(parse_query("wie werden die Schlüssel für die Unterschriften gewechselt"), Words())
    by_words = candidate("words", "die Schlüssel der Stadt", words=3.0, meaning=0.80)
    by_meaning = candidate("meaning", "Rotation von Signaturen", words=1.0, meaning=0.90)
    assert rank(plan, [by_words, by_meaning], limit=2, model=MULTILINGUAL_MODEL).hits[0].chunk_id == b"meaning"


def test_a_passage_in_another_language_may_be_a_little_less_near() -> None:
    plan = plan_match(parse_query("wie werden die Schlüssel für die Unterschriften gewechselt"), Words())
    english = candidate("en", "rotate the signing keys", meaning=0.86)._replace(language="en")
    german = candidate("de", "eine Wohnung mit Garten", meaning=0.88)._replace(language="de")
    unknown = candidate("?", "keys", meaning=0.87)
    ranking = rank(plan, [german, english, unknown], limit=3, model=MULTILINGUAL_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"en", b"de", b"?"]
    russian = plan_match(parse_query("как часто меняют ключи подписи"), Words())
    assert rank(russian, [english], limit=1, model=MULTILINGUAL_MODEL).hits[0].score > ranking.hits[0].score
    assert [hit.chunk_id for hit in rank(plan, [german, english], limit=2, model=OTHER_MODEL).hits] == [b"de", b"en"]


def test_cosines_of_a_model_that_knows_no_letter_count_nothing() -> None:
    plan = plan_match(parse_query("حدوث المثانة"), Words())
    near, far = (
        rank(plan, [candidate("a", "المثانة", words=3.0, meaning=cosine)], limit=1, model=EMBEDDED_MODEL).hits[0]
        for cosine in (0.9, 0.1)
    )
    assert near == far._replace(explanation=near.explanation)
    assert dict(near.explanation.signals)["semantic"] == 0


def test_by_meaning_alone_cosines_make_the_order_whatever_the_letters() -> None:
    plan = plan_match(parse_query("حدوث المثانة"), Words())
    candidates = [candidate(name, name * 9, meaning=cosine) for name, cosine in (("a", 0.1), ("b", 0.9))]
    ranking = rank(plan, candidates, limit=2, model=EMBEDDED_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"b", b"a"]
    assert ranking.is_weak


def test_a_rare_name_in_a_question_beats_a_passage_about_its_subject() -> None:
    plan = plan_match(parse_query("how does rotate_keys handle the expiry"), Words())
    candidates = [
        candidate("named", "rotate_keys takes a list", words=3.0, meaning=0.5),
        candidate("about", "how to handle the end of the life of credentials", words=1.0, meaning=0.65),
    ]
    ranking = rank(plan, candidates, limit=2, model=EMBEDDED_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"named", b"about"]
    assert dict(ranking.hits[0].explanation.signals)["names"] > 0


def test_a_passage_with_other_forms_of_all_words_is_good() -> None:
    plan = plan_match(parse_query("signing keys"), Words())
    forms = plan._replace(terms=tuple(term._replace(forms=frozenset(["sign", "key"])) for term in plan.terms))
    far = [candidate("a", "sign the key " + "carrots " * 100, words=0.1, meaning=0.02), candidate("b", "soup")]
    assert not rank(forms, far, limit=5, model=EMBEDDED_MODEL).is_weak
    assert rank(plan, far, limit=5, model=EMBEDDED_MODEL).is_weak


def test_words_of_a_language_that_the_model_does_not_know_are_evidence_enough() -> None:
    text = "Die Kaution von drei Mieten ist im Voraus zu zahlen."
    for query, language, is_weak in (
        ("Wie hoch ist die Kaution?", "de", False),
        ("Wie hoch ist die Kaution?", "en", True),
        ("Who pays the Kaution?", "de", True),
    ):
        plan = plan_match(parse_query(query), Words())
        far = [candidate("lease", text, words=1.0, meaning=0.02)._replace(language=language)]
        assert rank(plan, far, limit=1, model=EMBEDDED_MODEL).is_weak == is_weak


def test_where_nothing_is_good_a_rare_name_of_the_question_is() -> None:
    plan = PLAN._replace(rare_names=frozenset(["rotate"]))
    far = [candidate("near", "carrots", meaning=0.18), candidate("named", "rotate soup", words=0.1, meaning=0.02)]
    ranking = rank(plan, far, limit=5, model=EMBEDDED_MODEL)
    assert [hit.chunk_id for hit in ranking.hits] == [b"named", b"near"]
    assert not ranking.is_weak
    assert rank(PLAN, far, limit=5, model=EMBEDDED_MODEL).is_weak


def test_a_rare_name_moves_nothing_in_a_good_answer() -> None:
    candidates = [
        candidate("about", CREDENTIALS, meaning=0.8),
        candidate("named", "rotate soup", words=0.1, meaning=0.02),
    ]
    named = rank(PLAN._replace(rare_names=frozenset(["rotate"])), candidates, limit=5, model=EMBEDDED_MODEL)
    assert named == rank(PLAN, candidates, limit=5, model=EMBEDDED_MODEL)


def test_a_long_question_is_not_weak_because_no_passage_has_all_of_its_words() -> None:
    """What a passage has counts against what chance would give it, not against all that was asked."""
    long = "rotate signing keys " + " ".join(f"word{chr(97 + n)}x" for n in range(9))
    short = [candidate("a", "rotate the signing keys", words=9.0)]
    for query, is_weak in ((long, False), (f"keys {long[20:]}", True)):
        ranking = rank(plan_match(parse_query(query), Words()), short, limit=1, model=EMBEDDED_MODEL)
        assert ranking.is_weak == is_weak


def test_by_words_alone_long_passages_say_less() -> None:
    def score(n_others: int) -> float:
        text = "the keys are signed" + " and lemons" * n_others
        return rank(PLAN, [candidate("a", text, words=5.0)], limit=1, model=EMBEDDED_MODEL).hits[0].score

    assert 0 < score(500) < score(50) < score(10)


def test_distant_passages_of_a_long_document_do_not_stand_back() -> None:
    near, far = (
        [candidate(f"m{n}", f"rotate keys {n}", path="/many.md", ordinal=n * apart, meaning=0.7) for n in range(3)]
        for apart in (1, 100)
    )
    others = [candidate(f"o{n}", f"rotate the keys of {n}", meaning=0.65) for n in range(3)]
    orders = [
        [hit.chunk_id for hit in rank(PLAN, [*long, *others], limit=3, model=EMBEDDED_MODEL).hits]
        for long in (near, far)
    ]
    assert orders == [[b"m0", b"o0", b"o1"], [b"m0", b"m1", b"m2"]]


def test_passages_of_a_long_document_that_the_question_names_do_not_stand_back() -> None:
    def order(query: str) -> list[bytes]:
        report = [
            candidate(f"r{n}", f"sales {n}", path="/acme_2022.pdf", ordinal=90 + n, meaning=0.7) for n in range(3)
        ]
        others = [candidate(f"o{n}", f"sales in {n}", words=1.0, meaning=0.65) for n in range(3)]
        plan = plan_match(parse_query(query), Words())
        return [hit.chunk_id for hit in rank(plan, [*report, *others], limit=3, model=EMBEDDED_MODEL).hits]

    assert order("what did they sell in winter") == [b"r0", b"o0", b"o1"]
    assert order("what did acme sell in winter") == [b"r0", b"r1", b"r2"]


def doubtful() -> list[Candidate]:
    """Give passages with some words of the question, found by words alone."""
    text = "the keys of the piano were cleaned, and every string of it was tuned again " * 3
    return [candidate("a", text, words=3.0), candidate("b", "carrots and ginger in a soup", words=1.0)]


def test_where_words_leave_it_in_doubt_similarity_decides() -> None:
    by_words = rank(PLAN, doubtful(), limit=5, model=OTHER_MODEL)
    assert 0.07 < by_words.hits[0].score < 0.9
    alike = rank(PLAN, doubtful(), limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: 0.8)
    unlike = rank(PLAN, doubtful(), limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: 0.1)
    assert not alike.is_weak
    assert unlike.is_weak
    assert [hit.chunk_id for hit in alike.hits] == [hit.chunk_id for hit in unlike.hits]


def test_code_needs_less_similarity_than_prose() -> None:
    code = [one._replace(is_code=True) for one in doubtful()]
    prose, half, all_code = (
        rank(PLAN, found, limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: 0.5).hits[0].score
        for found in (doubtful(), [code[0], doubtful()[1]], code)
    )
    without = rank(PLAN, doubtful(), limit=5, model=OTHER_MODEL).hits[0].score
    assert prose < without < all_code
    assert prose < half < all_code


def test_similarity_that_cannot_be_told_changes_nothing() -> None:
    without = rank(PLAN, doubtful(), limit=5, model=OTHER_MODEL)
    assert (
        rank(PLAN, doubtful(), limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: None) == without
    )


def test_of_passages_without_a_letter_that_the_table_knows_similarity_is_not_asked() -> None:
    foreign = [one._replace(language="ar") for one in doubtful()]
    without = rank(PLAN, foreign, limit=5, model=OTHER_MODEL)
    assert rank(PLAN, foreign, limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: 0.0) == without


def test_what_has_all_of_the_words_is_in_no_doubt() -> None:
    whole = [candidate("a", "rotate the signing keys " + "and then wait for a week " * 9, words=3.0)]
    without = rank(PLAN, whole, limit=5, model=OTHER_MODEL)
    assert rank(PLAN, whole, limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: 0.0) == without


def test_of_two_words_similarity_tells_nothing() -> None:
    plan = plan_match(parse_query("rotate pianos"), Words())
    without = rank(plan, doubtful(), limit=5, model=OTHER_MODEL)
    assert rank(plan, doubtful(), limit=5, model=OTHER_MODEL, similarity_of=lambda _question, _passages: 0.0) == without


def test_keyword_scores_alone_give_an_order_with_copies_at_the_place_of_the_best() -> None:
    best, other = candidate("b", "harbours of the north", words=9.0), candidate("a", "harbour", words=6.0)
    copy = candidate("c", "harbours  of the north", path="/c (1).md", words=9.0)
    ranking = rank_by_keyword_score([other, copy, best])
    assert [(hit.chunk_id, hit.copies) for hit in ranking.hits] == [(b"b", ("/c (1).md",)), (b"a", ())]
    assert [hit.explanation.keyword_rank for hit in ranking.hits] == [1, 2]
    assert ranking.hits[0].score == 0.5 > ranking.hits[1].score > 0
    assert rank_by_keyword_score([]).is_weak


def test_the_name_of_a_file_counts_more_beside_cosines() -> None:
    named = candidate("named", "rotate keys", path="/keys.md", words=2.0, meaning=0.5)
    other = candidate("other", "rotate keys", path="/notes.md", words=2.0, meaning=0.5)
    beside, alone = (
        dict(score_candidates(PLAN, candidates, EMBEDDED_MODEL)[0].signals)["file_name"]
        for candidates in ([named, other], [named._replace(cosine=None), other._replace(cosine=None)])
    )
    assert beside > alone > 0
