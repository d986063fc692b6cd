"""What holds secrets and is never indexed unless that is asked for: by its name, and by what it begins with."""

from __future__ import annotations

import re
from typing import Final

SECRET_NAMES: Final = {
    "environment file": (
        ".env*",
        "*.env",
        *(f"!.env*.{kind}" for kind in ("example", "sample", "template", "dist")),
        *(f"!*{kind}.env" for kind in ("example", "sample", "template")),
    ),
    "private key": (
        *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub", "ssh_host_*_key"),
        *("*.pem", "*.key", "*.ppk", "*.p8", "*.pk8", "secring.*"),
    ),
    "key directory": (".ssh/", ".gnupg/", ".password-store/", "**/share/keyrings/", "**/Library/Keychains/"),
    "key store": ("*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.jceks", "*.bcfks", "*.keystore"),
    "keyring": ("*.keyring", "*.keychain", "*.keychain-db", "*.kwl"),
    "password database": (
        *("*.kdb", "*.kdbx", "*.psafe3", "*.1pux", "*.enpassdb", "*.agilekeychain/", "*.opvault/"),
        *("Login Data", "key3.db", "key4.db", "logins.json", "signons.sqlite"),
        *(".htpasswd", "**/etc/shadow", "**/etc/gshadow"),
    ),
    "cluster credentials": ("kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", "*.kubeconfig", "**/.kube/config"),
    "cloud credentials": (
        *("**/.aws/credentials", "**/.aws/cli/cache/", "**/.aws/sso/cache/", "**/.azure/", "**/.oci/config"),
        *("**/gcloud/credentials.db", "**/gcloud/access_tokens.db", "**/gcloud/legacy_credentials/"),
        *("application_default_credentials.json", "client_secret*.json", "*firebase-adminsdk*.json"),
        *("*service-account*.json", "*service_account*.json", "credentials.csv", "**/doctl/config.yaml"),
        *(".boto", ".s3cfg", ".passwd-s3fs", ".databrickscfg", "rclone.conf"),
        *("*.tfstate", "*.tfstate.backup", "credentials.tfrc.json", ".terraformrc"),
    ),
    "credential file": (
        *(".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".smbcredentials"),
        *(".npmrc", ".pypirc", "**/.cargo/credentials", "**/.cargo/credentials.toml", "**/.gem/credentials"),
        *("**/.m2/settings.xml", "**/.m2/settings-security.xml", "**/.gradle/gradle.properties"),
        *("**/.composer/auth.json", "**/.config/composer/auth.json", "**/.config/gh/hosts.yml", "**/.codex/auth.json"),
        *(".dockercfg", "**/.docker/config.json", "**/huggingface/token", "kaggle.json", ".git-credentials"),
        *(".credentials", ".credentials.json", "credentials.json", "secrets.json", "secrets.toml"),
        *(
            "secrets.yaml",
            "secrets.yml",
            ".vault-token",
            ".vault_pass*",
            ".vault-pass*",
            "vault_pass",
            "vault_pass.txt",
        ),
        *("*.ovpn", "**/etc/wireguard/*.conf", "**/system-connections/*.nmconnection"),
    ),
    "command history": (".*_history", ".lesshst"),
}
"""Patterns in the language of gitignore, by kind. One that ends with a slash is for directories, the rest for files."""

_KEY_BLOCK: Final = rb"""(?x)
    -{4,5}\ ?BEGIN\ (?:[A-Z0-9]{1,12}\ ){0,2}PRIVATE\ KEY(?:\ BLOCK)?\ ?-{4,5}
    (?:\s|\\[nr]){1,8}
    (?:[A-Za-z-]{1,20}:[^\r\n]{0,200}\s{1,4}){0,6}
    [^A-Za-z0-9+/]{0,16}[A-Za-z0-9+/]{40}"""
_CLOUD_KEY: Final = rb"""(?ix)
    aws_secret_access_key["']?\s{0,8}[=:]\s{0,8}["']?
    (?![A-Za-z0-9+/]{0,40}EXAMPLE)[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])"""
_CONTENT: Final = (
    (b"PRIVATE KEY", _KEY_BLOCK, "private key"),
    (b"AGE-SECRET-KEY-1", rb"AGE-SECRET-KEY-1[A-Z0-9]{58}", "private key"),
    (b"client-key-data:", rb"client-key-data:\s{0,8}[\"']?[A-Za-z0-9+/]{60}", "cluster credentials"),
    (b"aws_secret_access_key", _CLOUD_KEY, "cloud credentials"),
    (b"AWS_SECRET_ACCESS_KEY", _CLOUD_KEY, "cloud credentials"),
)
"""A text that is quick to look for, the pattern that must then be found, and the kind of secret.

The patterns are compiled when they are first needed, which takes a millisecond: most runs read no file.
"""

_BEGINNINGS: Final = {
    b"\x03\xd9\xa2\x9a": "password database",  # KeePass
    b"PWS3": "password database",  # Password Safe
    b"\xfe\xed\xfe\xed": "key store",  # Java
    b"\xce\xce\xce\xce": "key store",  # Java, with secret keys
    b"GnomeKeyring\n": "keyring",
    b"KWALLET\n": "keyring",
    b"kych": "keyring",  # macOS
    b"PuTTY-User-Key-File-": "private key",
    b"SSH PRIVATE KEY FILE FORMAT": "private key",
}


def has_secret_content(head: bytes) -> str | None:
    """Name the kind of secret that the beginning of a file gives away; the longer the beginning, the better.

    A key must be whole: a text that only shows what a key looks like holds none.
    """
    for beginning, kind in _BEGINNINGS.items():
        if head.startswith(beginning):
            return kind
    return next((kind for text, pattern, kind in _CONTENT if text in head and re.search(pattern, head)), None)
