"""Ten users of `dirindex serve --http`: with the vectors in its process, on a Qdrant server, and with telemetry.

The Qdrant server is the stand-in of the tests: it speaks the protocol, and goes over all its points in Python, one
request at a time. A search asks it twice, so that a thousand searches of 22,000 chunks take twenty minutes of it alone:
it gets a small index, and the vectors of the same one are searched in the process, too. Its figures say what the way
there and back costs, and nothing of how soon Qdrant answers. The collector takes whatever comes.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus import corpus_of
from benchmarks.measure import DIRINDEX, Options, Row
from benchmarks.search import queries
from benchmarks.team import TeamServer, measure_searches

if TYPE_CHECKING:
    from collections.abc import Iterator

_N_USERS = 10
_N_CHUNKS = 22_000
_N_CHUNKS_STANDIN = 1_000
_N_WARMING = 50
_STANDIN = Path(__file__).resolve().parents[2] / "tests/qdrant_standin.py"
_ENDPOINT, _COLLECTOR = "DIRINDEX_STORAGE__QDRANT__ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"


def deployment(options: Options) -> Iterator[Row]:
    """Measure users who each ask again as soon as they are answered."""
    corpus = corpus_of(min(_N_CHUNKS, options.n_chunks), options.place)
    what = f"{_N_USERS} users, {corpus.n_chunks:,} chunks"
    with TeamServer(corpus.data_dir) as server:
        yield from _answers(server, what)
    with _collector() as url, TeamServer(corpus.data_dir, **{_COLLECTOR: url}) as server:
        yield from _answers(server, f"{what}, with telemetry")
    corpus = corpus_of(min(_N_CHUNKS_STANDIN, options.n_chunks), options.place)
    what = f"{_N_USERS} users, {corpus.n_chunks:,} chunks"
    with TeamServer(corpus.data_dir) as server:
        yield from _answers(server, what)
    with tempfile.TemporaryDirectory(dir=options.place) as directory, _standin() as url:
        data_dir = shutil.copytree(corpus.data_dir, Path(directory, "index"))
        words = (DIRINDEX, "migrate", "--to-server", url, "--quiet", "--data-dir", str(data_dir))
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
        with TeamServer(data_dir, **{_ENDPOINT: url}) as server:
            yield from _answers(server, f"{what}, a stand-in for Qdrant")


def _answers(server: TeamServer, what: str) -> Iterator[Row]:
    connection = server.connection()
    for query in queries(_N_WARMING):
        server.search(connection, query)
    yield from measure_searches(server, what, _N_USERS)


@contextlib.contextmanager
def _standin() -> Iterator[str]:
    process = subprocess.Popen((sys.executable, str(_STANDIN)), stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().split()[0]}"
    finally:
        process.kill()
        process.communicate()


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Discard the log line."""


@contextlib.contextmanager
def _collector() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Taking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
