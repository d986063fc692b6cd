"""Settings and keys of a backup that need consent: they run commands, name addresses or open the index.

Anybody with write access to a backup may have chosen them, so they are listed and accepted only with consent. Settings
on the list below are harmless; all others need consent, including those that a later version adds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.config.embedding import EMBEDDED_MODELS
from directory_indexer.config.jsonc import parse_jsonc
from directory_indexer.config.kinds import Secret
from directory_indexer.config.sources import KEYS, SECTIONS
from directory_indexer.databases.copying import ANOTHER_BACKUP
from directory_indexer.errors import StoreError
from directory_indexer.registry.keys import Key, Keys
from directory_indexer.registry.store import Registry

_MAX_LINE_CHARACTERS: Final = 400

_HARMLESS: Final = frozenset(
    {
        *("embedding.dimensions", "embedding.batch_size", "indexing.chunk_size", "indexing.embedding"),
        *("indexing.overlap", "indexing.max_file_size", "indexing.ignore_patterns", "indexing.respect_gitignore"),
        *("indexing.include_hidden", "indexing.git_history", "indexing.concurrency", "ocr.languages"),
        *("ocr.max_pages_per_run", "ocr.cache_size", "monitoring.background_embedding", "monitoring.battery_percent"),
        *("monitoring.file_watching", "monitoring.batch_size", "searching.embedding_ms", "searching.refresh_ms"),
        *("serving.requests_per_second", "serving.embedding_ms"),
    }
)
"""Settings of amounts, intervals and file names, within the tracked directories."""

_HARMLESS_VALUES: Final[Mapping[str, frozenset[object]]] = {
    "embedding.provider": frozenset({"embedded"}),
    "embedding.model": frozenset({*EMBEDDED_MODELS, None}),
    "ocr.engine": frozenset({"auto", "rapidocr", "off"}),
}
"""Values that stay on this machine, of settings that can also point elsewhere."""


class IncomingSettings(NamedTuple):
    """The settings of a backup that need no consent, as a tree, and a line for each of the others."""

    harmless: Mapping[str, Any]
    others: tuple[str, ...]


def incoming_settings(content: bytes, *, where: str) -> IncomingSettings:
    """Parse the settings of a configuration file, separating those that need consent.

    Raises:
        StoreError: it is not a configuration, or a harmless setting has an invalid value.
    """
    try:
        tree = parse_jsonc(content.decode("utf-8-sig"))
        leaves = list(_leaves(tree if isinstance(tree, dict) else {"": tree}))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"'{where}' of the backup is not JSON", hint=ANOTHER_BACKUP) from error
    harmless: dict[str, Any] = {}
    others: list[str] = []
    for key, value in leaves:
        if not _is_harmless(key, value):
            others.append(f"{key[:_MAX_LINE_CHARACTERS]!a} = {_format_value(key, value)}")
            continue
        for mistake in KEYS[key].kind.mistakes(KEYS[key].kind.typed(value, Path)):
            raise StoreError(f"'{where}' of the backup: {key} {mistake.words}", hint=ANOTHER_BACKUP)
        *sections, name = key.split(".")
        place = harmless
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return IncomingSettings(harmless, tuple(others))


def incoming_keys(registry: Registry, present: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys of a registry that do not exist now with the same access."""
    known = {_access(key) for key in present}
    return tuple(key for key in Keys(registry).all() if _access(key) not in known)


def key_line(key: Key) -> str:
    """Describe the access of a key."""
    collections = "all collections" if key.collections is None else ", ".join(sorted(key.collections))
    return f"key '{key.name}' ({key.right}, {collections})"


def _access(key: Key) -> tuple[object, ...]:
    return key.name, key.digest, key.right, key.collections, key.expires_at


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if key in SECTIONS and isinstance(value, dict):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _is_harmless(key: str, value: object) -> bool:
    if key in _HARMLESS_VALUES:
        return isinstance(value, str | None) and value in _HARMLESS_VALUES[key]
    return key in _HARMLESS


def _format_value(key: str, value: object) -> str:
    if key in KEYS and isinstance(KEYS[key].kind, Secret):
        return "*" * 10
    text = json.dumps(value)
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[:_MAX_LINE_CHARACTERS]}…"
