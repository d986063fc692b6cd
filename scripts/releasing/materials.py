"""The bill of materials of what `pip install dirindex` installs, in CycloneDX."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def write_materials(wheel: Path, target: Path) -> None:
    """Install the wheel into an environment of its own and list what is in it, without dates and serial numbers."""
    with tempfile.TemporaryDirectory() as temporary:
        venv.create(temporary, with_pip=True)
        python = str(Path(temporary) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        _run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel))
        _run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
        generate = (sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--of", "JSON")
        _run(*generate, "--output-file", str(target), python)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - the words are ours
