"""Pages are sent to a service several at a time; what it has answered is kept, whatever it does next."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from scanned_pages import picture

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.errors import PageRefusedError, ProviderError
from directory_indexer.core.files import PageProblem, Recognition, source_file_of_status
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import file_path
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.formats.scanned_pictures import picture_page_key
from directory_indexer.ocr.engine import OcrUsage, PageEstimate, PageOutcome, PageRequest
from directory_indexer.ocr.remote import ServiceReader
from directory_indexer.ocr.service import Access
from directory_indexer.parsing.policy import ParsePolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from directory_indexer.formats.pdf.raster import EncodedPage

POLICY = ParsePolicy(1 << 30, include_secrets=False, chunking=ChunkPolicy(), count_tokens=count_tokens)


@dataclass
class Service:
    """Takes three pages, and then does as it is told with each in turn."""

    answers: list[Callable[[], None]]
    recipe: str = "service 1"
    place: str = "the service"
    concurrency: int = 3
    usage: OcrUsage = field(default_factory=OcrUsage)
    n_taken: int = 0
    all_taken: threading.Barrier = field(default_factory=lambda: threading.Barrier(3))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def estimate(self) -> PageEstimate:
        return PageEstimate()

    def recognise(self, _: EncodedPage) -> Recognition:
        with self.lock:
            answer = self.answers[self.n_taken]
            self.n_taken += 1
        self.all_taken.wait(60)
        answer()
        return Recognition(self.recipe, ())

    def close(self) -> None:
        """Nothing is open."""


def requests(place: Path, n_pages: int) -> list[PageRequest]:
    found = []
    for number in range(n_pages):
        content = picture(f"Letter number {number}").png()
        path = place / f"{number}.png"
        path.write_bytes(content)
        source = source_file_of_status(file_path(path), path.stat())
        found.append(PageRequest(source.path, source, 1, picture_page_key(content_hash(content), 1)))
    return found


def test_what_a_service_has_read_and_refused_is_kept_when_it_fails(tmp_path: Path) -> None:
    has_failed = threading.Event()

    def fail() -> None:
        has_failed.set()
        raise ProviderError("the service is away")

    def answer() -> None:
        has_failed.wait(60)

    def refuse() -> None:
        has_failed.wait(60)
        raise PageRefusedError("the service blocked a page")

    service = Service([fail, answer, refuse])
    reader = ServiceReader("service", Access("", "", ""), POLICY, None, build=lambda *_: service)
    outcomes: list[PageOutcome] = []

    with pytest.raises(ProviderError, match="the service is away"):
        note(outcomes, reader, requests(tmp_path, 5))

    assert sorted(type(one.recognition).__name__ for one in outcomes) == ["PageProblem", "Recognition"]
    [refusal] = [one for one in outcomes if isinstance(one.recognition, PageProblem)]
    assert refusal.recognition == PageProblem("service: the service blocked a page", is_final=True)
    assert service.n_taken == 3


def test_what_a_service_has_read_is_kept_when_the_run_stops(tmp_path: Path) -> None:
    must_stop = threading.Event()
    service = Service([must_stop.set] * 3)
    reader = ServiceReader("service", Access("", "", ""), POLICY, None, build=lambda *_: service)

    outcomes = list(reader.read(requests(tmp_path, 5), must_stop=must_stop.is_set))

    assert [type(one.recognition) for one in outcomes] == [Recognition] * 3
    assert service.n_taken == 3


def note(outcomes: list[PageOutcome], reader: ServiceReader, asked: list[PageRequest]) -> None:
    """Note outcomes one by one, for reading them may end with an error."""
    for outcome in reader.read(asked, must_stop=lambda: False):
        outcomes.append(outcome)  # noqa: PERF402 - what was yielded before the error counts
