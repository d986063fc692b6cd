"""A stand-in for a Qdrant server, as a process of its own that speaks the published REST and gRPC protocols.

Requests and answers are the models of the client library; points are kept by its local mode. On command it misbehaves:
`POST /_faults` with a list of `Fault` as objects. `GET /_log` tells what was asked, as `METHOD /path?query`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import ssl
import struct
import sys
import threading
import time
import warnings
from concurrent import futures
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import grpc as grpc_library
from qdrant_client import QdrantClient, grpc
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.http import models

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "1.20.0"
Json = dict[str, Any]


@dataclass
class Fault:
    """What goes wrong with requests whose `METHOD /path` matches; `times` counts down, after `skip` good ones."""

    match: str
    kind: str
    times: int = 1
    skip: int = 0
    status: int = 500
    seconds: float = 0.0
    retry_after: int | None = None


class RefusalError(Exception):
    """An error as the server answers it."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Qdrant:
    """What the server keeps, and the verbs that REST and gRPC share."""

    def __init__(self, storage: str | None) -> None:
        self.client = QdrantClient(path=storage) if storage else QdrantClient(":memory:")
        self.lock = threading.RLock()
        self.indexes: dict[str, dict[str, Any]] = {}
        self.created: dict[str, Json] = {}
        self.status = "green"

    def require(self, name: str) -> None:
        if not self.client.collection_exists(name):
            raise RefusalError(404, f"Not found: Collection `{name}` doesn't exist!")

    def create(self, name: str, wanted: models.CreateCollection) -> bool:
        if self.client.collection_exists(name):
            raise RefusalError(409, f"Wrong input: Collection `{name}` already exists!")
        self.created[name] = json.loads(wanted.model_dump_json(exclude_none=True))
        return self.client.create_collection(
            name, vectors_config=wanted.vectors, sparse_vectors_config=wanted.sparse_vectors
        )

    def describe(self, name: str) -> models.CollectionInfo:
        self.require(name)
        info = self.client.get_collection(name)
        schema = {
            field: models.PayloadIndexInfo(
                data_type=models.PayloadSchemaType.KEYWORD,
                params=params if isinstance(params, models.KeywordIndexParams) else None,
                points=0,
            )
            for field, params in self.indexes.get(name, {}).items()
        }
        return info.model_copy(update={"payload_schema": schema, "status": models.CollectionStatus(self.status)})

    def add_index(self, name: str, field: str, params: Any) -> models.UpdateResult:
        self.require(name)
        self.indexes.setdefault(name, {})[field] = params
        return models.UpdateResult(operation_id=1, status=models.UpdateStatus.COMPLETED)

    def upsert(self, name: str, points: list[models.PointStruct]) -> models.UpdateResult:
        self.require(name)
        vectors = self.client.get_collection(name).config.params.vectors
        for point in points if isinstance(vectors, models.VectorParams) else ():
            expected, given = vectors.size, len(point.vector)  # type: ignore[arg-type, union-attr]
            if given != expected:
                words = f"Wrong input: Vector dimension error: expected dim: {expected}, got {given}"
                raise RefusalError(400, words)
        return self.client.upsert(name, points)

    def delete(self, name: str, selector: Any) -> models.UpdateResult:
        self.require(name)
        return self.client.delete(name, selector)

    def set_payload(self, name: str, asked: models.SetPayload) -> models.UpdateResult:
        self.require(name)
        wanted = asked.points if asked.points is not None else asked.filter
        assert wanted is not None
        return self.client.set_payload(name, asked.payload, points=wanted)

    def update_vectors(self, name: str, asked: models.UpdateVectors) -> models.UpdateResult:
        self.require(name)
        return self.client.update_vectors(name, asked.points)

    def query_batch(self, name: str, asked: models.QueryRequestBatch) -> list[models.QueryResponse]:
        return [self.query(name, one) for one in asked.searches]

    def query(self, name: str, asked: models.QueryRequest) -> models.QueryResponse:
        self.require(name)
        return self.client.query_points(
            name,
            query=asked.query,
            using=asked.using,
            query_filter=asked.filter,
            limit=asked.limit or 10,
            with_payload=asked.with_payload or False,
            with_vectors=asked.with_vector or False,
        )

    def scroll(self, name: str, asked: models.ScrollRequest) -> models.ScrollResult:
        self.require(name)
        points, offset = self.client.scroll(
            name,
            scroll_filter=asked.filter,
            limit=asked.limit or 10,
            offset=asked.offset,
            with_payload=asked.with_payload if asked.with_payload is not None else True,
            with_vectors=asked.with_vector or False,
        )
        return models.ScrollResult(points=points, next_page_offset=offset)

    def count(self, name: str, asked: models.CountRequest) -> models.CountResult:
        self.require(name)
        return self.client.count(name, count_filter=asked.filter, exact=True)

    def retrieve(self, name: str, asked: models.PointRequest) -> list[models.Record]:
        self.require(name)
        return self.client.retrieve(
            name, asked.ids, with_payload=asked.with_payload or False, with_vectors=asked.with_vector or False
        )

    def payloads(self) -> list[Json]:
        names = [one.name for one in self.client.get_collections().collections]
        return [dict(point.payload or {}) for name in names for point in self.client.scroll(name, limit=100_000)[0]]


