"""To whom a message of Outlook went: its list of recipients, which has their names, and its headers, if it has any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.extractors.mail.headers import Headers
from directory_indexer.extractors.mail.outlook_properties import Properties
from directory_indexer.extractors.properties import one_value


class People(NamedTuple):
    """To whom a message went, all of them."""

    to: tuple[str, ...]
    copied: tuple[str, ...]
    blind: tuple[str, ...]
    """Those of whom the others are not told; whoever sent the message knows them."""


def people_of(message: Properties, headers: Headers) -> People:
    """Tell to whom a message went."""
    listed: dict[int, list[str]] = {kind: [] for kind in _KINDS}
    for one in message.within(_RECIPIENT)[:_MOST_RECIPIENTS]:
        # Flags stand beside the kind where a message was sent again.
        listed.get(one.numbers.get(_KIND, _TO) & _KIND_ALONE, listed[_TO]).append(
            person(one.text("3001", "3A20"), one.text("39FE", "3003"))
        )
    to, copied, blind = (
        _merged((*listed[kind], *headers.everyone(name))) or _shown(message.text(tag))
        for kind, (name, tag) in _KINDS.items()
    )
    return People(to, copied, blind)


def person(name: str, address: str) -> str:
    """Write a name with its address; one that is of a directory (X.500) is none that people know."""
    name, address = one_value(name).strip("'\" "), one_value(address)
    if "@" not in address:
        return "" if name.upper().startswith(_DIRECTORIES) else name or _known(address)
    return f"{name} <{address}>" if name and name.lower() != address.lower() else address


def _known(address: str) -> str:
    return "" if address.upper().startswith(_DIRECTORIES) else address


def _merged(people: Iterable[str]) -> tuple[str, ...]:
    """Give everybody once, as fully as one of the sources does."""
    found: dict[str, str] = {}
    for one in filter(None, people):
        key = _address(one) or one.lower()
        found[key] = max(found.get(key, ""), one, key=len)
    named = {one.partition(" <")[0].lower() for key, one in found.items() if "@" in key}
    return tuple(one for key, one in found.items() if "@" in key or key not in named)


def _address(written: str) -> str:
    return written.rpartition("<")[2].rstrip(">").lower() if "@" in written else ""


def _shown(names: str) -> tuple[str, ...]:
    """Take apart what Outlook shows where nothing else is there."""
    return tuple(filter(None, (person(one, "") for one in names.replace("\0", "").split(";")[:_MOST_RECIPIENTS])))


_RECIPIENT: Final = "__recip_version1.0_"
_MOST_RECIPIENTS: Final = 2_000
_KIND: Final = 0x0C15
_KIND_ALONE: Final = 0xF
_TO: Final = 1
_KINDS: Final = {_TO: ("to", "0E04"), 2: ("cc", "0E03"), 3: ("bcc", "0E02")}
_DIRECTORIES: Final = ("/O=", "/CN=", "IMCEAEX-")
