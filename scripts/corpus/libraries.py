"""Reads files with another library, for `scripts/formats measure --beside`; runs with the Python that has it.

    --beside 'kreuzberg=~/tools/bin/python scripts/corpus/libraries.py kreuzberg'

Paths come on stdin, and each is answered with a line of JSON: the text, or null, and the seconds that it took.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

_ADDRESS_SPACE = 4 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    read = _LIBRARIES[sys.argv[1]]()
    for line in sys.stdin:
        before, text = _seconds(), None
        try:
            text = read(line.rstrip("\n"))
        except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
            print(type(error).__name__, file=sys.stderr)
        answers.write(json.dumps({"text": text, "seconds": _seconds() - before}) + "\n")
        answers.flush()


def _seconds() -> float:
    """Return how much this process took, and the commands that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _kreuzberg() -> Callable[[str], str]:
    library = import_module("kreuzberg")
    return lambda path: str(library.extract_file_sync(path).content)


def _markitdown() -> Callable[[str], str]:
    converter = import_module("markitdown").MarkItDown(enable_plugins=False)
    return lambda path: str(converter.convert(path).markdown)


def _striprtf() -> Callable[[str], str]:
    library = import_module("striprtf.striprtf")
    return lambda path: str(library.rtf_to_text(Path(path).read_bytes().decode("latin-1"), errors="ignore"))


def _recoll() -> Callable[[str], str]:
    """Index the directory of each file with Recoll, and return the text that it extracts."""
    recoll, extracting = import_module("recoll.recoll"), import_module("recoll.rclextract")
    database = recoll.connect()

    def read(path: str) -> str:
        query = database.query()
        query.execute(f'dir:"{os.path.dirname(path)}" filename:"{os.path.basename(path)}"')
        for document in query:
            if document.url == f"file://{path}" and not document.ipath:
                return str(extracting.Extractor(document).textextract(document.ipath).text)
        raise FileNotFoundError(path)

    return read


_LIBRARIES = {"kreuzberg": _kreuzberg, "markitdown": _markitdown, "striprtf": _striprtf, "recoll": _recoll}

if __name__ == "__main__":
    main()
