"""Names of variables, keys, columns and options that indicate a secret.

The last word of a name decides: `db_password` is one, `password_file` is not.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Final


class Naming(Enum):
    """The kind of secret that a name indicates: chosen by a person, generated, or a key that may be public."""

    PASSWORD = "password"  # noqa: S105 - a kind of secret
    TOKEN = "token or key"  # noqa: S105 - a kind of secret
    KEY = "key"


@lru_cache(maxsize=4_096)
def naming_of(name: str) -> Naming | None:
    """Return the kind of secret that a name indicates, if any."""
    words = [word.lower() for word in _WORD.findall(name)]
    is_hash = False
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1] in _HASHES or words[-1].isdigit()):
        is_hash |= words.pop() in _HASHES
    if not words or not _PUBLIC.isdisjoint(words) or words == _BASELINE:
        return None
    last = words[-1]
    if last in _PASSWORDS or last.endswith(("password", "passwd", "passphrase", "passwort", "pwd")):
        return Naming.TOKEN if is_hash else Naming.PASSWORD
    if is_hash:
        return None
    if last in _TOKENS or last.endswith(_TOKEN_ENDS):
        return Naming.TOKEN
    before = words[-2] if len(words) > 1 else ""
    if last not in _KEYS or not before:
        return None
    return Naming.TOKEN if before in _KINDS_OF_KEYS else Naming.KEY


@lru_cache(maxsize=4_096)
def is_unmistakable(name: str) -> bool:
    """Whether the value of a setting with this name is a secret, whatever it looks like."""
    naming, words = naming_of(name), [word.lower() for word in _WORD.findall(name)]
    if naming is None or not _ABOUT_PASSWORDS.isdisjoint(words) or not _HASHES.isdisjoint(words):
        return False
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1].isdigit()):
        words.pop()
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if naming == Naming.PASSWORD or last.endswith(("secret", "apikey", "secretkey", "accesskey", "privatekey")):
        return True
    if last.endswith("key"):
        return last in _TOKENS or before in _KINDS_OF_PLAIN_KEYS
    return last == "token" and before in _KINDS_OF_PLAIN_TOKENS


def repeats_name(value: str, name: str) -> bool:
    """Whether a value is a word of its name, or contains no more than it: `POSTGRES_PASSWORD: postgres`."""
    words = [word.lower() for word in _WORD.findall(name)]
    written = "".join(words)
    return value.lower() in words or (len(written) > _MIN_WRITTEN and written in "".join(_WORD.findall(value)).lower())


@lru_cache(maxsize=4_096)
def is_open(name: str) -> bool:
    """Whether a name indicates a value that is random but no secret; too short names count as such."""
    words = [word.lower() for word in _WORD.findall(name)]
    if sum(map(len, words)) < _MIN_OPEN:
        return True
    return any(word in _OPEN or word.rstrip("s") in _OPEN or word.endswith(_OPEN_ENDS) for word in words)


def is_vague(name: str) -> bool:
    """Whether a name indicates no more than that its value is data."""
    words = {word.lower() for word in _WORD.findall(name)}
    return sum(map(len, words)) < _MIN_OPEN or (not words.isdisjoint(_DATA) and words.isdisjoint(_OPEN - _DATA))


_MIN_WRITTEN: Final = 8
_MIN_OPEN: Final = 3
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-ɏ]+|[^\W\d_A-Za-zß-ɏ]+|\d+")
_QUALIFIERS: Final = frozenset(
    "value val plain plaintext text prod production dev development staging stage live test default old new current "
    "backup base b64 base64 primary secondary string str data raw main here override v again".split()
)
_HASHES: Final = frozenset("hash sha hex digest".split())
_PUBLIC: Final = frozenset("public existing csrf xsrf pub".split())
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
_BASELINE: Final = ["hashed", "secret"]
"""The baseline format of detect-secrets, whose hashes are not reported again."""
_DATA: Final = frozenset("data encoded payload blob content text message msg body base buffer raw value input".split())
_OPEN: Final = frozenset(
    "public publishable pub mac site csrf xsrf id uuid guid urn oid uid gid hash sha md digest checksum sum crc etag "
    "integrity fingerprint thumbprint signature sig signed nonce iv commit revision rev version build tag label "
    "branch tree blob cursor page offset sort partition class classname font css style icon image img picture photo "
    "logo src href link url uri path file filename folder directory name title text description comment note "
    "content body message msg payload data encoded enc encrypted sealed ciphertext cipher plaintext base vector sample "
    "example test expected expect actual result output want got input regex regexp pattern re format alphabet "
    "chars charset "
    "letters address wallet account tx txid block contract peer node certificate cert cer crt pem issuer subject "
    "modulus exponent boundary reference references dkim spf verification domain host hostname server bucket "
    "container queue table column field index ref track tracking user username owner author by team channel project "
    "resource asset artifact package module product sku model part order invoice article item number nr no type "
    "kind code locale lang sequence seq dna primer protein smiles inchi mangled symbol function method event trace "
    "span request correlation deployment snapshot pod replica job arn slug selector cache machine device hostkey "
    "known recipient thread anchor edition licence license doi isbn".split()
)
"""Words in names of values that are random but no secrets."""
_OPEN_ENDS: Final = (
    "id",
    "ids",
    "hash",
    "sum",
    "digest",
    "sha",
    "url",
    "uri",
    "path",
    "name",
    "file",
    "class",
    "sitekey",
)
_PASSWORDS: Final = frozenset(
    "pass passcode kennwort contrasena motdepasse psk pw requirepass masterauth dbpass userpass rootpass adminpass "
    "keypass storepass sshpass smtppass mailpass ftppass mypass authpass privpass wpapsk "
    "authtok remotepass localpass proxypass rootpw bindpw passe contraseña пароль pskvalue wpakey wifikey clave senha "
    "heslo hasło haslo hesla wachtwoord lösenord losenord adgangskode kodeord passord salasana jelszó jelszo lozinka "
    "şifre sifre şifresi sifresi parole geslo parool mdp psw pswd pwort paßwort slaptažodis palavrapasse "
    "parola 密码 密碼 口令 パスワード 비밀번호 암호 รหัสผ่าน".split()
)
_TOKENS: Final = frozenset(
    "pin secret token credential credentials creds authorization auth salt apikeys secrets totp authkey sharedkey "
    "masterkey appkey encryptionkey licensekey pepper erlangcookie".split()
)
_TOKEN_ENDS: Final = (
    "secret",
    "token",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
    "accountkey",
    "pepper",
)
_KEYS: Final = frozenset(("key", "keys", "pat"))
_KINDS_OF_KEYS: Final = frozenset(
    "api secret access private preshared shared auth account master signing sign signature encryption encrypt crypt "
    "crypto cipher aes hmac jwt session app application license licence service admin client storage in nonce secure "
    "deploy deployment integration consumer webhook cookie root user token project write ingest subscription function "
    "functions host server developer secretaccess accesssecret devise fernet flask django symmetric vault unseal "
    "recovery restic borg activation insights instrumentation logging insert connection sas cosmos cosmosdb batch "
    "validation decryption setup routing "
    "maps translator cognitive speech queue event topic stripe sendgrid mailgun openai algolia datadog dd "
    "fastly mailchimp figma rapidapi newrelic launchdarkly segment mixpanel amplitude bugsnag rollbar rest thingspeak "
    "weather openweather openweathermap owm mapbox tmdb omdb deepl giphy unsplash pexels spotify lastfm steam riot "
    "cloudflare linode hetzner vultr heroku netlify onesignal pushover ifttt blynk adafruit aio influx grafana "
    "pagerduty opsgenie postmark mandrill resend sparkpost vonage nexmo plaid coinbase binance kraken alphavantage "
    "finnhub polygon quandl newsapi yelp foursquare tomtom bing elastic meili typesense pinecone cohere mistral groq "
    "replicate huggingface wandb elevenlabs assemblyai deepgram anthropic gemini honeycomb".split()
)
