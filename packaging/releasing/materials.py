"""The bill of materials of what the wheel of a release installs, in CycloneDX."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAME = "directory-indexer"
_VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
mistake = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1], encoding="utf-8").read())
sys.exit(mistake and f"the bill of materials is not valid: {mistake}")
"""


def write_materials(wheel: Path, target: Path, *, third_party: Path) -> None:
    """Install the wheel into an environment of its own and list what is in it, without dates and serial numbers."""
    with tempfile.TemporaryDirectory() as temporary:
        venv.create(temporary, with_pip=True)
        python = str(Path(temporary) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        _run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel))
        _run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
        generate = (sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--of", "JSON")
        _run(*generate, "--sv", "1.6", "--output-file", str(target), python)
    listed = json.loads(target.read_text(encoding="utf-8"))
    finished = finished_materials(listed, licences_in(third_party.read_text(encoding="utf-8")))
    target.write_text(json.dumps(finished, indent=2) + "\n", encoding="utf-8")
    _run(sys.executable, "-c", _VALIDATE, str(target))


def finished_materials(listed: Mapping[str, Any], licences: Mapping[str, str]) -> dict[str, Any]:
    """Add to the bill its subject, which is one of the listed components, and the licences that lack there.

    Where the wheel lay on the machine that made the bill is nobody's business.
    """
    (subject,) = [component for component in listed["components"] if component["name"] == _NAME]
    references = [
        reference for reference in subject.get("externalReferences", []) if not reference["url"].startswith("file:")
    ]
    subject = {**subject, "type": "application", "externalReferences": references}
    others = [_licensed(component, licences) for component in listed["components"] if component["name"] != _NAME]
    return {**listed, "metadata": {**listed["metadata"], "component": subject}, "components": others}


def licences_in(page: str) -> dict[str, str]:
    """Read the licence of each package from THIRD_PARTY.md."""
    return {_normal(name): licence for name, licence in re.findall(r"(?m)^\| (\S+) \| (.+) \|$", page)}


def _licensed(component: dict[str, Any], licences: Mapping[str, str]) -> dict[str, Any]:
    if component.get("licenses"):
        return component
    name = _normal(component["name"])
    if name not in licences:
        sys.exit(f"nobody knows the licence of {name}: add it to THIRD_PARTY.md with scripts/third_party")
    return {**component, "licenses": [{"license": {"name": licences[name]}}]}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - the words are ours
