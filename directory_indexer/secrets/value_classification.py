"""Classification of values: passwords and random tokens, as opposed to placeholders, references and words.

Judged by the value alone, in time proportional to its length. A word of a language, a version, an address or an
identifier is no password, however many digits it has. If no name precedes a word that resembles one, the topic of the
surrounding text has to decide.

Some values are random beyond doubt, whatever they are called.

Words and identifiers consist of pairs of characters that often follow each other; in a random value all pairs are
equally frequent, so their surprisal is high. `packaging/model/build_randomness` makes the table. Of random values of
20 characters and more with a digit, 99 in 100 are recognised; of quoted names in source code, 1 in 1,000 would be.
"""

from __future__ import annotations

import base64
import re
from enum import IntEnum
from itertools import pairwise, product
from typing import Final

from directory_indexer.secrets.rule_engine import LazyPattern


def is_placeholder(value: str) -> bool:
    """Whether a value is not a secret but a template, a reference, an example or a mask."""
    lowered = value.lower()
    return (
        len(set(lowered)) <= _MAX_REPEATED
        or _TEMPLATE.search(value) is not None
        or _KEYBOARD_RUN.search(lowered) is not None
        or (_STAND_IN if len(value) < _LONG_PHRASE else _LONG_STAND_IN).search(lowered) is not None
        or _WORD.fullmatch(lowered) is not None
    )


def is_literal(value: str) -> bool:
    """Whether a value is neither a template nor a reference, an example or a mask."""
    return not is_placeholder(value)


def is_non_secret_value(value: str) -> bool:
    """Whether a value where a secret is expected is none: an example, a reference, a type or a choice.

    `is_placeholder` also excludes what looks like a word; people choose words as passwords.
    """
    lowered = value.lower()
    return (
        len(value) < _MIN_PLAIN
        or set(lowered) <= _FILLER_CHARACTERS
        or _TEMPLATE.search(value) is not None
        or _SETTING.fullmatch(value) is not None
        or (_STAND_IN if len(value) < _LONG_PHRASE else _LONG_STAND_IN).search(lowered) is not None
        or _WORD.fullmatch(lowered) is not None
        or _CHOICE.fullmatch(lowered) is not None
        or _NAMED_SECRET.search(lowered) is not None
    )


def looks_generated(value: str) -> bool:
    """Whether a value looks generated: letters and digits, or cases, alternate throughout."""
    size = len(value)
    if not _MIN_STRONG <= size <= _MAX_STRONG or is_placeholder(value) or _NAMES.fullmatch(value):
        return False
    size = min(size, _SAMPLED)
    n_changes, n_digits = _class_changes_and_digits(value[:_SAMPLED])
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
    return has_letter and (any(map(str.isdigit, value)) or _SPECIAL_CHARACTER.search(value) is not None)


def may_be_chosen_password(value: str) -> bool:
    """Whether a value is a password, given that only passwords and placeholders are expected there."""
    return not is_non_secret_value(value) or is_password(value) or looks_generated(value)


def may_be_password(value: str) -> bool:
    """Whether a value may be a password or was generated."""
    return is_password(value) or looks_generated(value)


def may_be_password_argument(value: str) -> bool:
    """Whether a value may be a password or pass phrase, or was generated."""
    return is_password(value) or looks_generated(value) or is_pass_phrase(value)


def _is_scrambled(value: str) -> bool:
    """Whether the cases of letters change as in no word and no identifier."""
    if len(value) < _MIN_SCRAMBLED or not (value.isalpha() and value.isascii()) or value.islower() or value.isupper():
        return False
    return len(_PARTS.findall(value[:_SAMPLED])) >= max(min(len(value), _SAMPLED) / _MEAN_PART, _MIN_PARTS)


def is_pass_phrase(value: str) -> bool:
    """Whether a value is a pass phrase: letters only, but more than one word."""
    return _PHRASE.fullmatch(value) is not None and not is_placeholder(value) and not _ABOUT_SECRETS.search(value)


def _class_changes_and_digits(value: str) -> tuple[int, int]:
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
_FILLER_CHARACTERS: Final = frozenset("x*.-_#?•●…=+~")
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
_KEYBOARD_RUN: Final = LazyPattern(r"x{4}|([^/=+])\1{7}|0123456|1234567890|^12345678?9?$|^87654321$|abcdefgh|9876543")
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
_SPECIAL_CHARACTER: Final = LazyPattern(r"[!@#$%^&*+=?~]")
_PHRASE: Final = LazyPattern(r"[a-z]{12,40}|[A-Za-z]{3,}(?:-[A-Za-z]{3,}){3,7}|[a-z]{3,}(?: [a-z]{3,}){3,7}")
_ABOUT_SECRETS: Final = LazyPattern(r"(?i)passw|secret|token|require|invalid|field|valid|must|enter|user|login")


class Likeness(IntEnum):
    """The degree to which a word looks like a password."""

    PLAIN = 0
    CHOSEN = 1
    """Letters and digits, as in many identifiers."""
    HARD = 2
    """Letters and digits with a sign among or after them, or alternating cases and digits."""
    RANDOM = 3


