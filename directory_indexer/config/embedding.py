"""Embedding providers: the keys of `embedding`, and the providers' defaults."""

from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.config.keys import ENDPOINT, key
from directory_indexer.config.kinds import Location, OneOf, Secret, SecretText, Text, WholeNumber


class ProviderDefaults(NamedTuple):
    """The default model and endpoint of an embedding provider."""

    model: str
    endpoint: str | None


EMBEDDED_MODELS: Final = ("all-MiniLM-L6-v2", "multilingual-e5-small")
"""Models that run without a service; all but the first are separate packages."""

PROVIDERS = {
    "embedded": ProviderDefaults(EMBEDDED_MODELS[0], None),
    "ollama": ProviderDefaults("nomic-embed-text", "http://localhost:11434"),
    "openai": ProviderDefaults("text-embedding-3-small", "https://api.openai.com/v1"),
}


class EmbeddingConfig(NamedTuple):
    """What turns text into vectors."""

    provider: str = key(
        OneOf(*PROVIDERS),
        "embedded (in the process), ollama, or openai (any compatible endpoint)",
        default="embedded",
    )
    model: str = key(
        Text(".+", otherwise="must not be empty"),
        "model of the provider; null: its usual one; multilingual-e5-small comes with directory-indexer-multilingual",
    )
    endpoint: str | None = key(ENDPOINT, "URL of the provider; null: its usual one")
    api_key: SecretText | None = key(Secret(or_null=True), "key of the provider")
    api_key_file: Path | None = key(
        Location(or_null=True), "file that holds the key of the provider, instead of api_key"
    )
    query_prefix: str | None = key(
        Text(or_null=True), 'text put before a query; null: what the model is known to want, "": none'
    )
    document_prefix: str | None = key(
        Text(or_null=True), 'text put before a passage; null: what the model is known to want, "": none'
    )
    dimensions: int | None = key(
        WholeNumber(at_least=1, at_most=65_536, or_null=True), "length of the vectors; null: as the model has it"
    )
    batch_size: int = key(
        WholeNumber(at_least=1, at_most=2048), "how many passages are sent in one request", default=32
    )
    keep_alive: str | None = key(
        Text(".+", otherwise="must not be empty", or_null=True),
        'how long Ollama keeps the model in memory, such as "30m"; null: as Ollama has it',
    )
