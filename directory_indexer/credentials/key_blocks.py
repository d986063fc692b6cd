"""Private keys in text formats: PEM, OpenPGP, OpenSSH, SSH2, PuTTY, OpenVPN, XML, JSON web keys.

A key must be complete enough: an illustration of the format, or a key made of x's, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.spans import SecretSpan

PRIVATE_KEY: Final = "private key"


def key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield private keys without their delimiters."""
    for match in _BEGIN.finditer(text):
        if body := _BODY.match(text, match.end()):
            yield from _block(body)
    if _PUTTY.match(text) and (lines := _PUTTY_LINES.search(text)):
        yield SecretSpan(*lines.span(1), PRIVATE_KEY)
    for pattern in _OTHER_BLOCKS:
        for match in pattern.finditer(text):
            if _is_random(match[1]):
                yield SecretSpan(*match.span(1), PRIVATE_KEY)


def signing_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the secret keys of minisign and signify."""
    for match in _SIGNING_KEY.finditer(text):
        yield SecretSpan(*match.span(1), PRIVATE_KEY)


def published_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield keys with a distinctive prefix that rarely occurs in source code."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _PUBLISHED):
        yield SecretSpan(*match.span(1), PRIVATE_KEY)


def _block(body: re.Match[str]) -> Iterator[SecretSpan]:
    if len(body["key"]) >= _MIN_BLOCK and _is_random(body["key"]):
        yield SecretSpan(*body.span("key"), PRIVATE_KEY)


def _is_random(key: str) -> bool:
    return len(key) >= _MIN_LENGTH and len(set(key[:200])) >= _MIN_CHARACTERS


_MIN_LENGTH: Final = 20
_MIN_BLOCK: Final = 40
_MIN_CHARACTERS: Final = 6
_GAP: Final = r"(?:[\s\"'+,|>#*;&/.-]|\\{1,4}[nrt]|<br ?/?>|\\$)"
_BEGIN: Final = LazyPattern(
    r"BEGIN (?:[A-Za-z0-9]{1,12} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|Static key V1) ?-{4,5}",
    marks=("PRIVATE KEY", "Static key"),
)
_BODY: Final = LazyPattern(
    rf"""
    {_GAP}{{0,80}}+
    (?:[A-Za-z0-9-]{{1,20}}:[ ][^\n\\]{{0,200}}+{_GAP}{{1,80}}+){{0,8}}+  # headers of encrypted keys and of OpenPGP
    (?P<key>
        [A-Za-z0-9+/=]{{16,20000}}+
        (?:{_GAP}{{1,60}}+[A-Za-z0-9+/=]{{24,20000}}+){{0,2000}}+
        (?:{_GAP}{{1,60}}+(?!END)[A-Za-z0-9+/=]{{1,80}}+(?=[\s"'\\<-]|\Z)){{0,2}}+
    )""",
    re.VERBOSE,
)
_OTHER_BLOCKS: Final = (
    LazyPattern(
        r"<(?:D|P|Q|DP|DQ|InverseQ)>\s{0,20}([A-Za-z0-9+/=\s]{20,1600}+)</",
        marks=("<D>", "<P>", "<Q>", "<DP>", "<DQ>", "<InverseQ>"),
    ),
    LazyPattern(
        r"\"(?:d|p|q|dp|dq|qi|k)\\{0,2}\"\s{0,8}:\s{0,8}\\{0,2}\"([\w+/=-]{40,1400}+)\\{0,2}\"",
        marks=('"d', '"p', '"q', '"k'),
    ),
)
_PUBLISHED: Final = (
    LazyPattern(r"ED25519-V3:([A-Za-z0-9+/]{86}==)"),  # Tor
    LazyPattern(r"prv(?<=[xyztuv]prv)([0-9A-Za-z]{80,112}+)(?!\w)"),  # wallets (BIP 32)
    LazyPattern(r"nsec1([02-9ac-hj-np-z]{58})(?!\w)"),  # Nostr
    LazyPattern(r"1/[0-9]{16}:([0-9a-f]{32})(?![0-9a-f])"),  # Asana
)
_SIGNING_KEY: Final = LazyPattern(
    r"untrusted comment: [^\n]{0,80}secret key[^\n]{0,80}\n([A-Za-z0-9+/]{40,400}+={0,2})"
)
_PUTTY: Final = LazyPattern(r"\s{0,20}PuTTY-User-Key-File-\d", marks=("PuTTY-User-Key-File-",))
_PUTTY_LINES: Final = LazyPattern(r"Private-Lines: [0-9]{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{4,80}+\s{1,4}){1,100}+)")
