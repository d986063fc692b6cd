"""Settings of indexing: files, chunks, configured extractors, embedding providers and OCR.

The keys of `indexing`, `embedding` and `ocr`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.config.value_types import (
    ENDPOINT,
    CountOrDate,
    Flag,
    Integer,
    ListOf,
    Location,
    OneOf,
    Record,
    Secret,
    SecretText,
    Text,
    ValidationIssue,
    key,
    section,
)

FILE: Final = "{file}"
"""Placeholder in the arguments of a command for the path of the file."""


class ExtractorConfig(NamedTuple):
    """An extractor for a further kind of file: a command, or an installed extension by its entry point."""

    kind: str
    suffixes: tuple[str, ...]
    command: tuple[str, ...] = ()
    entry_point: str = ""
    output: str = "text"
    seconds: int = 60


_READER_KEYS: Final = ("command", "entry_point")

DEFAULT_IGNORE_PATTERNS: Final = (
    *(".git", ".hg", ".svn"),
    *("node_modules", "bower_components", "target", "venv", ".venv", ".tox", ".nox", ".terraform", ".gradle"),
    *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", "*.egg-info"),
    *("site-packages", "dist-packages", ".cache", ".m2", ".npm", ".pnpm-store", ".bun", ".nuget", ".conda", ".rustup"),
    *("**/.cargo/registry/", "**/pkg/mod/", "**/Library/Caches/", "**/AppData/Local/", "**/DerivedData/"),
)
"""Directories that tools download, build or cache; no name that a directory of documents may have."""


_NAME = Text(r"[a-z0-9][a-z0-9-]{0,40}", message="must be a word of lower-case letters, digits and hyphens")
_EXTRACTOR = Record(
    ExtractorConfig,
    kind=_NAME,
    suffixes=ListOf(Text(r"[A-Za-z0-9_+-]{1,20}", message="must be a suffix without a dot"), of="suffixes"),
    command=ListOf(Text(), of="arguments"),
    entry_point=Text(),
    output=OneOf("text", "markdown", "html"),
    seconds=Integer(minimum=1, maximum=3600),
)


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

_CONCURRENT_PAGES = Integer(minimum=1, maximum=128)
_MODEL_NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", message="must be the name of a model")

OCR_SERVICES = frozenset({"gemini", "azure"})
"""Engines that are network services."""


def extractor_issues(extractors: Iterable[ExtractorConfig]) -> Iterator[ValidationIssue]:
    """Yield the extractors without a reader, with two readers, or with a kind or suffix of another one."""
    kinds: dict[str, int] = {}
    owners: dict[str, int] = {}
    for number, extractor in enumerate(extractors):
        yield from (
            ValidationIssue(issue.message, issue.value, f".{number}{issue.path}") for issue in _reader_issues(extractor)
        )
        if (owner := kinds.setdefault(extractor.kind, number)) != number:
            yield ValidationIssue(
                f"must be a kind that extractor {owner} does not have", extractor.kind, f".{number}.kind"
            )
        for suffix in extractor.suffixes:
            if (owner := owners.setdefault(suffix.lower(), number)) != number:
                yield ValidationIssue(
                    f"must be suffixes that extractor {owner} does not have", suffix, f".{number}.suffixes"
                )


class EmbeddingMode(StrEnum):
    """Selection of the chunks that are embedded by the model."""

    COMPLETE = "complete"
    ON_DEMAND = "on-demand"
    OFF = "off"


class IndexingConfig(NamedTuple):
    """Selection and chunking of what is indexed."""

    chunk_size: int = key(Integer(minimum=16, maximum=8192), "longest passage, in tokens of the model", default=256)
    embedding: str = key(
        OneOf(*EmbeddingMode),
        "complete: runs embed every passage; on-demand: searches embed their candidates; off: keyword search only",
        default=EmbeddingMode.COMPLETE.value,
    )
    overlap: int = key(Integer(minimum=0), "tokens that consecutive passages share", default=0)
    max_file_size: int = key(Integer(minimum=1), "largest file to index, in bytes", default=10_485_760)
    ignore_patterns: tuple[str, ...] = key(
        ListOf(Text(), of="texts"),
        "files and directories to exclude, in the syntax of .gitignore",
        default=DEFAULT_IGNORE_PATTERNS,
    )
    respect_gitignore: bool = key(Flag(), "exclude what git ignores", default=True)
    include_hidden: bool = key(Flag(), "index files and directories whose name starts with a dot", default=False)
    include_secrets: bool = key(Flag(), "index secret files, and mask nothing in others", default=False)
    follow_symlinks: bool = key(Flag(), "follow symbolic links to directories and files", default=False)
    git_history: bool | int | str = key(
        CountOrDate(),
        "index git commits: true for all, a number for the newest, a date (2025-01-31) for those since",
        default=False,
    )
    concurrency: int = key(Integer(minimum=1, maximum=256), "files read, and requests made, in parallel", default=4)
    extractors: tuple[ExtractorConfig, ...] = key(
        ListOf(_EXTRACTOR, of="objects"),
        "commands and installed extensions that read further kinds of files",
        default=(),
    )


class EmbeddingConfig(NamedTuple):
    """Embedding of texts as vectors."""

    provider: str = key(
        OneOf(*PROVIDERS),
        "embedded (in the process), ollama, or openai (any compatible endpoint)",
        default="embedded",
    )
    model: str = key(
        Text(".+", message="must not be empty"),
        "model of the provider; null: its default; multilingual-e5-small comes with directory-indexer-multilingual",
    )
    endpoint: str | None = key(ENDPOINT, "URL of the provider; null: its default")
    api_key: SecretText | None = key(Secret(nullable=True), "key of the provider")
    api_key_file: Path | None = key(
        Location(nullable=True), "file that holds the key of the provider, instead of api_key"
    )
    query_prefix: str | None = key(Text(nullable=True), 'prefix of queries; null: the usual one of the model; "": none')
    document_prefix: str | None = key(
        Text(nullable=True), 'prefix of passages; null: the usual one of the model; "": none'
    )
    dimensions: int | None = key(
        Integer(minimum=1, maximum=65_536, nullable=True), "length of the vectors; null: the model's default"
    )
    batch_size: int = key(Integer(minimum=1, maximum=2048), "passages in one request", default=32)
    keep_alive: str | None = key(
        Text(".+", message="must not be empty", nullable=True),
        'how long Ollama keeps the model in memory, such as "30m"; null: its default',
    )


class GeminiConfig(NamedTuple):
    """OCR by a model of Google's Gemini API."""

    endpoint: str | None = key(ENDPOINT, "URL of the service", default="https://generativelanguage.googleapis.com")
    model: str = key(_MODEL_NAME, "a model that accepts images", default="gemini-3.5-flash-lite")
    api_key: SecretText | None = key(Secret(nullable=True), "key of the service")
    api_key_file: Path | None = key(Location(nullable=True), "file that holds the key, instead of api_key")
    concurrency: int = key(_CONCURRENT_PAGES, "pages sent in parallel", default=4)
    timeout_seconds: int = key(Integer(minimum=1, maximum=3600), "longest wait for a response", default=120)


