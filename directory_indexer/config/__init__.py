"""The loaded configuration, with the origin of every value, and the collections with the locations of their indexes.

Precedence: option, environment, file, default. The configuration is merged and validated as a whole: all mistakes are
reported at once, and no message shows the key of a service.

The default collection is in the data directory itself; every other one has its own database and vectors below it, so
that no answer of one collection can contain anything of another.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, NewType

from directory_indexer.config.indexing import PROVIDERS
from directory_indexer.config.settings import (
    KEYS,
    SECTIONS,
    Config,
    Setting,
    Source,
    Value,
    absolute_path,
    build_config,
    conflicts,
    settings_in_environment,
    settings_in_file,
    variable_of,
)
from directory_indexer.config.value_types import Secret, SecretText, ValidationIssue
from directory_indexer.core.errors import ConfigError, UsageError
from directory_indexer.core.ids import DocId, doc_id
from directory_indexer.core.kept_files import is_secret_readable_by_others, others_can_write
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, file_path, lies_in

with lazily:
    import difflib

_MAX_VALUE_CHARS = 60
_SERVER_ONLY = ("api_key", "ca_file", "grpc_port", "shard_number", "replication_factor", "read_consistency")
_SERVICE_ONLY = ("endpoint", "api_key", "query_prefix", "document_prefix", "dimensions", "keep_alive")


class LoadedConfig(NamedTuple):
    """The validated configuration and its origins.

    `file` is the file that was read, if any. `settings` holds every key for display: paths are text, and the
    key of a service is asterisks. `collection` is the one whose index the configuration names.
    """

    config: Config
    data_dir: Path
    file: Path | None
    settings: tuple[Setting[object], ...]
    warnings: tuple[str, ...]
    collection: str = "default"


def load_config(*, file: Path | None, data_dir: Path | None, environ: Mapping[str, str]) -> LoadedConfig:
    """Read and validate the configuration; `file` and `data_dir` are command-line options.

    Raises:
        ConfigError: with every mistake, its key and its source.
    """
    directory = data_directory(data_dir=data_dir, environ=environ)
    location = config_location(file=file, data_dir=data_dir, environ=environ)
    in_file = settings_in_file(location.value, environ)
    if in_file is None and location.source != Source.DEFAULT:
        hint = f"`dirindex config init --config '{location.value}'` writes one"
        raise ConfigError(f"'{location.value}' does not exist ({location.where})", hint=hint)
    settings_by_key = {setting.key: setting for setting in (*(in_file or ()), *settings_in_environment(environ))}
    mistakes = [_unknown(setting) for setting in settings_by_key.values() if setting.key not in KEYS]
    chosen = {key: setting for key, setting in settings_by_key.items() if key in KEYS}
    mistakes += _read_key_files(chosen)
    settings = _with_defaults(chosen, directory.value)
    config = _validate(settings, mistakes)
    return LoadedConfig(
        config=config,
        data_dir=directory.value,
        file=None if in_file is None else location.value,
        settings=(_displayed(location), _displayed(directory), *(_displayed(settings[key]) for key in KEYS)),
        warnings=(*_readable(settings), *_unused(config, settings), *_unencrypted(config), *_writable(config)),
    )


def data_directory(*, data_dir: Path | None, environ: Mapping[str, str]) -> Setting[Path]:
    """Return the directory that contains everything by default."""
    if data_dir is not None:
        return Setting("data_dir", absolute_path(str(data_dir), environ), Source.OPTION, "--data-dir")
    if named := environ.get("DIRINDEX_DATA_DIR"):
        return Setting("data_dir", absolute_path(named, environ), Source.ENVIRONMENT, "DIRINDEX_DATA_DIR")
    return Setting("data_dir", absolute_path("~/.directory-indexer", environ))


def config_location(*, file: Path | None, data_dir: Path | None, environ: Mapping[str, str]) -> Setting[Path]:
    """Return the location of the configuration file, which need not exist."""
    if file is not None:
        return Setting("config_file", absolute_path(str(file), environ), Source.OPTION, "--config")
    if named := environ.get("DIRINDEX_CONFIG"):
        return Setting("config_file", absolute_path(named, environ), Source.ENVIRONMENT, "DIRINDEX_CONFIG")
    return Setting("config_file", data_directory(data_dir=data_dir, environ=environ).value / "config.json")


def _unknown(setting: Setting[object]) -> str:
    if setting.key in SECTIONS:
        return f"{setting.key}: must be an object that holds keys ({setting.where})"
    name = setting.key.rpartition(".")[2]
    if name == "data_dir":
        return f"{setting.key}: there is no such key; use --data-dir or DIRINDEX_DATA_DIR ({setting.where})"
    namesakes = [key for key in KEYS if key.rpartition(".")[2] == name]
    close = namesakes or difflib.get_close_matches(setting.key, [*KEYS, *SECTIONS], n=1, cutoff=0.6)
    # A key in an outer section is the likelier one.
    close = sorted(close, key=lambda key: key.count("."))[:1]
    spelled = [variable_of(key) if setting.source == Source.ENVIRONMENT else key for key in close]
    advice = "".join(f"; did you mean '{key}'?" for key in spelled)
    return f"{setting.key}: there is no such key{advice} ({setting.where})"


def _read_key_files(chosen: dict[str, Setting[object]]) -> Iterator[str]:
    """Replace `api_key` by the content of `api_key_file`, unless the key has a stronger source; yield mistakes."""
    for name in [name for name in chosen if name.endswith("api_key_file")]:
        in_file, key_name = chosen[name], name.removesuffix("_file")
        key = chosen.get(key_name)
        if not isinstance(in_file.value, Path) or any(KEYS[name].type.issues(in_file.value)):
            continue
        if key is None or key.value is None or (key.source, in_file.source) == (Source.FILE, Source.ENVIRONMENT):
            try:
                content = in_file.value.read_bytes().decode("utf-8-sig").strip()
                chosen[key_name] = Setting(key_name, SecretText(content), Source.FILE, str(in_file.value))
            except OSError as error:
                yield f"{name}: '{in_file.value}' cannot be read: {error.strerror} ({in_file.where})"
            except UnicodeDecodeError:
                yield f"{name}: '{in_file.value}' is not UTF-8 ({in_file.where})"
        elif key.source == in_file.source:
            yield f"{name}: give either this or {key_name}, not both ({in_file.where})"


def _with_defaults(chosen: dict[str, Setting[object]], directory: Path) -> dict[str, Setting[object]]:
    """Add the defaults, some of which depend on the data directory and on the provider."""
    provider = chosen.get("embedding.provider", Setting("", "embedded")).value
    usual = PROVIDERS.get(str(provider), PROVIDERS["embedded"])
    dependent: dict[str, object] = {
        "storage.sqlite_path": directory / "data.db",
        "storage.qdrant.path": directory / "qdrant",
        "embedding.provider": "embedded",
        "embedding.model": usual.model,
        "embedding.endpoint": usual.endpoint,
    }
    defaults = {key: Setting(key, dependent.get(key, known.default)) for key, known in KEYS.items()}
    explicit = {key: setting for key, setting in chosen.items() if key not in dependent or setting.value is not None}
    return {**defaults, **explicit}


def _validate(settings: Mapping[str, Setting[object]], mistakes: list[str]) -> Config:
    values = {key: setting.value for key, setting in settings.items()}
    wrong = [(key, issue) for key in KEYS for issue in KEYS[key].type.issues(values[key])]
    mistakes += [_format_issue(key, issue, settings[key].where) for key, issue in wrong]
    right = {key: None if key in dict(wrong) else value for key, value in values.items()}
    mistakes += [_format_issue(key, issue, settings[key].where) for key, issue in conflicts(right)]
    if mistakes:
        raise ConfigError("\n  ".join(["the configuration has mistakes", *mistakes]))
    return build_config(values)


def _format_issue(key: str, issue: ValidationIssue, where: str) -> str:
    return f"{key}{issue.path}: {issue.message}{_rejected_value(key, issue.value)} ({where})"


def _rejected_value(key: str, value: object) -> str:
    if isinstance(KEYS[key].type, Secret) or "@" in str(value):  # a URL may hold a password
        return ""
    text = json.dumps(value, default=str)
    return f", not {text if len(text) <= _MAX_VALUE_CHARS else text[:_MAX_VALUE_CHARS] + '…'}"


def _displayed(setting: Setting[Value]) -> Setting[object]:
    value: object = setting.value
    if isinstance(value, tuple):
        value = tuple(map(str, value))
    elif not isinstance(value, str | int | None):
        value = str(value)
    return Setting(setting.key, value, setting.source, setting.origin)


def _readable(settings: Mapping[str, Setting[object]]) -> Iterator[str]:
    """Yield a warning for each file with a service's key that others can read."""
    files = {
        Path(setting.origin)
        for setting in settings.values()
        if setting.source == Source.FILE and isinstance(setting.value, SecretText)
    }
    for file in sorted(files):
        if os.name == "posix" and is_secret_readable_by_others(file.stat()):
            yield f"'{file}' holds the key of a service and others can read it; run: chmod 600 '{file}'"


