"""Embedding by any server with OpenAI's API: OpenAI, Azure, vLLM, llama.cpp, LM Studio, TEI and others."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import httpx

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.remote import (
    API_KEY_HINT,
    CONNECT_SECONDS,
    EmbeddingAnswer,
    error_message_in,
    estimated_tokens,
    is_local_endpoint,
    status_error,
)
from directory_indexer.http_client import FailureKind, RequestError, items_in, object_in, parse_object, text_in
from directory_indexer.http_client.client import Client, Request, Response

with lazily:
    from directory_indexer.embedding.tokens import count_openai_tokens


_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com")
_HOSTS_WITH_KNOWN_LIMITS = ("api.openai.com", *_AZURE_HOSTS)
_AZURE_VERSION = "2024-10-21"
_MAX_LISTED_MODELS = 8
_MIN_COUNTED_TOKENS = 2000
_BYTES_PER_VECTOR: Final = 400_000
"""Of 16,384 dimensions, printed with 24 characters each; the largest models have 4,096."""

_BYTES_WITHOUT_VECTORS: Final = 4_000_000
"""Of an answer without vectors: a list of models has thousands."""


class OpenAIService:
    """One model of an OpenAI-compatible server; `dimensions` requests shorter vectors than the model's."""

    def __init__(self, *, endpoint: str, model: str, api_key: str | None, dimensions: int | None) -> None:
        self._endpoint = endpoint
        self._model = model
        self._api_key = api_key
        self._dimensions = dimensions
        self._urls = _EndpointUrls(endpoint, model, has_key=bool(api_key))
        self._headers = {"accept": "application/json", "content-type": "application/json", "user-agent": "dirindex"}
        if api_key:
            name, value = ("api-key", api_key) if self._urls.is_azure else ("authorization", f"Bearer {api_key}")
            self._headers[name] = value
        self._client = Client(
            max_bytes=_BYTES_WITHOUT_VECTORS, proxied=self._urls.embeddings, timeouts={"connect": CONNECT_SECONDS}
        )

    @property
    def place(self) -> str:
        """The service and its address, for messages."""
        return f"the embedding server at {self._endpoint}"

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a long text for a model of OpenAI's; otherwise an estimate."""
        estimate = estimated_tokens(text)
        # Third-party servers must not cause a download, whatever their models are called.
        if estimate < _MIN_COUNTED_TOKENS or not (urlsplit(self._endpoint).hostname or "").endswith(
            _HOSTS_WITH_KNOWN_LIMITS
        ):
            return estimate

        return count_openai_tokens(text, model=self._model) or estimate

    def embed(self, texts: Sequence[str], *, seconds: float) -> EmbeddingAnswer:
        """Request vectors, which the server may return in any order."""
        content: dict[str, Any] = {"input": list(texts), "model": self._model, "encoding_format": "float"}
        if self._dimensions is not None:
            content["dimensions"] = self._dimensions
        max_bytes = _BYTES_WITHOUT_VECTORS + _BYTES_PER_VECTOR * len(texts)
        request = Request("POST", self._urls.embeddings, self._headers, json.dumps(content).encode())
        response = self._send(request, seconds=seconds, max_bytes=max_bytes)
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            raise self._status_error(response)
        answer = parse_object(response.content) or {}
        items = items_in(answer, "data")
        if not items or not all(isinstance(item.get("embedding"), list) for item in items):
            message = f"{self.place} answered something that is not what OpenAI's API answers"
            raise RequestError(FailureKind.BROKEN, message, hint="check embedding.endpoint")
        if all(isinstance(item.get("index"), int) for item in items):
            items.sort(key=lambda item: item["index"])
        n_tokens = object_in(answer, "usage").get("prompt_tokens")
        return EmbeddingAnswer([item["embedding"] for item in items], n_tokens if isinstance(n_tokens, int) else None)

    def context_tokens(self) -> int | None:
        """Return the context length from the list of models, which vLLM and llama.cpp include."""
        facts = next((model for model in self._list_models() if model.get("id") == self._model), {})
        n_tokens = facts.get("max_model_len") or object_in(facts, "meta").get("n_ctx_train")
        return n_tokens if isinstance(n_tokens, int) else _CONTEXT_TOKENS_BY_MODEL.get(self._model)

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _list_models(self) -> list[dict[str, Any]]:
        try:
            response = self._send(Request("GET", self._urls.models, self._headers), seconds=CONNECT_SECONDS)
        except RequestError:
            return []  # many servers have no such list
        return items_in(parse_object(response.content), "data") if response.status == HTTPStatus.OK else []

    def _send(self, request: Request, *, seconds: float, max_bytes: int = _BYTES_WITHOUT_VECTORS) -> Response:
        try:
            return self._client.send(request, until=time.monotonic() + seconds, max_bytes=max_bytes)
        except RequestError as error:
            failure = self._describe_error(error)
        # Raised outside the handler: errors of libraries may contain the request with its key.
        raise failure

    def _describe_error(self, error: RequestError) -> RequestError | ProviderError:
        if error.kind is FailureKind.REFUSED:
            return ProviderError(f"{self.place} {error.message}", hint=f"check the key: {API_KEY_HINT}")
        if error.kind is not FailureKind.UNREACHABLE:
            return RequestError(error.kind, f"{self.place} {error.message}")
        start = "start it" if is_local_endpoint(self._endpoint) else "check the network"
        hint = f"{start}, or set embedding.endpoint to where it runs"
        return RequestError(error.kind, f"cannot connect to {self.place}: {error.__cause__}", hint=hint)

    def _status_error(self, response: Response) -> RequestError | ProviderError:
        message = error_message_in(response.content.decode("utf-8", "replace"), key=self._api_key)
        if response.status == HTTPStatus.NOT_FOUND:
            return ProviderError(
                f"{self.place} knows no model '{self._model}', or that is not its address: {message}",
                hint=self._models_hint(),
            )
        if text_in(object_in(parse_object(response.content), "error"), "code") == "insufficient_quota":
            return ProviderError(f"{self.place} answered: {message}", hint="the account has no credit left")
        return status_error(self.place, response.status, message, response.headers)

    def _models_hint(self) -> str:
        names = [name for model in self._list_models() if (name := text_in(model, "id"))][:_MAX_LISTED_MODELS]
        return f"embedding.model could be: {', '.join(names)}" if names else "check embedding.model and .endpoint"


