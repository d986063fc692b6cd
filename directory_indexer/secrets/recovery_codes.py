"""Seed phrases of wallets (BIP 39) and backup codes; and files that are secrets as a whole, such as key stores.

The files are key stores, keyrings, password databases, and files that hold only a key or token. A binary signature
counts only with the structure that follows it, since a note may begin with the same letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, takewhile
from pathlib import Path
from typing import Final

from directory_indexer.formats.document import Document
from directory_indexer.secrets.rule_engine import (
    PROSE_OR_UNKNOWN_KINDS,
    SETTINGS_KINDS,
    Detector,
    FunctionRule,
    LazyPattern,
    Rule,
    SecretSpan,
)
from directory_indexer.secrets.value_classification import is_password, looks_generated


def _phrase_spans(text: str) -> Iterator[SecretSpan]:
    """Yield what has the form of a seed phrase, whatever its words: on a line of its own, quoted or numbered."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _PHRASES):
        if looks_like_seed_phrase(match[1]):
            yield SecretSpan(*match.span(1), "recovery phrase")
    for block in chain.from_iterable(pattern.finditer(text) for pattern in _COLUMNS):
        lines = block[1].split()
        if looks_like_seed_phrase(block[1]) and lines != sorted(lines):  # an excerpt of a word list is sorted
            yield SecretSpan(*block.span(1), "recovery phrase")
    for block in _NUMBERED.finditer(text):
        words = list(_NUMBERED_WORD.finditer(text, *block.span()))
        numbers = [int(word["number"]) for word in words]
        if looks_like_seed_phrase(" ".join(word["word"] for word in words)) and numbers == [*range(1, len(words) + 1)]:
            yield SecretSpan(words[0].start(), words[-1].end(), "recovery phrase")


def bip39_phrase_spans(text: str, *, is_code: bool) -> Iterator[SecretSpan]:
    """Yield seed phrases whose words are in the BIP 39 list, whether or not a keyword introduces them."""
    patterns = _QUOTED_BIP39 if is_code else (*_QUOTED_BIP39, *_UNQUOTED_BIP39)
    for match in chain.from_iterable(pattern.finditer(text) for pattern in patterns):
        listed = [*takewhile(lambda word: word[0] in BIP39_WORDS, _LETTERS.finditer(text, *match.span(1)))]
        words = [word[0] for word in listed]
        if len(words) in _BIP39_LENGTHS and len(set(words)) >= len(words) - 2 and words != sorted(words):
            yield SecretSpan(listed[0].start(), listed[-1].end(), "recovery phrase")


def looks_like_seed_phrase(phrase: str) -> bool:
    """Whether a text has as many distinct words as a seed phrase, of any word list, and is not a sentence."""
    words = phrase.split()
    return len(words) in _LENGTHS and len(set(words)) >= len(words) - 2 and _GRAMMAR.isdisjoint(words)


def is_mostly_bip39(phrase: str) -> bool:
    """Whether most words of a text are in the BIP 39 list: some wallets have lists of their own."""
    words = phrase.split()
    return sum(word in BIP39_WORDS for word in words) >= len(words) * _MIN_BIP39_SHARE


