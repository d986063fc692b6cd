"""Settings of indexing: files, chunks, configured extractors, embedding providers and OCR.

The keys of `indexing`, `embedding` and `ocr`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.config.kinds import (
    ENDPOINT,
    CountOrDate,
    Flag,
    ListOf,
    Location,
    OneOf,
    Record,
    Secret,
    SecretText,
    Text,
    ValidationIssue,
    WholeNumber,
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


_READERS: Final = ("command", "entry_point")

DEFAULT_IGNORE_PATTERNS: Final = (
    *(".git", ".hg", ".svn"),
    *("node_modules", "bower_components", "target", "venv", ".venv", ".tox", ".nox", ".terraform", ".gradle"),
    *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", "*.egg-info"),
    *("site-packages", "dist-packages", ".cache", ".m2", ".npm", ".pnpm-store", ".bun", ".nuget", ".conda", ".rustup"),
    *("**/.cargo/registry/", "**/pkg/mod/", "**/Library/Caches/", "**/AppData/Local/", "**/DerivedData/"),
)
"""Directories that tools download, build or cache; no name that a directory of documents may have."""


_NAME = Text(r"[a-z0-9][a-z0-9-]{0,40}", otherwise="must be a word of lower-case letters, digits and hyphens")
_EXTRACTOR = Record(
    ExtractorConfig,
    kind=_NAME,
    suffixes=ListOf(Text(r"[A-Za-z0-9_+-]{1,20}", otherwise="must be a suffix without a dot"), of="suffixes"),
    command=ListOf(Text(), of="arguments"),
    entry_point=Text(),
    output=OneOf("text", "markdown", "html"),
    seconds=WholeNumber(at_least=1, at_most=3600),
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

_PAGES_AT_A_TIME = WholeNumber(at_least=1, at_most=128)
_MODEL_NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", otherwise="must be the name of a model")

READING_SERVICES = frozenset({"gemini", "azure"})
"""Engines that are network services."""


def extractor_issues(extractors: Iterable[ExtractorConfig]) -> Iterator[ValidationIssue]:
    """Yield the extractors that name no reader or two, or claim what another one has."""
    kinds: dict[str, int] = {}
    owners: dict[str, int] = {}
    for number, extractor in enumerate(extractors):
        yield from (
            ValidationIssue(mistake.words, mistake.value, f".{number}{mistake.place}")
            for mistake in _mistakes_of(extractor)
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

    chunk_size: int = key(
        WholeNumber(at_least=16, at_most=8192), "longest passage, in tokens of the model", default=256
    )
    embedding: str = key(
        OneOf(*EmbeddingMode),
        "complete: runs embed every passage; on-demand: only searches embed what they come upon; off: words alone",
        default=EmbeddingMode.COMPLETE.value,
    )
    overlap: int = key(WholeNumber(at_least=0), "tokens that a passage shares with the one before", default=0)
    max_file_size: int = key(WholeNumber(at_least=1), "larger files are left out, in bytes", default=10_485_760)
    ignore_patterns: tuple[str, ...] = key(
        ListOf(Text(), of="texts"),
        "what to leave out, in the words of .gitignore",
        default=DEFAULT_IGNORE_PATTERNS,
    )
    respect_gitignore: bool = key(Flag(), "leave out what git ignores", default=True)
    include_hidden: bool = key(Flag(), "index files and directories whose name starts with a dot", default=False)
    include_secrets: bool = key(Flag(), "index files that are secrets, and mask nothing in others", default=False)
    follow_symlinks: bool = key(Flag(), "follow symbolic links to directories and files", default=False)
    git_history: bool | int | str = key(
        CountOrDate(),
        "index commits of git repositories: true for all, a number for the newest, a day (2025-01-31) for those since",
        default=False,
    )
    concurrency: int = key(
        WholeNumber(at_least=1, at_most=256), "how many files are read, and requests made, at a time", default=4
    )
    extractors: tuple[ExtractorConfig, ...] = key(
        ListOf(_EXTRACTOR, of="objects"),
        "what reads further kinds of files: commands, and extensions that are installed",
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


class GeminiConfig(NamedTuple):
    """Reading of pages by a model of Google's Gemini API."""

    endpoint: str | None = key(ENDPOINT, "URL of the service", default="https://generativelanguage.googleapis.com")
    model: str = key(_MODEL_NAME, "a model that takes pictures", default="gemini-3.5-flash-lite")
    api_key: SecretText | None = key(Secret(or_null=True), "key of the service")
    api_key_file: Path | None = key(Location(or_null=True), "file that holds the key, instead of api_key")
    concurrency: int = key(_PAGES_AT_A_TIME, "how many pages are sent at a time", default=4)
    timeout_seconds: int = key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=120)


class AzureConfig(NamedTuple):
    """Reading of pages by Azure Document Intelligence."""

    endpoint: str | None = key(ENDPOINT, "URL of your resource")
    model: str = key(_MODEL_NAME, "prebuilt-layout, or prebuilt-read without tables", default="prebuilt-layout")
    api_key: SecretText | None = key(Secret(or_null=True), "key of the resource")
    api_key_file: Path | None = key(Location(or_null=True), "file that holds the key, instead of api_key")
    concurrency: int = key(_PAGES_AT_A_TIME, "how many pages are sent at a time", default=4)
    timeout_seconds: int = key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=120)


class OcrConfig(NamedTuple):
    """OCR of pages that are pictures of text."""

    engine: str = key(
        OneOf("auto", "tesseract", "rapidocr", "gemini", "azure", "off"),
        "auto (what is installed), tesseract, rapidocr, gemini or azure (services on the network), or off",
        default="auto",
    )
    languages: tuple[str, ...] = key(
        ListOf(
            Text(r"[A-Za-z_/-]{2,40}", otherwise="must be a language as Tesseract names it, such as deu"), of="names"
        ),
        "languages of the pages, as Tesseract names them; none: each page in the one that it turns out to be in",
        default=(),
    )
    tesseract: str = key(
        Text(".+", otherwise="must not be empty"), "command of Tesseract: its name or its path", default="tesseract"
    )
    max_pages_per_run: int | None = key(
        WholeNumber(at_least=0, or_null=True), "so many pages are read in one run; null: all that wait"
    )
    cache_size: int = key(WholeNumber(at_least=0), "room for what was read on pages, in bytes", default=1_073_741_824)
    gemini: GeminiConfig = section(GeminiConfig)
    azure: AzureConfig = section(AzureConfig)


def _mistakes_of(extractor: ExtractorConfig) -> Iterator[ValidationIssue]:
    if bool(extractor.command) == bool(extractor.entry_point):
        yield ValidationIssue(
            "needs either a command or an entry_point", [name for name in _READERS if getattr(extractor, name)]
        )
    elif extractor.command and not any(FILE in argument for argument in extractor.command[1:]):
        yield ValidationIssue(
            f"needs {FILE} among the arguments, for the path of the file", extractor.command, ".command"
        )
