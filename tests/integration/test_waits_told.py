"""What telemetry is told of services on the network, and of the time that something waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from providers import ProviderServer
from reading_server import ReadingServer, a_page
from telemetry_receivers import keeping

from directory_indexer.http_client.client import Response
from directory_indexer.indexing.embedding_batches import InFlightBatches
from directory_indexer.server.bridge.http_client import (
    Backoff,
    CancellableWait,
    HttpRequest,
    NoResponseError,
    RetryingClient,
)
from directory_indexer.telemetry import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.storage.documents.embedding_queue import WaitingChunk


class Waiting:
    """A chunk that waits for its vector."""

    text_hash = b"heron"
    embedding_text = "The heron waits."


@pytest.mark.slow
def test_requests_for_vectors_and_the_waits_between_them_are_parts_of_the_run() -> None:
    with ProviderServer() as server, keeping() as kept:
        server.fail("status", status=429, times=2)
        embedder = server.embedder("openai", dimensions=16)
        chunk: WaitingChunk = Waiting()  # type: ignore[assignment]  # nothing else of it is looked at
        with spans.span("run"):
            batches = InFlightBatches(embedder)
            batches.submit([chunk])
            while batches.is_busy:
                list(batches.completed_batches(lambda: False))
            batches.close()
        embedder.close()
        (run,) = kept.named("run")
        asked, waits = kept.named("ask embedder"), kept.named("wait for embedder")
    assert [one.attributes.get("error.type") for one in asked] == ["RequestError", "RequestError", None]
    assert asked[0].attributes["dirindex.n_texts"] == 1
    assert [one.attributes["dirindex.n_tries"] for one in waits] == [1, 2]
    assert {one.attributes["dirindex.trouble"] for one in waits} == {"throttled"}
    assert {one.parent.span_id for one in (*asked, *waits)} == {run.context.span_id}
    assert "heron" not in str([one.to_json() for one in kept.records]).lower()


@pytest.mark.parametrize(("name", "n_waits"), [("gemini", 1), ("azure", 2)])
def test_pages_that_a_service_reads_are_told_with_the_waits_for_it(name: str, n_waits: int) -> None:
    """Azure is waited for once more, until its result is there."""
    with ReadingServer() as server, keeping() as kept:
        server.fail(status=429, times=1)
        server.engine(name).recognise(a_page())
        (page,) = kept.named("read page")
        asked, waits = kept.named("ask reader"), kept.named("wait for reader")
    assert [one.attributes.get("error.type") for one in asked][:2] == ["RequestError", None]
    assert len(waits) == n_waits
    assert {one.parent.span_id for one in (*asked, *waits)} == {page.context.span_id}
    assert "zeppelin" not in str([one.to_json() for one in kept.records])


def test_waits_for_a_remote_index_are_told() -> None:
    answers: Iterator[NoResponseError | Response] = iter(
        [
            NoResponseError("http://hidden-place cannot be reached"),
            Response(503, {}, b""),
            Response(200, {}, b"{}"),
        ]
    )

    def send(_: HttpRequest) -> Response:
        answer = next(answers)
        if isinstance(answer, NoResponseError):
            raise answer
        return answer

    with keeping() as kept:
        asking = RetryingClient(send, backoff=Backoff(first_seconds=0.001), chance=lambda: 0.0)
        asking.send(HttpRequest("GET", "/hidden-place"), pause=CancellableWait().pause)
        asked, waits = kept.named("ask server"), kept.named("wait for server")
    assert [one.attributes.get("http.response.status_code") for one in asked] == [None, 503, 200]
    assert [one.attributes["dirindex.n_failures"] for one in waits] == [1, 2]
    assert "hidden-place" not in str([one.to_json() for one in kept.records])
