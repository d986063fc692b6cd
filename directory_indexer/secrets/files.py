"""Files that are secrets as a whole: key stores, keyrings, password databases, and files that hold only a key or token.

A binary signature counts only with the structure that follows it, since a note may begin with the same letters.
"""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.formats.document import Document
from directory_indexer.secrets.patterns import SETTINGS_KINDS
from directory_indexer.secrets.recovery import has_form_of_seed_phrase, is_list_of_codes, is_mostly_bip39
from directory_indexer.secrets.strength import is_password, is_strong


def kind_of_secret_container(head: bytes) -> str | None:
    """Return the kind of secret of a binary file, by its first bytes."""
    return next(
        (kind for first, pattern, kind in _CONTAINERS if head.startswith(first) and re.match(pattern, head)), None
    )


def kind_of_file_with_one_secret(file_name: str, text: str) -> str | None:
    """Return the kind of secret that is a file's only content, if the name of the file suggests one."""
    if _LOGIN_NAME.search(file_name) and (login := _LOGIN.fullmatch(text[:_MAX_LONE])):
        return "credential file" if is_password(login[1]) or is_strong(login[1]) else None
    if _RECOVERY_NAME.search(file_name) and (_is_phrase(text[:_MAX_LONE]) or is_list_of_codes(text[:_MAX_LONE])):
        return "recovery code"
    if file_name.endswith(".json") and _KEY_PAIR.fullmatch(text[:_MAX_LONE]):
        return "private key"
    match = _LONE.fullmatch(text[:_MAX_LONE])
    if not match or len(text) > _MAX_LONE or not _NAME.search(file_name):
        return None
    value = match[1]
    return "token or key" if is_strong(value) or _HEX.fullmatch(value) else None


def is_harmless(kind: str, document: Document, n_masked: int) -> bool:
    """Whether a file whose name suggests a secret may be indexed, with its secrets masked.

    Settings contain much else; a list of logins contains nothing else, and some of its entries may have an unknown
    form.
    """
    if kind in _SETTINGS:
        return True
    if n_masked or any(map(_may_be_secret, _VALUE.findall(document.text))):
        return False
    if kind == _HISTORY or document.kind in SETTINGS_KINDS:
        return True
    lines = (line.strip() for line in document.text.splitlines())
    return all(_SENTENCE.fullmatch(line) for line in lines if line and not line.startswith(_COMMENTS))


def _may_be_secret(word: str) -> bool:
    return is_password(word) or is_strong(word) or _HEX_DIGITS.fullmatch(word) is not None


def _is_phrase(text: str) -> bool:
    words = _NUMBER.sub(" ", text)
    return _PHRASE.fullmatch(text) is not None and has_form_of_seed_phrase(words) and is_mostly_bip39(words)


_SETTINGS: Final = frozenset(("environment file", "cluster credentials"))
_HISTORY: Final = "command history"
_COMMENTS: Final = ("#", ";", "//")
_VALUE: Final = re.compile(r"[^\s\"'`:=,;<>]{6,200}")
_HEX_DIGITS: Final = re.compile(r"[0-9a-fA-F]{16,128}")
_SENTENCE: Final = re.compile(r"(?:[^\W\d_]{1,20}[,']? ){2,30}[^\W\d_]{1,20}[.!?]?")
_MAX_LONE: Final = 4_096
_LONE: Final = re.compile(r"\s{0,8}([!-~]{12,4000}+)\s{0,8}")
_LOGIN: Final = re.compile(r"[!-~]{1,128}\r?\n([!-~]{6,128})\s{0,4}")
_LOGIN_NAME: Final = re.compile(
    r"(?i)(?:auth|login|credentials?|creds|userpass|pass(?:wd|word)?)(?:\.(?:txt|conf|cfg))?$"
)
"""Files with a user and a password on two lines, as OpenVPN reads them."""
_KEY_PAIR: Final = re.compile(r"\s{0,8}\[(?:\s{0,8}\d{1,3}\s{0,8},){63}\s{0,8}\d{1,3}\s{0,8}\]\s{0,8}")
"""The 64 bytes of a private and a public key, as Solana programs store them."""
_RECOVERY_NAME: Final = re.compile(
    r"(?i)recovery|backup|codes|2fa|mnemonic|seed|phrase|wallet|secret|notfall|wiederherst"
)
_PHRASE: Final = re.compile(
    r"\s{0,8}(?:(?:\d{1,2}[.):]?\s{1,4})?[a-z]{3,8}[\s,]{1,8}){11,24}(?:(?:\d{1,2}[.):]?\s{1,4})?[a-z]{3,8})?\s{0,8}"
)
"""Words of a wallet and nothing else: with other characters between words it is prose or code."""
_NUMBER: Final = re.compile(r"[\d.):,]+")
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
"""First bytes, the pattern that must then match, and the kind of secret."""
