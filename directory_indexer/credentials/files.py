"""Files that are secrets as a whole: key stores, keyrings, password databases, and a key or token alone in its file.

A signature in bytes counts only with the structure that follows it, for a note may well begin with the same letters.
"""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.credentials.strength import is_strong


def kind_of_container(head: bytes) -> str | None:
    """Name the kind of secret that a binary file is, by its beginning."""
    return next(
        (kind for first, pattern, kind in _CONTAINERS if head.startswith(first) and re.match(pattern, head)), None
    )


def kind_of_lone_secret(name: str, text: str) -> str | None:
    """Name the kind of secret that a file holds alone, where its name says that it holds one."""
    found = _LONE.fullmatch(text[:_MAX_LONE])
    if not found or len(text) > _MAX_LONE or not _NAME.search(name):
        return None
    value = found[1]
    return "token or key" if is_strong(value) or _HEX.fullmatch(value) else None


_MAX_LONE: Final = 4_096
_LONE: Final = re.compile(r"\s{0,8}([!-~]{12,4000}+)\s{0,8}")
_HEX: Final = re.compile(r"[0-9a-fA-F]{32,128}")
_NAME: Final = re.compile(
    r"(?i)(?:key|token|secret|pass(?:wd|word)?|credential)s?(?:[-_.](?:txt|asc|b64|base64|bak|old|orig))?~?$"
)
_CONTAINERS: Final = (
    (b"\x03\xd9\xa2\x9a", rb"(?s).{4}[\x55\x65-\x67]\xfb\x4b\xb5", "password database"),  # KeePass
    (b"PWS3", rb"(?s)PWS3.{34}[\x00-\xff]\x00", "password database"),  # Password Safe: rounds of its hash, 32 bits
    (b"\xfe\xed\xfe\xed", rb"(?s).{4}\x00\x00\x00[\x01\x02]", "key store"),  # Java
    (b"\xce\xce\xce\xce", rb"(?s).{4}\x00\x00\x00[\x01\x02]", "key store"),  # Java, with secret keys
    (b"GnomeKeyring\n", rb"GnomeKeyring\n\r\x00\n", "keyring"),
    (b"KWALLET\n", rb"KWALLET\n\r\x00\r\n", "keyring"),
    (b"kych", rb"(?s)kych\x00[\x00-\xff]\x00\x00", "keyring"),  # macOS
    (b"SSH PRIVATE KEY FILE FORMAT", rb"SSH PRIVATE KEY FILE FORMAT 1\.\d\n\x00", "private key"),
)
"""The first bytes, the pattern that must then match, and the kind of secret."""
