"""Which names of variables, keys, columns and options stand before a secret.

A name counts by how it ends: `db_password` is one, `password_file` is none.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Final


class Naming(Enum):
    """What a name promises: something that a person may have chosen, or something generated."""

    PASSWORD = "password"  # noqa: S105 - a kind of secret
    TOKEN = "token or key"  # noqa: S105 - a kind of secret


@lru_cache(maxsize=4_096)
def naming_of(name: str) -> Naming | None:
    """Tell what a name stands before, if it is a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1].isdigit()):
        words.pop()
    if not words or not _PUBLIC.isdisjoint(words):
        return None
    last = words[-1]
    if last in _PASSWORDS or last.endswith(("password", "passwd", "passphrase", "passwort", "pwd")):
        return Naming.PASSWORD
    if last in _TOKENS or last.endswith(_TOKEN_ENDS):
        return Naming.TOKEN
    before = words[-2] if len(words) > 1 else ""
    return Naming.TOKEN if last in _KEYS and before in _KINDS_OF_KEYS else None


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zñ]+|[А-ЯЁа-яё]+|\d+")  # noqa: RUF001
_QUALIFIERS: Final = frozenset(
    "value val plain plaintext text prod production dev development staging stage live test default old new current "
    "backup base b64 base64 primary secondary string str data raw main here override v".split()
)
_PUBLIC: Final = frozenset("public existing csrf xsrf pub".split())
_PASSWORDS: Final = frozenset(
    "pass passcode kennwort contrasena motdepasse psk pw requirepass masterauth dbpass userpass rootpass adminpass "
    "keypass storepass sshpass smtppass mailpass ftppass mypass authpass privpass wpapsk "
    "remotepass localpass proxypass rootpw bindpw passe contraseña пароль".split()
)
_TOKENS: Final = frozenset(
    "secret token credential credentials creds authorization auth salt apikeys secrets totp authkey sharedkey "
    "masterkey appkey encryptionkey licensekey".split()
)
_TOKEN_ENDS: Final = ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey", "authkey", "accountkey")
_KEYS: Final = frozenset(("key", "keys"))
_KINDS_OF_KEYS: Final = frozenset(
    "api secret access private preshared shared auth account master signing sign signature encryption encrypt crypt "
    "crypto cipher aes hmac jwt session app application license licence service admin client storage in nonce secure "
    "deploy deployment integration consumer webhook cookie root user token project write ingest subscription function "
    "functions host server developer secretaccess accesssecret devise fernet flask django symmetric vault unseal "
    "recovery restic borg activation insights instrumentation logging insert connection sas cosmos cosmosdb batch "
    "validation decryption "
    "maps translator cognitive speech queue event topic stripe sendgrid mailgun openai algolia datadog dd "
    "fastly mailchimp figma rapidapi newrelic launchdarkly segment mixpanel amplitude bugsnag rollbar".split()
)
