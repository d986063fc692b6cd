"""Policies derived from the configuration for the walk, parsing, vectors, and the fingerprint of an index."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from directory_indexer.config import LoadedConfig, documents_of, registry_path, team_directory
from directory_indexer.config.indexing import (
    OCR_SERVICES,
    EmbeddingConfig,
    EmbeddingMode,
    ExtractorConfig,
    IndexingConfig,
    OcrConfig,
)
from directory_indexer.config.services import parse_host_rule
from directory_indexer.config.settings import Config
from directory_indexer.core.errors import ConfigError
from directory_indexer.core.last_query import QUERY_MARK_NAME
from directory_indexer.core.lazy import lazily
from directory_indexer.core.machine import WATCH_MARK
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.core.scratch import scratch_beside
from directory_indexer.storage.documents.words import VOCABULARY_SUFFIX as WORDS_ENDING

with lazily:
    from directory_indexer import chunking, formats, secrets
    from directory_indexer.core.fingerprint import EmbeddingSpace, Fingerprint
    from directory_indexer.core.ids import content_hash
    from directory_indexer.embedding import wordpiece
    from directory_indexer.embedding.loading import ServiceAccess, space_of_settings
    from directory_indexer.formats import table
    from directory_indexer.formats.external import Command, Extension, version_of
    from directory_indexer.formats.format import AddedFormat, Format
    from directory_indexer.formats.limited_program import find_program
    from directory_indexer.indexing.options import BackgroundThrottle, IndexPolicy, PoliteThrottle
    from directory_indexer.integrations.converting.destinations import Destinations
    from directory_indexer.ocr import service
    from directory_indexer.ocr.engine_selection import OcrSettings
    from directory_indexer.parsing.policy import ParsePolicy
    from directory_indexer.ranking import analyzer
    from directory_indexer.storage.ocr_cache import OcrCache
    from directory_indexer.storage.registry.documents import StoredDescriptions
    from directory_indexer.walk import WalkPolicy

PAGES_NAME = "pages.db"
"""File name of the OCR cache, beside the database of the index."""

LEDGER_NAME = "cluster.db"
"""File name of the record of what is in the cluster index, in the same place."""

_LOCKS_AND_MARKS = (
    "write.lock",
    "write.lock-wanted",
    "write.lock-owed",
    "watch.lock",
    WATCH_MARK,
    "embed.lock",
    QUERY_MARK_NAME,
)
"""Files for communication between processes, beside the database."""

_MAILBOXES = ("inbox", "sent", "drafts", "trash", "junk", "archives", "all mail", "mbox")
"""Names of mailboxes of mail programs, which have no suffix."""


_TRANSCRIPTS = ".jsonl"
"""Suffix of most assistants' sessions; a large file that is none is skipped when its content is examined."""


class Policies:
    """Policies of one configuration; tests replace one by assigning it before it is used."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._config = loaded.config

    def destinations(self, *, allow_private: bool = False) -> Destinations:
        """Return where documents may be fetched from; a user at a terminal may allow everything."""
        return Destinations(tuple(map(parse_host_rule, self._config.fetching.allowed)), allow_private)

    @cached_property
    def walk(self) -> WalkPolicy:
        """Files that a walk excludes."""
        return walk_policy(self._loaded)

    @cached_property
    def parse(self) -> ParsePolicy:
        """The policy of parsing."""
        policy = parse_policy(self._config.indexing, self.page_cache if self._config.ocr.engine != "off" else None)
        return policy._replace(descriptions=self.descriptions, scratch=self.scratch)

    @cached_property
    def index(self) -> IndexPolicy:
        """The policy of index runs."""
        return IndexPolicy(
            self.walk,
            lambda: self.parse,
            self.fingerprint,
            batch_files=self._config.monitoring.batch_size,
            embedding=EmbeddingMode(self._config.indexing.embedding),
            background_throttle=lambda: BackgroundThrottle(
                self._config.storage.sqlite_path, min_percent=self._config.monitoring.battery_percent
            ),
            polite_throttle=lambda: PoliteThrottle(self._config.storage.sqlite_path),
        )

    def embeds_in_background(self, *, is_watching: bool) -> bool:
        """Whether a background process embeds; if tokens cost money, only while watching."""
        indexing, is_free = self._config.indexing, self._config.embedding.provider != "openai"
        is_wanted = self._config.monitoring.background_embedding and (is_watching or is_free)
        return is_wanted and indexing.embedding == EmbeddingMode.COMPLETE

    @cached_property
    def ocr(self) -> OcrSettings:
        """The settings of OCR."""
        return ocr_settings(self._config.ocr)

    @cached_property
    def page_cache(self) -> OcrCache:
        """The cache of OCR results."""
        return OcrCache(self._config.storage.sqlite_path.with_name(PAGES_NAME))

    @property
    def scratch(self) -> Path:
        """The parent of workers' temporary directories."""
        return scratch_beside(self._config.storage.sqlite_path)

    @property
    def ledger_path(self) -> Path:
        """The path of the record of what is in the cluster index."""
        return self._config.storage.sqlite_path.with_name(LEDGER_NAME)

    @cached_property
    def descriptions(self) -> StoredDescriptions:
        """Descriptions that senders gave of documents."""
        loaded = self._loaded
        return StoredDescriptions(str(registry_path(loaded.data_dir)), loaded.collection, documents_of(loaded))

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The space of future vectors."""
        return embedding_space(self._config.embedding)

    @cached_property
    def access(self) -> ServiceAccess:
        """The access to the embedding provider."""
        return provider_access(self._config)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of an index built now."""
        return fingerprint(self._config.indexing, self.space, reads_pictures=self._config.ocr.engine != "off")


