"""Stand-ins for a collector that takes OTLP over HTTP, for Application Insights, and for an exporter in the process.

They keep what they are told.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from directory_indexer.telemetry import spans
from directory_indexer.telemetry.recorder import Exporters, MonitoredExporter, OpenTelemetryRecorder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

_ACCEPTED = {"itemsReceived": 1, "itemsAccepted": 1, "errors": []}


@dataclass
class Told:
    """A span or a line of the log."""

    name: str
    facts: dict[str, Any]
    trace: str
    id: str
    parent: str
    resource: dict[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    """The traces that it is linked to."""


class Receiver:
    """A server on this machine that takes whatever is sent to it."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        """Paths, and what was sent there, unpacked."""

        self.encodings: set[str] = set()
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                encoding = self.headers.get("Content-Encoding", "")
                received.encodings.add(encoding)
                received.bodies.append((self.path, gzip.decompress(body) if encoding == "gzip" else body))
                is_azure = "/v2.1/" in self.path
                answer = json.dumps(_ACCEPTED).encode() if is_azure else b""
                self.send_response(200)
                self.send_header("Content-Type", "application/json" if is_azure else "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def connection_string(self) -> str:
        return f"InstrumentationKey=00000000-0000-0000-0000-000000000000;IngestionEndpoint={self.url}/"

    def everything(self) -> bytes:
        return b"\n".join(body for _, body in self.bodies)

    def spans(self) -> list[Told]:
        return list(self._spans())

    def lines(self) -> list[Told]:
        return list(self._lines())

    def envelopes(self) -> list[dict[str, Any]]:
        """Give what was sent to Application Insights: an object for each span and each line."""
        return [one for path, body in self.bodies if path.startswith("/v2.1/track") for one in json.loads(body)]

    def _spans(self) -> Iterator[Told]:
        for path, body in self.bodies:
            if path == "/v1/traces":
                for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    resource = _facts(of_resource.resource.attributes)
                    for of_scope in of_resource.scope_spans:
                        for one in of_scope.spans:
                            ids = one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex()
                            links = tuple(link.trace_id.hex() for link in one.links)
                            yield Told(one.name, _facts(one.attributes), *ids, resource, links)

    def _lines(self) -> Iterator[Told]:
        for path, body in self.bodies:
            if path == "/v1/logs":
                for of_resource in ExportLogsServiceRequest.FromString(body).resource_logs:
                    for of_scope in of_resource.scope_logs:
                        for one in of_scope.log_records:
                            trace, span = one.trace_id.hex(), one.span_id.hex()
                            yield Told(one.body.string_value, _facts(one.attributes), trace, span, "")


class Result(Enum):
    """What becomes of a batch, by the names that the SDK has."""

    SUCCESS = 0
    FAILURE = 1


class Kept:
    """An exporter that keeps everything, unless it is told to fail."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.result = Result.SUCCESS

    def export(self, batch: Sequence[Any]) -> Result:
        self.records += batch if self.result is Result.SUCCESS else []
        return self.result

    def shutdown(self) -> None:
        """Keep what is there."""

    def named(self, name: str) -> list[Any]:
        """Give the spans of this name, when all are there."""
        spans.close()
        return [one for one in self.records if one.name == name]


@contextlib.contextmanager
def keeping(*, joins_traces: bool = False) -> Iterator[Kept]:
    """Record what is done in this process."""
    kept = Kept()
    exporters = Exporters(MonitoredExporter(kept, receiver="a test"), None)
    spans.set_recorder(OpenTelemetryRecorder([exporters], joins_traces=joins_traces))
    yield kept
    spans.close()


def _facts(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one) for one in attributes}


def _value(one: KeyValue) -> Any:
    kind = one.value.WhichOneof("value")
    return getattr(one.value, kind) if kind else None
