"""Secrets recognised by the format around them: URLs, password hashes, manifests, exports, cookies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.credentials.commands import command_spans, is_argument
from directory_indexer.credentials.connections import (
    STORAGE_MARKS,
    connection_spans,
    driver_spans,
    fallback_spans,
    storage_key_spans,
    url_spans,
)
from directory_indexer.credentials.hashes import HASH_RULES
from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.marks import Rule
from directory_indexer.credentials.names import Naming, naming_of
from directory_indexer.credentials.spans import SecretSpan, line_start
from directory_indexer.credentials.strength import is_chosen, is_password, is_placeholder, is_strong
from directory_indexer.credentials.tables import USER
from directory_indexer.credentials.vaults import NOTE, is_note_column

_PASSWORD: Final = Naming.PASSWORD.value


def format_spans(text: str, marks: frozenset[str]) -> Iterator[SecretSpan]:
    """Yield secrets by the formats around them."""
    yield from _export_spans(text)
    yield from _cookie_spans(text)
    for rule in _RULES:
        if not marks.isdisjoint(rule.marks):
            yield from rule.find(text)


def _identified_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords of database accounts."""
    for word in _IDENTIFYING.finditer(text):
        if match := _IDENTIFIED.match(text, word.start()):
            is_account = _ACCOUNT.search(text, max(word.start() - _MAX_ACCOUNT, 0), word.start())
            if is_argument(match[1]) or (is_account and is_chosen(match[1])):
                yield SecretSpan(*match.span(1), _PASSWORD)
            continue
        bare = _IDENTIFIED_BARE.match(text, word.start())
        if bare and _ACCOUNT.search(text, max(word.start() - _MAX_ACCOUNT, 0), word.start()):
            yield from _argument_spans(bare)


def _argument_spans(match: re.Match[str]) -> Iterator[SecretSpan]:
    if is_argument(match[1]):
        yield SecretSpan(*match.span(1), _PASSWORD)


def _manifest_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values of Kubernetes secrets; their names stay."""
    first = _MANIFEST.search(text)
    start = text.rfind("\n---", 0, first.start()) + 1 if first else len(text)
    while start < len(text):
        end = text.find("\n---", start + 1)
        end = len(text) if end < 0 else end
        if _MANIFEST.search(text, start, end):
            yield from _entries(text, start, end)
        start = end + 1


def _entries(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    covered = start
    for section in _MANIFEST_DATA.finditer(text, start, end):
        if section.start() < covered:  # a nested section, whose entries were yielded with the outer one
            continue
        block = _MANIFEST_BLOCK.match(text, section.end(), end) or _MANIFEST_OBJECT.match(text, section.end(), end)
        if not block:
            continue
        covered = block.end()
        for entry in _MANIFEST_ENTRY.finditer(text, *block.span()):
            span = entry.span(str(entry.lastgroup))
            value = text[slice(*span)].strip()
            is_visible = entry["block"] is None and len(value) < _MAX_SHOWN and is_placeholder(value)
            if len(value) >= _MIN_ENTRY and not is_visible and _TEMPLATED.search(value) is None:
                yield SecretSpan(*span, "cluster secret")


def _export_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords and keys in a CSV file with a header line."""
    start = len(text) - len(text.lstrip("\ufeff \n"))
    end = text.find("\n", start, start + _MAX_HEADER)
    header = text[start:end] if end > 0 else ""
    delimiter = next((mark for mark in ",;\t" if mark in header), None)
    if delimiter is None or not _EXPORT.search(header):
        return
    columns = [column.strip(" \"'").lower() for column in header.split(delimiter)]
    if not all(map(_COLUMN.fullmatch, columns)):
        return
    secret_columns = {
        at: naming for at, column in enumerate(columns) if (naming := naming_of(column.replace(" ", "_")))
    }
    if not secret_columns or len(columns) == len(secret_columns):
        return
    is_login = any(USER.search(column) for at, column in enumerate(columns) if at not in secret_columns)
    is_vault = is_login and Naming.PASSWORD in secret_columns.values()
    notes = {at for at, column in enumerate(columns) if is_vault and is_note_column(column)}
    at = 0
    for match in _FIELDS[delimiter].finditer(text, end + 1):
        value = match[1].strip('"')
        start = match.start(1) + match[1].find(value)
        # The quotes stay: they may enclose more than one line.
        if at in secret_columns and _is_field(value, secret_columns[at], is_login=is_login):
            yield SecretSpan(start, start + len(value), secret_columns[at].value)
        elif (at in notes or (notes and at >= len(columns))) and value:
            yield SecretSpan(start, start + len(value), NOTE)
        at = 0 if match[2] == "\n" else at + 1