def _writable(config: Config) -> Iterator[str]:
    """Yield a warning for each directory of the index that others can write to."""
    if os.name != "posix":
        return
    for directory in dict.fromkeys((config.storage.sqlite_path.parent, config.storage.qdrant.path)):
        try:
            status = directory.stat()
        except OSError:
            continue
        if others_can_write(status, group_may=config.storage.shared_with_group):
            yield f"others can change the index in '{directory}'; run: chmod 700 '{directory}'"
        if os.geteuid() == 0 and status.st_uid != 0:
            yield f"'{directory}' belongs to another user, who can change the index in it"


def _unused(config: Config, settings: Mapping[str, Setting[object]]) -> Iterator[str]:
    """Yield a warning for each setting that has no effect in combination with others."""
    unused: list[str] = []
    if config.embedding.provider == "embedded":
        unused += [f"embedding.{name}" for name in _SERVICE_ONLY]
    if config.storage.qdrant.endpoint is None:
        unused += [f"storage.qdrant.{name}" for name in _SERVER_ONLY]
    for setting in (settings[key] for key in unused if key in settings):
        if setting.value is not None:
            yield f"{setting.key} has no effect with the embedded engine ({setting.where})"


def _unencrypted(config: Config) -> Iterator[str]:
    """Yield a warning for each key that is sent unencrypted."""
    qdrant = config.storage.qdrant
    if qdrant.api_key and _is_unencrypted(qdrant.endpoint):
        yield f"storage.qdrant.api_key is sent unencrypted to {qdrant.endpoint}; use https://"
    for name in ("gemini", "azure"):
        service = getattr(config.ocr, name)
        if service.api_key and _is_unencrypted(service.endpoint):
            address = service.endpoint.partition("?")[0]  # some services expect the key in the query
            yield f"ocr.{name}.api_key is sent unencrypted to {address}; use https://"


