"""Connection to a Qdrant server, with retries and messages of failures, and creation and checks of its collection."""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import grpc
import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from directory_indexer.config.services import Quantization
from directory_indexer.core.errors import VectorsLostError, VectorStoreError

Answer = TypeVar("Answer")

_CONNECT_SECONDS = 3.0
"""An available server accepts a connection in milliseconds."""

_ATTEMPTS = 4
_FIRST_WAIT_SECONDS = 0.5
_MAX_WAIT_SECONDS = 60.0

# The client raises a plain ValueError for a response that it takes for a mistake of its caller.
CLIENT_ERRORS = (ApiException, QdrantException, grpc.RpcError, httpx.HTTPError, ValueError, OSError)

_MAX_QUOTE_CHARS = 300
_RETRY_LATER_HINT = "nothing is lost: run the same command again when the server is well"


@dataclass(frozen=True, slots=True)
class QdrantFailure:
    """A failure in words; `is_transient` means that the same request may succeed a little later."""

    message: str
    hint: str = _RETRY_LATER_HINT
    is_transient: bool = True
    has_lost_vectors: bool = False
    retry_after_seconds: float = 0.0

    @property
    def error(self) -> VectorStoreError:
        """Return the failure as an exception."""
        return (VectorsLostError if self.has_lost_vectors else VectorStoreError)(self.message, hint=self.hint)


