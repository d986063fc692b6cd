"""A worker process stays from request to request, and what breaks it breaks one request alone."""

from __future__ import annotations

import os

import pytest

from directory_indexer.integrations.previewing.requests import ColourRequest, Colours
from directory_indexer.integrations.previewing.workers import WarmWorker, answer
from directory_indexer.parsing.tasks import WorkerFailure


@pytest.fixture
def worker() -> WarmWorker:
    return WarmWorker(answer)


def test_one_process_answers_until_it_is_lost(worker: WarmWorker) -> None:
    try:
        assert isinstance(worker.ask(ColourRequest("x = 1\n", "python")), Colours)
        first = worker.process_id
        assert isinstance(worker.ask(object()), WorkerFailure)
        assert isinstance(worker.ask(ColourRequest("", "python")), Colours)
        assert worker.process_id == first
        os.kill(first or 0, 9)
        assert isinstance(worker.ask(ColourRequest("x", "python")), WorkerFailure)
        assert isinstance(worker.ask(ColourRequest("x", "python")), Colours)
    finally:
        worker.close()
    assert worker.process_id is None