def walk_policy(loaded: LoadedConfig) -> WalkPolicy:
    """Return the files that a walk excludes."""
    indexing = loaded.config.indexing
    return WalkPolicy(
        ignore_patterns=indexing.ignore_patterns,
        respect_gitignore=indexing.respect_gitignore,
        include_hidden=indexing.include_hidden,
        include_secrets=indexing.include_secrets,
        follow_symlinks=indexing.follow_symlinks,
        max_file_size=indexing.max_file_size,
        streamed=_streamed(),
        own=_own_paths(loaded),
        reserved=file_path(os.path.realpath(team_directory(loaded.data_dir))),
        documents=documents_of(loaded),
        git_history=_git_history(indexing),
    )


def _git_history(indexing: IndexingConfig) -> str:
    """Format the scope of commits for the walk and the reader of histories."""
    scope = indexing.git_history
    return ("all" if scope else "") if isinstance(scope, bool) else str(scope)


def _streamed() -> tuple[str, ...]:
    """Return the suffixes of files that may be of any size, since they are read in pieces."""
    opened = [file_format for file_format in table.FORMATS.values() if file_format.open]
    suffixes = (f".{suffix}" for file_format in opened for suffix in file_format.suffixes.split())
    return (
        *suffixes,
        *(name for file_format in opened for name in file_format.names.split()),
        *_MAILBOXES,
        _TRANSCRIPTS,
    )


def ocr_settings(ocr: OcrConfig) -> OcrSettings:
    """Return the settings of OCR."""
    return OcrSettings(ocr.engine, ocr.languages, ocr.tesseract, _service(ocr))


def _service(ocr: OcrConfig) -> service.Access | None:
    """Return how to reach the OCR service, if one is configured; missing values are empty."""
    if ocr.engine not in OCR_SERVICES:
        return None
    configured = ocr.gemini if ocr.engine == "gemini" else ocr.azure
    return service.Access(
        endpoint=configured.endpoint or "",
        model=configured.model,
        api_key=configured.api_key.get_secret_value() if configured.api_key else "",
        concurrency=configured.concurrency,
        seconds=float(configured.timeout_seconds),
    )


def parse_policy(indexing: IndexingConfig, recognised: OcrCache | None) -> ParsePolicy:
    """Return how files become chunks."""
    return ParsePolicy(
        max_file_size=indexing.max_file_size,
        include_secrets=indexing.include_secrets,
        chunking=chunking.ChunkPolicy(size=indexing.chunk_size, overlap=indexing.overlap),
        count_tokens=wordpiece.count_chunk_tokens,
        weigh_lines=wordpiece.weigh_lines,
        follow_symlinks=indexing.follow_symlinks,
        n_workers=min(indexing.concurrency, os.cpu_count() or 1),
        members=WalkPolicy(
            ignore_patterns=indexing.ignore_patterns,
            include_hidden=indexing.include_hidden,
            include_secrets=indexing.include_secrets,
        ),
        added=added_formats(indexing),
        recognised=recognised,
        git_history=_git_history(indexing),
    )


