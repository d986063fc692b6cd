"""Sources of settings: the configuration file, which is JSON with comments, and the environment.

Keys of services are wrapped as soon as they are read, and the value of an unknown key is dropped, for it may be a
misspelt key of a service. Paths become absolute here: those in a file relative to it, all others to the working
directory. Comments and trailing commas are replaced by blanks, so that a syntax error is still reported at its line and
column.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from directory_indexer.config.settings import Config
from directory_indexer.config.value_types import keys_below
from directory_indexer.core.errors import ConfigError

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