_KEY_REFUSED_FAILURE = QdrantFailure(
    "{server} refuses the API key, or wants one: {text}",
    "set storage.qdrant.api_key_file, storage.qdrant.api_key or DIRINDEX_STORAGE__QDRANT__API_KEY",
    is_transient=False,
)
_FAILURES_BY_STATUS: Mapping[int, QdrantFailure] = {
    401: _KEY_REFUSED_FAILURE,
    403: _KEY_REFUSED_FAILURE,
    404: QdrantFailure(
        "{server} does not have this index: {text}",
        "dirindex index restores search by meaning from the stored texts",
        is_transient=False,
        has_lost_vectors=True,
    ),
    # Another process has just created the collection.
    409: QdrantFailure("{server} could not {doing}: {text}"),
    413: QdrantFailure(
        "{server} takes no requests as large as those to {doing}",
        "raise QDRANT__SERVICE__MAX_REQUEST_SIZE_MB on the server, or the limit of the proxy before it",
        is_transient=False,
    ),
    429: QdrantFailure("{server} is overloaded"),
    504: QdrantFailure("{server} took too long to {doing}: {text}"),
}
_NOT_FOUND = 404
_COLLECTION_GONE = re.compile(r"Collection .* doesn't exist")
"""Only the server itself says so: a 404 of a proxy does not mean that vectors are lost."""
_SERVER_ERRORS = 500
_UNAVAILABLE = -1
_HTTP_STATUS = {
    grpc.StatusCode.UNAVAILABLE: _UNAVAILABLE,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
"""The HTTP status codes that correspond to those of gRPC."""


@dataclass(frozen=True, slots=True)
class QdrantAddress:
    """The address and credentials of a Qdrant server; `grpc_port` selects gRPC instead of REST."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    grpc_port: int | None = None
    timeout_seconds: int = 30


class QdrantConnection:
    """The client of one server, created when it is first needed; threads may share it.

    Raises:
        VectorStoreError: from every request, when the server cannot be reached, refuses, or its response is invalid.
    """

    def __init__(self, address: QdrantAddress, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.address = address
        self._sleep = sleep
        self._lock = threading.Lock()
        self._make_client: QdrantClient | None = None

    def send_once(self, doing: str, request: Callable[[QdrantClient], Answer]) -> Answer:
        """Send a request once, since a user waits for the answer."""
        try:
            return request(self._opened())
        except CLIENT_ERRORS as error:
            raise classify_failure(error, self.address.url, doing).error from error

    def send_with_retries(self, doing: str, request: Callable[[QdrantClient], Answer]) -> Answer:
        """Send a request, with retries and exponential backoff while the failure may be transient."""
        wait = _FIRST_WAIT_SECONDS
        for _ in range(_ATTEMPTS - 1):
            try:
                return request(self._opened())
            except CLIENT_ERRORS as error:
                failure = classify_failure(error, self.address.url, doing)
                if not failure.is_transient:
                    raise failure.error from error
            self._sleep(min(max(wait, failure.retry_after_seconds), _MAX_WAIT_SECONDS))
            wait *= 2
        return self.send_once(doing, request)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            client, self._make_client = self._make_client, None
        if client:
            client.close()

    def _opened(self) -> QdrantClient:
        with self._lock:
            if self._make_client is None:
                self._make_client = _make_client(self.address)
            return self._make_client


def classify_failure(error: Exception, url: str, doing: str) -> QdrantFailure:
    """Translate an exception of the client; `doing` describes the request, such as `search`."""
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    match cause:
        case ResourceExhaustedResponse():
            return QdrantFailure(
                f"the Qdrant server at {url} is overloaded", retry_after_seconds=float(cause.retry_after_s)
            )
        case UnexpectedResponse():
            return _http_failure(cause.status_code or 0, _error_text(cause.content), url, doing)
        case grpc.Call():
            return _http_failure(_HTTP_STATUS.get(cause.code(), 500), str(cause.details()), url, doing)
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return _unreachable(_error_message(cause), url)
        case httpx.HTTPError() | OSError():
            return _connection_failure(cause, url, doing)
    message = f"what answers at {url} does not speak as a Qdrant server does, or not of this version"
    return QdrantFailure(message, "check storage.qdrant.endpoint; dirindex doctor shows versions", is_transient=False)


def _make_client(address: QdrantAddress) -> QdrantClient:
    is_safe = urlsplit(address.url).scheme == "https"
    roots = _read_certificates(address.ca_file) if is_safe and address.ca_file else None
    return QdrantClient(
        url=address.url,
        prefer_grpc=address.grpc_port is not None,
        grpc_port=address.grpc_port or 0,
        grpc_options={"root_certificates": roots.encode()} if roots else None,
        # Not as `api_key`, for which the client prints warnings of its own.
        headers={"api-key": address.api_key} if address.api_key else None,
        timeout=address.timeout_seconds,
        # It asks in the background, and prints what it finds; the doctor shows the version.
        check_compatibility=False,
        verify=ssl.create_default_context(cadata=roots) if roots else True,
        event_hooks={"request": [_set_connect_timeout]},
    )


def _read_certificates(path: Path) -> str:
    hint = "storage.qdrant.ca_file names the certificate of an authority, as PEM"
    try:
        text = path.read_text(encoding="utf-8")
        ssl.create_default_context(cadata=text)
    except OSError as error:
        if isinstance(error, ssl.SSLError):
            raise VectorStoreError(f"'{path}' is not a certificate: {error}", hint=hint) from error
        raise VectorStoreError(f"'{path}' cannot be read: {error.strerror}", hint=hint) from error
    except ValueError as error:
        raise VectorStoreError(f"'{path}' is not a certificate: {error}", hint=hint) from error
    return text


def _set_connect_timeout(request: httpx.Request) -> None:
    request.extensions["timeout"]["connect"] = _CONNECT_SECONDS


def _unreachable(words: str, url: str) -> QdrantFailure:
    if "CERTIFICATE_VERIFY_FAILED" in words:
        message = f"the certificate of the Qdrant server at {url} is not trusted: {words}"
        return QdrantFailure(
            message, "name the certificate of its authority: storage.qdrant.ca_file", is_transient=False
        )
    if "SSL" in words:
        message = f"what answers at {url} does not speak TLS: {words}"
        return QdrantFailure(
            message, "check whether storage.qdrant.endpoint must begin with http://", is_transient=False
        )
    return QdrantFailure(f"no Qdrant server answers at {url}: {words}", _start_hint(url), is_transient=False)


def _connection_failure(cause: Exception, url: str, doing: str) -> QdrantFailure:
    if isinstance(cause, httpx.TimeoutException):
        message = f"the Qdrant server at {url} took too long to {doing}"
        return QdrantFailure(message, f"{_RETRY_LATER_HINT}, or raise storage.qdrant.timeout_seconds")
    return QdrantFailure(
        f"the connection to the Qdrant server at {url} broke as it was to {doing}: {_error_message(cause)}"
    )


def _start_hint(url: str) -> str:
    parts = urlsplit(url)
    if parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        return "start it, or check storage.qdrant.endpoint and the network"
    return f"start one: docker run -p {parts.port or 6333}:6333 qdrant/qdrant"


def _http_failure(status: int, text: str, url: str, doing: str) -> QdrantFailure:
    server = f"the Qdrant server at {url}"
    if status == _UNAVAILABLE:
        return _unreachable(text, url)
    if status == _NOT_FOUND and not _COLLECTION_GONE.search(text):
        message = f"{url} is not a Qdrant server: {status} {text}"
        return QdrantFailure(
            message, "check storage.qdrant.endpoint, and the proxy before the server", is_transient=False
        )
    if status in _FAILURES_BY_STATUS:
        known = _FAILURES_BY_STATUS[status]
        message = known.message.format(server=server, doing=doing, text=text)
        return QdrantFailure(message, known.hint, known.is_transient, known.has_lost_vectors)
    if status >= _SERVER_ERRORS:
        return QdrantFailure(f"{server} failed to {doing}: {status} {text}")
    hint = "dirindex doctor shows what the server has; its log says more"
    return QdrantFailure(f"{server} refused to {doing}: {status} {text}", hint, is_transient=False)


def _error_text(content: bytes) -> str:
    """Return the message of a Qdrant error, or a quote of what a proxy responded instead."""
    try:
        text = json.loads(content)["status"]["error"]
    except (ValueError, TypeError, KeyError):
        text = content.decode(errors="replace")
    return " ".join(str(text).split())[:_MAX_QUOTE_CHARS]


def _error_message(error: Exception) -> str:
    return str(error) or type(error).__name__


INDEX_FIELD = "index"


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """The parameters of a collection; None leaves a choice to the server. For an existing one, only the name counts."""

    name: str
    shard_number: int | None = None
    replication_factor: int | None = None
    write_consistency_factor: int | None = None
    read_consistency: str | None = None
    quantization: Quantization = Quantization.INT8
    on_disk: bool = False


def ensure_collection(client: QdrantClient, plan: CollectionPlan, *, dimensions: int) -> None:
    """Create the collection with its payload indexes, or what is missing of them.

    Raises:
        VectorStoreError: a collection of that name cannot hold vectors of this index.
    """
    if not client.collection_exists(plan.name):
        _create_collection(client, plan, dimensions)
    info = client.get_collection(plan.name)
    require_compatible(info, plan.name, dimensions=dimensions)
    for name, schema in _PAYLOAD_INDEXES.items():
        if name not in info.payload_schema:
            client.create_payload_index(plan.name, name, field_schema=schema, wait=True)


def require_compatible(info: models.CollectionInfo, name: str, *, dimensions: int) -> None:
    """Check that a collection was created for the vectors of this index.

    Raises:
        VectorStoreError: its vectors are of another size, use another distance, or are named.
    """
    vectors = info.config.params.vectors
    hint = "name another one in storage.qdrant.collection: it is made when it is needed"
    if not isinstance(vectors, models.VectorParams) or vectors.distance is not models.Distance.COSINE:
        raise VectorStoreError(f"the collection '{name}' was not made by dirindex", hint=hint)
    if vectors.size != dimensions:
        raise VectorStoreError(
            f"the collection '{name}' holds vectors of {vectors.size} dimensions, the model makes {dimensions}",
            hint=hint,
        )


def search_params(plan: CollectionPlan) -> models.SearchParams:
    """Return parameters that fetch more candidates than requested by their codes and rescore them by their vectors."""
    oversampling = _OVERSAMPLING.get(plan.quantization)
    rescoring = models.QuantizationSearchParams(rescore=True, oversampling=oversampling) if oversampling else None
    return models.SearchParams(hnsw_ef=_SEARCH_EF, quantization=rescoring)


def read_consistency_of(plan: CollectionPlan) -> models.ReadConsistencyType | None:
    """Return how many replicas must agree on what is read."""
    return models.ReadConsistencyType(plan.read_consistency) if plan.read_consistency else None


def scroll(
    send: Callable[[Callable[[QdrantClient], Any]], Any],
    plan: CollectionPlan,
    collection: str,
    condition: models.Filter | None,
    *,
    fields: Sequence[str] = (),
) -> Iterator[models.Record]:
    """Yield the points that satisfy a condition, page by page, with these fields of their payloads, or all of them."""
    offset: Any = None
    while True:
        page = partial(
            QdrantClient.scroll,
            collection_name=collection,
            scroll_filter=condition,
            limit=_SCROLL_PAGE,
            offset=offset,
            with_payload=list(fields) or True,
            consistency=read_consistency_of(plan),
        )
        records, offset = send(page)
        yield from records
        if offset is None:
            return


_SCROLL_PAGE = 1000

EXACT_SEARCH = models.SearchParams(exact=True, quantization=models.QuantizationSearchParams(ignore=True))
"""Compares the vectors themselves, all that match the filter."""

_SEARCH_EF = 256
"""The size of the candidate list in the graph; Qdrant's default of 100 is faster and finds less."""

_OVERSAMPLING = {Quantization.INT8: 2.0, Quantization.BINARY: 4.0}


def _create_collection(client: QdrantClient, plan: CollectionPlan, dimensions: int) -> None:
    client.create_collection(
        plan.name,
        vectors_config=models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=plan.on_disk),
        shard_number=plan.shard_number,
        replication_factor=plan.replication_factor,
        write_consistency_factor=plan.write_consistency_factor,
        on_disk_payload=True,
        # Every search names one index, so a graph is built for each index instead of one over all of them.
        hnsw_config=models.HnswConfigDiff(m=0, payload_m=16, on_disk=plan.on_disk),
        quantization_config=quantization_config(plan.quantization),
    )


def quantization_config(kind: Quantization) -> models.QuantizationConfig | None:
    """Return the server's configuration of a quantization."""
    match kind:
        case Quantization.INT8:
            scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
            return models.ScalarQuantization(scalar=scalar)
        case Quantization.BINARY:
            return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
        case Quantization.NONE:
            return None


_KEYWORD_TYPE = models.KeywordIndexType.KEYWORD
_PAYLOAD_INDEXES = {
    INDEX_FIELD: models.KeywordIndexParams(type=_KEYWORD_TYPE, is_tenant=True),
    "parent_directories": models.KeywordIndexParams(type=_KEYWORD_TYPE),
    "file_path": models.KeywordIndexParams(type=_KEYWORD_TYPE, on_disk=True, enable_hnsw=False),
}