def added_formats(indexing: IndexingConfig) -> tuple[AddedFormat, ...]:
    """Return the formats that the configuration adds.

    Raises:
        ConfigError: some exist already.
    """
    mistakes = [
        f"indexing.extractors.{number}.kind: dirindex reads {extractor.kind} itself; choose another name"
        for number, extractor in enumerate(indexing.extractors)
        if extractor.kind in table.FORMATS
    ]
    if mistakes:
        raise ConfigError("\n  ".join(["the configuration has mistakes", *mistakes]))
    return tuple(map(_added_format, indexing.extractors))


def _added_format(extractor: ExtractorConfig) -> AddedFormat:
    suffixes = tuple(suffix.lower() for suffix in extractor.suffixes)
    if extractor.entry_point:
        recipe = f"{extractor.entry_point} {version_of(extractor.entry_point)}"
        return AddedFormat(
            extractor.kind, suffixes, Extension(extractor.entry_point), f"{suffixes} {recipe}", extractor.seconds
        )
    program = find_program(extractor.command[0])
    command = Command(program, extractor.command, suffixes[0] if suffixes else "", extractor.output, extractor.seconds)
    return AddedFormat(
        extractor.kind, suffixes, command, f"{suffixes} {command.arguments} {command.output}", extractor.seconds
    )


def _recipe_number(recipe: str) -> int:
    return int.from_bytes(content_hash(recipe.encode("utf-8", "surrogatepass"))[:6], "big")


def embedding_space(embedding: EmbeddingConfig) -> EmbeddingSpace:
    """Return the space of future vectors."""
    return space_of_settings(
        embedding.provider,
        embedding.model,
        endpoint=embedding.endpoint,
        dimensions=embedding.dimensions,
        document_prefix=embedding.document_prefix,
        query_prefix=embedding.query_prefix,
    )


def provider_access(config: Config) -> ServiceAccess:
    """Return how to reach the embedding provider."""
    embedding = config.embedding
    return ServiceAccess(
        api_key=embedding.api_key.get_secret_value() if embedding.api_key else None,
        batch_size=embedding.batch_size,
        concurrency=config.indexing.concurrency,
        keep_alive=embedding.keep_alive,
    )


def fingerprint(indexing: IndexingConfig, space: EmbeddingSpace, *, reads_pictures: bool) -> Fingerprint:
    """Return the fingerprint of an index built now."""
    return Fingerprint(
        embedding=space.name,
        chunking=f"{indexing.chunk_size}/{indexing.overlap} tokens, version {chunking.CHUNKER_VERSION}",
        extraction=f"version {formats.EXTRACTOR_VERSION}",
        analysis=f"version {analyzer.ANALYZER_VERSION}",
        secrets="indexed as they are" if indexing.include_secrets else f"version {secrets.REDACTION_VERSION}",
        formats={kind: _version_of(file_format) for kind, file_format in table.FORMATS.items()}
        | {added_format.kind: _recipe_number(added_format.recipe) for added_format in added_formats(indexing)},
        pictured=sorted(table.KINDS_WITH_PICTURES) if reads_pictures else (),
    )


def _version_of(file_format: Format) -> int:
    """Return the version of a format; a negative one while the program that reads it is missing."""
    is_missing = file_format.needs and not find_program(file_format.needs)
    return -file_format.version if is_missing else file_format.version


def _own_paths(loaded: LoadedConfig) -> tuple[FilePath, ...]:
    """Return paths that are never indexed: the index, its log, and configuration files that may hold keys."""
    storage, database = loaded.config.storage, loaded.config.storage.sqlite_path
    beside = [database.with_name(database.name + end) for end in ("", "-wal", "-shm", ".schema-lock", WORDS_ENDING)]
    pages = [database.with_name(f"{PAGES_NAME}{end}") for end in ("", "-wal", "-shm")]
    pages += [database.with_name(f"{LEDGER_NAME}{end}") for end in ("", "-wal", "-shm")]
    locks = [database.with_name(name) for name in _LOCKS_AND_MARKS]
    ocr = loaded.config.ocr
    keys = [storage.qdrant.api_key_file, loaded.config.embedding.api_key_file]
    keys += [ocr.gemini.api_key_file, ocr.azure.api_key_file]
    own: list[Path | None] = [loaded.data_dir, team_directory(loaded.data_dir), loaded.data_dir / "dirindex.log"]
    own += [storage.qdrant.path, scratch_beside(database), loaded.file]
    return tuple(
        dict.fromkeys(file_path(os.path.realpath(path)) for path in [*own, *keys, *beside, *pages, *locks] if path)
    )
