"""Files that are secrets by their names alone, and files that are by their names and contents.

A file that cannot be harmless, such as a key store, is never read unless that is requested. If a note may have the same
name, or the name is shared, such as that of a public certificate, the content decides when the file is parsed.
"""

from __future__ import annotations

import re
from typing import Final

_COPY: Final = r"(?i)(?:[-~]|[-._](?:bak|backup|old|orig)[0-9]*|\.saved?|\.swp|[-.][0-9][0-9._T-]*)\Z"
_TEXTS: Final = (
    "md rst adoc txt html c h cc cpp py pyi js mjs ts tsx d.ts go rs java rb php cs kt swift lua pl ex".split()
)
_ENCRYPTED: Final = "sops enc encrypted".split()
"""Suffixes of files with encrypted values; their other values are masked."""
_SAMPLES: Final = "example sample template tmpl tpl dist default defaults schema spec".split()


def name_of_original(name: str) -> str:
    """Return the name of a file without the suffixes of copies: bak, old, save, a date."""
    return re.sub(_COPY, "", name)


def _dotted(*names: str) -> tuple[str, ...]:
    """Return names that begin with a dot at home, and without one in a backup or a dotfiles repository."""
    return (*names, *(f".{name}" for name in names))


SECRET_NAMES: Final = {
    "private key": (
        *(
            f"id_{algorithm}{rest}"
            for algorithm in "rsa dsa ecdsa ed25519 ecdsa_sk ed25519_sk".split()
            for rest in ("", "_*", "-*")
        ),
        *("!id_*.*", "!id_*_[Hh][Oo][Ww][Tt][Oo]", "!id_*[-_]pub"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
        *("id_rsa.key", "id_rsa.pem", "id_rsa.ppk", "id_ed25519.key", "id_ed25519.ppk"),
        *("ssh_host_*_key", "*.ppk", "*.pk8", "*.pvk"),
        *("secring.gpg", "secring.pgp", "secring.skr", "secring.gpg.*", "secring.bak"),
    ),
    "key directory": (".ssh/", ".gnupg/", ".password-store/", "**/share/keyrings/", "**/Library/Keychains/"),
    "key store": ("*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.jceks", "*.bcfks", "*.keystore", "*.bks", "*.uber"),
    "keyring": ("*.keyring", "*.keychain", "*.keychain-db", "*.kwl", "*.kwallet"),
    "password database": (
        *("*.kdbx", "*.psafe3", "*.1pux", "*.1pif", "*.enpassdb", "*.agilekeychain/", "*.opvault/"),
        *("Login Data", "Login Data For Account", "key3.db", "key4.db", "signons.sqlite"),
        *("**/etc/shadow", "**/etc/gshadow", "**/etc/security/opasswd"),
    ),
    "cloud credentials": (
        *("**/.aws/cli/cache/", "**/.aws/sso/cache/", "**/.azure/", "**/.oci/sessions/"),
        *("**/gcloud/credentials.db", "**/gcloud/access_tokens.db", "**/gcloud/legacy_credentials/"),
    ),
    "credential file": ("**/.subversion/auth/", "**/.config/op/", "**/.heroku/", "cookies.sqlite"),
}
"""Patterns in the language of gitignore, by kind. Those that end with a slash are for directories, the others for
files.
"""
LIKELY_NAMES: Final = {
    "environment file": (
        *(
            ".env",
            ".env.*",
            ".env-*",
            ".env_*",
            ".env~",
            ".envrc",
            ".envrc.*",
            "*.env",
            "*.env.bak",
            "*.env.old",
            "*.env~",
        ),
        *(
            f"env.{stage}"
            for stage in "production prod staging stage development dev local live secret secrets".split()
        ),
        *(f"!.env*.{kind}" for kind in (*_SAMPLES, *_TEXTS)),
        *(f"!.env*.{kind}.*" for kind in _SAMPLES),
        *(name for kind in _ENCRYPTED for name in (f"!.env*.{kind}", f"!*.{kind}.env")),
        *(f"!.env{mark}{kind}*" for kind in _SAMPLES for mark in "-_."),
        *(f"!*{kind}.env" for kind in _SAMPLES),
    ),
    "password database": (
        *("logins.json", "logins-backup.json", ".htpasswd", "htpasswd", ".htdigest", "htdigest"),
        *("shadow-", "gshadow-", "shadow.bak", "gshadow.bak", "master.passwd"),
    ),
    "cluster credentials": (
        *("kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", "**/.kube/config", "**/kube/config"),
        *("*.kubeconfig", "*-kubeconfig.yaml", "*-kubeconfig.yml", "*kubeconfig*.conf"),
    ),
    "cloud credentials": (
        *("**/.aws/credentials", "**/aws/credentials"),
        "**/.oci/config",
        *("application_default_credentials.json", "client_secret_*.json", "client_secret.json", "client_secrets.json"),
        *(
            "*firebase-adminsdk*.json",
            "*accessKeys.csv",
            "rootkey.csv",
            "*_credentials.csv",
            "credentials.csv",
            "new_user_credentials.csv",
        ),
        *(
            "**/doctl/config.yaml",
            "**/hcloud/cli.toml",
            "**/linode-cli",
            "**/.fly/config.yml",
            "**/scw/config.yaml",
            "**/bluemix/config.json",
        ),
        *_dotted("boto", "s3cfg", "passwd-s3fs", "databrickscfg", "terraformrc"),
        *(
            "rclone.conf",
            "*.tfstate",
            "*.tfstate.backup",
            "*.tfstate.*.backup",
            "*.tfstate.bak",
            "credentials.tfrc.json",
            "terraform.rc",
        ),
    ),
    "credential file": (
        *_dotted("netrc", "pgpass", "smbcredentials", "mylogin.cnf", "git-credentials", "vault-token", "pypirc"),
        *(
            "_netrc",
            "pgpass.conf",
            "chap-secrets",
            "sasl_passwd",
            "erlang.cookie",
            ".erlang.cookie",
            "pap-secrets",
            "ipsec.secrets",
            ".my.cnf",
            ".npmrc",
            ".credentials",
            ".credentials.json",
        ),
        *("**/.cargo/credentials", "**/.cargo/credentials.toml", "**/.gem/credentials", "**/.bundle/config"),
        *("**/.m2/settings.xml", "**/.m2/settings-security.xml", "**/.gradle/gradle.properties"),
        *(
            "**/.composer/auth.json",
            "**/.config/composer/auth.json",
            "**/.config/gh/hosts.yml",
            "**/gh/hosts.yml",
            "**/.config/hub",
        ),
        *("**/.codex/auth.json", "**/.claude/.credentials.json", "**/glab-cli/config.yml"),
        *(".dockercfg", ".dockerconfigjson", "**/.docker/config.json", "**/huggingface/token", "kaggle.json"),
        *(
            "**/.netlify/config.json",
            "**/.config/ngrok/ngrok.yml",
            "**/.ngrok2/ngrok.yml",
        ),
        *(".vault_pass*", ".vault-pass*", "vault_pass", "vault_pass.txt", "vault-password.txt", ".vault_password"),
        *("*.remmina", "*.rdp.enc", "*.ovpn", "**/etc/wireguard/*.conf", "*.nmconnection", "wpa_supplicant.conf"),
        *("Cookies", "keepass.ini"),
    ),
    "command history": (
        *(
            f".{shell}_history"
            for shell in (
                "bash zsh sh ash ksh python node_repl psql mysql sqlite rediscli redis irb pry mongo mongosh dbshell "
                "php scala julia R"
            ).split()
        ),
        *(
            f"{shell}_history{rest}"
            for shell in "bash zsh fish psql mysql".split()
            for rest in ("", ".txt", ".bak", ".old")
        ),
        *(
            ".*_history.bak",
            ".history",
            ".zhistory",
            ".histfile",
            ".zsh_history*",
            ".bash_history*",
            ".lesshst",
            ".viminfo",
            "_viminfo",
        ),
        *(
            ".rediscli_history",
            ".python_history",
            ".node_repl_history",
            ".dbshell",
            "ConsoleHost_history.txt",
            ".mycli-history",
        ),
    ),
}
"""Patterns of files with secrets, unless their content is harmless."""
