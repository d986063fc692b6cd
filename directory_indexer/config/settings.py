"""The whole configuration by section, with checks across keys, an example file, and its sources: file and environment.

The file is JSON with comments. Keys of services are wrapped as soon as they are read, and the value of an unknown key
is dropped, for it may be a misspelt key of a service. Paths become absolute here: those in a file relative to it, all
others to the working directory. Comments and trailing commas are replaced by blanks, so that a syntax error is still
reported at its line and column.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

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
from directory_indexer.config.value_types import Key, ValidationIssue, entries_of, keys_below, section
from directory_indexer.core.errors import ConfigError, UsageError

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


Value = TypeVar("Value")

_PREFIX = "DIRINDEX_"
_PATHS = frozenset(
    {
        *("DIRINDEX_CONFIG", "DIRINDEX_DATA_DIR", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "TMPDIR"),
    }
)


class Source(StrEnum):
    """Sources of settings, strongest first."""

    OPTION = "option"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


class Setting(NamedTuple, Generic[Value]):
    """One key with its value and origin; `origin` is the name of the option, variable or file."""

    key: str
    value: Value
    source: Source = Source.DEFAULT
    origin: str = ""

    @property
    def where(self) -> str:
        """The source and origin of the value, for people."""
        return f"{self.source} {self.origin}".rstrip()


KEYS = dict(keys_below(Config))
"""All keys by dotted name."""

SECTIONS = frozenset(key.rpartition(".")[0] for key in KEYS)
"""Names of sections."""


def settings_in_file(path: Path, environ: Mapping[str, str]) -> tuple[Setting[object], ...] | None:
    """Read a configuration file; return None if there is none.

    Raises:
        ConfigError: the file cannot be read, or holds no JSON object.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"'{path}' cannot be read: {error.strerror}") from error
    return tuple(
        Setting(key, _convert(key, value, environ, base=path.parent), Source.FILE, str(path))
        for key, value in _leaves(_parse_file(content, path))
    )


def settings_in_environment(environ: Mapping[str, str]) -> tuple[Setting[object], ...]:
    """Return the settings in environment variables; an empty one counts as not set, and `null` as the default."""
    return tuple(
        Setting(key, _convert(key, _parse(key, text), environ), Source.ENVIRONMENT, variable)
        for variable, text in sorted(environ.items())
        if text and (key := _key_of(variable))
    )


def with_absolute_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables whose paths are absolute, for a process in another working directory."""
    return {name: _with_absolute_paths(name, text, environ) for name, text in environ.items()}


def variable_of(key: str) -> str:
    """Return the environment variable of a key."""
    return _PREFIX + key.upper().replace(".", "__")


def absolute_path(path: str, environ: Mapping[str, str], *, base: Path | None = None) -> Path:
    """Return an absolute path, with `~` as the home directory of the environment.

    Raises:
        ConfigError: the path starts with `~`, and there is no home directory.
    """
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        path = _home(environ) + path[1:]
    return Path(base or "", path).absolute()


def _with_absolute_paths(variable: str, text: str, environ: Mapping[str, str]) -> str:
    if variable in _PATHS and text:
        return str(absolute_path(text, environ))
    key = _key_of(variable)
    value = _convert(key, _parse(key, text), environ) if key and text else None
    several = value if isinstance(value, tuple) else (value,)
    return ",".join(map(str, several)) if several and all(isinstance(item, Path) for item in several) else text


def _home(environ: Mapping[str, str]) -> str:
    name = "USERPROFILE" if os.name == "nt" else "HOME"
    try:
        # Python returns the root directory for an empty variable.
        home = environ[name] if name in environ else str(Path.home())
    except RuntimeError:
        home = ""
    if not home:
        raise ConfigError("there is no home directory", hint="set HOME, or name a directory: --data-dir")
    return home


def _parse_file(content: bytes, path: Path) -> dict[str, object]:
    try:
        tree = parse_jsonc(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        mistake = (
            f"line {error.lineno}, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')}"
        )
    except UnicodeDecodeError as error:
        mistake = f"byte {error.start}: not UTF-8"
    except RecursionError:
        mistake = "nested too deep"
    else:
        if isinstance(tree, dict):
            return tree
        mistake = "must hold one JSON object"
    # Raised outside the handlers: their errors contain the text of the file, which may hold the key of a service.
    raise ConfigError(f"'{path}': {mistake}")


def _leaves(tree: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        key = prefix + name
        if key in SECTIONS and isinstance(value, dict):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _key_of(variable: str) -> str | None:
    name = variable.removeprefix(_PREFIX)
    is_setting = name != variable and ("__" in name or name.partition("_")[0].lower() in SECTIONS)
    return name.lower().replace("__", ".") if is_setting else None


def _parse(key: str, text: str) -> object:
    return None if key not in KEYS or text == "null" else KEYS[key].type.parse(text)


def _convert(key: str, value: object, environ: Mapping[str, str], *, base: Path | None = None) -> object:
    if key not in KEYS:
        return None
    return KEYS[key].type.convert(value, lambda path: absolute_path(path, environ, base=base))


_STRING = r'"(?:\\.|[^"\\\n])*"'
_STRING_OR_COMMENT = rf"(?s){_STRING}|//[^\n]*|/\*.*?\*/"
_STRING_OR_LAST_COMMA = rf"{_STRING}|,(?=\s*[}}\]])"


def parse_jsonc(text: str) -> object:
    """Parse JSON with comments.

    Raises:
        json.JSONDecodeError: with the line and column of the mistake.
    """
    without_comments = re.sub(_STRING_OR_COMMENT, _keep_strings, text)
    parsed: object = json.loads(re.sub(_STRING_OR_LAST_COMMA, _keep_strings, without_comments))
    return parsed


def _keep_strings(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])
