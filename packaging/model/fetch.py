"""The packages that are learned from, fetched with the clients of their registries and checked.

    packaging/model/fetch.py ARCHIVES

`sources.tsv` names each with its registry, version, SHA-256 and licence. `apt-get` needs `deb-src` entries (set
`APT_CONFIG` to use some of your own). Nothing of a package is run: pip unpacks it and stops where it would be built.
"""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).with_name("sources.tsv")


class Source(NamedTuple):
    """A row of the table."""

    registry: str
    name: str
    version: str
    sha256: str
    licence: str
    held_out: str


def main() -> None:
    archives = Path(sys.argv[1])
    for source in sources():
        target = archives / source.registry
        target.mkdir(parents=True, exist_ok=True)
        FETCH[source.registry](source, target)
        print(source.registry, source.name, source.version, flush=True)


def sources() -> list[Source]:
    with SOURCES.open() as table:
        return [Source(*row) for row in csv.reader(table, delimiter="\t") if row and row[0] in FETCH]


def fetch_debian(source: Source, target: Path) -> None:
    """Fetch the sources of a Debian package; that its patches may be gone does not matter."""
    command = ["apt-get", "source", "--download-only", "--quiet", f"{source.name}={source.version}"]
    subprocess.run(command, cwd=target, check=False, capture_output=True)  # noqa: S603 - a row of the table
    check(source, target.glob(f"{source.name}_*.orig.tar.*[!c]"))


def fetch_npm(source: Source, target: Path) -> None:
    command = ["npm", "pack", "--silent", "--pack-destination", str(target), f"{source.name}@{source.version}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - a row of the table
    check(source, [target / f"{source.name.lstrip('@').replace('/', '-')}-{source.version}.tgz"])


def fetch_pypi(source: Source, target: Path) -> None:
    """Fetch a source distribution, whose hash pip checks; without the tools that would build it, pip stops there."""
    with tempfile.TemporaryDirectory() as scratch:
        requirement = Path(scratch, "requirement.txt")
        requirement.write_text(f"{source.name}=={source.version} --hash=sha256:{source.sha256}\n")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-clean",
            "--no-deps",
            "--no-binary",
            ":all:",
        ]
        command += ["--no-build-isolation", "--require-hashes", "--dest", scratch, "--requirement", str(requirement)]
        subprocess.run(command, check=False, capture_output=True, env=os.environ | {"TMPDIR": scratch})  # noqa: S603 - as above
        trees = list(Path(scratch).glob("pip-download-*/*"))
        if not trees:
            sys.exit(f"{source.name} {source.version} could not be fetched, or is not the archive that the table names")
        with tarfile.open(target / f"{source.name}_{source.version}.tar", "w") as archive:
            archive.add(trees[0], source.name)


def check(source: Source, files: object) -> None:
    digests = sorted(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files)  # type: ignore[attr-defined]
    if source.sha256 not in digests:
        sys.exit(f"{source.name} {source.version} is not what the table names: {', '.join(digests)}")


FETCH = {"debian": fetch_debian, "npm": fetch_npm, "pypi": fetch_pypi}


if __name__ == "__main__":
    main()
