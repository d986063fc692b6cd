"""Penalties for tests, examples, generated files and prose among code.

Only differences between passages count: where all of them are tests, or none is code, nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from directory_indexer.relevance.candidates import Candidate
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.roles import has_role
from directory_indexer.relevance.textmatch import Matcher


def code_penalties(
    query: Query, matcher: Matcher, candidates: Sequence[Candidate], paths: Sequence[str]
) -> list[float]:
    """Return the penalty of each candidate relative to code, unless the query names its kind."""
    if not candidates:
        return []
    query_tokens = {token for word in query.words for token in word.tokens}
    subject = _Subject(
        is_code=_is_about_code(candidates, paths),
        is_tests=not query_tokens.isdisjoint(_TEST_WORDS),
        is_prose=not query_tokens.isdisjoint(_PROSE_WORDS),
        is_changes=not query_tokens.isdisjoint(_CHANGE_WORDS),
    )
    penalties = [_penalty(candidate, path, subject, matcher) for candidate, path in zip(candidates, paths, strict=True)]
    lowest = min(penalties)
    return [penalty - lowest for penalty in penalties]


def _is_about_code(candidates: Sequence[Candidate], paths: Sequence[str]) -> bool:
    """Whether at least half of the candidates are code, not counting generated files and changelogs.

    Those have many passages. A single passage proves nothing.
    """
    counted = [
        candidate.is_code
        for candidate, path in zip(candidates, paths, strict=True)
        if not has_role(path, "generated") and not re.search(_CHANGE_LOG, path)
    ]
    return sum(counted) >= max(_MIN_CODE_PASSAGES, len(counted) / 2)


class _Subject(NamedTuple):
    """The subject of a query, judged by its words and by the candidates."""

    is_code: bool
    is_tests: bool
    is_prose: bool
    is_changes: bool


def _penalty(candidate: Candidate, path: str, subject: _Subject, matcher: Matcher) -> float:
    if subject.is_code and has_role(path, "generated"):
        return _HEAVY_PENALTY
    if not candidate.is_code:
        return _prose_penalty(path, subject)
    marks = [match.group() for match in _MARK.finditer(path)]
    if not marks or matcher.terms_in(" ".join(marks)):
        return 0.0
    if all(re.fullmatch(_OTHER_CODE, mark) for mark in marks) or not subject.is_code:
        return _PENALTY
    return 0.0 if subject.is_tests else _HEAVY_PENALTY


def _prose_penalty(path: str, subject: _Subject) -> float:
    """Return a heavier penalty for changelogs than for other prose: they have a sentence about everything."""
    if subject.is_prose or not subject.is_code:
        return 0.0
    return _HEAVY_PENALTY if re.search(_CHANGE_LOG, path) and not subject.is_changes else _PENALTY


_MIN_CODE_PASSAGES: Final = 2
_PENALTY: Final = 0.2
_HEAVY_PENALTY: Final = 0.6
"""docs/ranking.md compares other values."""

_TEST_WORDS: Final = frozenset(
    "test tests tested testing testcase testcases unittest unittests spec specs fixture fixtures mock mocks testdata "
    "conftest bench benchmark benchmarks example examples sample samples demo demos".split()
)
_PROSE_WORDS: Final = frozenset(
    "doc docs document documents documented documentation readme guide guides tutorial tutorials manual manuals "
    "changelog contributing faq license instructions example examples".split()
)
_CHANGE_WORDS: Final = frozenset("changes history news release releases upgrade version versions".split())

_CHANGE_LOG: Final = r"(?i)(?:^|/)(?:change_?log|changes?|history|news|releases?|release[_-]notes)(?:\.[^/]*)?$"
_MARK: Final = re.compile(
    r"""
    (?:^|(?<=/)) (?:tests?|testing|__tests__|specs?|fixtures?|mocks?|__mocks__|testdata|e2e|bench(?:marks?)?
                  |_?examples?|samples?|demos?|website|legacy|compat|deprecated|vendor|third_party) (?=/)
    | (?:^|(?<=/)) (?:test(?=_)|conftest)
    | (?<=[._-]) (?:tests?|specs?|bench(?:mark)?) (?=\.)
    | (?<=[a-z0-9]) (?:Tests?|Spec|Benchmark) (?=\.\w+$)
    """,
    re.VERBOSE,
)
"""Names of directories and files that accompany code, in the conventions of many languages."""

_OTHER_CODE: Final = "website|legacy|compat|deprecated|vendor|third_party"