# REST


def _create(qdrant: Qdrant, name: str, body: Json) -> Any:
    return qdrant.create(name, models.CreateCollection.model_validate(body))


def _add_index(qdrant: Qdrant, name: str, body: Json) -> Any:
    asked = models.CreateFieldIndex.model_validate(body)
    return qdrant.add_index(name, asked.field_name, asked.field_schema)


def _delete(qdrant: Qdrant, name: str, body: Json) -> Any:
    kind = models.FilterSelector if "filter" in body else models.PointIdsList
    return qdrant.delete(name, kind.model_validate(body))


ROUTES: list[tuple[str, Callable[[Qdrant, str, Json], Any]]] = [
    (r"GET /collections/([^/]+)/exists", lambda q, name, _: {"exists": q.client.collection_exists(name)}),
    (r"GET /collections/([^/]+)", lambda q, name, _: q.describe(name)),
    (r"PUT /collections/([^/]+)", _create),
    (r"DELETE /collections/([^/]+)", lambda q, name, _: q.client.delete_collection(name)),
    (r"PUT /collections/([^/]+)/index", _add_index),
    (r"PUT /collections/([^/]+)/points", lambda q, n, b: q.upsert(n, models.PointsList.model_validate(b).points)),
    (r"POST /collections/([^/]+)/points/delete", _delete),
    (r"POST /collections/([^/]+)/points/payload", lambda q, n, b: q.set_payload(n, models.SetPayload(**b))),
    (r"PUT /collections/([^/]+)/points/vectors", lambda q, n, b: q.update_vectors(n, models.UpdateVectors(**b))),
    (
        r"POST /collections/([^/]+)/points/query/batch",
        lambda q, n, b: q.query_batch(n, models.QueryRequestBatch.model_validate(b)),
    ),
    (r"POST /collections/([^/]+)/points/query", lambda q, n, b: q.query(n, models.QueryRequest.model_validate(b))),
    (r"POST /collections/([^/]+)/points/scroll", lambda q, n, b: q.scroll(n, models.ScrollRequest.model_validate(b))),
    (r"POST /collections/([^/]+)/points/count", lambda q, n, b: q.count(n, models.CountRequest.model_validate(b))),
    (r"POST /collections/([^/]+)/points", lambda q, n, b: q.retrieve(n, models.PointRequest.model_validate(b))),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    qdrant: Qdrant
    api_key: str | None
    faults: list[Fault]
    log: list[str]

    def log_message(self, *_: object) -> None: ...

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body: Json = json.loads(self.rfile.read(length)) if length else {}
        path = urlsplit(self.path).path
        if path.startswith("/_"):
            self._send(200, self._controlled(path, body))
            return
        self.log.append(f"{self.command} {self.path}")
        fault = self._fault(f"{self.command} {path}")
        if fault and self._misbehave(fault):
            return
        status, content = self._answered(path, body)
        if fault and fault.kind == "unknown":
            content["result"]["exists"] = False
        if fault and fault.kind == "dimension":
            for point in content["result"]:
                point["vector"].pop()
        self._send(status, content, cut=fault is not None and fault.kind == "half")

    do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the library asks for these names

    def _controlled(self, path: str, body: Any) -> Any:
        if path == "/_faults":
            self.faults[:] = [Fault(**fault) for fault in body["faults"]]
        elif path == "/_status":
            self.qdrant.status = body["status"]
        elif path == "/_points":
            return self.qdrant.payloads()
        elif path == "/_created":
            return {"created": self.qdrant.created, "indexes": _plain(self.qdrant.indexes)}
        return self.log

    def _fault(self, asked: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and re.fullmatch(fault.match, asked):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def _misbehave(self, fault: Fault) -> bool:
        """Do what the fault says; tell whether that was the answer."""
        match fault.kind:
            case "slow":
                time.sleep(fault.seconds)
            case "status":
                headers = {"Retry-After": str(fault.retry_after)} if fault.retry_after is not None else {}
                self._send(fault.status, {"status": {"error": "as the test wants it"}, "time": 0}, headers=headers)
                return True
            case "reset":
                # With this option a close is a reset.
                self.connection.setsockopt(1, 13, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return True
            case "garbage":
                self._send(200, "<html>It works!</html>")
                return True
            case "exit":
                os._exit(9)
        return False

    def _answered(self, path: str, body: Json) -> tuple[int, Any]:
        started = time.perf_counter()
        try:
            if self.api_key and self.headers.get("api-key") != self.api_key:
                return 401, "Must provide an API key or an Authorization bearer token"
            if path == "/":
                return 200, {"title": "qdrant - vector search engine", "version": VERSION}
            result = self._routed(f"{self.command} {path}", body)
        except RefusalError as error:
            return error.status, {"status": {"error": str(error)}, "time": 0}
        except ValueError as error:
            return 400, {"status": {"error": f"Wrong input: {error}"}, "time": 0}
        return 200, {"result": _plain(result), "status": "ok", "time": time.perf_counter() - started}

    def _routed(self, asked: str, body: Json) -> Any:
        for pattern, serve in ROUTES:
            if found := re.fullmatch(pattern, asked):
                with self.qdrant.lock:
                    return serve(self.qdrant, found[1], body)
        raise RefusalError(404, f"no such endpoint: {asked}")

    def _send(self, status: int, content: Any, *, headers: Json | None = None, cut: bool = False) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        raw = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        self.close_connection = self.close_connection or cut


def _plain(result: Any) -> Any:
    if hasattr(result, "model_dump_json"):
        return json.loads(result.model_dump_json())
    if isinstance(result, dict):
        return {key: _plain(value) for key, value in result.items()}
    return [_plain(one) for one in result] if isinstance(result, list) else result


# gRPC


class Service:
    """What both services share: a key that is looked at, and errors that become codes."""

    def __init__(self, qdrant: Qdrant, api_key: str | None) -> None:
        self._qdrant = qdrant
        self._api_key = api_key

    @contextlib.contextmanager
    def _guarded(self, context: grpc_library.ServicerContext) -> Any:
        if self._api_key and dict(context.invocation_metadata()).get("api-key") != self._api_key:
            context.abort(grpc_library.StatusCode.UNAUTHENTICATED, "Must provide an API key")
        try:
            with self._qdrant.lock:
                yield
        except RefusalError as error:
            code = {404: grpc_library.StatusCode.NOT_FOUND}.get(error.status, grpc_library.StatusCode.INVALID_ARGUMENT)
            context.abort(code, str(error))


class Collections(Service, grpc.CollectionsServicer):
    def CollectionExists(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            exists = self._qdrant.client.collection_exists(request.collection_name)
            return grpc.CollectionExistsResponse(result=grpc.CollectionExists(exists=exists))

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            vectors = GrpcToRest.convert_vectors_config(request.vectors_config)
            done = self._qdrant.create(request.collection_name, models.CreateCollection(vectors=vectors))
            return grpc.CollectionOperationResponse(result=done)

    def Get(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            info = self._qdrant.describe(request.collection_name)
            return grpc.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(info))


class Points(Service, grpc.PointsServicer):
    def CreateFieldIndex(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            params = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
            self._qdrant.add_index(request.collection_name, request.field_name, params)
            return _done()

    def Upsert(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            points = [GrpcToRest.convert_point_struct(point) for point in request.points]
            self._qdrant.upsert(request.collection_name, points)
            return _done()

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            self._qdrant.delete(request.collection_name, GrpcToRest.convert_points_selector(request.points))
            return _done()

    def Query(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            asked = models.QueryRequest(
                query=GrpcToRest.convert_query(request.query),
                filter=GrpcToRest.convert_filter(request.filter),
                limit=request.limit,
                with_payload=True,
            )
            found = self._qdrant.query(request.collection_name, asked).points
            return grpc.QueryResponse(result=[RestToGrpc.convert_scored_point(point) for point in found])

    def Count(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            asked = models.CountRequest(filter=GrpcToRest.convert_filter(request.filter))
            count = self._qdrant.count(request.collection_name, asked).count
            return grpc.CountResponse(result=grpc.CountResult(count=count))

    def Scroll(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            offset = GrpcToRest.convert_point_id(request.offset) if request.HasField("offset") else None
            filter_ = GrpcToRest.convert_filter(request.filter)
            asked = models.ScrollRequest(filter=filter_, limit=request.limit, offset=offset, with_payload=True)
            found = self._qdrant.scroll(request.collection_name, asked)
            after = found.next_page_offset
            return grpc.ScrollResponse(
                result=[RestToGrpc.convert_record(point) for point in found.points],
                next_page_offset=RestToGrpc.convert_extended_point_id(after) if after is not None else None,
            )

    def Get(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._guarded(context):
            ids = [GrpcToRest.convert_point_id(one) for one in request.ids]
            asked = models.PointRequest(ids=ids, with_payload=True, with_vector=True)
            found = self._qdrant.retrieve(request.collection_name, asked)
            return grpc.GetResponse(result=[RestToGrpc.convert_record(point) for point in found])


class Health(grpc.QdrantServicer):
    def HealthCheck(self, request: Any, context: Any) -> Any:  # noqa: N802
        del request, context
        return grpc.HealthCheckReply(title="qdrant - vector search engine", version=VERSION)


def _done() -> Any:
    result = grpc.UpdateResult(operation_id=1, status=grpc.UpdateStatus.Completed)
    return grpc.PointsOperationResponse(result=result)


def _serve_grpc(server: grpc_library.Server, qdrant: Qdrant, api_key: str | None) -> int:
    grpc.add_CollectionsServicer_to_server(Collections(qdrant, api_key), server)  # type: ignore[no-untyped-call]
    grpc.add_PointsServicer_to_server(Points(qdrant, api_key), server)  # type: ignore[no-untyped-call]
    grpc.add_QdrantServicer_to_server(Health(), server)  # type: ignore[no-untyped-call]
    port: int = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return port


def main() -> NoReturn:
    warnings.simplefilter("ignore")  # local mode warns that it ignores payload indexes
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--storage")
    parser.add_argument("--api-key")
    parser.add_argument("--certificate")
    parser.add_argument("--grpc", action="store_true")
    given = parser.parse_args()
    qdrant = Qdrant(given.storage)
    members = {"qdrant": qdrant, "api_key": given.api_key, "faults": [], "log": []}
    server = ThreadingHTTPServer(("127.0.0.1", given.port), type("BoundHandler", (Handler,), members))
    server.daemon_threads = True
    if given.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(given.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    grpc_server = grpc_library.server(futures.ThreadPoolExecutor(4))
    grpc_port = _serve_grpc(grpc_server, qdrant, given.api_key) if given.grpc else 0
    sys.stdout.write(f"{server.server_port} {grpc_port}\n")
    sys.stdout.flush()
    server.serve_forever()
    sys.exit(0)


if __name__ == "__main__":
    main()
