"""Every key of the configuration with its default, its limits and the words that explain it.

`null` means "the default" wherever it is allowed. Named tuples, whose defaults describe the keys: every command reads
them, and making dataclasses takes 4 ms more. Annotations are evaluated for the same reason as in `records`.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.config.extractors import ExtractorConfig, mistakes_in
from directory_indexer.config.kinds import (
    Flag,
    Kind,
    Location,
    Mistake,
    OneOf,
    Record,
    Secret,
    SecretText,
    Several,
    Text,
    WholeNumber,
)


class Quantization(StrEnum):
    """The codes that a Qdrant server compares first, before the vectors themselves decide."""

    NONE = "none"
    INT8 = "int8"
    BINARY = "binary"


class EmbeddingMode(StrEnum):
    """Which chunks get vectors of the model."""

    COMPLETE = "complete"
    ON_DEMAND = "on-demand"
    OFF = "off"


class Key(NamedTuple):
    """One key: what it may be, in words for a person, and what it is when nobody says anything.

    The default is `null` where it depends on something else.
    """

    kind: Kind
    words: str
    default: object


class ProviderDefaults(NamedTuple):
    """What a provider of embeddings is asked, and where, unless something else is configured."""

    model: str
    endpoint: str | None


EMBEDDED_MODELS: Final = ("all-MiniLM-L6-v2", "multilingual-e5-small")
"""What embeds without a service; all but the first are packages of their own."""

PROVIDERS = {
    "embedded": ProviderDefaults(EMBEDDED_MODELS[0], None),
    "ollama": ProviderDefaults("nomic-embed-text", "http://localhost:11434"),
    "openai": ProviderDefaults("text-embedding-3-small", "https://api.openai.com/v1"),
}


def _key(kind: Kind, words: str, *, default: object = None) -> Any:
    return Key(kind, words, default)


def _section(section: type) -> Any:
    return section


_ENDPOINT = Text(
    r"https?://[^\s/?#@]+(?:[/?#]\S*)?",
    otherwise="must be an http:// or https:// URL without user name or password",
    or_null=True,
)


_COUNT = WholeNumber(at_least=1, at_most=1000, or_null=True)


class QdrantConfig(NamedTuple):
    """Where the vectors are."""

    endpoint: str | None = _key(_ENDPOINT, "URL of a Qdrant server; null: the embedded engine at path")
    path: Path = _key(Location(), "directory of the embedded engine; null: qdrant in the data directory")
    collection: str = _key(
        Text(r'[^<>:"/\\|?*\x00-\x1f]{1,255}', otherwise='must be a name without any of < > : " / \\ | ? *'),
        "name of the collection",
        default="directory-indexer",
    )
    api_key: SecretText | None = _key(Secret(or_null=True), "key of the server")
    api_key_file: Path | None = _key(
        Location(or_null=True), "file that holds the key of the server, instead of api_key"
    )
    ca_file: Path | None = _key(
        Location(or_null=True), "certificate of the authority to trust, as PEM; null: those of the system"
    )
    grpc_port: int | None = _key(
        WholeNumber(at_least=1, at_most=65_535, or_null=True), "port of gRPC on the server, often 6334; null: use REST"
    )
    timeout_seconds: int = _key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=30)
    shard_number: int | None = _key(_COUNT, "shards of a new collection; null: as the server chooses")
    replication_factor: int | None = _key(_COUNT, "copies of every shard of a new collection")
    write_consistency_factor: int | None = _key(
        _COUNT, "how many copies must have a write before it counts, in a new collection"
    )
    read_consistency: str | None = _key(
        OneOf("majority", "quorum", "all", or_null=True),
        "majority, quorum or all: how many copies must agree; null: one",
    )
    quantization: str = _key(
        OneOf(*Quantization),
        "none, int8 or binary: codes that are compared before the vectors decide, in a new collection",
        default=Quantization.INT8.value,
    )
    on_disk: bool = _key(Flag(), "leave vectors and graph of a new collection on the disk of the server", default=False)


class StorageConfig(NamedTuple):
    """Where the index is."""

    sqlite_path: Path = _key(Location(), "database of files and texts; null: data.db in the data directory")
    qdrant: QdrantConfig = _section(QdrantConfig)


class EmbeddingConfig(NamedTuple):
    """What turns text into vectors."""

    provider: str = _key(
        OneOf(*PROVIDERS),
        "embedded (in the process), ollama, or openai (any compatible endpoint)",
        default="embedded",
    )
    model: str = _key(
        Text(".+", otherwise="must not be empty"),
        "model of the provider; null: its usual one; multilingual-e5-small comes with dirindex-multilingual",
    )
    endpoint: str | None = _key(_ENDPOINT, "URL of the provider; null: its usual one")
    api_key: SecretText | None = _key(Secret(or_null=True), "key of the provider")
    api_key_file: Path | None = _key(
        Location(or_null=True), "file that holds the key of the provider, instead of api_key"
    )
    query_prefix: str | None = _key(
        Text(or_null=True), 'text put before a query; null: what the model is known to want, "": none'
    )
    document_prefix: str | None = _key(
        Text(or_null=True), 'text put before a passage; null: what the model is known to want, "": none'
    )
    dimensions: int | None = _key(
        WholeNumber(at_least=1, at_most=65_536, or_null=True), "length of the vectors; null: as the model has it"
    )
    batch_size: int = _key(
        WholeNumber(at_least=1, at_most=2048), "how many passages are sent in one request", default=32
    )
    keep_alive: str | None = _key(
        Text(".+", otherwise="must not be empty", or_null=True),
        'how long Ollama keeps the model in memory, such as "30m"; null: as Ollama has it',
    )


DEFAULT_IGNORE_PATTERNS: Final = (
    *(".git", ".hg", ".svn"),
    *("node_modules", "bower_components", "target", "venv", ".venv", ".tox", ".nox", ".terraform", ".gradle"),
    *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", "*.egg-info"),
)
"""What tools fetch, build or remember, and nobody wrote; no name that a directory of documents may have."""


_NAME = Text(r"[a-z0-9][a-z0-9-]{0,40}", otherwise="must be a word of small letters, digits and hyphens")
_EXTRACTOR = Record(
    ExtractorConfig,
    kind=_NAME,
    suffixes=Several(Text(r"[A-Za-z0-9_+-]{1,20}", otherwise="must be a suffix without a dot"), of="suffixes"),
    command=Several(Text(), of="arguments"),
    entry_point=Text(),
    output=OneOf("text", "markdown", "html"),
    seconds=WholeNumber(at_least=1, at_most=3600),
)


class IndexingConfig(NamedTuple):
    """What is indexed, and how it is cut."""

    chunk_size: int = _key(
        WholeNumber(at_least=16, at_most=8192), "longest passage, in tokens of the model", default=256
    )
    embedding: str = _key(
        OneOf(*EmbeddingMode),
        "complete: runs embed every passage; on-demand: only searches embed what they come upon; off: words alone",
        default=EmbeddingMode.COMPLETE.value,
    )
    overlap: int = _key(WholeNumber(at_least=0), "tokens that a passage shares with the one before", default=0)
    max_file_size: int = _key(WholeNumber(at_least=1), "larger files are left out, in bytes", default=10_485_760)
    ignore_patterns: tuple[str, ...] = _key(
        Several(Text(), of="texts"),
        "what to leave out, in the words of .gitignore",
        default=DEFAULT_IGNORE_PATTERNS,
    )
    respect_gitignore: bool = _key(Flag(), "leave out what git ignores", default=True)
    include_hidden: bool = _key(Flag(), "index files and directories whose name starts with a dot", default=False)
    include_secrets: bool = _key(Flag(), "index files that are secrets, and mask nothing in others", default=False)
    follow_symlinks: bool = _key(Flag(), "follow symbolic links to directories and files", default=False)
    concurrency: int = _key(
        WholeNumber(at_least=1, at_most=256), "how many files are read, and requests made, at a time", default=4
    )
    extractors: tuple[ExtractorConfig, ...] = _key(
        Several(_EXTRACTOR, of="objects"),
        "what reads further kinds of files: commands, and extensions that are installed",
        default=(),
    )


_PAGES_AT_A_TIME = WholeNumber(at_least=1, at_most=128)
_MODEL_NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", otherwise="must be the name of a model")


class GeminiConfig(NamedTuple):
    """How pages are read by a model of Google's Gemini API."""

    endpoint: str | None = _key(_ENDPOINT, "URL of the service", default="https://generativelanguage.googleapis.com")
    model: str = _key(_MODEL_NAME, "a model that takes pictures", default="gemini-3.5-flash-lite")
    api_key: SecretText | None = _key(Secret(or_null=True), "key of the service")
    api_key_file: Path | None = _key(Location(or_null=True), "file that holds the key, instead of api_key")
    concurrency: int = _key(_PAGES_AT_A_TIME, "how many pages are sent at a time", default=4)
    timeout_seconds: int = _key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=120)


