"""What the measuring of searches takes for found, in sets of all shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from evaluation.measures import of_spans, of_targets
from evaluation.sets import RetrievalSet, Span, Unit, load_set

if TYPE_CHECKING:
    from pathlib import Path


def loaded(directory: Path, *queries: dict[str, Any], judged: str = "") -> RetrievalSet:
    (directory / "corpus").mkdir()
    (directory / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    (directory / "qrels.tsv").write_text(judged)
    return load_set(directory, at_most=None)


def test_spans_may_be_lines(tmp_path: Path) -> None:
    query = {"id": "q", "text": "?", "spans": [{"file": "a.py", "start_line": 3, "end_line": 4}]}
    (question,) = loaded(tmp_path, query, judged="q\ta.py\t1\n").questions
    assert question.spans == (Span("a.py", 3, 5, Unit.LINES),)
    measured = of_spans([Span("a.py", 1, 4, Unit.LINES)], question.spans)
    assert measured["span recall"] == pytest.approx(1 / 2)
    assert measured["span precision"] == pytest.approx(1 / 3)


def test_a_target_that_is_missing_is_a_miss_and_not_a_question_less(tmp_path: Path) -> None:
    query = {"id": "q", "text": "?", "targets": [{"file": "gone.go", "missing": True}]}
    (question,) = loaded(tmp_path, query).questions
    assert question.grades == {"gone.go": 1}
    assert of_targets([{Unit.LINES: Span("here.go", 1, 9, Unit.LINES)}], question.targets) == {"targets nDCG@10": 0.0}


def test_a_target_is_found_by_the_first_passage_that_overlaps_it(tmp_path: Path) -> None:
    targets = [{"file": "a.pdf", "page": 7}, {"file": "b.py", "start_line": 10, "end_line": 12}, {"file": "c.md"}]
    (question,) = loaded(tmp_path, {"id": "q", "text": "?", "targets": targets}, judged="q\ta.pdf\t1\n").questions
    page = {Unit.PAGES: Span("a.pdf", 7, 8, Unit.PAGES)}
    beside = {Unit.LINES: Span("b.py", 1, 10, Unit.LINES)}
    lines = {Unit.LINES: Span("b.py", 1, 11, Unit.LINES)}
    text = {Unit.CHARACTERS: Span("c.md", 100, 200)}
    assert of_targets([page, lines, text], question.targets) == {"targets nDCG@10": 1.0}
    assert of_targets([beside, beside, page], question.targets)["targets nDCG@10"] == pytest.approx(
        0.5 / 2.1309, abs=1e-4
    )
