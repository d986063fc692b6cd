"""Translation of failures of a Qdrant server into messages, and whether a retry may help."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import grpc
import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from directory_indexer.errors import VectorsLostError, VectorStoreError

# The client raises a plain ValueError for a response that it takes for a mistake of its caller.
FOREIGN_ERRORS = (ApiException, QdrantException, grpc.RpcError, httpx.HTTPError, ValueError, OSError)

_LONGEST_QUOTE = 300
_LATER = "nothing is lost: run the same command again when the server is well"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure in words; `may_pass` means that the same request may succeed a little later."""

    message: str
    hint: str = _LATER
    may_pass: bool = True
    has_lost_vectors: bool = False
    retry_after_seconds: float = 0.0

    @property
    def error(self) -> VectorStoreError:
        """Return the failure as an exception."""
        return (VectorsLostError if self.has_lost_vectors else VectorStoreError)(self.message, hint=self.hint)


def failure_of(error: Exception, url: str, doing: str) -> Failure:
    """Translate an exception of the client; `doing` describes the request, such as `search`."""
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    match cause:
        case ResourceExhaustedResponse():
            return Failure(f"the Qdrant server at {url} is overloaded", retry_after_seconds=float(cause.retry_after_s))
        case UnexpectedResponse():
            return _http_failure(cause.status_code or 0, _error_text(cause.content), url, doing)
        case grpc.Call():
            return _http_failure(_HTTP_STATUS.get(cause.code(), 500), str(cause.details()), url, doing)
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return _unreachable(_describe(cause), url)
        case httpx.HTTPError() | OSError():
            return _connection_failure(cause, url, doing)
    message = f"what answers at {url} does not speak as a Qdrant server does, or not of this version"
    return Failure(message, "check storage.qdrant.endpoint; dirindex doctor shows versions", may_pass=False)


def _unreachable(words: str, url: str) -> Failure:
    if "CERTIFICATE_VERIFY_FAILED" in words:
        message = f"the certificate of the Qdrant server at {url} is not trusted: {words}"
        return Failure(message, "name the certificate of its authority: storage.qdrant.ca_file", may_pass=False)
    if "SSL" in words:
        message = f"what answers at {url} does not speak TLS: {words}"
        return Failure(message, "check whether storage.qdrant.endpoint must begin with http://", may_pass=False)
    return Failure(f"no Qdrant server answers at {url}: {words}", _start_hint(url), may_pass=False)


def _connection_failure(cause: Exception, url: str, doing: str) -> Failure:
    if isinstance(cause, httpx.TimeoutException):
        message = f"the Qdrant server at {url} took too long to {doing}"
        return Failure(message, f"{_LATER}, or raise storage.qdrant.timeout_seconds")
    return Failure(f"the connection to the Qdrant server at {url} broke as it was to {doing}: {_describe(cause)}")


def _start_hint(url: str) -> str:
    parts = urlsplit(url)
    if parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        return "start it, or check storage.qdrant.endpoint and the network"
    return f"start one: docker run -p {parts.port or 6333}:6333 qdrant/qdrant"


def _http_failure(status: int, text: str, url: str, doing: str) -> Failure:
    server = f"the Qdrant server at {url}"
    if status == _UNAVAILABLE:
        return _unreachable(text, url)
    if status == _NOT_FOUND and not _COLLECTION_GONE.search(text):
        message = f"{url} is not a Qdrant server: {status} {text}"
        return Failure(message, "check storage.qdrant.endpoint, and the proxy before the server", may_pass=False)
    if status in _REFUSALS:
        known = _REFUSALS[status]
        message = known.message.format(server=server, doing=doing, text=text)
        return Failure(message, known.hint, known.may_pass, known.has_lost_vectors)
    if status >= _SERVER_ERRORS:
        return Failure(f"{server} failed to {doing}: {status} {text}")
    hint = "dirindex doctor shows what the server has; its log says more"
    return Failure(f"{server} refused to {doing}: {status} {text}", hint, may_pass=False)


def _error_text(content: bytes) -> str:
    """Return the message of a Qdrant error, or a quote of what a proxy responded instead."""
    try:
        text = json.loads(content)["status"]["error"]
    except (ValueError, TypeError, KeyError):
        text = content.decode(errors="replace")
    return " ".join(str(text).split())[:_LONGEST_QUOTE]


def _describe(error: Exception) -> str:
    return str(error) or type(error).__name__


_KEY_REFUSED = Failure(
    "{server} refuses the API key, or wants one: {text}",
    "set storage.qdrant.api_key_file, storage.qdrant.api_key or DIRINDEX_STORAGE__QDRANT__API_KEY",
    may_pass=False,
)
_REFUSALS: Mapping[int, Failure] = {
    401: _KEY_REFUSED,
    403: _KEY_REFUSED,
    404: Failure(
        "{server} does not have the vectors of this index: {text}",
        "dirindex index makes the vectors again from the stored texts",
        may_pass=False,
        has_lost_vectors=True,
    ),
    # Another process has just created the collection.
    409: Failure("{server} could not {doing}: {text}"),
    413: Failure(
        "{server} takes no requests as large as those to {doing}",
        "raise QDRANT__SERVICE__MAX_REQUEST_SIZE_MB on the server, or the limit of the proxy before it",
        may_pass=False,
    ),
    429: Failure("{server} is overloaded"),
    504: Failure("{server} took too long to {doing}: {text}"),
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
