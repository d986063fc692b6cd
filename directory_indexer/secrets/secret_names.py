"""Names of variables, keys, columns, options and settings that indicate a secret.

The last word of a name decides: `db_password` is one, `password_file` is not. Some settings are secrets whatever their
values. In prose and code, where a name is often only mentioned, the strength of a value decides. In code a setting is a
constant, or the password next to a host or a database.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from directory_indexer.secrets.rule_engine import (
    LINE_BASED_KINDS,
    PROSE_OR_UNKNOWN_KINDS,
    SETTINGS_KINDS,
    SHELL_KINDS,
    LazyPattern,
    NameKind,
    line_start,
)
from directory_indexer.secrets.value_classification import is_non_secret_value


@lru_cache(maxsize=4_096)
def secret_kind_of_name(name: str) -> NameKind | None:
    """Return the kind of secret that a name indicates, if any."""
    words = [word.lower() for word in _WORD.findall(name)]
    is_hash = False
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1] in _HASH_WORDS or words[-1].isdigit()):
        is_hash |= words.pop() in _HASH_WORDS
    if not words or not _PUBLIC_WORDS.isdisjoint(words) or words == _DETECT_SECRETS_BASELINE:
        return None
    last = words[-1]
    if last in _PASSWORD_WORDS or last.endswith(("password", "passwd", "passphrase", "passwort", "pwd")):
        return NameKind.TOKEN if is_hash else NameKind.PASSWORD
    if is_hash:
        return None
    if last in _TOKEN_WORDS or last.endswith(_TOKEN_ENDS):
        return NameKind.TOKEN
    before = words[-2] if len(words) > 1 else ""
    if last not in _KEY_WORDS or not before:
        return None
    return NameKind.TOKEN if before in _KINDS_OF_KEYS else NameKind.KEY


@lru_cache(maxsize=4_096)
def is_certain_secret_name(name: str) -> bool:
    """Whether the value of a setting with this name is a secret, whatever it looks like."""
    naming, words = secret_kind_of_name(name), [word.lower() for word in _WORD.findall(name)]
    if naming is None or not _ABOUT_PASSWORDS.isdisjoint(words) or not _HASH_WORDS.isdisjoint(words):
        return False
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1].isdigit()):
        words.pop()
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if naming == NameKind.PASSWORD or last.endswith(("secret", "apikey", "secretkey", "accesskey", "privatekey")):
        return True
    if last.endswith("key"):
        return last in _TOKEN_WORDS or before in _KINDS_OF_PLAIN_KEYS
    return last == "token" and before in _KINDS_OF_PLAIN_TOKENS


def repeats_name(value: str, name: str) -> bool:
    """Whether a value is a word of its name, or contains no more than it: `POSTGRES_PASSWORD: postgres`."""
    words = [word.lower() for word in _WORD.findall(name)]
    written = "".join(words)
    return value.lower() in words or (
        len(written) > _MIN_NAME_CHARS and written in "".join(_WORD.findall(value)).lower()
    )


@lru_cache(maxsize=4_096)
def is_harmless_name(name: str) -> bool:
    """Whether a name indicates a value that is random but no secret; too short names count as such."""
    words = [word.lower() for word in _WORD.findall(name)]
    if sum(map(len, words)) < _MIN_HARMLESS_CHARS:
        return True
    return any(
        word in _HARMLESS_WORDS or word.rstrip("s") in _HARMLESS_WORDS or word.endswith(_HARMLESS_ENDINGS)
        for word in words
    )


def is_generic_data_name(name: str) -> bool:
    """Whether a name says only that its value is data, such as `content` or `payload`."""
    words = {word.lower() for word in _WORD.findall(name)}
    return sum(map(len, words)) < _MIN_HARMLESS_CHARS or (
        not words.isdisjoint(_DATA_WORDS) and words.isdisjoint(_HARMLESS_WORDS - _DATA_WORDS)
    )


_MIN_NAME_CHARS: Final = 8
_MIN_HARMLESS_CHARS: Final = 3
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-ɏ]+|[^\W\d_A-Za-zß-ɏ]+|\d+")
_QUALIFIERS: Final = frozenset(
    "value val plain plaintext text prod production dev development staging stage live test default old new current "
    "backup base b64 base64 primary secondary string str data raw main here override v again".split()
)
_HASH_WORDS: Final = frozenset("hash sha hex digest".split())
_PUBLIC_WORDS: Final = frozenset("public existing csrf xsrf pub".split())
_ABOUT_PASSWORDS: Final = frozenset(
    "ask asks confirm forgot forgotten reset wrong invalid incorrect bad missing empty weak short repeat retype verify "
    "show hide set get has have no use with without require required requires enable enabled allow allowed permit "
    "disable disabled change update check validate enter prompt need needs is min max error errors err scope grant "
    "label help hint message msg placeholder title description format field input type mode event action route regex "
    "pattern rule policy expired lost".split()
)
"""Words in names of things about a password, as opposed to the password itself."""
_KINDS_OF_PLAIN_KEYS: Final = frozenset("api secret access private account auth encryption signing master jwt".split())
_KINDS_OF_PLAIN_TOKENS: Final = frozenset(
    "access auth api bot refresh bearer personal deploy github gitlab slack npm pypi vault admin webhook oauth "
    "telegram discord registration join bootstrap service agent root secret".split()
)
_DETECT_SECRETS_BASELINE: Final = ["hashed", "secret"]
"""The baseline format of detect-secrets, whose hashes are not reported again."""
_DATA_WORDS: Final = frozenset(
    "data encoded payload blob content text message msg body base buffer raw value input".split()
)
_HARMLESS_WORDS: Final = frozenset(
    "public publishable pub mac site csrf xsrf id uuid guid urn oid uid gid hash sha md digest checksum sum crc etag "
    "integrity fingerprint thumbprint signature sig signed nonce iv commit revision rev version build tag label "
    "branch tree blob cursor page offset sort partition class classname font css style icon image img picture photo "
    "logo src href link url uri path file filename folder directory name title text description comment note content "
    "body message msg payload data encoded enc encrypted sealed ciphertext cipher plaintext base vector sample "
    "example test expected expect actual result output want got input regex regexp pattern re format alphabet chars "
    "charset letters address wallet account tx txid block contract peer node certificate cert cer crt pem issuer "
    "subject modulus exponent boundary reference references dkim spf verification domain host hostname server bucket "
    "container queue table column field index ref track tracking user username owner author by team channel project "
    "resource asset artifact package module product sku model part order invoice article item number nr no type kind "
    "code locale lang sequence seq dna primer protein smiles inchi mangled symbol function method event trace span "
    "request correlation deployment snapshot pod replica job arn slug selector cache machine device hostkey known "
    "recipient thread anchor edition licence license doi isbn".split()
)
"""Words in names of values that are random but no secrets."""
_HARMLESS_ENDINGS: Final = tuple("id ids hash sum digest sha url uri path name file class sitekey".split())
_PASSWORD_WORDS: Final = frozenset(
    "pass passcode kennwort contrasena motdepasse psk pw requirepass masterauth dbpass userpass rootpass adminpass "
    "keypass storepass sshpass smtppass mailpass ftppass mypass authpass privpass wpapsk "
    "authtok remotepass localpass proxypass rootpw bindpw passe contraseña пароль pskvalue wpakey wifikey clave senha "
    "heslo hasło haslo hesla wachtwoord lösenord losenord adgangskode kodeord passord salasana jelszó jelszo lozinka "
    "şifre sifre şifresi sifresi parole geslo parool mdp psw pswd pwort paßwort slaptažodis palavrapasse "
    "parola 密码 密碼 口令 パスワード 비밀번호 암호 รหัสผ่าน".split()
)
_TOKEN_WORDS: Final = frozenset(
    "pin secret token credential credentials creds authorization auth salt apikeys secrets totp authkey sharedkey "
    "masterkey appkey encryptionkey licensekey pepper erlangcookie".split()
)
_TOKEN_ENDS: Final = tuple("secret token apikey secretkey accesskey privatekey authkey accountkey pepper".split())
_KEY_WORDS: Final = frozenset(("key", "keys", "pat"))
_KINDS_OF_KEYS: Final = frozenset(
    "api secret access private preshared shared auth account master signing sign signature encryption encrypt crypt "
    "crypto cipher aes hmac jwt session app application license licence service admin client storage in nonce secure "
    "deploy deployment integration consumer webhook cookie root user token project write ingest subscription function "
    "functions host server developer secretaccess accesssecret devise fernet flask django symmetric vault unseal "
    "recovery restic borg activation insights instrumentation logging insert connection sas cosmos cosmosdb batch "
    "validation decryption setup routing maps translator cognitive speech queue event topic stripe sendgrid mailgun "
    "openai algolia datadog dd fastly mailchimp figma rapidapi newrelic launchdarkly segment mixpanel amplitude "
    "bugsnag rollbar rest thingspeak weather openweather openweathermap owm mapbox tmdb omdb deepl giphy unsplash "
    "pexels spotify lastfm steam riot cloudflare linode hetzner vultr heroku netlify onesignal pushover ifttt blynk "
    "adafruit aio influx grafana pagerduty opsgenie postmark mandrill resend sparkpost vonage nexmo plaid coinbase "
    "binance kraken alphavantage finnhub polygon quandl newsapi yelp foursquare tomtom bing elastic meili typesense "
    "pinecone cohere mistral groq replicate huggingface wandb elevenlabs assemblyai deepgram anthropic gemini "
    "honeycomb".split()
)


def is_translation(text: str, file_name: str) -> bool:
    """Whether a file contains the texts of a user interface: there `password` is followed by a label."""
    return _TRANSLATION.fullmatch(file_name) is not None or _TRANSLATED.match(text) is not None


def is_secret_by_setting_name(text: str, name_start: int, match: re.Match[str], end: int, kind: str) -> bool:
    """Whether a value, which ends at `end`, is a secret because of the name of its setting."""
    name, start = text[name_start : match.end("name")], match.start(str(match.lastgroup))
    value = text[start : min(end, start + _MAX_EXAMINED_CHARS)]
    if (
        not is_certain_secret_name(name)
        or is_non_secret_value(value)
        or _BLANK.search(value)
        or repeats_name(value, name)
    ):
        return False
    if name.lower() == "secret" and (len(value) < _MIN_SECRET or _RESOURCE.fullmatch(value)):
        return False
    return _is_setting(text, name_start, match, end, kind) and not _is_user(text, name_start, value)


def is_settings_line(text: str, name_start: int, kind: str) -> bool:
    """Whether a name begins a line in a file with one name and value per line."""
    start = line_start(text, name_start, _MAX_LINE)
    return kind in LINE_BASED_KINDS and _LINE_START.fullmatch(text, start, name_start) is not None


def _is_setting(text: str, name_start: int, match: re.Match[str], end: int, kind: str) -> bool:
    """Whether a name and a value form a setting, not a sentence, comparison or code."""
    is_quoted, between = match["quote"] is not None, text[match.end("name") : match.start(str(match.lastgroup))]
    if match["call"] is not None or match["said"] is not None or _COMPARISON.search(between):
        return False
    if match["blank"] is not None:
        return kind == "sql" and is_quoted
    if kind in PROSE_OR_UNKNOWN_KINDS and not (kind == "notebook" and is_quoted):
        return between.rstrip("\"'") == "=" and _is_among_lines(text, name_start, end + is_quoted)
    if kind not in SETTINGS_KINDS and kind not in LINE_BASED_KINDS:
        return is_quoted and _is_setting_in_code(text, name_start, match, between)
    if not _is_assigned(text, name_start, match, between, kind):
        return False
    is_item = kind == "yaml" and "\n" in between
    return is_quoted or is_item or _is_bare_setting(text, name_start, end, kind, between)


def _is_assigned(text: str, name_start: int, match: re.Match[str], between: str, kind: str) -> bool:
    """Whether the value belongs to the name, and the name is neither a reference nor ambiguous."""
    is_reference = text[name_start - 1 : name_start] in _REFERRING or text.endswith(("${", "#{", "{{"), 0, name_start)
    if is_reference or not _ASSIGNING.search(between):
        return False
    is_vague = kind not in LINE_BASED_KINDS and text[name_start : match.end("name")].lower() == "pass"
    return not is_vague or _LOGIN.search(text, max(name_start - _NEAR, 0), match.end() + _NEAR) is not None


def _is_setting_in_code(text: str, name_start: int, match: re.Match[str], between: str) -> bool:
    """Whether a string is the value of a constant, or of the password next to a host or a database."""
    name, naming = text[name_start : match.end("name")], secret_kind_of_name(text[name_start : match.end("name")])
    if "," in between and not _DEFINING.search(text, max(name_start - _NEAR, 0), name_start):
        return False
    if _CONSTANT.fullmatch(name):
        return _CODE_SETTING.search(name) is None and (
            naming is NameKind.PASSWORD or not _RESOURCE.fullmatch(match["quoted"])
        )
    if naming is NameKind.PASSWORD and _SERVICE_SETTING.search(name) and ":" not in between:
        return True
    is_beside = _CONNECTION.search(text, max(name_start - _NEAR, 0), match.end() + _NEAR) is not None
    return naming is NameKind.PASSWORD and is_beside


def _is_among_lines(text: str, name_start: int, end: int) -> bool:
    """Whether a name and a value form a line next to another such line."""
    start = line_start(text, name_start, _MAX_LINE)
    if not _INDENT.fullmatch(text, start, name_start) or not _LINE_END.match(text, end):
        return False
    above = line_start(text, max(start - 1, 0), _MAX_LINE)
    return _PAIR.match(text, above, start) is not None or _PAIR_BELOW.match(text, end) is not None


def _is_bare_setting(text: str, name_start: int, end: int, kind: str, between: str) -> bool:
    """Whether an unquoted value is all that follows its name."""
    if kind not in LINE_BASED_KINDS:
        return kind in _ENDS and _ENDS[kind].match(text, end) is not None
    is_pair = between == "=" and text[name_start - 1 : name_start] in _BEFORE_PAIRS
    is_flow = kind == "yaml" and text[:name_start].rstrip(" ")[-1:] in {"{", ","}
    if not (is_pair or is_flow or is_settings_line(text, name_start, kind)):
        return False
    return (_END_OF_WORD if kind in SHELL_KINDS else _END_OF_LINE).match(text, end) is not None


def _is_user(text: str, name_start: int, value: str) -> bool:
    """Whether a value equals the user name before it, as passwords of many examples do."""
    before = text[max(name_start - _NEAR, 0) : name_start].lower()
    at = before.rfind(value.lower())
    return at >= 0 and _USER_BEFORE.search(before, 0, at) is not None


_NEAR: Final = 200
_MIN_SECRET: Final = 4
_MAX_LINE: Final = 200
_MAX_EXAMINED_CHARS: Final = 256
_REFERRING: Final = frozenset("$@")
_BEFORE_PAIRS: Final = frozenset(" \t\"'-=,{")
_INDENT: Final = LazyPattern(r"[ \t]{0,20}[\w.-]{0,60}")
_LINE_END: Final = LazyPattern(r"[ \t\r]{0,8}(?:\n|\Z)")
_PAIR: Final = LazyPattern(r"[ \t]{0,20}[A-Za-z][\w.-]{1,60}=[^\s=]")
_PAIR_BELOW: Final = LazyPattern(rf"[ \t\r]{{0,8}}\n{_PAIR.pattern}")
_BLANK: Final = LazyPattern(r"\s")
_RESOURCE: Final = LazyPattern(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
"""Names of objects in a cluster."""
_COMPARISON: Final = LazyPattern(r"[=!]=")
_ASSIGNING: Final = LazyPattern(r"\A[^\w\n]*[:=][^\w\n]*\Z|(?i:value|content|default)\W*\Z|>")
"""Characters between a name and its value, as opposed to those between two names."""
_LINE_START: Final = LazyPattern(
    r"[ \t]{0,40}(?:[#;%][ \t]{0,4})?"
    r"(?:(?:export|set|setx|env|arg|-|- |-e|\"|'|local|readonly|set -[gUx]{1,3})[ \t]{0,4}[\"']?)?"
    r"[\w.-]{0,60}",
    re.IGNORECASE,
)
_END_OF_LINE: Final = LazyPattern(r"[ \t\r]{0,8}(?:\n|\Z|[ \t][#;])|[\"'&,}\])]|[ \t]{1,8}[\w.-]{1,60}=")
_END_OF_WORD: Final = LazyPattern(r"[\s;|&)\"']|\Z")
_ENDS: Final = {
    "xml": LazyPattern(r"\s{0,80}(?:</|\]\]>)"),
    **dict.fromkeys(("toml", "hcl"), LazyPattern(r"(?<=\d\d)[ \t\r]{0,8}(?:\n|\Z|#|,|\})")),
}
"""Text that ends a value without quotes, by kind of file."""
_DEFINING: Final = LazyPattern(r"(?:define|getenv|environ\.get|env|ENV\.fetch|config)\(\s{0,8}[\"']\Z")
_CONSTANT: Final = LazyPattern(r"(?!PASS(?:ES)?$)[A-Z][A-Z\d_]{1,60}")
_SERVICE_SETTING: Final = LazyPattern(
    r"(?i)(?:^|[._])(?:smtp|ssh|db|database|mysql|postgres|redis|mail|ldap|s?ftp|mongo|rabbitmq|amqp|mqtt)[._]?pass"
)
_CODE_SETTING: Final = LazyPattern(
    r"(?:^|_)(?:TEST|FAKE|DUMMY|EXAMPLE|SAMPLE|MOCK|KEY|PARAM|ARG|ATTR|CONF|CFG|OPT|OPTION|PROP|TK|TOK|STATE|KIND|CMD)_"
)
"""Prefixes of constants that name or test something."""
_CONNECTION: Final = LazyPattern(
    r"(?i)(?<![^\W_])(?:db_?)?(?:host(?:name|addr)?|server|database|db(?:name)?|adapter|dialect|smtp\w{0,8})"
    r"[\"'\])]{0,3}[ \t]{0,8}(?:=>|[:=](?!=))"
)
_LOGIN: Final = LazyPattern(
    r"(?i)(?<![^\W_])(?:user\w{0,8}|login|e?mail|host(?:name)?|server)[\"'\])]{0,3}[ \t]{0,8}(?:=>|[:=])|<user"
)
_USER_BEFORE: Final = LazyPattern(
    r"(?:user|login|name|uid)\w{0,12}[\"'\])]{0,3}(?:[ \t]{0,8}(?:=>|[:=])|>)[ \t]{0,8}[\"']?\Z"
)
_LANGUAGES: Final = (
    "ar|bg|bn|ca|cs|cy|da|de|el|en|es|et|eu|fa|fi|fil|fr|gl|he|hi|hr|hu|id|is|it|ja|ka|kk|km|ko|lt|lv|mk|mn|ms|nb|nl|nn|"
    "no|pl|pt|ro|ru|sk|sl|sq|sr|sv|ta|te|th|tr|uk|ur|uz|vi|zh"
)
_TRANSLATION: Final = LazyPattern(
    rf"(?i)(?:[\w.-]{{1,40}}[._-])?(?:{_LANGUAGES})(?:[-_][a-z]{{2,4}}){{0,2}}\.(?:json|ya?ml|properties|toml|xml)|"
    r"(?:messages?|strings|locales?|translations?|labels|i18n|errors?)\.(?:json|ya?ml|properties|toml|xml)|"
    r"[\w.-]{1,60}\.(?:arb|resx|xliff?|xlf)(?:\.\w{1,4})?"
)
_TRANSLATED: Final = LazyPattern(
    rf"[\s\ufeff-]{{0,8}}(?:\{{\s{{0,8}})?[\"']?(?:{_LANGUAGES})(?:[-_][A-Z]{{2}})?[\"']?:[ \t\r]{{0,8}}[\n{{]"
)
"""Names of files of translations, and the beginning of those that hold one language."""
