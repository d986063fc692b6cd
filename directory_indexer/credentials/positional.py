"""Passwords in positional arguments of commands: after the name of a user, a file or a network."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.commands import is_argument
from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming
from directory_indexer.credentials.shapes import Shape, shape_of
from directory_indexer.credentials.spans import SecretSpan

COMMAND_WORDS: Final = (
    *"htpasswd mosquitto_passwd rabbitmqctl wpa_passphrase mysqladmin setairportnetwork obscure".split(),
    *(
        "reset-admin-password",
        "wifi connect",
        "net user",
        "secret set",
        "secrets set",
        "config:set",
        "kv put",
        " /pass",
        " /rp ",
        " /pwd",
    ),
)
"""Marks, in lower case, of texts that contain such a command."""


def positional_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in `htpasswd -b FILE USER PASSWORD` and similar commands."""
    for match in chain(_COMMAND.finditer(text), _SLASHED.finditer(text)):
        if is_argument(match["value"]):
            yield SecretSpan(*match.span("value"), Naming.PASSWORD.value)
    for match in _ASSIGNING.finditer(text):
        if shape_of(match["value"]) >= Shape.HARD:
            yield SecretSpan(*match.span("value"), Naming.TOKEN.value)


_WORD: Final = r"(?:\"[^\"\n]{1,80}+\"|'[^'\n]{1,80}+'|[^\s\"'-][^\s\"']{0,80}+)"
_OPTIONS: Final = r"(?:[ ]-{1,2}[\w=./-]{1,40}+){0,6}?"
_COMMAND: Final = LazyPattern(
    r"(?:"
    rf"(?:htpasswd|mosquitto_passwd){_OPTIONS}[ ]-\w{{0,4}}b\w{{0,4}}(?:[ ]{_WORD}){{2}}"
    rf"|htpasswd{_OPTIONS}[ ]-\w{{0,4}}n\w{{0,4}}[ ]{_WORD}"
    rf"|rabbitmqctl[ ](?:add_user|change_password|authenticate_user)[ ]{_WORD}"
    rf"|wpa_passphrase[ ]{_WORD}|mysqladmin(?:[ ]\S{{1,60}}+){{0,8}}?[ ]password|net[ ]user[ ]{_WORD}"
    rf"|-setairportnetwork[ ]\w{{2,8}}[ ]{_WORD}|wifi[ ]connect[ ]{_WORD}[ ]password"
    rf"|rclone[ ]obscure|reset-admin-password"
    r")[ ]{1,4}[\"']?(?P<value>[^\s\"'|;&<>$-][^\s\"'|;&<>]{3,128}+)"
)
_SLASHED: Final = LazyPattern(
    r"[ ]/(?:pass(?:word)?[: ]|pwd[: ]|rp[ ])[\"']?(?P<value>[^\s\"'|;&<>$/][^\s\"'|;&<>]{3,128}+)"
)
_ASSIGNING: Final = LazyPattern(
    r"(?:secrets?[ ]set|config:set|kv[ ]put)(?:[ ][^\s=]{1,80}+){0,4}[ ][\w.-]{1,60}=[\"']?"
    r"(?P<value>[^\s\"'|;&<>]{6,200}+)"
)
