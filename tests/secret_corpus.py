"""Files with secrets and files without, filled in from templates: no token stands in the repository."""

from __future__ import annotations

import base64
import random
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer.secrets.recovery_codes import BIP39_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TEMPLATES: Final = Path(__file__).parent / "data" / "secrets"
_HEADER: Final = re.compile(r"^=== (?P<path>.+?)(?: \((?P<form>[a-z0-9-]+)\))?\n", re.MULTILINE)
_SLOT: Final = re.compile(r"«(\w+)»")
_BASE64: Final = string.ascii_letters + string.digits + "+/"
_BASE64_URL: Final = string.ascii_letters + string.digits + "-_"
_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_HEX: Final = "0123456789abcdef"
_WORDS: Final = "winter Harbour monkey tr0ub4dor Sailor sunshine lantern Qwerty dragon Compass anchor keeper99".split()
_NOT_SECRET: Final = re.compile(r".*_(?:near|public)|certificate|filler|akia|asia")


ORDINARY_PASSWORDS: Final = (
    *"sunshine monkey football iloveyou letmein Kolibri geheim zebrapw blue-heron zebra-pw 1234567 94016".split(),
    *"swordfish dragonfly qwertyuiop apfelbaum Zwetschge motdepasse correcthorse hunter2 trustno1 pa55word".split(),
    *"admin123 rosebud1 P@ssw0rd correct-horse-battery-staple 123123 qwerty dragon shadow abc fox x7!".split(),
)
"""Passwords that people choose, which no rule for random values recognises."""


class SampleFile(NamedTuple):
    """A file, and the secrets in it."""

    path: str
    content: bytes
    secrets: tuple[str, ...]


def sample_files(name: str, ordinary: str | None = None) -> Iterator[SampleFile]:
    """Fill in the templates of a set, and one ordinary password, if any, wherever they want one."""
    text = (_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers[1:]), len(text)]
    for header, end in zip(headers, ends, strict=True):
        yield _filled(header["path"], text[header.end() : end], header["form"], ordinary)


def _filled(path: str, template: str, form: str | None, ordinary: str | None) -> SampleFile:
    chance = random.Random(path)  # noqa: S311 - texts, not secrets
    secrets: list[str] = []

    def fill(slot: re.Match[str]) -> str:
        kind = slot[1]
        if kind == "same":
            return secrets[-1]
        value = ordinary if kind == "plain" and ordinary else _value(kind, chance)
        if not _NOT_SECRET.fullmatch(kind):
            secrets.extend(_parts(value))
        return value

    text = _SLOT.sub(fill, template)
    if form == "crlf":
        text = text.replace("\n", "\r\n")
    return SampleFile(path, text.encode(form if form and form != "crlf" else "utf-8"), tuple(secrets))


def _parts(value: str) -> list[str]:
    """Take the lines of a key for its parts; the first and last lines of a block are no secret."""
    lines = re.split(r"\n|\\n|<br>", value)
    if len(lines) == 1:
        return [value]
    return [line.strip() for line in lines if re.fullmatch(r"\s*[\w+/=]{32,}", line)]


def _value(kind: str, chance: random.Random) -> str:
    kind = kind.removesuffix("_near").removesuffix("_public")
    if maker := _MAKERS.get(kind):
        return maker(chance)
    if words := re.fullmatch(r"seed(\d+)", kind):
        return " ".join(chance.sample(sorted(BIP39_WORDS), int(words[1])))
    found = re.fullmatch(r"(b64u_|b64_|an|AN|hex|digits|letters)(\d+)", kind)
    assert found, kind
    return _random(chance, _ALPHABETS[found[1]], int(found[2]))


