"""Embedding by an Ollama server, with its own API."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from http import HTTPStatus

import httpx
import ollama

from directory_indexer.core.errors import ProviderError
from directory_indexer.embedding.remote import (
    CONNECT_SECONDS,
    EmbeddingAnswer,
    error_message_in,
    estimated_tokens,
    is_local_endpoint,
    status_error,
)
from directory_indexer.http_client import FailureKind, RequestError


class OllamaService:
    """One model of an Ollama server; `dimensions` requests shorter vectors than the model's.

    The client of the package has one timeout for all requests and drops the headers of errors, so hooks of its HTTP
    client handle both.
    """

    def __init__(
        self, *, endpoint: str, model: str, api_key: str | None, dimensions: int | None, keep_alive: str | None
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._dimensions = dimensions
        self._keep_alive = keep_alive
        self._now = threading.local()
        self._api_key = api_key
        self._client = ollama.Client(
            endpoint,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else None,
            timeout=CONNECT_SECONDS,
            limits=httpx.Limits(),  # indexing.concurrency is the only limit
            event_hooks={"request": [self._set_timeout], "response": [self._require_success]},
        )

    @property
    def place(self) -> str:
        """The service and its address, for messages."""
        return f"Ollama at {self._endpoint}"

    def count_tokens(self, text: str) -> int:
        """Return an estimated number of tokens: the server does not expose its tokenizer."""
        return estimated_tokens(text)

    def embed(self, texts: Sequence[str], *, seconds: float) -> EmbeddingAnswer:
        """Request vectors; a text that exceeds the model's context is an error, not silently truncated."""
        self._now.seconds = seconds
        try:
            answer = self._client.embed(
                self._model, texts, truncate=False, keep_alive=self._keep_alive, dimensions=self._dimensions
            )
        except (ConnectionError, httpx.HTTPError, ValueError) as error:
            raise self._translate_error(error) from error
        return EmbeddingAnswer(answer.embeddings, answer.prompt_eval_count)

    def context_tokens(self) -> int | None:
        """Request the context length of the model."""
        self._now.seconds = CONNECT_SECONDS
        try:
            facts = self._client.show(self._model).modelinfo or {}
        except (ConnectionError, httpx.HTTPError, ValueError) as error:
            raise self._translate_error(error) from error
        n_tokens = facts.get(f"{facts.get('general.architecture')}.context_length")
        return n_tokens if isinstance(n_tokens, int) else None

    def close(self) -> None:
        """Close connections."""
        self._client.close()  # type: ignore[no-untyped-call]  # unannotated in the package

    def _set_timeout(self, request: httpx.Request) -> None:
        request.extensions["timeout"]["read"] = self._now.seconds

    def _require_success(self, response: httpx.Response) -> None:
        if not response.is_error:
            return
        response.read()
        message = error_message_in(response.text, key=self._api_key)
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise self._not_found_error(message)
        raise status_error(self.place, response.status_code, message, response.headers)

    def _not_found_error(self, message: str) -> ProviderError:
        if "model" in message:
            return ProviderError(f"{self.place} has no model '{self._model}'", hint=f"ollama pull {self._model}")
        return ProviderError(
            f"{self.place} knows no /api/embed: {message}",
            hint="check embedding.endpoint, which has no path; Ollama has it since version 0.3",
        )

    def _translate_error(self, error: Exception) -> RequestError:
        match error:
            case ConnectionError() | httpx.ConnectTimeout():
                start = "start it: ollama serve" if is_local_endpoint(self._endpoint) else "is it running there"
                hint = f"{start}, or set embedding.endpoint to where it runs"
                return RequestError(FailureKind.UNREACHABLE, f"cannot connect to {self.place}", hint=hint)
            case httpx.TimeoutException():
                return RequestError(FailureKind.SLOW, f"{self.place} did not answer within {self._now.seconds:.0f} s")
            case httpx.HTTPError():
                return RequestError(FailureKind.BROKEN, f"{self.place} broke off: {error}")
            case _:
                return RequestError(FailureKind.BROKEN, f"{self.place} sent a response that is not Ollama's")
