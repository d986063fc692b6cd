"""Query variants: prefix search while the last word is being typed, and relaxation of phrases with few hits.

Hits with the whole last word come before those with the prefix. Each file has one hit, so that it stays in the list
from key to key. If few passages contain a phrase literally, its words are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from directory_indexer.core.batching import batched
from directory_indexer.core.ids import ChunkId
from directory_indexer.ranking.analyzer import is_gram, query_words
from directory_indexer.ranking.ordering import Ranking, rank_by_keyword_score
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.query import Query, WordKind, parse_filter_argument, parse_query
from directory_indexer.search.hits import QueryAnswer
from directory_indexer.search.requests import SearchRequest
from directory_indexer.search.retrieval import RankedChunks, Retriever, make_candidate, permitted_chunks
from directory_indexer.search.scope import Scope
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import Snapshot

MAX_PREFIX_FILES: Final = 20
"""The maximum number of files found by a prefix, in names and in texts together."""

MIN_PREFIX_FILES: Final = 5
"""There is room for so many files found in texts, however many names match."""

EMPTY_ANSWER: Final = QueryAnswer((), is_weak=True)
_PASSAGES_PER_FILE: Final = 3
_MAX_PASSAGES_PER_FILE: Final = 10
"""Passages examined per file wanted: first three, then ten if those are of too few files."""


class PrefixQuery(NamedTuple):
    """A query whose last word is a prefix; each hit must match `required`, if it is not empty.

    If `is_word`, the last word also is a word of the index, or too short to be a prefix.
    """

    query: Query
    required: str = ""
    is_word: bool = True


def parse_prefix_query(snapshot: Snapshot, text: str) -> PrefixQuery | None:
    """Parse a query that is being typed; None if its last word is none, or a prefix of no word of the index."""
    piece = re.search(_LAST_PIECE, text)[0]  # type: ignore[index]  # which may be empty
    word = re.search(_LAST_WORD, piece)
    if not word or parse_filter_argument(piece) or piece.startswith("-") or is_gram(word[0]):
        return None
    if name := _parse_prefix_of_name(snapshot, text, query_words(piece)):
        return name
    before = text[: len(text) - len(word[0])]
    tokens = query_words(word[0])
    is_word = bool(snapshot.words.known(tokens))
    if len(word[0]) < (_MIN_PREFIX_LENGTH if is_word else _MIN_PREFIX_LENGTH_OF_UNKNOWN):
        query = parse_query(before)
        return None if query.is_empty else PrefixQuery(query)
    if len(tokens) != 1 or not snapshot.words.starting_with(tokens[0], limit=1):
        return None
    return PrefixQuery(parse_query(f"{before} {word[0]}*"), f'"{tokens[0]}" *', is_word)


def _parse_prefix_of_name(snapshot: Snapshot, text: str, tokens: Sequence[str]) -> PrefixQuery | None:
    """Parse a query whose last piece is a name of several words (4.17.2); None if no text has it or what it begins."""
    row = " ".join(tokens)
    beginning = f'"{row}" *'
    if len(tokens) < _MIN_WORDS_OF_NAME or not snapshot.words.count(beginning):
        return None
    return PrefixQuery(parse_query(text), beginning, bool(snapshot.words.count(f'"{row}"')))


def require_expression(plan: MatchPlan, expression: str, *, is_ranked_by_words: bool) -> MatchPlan:
    """Return a plan whose hits must match one more FTS5 expression, if that is not empty.

    If `is_ranked_by_words`, all candidates come from FTS5, and need not be checked again.
    """
    if not expression or (is_ranked_by_words and plan.expression == f"({expression})"):
        return plan
    return plan._replace(
        expression=f"({plan.expression}) AND ({expression})" if plan.expression else expression,
        required=plan.required if is_ranked_by_words else (*plan.required, expression),
        narrow=None,
        rare=None,
        together=plan.together if is_ranked_by_words else None,
        named=None,
        exact=(),
    )


def rank_files(
    snapshot: Snapshot,
    retriever: Retriever,
    plan: MatchPlan,
    scope: Scope,
    request: SearchRequest,
    *,
    without: frozenset[int],
) -> RankedChunks:
    """Rank files by BM25 of their best permitted passages, so that many passages of a file hide no other file.

    Three times as many passages are examined as files are wanted, or ten times if needed. Files that are shown anyway
    are left out; copies count once.
    """
    for n_passages in (_PASSAGES_PER_FILE * request.limit, _MAX_PASSAGES_PER_FILE * request.limit):
        lists = retriever.retrieve(n_passages)
        chunks: dict[ChunkId, IndexedChunk] = {}
        files, texts = set(without), set[str]()
        for chunk in _permitted_in_order(snapshot, lists.by_words, plan, scope, request):
            if chunk.holder_id in files:
                continue
            files.add(chunk.holder_id)
            texts.add("".join(chunk.chunk.text.split()))
            chunks[chunk.chunk_id] = chunk
            if len(texts) == request.limit:
                break
        if len(texts) == request.limit or len(lists.by_words) < n_passages:
            break
    return RankedChunks(
        plan, chunks, rank_by_keyword_score([make_candidate(chunk, lists) for chunk in chunks.values()])
    )


def _permitted_in_order(
    snapshot: Snapshot, chunk_ids: Iterable[ChunkId], plan: MatchPlan, scope: Scope, request: SearchRequest
) -> Iterator[IndexedChunk]:
    """Yield the permitted chunks in their order; a few are read at a time, which mostly suffice."""
    for few in batched(chunk_ids, request.limit):
        permitted = permitted_chunks(snapshot, few, plan, scope, request)
        yield from (permitted[chunk_id] for chunk_id in few if chunk_id in permitted)


def omits_prefix_hits(snapshot: Snapshot, whole_word: QueryAnswer, prefix_query: PrefixQuery, *, limit: int) -> bool:
    """Whether to leave out prefix hits: whole words fill half of the answer, and the prefix matches too many files."""
    return (
        2 * len(whole_word.passages) >= limit
        and bool(prefix_query.required)
        and snapshot.words.are_in_files(prefix_query.required, MAX_PREFIX_FILES)
    )


def append_prefix_hits(whole_word: QueryAnswer, prefix: QueryAnswer, *, limit: int) -> QueryAnswer:
    """Append hits with the prefix to those with the whole word, and cut the latter if necessary.

    The notes are those of the whole word; where its hits have no place, those of the prefix, too.
    """
    paths = {passage.chunk.path for passage in whole_word.passages[: max(limit - len(prefix.passages), 0)]}
    more = [passage for passage in prefix.passages if passage.chunk.path not in paths]
    first = whole_word.passages[: max(limit - len(more), 0)]
    lowest = first[-1].ranked.score if first else 1.0
    others = (
        passage._replace(ranked=passage.ranked._replace(score=min(passage.ranked.score, lowest))) for passage in more
    )
    notes = whole_word.notes if first else tuple(dict.fromkeys((*whole_word.notes, *prefix.notes)))
    return whole_word._replace(
        passages=(*first, *others), notes=notes, is_weak=whole_word.is_weak and not prefix.passages
    )


_MIN_WORDS_OF_NAME: Final = 2
_MIN_PREFIX_LENGTH: Final = 3
"""A shorter prefix matches too many words."""

_MIN_PREFIX_LENGTH_OF_UNKNOWN: Final = 2
"""For a word that the index lacks, which would find nothing."""

_LAST_PIECE: Final = r'[^\s"]*\Z'
_LAST_WORD: Final = r"[^\W_]+\Z"


def relax_phrases(query: Query, strict: Ranking, *, limit: int) -> Query | None:
    """Return the query without binding phrases, if they leave fewer hits than a reader wants to choose from.

    For a query that is nothing but a phrase, one or two literal hits are enough.
    """
    if not (query.phrases_bind and query.phrases):
        return None
    has_other_words = any(word.kind is not WordKind.PHRASE for word in query.words)
    enough = min(_MIN_HITS, limit) if has_other_words else 1
    return query._replace(phrases_bind=False) if len(strict.hits) < enough else None


def append_relaxed(strict: Ranking, others: Ranking, *, limit: int) -> Ranking:
    """Append hits that only have the words to those with the phrases."""
    if not strict.hits:
        return others
    known = {hit.chunk_id for hit in strict.hits}
    least = strict.hits[-1].score
    rest = (hit._replace(score=min(hit.score, least)) for hit in others.hits if hit.chunk_id not in known)
    return Ranking((*strict.hits, *rest)[:limit], strict.is_weak)


def relaxed_note(query: Query, strict: Ranking) -> str:
    """Return the note that an answer goes beyond the phrases of its query."""
    quoted = " and ".join(f'"{phrase.text}"' for phrase in query.phrases)
    n_hits = len(strict.hits)
    counted = "no passage has" if not n_hits else "one passage has" if n_hits == 1 else f"only {n_hits} passages have"
    rest = "others follow" if n_hits else "searched for its words one by one"
    return f"{counted} {quoted} as quoted; {rest}"


_MIN_HITS: Final = 3
