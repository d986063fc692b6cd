"""The places to read for a report: an issue, a stack trace, the output of a failing test, a diff.

Each place that speaks for a file has a weight and a reason: a line that the report names, a definition of a name in it,
its words and meaning, a commit like it. Files are ranked by the sum, and their places fill the room in that order.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.errors import UsageError
from directory_indexer.extractors.kinds import GROUPS, kind_for_alias
from directory_indexer.paths import FilePath, exact_text
from directory_indexer.relevance.analyzer import query_words
from directory_indexer.relevance.forms import phrase_of
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.roles import has_role
from directory_indexer.relevance.traces import Frame, read_trace
from directory_indexer.searching.answers import Hit, SearchMode, SearchRequest
from directory_indexer.searching.named_lines import named_passages
from directory_indexer.searching.scope import Scope, resolve_scope
from directory_indexer.searching.searcher import Searcher
from directory_indexer.searching.section_starts import SEPARATOR


class LocateRequest(NamedTuple):
    """A report, where to look, and how many tokens may be there to read."""

    text: str
    scope: tuple[FilePath, ...] = ()
    mode: SearchMode = SearchMode.HYBRID
    max_tokens: int = 8000
    embedding_seconds: float = 0.0


class Spot(NamedTuple):
    """Lines of a file to read, what they belong to, why, and about how many tokens they are."""

    path: FilePath
    start_line: int
    end_line: int
    symbol: str
    reason: str
    n_tokens: int


class Located(NamedTuple):
    """What to read: code, tests and documents, each the most telling first; `n_left_out` did not fit."""

    code: tuple[Spot, ...]
    tests: tuple[Spot, ...]
    documents: tuple[Spot, ...]
    notes: tuple[str, ...] = ()
    n_left_out: int = 0

    @property
    def is_any(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.code or self.tests or self.documents)


class Evidence(NamedTuple):
    """What speaks for lines of a file; `text` begins at `start_line`."""

    path: FilePath
    start_line: int
    text: str
    symbol: str
    reason: str
    weight: float
    line: int = 0
    """The line to point at, if one is known."""


class Candidates(NamedTuple):
    """Files with what speaks for them, the likeliest first."""

    files: tuple[tuple[FilePath, tuple[Evidence, ...]], ...]
    notes: tuple[str, ...] = ()


def locate(docstore: DocStore, searcher: Searcher, request: LocateRequest) -> Located:
    """Find the places to read for a report.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: the report is empty.
    """
    return within(gathered(docstore, searcher, request), request.max_tokens)


def gathered(docstore: DocStore, searcher: Searcher, request: LocateRequest) -> Candidates:
    """Collect all that speaks for files, and rank them by it.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: the report is empty.
    """
    if not request.text.strip():
        raise UsageError("there is no report to read", hint="pass it on standard input: dirindex locate < issue.txt")
    text = request.text[:_LONGEST_REPORT]
    asked = SearchRequest(
        "",
        mode=request.mode,
        limit=_MOST_HITS,
        scope=request.scope,
        embedding_seconds=request.embedding_seconds,
    )
    answers = [(searcher.search(asked._replace(query=query)), weight) for query, weight in _queries(text)]
    notes = dict.fromkeys(note for answer, _ in answers for note in answer.degraded)
    with docstore.snapshot() as snapshot:
        reader = _Report(snapshot, text, resolve_scope(snapshot, asked, Query("", "")))
        evidence = [one for answer, weight in answers for one in reader.of_hits(answer.hits, weight)]
        evidence += (*reader.of_frames(), *reader.of_names(), *reader.of_paths())
    return Candidates(tuple(_ranked(evidence)), tuple(notes))


def within(candidates: Candidates, max_tokens: int) -> Located:
    """Choose what to read of the candidates, so that it and the list of it take no more than so many tokens."""
    parts: dict[str, list[Spot]] = {"code": [], "tests": [], "documents": []}
    room = {name: int(max_tokens * share) for name, share in _SHARES.items()}
    n_left_out = 0
    for path, evidence in candidates.files:
        name = _part_of(path)
        spots = list(_spots(path, evidence, rank=len({spot.path for spot in parts[name]}), max_tokens=max_tokens))
        fitting = [spot for spot in spots if spot.n_tokens <= room[name]][: len(spots)]
        if not fitting:
            n_left_out += 1
            continue
        for spot in fitting:
            if spot.n_tokens <= room[name]:
                room[name] -= spot.n_tokens
                parts[name].append(spot)
    return Located(
        *(tuple(parts[name]) for name in ("code", "tests", "documents")), candidates.notes, n_left_out=n_left_out
    )


def _queries(text: str) -> Iterator[tuple[str, float]]:
    """Yield what is searched for, with its weight: the first line, and all of it where there is more."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    title = " ".join(_WORDS.findall(lines[0]))[:_LONGEST_TITLE]
    if title:
        yield title, _TITLE
    if len(lines) > 1:
        yield text, _WHOLE


