"""Rules that need context: a login, a column of a table, a cookie, or a user or address before the password.

Each rule reads only texts that contain one of its marks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.secrets.commands import (
    COMMAND_WORDS,
    changed_password_spans,
    login_option_spans,
    netrc_spans,
    pgpass_spans,
    piped_spans,
    positional_spans,
    shell_spans,
    spelled_option_spans,
)
from directory_indexer.secrets.keyword_context import announced_spans, message_spans, row_message_spans
from directory_indexer.secrets.names import PROSE_KINDS, SETTINGS_KINDS, Naming
from directory_indexer.secrets.patterns import LazyPattern, Rule, SecretSpan, line_start
from directory_indexer.secrets.prose_rules import (
    LOGIN_SENTENCE_MARKS,
    entry_code_spans,
    login_sentence_spans,
    pin_spans,
    safe_spans,
    sentence_spans,
)
from directory_indexer.secrets.recovery import (
    WALLET_WORDS,
    disk_key_spans,
    listed_phrase_spans,
    phrase_spans,
    recovery_code_spans,
)
from directory_indexer.secrets.strength import (
    Shape,
    bare_bounds,
    is_chosen,
    is_password,
    is_placeholder,
    is_strong,
    shape_of,
)
from directory_indexer.secrets.systems import (
    DEVICE_WORDS,
    LOGIN_SECTIONS,
    access_list_spans,
    byte_key_spans,
    copy_spans,
    device_spans,
    dialogue_spans,
    insert_spans,
    installer_spans,
    oracle_spans,
    router_spans,
    section_key_spans,
    section_login_spans,
    section_secret_spans,
    serialized_spans,
    value_first_spans,
)
from directory_indexer.secrets.tables import (
    field_cell_spans,
    hidden_field_spans,
    ruled_table_spans,
    sheet_spans,
    vault_element_spans,
    vault_object_spans,
)
from directory_indexer.secrets.tokens import PRIVATE_KEY, published_key_spans, signing_key_spans


class _Pair(NamedTuple):
    """A position of passwords, the required context before it, and the required shape."""

    pattern: LazyPattern
    before: LazyPattern | None
    needed: Shape

    def find(self, text: str) -> Iterator[SecretSpan]:
        """Yield the passwords in this position."""
        may_be_easy = self.before in (None, _LABELLED) and _TITLE.match(text) is not None
        needed = Shape.CHOSEN if may_be_easy else self.needed
        for match in self.pattern.finditer(text):
            first, last = bare_bounds(match["word"])
            if shape_of(match["word"][first:last]) < needed:
                continue
            start, line = match.start("word"), line_start(text, match.start(), _MAX_BEFORE)
            if self.before is None or self.before.search(text, line, match.start()):
                yield SecretSpan(start + first, start + last, Naming.PASSWORD.value)


_MAX_BEFORE: Final = 120
_WORD: Final = r"(?P<word>[!#-\[\]-~]{6,120}+)(?=\s|\Z)"
_ADDRESS: Final = r"@[\w-]{1,63}(?:\.[\w-]{1,63}){1,3}"
_USER: Final = LazyPattern(
    r"(?i)(?:^|\W)(?:root|admin|administrator|user|guest|sa|pi|ubuntu|postgres|operator|manager|test|demo)[\"'`*]{0,2}\Z"
)
_LABELLED: Final = LazyPattern(
    r"(?:\A|(?<=\n))[ \t*\u2022-]{0,8}[^\W\d_][^\n:;,.|]{1,40}?(?::|[ ]-|[ ][ ]|\))[ ]{1,8}[\w.@+-]{2,40}\Z"
)
"""The purpose of a login, and the user: `Library: ann / …`."""
_TITLE: Final = LazyPattern(
    r"(?i)[\s#*=_\ufeff]{0,12}(?:[^\W\d_][\w-]{0,20}[ ]){0,3}[\w-]{0,20}(?:zug[aä]ng|passw|paßw|logins?|kennw|"
    r"wachtwoord|accounts|accès|mots de passe|contraseñas|senhas|hasła|hesla|lösenord|adgangskoder|salasanat|parole)"
)
"""First lines of lists of logins."""
_BEHIND_ADDRESS: Final = LazyPattern(
    rf"{_ADDRESS}[\"'`*]{{0,2}}"
    rf"(?:[ \t]{{1,2}}[/|\u2013\u2014-][ \t]{{1,2}}|[:;,]|[ \t]{{1,4}}|[ \t\r]{{0,4}}\n[ \t]{{0,8}}){_WORD}"
)
_BEHIND_HOST: Final = LazyPattern(
    rf"ssh[ ](?:-\w[ ]\S{{1,60}}[ ]){{0,4}}[\w.-]{{1,40}}@[\w.-]{{1,80}}[ \t]{{1,4}}[(\[#/|-]{{1,2}}[ ]?{_WORD}"
)
_PAIRS: Final = {
    "@": (
        _Pair(_BEHIND_ADDRESS, None, Shape.HARD),
        _Pair(LazyPattern(rf"{_ADDRESS}:{_WORD}"), LazyPattern(r"(?:\A|\n)?[\w.+-]{1,64}\Z"), Shape.CHOSEN),
    ),
    " / ": (
        _Pair(LazyPattern(rf"[ ]/[ ][\"'`]?{_WORD}"), _USER, Shape.CHOSEN),
        _Pair(LazyPattern(rf"[ ]/[ ][\"'`]?{_WORD}"), _LABELLED, Shape.HARD),
    ),
    " - ": (_Pair(LazyPattern(rf"[ ]-[ ][\"'`]?{_WORD}"), _LABELLED, Shape.HARD),),
    " -- ": (_Pair(LazyPattern(rf"[ ]--[ ][\"'`]?{_WORD}"), _LABELLED, Shape.HARD),),
    "\nroot:": (_Pair(LazyPattern(rf"\nroot:{_WORD}"), None, Shape.CHOSEN),),
    "\nadmin:": (_Pair(LazyPattern(rf"\nadmin:{_WORD}"), None, Shape.CHOSEN),),
    "\np: ": (
        _Pair(LazyPattern(rf"\np:[ ]{_WORD}"), LazyPattern(r"(?i)\n?u(?:ser|sr)?:[ ][^\n]{1,64}\Z"), Shape.CHOSEN),
    ),
    "ssh ": (_Pair(_BEHIND_HOST, None, Shape.HARD),),
}
"""Rules by the mark that such a text contains."""
LOGIN_PAIR_RULES: Final = tuple(Rule((separator,), pair.find) for separator, pairs in _PAIRS.items() for pair in pairs)


def neighbour_spans(text: str, lowered: str, marks: frozenset[str], kind: str) -> Iterator[SecretSpan]:
    """Yield secrets by their context; `lowered` is the text in lower case."""
    if not kind or kind in PROSE_KINDS:
        yield from sentence_spans(text, lowered, marks)
        yield from announced_spans(text, lowered, marks, kind)
    is_code = bool(kind) and kind not in PROSE_KINDS and kind not in SETTINGS_KINDS
    if not is_code or not marks.isdisjoint(_SEED_MARKS):
        yield from listed_phrase_spans(text, is_code=is_code)
    if kind == "csv":
        yield from row_message_spans(text)
        yield from field_cell_spans(text)
    for rule in (*_RULES_OF.get(kind, ()), *_EVERYWHERE):
        if not marks.isdisjoint(rule.marks):
            yield from rule.find(text)


def _encoded_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield PEM files in base64."""
    for match in _ENCODED.finditer(text):
        if b"PRIVATE KEY" in base64.b64decode(match[0][:80]):
            yield SecretSpan(*match.span(), PRIVATE_KEY)