class AzureConfig(NamedTuple):
    """How pages are read by Azure Document Intelligence."""

    endpoint: str | None = _key(_ENDPOINT, "URL of your resource")
    model: str = _key(_MODEL_NAME, "prebuilt-layout, or prebuilt-read without tables", default="prebuilt-layout")
    api_key: SecretText | None = _key(Secret(or_null=True), "key of the resource")
    api_key_file: Path | None = _key(Location(or_null=True), "file that holds the key, instead of api_key")
    concurrency: int = _key(_PAGES_AT_A_TIME, "how many pages are sent at a time", default=4)
    timeout_seconds: int = _key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=120)


READING_SERVICES = frozenset({"gemini", "azure"})
"""The engines that are services on the network."""


class OcrConfig(NamedTuple):
    """What reads pages that are pictures of text."""

    engine: str = _key(
        OneOf("auto", "tesseract", "rapidocr", "gemini", "azure", "off"),
        "auto (what is installed), tesseract, rapidocr, gemini or azure (services on the network), or off",
        default="auto",
    )
    languages: tuple[str, ...] = _key(
        Several(
            Text(r"[A-Za-z_/-]{2,40}", otherwise="must be a language as Tesseract names it, such as deu"), of="names"
        ),
        "languages of the pages, as Tesseract names them; none: each page in the one that it turns out to be in",
        default=(),
    )
    tesseract: str = _key(
        Text(".+", otherwise="must not be empty"), "command of Tesseract: its name or its path", default="tesseract"
    )
    max_pages_per_run: int | None = _key(
        WholeNumber(at_least=0, or_null=True), "so many pages are read in one run; null: all that wait"
    )
    cache_size: int = _key(WholeNumber(at_least=0), "room for what was read on pages, in bytes", default=1_073_741_824)
    gemini: GeminiConfig = _section(GeminiConfig)
    azure: AzureConfig = _section(AzureConfig)


