from __future__ import annotations

import pytest

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.extraction import extract
from directory_indexer.parsing.one_file import extract_redacted
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.walk.ignore import built_in_rules, likely_secret_kind

_RULES = built_in_rules(include_secrets=False, include_hidden=True)


def _kind(path: str) -> str | None:
    """Name the rule that leaves out a path below the root of the file system; a final slash marks a directory."""
    names = path.removesuffix("/").split("/")
    decision = _RULES.decide_path(names, is_directory=path.endswith("/"))
    return decision.rule if decision and decision.is_ignored else None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
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
        ("etc/shadow-", "password database"),
    ],
)
def test_a_secret_is_known_by_its_name(path: str, kind: str) -> None:
    assert _kind(path) == f"secret: {kind}"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".env", "environment file"),
        ("app/.env.production", "environment file"),
        ("docker.env", "environment file"),
        ("home/.kube/config", "cluster credentials"),
        ("home/.aws/credentials", "cloud credentials"),
        ("prod.tfstate", "cloud credentials"),
        ("terraform.tfstate.1700000000.backup", "cloud credentials"),
        ("home/Downloads/keeper_accessKeys.csv", "cloud credentials"),
        ("backup/aws/credentials", "cloud credentials"),
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
def test_what_is_in_a_file_of_such_a_name_decides(path: str, kind: str) -> None:
    assert _kind(path) is None
    assert likely_secret_kind(f"/{path}") == kind


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
    assert likely_secret_kind(f"/{path}") is None


NOTE = "Ask the team of the platform for access.\n"
LOGIN = "machine ftp.harbour.test login keeper password sunshine\n"


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("home/.netrc", LOGIN, "credential file"),
        ("www/htpasswd", "ann:rl0uE0eWlE9iM\nbob:sunshine\n", "password database"),
        ("etc/chap-secrets", "keeper * sunshine *\n", "credential file"),
        ("home/kaggle.json", '{"username": "keeper", "key": "0a1b2c3d4e5f60718293a4b5c6d7e8f9"}\n', "credential file"),
        ("home/.vault-token", "sunshine\n", "credential file"),
        ("home/.bash_history", "ls\nmysql -u keeper -psunshine\n", "command history"),
        ("home/.bash_history", "ls\nSunflower-42!\n", "command history"),
        ("prod.tfstate", '{"resources": [{"password": "sunshine"}]}\n', "cloud credentials"),
    ],
)
def test_a_list_of_logins_is_left_out(path: str, text: str, kind: str) -> None:
    with pytest.raises(SkipFileError) as skipped:
        _indexed(path, text)

    assert (skipped.value.reason, skipped.value.message) == (SkipReason.SECRET, kind)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("home/.netrc", f"# see below\n{NOTE}"),
        ("www/htpasswd", NOTE),
        ("home/.bash_history", "ls -l\ncd projects\n"),
        ("prod.tfstate", '{"version": 4, "resources": []}\n'),
    ],
)
def test_a_note_that_is_called_as_such_a_list_is_indexed(path: str, text: str) -> None:
    assert _indexed(path, text) == text


def test_an_environment_file_is_indexed_with_its_values_masked() -> None:
    text = "LANG=C.UTF-8\nDB_PASSWORD=sunshine\nAPI_KEY=$KEY\n"

    assert _indexed("app/.env", text) == text.replace("sunshine", "*" * 8)
    with pytest.raises(SkipFileError, match="password"):
        _indexed("app/.env", "DB_PASSWORD=correct-horse-battery-staple\n")


def _indexed(path: str, text: str) -> str:
    file, content = FilePath(f"/{path}"), text.encode()
    policy = ParsePolicy(1 << 20, include_secrets=False, chunking=ChunkPolicy(), count_tokens=len)
    return extract_redacted(file, content, lambda: extract(content, file), policy).document.text
