"""Quotations that bind: where nothing or little has them as they stand, their words are looked for one by one."""

from __future__ import annotations

from typing import Final

from directory_indexer.relevance.query import Query, WordKind
from directory_indexer.relevance.ranking import Ranking


def relaxed(query: Query, strict: Ranking, *, limit: int) -> Query | None:
    """Give the query without binding quotations, where they leave fewer hits than a reader wants to choose from.

    One or two passages are what who typed nothing but a quotation was looking for.
    """
    if not (query.phrases_bind and query.phrases):
        return None
    has_other_words = any(word.kind is not WordKind.PHRASE for word in query.words)
    wanted = min(_LITTLE, limit) if has_other_words else 1
    return query._replace(phrases_bind=False) if len(strict.hits) < wanted else None


def continued(strict: Ranking, others: Ranking, *, limit: int) -> Ranking:
    """Put what has the quotations before what only has their words."""
    if not strict.hits:
        return others
    known = {one.chunk_id for one in strict.hits}
    least = strict.hits[-1].score
    rest = (one._replace(score=min(one.score, least)) for one in others.hits if one.chunk_id not in known)
    return Ranking((*strict.hits, *rest)[:limit], strict.is_weak)


def note_on(query: Query, strict: Ranking) -> str:
    """Say that an answer goes beyond the quotations of its query."""
    quoted = " and ".join(f'"{phrase.text}"' for phrase in query.phrases)
    n_hits = len(strict.hits)
    found = "no passage has" if not n_hits else "one passage has" if n_hits == 1 else f"only {n_hits} passages have"
    rest = "others follow" if n_hits else "searched for its words one by one"
    return f"{found} {quoted} as quoted; {rest}"


_LITTLE: Final = 3
