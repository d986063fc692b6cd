"""Embedding by any server with OpenAI's API: OpenAI, Azure, vLLM, llama.cpp, LM Studio, TEI and others."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import openai

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.remote import (
    CONNECT_SECONDS,
    KEY_HINT,
    Answer,
    FailureKind,
    ServiceError,
    estimated_tokens,
    is_on_this_machine,
    message_of,
    status_error,
)

with lazily:
    from directory_indexer.embedding.tokens import openai_tokens


_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com")
_OWN_HOSTS = ("api.openai.com", *_AZURE_HOSTS)
_AZURE_VERSION = "2024-10-21"
_MOST_MODELS_NAMED = 8
_WORTH_COUNTING = 2000


class OpenAIService:
    """One model of an OpenAI-compatible server; `dimensions` requests shorter vectors than the model's."""

    def __init__(self, *, endpoint: str, model: str, api_key: str | None, dimensions: int | None) -> None:
        self._endpoint = endpoint
        self._model = model
        self._api_key = api_key
        self._dimensions = dimensions
        self._client = _client(endpoint, api_key)

    @property
    def place(self) -> str:
        """The service and its address, for messages."""
        return f"the embedding server at {self._endpoint}"

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a long text for a model of OpenAI's; otherwise an estimate."""
        estimate = estimated_tokens(text)
        # Third-party servers must not cause a download, whatever their models are called.
        if estimate < _WORTH_COUNTING or not (urlsplit(self._endpoint).hostname or "").endswith(_OWN_HOSTS):
            return estimate

        return openai_tokens(text, model=self._model) or estimate

    def embed(self, texts: Sequence[str], *, seconds: float) -> Answer:
        """Request vectors, which the server may return in any order."""
        try:
            answer = self._client.embeddings.create(
                input=list(texts),
                model=self._model,
                dimensions=openai.omit if self._dimensions is None else self._dimensions,
                timeout=openai.Timeout(seconds, connect=CONNECT_SECONDS),
            )
            return _answer(answer)
        except openai.OpenAIError as error:
            failure = self._translated(error, seconds)
        except (AttributeError, TypeError, ValueError):
            # The client does not validate answers, and fails on missing fields.
            message = f"{self.place} answered something that is not what OpenAI's API answers"
            failure = ServiceError(FailureKind.BROKEN, message, hint="check embedding.endpoint")
        # Raised outside the handlers: errors of the client contain the request with its key.
        raise failure

    def context_tokens(self) -> int | None:
        """Return the context length from the list of models, which vLLM and llama.cpp include."""
        facts = next((model for model in self._models() if model.id == self._model), None)
        n_tokens = getattr(facts, "max_model_len", None) or (getattr(facts, "meta", None) or {}).get("n_ctx_train")
        return n_tokens if isinstance(n_tokens, int) else _KNOWN_CONTEXT.get(self._model)

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _models(self) -> list[openai.types.Model]:
        try:
            return list(self._client.with_options(timeout=CONNECT_SECONDS).models.list())
        except (openai.OpenAIError, AttributeError, TypeError, ValueError):
            return []  # many servers have no such list

    def _translated(self, error: openai.OpenAIError, seconds: float) -> ServiceError | ProviderError:
        match error:
            case openai.APIStatusError():
                return self._status_error(error)
            case openai.APITimeoutError() if "Connect" not in type(error.__cause__).__name__:
                return ServiceError(FailureKind.SLOW, f"{self.place} did not answer within {seconds:.0f} s")
            case openai.APIConnectionError() if "Connect" in type(error.__cause__).__name__:
                start = "start it" if is_on_this_machine(self._endpoint) else "check the network"
                hint = f"{start}, or set embedding.endpoint to where it runs"
                message = f"cannot connect to {self.place}: {error.__cause__}"
                return ServiceError(FailureKind.AWAY, message, hint=hint)
            case _:
                return ServiceError(FailureKind.BROKEN, f"{self.place} broke off: {error.__cause__ or error}")

    def _status_error(self, error: openai.APIStatusError) -> ServiceError | ProviderError:
        message = message_of(error.response.text, key=self._api_key)
        if error.status_code == HTTPStatus.NOT_FOUND:
            return ProviderError(
                f"{self.place} knows no model '{self._model}', or that is not its address: {message}",
                hint=self._models_hint(),
            )
        if error.code == "insufficient_quota":
            return ProviderError(f"{self.place} answered: {message}", hint="the account has no credit left")
        return status_error(self.place, error.status_code, message, error.response.headers)

    def _models_hint(self) -> str:
        names = [model.id for model in self._models()][:_MOST_MODELS_NAMED]
        return f"embedding.model could be: {', '.join(names)}" if names else "check embedding.model and .endpoint"


def _answer(answer: openai.types.CreateEmbeddingResponse) -> Answer:
    ordered = sorted(answer.data, key=lambda item: item.index)
    return Answer([item.embedding for item in ordered], getattr(answer.usage, "prompt_tokens", None))


_KNOWN_CONTEXT = dict.fromkeys(
    ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"), 8192
)  # platform.openai.com/docs/guides/embeddings


def _client(endpoint: str, api_key: str | None) -> openai.OpenAI:
    """Return a client for an endpoint; Azure's older endpoints need another header and the version in every URL."""
    url = urlsplit(endpoint)
    versions = parse_qs(url.query).get("api-version")
    is_azure = url.hostname is not None and url.hostname.endswith(_AZURE_HOSTS)
    base = url._replace(query="").geturl().rstrip("/")
    if not versions and (not is_azure or url.path.rstrip("/").endswith("/v1")):
        # Without a key the client would send OpenAI's key from the environment to another server.
        return openai.OpenAI(base_url=base, api_key=api_key or "none", max_retries=0)
    if not api_key:
        raise ProviderError(f"{endpoint} is an address of Azure, which wants a key", hint=KEY_HINT)
    return openai.AzureOpenAI(
        base_url=base if "/openai" in url.path else f"{base}/openai",
        api_key=api_key,
        api_version=versions[0] if versions else _AZURE_VERSION,
        max_retries=0,
    )
