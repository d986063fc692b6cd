"""Issue localisation: code, tests and documents to read for a bug report, a stack trace, a failing test or a diff.

Each piece of evidence for a file has a weight and a reason: a line that the report names, a definition of a name in it,
its words and meaning, a commit like it. Files are ranked by the sum, and fill the token budget in that order. Where the
report names lines, files with much weaker evidence than the best are left out.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Annotated, Final, NamedTuple

from directory_indexer.chunking.chunks import HEADING_SEPARATOR
from directory_indexer.core.errors import UsageError
from directory_indexer.core.paths import FilePath, containers_around, exact_text
from directory_indexer.formats.kinds import GROUPS, kind_for_alias
from directory_indexer.ranking.analyzer import query_words
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.query_syntax import has_role
from directory_indexer.ranking.traces import Frame, parse_trace
from directory_indexer.ranking.word_forms import fts_phrase
from directory_indexer.search.boosts import passages_of_frames
from directory_indexer.search.requests import Hit, SearchMode, SearchRequest
from directory_indexer.search.scope import Scope, resolve_scope
from directory_indexer.search.searcher import Searcher
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import DocStore, Snapshot


class LocateRequest(NamedTuple):
    """A report, the scope to look in, and a budget of tokens for the lines to read."""

    text: str
    scope: tuple[FilePath, ...] = ()
    mode: SearchMode = SearchMode.HYBRID
    max_tokens: int = 8000
    embedding_seconds: float = 0.0
    with_weaker: bool = False


class Spot(NamedTuple):
    """Lines of a file to read."""

    path: Annotated[FilePath, "Absolute path of the file."]
    start_line: Annotated[int, "First line."]
    end_line: Annotated[int, "Last line."]
    symbol: Annotated[str, "The symbol or heading that they belong to."]
    reason: Annotated[str, "Why: a frame, a definition, words and meaning, a commit like it …"]
    tokens: Annotated[int, "Size in tokens, with this row."]


class LocateResult(NamedTuple):
    """Places to read in code, tests and documents, each the most relevant first.

    `n_left_out` files did not fit, and the evidence for `n_weaker` further ones is much weaker.
    """

    code: tuple[Spot, ...]
    tests: tuple[Spot, ...]
    documents: tuple[Spot, ...]
    notes: tuple[str, ...] = ()
    n_left_out: int = 0
    n_weaker: int = 0

    @property
    def has_results(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.code or self.tests or self.documents)


class Evidence(NamedTuple):
    """A reason to read lines of a file; `text` begins at `start_line`."""

    path: FilePath
    start_line: int
    text: str
    symbol: str
    reason: str
    weight: float
    line: int = 0
    """The line to point at, if one is known."""


class CandidateFiles(NamedTuple):
    """Files with the evidence for them, the likeliest first; that of the first `n_strong` does not fall off."""

    files: tuple[tuple[FilePath, tuple[Evidence, ...]], ...]
    n_strong: int
    notes: tuple[str, ...] = ()

    def strong(self) -> CandidateFiles:
        """Return those with strong evidence, with the best tests and documents beside them."""
        weaker = self.files[self.n_strong :]
        beside = [
            candidate
            for part in _BUDGET_SHARES
            if part != "code"
            for candidate in [file for file in weaker if _category(file[0]) == part][:_MAX_BESIDE]
        ]
        return self._replace(files=(*self.files[: self.n_strong], *beside))


def locate(docstore: DocStore, searcher: Searcher, request: LocateRequest) -> LocateResult:
    """Return the places to read for a report.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: the report is empty.
    """
    candidates = gather_candidates(docstore, searcher, request)
    likely = candidates if request.with_weaker else candidates.strong()
    located = fit_token_budget(likely, request.max_tokens)
    return located._replace(n_weaker=len(candidates.files) - len(likely.files))


def gather_candidates(docstore: DocStore, searcher: Searcher, request: LocateRequest) -> CandidateFiles:
    """Return the files that a report may be about, ranked by the evidence.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: the report is empty.
    """
    if not request.text.strip():
        raise UsageError("there is no report to read", hint="pass it on standard input: dirindex locate < issue.txt")
    text = request.text[:_MAX_REPORT_CHARS]
    search = SearchRequest(
        "",
        mode=request.mode,
        limit=_MAX_HITS,
        scope=request.scope,
        embedding_seconds=request.embedding_seconds,
    )
    answers = [(searcher.search(search._replace(query=query)), weight) for query, weight in _queries(text)]
    notes = answers[-1][0].note_texts if answers else ()  # each answer is about the same index
    with docstore.snapshot() as snapshot:
        reader = _Report(snapshot, text, resolve_scope(snapshot, search, Query("", "")))
        evidence = [item for answer, weight in answers for item in reader.of_hits(answer.hits, weight)]
        frames = list(reader.of_frames())
        evidence += (*frames, *reader.of_names(), *reader.of_paths())
        likeliest = [path for path, _, _ in _rank_files(evidence) if _category(path) == "code"][:_N_LIKELIEST]
        evidence += (*reader.beside(likeliest), *reader.changed_together(likeliest))
    ranked = list(_rank_files(evidence))
    least = _STRONG_SHARE * ranked[0][2] if frames else 0.0
    n_strong = sum(score >= least for _, _, score in ranked)
    return CandidateFiles(tuple((path, own) for path, own, _ in ranked), n_strong, notes)


def fit_token_budget(candidates: CandidateFiles, max_tokens: int) -> LocateResult:
    """Return the places to read of the candidates; they and their list take at most `max_tokens` tokens."""
    parts: dict[str, tuple[Spot, ...]] = {}
    left = max_tokens
    for name, share in _BUDGET_SHARES.items():  # code comes last, and gets what tests and documents leave
        files = [candidate for candidate in candidates.files if _category(candidate[0]) == name]
        parts[name] = tuple(_fit_spots(files, int(max_tokens * share) if share else left, max_tokens=max_tokens))
        left -= sum(spot.tokens for spot in parts[name])
    n_shown = len({spot.path for part in parts.values() for spot in part})
    n_left_out = len(candidates.files) - n_shown
    return LocateResult(parts["code"], parts["tests"], parts["documents"], candidates.notes, n_left_out)


def _fit_spots(
    files: Sequence[tuple[FilePath, tuple[Evidence, ...]]], budget: int, *, max_tokens: int
) -> Iterator[Spot]:
    """Yield the places that fit into a budget: a file's next place competes with the first ones of later files."""
    step = max(_FILES_BEFORE_NEXT_SPOT, _FILES_BEFORE_NEXT_SPOT * max_tokens // _USUAL_TOKENS)
    spots = [_spots_of_file(path, evidence, is_likely=rank < _N_LONG) for rank, (path, evidence) in enumerate(files)]
    queue = [(rank, rank) for rank in range(len(files))]
    chosen: defaultdict[int, list[Spot]] = defaultdict(list)
    while queue:
        priority, rank = heappop(queue)
        if spot := next(spots[rank], None):
            heappush(queue, (priority + step, rank))
            if spot.tokens <= budget:
                budget -= spot.tokens
                chosen[rank].append(spot)
    for rank in sorted(chosen):
        yield from chosen[rank]


def _queries(text: str) -> Iterator[tuple[str, float]]:
    """Yield the queries with their weights: the first line, and the whole report if it is longer."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    title = " ".join(_WORDS.findall(lines[0]))[:_MAX_TITLE_CHARS]
    if title:
        yield title, _TITLE_WEIGHT
    if len(lines) > 1:
        yield text, _REPORT_WEIGHT


class _Report:
    """The evidence in a report for the files of a scope."""

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
                yield from self._of_commit(hit, weight * _COMMIT_WEIGHT / (n_commits + 1))
                continue
            rank = ranks.setdefault(hit.path, len(ranks))
            share = weight * (_HALF_WEIGHT_RANK / (rank + _HALF_WEIGHT_RANK)) * (0.5 + hit.score / 2)
            yield Evidence(hit.path, hit.start_line, hit.text, hit.heading, _SEARCH_REASON, share, hit.excerpt.line)

    def of_frames(self) -> Iterator[Evidence]:
        """Yield the lines that frames and hunks name."""
        hunks = list(_frames_of_diff(self._text))
        trace = parse_trace(self._text)
        for reason, weight, frames in (
            ("changed in the diff", _HUNK_WEIGHT, hunks),
            ("frame", _FRAME_WEIGHT, trace.frames),
        ):
            for rank, (chunk, line) in enumerate(passages_of_frames(self._snapshot, frames, self._scope)):
                yield Evidence(
                    chunk.path,
                    chunk.chunk.start_line,
                    chunk.chunk.text,
                    chunk.chunk.heading,
                    f"{reason}, line {line}" if line else reason,
                    weight / (1 + rank / _HALF_WEIGHT_FRAME),
                    line or 0,
                )

    def of_names(self) -> Iterator[Evidence]:
        """Yield the definitions of names in the report, rare ones first."""
        names = names_in(self._text)
        for name, n_times in names.items():
            chunks = self._headed(name)
            if len(chunks) <= _MAX_SIMILAR_PATHS:
                weight = _NAME_WEIGHT * min(1 + n_times / 4, 2) / max(len(chunks), 1) ** 0.7
                yield from (self._at(chunk, name, f"defines {name}", weight) for chunk in chunks)
            yield from self._uses(name, n_times)

    def _uses(self, name: str, n_times: int) -> Iterator[Evidence]:
        """Yield the first passage of each file that uses a rare name."""
        tokens = tuple(query_words(name))
        ranked = self._snapshot.words.ranked(
            f"text : {fts_phrase(tokens)}", file_ids_json=self._scope.file_ids_json, limit=_MAX_USES + 1
        )
        if not tokens or len(ranked) > _MAX_USES:
            return
        chunks = self._snapshot.chunks.by_id(id_ for id_, _ in ranked)
        naming = [chunks[id_] for id_, _ in reversed(ranked) if id_ in chunks and name in chunks[id_].chunk.text]
        files = {chunk.path: chunk for chunk in naming}
        for chunk in files.values():
            weight = _USE_WEIGHT * min(1 + n_times / 4, 2) / len(files) ** 0.5
            yield self._at(chunk, name, f"uses {name}", weight)

    @staticmethod
    def _at(chunk: IndexedChunk, name: str, reason: str, weight: float) -> Evidence:
        text = chunk.chunk.text
        line = chunk.chunk.start_line + text.count("\n", 0, max(text.find(name), 0))
        return Evidence(chunk.path, chunk.chunk.start_line, text, chunk.chunk.heading, reason, weight, line)

    def beside(self, paths: Sequence[FilePath]) -> Iterator[Evidence]:
        """Yield the files that import the likeliest ones, and those that lie beside them."""
        for rank, path in enumerate(paths):
            name = os.path.basename(exact_text(path))
            module = _module_name(path)
            phrases = [fts_phrase((*query_words(form.format(module)),)) for form in _IMPORTS]
            expression = " OR ".join(f"text : {phrase}" for phrase in dict.fromkeys(phrases))
            chunks = self._with_words(expression, limit=_MAX_IMPORTERS)
            for chunk in chunks:
                if chunk.path != path and chunk.facts.kind in GROUPS["code"]:
                    yield self._at(chunk, module, f"imports {name}", _IMPORTER_WEIGHT / (rank + 1) / len(chunks) ** 0.3)
        for rank, path in enumerate(paths[:_MAX_NEIGHBOUR_FILES]):
            directory = FilePath(os.path.dirname(path))
            others = [
                sized.path
                for sized in self._snapshot.files.sizes(directory)
                if os.path.dirname(sized.path) == directory
            ]
            for other in others if len(others) <= _FULL_DIRECTORY else ():
                if other not in paths:
                    reason = f"beside {os.path.basename(exact_text(path))}"
                    yield from self._beginning(other, reason, _NEIGHBOUR_WEIGHT / (rank + 1))

    def _headed(self, name: str) -> list[IndexedChunk]:
        """Return the chunks of code whose heading has a name as the last one or one of the last ones."""
        tokens = tuple(query_words(name))
        if not tokens:
            return []
        chunks = self._with_words(f"heading : {fts_phrase(tokens)}", limit=_MAX_SIMILAR_PATHS * 4)
        return [
            chunk
            for chunk in chunks
            if chunk.facts.kind in GROUPS["code"] and name in heading_names(chunk.chunk.heading)
        ]

    def of_paths(self) -> Iterator[Evidence]:
        """Yield the files that the report names."""
        paths = paths_in(self._text)
        indexed = self._snapshot.path_lookup.with_file_names([path.rpartition("/")[2] for path in paths])
        for typed in paths:
            parts = [part for part in typed.split("/") if part not in (".", "..", "")]
            ends = [path for path in indexed if exact_text(path).split(os.sep)[-len(parts) :] == parts]
            for path in ends if len(ends) <= _MAX_SIMILAR_PATHS else ():
                yield from self._beginning(path, f"names {typed}", _PATH_WEIGHT / len(ends))

    def _of_commit(self, hit: Hit, weight: float) -> Iterator[Evidence]:
        """Yield the files that a commit changed."""
        paths = _commit_files(hit.path, hit.text)
        subject = hit.text.partition("\n")[0][:_MAX_SUBJECT_CHARS]
        for path in paths:
            yield from self._beginning(path, f"changed by a commit like it: {subject}", weight / len(paths) ** 0.5)

    def changed_together(self, paths: Sequence[FilePath]) -> Iterator[Evidence]:
        """Yield the files that several commits changed together with the likeliest ones."""
        for rank, path in enumerate(paths[:_MAX_NEIGHBOUR_FILES]):
            name = os.path.basename(exact_text(path))
            chunks = self._with_words(f"text : {fts_phrase((*query_words(name),))}", limit=_MAX_COMMITS)
            commits = [_commit_files(chunk.path, chunk.chunk.text) for chunk in chunks if chunk.facts.kind == "commit"]
            own = [changed for changed in commits if path in changed]
            for other, n_times in Counter(other for changed in own for other in changed).items():
                if n_times > 1 and other != path:
                    weight = _CO_CHANGE_WEIGHT * n_times / len(own) / (rank + 1)
                    yield from self._beginning(other, f"changed together with {name} {n_times} times", weight)

    def _with_words(self, expression: str, *, limit: int) -> list[IndexedChunk]:
        """Return the best chunks of the scope that match an expression."""
        ranked = self._snapshot.words.ranked(expression, file_ids_json=self._scope.file_ids_json, limit=limit)
        return list(self._snapshot.chunks.by_id(id_ for id_, _ in ranked).values())

    def _beginning(self, path: FilePath, reason: str, weight: float) -> Iterator[Evidence]:
        chunks = self._snapshot.chunks.of_file(path)
        if chunks:
            first = chunks[0].chunk
            yield Evidence(path, first.start_line, first.text, first.heading, reason, weight)


def _commit_files(commit: FilePath, text: str) -> list[FilePath]:
    """Return the first files that a commit changed; their names stand at the end of its text."""
    names = [line for line in text.rstrip().rpartition("\n\n")[2].split("\n") if line and " " not in line]
    root = os.path.dirname(next(iter(containers_around(commit)), commit))
    return [FilePath(os.path.join(root, name)) for name in names[:_MAX_CHANGED]]


def _module_name(path: FilePath) -> str:
    """Return the name by which a file is imported: its own, or that of its directory."""
    *folders, file = exact_text(path).split(os.sep)
    stem = file.partition(".")[0]
    return folders[-1] if stem in ("__init__", "index", "mod", "lib") and folders else stem


def heading_names(heading: str) -> set[str]:
    """Return the names of the sections that a chunk holds, and of those that they stand in."""
    *outer, last = heading.split(HEADING_SEPARATOR)
    return {*outer, *(name.rpartition(".")[2] for name in last.split(", "))}


def _frames_of_diff(text: str) -> Iterator[Frame]:
    """Yield the first lines of the hunks of a diff, as they were before."""
    path = ""
    for line in text.splitlines():
        if named := _DIFF_PATH.match(line):
            path = named["path"] if named["path"] != "/dev/null" else path
        elif (hunk := _HUNK_HEAD.match(line)) and path:
            yield Frame(path, max(int(hunk["line"]), 1) + _HUNK_CONTEXT, line)


def names_in(text: str) -> dict[str, int]:
    """Return identifiers with how often they stand in a text; plain words count where they are marked as code."""
    counts: defaultdict[str, int] = defaultdict(int)
    for match in _IDENTIFIER.finditer(_PATH.sub(_blank_path, text)):
        for part in re.split(r"\.|::|->|#", match["code"] or match["name"]):
            name = part.strip("()` ")
            if len(name) >= _MIN_NAME_CHARS and _PLAIN_NAME.fullmatch(name):
                counts[name] += 1
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:_MAX_NAMES])


def paths_in(text: str) -> list[str]:
    """Return the first paths in a text, with slashes."""
    return list(dict.fromkeys(match[0].replace("\\", "/") for match in _PATH.finditer(text)))[:_MAX_PATHS]


def _blank_path(match: re.Match[str]) -> str:
    """Return a blank for a path, whose parts are no names of symbols, but not for attributes in code."""
    return " " if "/" in match[0] or kind_for_alias(match[0].rpartition(".")[2]) else match[0]


def _rank_files(evidence: Iterable[Evidence]) -> Iterator[tuple[FilePath, tuple[Evidence, ...], float]]:
    """Yield files with their evidence and its sum, the largest first; each reason of a kind counts half of the last."""
    files: defaultdict[FilePath, list[Evidence]] = defaultdict(list)
    for item in evidence:
        if not _has_long_lines(item.text):
            files[item.path].append(item)
    scores: dict[FilePath, float] = {}
    for path, own in files.items():
        own.sort(key=lambda item: -item.weight)
        n_times: defaultdict[str, int] = defaultdict(int)
        for item in own:
            kind = item.reason.partition(" ")[0]
            scores[path] = scores.get(path, 0.0) + item.weight * _REPEAT_FACTOR ** n_times[kind]
            n_times[kind] += 1
    for path in sorted(files, key=lambda path: (-scores[path], path)):
        yield path, tuple(files[path]), scores[path]


def _has_long_lines(text: str) -> bool:
    """Whether a program wrote a text: a chunk of a very long line is one line by itself."""
    return max(map(len, text.split("\n"))) > (_MAX_LINE_CHARS if "\n" in text.strip() else _MAX_ONLY_LINE_CHARS)


def _category(path: FilePath) -> str:
    name = exact_text(path)
    if has_role(name, "test"):
        return "tests"
    return "code" if kind_for_alias(name.rpartition(".")[2]) in GROUPS["code"] else "documents"


def _spots_of_file(path: FilePath, evidence: Sequence[Evidence], *, is_likely: bool) -> Iterator[Spot]:
    """Yield the best places of a file, best first; the first one of a likely file is longer."""
    evidence = evidence[:_MAX_EVIDENCE]
    taken: list[range] = []
    for item in evidence:
        n_lines = _LONG_SPOT if is_likely and not taken else _SHORT_SPOT
        lines = item.text.rstrip("\n").split("\n")
        line = item.line or item.start_line
        first = max(min(line - n_lines // 3, item.start_line + len(lines) - n_lines), item.start_line)
        last = min(first + n_lines, item.start_line + len(lines)) - 1
        if any(first <= other.stop and last >= other.start for other in taken):
            continue
        taken.append(range(first, last))
        here = [other for other in evidence if first <= (other.line or other.start_line) <= last]
        reasons = dict.fromkeys(
            other.reason for other in sorted(here, key=lambda other: other.reason == _SEARCH_REASON)
        )
        reason = ", ".join(reasons)[:_MAX_REASON_CHARS]
        n_bytes = sum(len(text.encode()) + 1 for text in lines[first - item.start_line : last - item.start_line + 1])
        n_bytes += len(path) + len(reason) + len(item.symbol)
        yield Spot(path, first, last, item.symbol, reason, -(-n_bytes // _BYTES_PER_TOKEN))
        if len(taken) == _MAX_SPOTS:
            return


_SEARCH_REASON: Final = "words and meaning"
_BYTES_PER_TOKEN: Final = 3
_BUDGET_SHARES: Final = {"tests": 0.1, "documents": 0.1, "code": 0.0}
_LONG_SPOT, _SHORT_SPOT, _N_LONG, _MAX_SPOTS = 12, 6, 3, 10
_FILES_BEFORE_NEXT_SPOT, _USUAL_TOKENS = 8, 8000
"""Number of later files that come before a file's next place, at a usual budget (`scripts/eval located`)."""

_MAX_EVIDENCE: Final = 60

_TITLE_WEIGHT, _REPORT_WEIGHT, _HALF_WEIGHT_RANK, _REPEAT_FACTOR = 1.0, 1.0, 8, 0.5
_FRAME_WEIGHT, _HUNK_WEIGHT, _NAME_WEIGHT, _PATH_WEIGHT, _COMMIT_WEIGHT = 4.0, 5.0, 0.6, 2.0, 1.0
_HALF_WEIGHT_FRAME: Final = 5
_HUNK_CONTEXT: Final = 3
_USE_WEIGHT, _IMPORTER_WEIGHT, _NEIGHBOUR_WEIGHT, _CO_CHANGE_WEIGHT = 0.3, 0.15, 0.03, 0.2
_IMPORTS: Final = ("from {}", "import {}", "{} import", "include {}", "use {}", "crate {}", "super {}", "require {}")
_N_LIKELIEST: Final = 5
_STRONG_SHARE: Final = 0.15
"""Share of the best evidence; below it, files of a stack trace only have words of its message in common."""

_MAX_BESIDE: Final = 2
_MAX_NEIGHBOUR_FILES: Final = 3
_FULL_DIRECTORY: Final = 60
_MAX_USES: Final = 40
_MAX_IMPORTERS: Final = 40
_MAX_HITS: Final = 200
_MAX_NAMES: Final = 40
_MAX_SIMILAR_PATHS: Final = 8
_MAX_PATHS: Final = 40
_MAX_CHANGED: Final = 30
_MAX_COMMITS: Final = 60
_MAX_REPORT_CHARS: Final = 100_000
_MAX_TITLE_CHARS: Final = 300
_MAX_SUBJECT_CHARS: Final = 80
_MAX_REASON_CHARS: Final = 160
_MAX_LINE_CHARS: Final = 1000
_MAX_ONLY_LINE_CHARS: Final = 400
_MIN_NAME_CHARS: Final = 3
_WORDS: Final = re.compile(r"\w[\w.'-]*\w|\w")
_PATH: Final = re.compile(r"(?<![\w./\\@-])(?:[\w.@-]+[/\\])*[\w.-]+\.[a-z]\w{0,4}(?![\w/])")
_DIFF_PATH: Final = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?(?P<path>[^\t\n]+)")
_HUNK_HEAD: Final = re.compile(r"@@ -(?P<line>\d+)")
_IDENTIFIER: Final = re.compile(
    r"`(?P<code>[\w.:#>()-]{2,80})`|(?P<name>(?<![\w.])(?:[A-Za-z_]\w{0,100}(?:\.|::|->|\#)){0,8}"
    r"(?:[a-z]\w*_\w+|_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*|[A-Z]+_[A-Z_]+|\w+(?=\(\))"
    r"|(?<=\.)\w+|(?<=::)\w+))"
)
_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*[?!]?")
