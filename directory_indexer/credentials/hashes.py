"""Password hashes, by their storage formats."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.marks import Rule
from directory_indexer.credentials.spans import SecretSpan
from directory_indexer.credentials.strength import is_placeholder


def _hash_spans(text: str, *, pattern: LazyPattern) -> Iterator[SecretSpan]:
    for match in pattern.finditer(text):
        if len(set(match[0])) >= _MIN_CHARACTERS and not is_placeholder(match[0].lstrip("*")):
            yield SecretSpan(*match.span(), "password hash")


_MIN_CHARACTERS: Final = 8
_UNIX_MARKS: Final = (
    "$p$ $h$ $2 $apr1$ $1$ $5$ $6$ $sha1$ $7$ $md5$ $y$ $gy$ $argon2 sha256$ $s$ $8$ $9$ $dcc2$ $scrypt $pbkdf2 $bcrypt"
)
_UNIX: Final = (
    r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"
    r"|(?:apr1|1|5|6|sha1|7|md5)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,64}+\$[./A-Za-z0-9]{22,100}+"
    r"|(?:y|gy)\$[./A-Za-z0-9]{1,10}\$[./A-Za-z0-9]{1,90}+\$[./A-Za-z0-9]{22,100}+"
    r"|[PH]\$[./A-Za-z0-9]{31}(?![./A-Za-z0-9])"
    r"|(?:scrypt|pbkdf2(?:-sha\d{1,3})?|bcrypt-sha256)\$[\w=,]{2,60}+\$[\w+/.=]{4,100}+\$[\w+/.=]{16,200}+"
    r"|S\$[./A-Za-z0-9]{52}(?![./A-Za-z0-9])|[89]\$[./A-Za-z0-9]{14}\$[./A-Za-z0-9]{43}"
    r"|DCC2\$\d{1,6}#[^#\s]{1,64}+#[0-9a-f]{32}"
    r"|argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}+\$[A-Za-z0-9+/]{8,100}+\$[A-Za-z0-9+/]{16,200}+"
    r"|(?<=sha256\$)\d{1,8}\$[\w+/=]{4,64}+\$[\w+/=]{20,120}+)"
)
_LDAP: Final = (
    r"\{(?:(?:S?SHA(?:256|512)?|S?MD5|CRYPT)\}[A-Za-z0-9+/$.]{13,120}+={0,2}"
    r"|(?:PLAIN|CLEAR(?:TEXT)?)\}[^\s:]{8,128}+)"
)
_HASHES: Final = (
    (_UNIX_MARKS, _UNIX),
    ("{sha {ssha {md5 {smd5 {crypt {plain} {clear", _LDAP),
    ("scram-sha-", r"SCRAM-SHA-\d{1,3}\$\d{1,8}:[\w+/=]{8,120}+\$[\w+/=]{20,120}+:[\w+/=]{20,120}+"),  # PostgreSQL
    ("scrypt:", r"scrypt(?::\d{1,8}){3}\$[\w+/.=-]{4,64}+\$[0-9a-f]{40,128}"),  # Werkzeug
    ("pbkdf2:", r"pbkdf2:sha\d{1,3}:\d{1,8}\$[\w+/.=-]{4,64}+\$[0-9a-f]{40,128}"),  # Werkzeug
    ("pbkdf2.", r"pbkdf2\.sha\d{1,3}\.\d{1,8}\.[0-9A-Fa-f]{16,256}+\.[0-9A-Fa-f]{32,256}+"),  # GRUB
    ("'* \"*", r"\*(?<=['\"]\*)[0-9A-Fa-f]{40}(?=['\"])"),  # MySQL
    ("0x0100 0x0200", r"0x0[12]00[0-9A-Fa-f]{48,136}(?![0-9A-Fa-f])"),  # SQL Server
    ('"md5', r"md5[0-9a-f]{32}(?<=\"[ ]\"md5[0-9a-f]{32})(?=\")"),  # PgBouncer
)
"""Marks of each format, and its pattern."""
HASH_RULES: Final = tuple(
    Rule(tuple(marks.split()), partial(_hash_spans, pattern=LazyPattern(form))) for marks, form in _HASHES
)
