from __future__ import annotations

import pytest

from directory_indexer.walker.ignore import built_in_rules

_RULES = built_in_rules(include_secrets=False, include_hidden=True)


def _kind(path: str) -> str | None:
    """Name the rule that leaves out a path below the root of the file system; a final slash marks a directory."""
    names = path.removesuffix("/").split("/")
    decision = _RULES.decide_path(names, is_directory=path.endswith("/"))
    return decision.rule if decision and decision.is_ignored else None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".env", "environment file"),
        ("app/.env.production", "environment file"),
        ("docker.env", "environment file"),
        ("home/.ssh/", "key directory"),
        ("keys/id_rsa", "private key"),
        ("keys/id_ed25519_work", "private key"),
        ("keys/ID_RSA", "private key"),
        ("keys/id_rsa.bak", "private key"),
        ("keys/id_rsa-2019", "private key"),
        ("etc/ssh/ssh_host_ed25519_key", "private key"),
        ("sign.p12", "key store"),
        ("login.keyring", "keyring"),
        ("my.kdbx", "password database"),
        ("etc/shadow", "password database"),
        ("home/.kube/config", "cluster credentials"),
        ("home/.aws/credentials", "cloud credentials"),
        ("prod.tfstate", "cloud credentials"),
        ("terraform.tfstate.1700000000.backup", "cloud credentials"),
        ("home/Downloads/keeper_accessKeys.csv", "cloud credentials"),
        ("backup/aws/credentials", "cloud credentials"),
        ("etc/shadow-", "password database"),
        ("backup/shadow-", "password database"),
        ("www/htpasswd", "password database"),
        ("dotfiles/netrc", "credential file"),
        ("home/.netrc~", "credential file"),
        ("home/vpn/office.nmconnection", "credential file"),
        ("app/env.production", "environment file"),
        ("app/.env.local.bak", "environment file"),
        ("home/.netrc", "credential file"),
        ("home/.pgpass", "credential file"),
        ("project/.npmrc", "credential file"),
        ("project/.pypirc", "credential file"),
        ("home/.docker/config.json", "credential file"),
        ("home/.git-credentials", "credential file"),
        ("home/.bash_history", "command history"),
        ("home/.local/share/fish/fish_history", "command history"),
        ("home/.zhistory", "command history"),
        ("home/.viminfo", "command history"),
    ],
)
def test_a_secret_is_known_by_its_name(path: str, kind: str) -> None:
    assert _kind(path) == f"secret: {kind}"


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        ".env.template",
        ".env.local.example",
        ".env/",
        "environment.md",
        "keys/id_rsa.pub",
        "keys.py",
        "secrets.py",
        "credentials.md",
        "shadow",
        "docker/config.json",
        "project/config",
        "project/credentials",
        ".envoy.yaml",
        ".environment.yml",
        ".env.d.ts",
        "ssl/cert.pem",
        "locale/en.key",
        "talk/presentation.key",
        "game.p8",
        "src/id_rsa.c",
        "src/id_rsa_howto.md",
        "src/id_ecdsa_test.py",
        "src/secring.c",
        "chart/templates/secrets.yaml",
        "schema/service_account_schema.json",
        "db/schema.kdb",
        "history/.notes_history",
    ],
)
def test_a_harmless_name_is_no_secret(path: str) -> None:
    assert _kind(path) is None