def _random(chance: random.Random, alphabet: str, length: int) -> str:
    while True:
        value = "".join(chance.choices(alphabet, k=length))
        if alphabet.isalpha() or alphabet.isdigit() or (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
            return value


def _password(chance: random.Random) -> str:
    styles: list[Callable[[], str]] = [
        lambda: chance.choice(_WORDS).title() + _random(chance, string.digits, 4) + chance.choice("!$#*?"),
        lambda: chance.choice(_WORDS) + chance.choice("-_.!") + _random(chance, _ALPHANUMERIC, 5),
        lambda: _random(chance, _ALPHANUMERIC, 12),
        lambda: _random(chance, _ALPHANUMERIC + "!#%^*-_=+", 16),
        lambda: _random(chance, string.ascii_lowercase + string.digits, 10),
        lambda: chance.choice(_WORDS) + chance.choice(_WORDS).title() + _random(chance, string.digits, 2),
    ]
    return chance.choice(styles)()


def _lines(chance: random.Random, n_lines: int = 8, *, width: int = 64, alphabet: str = _BASE64) -> str:
    return "\n".join(_random(chance, alphabet, width) for _ in range(n_lines))


def _pem(label: str, *, headers: str = "", end: str = "\n") -> Callable[[random.Random], str]:
    def make(chance: random.Random) -> str:
        lines = (_lines(chance) + "\n" + _random(chance, _BASE64, 38) + "==").replace("\n", end)
        return f"-----BEGIN {label}-----{end}{headers}{lines}{end}-----END {label}-----"

    return make


def _putty(chance: random.Random) -> str:
    return (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: keeper\nPublic-Lines: 2\n"
        f"AAAAC3NzaC1lZDI1NTE5AAAA\nAAAA\nPrivate-Lines: 2\n"
        f"{_lines(chance, 2)}\nPrivate-MAC: {_random(chance, _HEX, 30)}"
    )


def _jwt(chance: random.Random) -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{_random(chance, _HEX, 12)}","name":"Keeper","iat":1700000000}}')
    encoded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join((*encoded, _random(chance, _BASE64_URL, 43)))


def _uuid(chance: random.Random) -> str:
    return "-".join(_random(chance, _HEX, length) for length in (8, 4, 4, 4, 12))


def _words(chance: random.Random) -> str:
    words = "the tide comes in at dawn and the boats go out with nets lamps ropes".split()
    return "\n".join(" ".join(chance.choices(words, k=12)) for _ in range(500))


_ALPHABETS: Final = {
    "b64_": _BASE64,
    "b64u_": _BASE64_URL,
    "an": _ALPHANUMERIC,
    "AN": string.ascii_uppercase + string.digits,
    "hex": _HEX,
    "digits": string.digits,
    "letters": string.ascii_letters,
}
_UPPER: Final = string.ascii_uppercase + "234567"
_MAKERS: Final[dict[str, Callable[[random.Random], str]]] = {
    "akia": lambda chance: "AKIA" + _random(chance, _UPPER, 16),
    "asia": lambda chance: "ASIA" + _random(chance, _UPPER, 16),
    "aws": lambda chance: _random(chance, _BASE64, 40),
    "azure": lambda chance: _random(chance, _ALPHANUMERIC, 3) + "8Q~" + _random(chance, _BASE64_URL, 34),
    "pw": _password,
    "pwurl": lambda chance: _random(chance, _ALPHANUMERIC, 14),
    "b64pw": lambda chance: base64.b64encode(_password(chance).encode()).decode(),
    "basic": lambda chance: base64.b64encode(f"keeper:{_password(chance)}".encode()).decode(),
    "django": lambda chance: _random(chance, string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)", 50),
    "wp": lambda chance: _random(chance, _ALPHANUMERIC + "!@#$%^&*()-_[]{}~+=,.;:/?|", 64),
    "base32": lambda chance: _random(chance, _UPPER, 32),
    "uuid": _uuid,
    "appword": lambda chance: "-".join(_random(chance, string.ascii_letters[:26], 4) for _ in range(4)),
    "jwt": _jwt,
    "ghp": lambda chance: "ghp_" + _random(chance, _ALPHANUMERIC, 36),
    "gho": lambda chance: "gho_" + _random(chance, _ALPHANUMERIC, 36),
    "glpat": lambda chance: "glpat-" + _random(chance, _BASE64_URL, 20),
    "xoxb": lambda chance: "-".join(
        ("xoxb", *(_random(chance, string.digits, 12) for _ in "ab"), _random(chance, _ALPHANUMERIC, 24))
    ),
    "xapp": lambda chance: (
        f"xapp-1-A{_random(chance, _UPPER, 10)}-{_random(chance, string.digits, 13)}-{_random(chance, _HEX, 64)}"
    ),
    "sk_live": lambda chance: "sk_" + "live_" + _random(chance, _ALPHANUMERIC, 24),
    "discord": lambda chance: (
        f"M{_random(chance, _ALPHANUMERIC, 23)}.{_random(chance, _BASE64_URL, 6)}.{_random(chance, _BASE64_URL, 38)}"
    ),
    "telegram": lambda chance: f"{_random(chance, string.digits, 10)}:AA{_random(chance, _BASE64_URL, 33)}",
    "sendgrid": lambda chance: f"SG.{_random(chance, _BASE64_URL, 22)}.{_random(chance, _BASE64_URL, 43)}",
    "openai": lambda chance: "sk-proj-" + _random(chance, _BASE64_URL, 60),
    "anthropic": lambda chance: "sk-ant-" + "api03-" + _random(chance, _BASE64_URL, 93) + "AA",
    "hf": lambda chance: "hf_" + _random(chance, _ALPHANUMERIC, 34),
    "aiza": lambda chance: "AIza" + _random(chance, _BASE64_URL, 35),
    "npm": lambda chance: "npm_" + _random(chance, _ALPHANUMERIC, 36),
    "pypi": lambda chance: "pypi-AgEIcHlwaS5vcmc" + _random(chance, _BASE64_URL, 120),
    "bech58": lambda chance: _random(chance, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "pem_rsa": _pem("RSA PRIVATE KEY"),
    "pem_ec": _pem("EC PRIVATE KEY"),
    "pem_pkcs8": _pem("PRIVATE KEY"),
    "pem_openssh": _pem("OPENSSH PRIVATE KEY"),
    "pem_encrypted": _pem("RSA PRIVATE KEY", headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\n"),
    "pem_json": _pem("PRIVATE KEY", end="\\n"),
    "pem_br": _pem("PRIVATE KEY", end="<br>"),
    "pem_indented": lambda chance: "    " + _pem("PRIVATE KEY", end="\n    ")(chance),
    "b64pem": lambda chance: base64.b64encode(_pem("PRIVATE KEY")(chance).encode()).decode(),
    "plain": lambda chance: chance.choice(ORDINARY_PASSWORDS),
    "hard": lambda chance: chance.choice(("Kolibri-77", "harbour4Lamp", "winter!Sail9", "tr0ub4dor", "Anker2019!")),
    "seed": lambda chance: " ".join(
        chance.sample(
            "velvet ladder puzzle grape timber acoustic fragile eager orbit dune spoil width ocean".split(), 12
        )
    ),
    "pgp": _pem("PGP PRIVATE KEY BLOCK", headers="Version: GnuPG v2\n\n"),
    "putty": _putty,
    "certificate": _pem("CERTIFICATE"),
    "b64lines": _lines,
    "hexlines": lambda chance: _lines(chance, 16, width=32, alphabet=_HEX),
    "filler": _words,
}