class _Report:
    """What a report says of the files of a scope."""

    def __init__(self, snapshot: Snapshot, text: str, scope: Scope) -> None:
        self._snapshot = snapshot
        self._text = text
        self._scope = scope

    def of_hits(self, hits: Sequence[Hit], weight: float) -> Iterator[Evidence]:
        """Yield passages that were ranked; of a commit, the files that it changed."""
        ranks: dict[FilePath, int] = {}
        n_commits = 0
        for hit in hits:
            if hit.facts.kind == "commit":
                n_commits += 1
                yield from self._of_commit(hit, weight * _COMMIT / (n_commits + 1))
                continue
            rank = ranks.setdefault(hit.path, len(ranks))
            share = weight * (_RANKED / (rank + _RANKED)) * (0.5 + hit.score / 2)
            yield Evidence(
                hit.path, hit.start_line, hit.text, hit.heading, "words and meaning", share, hit.excerpt.line
            )

    def of_frames(self) -> Iterator[Evidence]:
        """Yield the lines that frames and hunks name."""
        hunks = list(_hunks(self._text))
        trace = read_trace(self._text)
        for reason, weight, frames in (("changed in the diff", _HUNK, hunks), ("frame", _FRAME, trace.frames)):
            for rank, (chunk, line) in enumerate(named_passages(self._snapshot, frames, self._scope)):
                yield Evidence(
                    chunk.path,
                    chunk.chunk.start_line,
                    chunk.chunk.text,
                    chunk.chunk.heading,
                    f"{reason}, line {line}" if line else reason,
                    weight / (1 + rank / _FRAMES_THAT_COUNT),
                    line or 0,
                )

    def of_names(self) -> Iterator[Evidence]:
        """Yield the definitions of names in the report, rare ones first."""
        names = _names_in(self._text)
        for name, n_times in names.items():
            chunks = self._headed(name)
            if not chunks or len(chunks) > _MOST_ALIKE:
                continue
            for chunk in chunks:
                weight = _NAME * min(1 + n_times / 4, 2) / len(chunks) ** 0.7
                text = chunk.chunk.text
                at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
                line = chunk.chunk.start_line + text.count("\n", 0, at.start()) if at else 0
                reason = f"defines {name}"
                yield Evidence(chunk.path, chunk.chunk.start_line, text, chunk.chunk.heading, reason, weight, line)

    def _headed(self, name: str) -> list[IndexedChunk]:
        """Return the chunks of code whose heading has a name as the last one or one of the last ones."""
        tokens = tuple(query_words(name))
        if not tokens:
            return []
        found = self._snapshot.words.ranked(
            f"heading : {phrase_of(tokens)}", file_ids_json=self._scope.file_ids_json, limit=_MOST_ALIKE * 4
        )
        chunks = self._snapshot.chunks.by_id(id_ for id_, _ in found).values()
        return [one for one in chunks if one.facts.kind in GROUPS["code"] and name in _own_names(one.chunk.heading)]

    def of_paths(self) -> Iterator[Evidence]:
        """Yield the files that the report names."""
        named = dict.fromkeys(found[0].replace("\\", "/") for found in _PATH.finditer(self._text))
        paths = list(named)[:_MOST_PATHS]
        found = self._snapshot.typed_paths.called([path.rpartition("/")[2] for path in paths])
        for typed in paths:
            parts = [part for part in typed.split("/") if part not in (".", "..", "")]
            ends = [path for path in found if exact_text(path).split(os.sep)[-len(parts) :] == parts]
            for path in ends if len(ends) <= _MOST_ALIKE else ():
                yield from self._beginning(path, f"names {typed}", _PATH_WEIGHT / len(ends))

    def _of_commit(self, hit: Hit, weight: float) -> Iterator[Evidence]:
        """Yield the files that a commit changed, which stand at its end."""
        names = [line for line in hit.text.rstrip().rpartition("\n\n")[2].split("\n") if line and " " not in line]
        root = exact_text(hit.path).partition(f"{os.sep}.git{os.sep}")[0]
        subject = hit.text.partition("\n")[0][:_LONGEST_SUBJECT]
        for name in names[:_MOST_CHANGED]:
            path = FilePath(os.path.join(root, name))
            yield from self._beginning(path, f"changed by a commit like it: {subject}", weight / len(names) ** 0.5)

    def _beginning(self, path: FilePath, reason: str, weight: float) -> Iterator[Evidence]:
        chunks = self._snapshot.chunks.of_file(path)
        if chunks:
            first = chunks[0].chunk
            yield Evidence(path, first.start_line, first.text, first.heading, reason, weight)


def _own_names(heading: str) -> set[str]:
    """Return the names of the sections that a chunk holds, and of those that they stand in."""
    *outer, last = heading.split(SEPARATOR)
    return {*outer, *(name.rpartition(".")[2] for name in last.split(", "))}


def _hunks(text: str) -> Iterator[Frame]:
    """Yield the first lines of the hunks of a diff, as they were before."""
    path = ""
    for line in text.splitlines():
        if named := _DIFF_PATH.match(line):
            path = named["path"] if named["path"] != "/dev/null" else path
        elif (hunk := _HUNK_HEAD.match(line)) and path:
            yield Frame(path, max(int(hunk["line"]), 1) + _HUNK_CONTEXT, line)


