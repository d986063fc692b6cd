"""What a service that embeds over HTTP is asked, and the ways in which it fails that are worth telling apart.

None of this leaves the embedders: `RemoteEmbedder` answers every failure with patience, with smaller requests, or with
a `ProviderError` that says what to do.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from directory_indexer.errors import ProviderError

CONNECT_SECONDS = 5.0
"""A server that is there takes a connection at once."""

KEY_HINT = "set embedding.api_key_file, or DIRINDEX_EMBEDDING__API_KEY in the environment"


class Trouble(StrEnum):
    """Kinds of failure, by what helps."""

    AWAY = "away"  # nobody takes the connection: it may be starting
    THROTTLED = "throttled"  # it asks for less, or for later
    BROKEN = "broken"  # it failed, or its answer did not arrive whole
    SLOW = "slow"  # it did not answer in time
    REFUSED = "refused"  # it does not want this request, or answers it with nonsense


class ServiceError(Exception):
    """One request failed."""

    def __init__(
        self, trouble: Trouble, message: str, *, hint: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.message = message
        self.hint = hint
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Answer:
    """One vector for each text as the service sent them, unchecked, and the tokens that it counted."""

    rows: Sequence[Sequence[float]]
    n_tokens: int | None


class EmbeddingService(Protocol):
    """One model of one server; threads may share it.

    Raises:
        ServiceError: a request failed and another one may succeed.
        ProviderError: no request will succeed before somebody changes something.
    """

    @property
    def place(self) -> str:
        """Name the service and its address, for messages."""

    def count_tokens(self, text: str) -> int:
        """Tell how many tokens a text is, or more."""

    def embed(self, texts: Sequence[str], *, seconds: float) -> Answer:
        """Ask for vectors, waiting so long for the answer."""

    def context_tokens(self) -> int | None:
        """Ask how many tokens of a text the model reads; None when the server does not tell."""

    def close(self) -> None:
        """Close connections."""


def status_error(place: str, status: int, message: str, headers: Mapping[str, str]) -> ServiceError | ProviderError:
    """Tell what an HTTP status other than success means."""
    said = f"{place} answered {status}: {message}" if message else f"{place} answered {status}"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return ProviderError(said, hint=f"check the key: {KEY_HINT}")
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        return ServiceError(
            Trouble.THROTTLED,
            said,
            hint="run dirindex index again later, or lower indexing.concurrency; what is embedded is kept",
            retry_after=_seconds_to_wait(headers),
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return ServiceError(Trouble.BROKEN, said)
    return ServiceError(Trouble.REFUSED, said)


def _seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After`, in seconds or as a date."""
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(float(value), 0.0)
    with contextlib.suppress(ValueError):
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    return None


def estimated_tokens(text: str) -> int:
    """Return about twice as many tokens as prose has: no text has more than one for two bytes, or nearly none."""
    return len(text.encode("utf-8", "replace")) // 2 + 1


def message_of(body: str, *, key: str | None) -> str:
    """Find what an error says in the usual places: `{"error": "…"}`, `{"error": {"message": "…"}}`, or as it is.

    The key is taken out: some services repeat it.
    """
    found: object = body
    with contextlib.suppress(ValueError):
        found = json.loads(body)
    for name in ("error", "detail", "message"):
        if isinstance(found, dict):
            found = found.get(name, found)
    message = " ".join(str(found).split())
    return (message.replace(key, "***") if key else message)[:_LONGEST_MESSAGE]


def is_on_this_machine(endpoint: str) -> bool:
    """Return whether a service is one that the user can start here."""
    return urlsplit(endpoint).hostname in {"localhost", "127.0.0.1", "::1"}


_LONGEST_MESSAGE = 300
