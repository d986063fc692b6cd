"""Match plan: a query in the words of one index, with the weights of its terms and its FTS5 expressions.

Of a long text, only the most informative words are selected.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from directory_indexer.ranking.analyzer import (
    is_gram,
    name_parts,
    other_spellings,
    phrase_words,
    prefixed_word,
    query_words,
    select_grams,
)
from directory_indexer.ranking.languages import is_function_word
from directory_indexer.ranking.query import GRAMS_A_WORD, MAX_WORDS, Query, QueryWord, WordKind
from directory_indexer.ranking.traces import last_failure_line
from directory_indexer.ranking.word_forms import (
    Term,
    TermQuery,
    Vocabulary,
    fts_phrase,
    languages_to_stem,
    plan_exact_term,
    plan_inflected_term,
)


class TypedWord(NamedTuple):
    """A word as it was typed: the index words equal to it, and the row of words that it is split into.

    `information` is its information content in nats, highest for a word that the index does not have.
    """

    text: str
    forms: frozenset[str]
    row: tuple[str, ...]
    phrases: tuple[str, ...]
    information: float
    is_rare: bool = False
    """Whether so few chunks have it that it hardly occurs by chance."""


class MatchPlan(NamedTuple):
    """A query in the words of one index: FTS5 expressions that find its chunks, and terms that rank them.

    The expressions, each None or empty where it does not apply, match

    - `expression`: any of the words, if there are words to search for;
    - `narrow`: any of the rarest words, as many as are in enough chunks. All words weigh, so that it finds nearly the
      same best chunks as `expression`, in a fraction of the time if some words are in very many chunks;
    - `rare`: any of the words that are in few chunks; all words weigh;
    - `together`: all words;
    - `named`: any of the rarest words, in headings, titles and paths;
    - `exact`: the words in a row, or all words as they were typed;
    - `required`: conditions, all of which every hit must match, whichever list it comes from;
    - `forbidden`: conditions, none of which a hit may match.

    `terms` are the words with their frequencies in `n_chunks` chunks. `branches` are the terms of what `OR` joins,
    group by group: a passage must match one branch of each group. `typed` are the words of a query that names something
    rather than asks about it, `row` all of its words in their order.
    """

    query: Query
    expression: str | None
    narrow: str | None = None
    rare: str | None = None
    together: str | None = None
    named: str | None = None
    terms: tuple[Term, ...] = ()
    n_chunks: int = 0
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    branches: tuple[tuple[frozenset[str], ...], ...] = ()
    typed: tuple[TypedWord, ...] = ()
    row: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    rare_names: frozenset[str] = frozenset()
    """The terms that are names and in so few chunks that these are hardly there by chance."""

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights of the terms: as in bm25(), higher for rarer terms, and for terms that the query repeats."""
        return tuple(
            _inverse_document_frequency(term, self.n_chunks) * _repetition_weight(term.n_times) * _row_weight(term)
            for term in self.terms
        )


