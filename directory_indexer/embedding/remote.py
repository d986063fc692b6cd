"""Embedding by a network service, with retries, for runs that take hours.

A vector is only accepted if it belongs to the model's space, and one bad text costs only itself. A failed request is
retried where that helps, and otherwise halved until the offending text is alone; a text that is too long for the model
is truncated. Before that, a harmless text shows whether the service works at all.

Failures of a service never leave this package: `RemoteEmbedder` answers them with retries, smaller requests, or a
`ProviderError` with a hint.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np

from directory_indexer.core.errors import ProviderError, TextsRefusedError
from directory_indexer.core.fingerprint import EmbeddingSpace, EmbeddingUsage
from directory_indexer.core.lazy import lazily
from directory_indexer.http_client import FailureKind, RequestError, backoff_seconds, retry_after_seconds
from directory_indexer.telemetry import spans

with lazily:
    from numpy.typing import NDArray

CONNECT_SECONDS = 5.0
"""A reachable server accepts connections at once."""

API_KEY_HINT = "set embedding.api_key_file, or DIRINDEX_EMBEDDING__API_KEY in the environment"


_MAX_MESSAGE_CHARS = 300


_MAX_RUN_ATTEMPTS = {FailureKind.THROTTLED: 7, FailureKind.UNREACHABLE: 5, FailureKind.BROKEN: 4}
"""Attempts for a request of a run, others fail at once: the waits of seven add up to a minute, a usual rate limit."""

_MAX_PART_ATTEMPTS = {FailureKind.THROTTLED: 7, FailureKind.UNREACHABLE: 5, FailureKind.BROKEN: 2}
"""Attempts for parts of a failed request if the service works."""

_MAX_QUERY_ATTEMPTS = {FailureKind.BROKEN: 2}
"""Attempts when a person waits; a second one only for an idle connection that was closed."""

_MAX_PROBE_ATTEMPTS = {FailureKind.THROTTLED: 7, FailureKind.BROKEN: 3}
"""Attempts for the harmless text: an unreachable service is reported at once, a busy one is waited for."""

_FATAL_FAILURES = frozenset({FailureKind.THROTTLED, FailureKind.UNREACHABLE})
_FIRST_WAIT_SECONDS = 1.0
_MAX_WAIT_SECONDS = 120.0
_BASE_SECONDS = 20.0
_SECONDS_PER_CHAR = 0.01
"""Some 25 tokens a second: the speed of a large model on a processor."""

_MAX_REQUEST_TOKENS = 300_000
"""OpenAI's limit for a request; other services have other limits, and then get half of it."""

_PROBE_TEXT = "Is anybody there?"
_LENGTH_ERROR = re.compile(r"context|token|too (?:long|large|big)|length|maximum|exceed|\b413\b", re.IGNORECASE)
_MIN_TRUNCATED_CHARS = 64


@dataclass(frozen=True, slots=True)
class EmbeddingAnswer:
    """One vector for each text as the service sent them, unchecked, and the number of tokens it counted."""

    rows: Sequence[Sequence[float]]
    n_tokens: int | None


class EmbeddingService(Protocol):
    """One model of one server; thread-safe.

    Raises:
        RequestError: a request failed and another one may succeed.
        ProviderError: no request will succeed before the configuration or account is changed.
    """

    @property
    def place(self) -> str:
        """The service and its address, for messages."""

    def count_tokens(self, text: str) -> int:
        """Return an upper bound of the number of tokens of a text."""

    def embed(self, texts: Sequence[str], *, seconds: float) -> EmbeddingAnswer:
        """Request vectors with a timeout."""

    def context_tokens(self) -> int | None:
        """Request the context length of the model; None if the server does not report it."""

    def close(self) -> None:
        """Close connections."""


