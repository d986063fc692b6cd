"""Fallback for binding phrases: if little or nothing contains them literally, their words are searched for."""

from __future__ import annotations

from typing import Final

from directory_indexer.relevance.query import Query, WordKind
from directory_indexer.relevance.ranking import Ranking


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
