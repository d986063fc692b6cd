"""What a client may say to each tool, in words for a model that has never seen dirindex."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from directory_indexer.searching.answers import SearchMode
from directory_indexer.server.budget import Budgets
from directory_indexer.server.cursors import LONGEST_CURSOR
from directory_indexer.server.shapes import described

_CURSOR = "next_cursor of the previous answer, to go on where it ended; all other arguments as before."
_MAX_TOKENS = "Longest answer, in tokens. What does not fit is left out whole and can be asked for afterwards."
_LONGEST_PATH = 4096


class IndexAction(StrEnum):
    """What `index` is asked to do."""

    START = "start"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class SearchCall:
    """The arguments of `search`."""

    query: str = described(
        'What to look for: a question, a description or words. "quoted phrase", -without, path:, type: and heading: '
        "narrow it.",
        at_least=1,
        at_most=2000,
    )
    path: str = described(
        "Only below this directory, or in this file. Empty: everywhere.", default="", at_most=_LONGEST_PATH
    )
    types: tuple[str, ...] = described(
        'Only files of these kinds, such as "python", "markdown", "pdf" or "code".', default=(), at_most=20
    )
    globs: tuple[str, ...] = described(
        'Only files whose path matches one of these patterns, as in .gitignore: "*.md", "src/**".',
        default=(),
        at_most=20,
    )
    mode: SearchMode = described(
        "hybrid: by words and by meaning, the best choice; keyword: only exact words and identifiers; semantic: only "
        "by meaning.",
        default=SearchMode.HYBRID,
    )
    limit: int = described("Most passages to return.", default=10, at_least=1, at_most=50)
    max_tokens: int = described(_MAX_TOKENS, default=Budgets.SEARCH, at_least=Budgets.LEAST, at_most=Budgets.MOST)
    cursor: str = described(_CURSOR, default="", at_most=LONGEST_CURSOR)


@dataclass(frozen=True, slots=True)
class SimilarCall:
    """The arguments of `similar_files`."""

    path: str = described("An indexed file, as search gives its path.", at_least=1, at_most=_LONGEST_PATH)
    within: str = described("Only files below this directory. Empty: everywhere.", default="", at_most=_LONGEST_PATH)
    limit: int = described("Most files to return.", default=10, at_least=1, at_most=50)
    max_tokens: int = described(_MAX_TOKENS, default=Budgets.SEARCH, at_least=Budgets.LEAST, at_most=Budgets.MOST)
    cursor: str = described(_CURSOR, default="", at_most=LONGEST_CURSOR)


@dataclass(frozen=True, slots=True)
class ContentCall:
    """The arguments of `get_content`."""

    path: str = described("An indexed file, as search gives its path.", at_least=1, at_most=_LONGEST_PATH)
    start_line: int = described("First line to read, counted from 1.", default=1, at_least=1)
    end_line: int = described("Last line to read; 0: as far as max_tokens reaches.", default=0, at_least=0)
    chunks: str = described(
        'Read these passages in place of lines: "3", "3-7" or "3-". Useful where a file has very long lines.',
        default="",
        at_most=30,
    )
    pages: str = described(
        'Read these pages in place of lines, in a document that has pages: "2" or "2-4".', default="", at_most=30
    )
    max_tokens: int = described(_MAX_TOKENS, default=Budgets.CONTENT, at_least=Budgets.LEAST, at_most=Budgets.MOST)


@dataclass(frozen=True, slots=True)
class IndexCall:
    """The arguments of `index`."""

    path: str = described(
        "Directory to bring up to date, or to add where the operator of this server allows it. Empty: all of them.",
        default="",
        at_most=_LONGEST_PATH,
    )
    action: IndexAction = described(
        "start: start a run, or join the one that goes on; cancel: stop a run that this server started, at the end of "
        "the batch in hand.",
        default=IndexAction.START,
    )
    wait_seconds: int = described(
        "Wait so long for the run to end before answering with its state; it goes on after that.",
        default=20,
        at_least=0,
        at_most=50,
    )


@dataclass(frozen=True, slots=True)
class InfoCall:
    """The arguments of `server_info`: none."""
