"""The whole configuration by section, with checks across keys, and the example file that describes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from directory_indexer.config.indexing import (
    EMBEDDED_MODELS,
    EmbeddingConfig,
    IndexingConfig,
    OcrConfig,
    extractor_issues,
)
from directory_indexer.config.services import (
    FetchingConfig,
    MonitoringConfig,
    SearchingConfig,
    ServingConfig,
    StorageConfig,
    TelemetryConfig,
)
from directory_indexer.config.value_types import Key, ValidationIssue, entries_of, section
from directory_indexer.core.errors import UsageError

_INTRODUCTION = """\
// The configuration of dirindex. Every key is listed with its default: remove the // to change one.
// A variable such as DIRINDEX_EMBEDDING__MODEL overrides this file. Paths may start with ~/.
"""


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


def conflicts(values: Mapping[str, object]) -> Iterator[tuple[str, ValidationIssue]]:
    """Yield conflicts between keys; values that are invalid by themselves are None here."""
    chunk_size, overlap = values["indexing.chunk_size"], values["indexing.overlap"]
    if isinstance(chunk_size, int) and isinstance(overlap, int) and overlap >= chunk_size:
        yield "indexing.overlap", ValidationIssue(f"must be smaller than chunk_size ({chunk_size})", overlap)
    model = values["embedding.model"]
    if values["embedding.provider"] == "embedded" and model not in {None, *EMBEDDED_MODELS}:
        offered = " or ".join(f"'{name}'" for name in EMBEDDED_MODELS)
        yield "embedding.model", ValidationIssue(f"must be {offered} with provider 'embedded'", model)
    if values["storage.qdrant.cluster_index"] and not values["storage.qdrant.endpoint"]:
        yield "storage.qdrant.cluster_index", ValidationIssue("needs a server in storage.qdrant.endpoint", None)
    if values["serving.from_cluster"] and not values["storage.qdrant.cluster_index"]:
        yield "serving.from_cluster", ValidationIssue("needs the name in storage.qdrant.cluster_index", None)
    if isinstance(extractors := values["indexing.extractors"], tuple):
        yield from (("indexing.extractors", issue) for issue in extractor_issues(extractors))


def build_config(values: Mapping[str, object]) -> Config:
    """Build the configuration from all of its values."""
    config: Config = _build(Config, values, "")
    return config


def commented_example() -> str:
    """Return the example in which every key is commented out and explained."""
    return "\n".join([_INTRODUCTION + "{", *_section(Config, "  "), "}", ""])


def plain_example(section: type = Config) -> dict[str, object]:
    """Return every key with its default, as plain JSON; `null` if the default depends on something else."""
    return {
        name: entry.default if isinstance(entry, Key) else plain_example(entry) for name, entry in entries_of(section)
    }


def write_example(path: Path) -> None:
    """Write the commented example to a new file that only its owner can read, since it may later hold a key.

    Raises:
        UsageError: the file exists, or cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"'{path}' exists already", hint="move it away first, or edit it") from error
    except OSError as error:
        raise UsageError(f"'{path}' cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(commented_example())


def _build(section: type, values: Mapping[str, object], prefix: str) -> Any:
    return section(
        **{
            name: values[prefix + name] if isinstance(entry, Key) else _build(entry, values, f"{prefix}{name}.")
            for name, entry in entries_of(section)
        }
    )


def _section(section: type, indent: str) -> Iterator[str]:
    for name, entry in entries_of(section):
        if isinstance(entry, Key):
            yield f"{indent}// {entry.description}"
            yield f'{indent}// "{name}": {json.dumps(entry.default)},'
        else:
            yield f"{indent}// {entry.__doc__}"
            yield f'{indent}"{name}": {{'
            yield from _section(entry, indent + "  ")
            yield f"{indent}}},"