def password_likeness(word: str) -> Likeness:
    """Return how much a word without its delimiters looks like a password."""
    if _DIGITS.fullmatch(word):
        return Likeness.PLAIN if is_placeholder(word) else Likeness.CHOSEN
    if not _HAS_LETTER_AND_MORE.match(word) or not is_password(word) or _TECHNICAL.search(word):
        return Likeness.PLAIN
    if looks_generated(word) and not _NAME_WITH_NUMBER.fullmatch(word):
        return Likeness.RANDOM
    if len(word) >= _MIN_HARD and _CERTAIN_PASSWORD.fullmatch(word):
        return Likeness.HARD
    return Likeness.CHOSEN if any(map(str.isdigit, word)) else Likeness.PLAIN


def looks_like_password(word: str) -> bool:
    """Whether a word without its delimiters looks like a password."""
    return password_likeness(word) >= Likeness.CHOSEN


def is_certainly_password(word: str) -> bool:
    """Whether a word without its delimiters looks like a password and like nothing else."""
    return password_likeness(word) >= Likeness.HARD


def word_span(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of the group `word` without the quotes around it and the punctuation after it."""
    word, at = match["word"], match.start("word")
    start, end = 0, len(word)
    while end and word[end - 1] in _LITERALS:
        end -= 1
    while start < end and word[start] in _QUOTES:
        start += 1
    while end > start and word[end - 1] in _CLOSING:
        end -= 1
    return at + start, at + end


_MIN_HARD: Final = 8
_LITERALS: Final = ".,;:"
_QUOTES: Final = "\"'`(<[_"
_CLOSING: Final = "\"'`)>].,;:"
_DIGITS: Final = LazyPattern(r"\d{16}|\d{20,63}")
"""Factory-set keys of routers."""
_HAS_LETTER_AND_MORE: Final = LazyPattern(r"(?=[^A-Za-z]*+[A-Za-z])[A-Za-z]*+[^A-Za-z]")
_CERTAIN_PASSWORD: Final = LazyPattern(
    r"(?=[^a-zA-Z]*+[a-zA-Z])(?=\D*+\d)[^!#$%&*+?~^=@]*+[!#$%&*+?~^=@].*|"  # a letter, a digit and a sign
    r"(?=[^a-z]*+[a-z])(?=[^A-Z]*+[A-Z])(?:\w*\d[a-z]+\w*\d\w*|[A-Za-z]{4,}(?:\d{3,}[A-Za-z]{4,}|\d{2}[A-Za-z]{4,}\d{2,})|[a-z]+[A-Z][a-z]+\d{2,}|(?:[A-Z][a-z]{3,}_?){2,3}\d{2,4})"
)
"""Patterns that follow no rule of spelling: a sign among letters and digits, digits for letters, two words and a year.
"""
_NAME_WITH_NUMBER: Final = LazyPattern(r"[a-z]+(?:[-_.][a-z]+)*[-_.]?[a-z]?\d{1,4}|(?:[a-z0-9]+[-_.]){3,}[a-z0-9]+")
_TECHNICAL: Final = LazyPattern(
    r"(?i)[/\\(){}<>\[\]|\"`]|\w[=:]\S*[a-z]|::|->|@[\w-]+\.[a-z]|^[@#&$%+-]|&\w+;|\.(?:[a-z]{2,4}|html|conf|json|yaml)$|"
    r"sha-?\d|aes-?\d|rsa-?\d|hmac|pbkdf|argon|crypt|base-?(?:32|58|64)|utf-?\d|oauth|25519|x\.?509|pkcs|tls|ssl|ntlm|"
    r"md[45]|rfc-?\d|iso-?\d|(?-i:^[A-Z]{2,8}-\d{1,6}$)|^v?\d+[.-]\d|^\+?[\d,.:-]+[a-z]{0,3}$|\+\+|^[\d-]+[-T][\d:.]+Z?$|"
    r"^(?:windows|python|postgres|mysql|java|version|step|level|section|type|option|ubuntu|debian|android|office)\W?\w?\d|"
    r"^[0-9a-f]{7,64}$|^[0-9a-f]{8}-[0-9a-f]{4}-|^0x|^(?:bsd|mit|apache|cc|mpl)\b|gpl|-\d+\.\d|^\d+-[a-z]+$"
)
"""Paths, addresses, settings, versions, dates, hashes, the names of algorithms."""


ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0_"
"""Folded alphabet of values: letters, a digit, and the end of a word."""


def is_random(value: str) -> bool:
    """Whether a value of letters and digits is random: neither words nor a number nor a digest."""
    size = len(value)
    if not _MIN_SIZE <= size <= _MAX_SIZE or _ALPHABETS.fullmatch(value) is None:
        return False
    if len(set(value)) < min(size, _FULL_SIZE) * _MIN_VARIETY:
        return False
    if surprisal(value) < (_SURPRISE if size >= _LONG else _SURPRISE_OF_SHORT):
        return False
    return not (_ORDERLY.match(value) or is_placeholder(value) or _is_base64_text(value))


def reduce_alphabet(value: str) -> str:
    """Fold a value to the alphabet of the table; a capital within a word begins another one."""
    return _OUTSIDE_ALPHABET.sub("_", _DIGIT.sub("0", _CAPITAL.sub("_", value).lower()))


def surprisal(value: str) -> float:
    """Return the mean surprisal of the pairs of a value, in bits; digits that follow digits are ignored."""
    reduced = _DIGIT_RUN.sub("0", value)
    return sum(_BIGRAM_SURPRISES[pair] for pair in pairwise(reduce_alphabet(reduced))) / max(
        2 * len(reduced) - 2, _MIN_PAIRS
    )


def _is_base64_text(value: str) -> bool:
    """Whether a value is text in base64."""
    try:
        return base64.b64decode(value[: len(value) // 4 * 4]).decode("ascii").isprintable()
    except ValueError:
        return False


_MIN_SIZE: Final = 16
_MAX_SIZE: Final = 128
_MIN_PAIRS: Final = 20
_LONG: Final = 20
_SURPRISE: Final = 5.8
_SURPRISE_OF_SHORT: Final = 6.2
_FULL_SIZE: Final = 40
_MIN_VARIETY: Final = 0.4
_ALPHABETS: Final = LazyPattern(
    r"(?=[A-Za-z_+/=~-]*\d)"
    r"(?:[a-z0-9_]{20,}|[A-Z0-9]{24,}|(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?:[\w~-]+|[A-Za-z0-9+/]+)={0,2})"
)
_ORDERLY: Final = LazyPattern(
    r"(?i:0x)?[0-9a-fA-F_-]+$|\d+$|c[a-z0-9]{24}$|0[0-9A-HJKMNP-TV-Z]{25}$|"  # digests and ids of several kinds
    r"sha\d|md5|pk_|pk-|pub|AAAA|MI[IGH]|eyJ|_[ZD]\d?|\?|Qm[1-9A-Za-z]{44}$|baf[a-z2-7]{50}|bc1|age1|[13][1-9A-HJ-NP-Za-km-z]{25,34}$|"
    r".{0,60}(?:HMAC|AES|SHA)-?\d?|LS0t|iVBOR|R0lGOD|/9j/|UklGR|AGFzbQ|UEsDB|H4sI|JVBER|PHN2Zy|PD94bWw|d09G|T1RUTw|BPL?[\w-]{85,86}$|xn--"
)
"""Digests and ids, mangled names, addresses and public keys; beginnings of pictures, fonts and archives."""
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DIGIT: Final = re.compile(r"\d")
_DIGIT_RUN: Final = re.compile(r"\d+")
_OUTSIDE_ALPHABET: Final = re.compile(r"[^a-z0_]")
_BIGRAM_TABLE: Final = (
    "ja89geaf9kc796jak686ccedcgj8"
    "6bfg5jli7dl6fh6hq7ae7kki8jg9"
    "6kci6kl69o89jk5gj9e7apnkdlh8"
    "8hhb5feh6ilcfg9inb9gbggndoh3"
    "9g96bddiemi9a7fcg669gdebdik5"
    "7igh77hn4nk8hk6jq8c99nnqeic6"
    "8jlh5jc98onafa9jo7ad9mkrdkj3"
    "5gkg4iml6omdde6fkac99igockj6"
    "9d8a8calilf8a47bja77gbmfndob"
    "5leh5hlh8lghlf5chh7g5hghlhla"
    "8ehf4hhd6mhbhaagme7ecmfpbmm4"
    "6ffb5fhk6mf7fi7gnjabaejn8mn6"
    "59ej4ink6old9e77nibhallneoi7"
    "8i977d6h9icghbahkh76dejleil5"
    "dcaafbbhcjc884aan5998baffjk9"
    "5ihf5jh98oi7hi79n6a8ajjmdof8"
    "efhbkkkkekk8hkkkkffk1hdkkkfb"
    "6eba5fch7ncdbc7ela89bdhpamn6"
    "ahai7il98qdcegaagj96aldmenj3"
    "7idi5gl85ukcgh8hr89abmgkbik5"
    "9a9a8cbl9lg786ean667ihnhjhbc"
    "5hhj2ijj4mphji8iphehfpmmfphb"
    "5gge5fl95pfch86gp99filhkfph6"
    "ag8g7fnd7nkdckc7kff5eikneh84"
    "afdfajikcljabbc9qc99fkenjhi1"
    "5eig3lgc6libff8ggfdfaigla9f6"
    "bbbcc9ihknkhihihngiikknhnh24"
    "897999aa9dc99aa8g879bcagggk8"
)
"""One row for each character, one column for its successor; half bits in base 36."""
_BIGRAM_SURPRISES: Final = dict(
    zip(product(ALPHABET, repeat=2), (int(digit, 36) for digit in _BIGRAM_TABLE), strict=True)
)
