"""Indexing and chunking: the keys of `indexing`."""

from enum import StrEnum
from typing import Final, NamedTuple

from directory_indexer.config.extractors import ExtractorConfig
from directory_indexer.config.keys import key
from directory_indexer.config.kinds import Amount, Flag, OneOf, Record, Several, Text, WholeNumber


class EmbeddingMode(StrEnum):
    """Selection of the chunks that are embedded by the model."""

    COMPLETE = "complete"
    ON_DEMAND = "on-demand"
    OFF = "off"


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
    suffixes=Several(Text(r"[A-Za-z0-9_+-]{1,20}", otherwise="must be a suffix without a dot"), of="suffixes"),
    command=Several(Text(), of="arguments"),
    entry_point=Text(),
    output=OneOf("text", "markdown", "html"),
    seconds=WholeNumber(at_least=1, at_most=3600),
)


class IndexingConfig(NamedTuple):
    """What is indexed, and how it is cut."""

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
        Several(Text(), of="texts"),
        "what to leave out, in the words of .gitignore",
        default=DEFAULT_IGNORE_PATTERNS,
    )
    respect_gitignore: bool = key(Flag(), "leave out what git ignores", default=True)
    include_hidden: bool = key(Flag(), "index files and directories whose name starts with a dot", default=False)
    include_secrets: bool = key(Flag(), "index files that are secrets, and mask nothing in others", default=False)
    follow_symlinks: bool = key(Flag(), "follow symbolic links to directories and files", default=False)
    git_history: bool | int | str = key(
        Amount(),
        "index commits of git repositories: true for all, a number for the newest, a day (2025-01-31) for those since",
        default=False,
    )
    concurrency: int = key(
        WholeNumber(at_least=1, at_most=256), "how many files are read, and requests made, at a time", default=4
    )
    extractors: tuple[ExtractorConfig, ...] = key(
        Several(_EXTRACTOR, of="objects"),
        "what reads further kinds of files: commands, and extensions that are installed",
        default=(),
    )
