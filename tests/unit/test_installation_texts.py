"""No text tells anyone to install dirindex by a name that the package index gives to somebody else."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLERS = re.compile(
    r"\b(?:pip3? install|pipx (?:install|run)|uv pip install|uv tool (?:install|run|upgrade)|uv add|uvx)\b"
    r"(?P<arguments>[^\n`;|&#)]*)"
)
OURS = re.compile(r"\{|(?:dirindex|directory[-_]indexer)(?:[-_]\w+)*(?:\[[^]]*\])?(?:[=<>~!].*)?$")
BY_NAME = re.compile(
    r"(?<![\w/.-])dirindex\[\w+|pypi\.org/project/(?:dirindex|directory-indexer)|registryType\W+pypi\b"
    r"|\bdirindex[-_]multilingual\b|\"command\"\s*:\s*\"uvx\""
)


def texts() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not name.startswith("tests/data/") and path != Path(__file__) and path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                yield name, content.decode("utf-8", "replace")


def installed_by_name(text: str) -> list[str]:
    """Return the commands that install this project from a package index."""
    commands = [match[0] for match in INSTALLERS.finditer(text) if _names_us(match["arguments"])]
    return commands + [match[0] for match in BY_NAME.finditer(text)]


def _names_us(arguments: str) -> bool:
    if "--from" in arguments:  # what follows names the command to run
        arguments = arguments.partition("--from")[2].strip().partition(" ")[0]
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.replace("'", " ").replace('"', " ").split()
    return any(OURS.match(word) for word in words)


def test_no_text_or_hint_installs_by_name() -> None:
    by_name = {name: commands for name, text in texts() if (commands := installed_by_name(text))}
    assert by_name == {}


@pytest.mark.parametrize(
    "text",
    [
        "pip install dirindex",
        "pip install -U 'dirindex[ocr]'",
        "pip install directory-indexer-multilingual",
        'hint=f"pip install {distribution}"',
        "uvx dirindex serve",
        "uv tool install directory-indexer==0.1.0",
        "pipx run dirindex",
        "the extra `dirindex[7z]`",
        '"registryType": "pypi"',
    ],
)
def test_an_installation_by_name_is_noticed(text: str) -> None:
    assert installed_by_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install .",
        "pip install '.[ocr]' in a checkout",
        "pip install ./packaging/multilingual",
        "uv tool install .",
        "uv tool run --from dist/directory_indexer-0.1.0-py3-none-any.whl dirindex index docs",
        "pip install --no-deps rapidocr",
        "pip install dist/directory_indexer-0.1.0-py3-none-any.whl",
    ],
)
def test_an_installation_from_a_file_is_allowed(text: str) -> None:
    assert not installed_by_name(text)
