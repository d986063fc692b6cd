"""Interface of embedding services over HTTP, and the kinds of their failures.

Neither leaves this package: `RemoteEmbedder` answers failures with retries, smaller requests, or a `ProviderError` with
a hint.
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
"""A reachable server accepts connections at once."""

KEY_HINT = "set embedding.api_key_file, or DIRINDEX_EMBEDDING__API_KEY in the environment"


class Trouble(StrEnum):
    """Kinds of failure, by remedy."""

    AWAY = "away"  # the connection is not accepted; the server may be starting
    THROTTLED = "throttled"  # rate limit or quota
    BROKEN = "broken"  # server error or incomplete answer
    SLOW = "slow"  # timeout
    REFUSED = "refused"  # rejected request or invalid answer


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
    """One vector for each text as the service sent them, unchecked, and the number of tokens it counted."""

    rows: Sequence[Sequence[float]]
    n_tokens: int | None


class EmbeddingService(Protocol):
    """One model of one server; thread-safe.

    Raises:
        ServiceError: a request failed and another one may succeed.
        ProviderError: no request will succeed before the configuration or account is changed.
    """

    @property
    def place(self) -> str:
        """The service and its address, for messages."""

    def count_tokens(self, text: str) -> int:
        """Return an upper bound of the number of tokens of a text."""

    def embed(self, texts: Sequence[str], *, seconds: float) -> Answer:
        """Request vectors with a timeout."""

    def context_tokens(self) -> int | None:
        """Request the context length of the model; None if the server does not report it."""

    def close(self) -> None:
        """Close connections."""


def status_error(place: str, status: int, message: str, headers: Mapping[str, str]) -> ServiceError | ProviderError:
    """Return the error of an unsuccessful HTTP status."""
    text = f"{place} answered {status}: {message}" if message else f"{place} answered {status}"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return ProviderError(text, hint=f"check the key: {KEY_HINT}")
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        return ServiceError(
            Trouble.THROTTLED,
            text,
            hint="run dirindex index again later, or lower indexing.concurrency; what is embedded is kept",
            retry_after=_seconds_to_wait(headers),
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return ServiceError(Trouble.BROKEN, text)
    return ServiceError(Trouble.REFUSED, text)


def _seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Parse `Retry-After`, in seconds or as a date."""
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(float(value), 0.0)
    with contextlib.suppress(ValueError):
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    return None


def estimated_tokens(text: str) -> int:
    """Return an estimate of about twice as many tokens as prose has: almost no text has more than one for two bytes."""
    return len(text.encode("utf-8", "replace")) // 2 + 1


def message_of(body: str, *, key: str | None) -> str:
    """Return the message of an error from `{"error": "…"}`, `{"error": {"message": "…"}}` and the like, or the body.

    The key is removed, since some services repeat it.
    """
    content: object = body
    with contextlib.suppress(ValueError):
        content = json.loads(body)
    for name in ("error", "detail", "message"):
        if isinstance(content, dict):
            content = content.get(name, content)
    message = " ".join(str(content).split())
    return (message.replace(key, "***") if key else message)[:_LONGEST_MESSAGE]


def is_on_this_machine(endpoint: str) -> bool:
    """Whether a service is on this machine, where the user can start it."""
    return urlsplit(endpoint).hostname in {"localhost", "127.0.0.1", "::1"}


_LONGEST_MESSAGE = 300
