"""Retrieval sets on disk: `corpus/`, `queries.jsonl`, `qrels.tsv`, and where they come from in `SOURCE.md`.

A query is `{"id", "text"}`; `"spans": [{"file", "start", "end"}]` adds the characters that answer it, and `"repo"`
names the folder of the corpus that it is meant for, which is then indexed by itself. A judgement is a line of query
id, path below `corpus/`, and grade, where 0 means not relevant.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a file that answer a query."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its judgements: the grade of each relevant path, and the spans that answer it, if they are known."""

    id: str
    text: str
    grades: dict[str, int]
    spans: tuple[Span, ...] = ()
    repository: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """A set, with what was published about it; questions without a relevant document are left out and counted."""

    name: str
    corpus: Path
    questions: tuple[Question, ...]
    n_without_answer: int
    published: str

    def repositories(self) -> Iterator[tuple[Path, tuple[Question, ...]]]:
        """Give what is to be indexed by itself, each with the questions that are meant for it."""
        for name in sorted({question.repository for question in self.questions}):
            yield self.corpus / name, tuple(one for one in self.questions if one.repository == name)


def load_set(directory: Path, *, at_most: int | None) -> RetrievalSet:
    """Read a set; of more than `at_most` questions, some evenly spread ones are taken."""
    missing = [name for name in ("corpus", "queries.jsonl", "qrels.tsv") if not (directory / name).exists()]
    if missing:
        sys.exit(f"{directory} is no retrieval set: it has no {', '.join(missing)}")
    grades = _grades(directory / "qrels.tsv")
    lines = (directory / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [_question(json.loads(line), grades) for line in lines]
    questions = [question for question in asked if question.grades]
    step = len(questions) / at_most if at_most and at_most < len(questions) else 1
    chosen = tuple(questions[int(at * step)] for at in range(int(len(questions) / step)))
    source = directory / "SOURCE.md"
    published = _published(source.read_text(encoding="utf-8")) if source.exists() else ""
    return RetrievalSet(directory.name, directory / "corpus", chosen, len(asked) - len(questions), published)


def _grades(file: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        id_, path, grade = line.split("\t")
        if int(grade) > 0:
            grades.setdefault(id_, {})[path] = int(grade)
    return grades


def _question(fields: dict[str, Any], grades: dict[str, dict[str, int]]) -> Question:
    return Question(
        id=fields["id"],
        text=fields["text"],
        grades=grades.get(fields["id"], {}),
        spans=tuple(Span(span["file"], span["start"], span["end"]) for span in fields.get("spans") or ()),
        repository=fields.get("repo") or "",
    )


def _published(source: str) -> str:
    found = re.search(r"^## Published.*?(?=^## |\Z)", source, re.MULTILINE | re.DOTALL)
    return found[0].removeprefix("## ").strip() if found else ""
