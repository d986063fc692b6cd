"""The whole configuration by section, checks across keys, and its construction from values."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from directory_indexer.config.embedding import EMBEDDED_MODELS, EmbeddingConfig
from directory_indexer.config.extractors import mistakes_in
from directory_indexer.config.fetching import FetchingConfig
from directory_indexer.config.indexing import IndexingConfig
from directory_indexer.config.keys import Key, entries_of, section
from directory_indexer.config.kinds import Mistake
from directory_indexer.config.ocr import OcrConfig
from directory_indexer.config.serving import MonitoringConfig, SearchingConfig, ServingConfig
from directory_indexer.config.storage import StorageConfig
from directory_indexer.config.telemetry import TelemetryConfig


class Config(NamedTuple):
    """The whole configuration."""

    storage: StorageConfig = section(StorageConfig)
    embedding: EmbeddingConfig = section(EmbeddingConfig)
    indexing: IndexingConfig = section(IndexingConfig)
    ocr: OcrConfig = section(OcrConfig)
    monitoring: MonitoringConfig = section(MonitoringConfig)
    searching: SearchingConfig = section(SearchingConfig)
    serving: ServingConfig = section(ServingConfig)
    fetching: FetchingConfig = section(FetchingConfig)
    telemetry: TelemetryConfig = section(TelemetryConfig)


def contradictions(values: Mapping[str, object]) -> Iterator[tuple[str, Mistake]]:
    """Yield conflicts between keys; values that are invalid by themselves are None here."""
    chunk_size, overlap = values["indexing.chunk_size"], values["indexing.overlap"]
    if isinstance(chunk_size, int) and isinstance(overlap, int) and overlap >= chunk_size:
        yield "indexing.overlap", Mistake(f"must be smaller than chunk_size ({chunk_size})", overlap)
    model = values["embedding.model"]
    if values["embedding.provider"] == "embedded" and model not in {None, *EMBEDDED_MODELS}:
        offered = " or ".join(f"'{name}'" for name in EMBEDDED_MODELS)
        yield "embedding.model", Mistake(f"must be {offered} with provider 'embedded'", model)
    if values["storage.qdrant.cluster_index"] and not values["storage.qdrant.endpoint"]:
        yield "storage.qdrant.cluster_index", Mistake("needs a server in storage.qdrant.endpoint", None)
    if values["serving.from_cluster"] and not values["storage.qdrant.cluster_index"]:
        yield "serving.from_cluster", Mistake("needs the name in storage.qdrant.cluster_index", None)
    if isinstance(extractors := values["indexing.extractors"], tuple):
        yield from (("indexing.extractors", mistake) for mistake in mistakes_in(extractors))


def built(values: Mapping[str, object]) -> Config:
    """Build the configuration from all of its values."""
    config: Config = _built(Config, values, "")
    return config


def _built(section: type, values: Mapping[str, object], prefix: str) -> Any:
    return section(
        **{
            name: values[prefix + name] if isinstance(entry, Key) else _built(entry, values, f"{prefix}{name}.")
            for name, entry in entries_of(section)
        }
    )
