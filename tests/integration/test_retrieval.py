"""What searches find in a small set of judged questions, with the real model, does not get worse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation.measures import of_files, of_hits, of_spans
from evaluation.sets import Span

ROOT = Path(__file__).parents[2]
SET = ROOT / "tests" / "data" / "retrieval"


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    file = tmp_path_factory.mktemp("scores") / "scores.json"
    command = (sys.executable, str(ROOT / "scripts" / "eval"), str(SET), "--json", str(file))
    subprocess.run(command, check=True, capture_output=True, env={})
    results: dict[str, dict[str, dict[str, float]]] = json.loads(file.read_text())
    return results["retrieval"]


@pytest.mark.slow
def test_what_is_looked_for_is_on_top(scores: dict[str, dict[str, float]]) -> None:
    assert scores["hybrid"]["nDCG@10"] >= 0.96
    assert scores["hybrid"]["R@10"] == 1.0


@pytest.mark.slow
def test_both_lists_together_are_no_worse_than_the_better_of_them(scores: dict[str, dict[str, float]]) -> None:
    alone = max(scores["keyword"]["nDCG@10"], scores["semantic"]["nDCG@10"])
    assert scores["hybrid"]["nDCG@10"] >= alone - 0.005


@pytest.mark.slow
def test_good_questions_are_not_answered_with_nothing_good(scores: dict[str, dict[str, float]]) -> None:
    assert scores["hybrid"]["missed"] <= 0.03


def test_a_relevant_file_counts_less_the_lower_it_stands() -> None:
    grades = {"a": 1, "b": 1}
    measured = of_files(["x", "a", "y", "b"], grades)
    assert measured["MRR"] == 0.5
    assert measured["nDCG@10"] == pytest.approx((0.63093 + 0.43068) / 1.63093, abs=1e-4)
    assert of_files([], grades) == {"nDCG@10": 0, "R@10": 0, "R@100": 0, "MRR": 0}


def test_a_second_passage_of_a_file_takes_a_place() -> None:
    assert of_hits(["x", "x", "a"], {"a": 1})["hits nDCG@10"] == pytest.approx(0.5)


def test_spans_count_characters_once_for_recall_and_twice_for_precision() -> None:
    hits = [Span("a", 0, 100), Span("a", 50, 150), Span("b", 0, 100)]
    measured = of_spans(hits, [Span("a", 90, 110)])
    assert measured["span recall"] == 1.0
    assert measured["span precision"] == pytest.approx((10 + 20) / 300)
    assert measured["span IoU"] == pytest.approx(20 / 300)
