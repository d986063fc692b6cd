"""Costs of the questions of a set at a terminal, and for a client of a server that runs already."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.measure import DIRINDEX, Cost, cost_of
from benchmarks.serving import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from directory_indexer.search.requests import SearchMode
    from evaluation.sets import Question

Costs: TypeAlias = list[Cost]


def costs_from_outside(
    data_dir: Path, questions: Sequence[Question], mode: SearchMode, *, at_most: int
) -> tuple[Costs, Costs]:
    """Ask `at_most` questions of a copy of an index, so that it stays as it is: half by commands, half in `serve`.

    Each is asked once, so that none finds what it embedded before. A server embeds nothing that nobody asks for.
    """
    sample = questions[:: max(1, len(questions) // at_most)][:at_most]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / "index"
        shutil.copytree(data_dir, place)
        settings = ("--data-dir", str(place), "--config", str(place / "config.json"))
        search = (DIRINDEX, "search", "--quiet", "--mode", str(mode), *settings)
        cold = [cost_of((*search, "--", question.text), may_fail=True) for question in sample[::2]]
        with Server(place, *settings[2:]) as server:
            server.until_ready()
            served = [_cost_of(server, question, mode) for question in sample[1::2]]
    return cold, served


def _cost_of(server: Server, question: Question, mode: SearchMode) -> Cost:
    before = server.spent()
    server.call("search", query=question.text, mode=str(mode))
    return server.spent() - before
