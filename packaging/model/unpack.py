"""Source packages unpacked to what is worth learning from: code and documents that a person wrote.

    packaging/model/unpack.py ARCHIVES TREES

Every archive becomes a directory of its own. Tests, vendored and generated files are left out, and a package is cut to
so many files, drawn by their names' hashes, that no package outweighs the others.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
from pathlib import Path, PurePosixPath

SUFFIXES = frozenset(
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .go .rs .java .kt .scala .c .h .cc .cpp .hpp .cxx .rb .php .cs .ex .exs .erl "
    ".lua .sh .md .mdx .rst .adoc .txt .html .pod .org .1 .2 .3 .5 .7 .8".split()
)
UNWANTED = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testdata|testing|fixtures|vendor(ed)?|_vendor|third[_-]?party|externals?|deps|contrib/libs"
    r"|node_modules|dist|build|locales?|i18n|po|generated|debian|\.git|\.github|benchmarks?|javadoc|apidocs)(/|$)"
    r"|(\.min\.|\.bundle\.|[._-]tests?\.|_pb2\.|\.pb\.|zz_generated|(^|/)(licen[sc]e|copying|authors|contributors|news)\b)",
    re.IGNORECASE,
)
LARGEST_FILE = 300_000
MOST_FILES = 2_000
MOST_BYTES = 2_700_000


def main() -> None:
    archives, trees = map(Path, sys.argv[1:3])
    for archive in sorted(archives.iterdir()):
        if re.search(r"\.(tar|tar\.\w+|tgz)$", archive.name) and ".debian.tar." not in archive.name:
            target = trees / package_name(archive.name)
            print(target.name, unpack(archive, target), flush=True)


def package_name(archive: str) -> str:
    """Return the name of a package without its version: of `nginx_1.22.1.orig.tar.gz`, `nginx`."""
    return re.split(r"_\d|-\d[\w.-]*\.tgz$|\.tgz$", archive)[0]


def unpack(archive: Path, target: Path) -> int:
    """Write the wanted files of an archive below a directory, and return how many."""
    with tarfile.open(archive) as members:
        files = {str(relative(info.name)): read(members, info) for info in members if is_wanted(info)}
    n_bytes = n_files = 0
    for name in sorted(files, key=lambda name: hashlib.sha256(name.encode()).digest())[:MOST_FILES]:
        n_bytes += len(files[name])
        if n_bytes < MOST_BYTES:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            n_files += bool(path.write_bytes(files[name]))
    return n_files


def read(members: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    content = members.extractfile(info)
    return content.read() if content else b""


def is_wanted(info: tarfile.TarInfo) -> bool:
    path = relative(info.name)
    suffix = path.suffix.lower()
    return info.isfile() and 200 < info.size < LARGEST_FILE and suffix in SUFFIXES and not UNWANTED.search(str(path))


def relative(name: str) -> PurePosixPath:
    """Return a member's path below the directory that the archive consists of; no part of it leads upwards."""
    parts = [part for part in PurePosixPath(name).parts if part not in {"/", "..", "."}]
    return PurePosixPath(*parts[1:]) if len(parts) > 1 else PurePosixPath(*parts)


if __name__ == "__main__":
    main()
