"""Files outside the index that a query may be about, judged by their names.

Only their paths are known, so this is no search: it is reported beside an answer that found little.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from directory_indexer.docstore.store import Snapshot
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.relevance.analyzer import extra_words, words
from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.languages import is_filler
from directory_indexer.relevance.query import Query
from directory_indexer.searching.gaps import may_be_of_kind
from directory_indexer.searching.scope import path_tests

with lazily:
    from directory_indexer.searching.answers import SearchRequest

_MIN_PREFIX_LENGTH: Final = 3
"""A shorter prefix matches too many words."""


def scope_test(snapshot: Snapshot, request: SearchRequest, query: Query) -> Callable[[FilePath], bool]:
    """Return a test whether a path is in the scope of a request, and of a requested kind."""
    is_in_scope = path_tests(snapshot, request, query)
    return lambda path: is_in_scope(path) and may_be_of_kind(path, request, query)


def name_test(query: Query) -> Callable[[FilePath], bool]:
    """Return a test whether the name of a file has a word that begins with one of a query."""
    tokens = tuple({token for word in query.words for token in word.tokens if _is_informative(token, query.language)})

    def has_prefix(path: FilePath) -> bool:
        name = os.path.basename(path)
        return any(word.startswith(tokens) for word in (*words(name), *extra_words(name)))

    return has_prefix


def _is_informative(token: str, language: str) -> bool:
    return is_gram(token) or (len(token) >= _MIN_PREFIX_LENGTH and not is_filler(token, language))
