"""The settings, explained."""

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
    """Describe every setting with its origin and what it does."""
    settings = tuple(
        ExplainedSetting(
            key=one.key,
            value=one.value,
            default=KEYS[one.key].default if one.key in KEYS else None,
            source=one.source,
            origin=one.origin or None,
            words=KEYS[one.key].words if one.key in KEYS else "",
        )
        for one in loaded.settings
    )
    return SettingsAnswer(None if loaded.file is None else str(loaded.file), settings, tuple(loaded.warnings))