def _names_in(text: str) -> dict[str, int]:
    """Return identifiers with how often they stand in a text; plain words count where they are marked as code."""
    counts: defaultdict[str, int] = defaultdict(int)
    for found in _IDENTIFIER.finditer(text):
        for part in re.split(r"\.|::|->|#", found["code"] or found["name"]):
            name = part.strip("()` ")
            if len(name) >= _SHORTEST_NAME and _PLAIN_NAME.fullmatch(name):
                counts[name] += 1
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:_MOST_NAMES])


def _ranked(evidence: Iterable[Evidence]) -> Iterator[tuple[FilePath, tuple[Evidence, ...]]]:
    """Rank files by the sum of what speaks for them, each reason of a kind counting half of the one before."""
    files: defaultdict[FilePath, list[Evidence]] = defaultdict(list)
    for one in evidence:
        if max(map(len, one.text.split("\n"))) <= _LONGEST_LINE:  # else a program wrote it
            files[one.path].append(one)
    scores: dict[FilePath, float] = {}
    for path, own in files.items():
        own.sort(key=lambda one: -one.weight)
        n_times: defaultdict[str, int] = defaultdict(int)
        for one in own:
            kind = one.reason.partition(" ")[0]
            scores[path] = scores.get(path, 0.0) + one.weight * _AGAIN ** n_times[kind]
            n_times[kind] += 1
    for path in sorted(files, key=lambda path: (-scores[path], path)):
        yield path, tuple(files[path])


def _part_of(path: FilePath) -> str:
    name = exact_text(path)
    if has_role(name, "test"):
        return "tests"
    return "code" if kind_for_alias(name.rpartition(".")[2]) in GROUPS["code"] else "documents"


def _spots(path: FilePath, evidence: Sequence[Evidence], *, rank: int, max_tokens: int) -> Iterator[Spot]:
    """Yield the best places of a file; the further behind it stands, the fewer and shorter they are."""
    n_spots, n_lines = next((n, lines) for last, n, lines in _LENGTHS if rank * 8000 < last * max_tokens)
    taken: list[range] = []
    for one in evidence:
        lines = one.text.rstrip("\n").split("\n")
        line = one.line or one.start_line
        first = max(min(line - n_lines // 3, one.start_line + len(lines) - n_lines), one.start_line)
        last = min(first + n_lines, one.start_line + len(lines)) - 1
        if any(first <= other.stop and last >= other.start for other in taken):
            continue
        taken.append(range(first, last))
        reason = ", ".join(dict.fromkeys(other.reason for other in evidence if other.line in range(first, last + 1)))
        reason = reason or one.reason
        n_bytes = sum(len(text.encode()) + 1 for text in lines[first - one.start_line : last - one.start_line + 1])
        n_bytes += len(path) + len(reason) + len(one.symbol)
        yield Spot(path, first, last, one.symbol, reason[:_LONGEST_REASON], -(-n_bytes // _BYTES_PER_TOKEN))
        if len(taken) == n_spots:
            return


_BYTES_PER_TOKEN: Final = 3
_SHARES: Final = {"code": 0.8, "tests": 0.1, "documents": 0.1}
_LENGTHS: Final = ((3, 2, 40), (8, 1, 30), (16, 1, 16), (1 << 30, 1, 8))
"""Files up to a rank at 8,000 tokens, how many places of each are shown, and how many lines of each."""

_TITLE, _WHOLE, _RANKED, _AGAIN = 1.0, 1.0, 8, 0.5
_FRAME, _HUNK, _NAME, _PATH_WEIGHT, _COMMIT = 4.0, 5.0, 0.6, 2.0, 1.0
_FRAMES_THAT_COUNT: Final = 5
_HUNK_CONTEXT: Final = 3
_MOST_HITS: Final = 100
_MOST_NAMES: Final = 40
_MOST_ALIKE: Final = 8
_MOST_PATHS: Final = 40
_MOST_CHANGED: Final = 30
_LONGEST_REPORT: Final = 100_000
_LONGEST_TITLE: Final = 300
_LONGEST_SUBJECT: Final = 80
_LONGEST_REASON: Final = 160
_LONGEST_LINE: Final = 1000
_SHORTEST_NAME: Final = 3
_WORDS: Final = re.compile(r"\w[\w.'-]*\w|\w")
_PATH: Final = re.compile(r"(?<![\w./-])(?:[\w.@-]+[/\\])*[\w.-]+\.[a-z]\w{0,4}(?![\w/])")
_DIFF_PATH: Final = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?(?P<path>[^\t\n]+)")
_HUNK_HEAD: Final = re.compile(r"@@ -(?P<line>\d+)")
_IDENTIFIER: Final = re.compile(
    r"`(?P<code>[\w.:#>()-]{2,80})`|(?P<name>(?<![\w.])(?:[A-Za-z_]\w*(?:\.|::|->|\#))*"
    r"(?:[a-z]\w*_\w+|_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*|[A-Z]+_[A-Z_]+|\w+(?=\(\))"
    r"|(?<=\.)\w+|(?<=::)\w+))"
)
_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*[?!]?")