def plan_match(query: Query, vocabulary: Vocabulary) -> MatchPlan:
    """Return the plan that matches a query against the words of the index."""
    significant = [word for word in query.words if not _is_filler(word, query)] or list(query.words)
    languages = languages_to_stem(query, vocabulary)
    gram_step = -(-sum(is_gram(token) for word in significant for token in word.tokens) // MAX_WORDS)
    by_word = {
        word: [
            part._replace(term=part.term._replace(n_times=word.n_times))
            for part in _plan_word(word, languages, vocabulary, gram_step)
        ]
        for word in significant
    }
    planned = list(chain.from_iterable(by_word.values()))
    any_of = (_alternative_expression(group, languages, vocabulary) for group in query.alternatives)
    required, forbidden = (*_required_expressions(query), *filter(None, any_of)), _forbidden_expressions(query)
    any_word, rarest, rare = map(_any_of_expression, (planned, _rarest_terms(planned), _rare_terms(planned)))
    expression = None if planned and not any_word else _expression(required, forbidden, any_word)
    typed = _plan_typed(query, significant, by_word, vocabulary)
    row = _query_row(query, planned)
    every_part = _all_of_clauses([_any_of_expression([part]) for part in planned])
    exact = (fts_phrase(row) if row else "", _all_of_clauses([" OR ".join(word.phrases) for word in typed]))
    return MatchPlan(
        query=query,
        expression=expression,
        narrow=_expression((*required, rarest), forbidden, any_word) if rarest != any_word else None,
        rare=_expression((*required, rare), forbidden, any_word) if rare else None,
        together=_expression((*required, every_part), forbidden, "") if planned[1:] and every_part else None,
        named=_expression((*required, f"{{heading title path}} : ({rarest})"), forbidden, "") if rarest else None,
        terms=_terms(planned),
        n_chunks=vocabulary.n_chunks,
        required=required,
        forbidden=forbidden,
        branches=_branches(query, by_word),
        typed=typed,
        row=row,
        exact=tuple(filter(None, (_expression((*required, clause), forbidden, "") for clause in exact if clause))),
        rare_names=_rare_names(query, planned),
    )


def _plan_typed(
    query: Query,
    significant: Sequence[QueryWord],
    by_word: Mapping[QueryWord, Sequence[TermQuery]],
    vocabulary: Vocabulary,
) -> tuple[TypedWord, ...]:
    """Return the words that a passage must have to be what was typed; none for a question or a sentence."""
    is_sentence = len(query.words) - len(significant) > _MAX_FILLERS
    if query.is_question or is_sentence or query.alternatives or len(significant) > _MAX_TYPED_WORDS:
        return ()
    return tuple(_typed_word(word, by_word[word], vocabulary) for word in significant)


def _rare_names(query: Query, planned: Sequence[TermQuery]) -> frozenset[str]:
    """Return the names in few chunks: letters with digits, and the proper names of a query that is about them.

    At least half of its words are proper names, and most of these are among them: one of several is there by chance. A
    question with a question word is about something else than its names.
    """
    if query.is_question:
        return frozenset()
    names = query.proper_names
    proper = [part.term for part in planned if part.term.typed in names]
    rare = {part.term.typed for part in planned if 0 < part.term.n_chunks <= _MAX_RARE_CHUNKS}
    n_rare = sum(term.typed in rare for term in proper)
    is_about_names = 2 * len(proper) >= len(planned) and 2 * n_rare > len(proper)
    codes = filter(_LETTERS_WITH_DIGITS.fullmatch, rare)
    return frozenset((*codes, *(term.typed for term in proper if is_about_names and term.typed in rare)))


def _typed_word(word: QueryWord, planned: Sequence[TermQuery], vocabulary: Vocabulary) -> TypedWord:
    if word.kind is WordKind.PLAIN and (signed := _plan_signed(word, vocabulary)):
        return signed
    rarest = min((part.term for part in planned), key=lambda term: term.n_chunks)
    if word.kind is WordKind.WILDCARD:
        information = _inverse_document_frequency(rarest, vocabulary.n_chunks)
        return TypedWord(word.text, planned[0].term.forms, (), planned[0].phrases, information)
    joined = () if is_gram(word.tokens[0]) else ("".join(word.tokens),)
    forms = {*joined, *word.tokens[:1]} if len(word.tokens) == 1 else {*joined}
    forms |= {*other_spellings(word.text)}
    phrases = (fts_phrase(word.tokens), *map(_gram_phrase, sorted(forms)))
    row = word.tokens if word.tokens[1:] else ()
    if not row and (n_typed := sum(vocabulary.counts(sorted(forms)).values())):
        rarest = rarest._replace(n_chunks=n_typed)  # its other forms, which may be common, were not typed
    information = _inverse_document_frequency(rarest, vocabulary.n_chunks)
    is_rare = 0 < rarest.n_chunks <= _MAX_RARE_CHUNKS
    return TypedWord(word.text, frozenset(forms), row, tuple(dict.fromkeys(phrases)), information, is_rare)


def _plan_signed(word: QueryWord, vocabulary: Vocabulary) -> TypedWord | None:
    """Return a word with its prefix where some chunks have both, but not all that have the word."""
    form = prefixed_word(word.text) if len(word.tokens) == 1 else ""
    n_chunks = vocabulary.counts((form,)).get(form, 0) if form else 0
    if not n_chunks:
        return None
    information = _inverse_document_frequency(Term(form, frozenset((form,)), n_chunks), vocabulary.n_chunks)
    return TypedWord(
        word.text, frozenset((form,)), (), (fts_phrase((form,)),), information, n_chunks <= _MAX_RARE_CHUNKS
    )


def _query_row(query: Query, planned: Sequence[TermQuery]) -> tuple[str, ...]:
    """Return the words of a query in the order in which they were typed, unless very many chunks have all of them."""
    row = phrase_words(query.meaning) if not query.alternatives else ()
    if not 1 < len(row) <= MAX_WORDS:
        return ()
    rarest = min((word.term.n_chunks for word in planned if word.term.typed in row), default=0)
    return row if 0 < rarest <= _MAX_ROW_CHUNKS else ()


def _branches(query: Query, by_word: Mapping[QueryWord, Sequence[TermQuery]]) -> tuple[tuple[frozenset[str], ...], ...]:
    if not query.alternatives:
        return ()
    terms = {word.tokens: frozenset(part.term.typed for part in planned) for word, planned in by_word.items()}
    of_queries = [
        [frozenset[str]().union(*(terms.get(word.tokens, ()) for word in branch.words)) for branch in group]
        for group in query.alternatives
    ]
    return tuple(tuple(branches) for branches in of_queries if all(branches))


def _terms(planned: Sequence[TermQuery]) -> tuple[Term, ...]:
    """Return each term once, with how often the query has it, by itself or in a name."""
    n_times: Counter[str] = Counter()
    for part in planned:
        n_times[part.term.typed] += part.term.n_times
    terms = {part.term.typed: part.term for part in planned}
    return tuple(term._replace(n_times=n_times[typed]) for typed, term in terms.items())


def _repetition_weight(n_times: int) -> float:
    """Return the weight factor of a repeated word: as in passages, every repetition adds less."""
    return n_times * (1 + _SATURATION) / (n_times + _SATURATION)


def _row_weight(term: Term) -> float:
    """Return less for a word of n-grams, which count by themselves, too."""
    return _GRAM_ROW_WEIGHT if term.rows and all(map(is_gram, chain.from_iterable(term.rows))) else 1.0


def _inverse_document_frequency(term: Term, n_chunks: int) -> float:
    return math.log(1 + (max(n_chunks, term.n_chunks) - term.n_chunks + 0.5) / (term.n_chunks + 0.5))


def _plan_word(
    word: QueryWord, languages: tuple[str, ...], vocabulary: Vocabulary, gram_step: int
) -> Iterator[TermQuery]:
    if word.kind is WordKind.WILDCARD:
        yield _plan_wildcard(word, vocabulary)
        return
    bare = _SIGNS_AROUND.sub("", word.text)
    humps = name_parts(bare) if bare.isascii() and bare.isalnum() else ()
    tokens = list(dict.fromkeys((*word.tokens, *humps)))
    tokens = [token for token in tokens if not is_function_word(token, languages[0])] or tokens
    singles = [plan_inflected_term(token, languages, vocabulary) for token in tokens if not is_gram(token)]
    singles += _plan_grams([token for token in tokens if is_gram(token)], vocabulary, gram_step)
    spelled = [plan_exact_term(token, vocabulary) for token in (*other_spellings(bare), *word.compounds)]
    if len(singles) == 1:
        singles, spelled = [_with_spellings(singles[0], spelled)], []
    yield from singles
    parts = humps or word.tokens
    if 1 < len(parts) <= _MAX_ROW_WORDS and (humps or word.kind is not WordKind.PLAIN):
        yield _plan_row(word, parts, singles, vocabulary)
    yield from spelled


def _with_spellings(primary: TermQuery, spelled: Sequence[TermQuery]) -> TermQuery:
    """Return a word with its other spellings as forms: as separate words they would count twice."""
    terms = (primary.term, *(other.term for other in spelled))
    forms = frozenset[str]().union(*(term.forms for term in terms))
    phrases = (*primary.phrases, *chain.from_iterable(other.phrases for other in spelled))
    return TermQuery(primary.term._replace(forms=forms, n_chunks=max(term.n_chunks for term in terms)), phrases)


def _plan_grams(grams: Sequence[str], vocabulary: Vocabulary, step: int) -> Iterator[TermQuery]:
    if not grams:
        return
    counts = vocabulary.counts(grams)
    for gram in select_grams(grams, counts, step=step):
        if len(gram) == 1:
            n_chunks = sum(n for _, n in vocabulary.starting_with(gram, limit=_MAX_SIMILAR))
            yield TermQuery(Term(gram, frozenset((gram,)), n_chunks), (_gram_phrase(gram),))
        else:
            yield TermQuery(Term(gram, frozenset((gram,)), counts.get(gram, 0)), (fts_phrase((gram,)),))


def _gram_phrase(token: str) -> str:
    """Return the phrase for a word; for a single letter without spaces, it is a prefix of all its n-grams."""
    return f'"{token}" *' if len(token) == 1 and is_gram(token) else fts_phrase((token,))


def _plan_row(
    word: QueryWord, parts: tuple[str, ...], singles: Sequence[TermQuery], vocabulary: Vocabulary
) -> TermQuery:
    """Return the parts of a name in a row or joined, at most as common as each of them."""
    is_spaced = not is_gram(parts[0])
    joined = "".join(parts)
    n_joined = vocabulary.counts((joined,)).get(joined, 0)
    n_chunks = min((single.term.n_chunks for single in singles if single.term.typed in parts), default=n_joined)
    forms = frozenset((joined,)) if is_spaced else frozenset[str]()
    phrases = (fts_phrase(parts), *map(fts_phrase, ((form,) for form in forms)))
    return TermQuery(Term(word.text, forms, max(n_chunks, n_joined if forms else 0), (parts,)), phrases)


def _plan_wildcard(word: QueryWord, vocabulary: Vocabulary) -> TermQuery:
    parts = ["".join(query_words(part)) for part in word.text.split("*")]
    if parts[0]:
        matches = vocabulary.starting_with(parts[0], limit=_MAX_SIMILAR)
    else:
        matches = vocabulary.containing(max(parts, key=len), ends=bool(parts[-1]), limit=_MAX_SIMILAR).words
    counts = {form: n for form, n in matches if has_in_order(form, parts)}
    common = sorted(counts, key=lambda form: (-counts[form], form))[:_MAX_WILDCARD_FORMS]
    phrases = (f'"{parts[0]}" *',) if parts[0] and not any(parts[1:]) else tuple(fts_phrase((form,)) for form in common)
    return TermQuery(Term(word.text, frozenset(counts), sum(counts.values())), phrases)


def has_in_order(form: str, parts: Sequence[str]) -> bool:
    """Whether a word consists of these parts with any letters between them; a regular expression may take hours."""
    first, *between, last = parts
    if len(form) < len(first) + len(last) or not (form.startswith(first) and form.endswith(last)):
        return False
    position, end = len(first), len(form) - len(last)
    for part in between:
        start = form.find(part, position, end)
        if start < 0:
            return False
        position = start + len(part)
    return True


def _required_expressions(query: Query) -> tuple[str, ...]:
    phrases = [fts_phrase(word.tokens) for word in query.phrases] if query.phrases_bind else []
    return (*phrases, *_heading_expressions(query.required.headings))


def _alternative_expression(group: Sequence[Query], languages: tuple[str, ...], vocabulary: Vocabulary) -> str:
    """Return the clause for one of several phrases or headings; plain words are alternatives in every query."""
    is_strict = any(
        branch.required.headings or any(word.kind is WordKind.PHRASE for word in branch.words) for branch in group
    )
    clauses = [_all_of_expression(branch, languages, vocabulary) for branch in group]
    return " OR ".join(f"({clause})" for clause in clauses) if is_strict and all(clauses) else ""


def _all_of_expression(query: Query, languages: tuple[str, ...], vocabulary: Vocabulary) -> str:
    plain = [word for word in query.words if word.kind is not WordKind.PHRASE]
    clauses = [f"({_any_of_expression(list(_plan_word(word, languages, vocabulary, 1)))})" for word in plain]
    return " AND ".join(clause for clause in (*_required_expressions(query), *clauses) if clause != "()")


def _forbidden_expressions(query: Query) -> tuple[str, ...]:
    return (*(fts_phrase(word.tokens) for word in query.excluded), *_heading_expressions(query.forbidden.headings))


def _expression(required: Sequence[str], forbidden: Sequence[str], any_word: str) -> str | None:
    clauses = [*required, any_word] if any_word else list(required)
    if not clauses:
        return None
    expression = " AND ".join(f"({clause})" for clause in clauses)
    return f"({expression}) NOT ({' OR '.join(forbidden)})" if forbidden else expression


def _rarest_terms(planned: Sequence[TermQuery]) -> Sequence[TermQuery]:
    """Return the rarest words, as many as match enough chunks; all of them where that saves nothing.

    They occur twice in the narrow expression, and so weigh twice in bm25(), but nothing else makes SQLite weigh words
    that it need not match. Weighing a chunk takes 1 µs, skipping it a twentieth of that.
    """
    rarest = sorted(planned, key=lambda part: part.term.n_chunks)
    n_chunks = tuple(accumulate(part.term.n_chunks for part in rarest))
    enough = next((at for at, n in enumerate(n_chunks, start=1) if n >= _ENOUGH_CHUNKS), len(rarest))
    most = max(enough, bisect_right(n_chunks, _MANY_CHUNKS))
    return planned if most >= len(rarest) else rarest[:most]


def _rare_terms(planned: Sequence[TermQuery]) -> Sequence[TermQuery]:
    """Return the words that are in few chunks, counted together."""
    rarest = sorted(planned, key=lambda part: part.term.n_chunks)
    return rarest[: bisect_right(tuple(accumulate(part.term.n_chunks for part in rarest)), _MANY_CHUNKS)]


def _any_of_expression(planned: Sequence[TermQuery]) -> str:
    return " OR ".join(dict.fromkeys(phrase for part in planned for phrase in part.phrases))


def _all_of_clauses(clauses: Sequence[str]) -> str:
    """Return the clause that all of these match; empty if the index has nothing for one of them."""
    if not all(clauses):
        return ""
    return " AND ".join(f"({clause})" for clause in clauses) if clauses[1:] else "".join(clauses)


def _heading_expressions(texts: Sequence[str]) -> list[str]:
    return [f"heading : {fts_phrase(tuple(tokens))}" for text in texts if (tokens := query_words(text))]


def _is_filler(word: QueryWord, query: Query) -> bool:
    """Whether a word is a function word; one that alone is capitalised is an abbreviation, as in "who leads WHO"."""
    if word.kind is not WordKind.PLAIN or (word.is_name and not query.text.isupper()):
        return False
    return is_function_word(word.tokens[0], query.language)


_SATURATION: Final = 1.2
_ENOUGH_CHUNKS: Final = 200
_MANY_CHUNKS: Final = 1000
_MAX_SIMILAR: Final = 2000
_MAX_WILDCARD_FORMS: Final = 100
_MAX_ROW_WORDS: Final = 8
_MAX_TYPED_WORDS: Final = 6
_MAX_RARE_CHUNKS: Final = 2
_MAX_FILLERS: Final = 1
"""So many function words may occur in the name of something; a sentence has more."""
_GRAM_ROW_WEIGHT: Final = 0.1
"""Korean questions (KorQuAD, 300) by words: nDCG@10 .953 with .01, .952 with .2, .947 with .5 and .942 with 1."""

_MAX_ROW_CHUNKS: Final = 5000
"""Checking the positions of a row takes a few µs for each chunk with its rarest word."""

_LETTERS_WITH_DIGITS: Final = re.compile(r"(?=.*\d)(?=.*[^\W\d_])\w+")
_SIGNS_AROUND: Final = re.compile(r"^\W+|\W+$")


def select_informative_words(query: Query, vocabulary: Vocabulary) -> Query:
    """Return a query limited to the words that can be searched for: the rarest, those of its message first."""
    if sum(map(_cost_in_words, query.words)) <= MAX_WORDS:
        return query
    words = [word for word in query.words if not all(is_function_word(token, query.language) for token in word.tokens)]
    counts = vocabulary.counts(sorted(set(chain.from_iterable(word.tokens for word in words))))
    known = [word for word in words if not counts.keys().isdisjoint(word.tokens)]
    rarest = sorted(known or words or query.words, key=lambda word: _n_chunks(word, counts))
    message = frozenset(query_words(last_failure_line(query.text)))
    preferred = list(
        _words_that_fit([word for word in rarest if message.issuperset(word.tokens)], MAX_WORDS * _MESSAGE_SHARE)
    )
    room = MAX_WORDS - sum(map(_cost_in_words, preferred))
    selected = {*preferred, *_words_that_fit([word for word in rarest if word not in preferred], room)}
    return query._replace(words=tuple(word for word in query.words if word in selected))


def _n_chunks(word: QueryWord, counts: dict[str, int]) -> float:
    """Return the number of chunks of the rarest part of a word; numbers do not describe a failure, only its time."""
    return min((counts[token] for token in word.tokens if token in counts and not token.isdigit()), default=math.inf)


def _words_that_fit(words: Sequence[QueryWord], room: float) -> Iterator[QueryWord]:
    for word in words:
        room -= _cost_in_words(word)
        if room < 0:
            return
        yield word


def _cost_in_words(word: QueryWord) -> float:
    return sum(1 / GRAMS_A_WORD if is_gram(token) else 1 for token in word.tokens)


_MESSAGE_SHARE: Final = 0.5