def _is_unencrypted(endpoint: str | None) -> bool:
    return bool(re.match(r"http://(?!localhost\b|127\.0\.0\.1\b|\[::1\])", endpoint or ""))


CollectionName = NewType("CollectionName", str)
"""The name of a collection, made by `collection_name`: safe in file systems and URLs."""

DEFAULT: Final = CollectionName("default")
"""The index of the data directory itself."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""Device names on Windows."""

_MAX_MESSAGE_CHARS: Final = 80
_DOC_ID_PART: Final = 2
"""A document is stored at `/ab/abcd…/name` below the directory of documents."""


def collection_name(text: str) -> CollectionName:
    """Validate the name of a collection.

    Raises:
        UsageError: it is invalid.
    """
    if not _NAME.fullmatch(text) or _RESERVED.fullmatch(text):
        raise UsageError(
            f"'{text[:_MAX_MESSAGE_CHARS]}' is not a valid name for a collection",
            hint="use 1 to 63 lower-case letters, digits and hyphens, with no hyphen first or last",
        )
    return CollectionName(text)


def config_of_collection(loaded: LoadedConfig, name: CollectionName) -> LoadedConfig:
    """Return the configuration with the index of a collection instead of the configured one."""
    if name == DEFAULT:
        return loaded
    directory = collection_directory(loaded.data_dir, name)
    storage = loaded.config.storage
    qdrant = storage.qdrant._replace(path=directory / "qdrant")
    storage = storage._replace(sqlite_path=directory / "data.db", qdrant=qdrant)
    return loaded._replace(config=loaded.config._replace(storage=storage), collection=name)


def team_directory(data_dir: Path) -> Path:
    """Return the directory of collections, documents and keys, which no walk enters."""
    return data_dir / "team"


def registry_path(data_dir: Path) -> Path:
    """Return the path of the database of collections, documents and keys."""
    return team_directory(data_dir) / "team.db"


def collection_directory(data_dir: Path, name: str) -> Path:
    """Return the directory of a collection: its documents, and its index unless it is the default one."""
    return team_directory(data_dir) / "collections" / name


def doc_id_of(path: FilePath, directory: FilePath) -> DocId | None:
    """Return the id of the document that a file is or belongs to, by its path below the documents.

    None for other files.
    """
    if not lies_in(path, directory):
        return None
    parts = path[len(directory) :].split(os.sep)
    return doc_id(parts[_DOC_ID_PART]) if len(parts) > _DOC_ID_PART + 1 else None


def directory_of_document(doc_id: DocId, directory: Path) -> Path:
    """Return the directory of the original of one document, below that of the documents of its collection."""
    return directory / doc_id[:2] / doc_id


def documents_directory(data_dir: Path, name: str) -> Path:
    """Return the directory of the originals of a collection, which its index tracks."""
    return collection_directory(data_dir, name) / "documents"


def documents_of(loaded: LoadedConfig) -> FilePath:
    """Return the directory of the documents of the configured collection, as it is named in the index."""
    return file_path(os.path.realpath(documents_directory(loaded.data_dir, loaded.collection)))