def status_error(place: str, status: int, message: str, headers: Mapping[str, str]) -> RequestError | ProviderError:
    """Return the error of an unsuccessful HTTP status."""
    text = f"{place} answered {status}: {message}" if message else f"{place} answered {status}"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return ProviderError(text, hint=f"check the key: {API_KEY_HINT}")
    if status < HTTPStatus.BAD_REQUEST:
        return ProviderError(text, hint="a redirection is not followed; check embedding.endpoint")
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        return RequestError(
            FailureKind.THROTTLED,
            text,
            hint="run dirindex index again later, or lower indexing.concurrency; what is embedded is kept",
            retry_after=retry_after_seconds(headers),
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return RequestError(FailureKind.BROKEN, text)
    return RequestError(FailureKind.REFUSED, text)


def estimated_tokens(text: str) -> int:
    """Return an estimate of about twice as many tokens as prose has: almost no text has more than one for two bytes."""
    return len(text.encode("utf-8", "replace")) // 2 + 1


def error_message_in(body: str, *, key: str | None) -> str:
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
    return (message.replace(key, "***") if key else message)[:_MAX_MESSAGE_CHARS]


def is_local_endpoint(endpoint: str) -> bool:
    """Whether a service is on this machine, where the user can start it."""
    return urlsplit(endpoint).hostname in {"localhost", "127.0.0.1", "::1"}


class RemoteEmbedder:
    """Embeds with a model of a service; the dimensions of its vectors are determined by the first call that needs them.

    `space` is what is known before: 0 dimensions if only the service knows.
    """

    def __init__(
        self,
        service: EmbeddingService,
        space: EmbeddingSpace,
        *,
        batch_size: int,
        concurrency: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.batch_size = batch_size
        self.concurrency = concurrency
        self._service = service
        self._known_space = space
        self._dimensions = space.dimensions
        self._sleep = sleep
        self._lock = threading.Lock()
        self._usage = EmbeddingUsage()

    @property
    def space(self) -> EmbeddingSpace:
        """The space of all vectors of this embedder."""
        if not self._dimensions:
            self.check()
        return self._known_space._replace(dimensions=self._dimensions)

    @cached_property
    def max_tokens(self) -> int | None:
        """Maximum tokens of one text that the model reads, as the service reports."""
        try:
            return self._service.context_tokens()
        except RequestError as error:
            raise ProviderError(error.message, hint=error.hint) from error

    @property
    def usage(self) -> EmbeddingUsage:
        """Tokens sent so far."""
        return self._usage

    def check(self) -> None:
        """Embed a harmless text."""
        try:
            self._request_vectors([self._known_space.document_prefix + _PROBE_TEXT], _MAX_PROBE_ATTEMPTS)
        except RequestError as error:
            raise ProviderError(error.message, hint=error.hint) from error

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts to be indexed.

        Raises:
            TextsRefusedError: some texts cannot be embedded; it carries the vectors of the others.
        """
        vectors = np.zeros((len(texts), self.space.dimensions), np.float32)
        refused: dict[int, str] = {}
        prepared = [_encodable_text(self._known_space.document_prefix, text) for text in texts]
        for start, end in _split_into_requests(prepared, self.batch_size, self._service.count_tokens):
            for index, outcome in enumerate(self._vectors_or_reasons(prepared[start:end]), start):
                if isinstance(outcome, str):
                    refused[index] = outcome
                else:
                    vectors[index] = outcome
        if refused:
            raise TextsRefusedError(refused, vectors)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        try:
            vector: NDArray[np.float32] = self._request_vectors(
                [_encodable_text(self._known_space.query_prefix, text)], _MAX_QUERY_ATTEMPTS
            )[0]
        except RequestError as error:
            raise ProviderError(error.message, hint=error.hint) from error
        return vector

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def _vectors_or_reasons(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32] | str]:
        """Return a vector for each text, or the reason why it has none."""
        try:
            return list(self._request_vectors(texts, _MAX_RUN_ATTEMPTS))
        except RequestError as error:
            self.check()
            return self._embed_by_halves(texts, error)

    def _embed_by_halves(self, texts: Sequence[str], error: RequestError) -> Sequence[NDArray[np.float32] | str]:
        if len(texts) == 1:
            return [self._embed_truncated(texts[0], error)]
        outcomes: list[NDArray[np.float32] | str] = []
        middle = len(texts) // 2
        for half in (texts[:middle], texts[middle:]):
            try:
                outcomes += list(self._request_vectors(half, _MAX_PART_ATTEMPTS))
            except RequestError as halved:
                outcomes += self._embed_by_halves(half, halved)
        return outcomes

    def _embed_truncated(self, text: str, error: RequestError) -> NDArray[np.float32] | str:
        """Embed as much of a text as fits into the model's context, if its length is the cause of the error."""
        while _LENGTH_ERROR.search(error.message) and len(text) > _MIN_TRUNCATED_CHARS:
            text = text[: len(text) * 3 // 4]
            try:
                vector: NDArray[np.float32] = self._request_vectors([text], _MAX_PART_ATTEMPTS)[0]
            except RequestError as still:
                error = still
            else:
                with self._lock:
                    self._usage = self._usage._replace(n_truncated=self._usage.n_truncated + 1)
                return vector
        return error.message

    def _request_vectors(self, texts: Sequence[str], max_attempts: Mapping[FailureKind, int]) -> NDArray[np.float32]:
        """Make one request with retries.

        Raises:
            RequestError: the service rejects this request.
            ProviderError: the service accepts no requests.
        """
        n_attempts = 0
        while True:
            n_attempts += 1
            try:
                with spans.span("ask embedder", n_texts=len(texts)):
                    return self._validate_and_normalise(
                        self._service.embed(texts, seconds=_timeout_seconds(texts)), len(texts)
                    )
            except RequestError as error:
                wait = (
                    error.retry_after
                    if error.retry_after is not None
                    else backoff_seconds(n_attempts, first=_FIRST_WAIT_SECONDS)
                )
                if n_attempts >= max_attempts.get(error.kind, 1) or wait > _MAX_WAIT_SECONDS:
                    raise _provider_error_if_fatal(error) from error
                with spans.span("wait for embedder", trouble=error.kind, n_tries=n_attempts):
                    self._sleep(wait)

    def _validate_and_normalise(self, answer: EmbeddingAnswer, n_texts: int) -> NDArray[np.float32]:
        """Validate an answer and normalise its vectors."""
        vectors = self._matrix_of_answer(answer, n_texts)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._invalid_answer_error("vectors with values that are no numbers, or nothing but zeros")
        with self._lock:
            self._dimensions = vectors.shape[1]
            self._usage = self._usage._replace(n_tokens=self._usage.n_tokens + (answer.n_tokens or 0))
        unit_vectors: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return unit_vectors

    def _matrix_of_answer(self, answer: EmbeddingAnswer, n_texts: int) -> NDArray[np.float64]:
        if len(answer.rows) != n_texts:
            raise self._invalid_answer_error(f"{len(answer.rows)} vectors for {n_texts} texts")
        widths = sorted({len(row) for row in answer.rows})
        if widths != [self._dimensions or widths[0]] or not widths[0]:
            expected = self._dimensions or "one number of"
            raise self._invalid_answer_error(
                f"vectors of {' and '.join(map(str, widths))} dimensions instead of {expected}"
            )
        try:
            return np.array(answer.rows, np.float64)
        except (TypeError, ValueError) as error:
            raise self._invalid_answer_error("vectors that hold something else than numbers") from error

    def _invalid_answer_error(self, what: str) -> RequestError:
        hint = "check embedding.model and embedding.dimensions; the server's log may say more"
        return RequestError(FailureKind.REFUSED, f"{self._service.place} answered {what}", hint=hint)


def _provider_error_if_fatal(error: RequestError) -> RequestError | ProviderError:
    """Return a ProviderError for an error that would affect every request, else the error itself."""
    if error.kind not in _FATAL_FAILURES:
        return error
    suffix = f"; it asks to wait {error.retry_after:.0f} s" if error.retry_after else ""
    return ProviderError(error.message + suffix, hint=error.hint)


def _split_into_requests(
    texts: Sequence[str], most_texts: int, count_tokens: Callable[[str], int]
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of requests of limited number and size of texts."""
    start, n_tokens = 0, 0
    for index, n_more in enumerate(map(count_tokens, texts)):
        if index > start and (index - start == most_texts or n_tokens + n_more > _MAX_REQUEST_TOKENS):
            yield start, index
            start, n_tokens = index, 0
        n_tokens += n_more
    if start < len(texts):
        yield start, len(texts)


def _encodable_text(prefix: str, text: str) -> str:
    """Replace lone surrogates and blank texts by question marks: JSON and OpenAI reject these."""
    return prefix + (text.encode("utf-8", "replace").decode("utf-8") if text.strip() else "?")


def _timeout_seconds(texts: Sequence[str]) -> float:
    return _BASE_SECONDS + _SECONDS_PER_CHAR * sum(map(len, texts))