def _is_field(value: str, naming: Naming, *, is_login: bool) -> bool:
    if is_login and naming == Naming.PASSWORD:
        return is_chosen(value)
    return is_strong(value) or (is_login and is_password(value))


def _second_factor_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the seeds of one-time passwords in `otpauth:` URLs."""
    for match in _SECOND_FACTOR.finditer(text):
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def _encoded_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield keys that are preceded by their encoding: `key = base64:…`."""
    for match in _ENCODED_KEY.finditer(text):
        start = line_start(text, match.start(), _MAX_NAME)
        if _NAME_OF_KEY.search(text, start, match.start()) and is_strong(match[1]):
            yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def _phrase_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the recovery words of a wallet (BIP 39: 12 to 24 words)."""
    for match in _SEED.finditer(text):
        if len(set(match[1].split())) >= _MIN_SEED_WORDS:
            yield SecretSpan(*match.span(1), "recovery phrase")


def _service_spans(text: str) -> Iterator[SecretSpan]:
    """Yield API keys that end in the name of a data centre (Mailchimp)."""
    at = text.find("-us")
    while at >= 0:
        if match := _DATA_CENTRE.match(text, at):
            yield SecretSpan(at - 32, match.end(), Naming.TOKEN.value)
        at = text.find("-us", at + 1)


def _cookie_spans(text: str) -> Iterator[SecretSpan]:
    if not _COOKIES.match(text):
        return
    for match in _COOKIE.finditer(text):
        yield SecretSpan(*match.span(1), "cookie")


_MAX_ACCOUNT: Final = 100
_MAX_HEADER: Final = 2_000
_MIN_ENTRY: Final = 4
_MAX_SHOWN: Final = 40

_IDENTIFYING: Final = LazyPattern("(?i)identified")
_IDENTIFIED: Final = LazyPattern(
    r"(?i)identified\s{1,4}(?:with\s{1,4}[\w'\"]{1,40}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?['\"]([^'\"\n]{1,200}+)['\"]"
)

_IDENTIFIED_BARE: Final = LazyPattern(r"(?i)identified\s{1,4}by\s{1,4}([^\s\"';(]{4,200}+)")
_ACCOUNT: Final = LazyPattern(r"(?i)(?:user|role|to)\s{1,4}[\w.\"`'@%-]{1,80}\s{1,4}\Z")

_MANIFEST: Final = LazyPattern(r"kind\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?Secret\b(?![\w-])")
_MANIFEST_DATA: Final = LazyPattern(r"(?:^|[\s{,])\\?[\"']?(?:stringData|data)\\?[\"']?[ \t]{0,8}:[ \t]*")
_MANIFEST_BLOCK: Final = LazyPattern(r"(?:#[^\n]{0,500}+)?(?:\n(?:[ \t]+[^\n]*|[ \t]*)){1,2000}+")
_MANIFEST_OBJECT: Final = LazyPattern(r"\{[^{}]{0,100000}+\}")
_MANIFEST_ENTRY: Final = LazyPattern(
    r"[\"']?[\w.-]{1,253}+\\?[\"']?[ \t]{0,8}:[ \t]{0,8}"
    r"(?:\\?[\"'](?P<quoted>[^\"'\n\\]{1,100000}+)"
    r"|[|>][+-]?\d?[ \t]*(?P<block>(?:\n[ \t]{2,40}+[^\n]*){1,500}+)"
    r"|(?P<bare>ENC\[[^\n\]]{0,100000}+\]|[^\s\"'{},#|>][^\s,}]{0,100000}+))"
)

_TEMPLATED: Final = LazyPattern(r"ENC\[|\{\{|\$\{|\$\(|^<.*>$|^(.)\1*$")
_EXPORT: Final = LazyPattern(
    r"(?i)pass|pwd?|secret|token|key|kennw|contrase|clave|senha|mdp|wachtw|hasło|heslo|lösen|пароль|パスワード|密[码碼]|비밀번호"
)
_COLUMN: Final = LazyPattern(r"[\w /@#-]{0,48}(?:\([\w ]{0,20}\))?")
_FIELDS: Final = {
    mark: LazyPattern(rf'("(?:[^"]|""){{0,20000}}+"|[^{mark}\n]{{0,20000}}+)({mark}|\n|\Z)')
    for mark in (",", ";", "\t")
}
_MIN_SEED_WORDS: Final = 10
_SEED: Final = LazyPattern(
    r"(?i:seed|mnemonic|recovery)(?i:[ _-]?(?:phrase|words|seed)){0,2}[\"']?(?:,? [\w ,'()-]{1,60})?"
    r"\s{0,3}(?:[:=]|is)\s{0,3}[\"']?"
    r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b"
)
_SECOND_FACTOR: Final = LazyPattern(
    r"otpauth(?:-migration)?(?::|%3A)[^\s\"'<>?]{0,300}+\?(?:(?!secret=|data=)[\w-]{1,30}=[^\s\"'<>&]{0,200}+&){0,8}+"
    r"(?:secret|data)=([\w+/=%-]{8,4000}+)"
)
_MAX_NAME: Final = 100
_ENCODED_KEY: Final = LazyPattern(
    r"(?:base64|b64|hex):((?<=64:)[A-Za-z0-9+/_-]{22,128}+={0,2}|(?<=hex:)[0-9a-fA-F]{32,128}+)(?![\w+/=-])"
)
"""16 bytes or more, and their encoding."""
_NAME_OF_KEY: Final = LazyPattern(
    r"(?i)(?<!public)(?<!public[_ -])(?<!pub)(?<!pub[_ -])(?:key|secret|salt|pepper)s?(?:[_.-]\w{1,20})?"
    r"[\"'\])]{0,3}[ \t]{0,20}"
    r"(?:=>|:=|[:=,(])[ \t]{0,20}(?:\[[ ]?)?(?:env\([^()\n]{0,40})?[\"'`]?\Z"
)
_DATA_CENTRE: Final = LazyPattern(r"-us(?<=[0-9a-f]{32}-us)[0-9]{1,2}(?![\w-])")
_COOKIES: Final = LazyPattern(r"\ufeff?\s{0,20}# (?:Netscape )?HTTP Cookie File", marks=("HTTP Cookie File",))
_COOKIE: Final = LazyPattern(
    r"^(?:#HttpOnly_)?[^\s#][^\t\n]{0,255}+\t(?:TRUE|FALSE)\t[^\t\n]{0,1000}+\t(?:TRUE|FALSE)\t\d{1,20}\t[^\t\n]{0,500}+\t([^\t\n]{4,8000}+)$",
    re.MULTILINE,
)
_RULES: Final = (
    Rule(("://",), url_spans),
    Rule(("@tcp(", "@unix("), driver_spans),
    Rule(("password=", "passwd=", "pwd=", "accountkey=", "sharedaccesskey=", "sharedsecret="), connection_spans),
    Rule(STORAGE_MARKS, storage_key_spans),
    Rule(("${", "process.env."), fallback_spans),
    *HASH_RULES,
    Rule((" -u", " -p", " -a", " -w", " -b", " -k"), command_spans),
    Rule(("-us",), _service_spans),
    Rule(("otpauth",), _second_factor_spans),
    Rule(("base64:", "b64:", "hex:"), _encoded_key_spans),
    Rule(("secret",), _manifest_spans),
    Rule(("phrase", "nemonic"), _phrase_spans),
    Rule(("identified",), _identified_spans),
)
FORMAT_MARKS: Final = tuple(mark for rule in _RULES for mark in rule.marks)
