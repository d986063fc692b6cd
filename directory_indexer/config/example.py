"""The configuration file as it is written for a person: every key with its default and what it is for."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, TypeGuard

from pydantic import BaseModel

from directory_indexer.config.settings import Config
from directory_indexer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic.fields import FieldInfo

_INTRODUCTION = """\
// The configuration of dirindex. Every key is shown with its default: take the // away to change one.
// A variable such as DIRINDEX_EMBEDDING__MODEL is stronger than this file. Paths may start with ~/.
"""


def commented_example() -> str:
    """Write the example in which every key is commented out and explained."""
    return "\n".join([_INTRODUCTION + "{", *_section(Config, "  "), "}", ""])


def plain_example(model: type[BaseModel] = Config) -> dict[str, object]:
    """Give every key with its default, as plain JSON; `null` where the default depends on something else."""
    return {
        name: plain_example(field.annotation) if _is_section(field.annotation) else _default(field)
        for name, field in model.model_fields.items()
    }


def write_example(path: Path) -> None:
    """Write the commented example to a new file that only its owner can read, for it may hold a key one day.

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


def _section(model: type[BaseModel], indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if _is_section(field.annotation):
            yield f"{indent}// {field.annotation.__doc__}"
            yield f'{indent}"{name}": {{'
            yield from _section(field.annotation, indent + "  ")
            yield f"{indent}}},"
        else:
            yield f"{indent}// {field.description}"
            yield f'{indent}// "{name}": {json.dumps(_default(field))},'


def _is_section(annotation: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _default(field: FieldInfo) -> object:
    return None if field.is_required() else field.default
