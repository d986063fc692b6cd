"""Measures each format on real files: what is read, which share of the words is found, what it costs, what fails."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corpus.beside import Answer, Reader
from corpus.reading import Reading, read_all
from corpus.references import reference, words
from corpus.sources import MEASURED
from directory_indexer.core.paths import file_path
from directory_indexer.formats.recognition import format_of

_FEWEST_READERS = 2
_BOOKMARK = "_"
"""So names of places begin that simple readers take for text."""

_MISREAD = frozenset(("Bug50955.doc", "non_ascii_text.pdf"))
"""Files over which the other readers agree on what is no text: Russian of Word 95 that is taken for letters of Western
Europe, and numbers of glyphs in a PDF whose fonts do not say which letters they are."""

_COMPARED = frozenset(("doc", "ppt", "xls", "xlsb", "rtf", "pdf", "iwork", "pages", "numbers", "keynote"))
"""Kinds of which nothing but other readers knows the words."""

_WITH_MEMBERS = frozenset(("msg",))
"""Kinds whose words are those of their members, too."""


@dataclass
class Share:
    """The share of the words of some files that a reader found, and what it took."""

    n_found: int = 0
    n_words: int = 0
    n_files: int = 0
    seconds: float = 0.0

    @property
    def found_share(self) -> float | None:
        return self.n_found / self.n_words if self.n_words else None

    @property
    def per_second(self) -> float:
        return self.n_files / max(self.seconds, 0.001)

    def add(self, text: str, expected: Counter[str]) -> None:
        self.n_found += (words(text) & expected).total()
        self.n_words += expected.total()


@dataclass
class Measured:
    """The measurements of one format."""

    kind: str
    n_files: int = 0
    n_empty: int = 0
    n_members: int = 0
    ours: Share = field(default_factory=Share)
    others: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    peak_bytes: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    lost: list[tuple[int, Path]] = field(default_factory=list)
    """How many words were lost in which file."""


def measure(directory: Path, kinds: Sequence[str] | None, readers: Sequence[Reader], *, worst: int) -> list[Measured]:
    """Measure every kind that there are files of, one after the other."""
    by_kind = _files_by_kind(directory)
    shares = []
    for kind in kinds or MEASURED:
        if by_kind[kind]:
            shares.append(_of_kind(kind, by_kind[kind], [reader for reader in readers if reader.reads(kind)]))
            _tell(shares[-1], worst)
    return shares


def _files_by_kind(directory: Path) -> defaultdict[str, list[Path]]:
    """Sort files by what they are, whatever they are called."""
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                paths[format_of(file_path(path), file.read(1 << 16))[0]].append(path.absolute())
    return paths


def _of_kind(kind: str, paths: Sequence[Path], readers: Sequence[Reader]) -> Measured:
    measured = Measured(kind)
    for path, reading in read_all(paths):
        _count(measured, reading)
        answers = dict(_answers(kind, path, readers))
        for name, answer in answers.items():
            measured.others[name].n_files += answer.text is not None
            measured.others[name].seconds += answer.seconds
        expected = _expected(kind, path, answers)
        if not expected or reading.problem:
            continue
        with_members = "\n".join((reading.text, *reading.members, reading.member_text))
        measured.ours.add(with_members if kind in _WITH_MEMBERS else reading.text, expected)
        lost = (expected - words(with_members)).total()
        if lost:
            measured.lost.append((lost, path))
        for name, answer in answers.items():
            if answer.text is not None:
                measured.others[name].add(answer.text, expected)
    return measured


def _count(measured: Measured, reading: Reading) -> None:
    measured.n_files += 1
    measured.n_empty += reading.is_empty
    measured.n_members += len(reading.members)
    measured.ours.n_files += not reading.problem
    measured.ours.seconds += reading.seconds
    measured.peak_bytes = max(measured.peak_bytes, reading.peak_bytes)
    if reading.problem and not reading.is_empty:
        measured.problems[reading.problem] += 1


def _answers(kind: str, path: Path, readers: Sequence[Reader]) -> Iterator[tuple[str, Answer]]:
    for reader in readers:
        if reader.reads(kind):
            yield reader.name, reader.read(path)


def _expected(kind: str, path: Path, answers: dict[str, Answer]) -> Counter[str] | None:
    """Count the words by the raw parts of a file, or else those that two other readers agree on."""
    if kind not in _COMPARED:
        return reference(kind, path.read_bytes())
    if path.name in _MISREAD:
        return None
    counted = [words(answer.text) for answer in answers.values() if answer.text and answer.text.strip()]
    if len(counted) < _FEWEST_READERS:
        return None
    n_readers = Counter(word for counts in counted for word in counts)
    agreed = {word for word, n in n_readers.items() if n >= _FEWEST_READERS and not word.startswith(_BOOKMARK)}
    if any(2 * len(agreed & counts.keys()) < len(agreed) for counts in counted):
        return None  # Where one of them finds other words, as in another encoding, none of them is evidence.
    # Each word counts once: files that were saved fast keep old copies of slides, which simple readers take, too.
    return Counter(dict.fromkeys(agreed, 1))


def _tell(measured: Measured, worst: int) -> None:
    print(f"{measured.kind}: {measured.n_files} files", file=sys.stderr, flush=True)
    for lost, path in sorted(measured.lost, reverse=True)[:worst]:
        print(f"  {lost} words of {path} are not found", file=sys.stderr)
