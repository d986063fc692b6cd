"""A client of the API of another machine: each verb is one request, sent again while the server is away."""

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
_WAIT_SECONDS: Final = 20
_MOST_SHOWN: Final = 300
_OK: Final = range(200, 300)
_ELSEWHERE: Final = range(300, 400)
_Record = TypeVar("_Record")


class OutgoingDocument(NamedTuple):
    """A document to be sent: its text, and what it is called."""

    client_id: str
    filename: str
    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


class RemoteIndex:
    """The index of a server; threads may share it."""

    def __init__(self, exchange: Exchange, *, backoff: Backoff = Backoff()) -> None:  # noqa: B008 - it is a value
        self.address = exchange.address
        self._retrying = Retrying(exchange.send, backoff=backoff)

    def search(self, asked: Mapping[str, Any], patience: Patience) -> RemoteHits:
        """Find passages; `asked` are arguments of the API.

        Raises:
            DirIndexError: the server is away, or refuses.
        """
        return self._asked(RemoteHits, _posted("/search", asked), patience)

    def collections(self, patience: Patience) -> RemoteCollections:
        """List the collections that the token is for.

        Raises:
            DirIndexError: the server is away, or refuses.
        """
        return self._asked(RemoteCollections, Request("GET", f"{_API}/collections"), patience)

    def document(self, doc_id: str, collection: str, lines: str, patience: Patience) -> RemoteText:
        """Give the text of a document, or some lines of it.

        Raises:
            DirIndexError: the server is away, or refuses.
        """
        query = urlencode({"collection": collection, **({"lines": lines} if lines else {})})
        return self._asked(RemoteText, Request("GET", f"{_API}/documents/{quote(doc_id, safe='')}", query), patience)

    def send(self, document: OutgoingDocument, collection: str, patience: Patience) -> RemoteDocument:
        """Send a document; one that is there by the same id is replaced.

        The key is drawn for each call: a request that is sent again is done once, another call is another one.

        Raises:
            DirIndexError: the server is away, or refuses; or the document is too large.
        """
        if len(document.text) > LONGEST_TEXT:
            raise UsageError(f"the document has more than {LONGEST_TEXT:,} characters", hint="send parts of it")
        request = _posted(
            "/ingest",
            {
                "collection": collection,
                "id": document.client_id,
                "filename": document.filename,
                "text": document.text,
                **_described(document.title, document.tags),
            },
        )
        if len(request.body) > _LONGEST_BODY:
            raise UsageError(f"the document has more than {_LONGEST_BODY:,} bytes", hint="send parts of it")
        return self._asked(RemoteDocument, _done_once(request), patience)

    def send_url(
        self, url: str, collection: str, patience: Patience, *, title: str = "", tags: tuple[str, ...] = ()
    ) -> RemoteDocument:
        """Send an address for the server to fetch; the same address again replaces the document.

        Raises:
            DirIndexError: the server is away, or refuses.
        """
        content = {"url": url, "collection": collection, **_described(title, tags)}
        return self._asked(RemoteDocument, _done_once(_posted("/ingest_url", content)), patience)

    def _asked(self, record: type[_Record], request: Request, patience: Patience) -> _Record:
        response = self._retrying.answered(request, pause=patience.pause)
        if response.status not in _OK:
            raise self._refusal(response)
        return read_answer(record, response.body, source=self.address.shown)

    def _refusal(self, response: Response) -> DirIndexError:
        if response.status in _ELSEWHERE:
            return UnavailableError(
                f"{self.address.shown} sends elsewhere, which is not followed",
                hint="give the address of the server itself to --remote",
            )
        said = problem_in(response.body).detail[:_MOST_SHOWN] or f"it answers {response.status}"
        kind, hint = _REFUSALS.get(response.status, (UnavailableError, None))
        return kind(f"the server refuses: {said}", hint=hint)


def _described(title: str, tags: tuple[str, ...]) -> dict[str, Any]:
    """Return what is said of a document that is sent, and how long its sender waits."""
    return {
        **({"title": title} if title else {}),
        **({"metadata": {"tags": list(tags)}} if tags else {}),
        "wait": "words",
        "wait_seconds": _WAIT_SECONDS,
    }


def _done_once(request: Request) -> Request:
    return request._replace(headers={**request.headers, "Idempotency-Key": str(uuid.uuid4())})


def _posted(path: str, content: Mapping[str, Any]) -> Request:
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Request("POST", f"{_API}{path}", body=body, headers=_JSON)


_REFUSALS: Final[Mapping[int, tuple[type[DirIndexError], str | None]]] = {
    400: (UsageError, None),
    401: (UsageError, "the token in --token-file is not one of its keys"),
    403: (UsageError, "the key needs the right to write for documents to be sent, and to read for all else"),
    404: (NotIndexedError, None),
    409: (UsageError, None),
    413: (UsageError, None),
    421: (UsageError, "start the server with --allow-host and the name by which it is called"),
    422: (UsageError, None),
}
