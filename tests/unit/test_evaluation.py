"""What the measuring of searches takes for found, in sets of all shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from evaluation.at_tokens import recall_in
from evaluation.measures import of_spans, of_targets
from evaluation.named import named_once
from evaluation.sets import RetrievalSet, Span, Unit, load_set
from evaluation.thresholds import Scores

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


def test_only_names_with_one_definition_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Gate:\n    def open(self):\n        pass\n\n\ndef latch():\n    pass\n")
    (tmp_path / "b.go").write_text("package b\n\nfunc (g *Gate) open() {\n}\n\nfunc Bolt() {\n}\n")
    (tmp_path / "c.md").write_text("def prose():\n")
    found = {(one.name, one.line) for one in named_once(tmp_path, at_most=10)}
    assert found == {("Gate", 1), ("latch", 6), ("Bolt", 6)}
    assert len(named_once(tmp_path, at_most=2)) == 2


def test_a_file_counts_once_its_path_stands_in_the_text_that_there_are_tokens_for(tmp_path: Path) -> None:
    query = {"id": "q", "text": "gate"}
    (question,) = loaded(tmp_path, query, judged="q\trepo/lib/gate.py\t1\nq\trepo/lib/latch.py\t1\n").questions
    text = "2 hits\n\ngate.py\n[1] 1-2\n  latch.py\n" + "  more\n" * 20 + "/home/me/repo/lib/latch.py\n"
    assert [recall_in(text, question, tokens) for tokens in (2, 10, 100)] == [0.0, 0.5, 1.0]


def test_a_line_misses_what_scores_less_and_lets_in_the_rest() -> None:
    scores = Scores(own=(0.1, 0.3, 0.5, 0.9), foreign=(0.0, 0.29, 0.3))
    assert scores.shares(0.3) == pytest.approx((25.0, 100 / 3))
    assert scores.shares(0.0) == (0.0, 100.0)