class AzureConfig(NamedTuple):
    """OCR by Azure Document Intelligence."""

    endpoint: str | None = key(ENDPOINT, "URL of your resource")
    model: str = key(_MODEL_NAME, "prebuilt-layout, or prebuilt-read without tables", default="prebuilt-layout")
    api_key: SecretText | None = key(Secret(nullable=True), "key of the resource")
    api_key_file: Path | None = key(Location(nullable=True), "file that holds the key, instead of api_key")
    concurrency: int = key(_CONCURRENT_PAGES, "pages sent in parallel", default=4)
    timeout_seconds: int = key(Integer(minimum=1, maximum=3600), "longest wait for a response", default=120)


class OcrConfig(NamedTuple):
    """OCR of scanned pages."""

    engine: str = key(
        OneOf("auto", "tesseract", "rapidocr", "gemini", "azure", "off"),
        "auto (what is installed), tesseract, rapidocr, gemini or azure (network services), or off",
        default="auto",
    )
    languages: tuple[str, ...] = key(
        ListOf(Text(r"[A-Za-z_/-]{2,40}", message="must be a language as Tesseract names it, such as deu"), of="names"),
        "languages of the pages, by Tesseract's names; none: detected page by page",
        default=(),
    )
    tesseract: str = key(
        Text(".+", message="must not be empty"), "command of Tesseract: name or path", default="tesseract"
    )
    max_pages_per_run: int | None = key(
        Integer(minimum=0, nullable=True), "most pages to read in one run; null: all that wait"
    )
    cache_size: int = key(Integer(minimum=0), "size of the OCR cache, in bytes", default=1_073_741_824)
    gemini: GeminiConfig = section(GeminiConfig)
    azure: AzureConfig = section(AzureConfig)


def _reader_issues(extractor: ExtractorConfig) -> Iterator[ValidationIssue]:
    if bool(extractor.command) == bool(extractor.entry_point):
        yield ValidationIssue(
            "needs either a command or an entry_point", [name for name in _READER_KEYS if getattr(extractor, name)]
        )
    elif extractor.command and not any(FILE in argument for argument in extractor.command[1:]):
        yield ValidationIssue(
            f"needs {FILE} among the arguments, for the path of the file", extractor.command, ".command"
        )
