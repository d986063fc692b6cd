"""Configured extractors of further formats, and their validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.config.kinds import Mistake

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


def mistakes_in(extractors: Iterable[ExtractorConfig]) -> Iterator[Mistake]:
    """Yield the extractors that name no reader or two, or claim what another one has."""
    kinds: dict[str, int] = {}
    owners: dict[str, int] = {}
    for number, extractor in enumerate(extractors):
        yield from (
            Mistake(mistake.words, mistake.value, f".{number}{mistake.place}") for mistake in _mistakes_of(extractor)
        )
        if (owner := kinds.setdefault(extractor.kind, number)) != number:
            yield Mistake(f"must be a kind that extractor {owner} does not have", extractor.kind, f".{number}.kind")
        for suffix in extractor.suffixes:
            if (owner := owners.setdefault(suffix.lower(), number)) != number:
                yield Mistake(f"must be suffixes that extractor {owner} does not have", suffix, f".{number}.suffixes")


def _mistakes_of(extractor: ExtractorConfig) -> Iterator[Mistake]:
    if bool(extractor.command) == bool(extractor.entry_point):
        yield Mistake(
            "needs either a command or an entry_point", [name for name in _READERS if getattr(extractor, name)]
        )
    elif extractor.command and not any(FILE in argument for argument in extractor.command[1:]):
        yield Mistake(f"needs {FILE} among the arguments, for the path of the file", extractor.command, ".command")


_READERS: Final = ("command", "entry_point")