def _login_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in `session.login(user, "…")` and `auth=(user, "…")`."""
    for match in chain(_LOGIN.finditer(text), _LOGIN_KEY.finditer(text), _AUTH.finditer(text)):
        if _is_chosen(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _credential_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in `new NetworkCredential(user, "…")`."""
    for match in _CREDENTIAL.finditer(text):
        if _is_chosen(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _opening_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in calls that open a connection: `connect("network", "…")`, `Connection(host, user, "…")`."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _OPENINGS):
        shape = shape_of(match[1])
        if shape >= Shape.HARD or (shape == Shape.CHOSEN and not match[1].islower() and not match[1].isupper()):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _address_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in an address without a scheme: `ann:…@host:5432`."""
    for host in _HOST.finditer(text):
        login = _LOGIN_BEFORE.search(text, max(host.start() - _MAX_LOGIN, 0), host.start())
        if login and shape_of(login[1]) >= Shape.HARD:
            yield SecretSpan(*login.span(1), Naming.PASSWORD.value)


def _connect_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in `connect(host, user, "…")` and `new PDO(source, user, "…")`."""
    for match in _CONNECT.finditer(text):
        if is_chosen(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _remote_desktop_spans(text: str) -> Iterator[SecretSpan]:
    for match in _REMOTE_DESKTOP.finditer(text):
        if _is_chosen(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _account_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the hashes in listings of Windows accounts: `name:500:…:…:::`."""
    for match in _ACCOUNT.finditer(text):
        yield SecretSpan(*match.span(1), "password hash")


def _wallet_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the private keys in the `accounts` of a blockchain development tool."""
    for match in _WALLET.finditer(text):
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), "private key")


def _node_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the API keys in URLs of blockchain node services."""
    for match in _NODE.finditer(text):
        yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def _cookie_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values in cookie headers of logged, copied and recorded requests."""
    for header in _HEADER.finditer(text):
        for match in _PAIR.finditer(text, *header.span(1)):
            if is_strong(match[1]):
                yield SecretSpan(*match.span(1), "cookie")


def _cookie_object_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values of cookies that a browser or an extension exported as JSON."""
    for match in _COOKIE_VALUE.finditer(text):
        if is_strong(match[1]):
            yield SecretSpan(*match.span(1), "cookie")


def _is_chosen(value: str) -> bool:
    return is_password(value) or is_strong(value)


_ARGUMENT: Final = r"(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[\w.$>\[\]-]{1,60}+(?:\(\))?)"
_LAST: Final = r"[\"']([^\"'\n\\]{6,128}+)[\"']\s{0,4}[,)]"
_LOGIN: Final = LazyPattern(rf"\.login\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}")
_LOGIN_KEY: Final = LazyPattern(r"\.login\([^()\n]{0,80}?key ?= ?[\"']([^\"'\n\\]{20,200}+)[\"']")
_AUTH: Final = LazyPattern(rf"auth ?= ?\w{{0,30}}\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}")
_CREDENTIAL: Final = LazyPattern(rf"NetworkCredential\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}")
_CONNECT: Final = LazyPattern(
    rf"(?i)(?:mysqli?_connect|PlainAuth|DBI->connect|ldap_bind|new[ ](?:mysqli|PDO)|getConnection)\(\s{{0,20}}"
    rf"(?:{_ARGUMENT}\s{{0,4}},\s{{0,20}}){{2}}[\"']([^\"'\n\\]{{2,128}}+)[\"']\s{{0,4}}[,)]"
)
_OPENINGS: Final = tuple(
    LazyPattern(
        rf"(?:onnect|onnection|database|begin)\((?:\s{{0,20}}{_ARGUMENT}\s{{0,4}},){{{n_before}}}\s{{0,20}}"
        r"[\"']([^\"'\s\\]{6,128}+)[\"']\s{0,4}[,)]"
    )
    for n_before in (1, 2, 3)
)
_HOST: Final = LazyPattern(r"@(?:(?:tcp|unix)\()?[A-Za-z][\w.-]{0,80}+:\d{2,5}(?!\d)")
_MAX_LOGIN: Final = 106
_LOGIN_BEFORE: Final = LazyPattern(r"[\s\"'=][\w.-]{1,40}+:([^\s:@/\"']{6,64}+)\Z")
_ENCODED: Final = LazyPattern(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{66,40000}+={0,2}")  # -----BEGIN
_REMOTE_DESKTOP: Final = LazyPattern(r"/p:[\"']?([^\s\"']{4,128}+)")
_ACCOUNT: Final = LazyPattern(r":[0-9]{3,10}:(?:[0-9A-Fa-f]{32}|\*{0,32}):([0-9A-Fa-f]{32}):::")
_WALLET: Final = LazyPattern(r"accounts\\?[\"']?:\s{0,8}\[\s{0,40}\\?[\"'](?:0x)?([0-9a-fA-F]{64})\\?[\"']")
_NODE: Final = LazyPattern(r"/v[23]/(?:(?<=infura\.io/v3/)|(?<=alchemy\.com/v2/))([\w-]{32})(?![\w-])")
_HEADER: Final = LazyPattern(
    r"(?i)cookie(?:\\?[\"'],\s{0,40}\\?[\"']value\\?[\"'])?:\s{0,8}(?:\\?[\"'])?([^\n\"'\\]{8,8000}+)"
)
_PAIR: Final = LazyPattern(r"=([^\s;=,]{12,4000}+)(?==|;|\s|\Z|[\"'\\])")
_COOKIE_VALUE: Final = LazyPattern(r"\"value\"\s{0,4}:\s{0,4}\"([^\"\\\n]{12,4096}+)\"")
_RULES: Final = (
    Rule(("ls0tls1crudjti",), _encoded_key_spans),
    Rule(("freerdp",), _remote_desktop_spans),
    Rule((":::",), _account_spans),
    Rule(("cookie",), _cookie_spans),
    Rule(('"httponly"', '"cookies"'), _cookie_object_spans),
    Rule((".login(",), _login_spans),
    Rule(("config wifi-iface",), router_spans),
    Rule(("-|", "- |"), ruled_table_spans),
    Rule(("-stdin", "sudo -s"), piped_spans),
    Rule(("-user", "net use"), login_option_spans),
    Rule(("untrusted comment",), signing_key_spans),
    Rule(("prv", "nsec1", "ed25519-v3:", "asana"), published_key_spans),
    Rule(("@",), oracle_spans),
    Rule(("@",), _address_spans),
    Rule(DEVICE_WORDS, device_spans),
    Rule(("chpasswd", "d-i ", "<keymaterial>"), installer_spans),
    Rule((" on >",), access_list_spans),
    Rule(
        ("secret:", "secrets:", "credentials:", "secretenv:", "secretdata:", "secret.", "secrets."),
        section_secret_spans,
    ),
    Rule(('send "', "send -- ", "sendline"), dialogue_spans),
    Rule(("pin", "puk"), pin_spans),
    Rule(("geheimzahl", "tresor", "zahlenschlo"), safe_spans),
    Rule(("code", "código", "codice", "combination", " pin "), entry_code_spans),
    Rule(WALLET_WORDS, phrase_spans),
    Rule(("recovery", "bitlocker", "wiederherstellung"), disk_key_spans),
    Rule(("convertto-",), shell_spans),
    Rule(COMMAND_WORDS, positional_spans),
    Rule((":54", ":6432:", ":*:"), pgpass_spans),
    Rule(("machine ",), netrc_spans),
)
_SPELLED_RULE: Final = Rule(
    ("requirepass ", "masterauth ", "password ", "passwd ", "pass ", "passphrase "), spelled_option_spans
)
_SETTINGS_RULES: Final = (
    Rule(("jwt", "encryption", "signing", "crypto", "bearer", "hmac", "auth", "gossip"), section_key_spans),
    Rule(("key",), byte_key_spans),
    Rule(LOGIN_SECTIONS, section_login_spans),
    Rule(('"value"',), value_first_spans),
    Rule(('"text"', '"body"', '"content"', '"message"', '"messages"', '"notes"', '"note"'), message_spans),
    Rule(("<sms", "<mms", "<message ", "<msg "), message_spans),
    Rule(('"notes', '"note"', '"notetext"', '"securenote"'), vault_object_spans),
    Rule(
        ('"sensitive"', '"concealed"', '"protected"', '"hidden"', '"password"', '"totp"', '"pin"'), hidden_field_spans
    ),
    Rule(("<key>notes</key>", "protectinmemory", "<notes>", "<note>", "<field "), vault_element_spans),
)
_PROSE_RULES: Final = (
    *LOGIN_PAIR_RULES,
    Rule((" | ",), sheet_spans),
    Rule(LOGIN_SENTENCE_MARKS, login_sentence_spans),
    Rule(
        (
            *("recovery code", "backup code", "scratch code", "rungscode", "notfallcode", "einmalcode"),
            *("de secours", "codes de récup", "código", "codici di", "herstelcode"),
        ),
        recovery_code_spans,
    ),
)
_EVERYWHERE: Final = (Rule(("chpasswd",), changed_password_spans),)
"""Shell commands that programs in any language contain."""
_RULES_OF: Final[dict[str, tuple[Rule, ...]]] = {
    "csv": _RULES,
    **dict.fromkeys("bash batch dockerfile fish make powershell".split(), (*_RULES, _SPELLED_RULE)),
    **dict.fromkeys(SETTINGS_KINDS, (*_RULES, *_SETTINGS_RULES, _SPELLED_RULE)),
    **dict.fromkeys((*PROSE_KINDS, ""), (*_RULES, *_PROSE_RULES)),
    "sql": (
        Rule(("insert",), insert_spans),
        Rule(('";s:',), serialized_spans),
        Rule((" from stdin",), copy_spans),
        Rule(("@",), oracle_spans),
    ),
    **dict.fromkeys(
        ("java", "kotlin", "scala"), (Rule(("getconnection(",), _connect_spans), Rule((":thin:",), oracle_spans))
    ),
    **dict.fromkeys(
        ("javascript", "typescript"),
        (Rule(("accounts:",), _wallet_spans), Rule(("infura.io", "alchemy.com"), _node_spans)),
    ),
    "csharp": (Rule(("networkcredential(",), _credential_spans),),
    "go": (Rule(("plainauth(",), _connect_spans),),
    "perl": (Rule(("dbi->connect",), _connect_spans),),
    "php": (
        Rule(("crypt",), section_key_spans),
        Rule(("mysql", "new pdo(", "ldap_bind"), _connect_spans),
    ),
    "python": (
        Rule((".login(", "auth=", "auth = ("), _login_spans),
        Rule((".connect(", "connection("), _opening_spans),
    ),
    "tcl": (Rule(('send "', "send -- "), dialogue_spans),),
    **dict.fromkeys(
        ("cpp", "arduino", "matlab", "lua"),
        (Rule((".connect(", ":connect(", ".begin(", "database("), _opening_spans),),
    ),
}
"""Rules by kind of file."""
_SEED_MARKS: Final = ("mnemonic", "seed", "phrase", "wallet", "words")
CONTEXT_MARKS: Final = (
    *(mark for rules in (*_RULES_OF.values(), _EVERYWHERE) for rule in rules for mark in rule.marks),
    *_SEED_MARKS,
)