def _disk_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield recovery keys of disks (BitLocker: eight groups of six digits)."""
    for match in _DISK_KEY.finditer(text):
        yield SecretSpan(match.start() - _GROUP, match.end(), "recovery key")


def is_backup_code_list(text: str) -> bool:
    """Whether a text is only a list of backup codes, all of the same form."""
    codes = text.split()
    forms = {(len(code), code.count("-")) for code in codes}
    return len(codes) >= _MIN_CODES and len(forms) == 1 and all(map(_CODE_ALONE.fullmatch, codes))


BIP39_WORDS: Final = frozenset(Path(__file__).with_name("seed_words.txt").read_text("ascii").split())
_LENGTHS: Final = frozenset((12, 13, 15, 18, 21, 24, 25))
_MIN_CODES: Final = 5
_GRAMMAR: Final = frozenset(
    "the and are was were been for with from has had have its that not can may than then them they his she her our how "
    "und der die das ist ein eine nicht mit von auf für den dem les des est une pour dans que los las por una con del "
    "when where which while into does did".split()
)
"""Function words of sentences, none of which is in a wallet's list."""
_WORDS: Final = r"[a-z]{3,8}+(?:[ ,]{1,2}[a-z]{3,8}+){11,24}+"
_PHRASES: Final = tuple(
    LazyPattern(rf"{mark}[ \t]{{0,8}}({_WORDS})[ \t]{{0,8}}(?=[\n\"'<.\r]|\Z)")
    for mark in ("\n", ":", "=", '"', "'", ">", r"\A")
)
_MIN_BIP39_SHARE: Final = 0.7
_BIP39_LENGTHS: Final = frozenset((12, 15, 18, 21, 24))
_LETTERS: Final = LazyPattern(r"[a-z]{3,8}")
_QUOTED_BIP39: Final = tuple(LazyPattern(rf"{mark}({_WORDS})(?![a-z])") for mark in ('"', "'", "`", "„", "“"))
_UNQUOTED_BIP39: Final = (
    *(LazyPattern(rf"{start}[ \t>*-]{{0,8}}({_WORDS})(?![a-z])") for start in (r"\A", r"\n", ": ", "= ", " are ")),
    LazyPattern(
        r"1(?<![\w.]1)[.):]?[ \t]{1,4}([a-z]{3,8}+(?:[\s,|]{1,8}+\d{1,2}[.):]?[ \t]{1,4}[a-z]{3,8}+){11,23}+)(?![a-z])"
    ),
    LazyPattern(r"\n[ \t\r]{0,8}\n([a-z]{3,8}+(?:[ \t\r]{0,4}\n[a-z]{3,8}+){11,23}+)(?=[ \t\r]{0,4}(?:\n|\Z))"),
)
"""In quotes; at the beginning of a text or a line, after a colon, numbered, or one word per line."""
_COLUMN: Final = r"((?:[a-z]{3,8}+[ \t\r]{0,4}\n){11,25}+(?:[a-z]{3,8}+)?)(?=\s|\Z)(?!\S)"
_COLUMNS: Final = (LazyPattern(rf"\n(?:(?<=\n\n)|(?<=:\n)|(?<=\n\r\n)){_COLUMN}"), LazyPattern(rf"\A{_COLUMN}"))
"""One word per line, between blank lines."""
_GROUP: Final = 6
_DISK_KEY: Final = LazyPattern(r"-(?<=[^\d-]\d{6}-)\d{6}(?:-\d{6}){6}(?![\d-])")
_NUMBERED: Final = LazyPattern(
    r"(?<!\d)(?:\d{1,2}[.):]?[ \t]{1,4}[a-z]{3,8}+[\s,|]{1,8}+){11,24}+(?:\d{1,2}[.):]?[ \t]{1,4}[a-z]{3,8}+)?"
)
_NUMBERED_WORD: Final = LazyPattern(r"(?P<number>\d{1,2})[.):]?[ \t]{1,4}(?P<word>[a-z]{3,8})(?![a-z])")
_CODE_ALONE: Final = LazyPattern(r"(?=[a-zA-Z-]*\d)[0-9a-zA-Z]{4,12}(?:-[0-9a-zA-Z]{4,12}){0,3}")


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


RECOVERY_RULES: Final[tuple[Detector, ...]] = (
    FunctionRule(
        (
            *"wallet mnemonic metamask ledger trezor electrum bitcoin".split(),
            *("recovery phrase", "secret phrase", "seed phrase", "seed:", '"seed"'),
        ),
        _phrase_spans,
    ),
    FunctionRule(("recovery", "bitlocker", "wiederherstellung"), _disk_key_spans),
    Rule(  # codes for a lost second factor
        (
            *("recovery code", "backup code", "scratch code", "rungscode", "notfallcode", "einmalcode"),
            *("de secours", "codes de récup", "código", "codici di", "herstelcode"),
        ),
        r"(?<![\w-])([0-9a-zA-Z]{4,6}(?:[- ][0-9a-zA-Z]{4,6}){1,3}|\d{8}|[0-9a-z]{8,12})"
        r"(?=[ \t]*(?:\n|\Z)|[ \t]{2,}|\t)",
        _has_digit,
        "recovery code",
        PROSE_OR_UNKNOWN_KINDS,
        within=r"(?i)(?:(?:recovery|backup|scratch|wiederherstellungs|notfall|einmal|herstel)[- ]?codes?|"
        r"c(?:odes|ódigos|odici) d[ei] (?:secours|récupération|recuperación|recuperação|recupero|respaldo))\b"
        r"[^\n]{0,80}\n((?:[^\n]{0,80}\n){1,40})",
    ),
)


def kind_of_secret_container(head: bytes) -> str | None:
    """Return the kind of secret of a binary file, by its first bytes."""
    return next(
        (kind for first, pattern, kind in _CONTAINERS if head.startswith(first) and re.match(pattern, head)), None
    )


def kind_of_single_secret_file(file_name: str, text: str) -> str | None:
    """Return the kind of secret that is a file's only content, if the name of the file suggests one."""
    if _LOGIN_NAME.search(file_name) and (login := _LOGIN.fullmatch(text[:_MAX_LONE])):
        return "credential file" if is_password(login[1]) or looks_generated(login[1]) else None
    if _RECOVERY_NAME.search(file_name) and (_is_phrase(text[:_MAX_LONE]) or is_backup_code_list(text[:_MAX_LONE])):
        return "recovery code"
    if file_name.endswith(".json") and _KEY_PAIR.fullmatch(text[:_MAX_LONE]):
        return "private key"
    match = _LONE.fullmatch(text[:_MAX_LONE])
    if not match or len(text) > _MAX_LONE or not _NAME.search(file_name):
        return None
    value = match[1]
    return "token or key" if looks_generated(value) or _HEX.fullmatch(value) else None


def may_be_indexed(kind: str, document: Document, n_masked: int) -> bool:
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
    return is_password(word) or looks_generated(word) or _HEX_DIGITS.fullmatch(word) is not None


def _is_phrase(text: str) -> bool:
    words = _NUMBER.sub(" ", text)
    return _PHRASE.fullmatch(text) is not None and looks_like_seed_phrase(words) and is_mostly_bip39(words)


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
