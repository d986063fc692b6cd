"""Strength of values: secrets as opposed to placeholders, names, references and words.

Judged by the value alone, in time proportional to its length.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern


def is_placeholder(value: str) -> bool:
    """Whether a value is not a secret but a template, a reference, an example or a mask."""
    lowered = value.lower()
    return (
        len(set(lowered)) <= _MAX_REPEATED
        or _TEMPLATE.search(value) is not None
        or _RUN.search(lowered) is not None
        or (_STAND_IN if len(value) < _LONG_PHRASE else _LONG_STAND_IN).search(lowered) is not None
        or _WORD.fullmatch(lowered) is not None
    )


def is_stand_in(value: str) -> bool:
    """Whether a value in the position of a secret is none: an example, a reference, a type or a choice.

    `is_placeholder` also excludes what looks like a word; people choose words as passwords.
    """
    lowered = value.lower()
    return (
        len(value) < _MIN_PLAIN
        or set(lowered) <= _FILLING
        or _TEMPLATE.search(value) is not None
        or _SETTING.fullmatch(value) is not None
        or (_STAND_IN if len(value) < _LONG_PHRASE else _LONG_STAND_IN).search(lowered) is not None
        or _WORD.fullmatch(lowered) is not None
        or _CHOICE.fullmatch(lowered) is not None
        or _NAMED_SECRET.search(lowered) is not None
    )


def is_strong(value: str) -> bool:
    """Whether a value looks generated: letters and digits, or cases, alternate throughout."""
    size = len(value)
    if not _MIN_STRONG <= size <= _MAX_STRONG or is_placeholder(value) or _NAMES.fullmatch(value):
        return False
    size = min(size, _SAMPLED)
    n_changes, n_digits = _changes(value[:_SAMPLED])
    if not n_digits:
        return size >= _MIN_LETTERS and n_changes >= size * 0.3 and not _WORDS.fullmatch(value)
    return n_changes >= max(4 if size < _SHORT else 3, size * 0.18) and n_digits < size * 0.95


def is_password(value: str) -> bool:
    """Whether a value may be a password that a person chose: letters mixed with digits or signs."""
    if not _MIN_PASSWORD <= len(value) <= _MAX_PASSWORD or is_placeholder(value) or " " in value:
        return False
    if _is_scrambled(value):
        return True
    if _REFERENCE.fullmatch(value):
        return False
    has_letter = any(map(str.isalpha, value))
    return has_letter and (any(map(str.isdigit, value)) or _SIGN.search(value) is not None)


def is_chosen(value: str) -> bool:
    """Whether a value is a password, in a position of nothing but passwords and their placeholders."""
    return not is_stand_in(value) or is_password(value) or is_strong(value)


def _is_scrambled(value: str) -> bool:
    """Whether the cases of letters change as in no word and no identifier."""
    if len(value) < _MIN_SCRAMBLED or not (value.isalpha() and value.isascii()) or value.islower() or value.isupper():
        return False
    return len(_PARTS.findall(value[:_SAMPLED])) >= max(min(len(value), _SAMPLED) / _MEAN_PART, _MIN_PARTS)


def is_phrase(value: str) -> bool:
    """Whether a value is a pass phrase: letters only, but more than one word."""
    return _PHRASE.fullmatch(value) is not None and not is_placeholder(value) and not _ABOUT_SECRETS.search(value)


def _changes(value: str) -> tuple[int, int]:
    classes = [_class_of(char) for char in value if char not in "_-. "]
    n_changes = sum(1 for left, right in pairwise(classes) if left != right and (left, right) != ("u", "l"))
    return n_changes, classes.count("d")


def _class_of(char: str) -> str:
    if char.isdigit():
        return "d"
    if char.islower():
        return "l"
    return "u" if char.isupper() else "s"


_MIN_PLAIN: Final = 2
_FILLING: Final = frozenset("x*.-_#?•●…=+~")
_MAX_REPEATED: Final = 3
_MIN_STRONG: Final = 12
_MAX_STRONG: Final = 65_536
_SAMPLED: Final = 256
_MIN_LETTERS: Final = 20
_SHORT: Final = 20
_LONG_PHRASE: Final = 28
_MIN_SCRAMBLED: Final = 10
_MEAN_PART: Final = 3.6
_MIN_PARTS: Final = 4
_MIN_PASSWORD: Final = 6
_MAX_PASSWORD: Final = 128

_TEMPLATE: Final = LazyPattern(
    r"\$\{|\{\{|^%\{|\$\(|<%|%>|#\{|\{%|^\$[A-Za-z_]\w*$|^<|"
    r"^[a-z_]+(?:\|[a-z_]+(?::[\w,]+)?)+$|^\{(?:\d{0,2}|[A-Za-z_][a-zA-Z_.: -]*\d?|[^{}]*[\s\"'][^{}]*)\}$|"
    r"^%\(?\w+\)?[%sd]?$|^@[\w.]+@$|^__\w+__$|^\[\w|^&|^\*\w|"
    r"\*{3}|\.{3}|…|•{3}|\\u(?!00[2-7])[0-9a-fA-F]{4}|^(?:arn:aws|op://|vault:|ssm:|projects/|secretsmanager:|file:|env[.:]|ref\+|keyring:|"
    r"@Microsoft\.\w+\(|(?:akv|aws-?(?:sm|ssm)|sm|bws?|secrets?|doppler|infisical|keeper|conjur|pass|keepass)://|"
    r"secret-?ref:|!(?:secret|vault|ref|sub|getatt|env(?:_var)?)\b|(?:enc|encrypted|cipher):(?:v\d:)?[\w+/=:.-]{24}|"
    r"ENC[\[(]|\{cipher\}|Ag[A-D][\w+/=]{200}|process\.env|os\.environ|https?://)"
)
_RUN: Final = LazyPattern(r"x{4}|([^/=+])\1{7}|0123456|1234567890|^12345678?9?$|^87654321$|abcdefgh|9876543")
_STAND_IN: Final = LazyPattern(
    r"example|change.?(?:me|it|this)|placeholder|your|dummy|redacted|replace|insert|todo|sample|fixme|foobar|fake|mock|"
    r"here$|^enter(?![a-z])|^enter(?:your|the|pass)|not.?a?.?real|undefined|removed|hidden|masked|open.?sesame|^test.?(?:pass|secret|token|key)|^some[-_]|"
    r"^my[-_.]?(?:secret|password|token|key|api|pass)[-_.]?(?:key|token)?$"
)
_LONG_STAND_IN: Final = LazyPattern(
    r"example|change.?(?:me|it|this)[^a-z]|placeholder|your[-_.]|redacted|replace.?(?:me|this|with)|foobar|"
    r"qwxhzgrpbjpvcgvuihnlc2ftzq|[-_.](?:here|goes.here)$|insert[-_]|dummy|not.?a?.?real"
)
_WORD: Final = LazyPattern(
    r"(?:(?:new|old|user|confirm|repeat|current|my|the|invalid|wrong|bad|good|correct|default|root|admin|db|database)"
    r"[-_ ]?)?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key|credentials?)[-_]?\d?|"
    r"null|none|nil|true|false|test\d{0,8}!?|testing|string|required|optional|unset|empty|default|disabled|enabled|basic|"
    r"bearer|md5|scram-sha-256|sha256|sha-256|sha512|base64|aes-?\d{3}(?:-[a-z]{3})?|hs256|rs256|es256|ed25519|utf-?8|"
    r"rsa-?\d{3,4}|base32|hmac-?sha\d{1,3}|x509|oauth2|openid|saml2|passw0rd|p@ssw0rd_placeholder"
)
_SETTING: Final = LazyPattern(
    r"\d{1,2}|.*[-_=:]|.*0123456789.*|.*%[sdrv](?!\w).*|.*[xX]{4}.*|(.)\1{7,}|[A-Z][A-Z\d]*(?:_[A-Z\d]+)+|"
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?:[\[(].*)?|[\w.:]+\(.*|[A-Za-z_][\w.]*\[.*|[({\[].*|"
    r"(?:~|\.{0,2})/[\w.~/-]+.*|[A-Za-z]:[\\/].*|\$[\w@*#?]\w*|%\w+%?|%[({%].*|![A-Za-z][\w.]*!?|[@#]\w[\w.]*[@#]?|.*\}\}.*|"
    r"\w+:[^@]*/.*|[a-z]+(?::[\w-]+){2,}|\w+(?:\|[\w:]+)+|"
    r".*\.(?:txt|key|pem|json|ya?ml|conf|properties|html?|php|py|md|crt|cer|env)"
)
"""Variables, calls, paths and other references in settings."""
_CHOICE: Final = LazyPattern(
    r"(?:(?:str(?:ing)?|bytes?|(?:small|big)?int(?:eger)?|bool(?:ean)?|uuid|object|array|number|any|text|char|id|email|uri|"
    r"secretstr|secretbytes|(?:var)?char|binary|blob|\w+field|\w+type|password)[!?]?)|"
    r"yes|no|on|off|n/?a|nullable|mandatory|blank|missing|invalid|wrong|incorrect|mismatch|short|weak|bad|good|unchanged|"
    r"(?:un)?supported|(?:un)?known|allow(?:ed)?|den(?:y|ied)|always|never|ask|prompt|interactive|auto(?:matic)?|manual|"
    r"generated?|random|plain(?:text)?|hashed|encrypted|clear(?:text)?|strict|high|low|medium|expired|ldap|pam|kerberos|"
    r"oauth|saml|o?idc|jwt|sso|file|env(?:ironment)?|vault|keyring|keychain|query|header|cookie|body|post|ignore|include|"
    r"visible|dev(?:elopment)?|(?:my|some)?(?:foo|bar|baz)+|value|"
    r"(?:proxy|repo|mail|smtp|ftp|ssh|http|api|key|store|app|foo|some|super|top|very)[-_]?"
    r"(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key)\d?|"
    r"[^\W\d_]*(?:passwor[dt]|passwd|passphrase|kennwort|wachtwoord|lösenord|contrase[ñn]a|senha|parola|hasło|heslo|"
    r"adgangskode|kodeord|salasana|jelszó|şifre|пароль|密[码碼]|口令|パスワード|비밀번호|암호|geheimnis|hemlighet|hemmelighed|"
    r"segredo|segreto|secreto|секрет|秘密)[^\W\d_]*"
)
"""Types, answers and words for a password."""
_NAMED_SECRET: Final = LazyPattern(
    r"(?:^|[-_./: ])(?:pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|credentials?|api[-_]?key|"
    r"(?:access|private|ssh)[-_]key)(?:$|[-_./: ])"
)
"""Names of secrets in a secret store: `db-password`."""
_NAMES: Final = LazyPattern(
    r"(?:[A-Za-z]:|~|\.{1,2})?[/\\]?(?:[a-z][a-z0-9_.-]*[/\\]){1,12}[\w.-]*|"
    r"[A-Za-z_]+\d{0,2}(?:(?:\.|::|->|/|-)[A-Za-z_]+\d{0,2}){1,8}|(?:[A-Za-z]+_){1,12}[A-Za-z]+\d?"
)
_WORDS: Final = LazyPattern(r"(?:[A-Z]?[a-z]{2,}+[-_./]?){2,}[A-Z]{0,3}")
_REFERENCE: Final = LazyPattern(
    r"\$\w+|[A-Za-z_]+\d?(?:(?:\.|::|->)[A-Za-z_]+\d?){1,8}[();,]{0,3}|[A-Z][A-Z_]+\d?|[\w.]+\(.*|/.*|\.{1,2}/.*|~/.*|"
    r"[a-z]+(?:[A-Z][a-z]+)+\d?|[a-z]+(?:_[a-z]+)+\d?|.*\.(?:txt|key|pem|json|ya?ml|conf|properties|html?|php|py|md)(?:#.*)?|#[A-Za-z][\w-]*|"
    r"[A-Za-z]+[?!.:;,]|%[\w%{}.]+|[a-z]+\[.*|@[\w/]+|\W*[A-Za-z]+\W*|[A-Z]?[a-z]+(?:[/+&=|][A-Z]?[a-z]+)+"
)
_PARTS: Final = LazyPattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SIGN: Final = LazyPattern(r"[!@#$%^&*+=?~]")
_PHRASE: Final = LazyPattern(r"[a-z]{12,40}|[A-Za-z]{3,}(?:-[A-Za-z]{3,}){3,7}|[a-z]{3,}(?: [a-z]{3,}){3,7}")
_ABOUT_SECRETS: Final = LazyPattern(r"(?i)passw|secret|token|require|invalid|field|valid|must|enter|user|login")
