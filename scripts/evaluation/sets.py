"""Retrieval sets on disk: `corpus/`, `queries.jsonl`, `qrels.tsv`, and their origin in `SOURCE.md`.

A query is `{"id", "text"}`; `"spans": [{"file", "start", "end"}]` adds the characters that answer it, or its lines
(`start_line` and `end_line`, from 1, both of them within), and `"repo"` names the folder of the corpus that it is meant
for, which is then indexed by itself. `"targets"` are files, or lines or a `page` of them, one of which a passage must
overlap to count; those that are `"missing"` in the corpus count as never found. A judgement is a line of query id, path
below `corpus/`, and grade, where 0 means not relevant.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Unit(Enum):
    """The unit of a span."""

    CHARACTERS = auto()
    LINES = auto()
    PAGES = auto()


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a file that answers a query, from `start` up to but not including `end`."""

    file: str
    start: int
    end: int
    unit: Unit = Unit.CHARACTERS


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its judgements: the grade of each relevant path, and the answering spans, if known.

    `spans` hold nothing but the answer, `targets` are places that a passage should come from.
    """

    id: str
    text: str
    grades: dict[str, int]
    spans: tuple[Span, ...] = ()
    targets: tuple[Span, ...] = ()
    repository: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """A set, with published results; questions without a relevant document are dropped and counted."""

    name: str
    corpus: Path
    questions: tuple[Question, ...]
    n_without_answer: int
    published: str

    def repositories(self) -> Iterator[tuple[Path, tuple[Question, ...]]]:
        """Yield each repository to index separately, with its questions."""
        for name in sorted({question.repository for question in self.questions}):
            yield self.corpus / name, tuple(question for question in self.questions if question.repository == name)


def load_set(directory: Path, *, at_most: int | None) -> RetrievalSet:
    """Read a set, with at most `at_most` questions, evenly sampled."""
    missing = [name for name in ("corpus", "queries.jsonl", "qrels.tsv") if not (directory / name).exists()]
    if missing:
        sys.exit(f"{directory} is no retrieval set: it has no {', '.join(missing)}")
    grades = _grades(directory / "qrels.tsv")
    lines = (directory / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    all_questions = [_question(json.loads(line), grades) for line in lines]
    questions = [question for question in all_questions if question.grades]
    step = len(questions) / at_most if at_most and at_most < len(questions) else 1
    chosen = tuple(questions[int(at * step)] for at in range(int(len(questions) / step)))
    source = directory / "SOURCE.md"
    published = _published(source.read_text(encoding="utf-8")) if source.exists() else ""
    return RetrievalSet(directory.name, directory / "corpus", chosen, len(all_questions) - len(questions), published)


def _grades(file: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        id_, path, grade = line.split("\t")
        if int(grade) > 0:
            grades.setdefault(id_, {})[path] = int(grade)
    return grades


def _question(fields: dict[str, Any], grades: dict[str, dict[str, int]]) -> Question:
    targets = fields.get("targets") or ()
    return Question(
        id=fields["id"],
        text=fields["text"],
        grades=dict.fromkeys((target["file"] for target in targets if target.get("missing")), 1)
        | grades.get(fields["id"], {}),
        spans=tuple(map(_span, fields.get("spans") or ())),
        targets=tuple(map(_span, targets)),
        repository=fields.get("repo") or "",
    )


def _span(fields: dict[str, Any]) -> Span:
    """Parse a span, by default the whole file."""
    if "start" in fields:
        return Span(fields["file"], fields["start"], fields["end"])
    if "start_line" in fields:
        return Span(fields["file"], fields["start_line"], fields["end_line"] + 1, Unit.LINES)
    if "page" in fields:
        return Span(fields["file"], fields["page"], fields["page"] + 1, Unit.PAGES)
    return Span(fields["file"], 0, sys.maxsize)


def _published(source: str) -> str:
    match = re.search(r"^## Published.*?(?=^## |\Z)", source, re.MULTILINE | re.DOTALL)
    return match[0].removeprefix("## ").strip() if match else ""
