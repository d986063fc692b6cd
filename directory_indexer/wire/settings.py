"""Records of the settings with descriptions."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from directory_indexer.config.sources import KEYS
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.config import LoadedConfig


class ExplainedSetting(NamedTuple):
    """One setting, and what it is for."""

    key: Annotated[str, "Its key."]
    value: Annotated[Any, "Its value; keys of services are masked."]
    default: Annotated[Any, "Its default; null if that depends on something else."]
    source: Annotated[str, "option, environment, file or default."]
    origin: Annotated[str | None, "Name of the option, variable or file."]
    words: Annotated[str, "What it does; empty if it is not a key of the configuration file."]


class SettingsAnswer(NamedTuple):
    """Every setting, and what it is for."""

    file: Annotated[str | None, "The configuration file that was read."]
    settings: Annotated[tuple[ExplainedSetting, ...], "Every setting, with `config_file` and `data_dir` first."]
    warnings: Annotated[tuple[str, ...], "What has no effect, or is risky."]


def settings_answer(loaded: LoadedConfig) -> SettingsAnswer:
    """Return the record of every setting with its origin and description."""
    settings = tuple(
        ExplainedSetting(
            key=entry.key,
            value=entry.value,
            default=KEYS[entry.key].default if entry.key in KEYS else None,
            source=entry.source,
            origin=entry.origin or None,
            words=KEYS[entry.key].words if entry.key in KEYS else "",
        )
        for entry in loaded.settings
    )
    return SettingsAnswer(None if loaded.file is None else str(loaded.file), settings, tuple(loaded.warnings))
