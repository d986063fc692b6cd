"""What the configuration means for the walk, for parsing, for vectors, and for what an index remembers of them."""

from __future__ import annotations

import os
from pathlib import Path

from directory_indexer.chunker import CHUNKER_VERSION, ChunkPolicy
from directory_indexer.config import LoadedConfig
from directory_indexer.config.settings import Config, EmbeddingConfig, IndexingConfig
from directory_indexer.credentials import REDACTION_VERSION
from directory_indexer.embedders import wordpiece
from directory_indexer.embedders.building import Access, planned_space
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.extractors import EXTRACTOR_VERSION
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.parsing.parse import ParsePolicy
from directory_indexer.paths import FilePath, file_path
from directory_indexer.relevance.analyzer import ANALYZER_VERSION
from directory_indexer.walker.policy import WalkPolicy


def walk_policy(loaded: LoadedConfig) -> WalkPolicy:
    """Tell which files a walk leaves out."""
    indexing = loaded.config.indexing
    return WalkPolicy(
        ignore_patterns=indexing.ignore_patterns,
        respect_gitignore=indexing.respect_gitignore,
        include_hidden=indexing.include_hidden,
        include_secrets=indexing.include_secrets,
        follow_symlinks=indexing.follow_symlinks,
        max_file_size=indexing.max_file_size,
        own=_own_paths(loaded),
    )


def parse_policy(indexing: IndexingConfig) -> ParsePolicy:
    """Tell how files become chunks."""
    return ParsePolicy(
        max_file_size=indexing.max_file_size,
        include_secrets=indexing.include_secrets,
        chunking=ChunkPolicy(size=indexing.chunk_size, overlap=indexing.overlap),
        count_tokens=wordpiece.count_tokens,
        follow_symlinks=indexing.follow_symlinks,
        n_workers=min(indexing.concurrency, os.cpu_count() or 1),
    )


def embedding_space(embedding: EmbeddingConfig) -> EmbeddingSpace:
    """Tell which space vectors will lie in."""
    return planned_space(
        embedding.provider,
        embedding.model,
        endpoint=embedding.endpoint,
        dimensions=embedding.dimensions,
        document_prefix=embedding.document_prefix,
        query_prefix=embedding.query_prefix,
    )


def provider_access(config: Config) -> Access:
    """Tell how to reach the provider of embeddings."""
    embedding = config.embedding
    return Access(
        api_key=embedding.api_key.get_secret_value() if embedding.api_key else None,
        batch_size=embedding.batch_size,
        concurrency=config.indexing.concurrency,
        keep_alive=embedding.keep_alive,
    )


def fingerprint(indexing: IndexingConfig, space: EmbeddingSpace) -> Fingerprint:
    """Tell what would build the index now."""
    return Fingerprint(
        embedding=space.name,
        chunking=f"{indexing.chunk_size}/{indexing.overlap} tokens, version {CHUNKER_VERSION}",
        extraction=f"version {EXTRACTOR_VERSION}",
        analysis=f"version {ANALYZER_VERSION}",
        secrets="indexed as they are" if indexing.include_secrets else f"version {REDACTION_VERSION}",
    )


def _own_paths(loaded: LoadedConfig) -> tuple[FilePath, ...]:
    """Name what lies in no index: this one, its log, and the files that configure it and may hold keys."""
    storage, database = loaded.config.storage, loaded.config.storage.sqlite_path
    beside = [database.with_name(database.name + end) for end in ("", "-wal", "-shm", ".schema-lock")]
    locks = [database.with_name(name) for name in ("write.lock", "watch.lock")]
    keys = [storage.qdrant.api_key_file, loaded.config.embedding.api_key_file]
    own: list[Path | None] = [loaded.data_dir, loaded.data_dir / "dirindex.log", storage.qdrant.path, loaded.file]
    return tuple(dict.fromkeys(file_path(os.path.realpath(path)) for path in [*own, *keys, *beside, *locks] if path))
