"""Recipients of an Outlook message: those of its recipient table, which has their names, and of its headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.extractors.mail.headers import Headers
from directory_indexer.extractors.mail.outlook_properties import Properties
from directory_indexer.extractors.properties import one_value


class People(NamedTuple):
    """All recipients of a message."""

    to: tuple[str, ...]
    copied: tuple[str, ...]
    blind: tuple[str, ...]
    """Recipients of a blind copy, whom only the sender knows."""


def people_of(message: Properties, headers: Headers) -> People:
    """Return the recipients of a message."""
    listed: dict[int, list[str]] = {kind: [] for kind in _KINDS}
    for recipient in message.within(_RECIPIENT)[:_MOST_RECIPIENTS]:
        # A message that was sent again has flags besides the kind.
        listed.get(recipient.numbers.get(_KIND, _TO) & _KIND_ALONE, listed[_TO]).append(
            person(recipient.text("3001", "3A20"), recipient.text("39FE", "3003"))
        )
    to, copied, blind = (
        _merge_people((*listed[kind], *headers.everyone(name))) or _split_names(message.text(tag))
        for kind, (name, tag) in _KINDS.items()
    )
    return People(to, copied, blind)


def person(name: str, address: str) -> str:
    """Format a name with its address; an address of a directory (X.500) is left out, since no person knows it."""
    name, address = one_value(name).strip("'\" "), one_value(address)
    if "@" not in address:
        return "" if name.upper().startswith(_DIRECTORIES) else name or _without_directory(address)
    return f"{name} <{address}>" if name and name.lower() != address.lower() else address


def _without_directory(address: str) -> str:
    return "" if address.upper().startswith(_DIRECTORIES) else address


def _merge_people(people: Iterable[str]) -> tuple[str, ...]:
    """Return each person once, in the fullest form."""
    longest: dict[str, str] = {}
    for recipient in filter(None, people):
        key = _address(recipient) or recipient.lower()
        longest[key] = max(longest.get(key, ""), recipient, key=len)
    named = {recipient.partition(" <")[0].lower() for key, recipient in longest.items() if "@" in key}
    return tuple(recipient for key, recipient in longest.items() if "@" in key or key not in named)


def _address(written: str) -> str:
    return written.rpartition("<")[2].rstrip(">").lower() if "@" in written else ""


def _split_names(names: str) -> tuple[str, ...]:
    """Split the names that Outlook displays, when there is nothing else."""
    return tuple(filter(None, (person(name, "") for name in names.replace("\0", "").split(";")[:_MOST_RECIPIENTS])))


_RECIPIENT: Final = "__recip_version1.0_"
_MOST_RECIPIENTS: Final = 2_000
_KIND: Final = 0x0C15
_KIND_ALONE: Final = 0xF
_TO: Final = 1
_KINDS: Final = {_TO: ("to", "0E04"), 2: ("cc", "0E03"), 3: ("bcc", "0E02")}
_DIRECTORIES: Final = ("/O=", "/CN=", "IMCEAEX-")
