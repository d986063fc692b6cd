"""Every key of the configuration with its default, its limits and the words that explain it.

A setting that holds the key of a service is a `SecretStr`. `null` means "the default" wherever it is allowed.
"""

from __future__ import annotations

import re
from pathlib import Path  # noqa: TC003 - pydantic reads the annotations at run time
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

_URL = re.compile(r"https?://[^\s/?#@]+(?:[/?#]\S*)?")
_COLLECTION = re.compile(r'[^<>:"/\\|?*\x00-\x1f]{1,255}')


class ProviderDefaults(NamedTuple):
    """What a provider of embeddings is asked, and where, unless something else is configured."""

    model: str
    endpoint: str | None


PROVIDERS = {
    "embedded": ProviderDefaults("all-MiniLM-L6-v2", None),
    "ollama": ProviderDefaults("nomic-embed-text", "http://localhost:11434"),
    "openai": ProviderDefaults("text-embedding-3-small", "https://api.openai.com/v1"),
}


def _endpoint(url: str) -> str:
    if not _URL.fullmatch(url):
        raise PydanticCustomError("endpoint", "must be an http:// or https:// URL without user name or password")
    return url


def _collection(name: str) -> str:
    if not _COLLECTION.fullmatch(name):
        raise PydanticCustomError("collection", 'must be a name without any of < > : " / \\ | ? *')
    return name


Endpoint = Annotated[str, AfterValidator(_endpoint)]
Name = Annotated[str, Field(min_length=1)]


class _Section(BaseModel):
    # Not built before the first use: the commands that read no configuration do not pay for it.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, hide_input_in_errors=True)


class QdrantConfig(_Section):
    """Where the vectors are."""

    endpoint: Endpoint | None = Field(
        default=None, description="URL of a Qdrant server; null: the embedded engine at path"
    )
    path: Path = Field(description="directory of the embedded engine; null: qdrant in the data directory")
    collection: Annotated[str, AfterValidator(_collection)] = Field(
        default="directory-indexer", description="name of the collection"
    )
    api_key: SecretStr | None = Field(default=None, min_length=1, description="key of the server")
    api_key_file: Path | None = Field(
        default=None, description="file that holds the key of the server, instead of api_key"
    )


class StorageConfig(_Section):
    """Where the index is."""

    sqlite_path: Path = Field(description="database of files and texts; null: data.db in the data directory")
    qdrant: QdrantConfig


class EmbeddingConfig(_Section):
    """What turns text into vectors."""

    provider: Literal["embedded", "ollama", "openai"] = Field(
        default="embedded", description="embedded (nothing to install), ollama, or openai (any compatible endpoint)"
    )
    model: Name = Field(description="model of the provider; null: its usual one")
    endpoint: Endpoint | None = Field(default=None, description="URL of the provider; null: its usual one")
    api_key: SecretStr | None = Field(default=None, min_length=1, description="key of the provider")
    api_key_file: Path | None = Field(
        default=None, description="file that holds the key of the provider, instead of api_key"
    )
    query_prefix: str | None = Field(default=None, description="text put before a query, for models that want one")
    document_prefix: str | None = Field(default=None, description="text put before a passage, for models that want one")
    dimensions: int | None = Field(
        default=None, ge=1, le=65_536, description="length of the vectors; null: as the model has it"
    )

    @field_validator("model")
    @classmethod
    def _is_offered(cls, model: str, info: ValidationInfo) -> str:
        embedded = PROVIDERS["embedded"].model
        if info.data.get("provider") == "embedded" and model != embedded:
            raise PydanticCustomError("model", "must be '{only}' with provider 'embedded'", {"only": embedded})
        return model


class IndexingConfig(_Section):
    """What is indexed, and how it is cut."""

    chunk_size: int = Field(default=256, ge=16, le=8192, description="longest passage, in tokens of the model")
    overlap: int = Field(default=0, ge=0, description="tokens that a passage shares with the one before")
    max_file_size: int = Field(default=10_485_760, ge=1, description="larger files are left out, in bytes")
    ignore_patterns: tuple[str, ...] = Field(
        default=(".git", "node_modules", "target"),
        strict=False,
        description="what to leave out, in the words of .gitignore",
    )
    respect_gitignore: bool = Field(default=True, description="leave out what git ignores")
    include_hidden: bool = Field(default=False, description="index files and directories whose name starts with a dot")
    include_secrets: bool = Field(default=False, description="index files that look like keys and passwords")
    follow_symlinks: bool = Field(default=False, description="follow symbolic links to directories and files")
    concurrency: int = Field(default=4, ge=1, le=256, description="how many files are read at the same time")

    @field_validator("overlap")
    @classmethod
    def _fits_the_chunk(cls, overlap: int, info: ValidationInfo) -> int:
        chunk_size = info.data.get("chunk_size")
        if chunk_size is not None and overlap >= chunk_size:
            raise PydanticCustomError("overlap", "must be smaller than chunk_size ({size})", {"size": chunk_size})
        return overlap


class MonitoringConfig(_Section):
    """How changes are noticed."""

    file_watching: bool = Field(
        default=False, description="let dirindex serve watch the directories and index what changes"
    )
    batch_size: int = Field(
        default=100, ge=1, le=100_000, description="how many files are committed to the index at a time"
    )


class Config(_Section):
    """The whole configuration."""

    storage: StorageConfig
    embedding: EmbeddingConfig
    indexing: IndexingConfig = Field(default_factory=IndexingConfig)
    monitoring: MonitoringConfig = Field(default_factory=MonitoringConfig)
