"""What stands beside the code that a question is about: tests, examples, generated files, and what is no code.

Only how passages stand to each other counts: where all of them are tests, or none is code, nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from directory_indexer.relevance.candidates import Candidate
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.roles import has_role
from directory_indexer.relevance.textmatch import Matcher


def set_back(query: Query, matcher: Matcher, candidates: Sequence[Candidate], places: Sequence[str]) -> list[float]:
    """Tell how far each candidate stands behind the code, unless the question names what it is."""
    if not candidates:
        return []
    asked = {token for word in query.words for token in word.tokens}
    subject = _Subject(
        is_code=_are_code(candidates, places),
        is_tests=not asked.isdisjoint(_TEST_WORDS),
        is_prose=not asked.isdisjoint(_PROSE_WORDS),
        is_changes=not asked.isdisjoint(_CHANGE_WORDS),
    )
    found = [_distance(one, place, subject, matcher) for one, place in zip(candidates, places, strict=True)]
    least = min(found)
    return [distance - least for distance in found]


def _are_code(candidates: Sequence[Candidate], places: Sequence[str]) -> bool:
    """Tell whether at least half is code, without generated files and lists of changes, whose passages are many.

    One passage tells nothing.
    """
    counted = [
        one.is_code
        for one, place in zip(candidates, places, strict=True)
        if not has_role(place, "generated") and not re.search(_CHANGE_LOG, place)
    ]
    return sum(counted) >= max(_LEAST, len(counted) / 2)


class _Subject(NamedTuple):
    """What a question is about, as the passages that were found and its words tell."""

    is_code: bool
    is_tests: bool
    is_prose: bool
    is_changes: bool


def _distance(one: Candidate, place: str, subject: _Subject, matcher: Matcher) -> float:
    if subject.is_code and has_role(place, "generated"):
        return _FAR_BEHIND
    if not one.is_code:
        return _distance_of_prose(place, subject)
    marks = [found.group() for found in _MARK.finditer(place)]
    if not marks or matcher.terms_in(" ".join(marks)):
        return 0.0
    if all(re.fullmatch(_OTHER_CODE, mark) for mark in marks) or not subject.is_code:
        return _BEHIND
    return 0.0 if subject.is_tests else _FAR_BEHIND


def _distance_of_prose(place: str, subject: _Subject) -> float:
    """Put a list of changes further behind than other prose: it has a sentence about everything."""
    if subject.is_prose or not subject.is_code:
        return 0.0
    return _FAR_BEHIND if re.search(_CHANGE_LOG, place) and not subject.is_changes else _BEHIND


_LEAST: Final = 2
_BEHIND: Final = 0.2
_FAR_BEHIND: Final = 0.6
"""What these give, and what other values do, is in docs/ranking.md."""

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
"""Names of directories and files that hold what goes with the code, in the conventions of many languages."""

_OTHER_CODE: Final = "website|legacy|compat|deprecated|vendor|third_party"
