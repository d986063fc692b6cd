"""`dirindex serve --http` for a team: how soon 10, 50 and 200 users are answered, and while documents are sent."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.corpus import corpus_of
from benchmarks.measure import DIRINDEX, Options, Row, percentile
from benchmarks.search import queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_USERS = (10, 50, 200)
_USERS_BESIDE_SENDING = 10
_N_QUERIES = 1000
_N_DOCUMENTS = 100
_N_CHUNKS_SMALL = 22_000
_PERCENTILES = (("median", 50), ("95 of 100", 95), ("99 of 100", 99))
_JSON = {"Content-Type": "application/json"}


def team(options: Options) -> Iterator[Row]:
    """Measure users who each ask again as soon as they are answered, in a small and in a large index.

    Who is told to come back later does so, and waits the longer.
    """
    for n_chunks in sorted({min(_N_CHUNKS_SMALL, options.n_chunks), options.n_chunks}):
        corpus = corpus_of(n_chunks, options.place)
        with TeamServer(corpus.data_dir) as server:
            for query in queries(50):
                server.search(server.connection(), query)
            yield Row(f"serve --http at rest, {corpus.n_chunks:,} chunks", "MB", server.memory_mb())
            for n_users in _USERS:
                yield from measure_searches(server, f"{n_users} users, {corpus.n_chunks:,} chunks", n_users)
            with Sender(server) as sender:
                what = f"{_USERS_BESIDE_SENDING} users and a sender, {corpus.n_chunks:,} chunks"
                yield from measure_searches(server, what, _USERS_BESIDE_SENDING)
            yield from sender.rows()
            yield Row("serve --http afterwards", "MB", server.memory_mb())


def measure_searches(server: TeamServer, what: str, n_users: int) -> Iterator[Row]:
    """Send a thousand queries of users between them, each again as soon as it is answered, and yield the results."""
    before = server.processor_ms()
    started = time.perf_counter()
    tally = Tally()
    query_texts = iter(queries(_N_QUERIES))
    lock = threading.Lock()

    def user() -> None:
        connection = server.connection()
        while True:
            with lock:
                query = next(query_texts, None)
            if query is None:
                return
            tally.add(*server.search(connection, query))

    threads = [threading.Thread(target=user) for _ in range(n_users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    for name, percent in _PERCENTILES:
        yield Row(f"{what}, {name}", "ms of the clock", percentile(tally.milliseconds, percent))
    yield Row("  a search", "ms of processor", (server.processor_ms() - before) / _N_QUERIES)
    yield Row("  all of them", "searches a second", _N_QUERIES / seconds)
    yield Row("  HTTP 503, retry later", "answers", tally.statuses[503])
    yield Row("  other errors", "answers", sum(tally.statuses.values()) - tally.statuses[200] - tally.statuses[503])


@dataclass
class Tally:
    """The responses that the users got."""

    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def add(self, milliseconds: float, statuses: Sequence[int]) -> None:
        """Note one query: how long it took to the last answer, and all answers."""
        self.milliseconds.append(milliseconds)
        self.statuses.update(statuses)


class TeamServer:
    """A server, its key, and its users."""

    def __init__(self, data_dir: Path, **environ: str) -> None:
        at = ["--data-dir", str(data_dir)]
        words = [DIRINDEX, "key", "new", f"bench-{time.time_ns()}", "--right", "admin", *at]
        made = subprocess.run(words, capture_output=True, check=True, text=True)  # noqa: S603 - ours
        self._key = made.stdout.strip().splitlines()[-1]
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        # A pipe that nobody reads would stop the server.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the server
        self._process = subprocess.Popen(  # noqa: S603 - ours
            [DIRINDEX, "serve", "--http", f"127.0.0.1:{self._port}", "--watch", *at],
            stderr=self._log,
            env={**os.environ, "DIRINDEX_SERVING__REQUESTS_PER_SECOND": "10000", **environ},
        )

    def __enter__(self) -> Self:
        while self._status("/readyz") != http.client.OK:
            if self._process.poll() is not None:
                self._log.seek(0)
                sys.exit(self._log.read().decode())
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def connection(self) -> http.client.HTTPConnection:
        """Connect, as one user."""
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)

    def search(self, connection: http.client.HTTPConnection, query: str) -> tuple[float, list[int]]:
        """Ask until there is an answer; give the milliseconds until then, and the status of every answer."""
        started = time.perf_counter()
        statuses = []
        while True:
            status, headers, _ = self.search(connection, "POST", "/api/v1/search", {"query": query, "limit": 10})
            statuses.append(status)
            if status != http.client.SERVICE_UNAVAILABLE:
                return (time.perf_counter() - started) * 1000, statuses
            time.sleep(float(headers.get("Retry-After", "1")))

    def measure_searchesh(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any] | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Send one request and read its answer."""
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Authorization": f"Bearer {self._key}", **_JSON})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def processor_ms(self) -> float:
        """Return how much processor time it has spent."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1000

    def memory_mb(self) -> float:
        """Return how many megabytes it holds."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    def _status(self, path: str) -> int:
        try:
            return self.search(self.connection(), "GET", path)[0]
        except ConnectionError:
            return 0


class Sender:
    """Somebody who sends documents, one after the other, while others search; they are deleted at the end."""

    def __init__(self, server: TeamServer) -> None:
        self._server = server
        self._connection = server.connection()
        self._taken: list[float] = []
        self._ids: list[str] = []
        self._missing = 0
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        for number, doc_id in enumerate(self._ids):
            _, _, n_hits = self._server.search(
                self._connection, "POST", "/api/v1/search", {"query": _word(number), "mode": "keyword"}
            )
            self._missing += _word(number).encode() not in n_hits
            self._server.search(self._connection, "DELETE", f"/api/v1/documents/{doc_id}")

    def rows(self) -> Iterator[Row]:
        """Yield how long it took until each could be found by words, and whether all can be."""
        for name, percent in _PERCENTILES[:2]:
            yield Row(
                f"  a document sent, until it is searchable, {name}",
                "ms of the clock",
                percentile(self._taken, percent),
            )
        yield Row(
            "  documents that were not taken, or not found", "documents", _N_DOCUMENTS - len(self._ids) + self._missing
        )

    def _send(self) -> None:
        texts = queries(_N_DOCUMENTS * 40)
        for number, lines in enumerate(zip(*[iter(texts)] * 40, strict=True)):
            body = {"text": "\n".join((_word(number), *lines)), "metadata": {"filename": f"sent-{number}.md"}}
            started = time.perf_counter()
            status, _, content = self._server.search(self._connection, "POST", "/api/v1/ingest", body)
            self._taken.append((time.perf_counter() - started) * 1000)
            if status in {http.client.OK, http.client.CREATED}:
                self._ids.append(json.loads(content)["doc_id"])


def _word(number: int) -> str:
    return f"sentdocument{number:03}"
