"""Which of the files that are not in the index a question may be about, as far as their names tell.

Nothing of such a file is known but its path, so this is no search: it is said beside an answer that found little.
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

_SHORTEST: Final = 3
"""Fewer letters begin too many words."""


def scope_test(snapshot: Snapshot, request: SearchRequest, query: Query) -> Callable[[FilePath], bool]:
    """Make the test whether a request looks where a path lies, and for such a kind of file."""
    is_meant = path_tests(snapshot, request, query)
    return lambda path: is_meant(path) and may_be_of_kind(path, request, query)


def name_test(query: Query) -> Callable[[FilePath], bool]:
    """Make the test whether the name of a file has a word that begins with one of a query."""
    tokens = tuple({token for word in query.words for token in word.tokens if _tells(token, query.language)})

    def is_named(path: FilePath) -> bool:
        name = os.path.basename(path)
        return any(word.startswith(tokens) for word in (*words(name), *extra_words(name)))

    return is_named


def _tells(token: str, language: str) -> bool:
    return is_gram(token) or (len(token) >= _SHORTEST and not is_filler(token, language))
