"""Formats that the configuration adds: what reads one, and what is wrong with a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.config.kinds import Mistake

FILE: Final = "{file}"
"""Stands in the arguments of a command for the path of the file that it reads."""


class ExtractorConfig(NamedTuple):
    """What reads files of one more kind: a command, or an installed extension by the name of its entry point."""

    kind: str
    suffixes: tuple[str, ...]
    command: tuple[str, ...] = ()
    entry_point: str = ""
    output: str = "text"
    seconds: int = 60


def mistakes_in(extractors: Iterable[ExtractorConfig]) -> Iterator[Mistake]:
    """Tell which of them do not say in one way what reads a file, or want what another has."""
    kinds: dict[str, int] = {}
    owners: dict[str, int] = {}
    for number, one in enumerate(extractors):
        yield from (Mistake(found.words, found.value, f".{number}{found.place}") for found in _mistakes_of(one))
        if (owner := kinds.setdefault(one.kind, number)) != number:
            yield Mistake(f"must be a kind that extractor {owner} does not have", one.kind, f".{number}.kind")
        for suffix in one.suffixes:
            if (owner := owners.setdefault(suffix.lower(), number)) != number:
                yield Mistake(f"must be suffixes that extractor {owner} does not have", suffix, f".{number}.suffixes")


def _mistakes_of(one: ExtractorConfig) -> Iterator[Mistake]:
    if bool(one.command) == bool(one.entry_point):
        yield Mistake("needs either a command or an entry_point", [name for name in _READERS if getattr(one, name)])
    elif one.command and not any(FILE in argument for argument in one.command[1:]):
        yield Mistake(f"needs {FILE} among the arguments, for the path of the file", one.command, ".command")


_READERS: Final = ("command", "entry_point")
