"""Client of the API of a remote index; each call is one request, which is retried while the server is unavailable."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from directory_indexer.errors import DirIndexError, NotIndexedError, UnavailableError, UsageError
from directory_indexer.remote.answers import (
    RemoteCollections,
    RemoteDocument,
    RemoteHits,
    RemoteText,
    problem_in,
    read_answer,
)
from directory_indexer.remote.exchange import Exchange, Request, Response
from directory_indexer.remote.retrying import Backoff, Patience, Retrying

LONGEST_TEXT: Final = 10_000_000
_LONGEST_BODY: Final = 32_000_000
_API: Final = "/api/v1"
_JSON: Final = {"Content-Type": "application/json"}
_INGEST_WAIT_SECONDS: Final = 20
_MAX_DETAIL_CHARS: Final = 300
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
_Record = TypeVar("_Record")


class OutgoingDocument(NamedTuple):
    """A document to be sent: its text and its names."""

    client_id: str
    filename: str
    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


class RemoteIndex:
    """The API of an index server. Thread-safe."""

    def __init__(self, exchange: Exchange, *, backoff: Backoff = Backoff()) -> None:  # noqa: B008 - it is a value
        self.address = exchange.address
        self._retrying = Retrying(exchange.send, backoff=backoff)

    def search(self, arguments: Mapping[str, Any], patience: Patience) -> RemoteHits:
        """Return the passages that a search finds; `arguments` are those of the API.

        Raises:
            DirIndexError: the server is unavailable or rejects the request.
        """
        return self._request(RemoteHits, _post_request("/search", arguments), patience)

    def collections(self, patience: Patience) -> RemoteCollections:
        """Return the collections that the token grants access to.

        Raises:
            DirIndexError: the server is unavailable or rejects the request.
        """
        return self._request(RemoteCollections, Request("GET", f"{_API}/collections"), patience)

    def document(self, doc_id: str, collection: str, lines: str, patience: Patience) -> RemoteText:
        """Return the text of a document, or some of its lines.

        Raises:
            DirIndexError: the server is unavailable or rejects the request.
        """
        query = urlencode({"collection": collection, **({"lines": lines} if lines else {})})
        return self._request(RemoteText, Request("GET", f"{_API}/documents/{quote(doc_id, safe='')}", query), patience)

    def send(self, document: OutgoingDocument, collection: str, patience: Patience) -> RemoteDocument:
        """Send a document; it replaces one with the same id.

        Each call has its own idempotency key: a retried request is executed once, a second call is executed again.

        Raises:
            DirIndexError: the document is too large, or the server is unavailable or rejects the request.
        """
        if len(document.text) > LONGEST_TEXT:
            raise UsageError(f"the document has more than {LONGEST_TEXT:,} characters", hint="send parts of it")
        request = _post_request(
            "/ingest",
            {
                "collection": collection,
                "id": document.client_id,
                "filename": document.filename,
                "text": document.text,
                **_metadata(document.title, document.tags),
            },
        )
        if len(request.body) > _LONGEST_BODY:
            raise UsageError(f"the document has more than {_LONGEST_BODY:,} bytes", hint="send parts of it")
        return self._request(RemoteDocument, _with_idempotency_key(request), patience)

    def send_url(
        self, url: str, collection: str, patience: Patience, *, title: str = "", tags: tuple[str, ...] = ()
    ) -> RemoteDocument:
        """Send a URL for the server to fetch; sending the same URL again replaces the document.

        Raises:
            DirIndexError: the server is unavailable or rejects the request.
        """
        content = {"url": url, "collection": collection, **_metadata(title, tags)}
        return self._request(RemoteDocument, _with_idempotency_key(_post_request("/ingest_url", content)), patience)

    def _request(self, record: type[_Record], request: Request, patience: Patience) -> _Record:
        response = self._retrying.answered(request, pause=patience.pause)
        if response.status not in _OK:
            raise self._error(response)
        return read_answer(record, response.body, source=self.address.display_url)

    def _error(self, response: Response) -> DirIndexError:
        if response.status in _REDIRECTS:
            return UnavailableError(
                f"{self.address.display_url} sends elsewhere, which is not followed",
                hint="give the address of the server itself to --remote",
            )
        detail = problem_in(response.body).detail[:_MAX_DETAIL_CHARS] or f"it answers {response.status}"
        kind, hint = _ERRORS.get(response.status, (UnavailableError, None))
        return kind(f"the server refuses: {detail}", hint=hint)


def _metadata(title: str, tags: tuple[str, ...]) -> dict[str, Any]:
    """Return the metadata of a document that is sent, and how long the sender waits."""
    return {
        **({"title": title} if title else {}),
        **({"metadata": {"tags": list(tags)}} if tags else {}),
        "wait": "words",
        "wait_seconds": _INGEST_WAIT_SECONDS,
    }


def _with_idempotency_key(request: Request) -> Request:
    return request._replace(headers={**request.headers, "Idempotency-Key": str(uuid.uuid4())})


def _post_request(path: str, content: Mapping[str, Any]) -> Request:
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Request("POST", f"{_API}{path}", body=body, headers=_JSON)


_ERRORS: Final[Mapping[int, tuple[type[DirIndexError], str | None]]] = {
    400: (UsageError, None),
    401: (UsageError, "the token in --token-file is not one of its keys"),
    403: (UsageError, "the key needs the right to write for documents to be sent, and to read for all else"),
    404: (NotIndexedError, None),
    409: (UsageError, None),
    413: (UsageError, None),
    421: (UsageError, "start the server with --allow-host and the name by which it is called"),
    422: (UsageError, None),
}