class MonitoringConfig(NamedTuple):
    """How changes are noticed."""

    file_watching: bool = _key(Flag(), "let dirindex serve watch the directories and index what changes", default=False)
    batch_size: int = _key(
        WholeNumber(at_least=1, at_most=100_000), "how many files are committed to the index at a time", default=100
    )


_MILLISECONDS = WholeNumber(at_least=0, at_most=60_000)


class SearchingConfig(NamedTuple):
    """What a search may take its time for."""

    embedding_ms: int = _key(
        _MILLISECONDS, "so long a command may embed passages that wait for it, in milliseconds; 0: never", default=500
    )


class ServingConfig(NamedTuple):
    """What clients of dirindex serve may do."""

    directories: tuple[Path, ...] = _key(
        Several(Location(), of="paths"),
        "directories that they may have indexed, with all below them, beside the tracked ones",
        default=(),
    )
    fetch_urls: bool = _key(
        Flag(), "let them have documents of public addresses converted, and sent to collections", default=False
    )
    backups: Path | None = _key(
        Location(or_null=True), "directory for the backups that they may have made; null: they may not", default=None
    )
    requests_per_second: int = _key(
        WholeNumber(at_least=1, at_most=100_000),
        "so often each key may ask over HTTP, and twice as often at once",
        default=100,
    )
    embedding_ms: int = _key(
        _MILLISECONDS, "so long one search may embed passages that wait for it, in milliseconds; 0: never", default=150
    )


class Config(NamedTuple):
    """The whole configuration."""

    storage: StorageConfig = _section(StorageConfig)
    embedding: EmbeddingConfig = _section(EmbeddingConfig)
    indexing: IndexingConfig = _section(IndexingConfig)
    ocr: OcrConfig = _section(OcrConfig)
    monitoring: MonitoringConfig = _section(MonitoringConfig)
    searching: SearchingConfig = _section(SearchingConfig)
    serving: ServingConfig = _section(ServingConfig)


def entries_of(section: type) -> Iterator[tuple[str, Key | type]]:
    """List what a section holds, in its order: keys, and further sections."""
    described: dict[str, Key | type] = section._field_defaults  # type: ignore[attr-defined]
    yield from described.items()


def keys_below(section: type, prefix: str = "") -> Iterator[tuple[str, Key]]:
    """List all keys below a section, as they are written in messages."""
    for name, entry in entries_of(section):
        if isinstance(entry, Key):
            yield f"{prefix}{name}", entry
        else:
            yield from keys_below(entry, f"{prefix}{name}.")


def contradictions(values: Mapping[str, object]) -> Iterator[tuple[str, Mistake]]:
    """Tell which keys do not fit to others, and why; a value that is wrong by itself is None here."""
    chunk_size, overlap = values["indexing.chunk_size"], values["indexing.overlap"]
    if isinstance(chunk_size, int) and isinstance(overlap, int) and overlap >= chunk_size:
        yield "indexing.overlap", Mistake(f"must be smaller than chunk_size ({chunk_size})", overlap)
    model = values["embedding.model"]
    if values["embedding.provider"] == "embedded" and model not in {None, *EMBEDDED_MODELS}:
        offered = " or ".join(f"'{name}'" for name in EMBEDDED_MODELS)
        yield "embedding.model", Mistake(f"must be {offered} with provider 'embedded'", model)
    if isinstance(extractors := values["indexing.extractors"], tuple):
        yield from (("indexing.extractors", mistake) for mistake in mistakes_in(extractors))


def built(values: Mapping[str, object]) -> Config:
    """Make the configuration from all of its values."""
    config: Config = _built(Config, values, "")
    return config


def _built(section: type, values: Mapping[str, object], prefix: str) -> Any:
    return section(
        **{
            name: values[prefix + name] if isinstance(entry, Key) else _built(entry, values, f"{prefix}{name}.")
            for name, entry in entries_of(section)
        }
    )