_CONTEXT_TOKENS_BY_MODEL = dict.fromkeys(
    ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"), 8192
)  # platform.openai.com/docs/guides/embeddings


class _EndpointUrls:
    """The URLs of an endpoint; Azure's older endpoints name the model in the path, and the version in every URL."""

    def __init__(self, endpoint: str, model: str, *, has_key: bool) -> None:
        url = urlsplit(endpoint)
        versions = parse_qs(url.query).get("api-version")
        is_azure_host = url.hostname is not None and url.hostname.endswith(_AZURE_HOSTS)
        base = url._replace(query="").geturl().rstrip("/")
        self.is_azure = bool(versions) or (is_azure_host and not url.path.rstrip("/").endswith("/v1"))
        if not self.is_azure:
            self.embeddings, self.models = httpx.URL(f"{base}/embeddings"), httpx.URL(f"{base}/models")
            return
        if not has_key:
            raise ProviderError(f"{endpoint} is an address of Azure, which needs a key", hint=API_KEY_HINT)
        base = base if "/openai" in url.path else f"{base}/openai"
        query = f"api-version={quote(versions[0] if versions else _AZURE_VERSION)}"
        deployment = "" if "/deployments" in url.path else f"/deployments/{quote(model, safe='')}"
        self.embeddings = httpx.URL(f"{base}{deployment}/embeddings?{query}")
        self.models = httpx.URL(f"{base}/models?{query}")
