from __future__ import annotations

import base64

import pytest

from directory_indexer.walker.ignore import built_in_rules, has_secret_content

_RULES = built_in_rules(include_secrets=False, include_hidden=True)
_BODY = base64.b64encode(bytes(range(200)))
_LINES = b"\n".join(_BODY[start : start + 64] for start in range(0, len(_BODY), 64))


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
        ("ssl/server.key", "private key"),
        ("ssl/SERVER.PEM", "private key"),
        ("etc/ssh/ssh_host_ed25519_key", "private key"),
        ("sign.p12", "key store"),
        ("login.keyring", "keyring"),
        ("my.kdbx", "password database"),
        ("etc/shadow", "password database"),
        ("home/.kube/config", "cluster credentials"),
        ("home/.aws/credentials", "cloud credentials"),
        ("prod.tfstate", "cloud credentials"),
        ("my-service-account-1.json", "cloud credentials"),
        ("home/.netrc", "credential file"),
        ("home/.pgpass", "credential file"),
        ("project/.npmrc", "credential file"),
        ("project/.pypirc", "credential file"),
        ("home/.docker/config.json", "credential file"),
        ("home/.git-credentials", "credential file"),
        ("home/.bash_history", "command history"),
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
        "aws/credentials",
    ],
)
def test_a_harmless_name_is_no_secret(path: str) -> None:
    assert _kind(path) is None


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"-----BEGIN PRIVATE KEY-----\n" + _LINES, "private key"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\r\n" + _LINES, "private key"),
        (b"# mine\nkey: |\n  -----BEGIN RSA PRIVATE KEY-----\n  " + _LINES, "private key"),
        (b"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n" + _LINES, "private key"),
        (b"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + _LINES, "private key"),
        (b'{"private_key": "-----BEGIN PRIVATE KEY-----\\n' + _BODY, "private key"),
        (b"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n" + _LINES, "private key"),
        (b"PuTTY-User-Key-File-3: ssh-ed25519\n", "private key"),
        (b"# created\nAGE-SECRET-KEY-1" + b"Q" * 58, "private key"),
        (b"users:\n- user:\n    client-key-data: " + _BODY, "cluster credentials"),
        (b"[default]\naws_secret_access_key = " + b"aB3/" * 10 + b"\n", "cloud credentials"),
        (b"export AWS_SECRET_ACCESS_KEY='" + b"aB3/" * 10 + b"'\n", "cloud credentials"),
        (b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5", "password database"),
        (b"\xfe\xed\xfe\xed\x00\x00\x00\x02", "key store"),
    ],
)
def test_a_secret_is_known_by_its_content(content: bytes, kind: str) -> None:
    assert has_secret_content(content) == kind


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"A key file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
        b"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\n<your key here>\n",
        b"-----BEGIN CERTIFICATE-----\n" + _LINES,
        b"-----BEGIN PUBLIC KEY-----\n" + _LINES,
        b"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
        b"client-key-data: REDACTED\n",
    ],
)
def test_a_text_about_secrets_is_none(content: bytes) -> None:
    assert has_secret_content(content) is None


def test_hostile_content_is_decided_at_once() -> None:
    assert has_secret_content(b"-----BEGIN PRIVATE KEY-----\n" + b"a: b\n" * 20_000) is None
    assert has_secret_content(b"-----BEGIN A PRIVATE KEY-----\n\n\nX-Y:" * 2_000) is None
