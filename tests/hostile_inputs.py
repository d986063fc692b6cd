"""Files, names, trees, index directories and queries that nobody means well with."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

Make: TypeAlias = Callable[[Path], object]
Content: TypeAlias = "bytes | str | Make"
"""A content, or what makes the file of a path."""

_SMALL: Final = 250_000
"""Just small enough to be parsed without a worker process, in which only the parser itself bounds the time."""


def write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def _many(unit: str) -> str:
    return unit * (_SMALL // len(unit.encode("utf-8", "surrogatepass")))


def _zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 200_000_000)


def _gzip_bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(b"0" * 50_000_000))


def _pdf_bomb(path: Path) -> None:
    path.write_bytes(_pdf(zlib.compress(b"BT (x) Tj ET\n" * 23_000_000, 1)))


def _pdf(stream: bytes, *, pages: bytes = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>") -> bytes:
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        pages,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
    )
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, content) for number, content in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R /Size 5 >>\n%%EOF\n"


def _entities(names: str, unit: str) -> str:
    return "".join(unit.format(a, b) for a, b in pairwise(names))


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path.name)
    os.fchdir(here)
    os.close(here)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def _tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("../../etc/passwd"), io.BytesIO())


def _link(target: str) -> Make:
    return lambda path: path.symlink_to(target)


_LAUGHS: Final = _entities("abcdefghij", '<!ENTITY {1} "' + "&{0};" * 10 + '">')
_BASE64: Final = "".join(chr(65 + i * i % 26 + 32 * (i % 3 == 0)) for i in range(1600))

FILES: Final[dict[str, tuple[str, Content]]] = {
    "zip bomb (200 MB in 200 KB) that calls itself a document": ("bomb.docx", _zip_bomb),
    "gzip bomb": ("bomb.gz", _gzip_bomb),
    "archive with paths that lead out": ("archive.tar", _tar),
    "PDF with a bomb of 300 MB in a stream": ("bomb.pdf", _pdf_bomb),
    "PDF whose pages contain themselves": (
        "loop.pdf",
        _pdf(zlib.compress(b"x"), pages=b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000000 >>"),
    ),
    "PDF cut short": ("short.pdf", _pdf(zlib.compress(b"BT ET"))[:150]),
    "PDF of garbage": ("garbage.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 400),
    "text that calls itself a PDF": ("text.pdf", "This is no PDF at all.\n"),
    "JSON nested 100,000 deep": ("deep.json", "[" * 100_000),
    "JSON of one number of 250,000 digits": ("number.json", "1" * _SMALL),
    "notebook nested 50,000 deep": ("deep.ipynb", '{"cells":' * 20_000),
    "notebook whose cells are no cells": ("odd.ipynb", json.dumps({"cells": [1, None, {"source": {"a": 1}}]})),
    "XML with a billion laughs": ("laughs.xml", f'<!DOCTYPE x [<!ENTITY a "ha">{_LAUGHS}]><x>&j;</x>'),
    "XML that asks for /etc/passwd": (
        "outside.xml",
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a; and some words</x>',
    ),
    "HTML nested 30,000 deep": ("deep.html", _many("<div>") + "words"),
    "HTML of one comment that never ends": ("comment.html", "<p>words</p>" + _many("<!--")),
    "HTML of 100,000 entities": ("entities.html", _many("&amp;")),
    "Markdown of nothing but backquotes": ("quotes.md", _many("`")),
    "Markdown of nothing but brackets": ("brackets.md", _many("[")),
    "Markdown of 40,000 headings": ("headings.md", _many("# a\n")),
    "Markdown quoted 100,000 deep": ("quoted.md", _many("> ")),
    "reStructuredText of nothing but underlines": ("lines.rst", _many("=\n")),
    "Python nested 60,000 deep": ("deep.py", "(" * 60_000),
    "Python of 50,000 decorators": ("decorators.py", _many("@a\n")),
    "C++ of nothing but angle brackets": ("angles.cpp", _many("a<")),
    "JavaScript of nothing but template literals": ("templates.js", _many("`${")),
    "YAML of anchors that multiply": (
        "laughs.yaml",
        "a: &a [x,x]\n" + _entities("abcdefghi", "{1}: &{1} [*{0},*{0}]\n"),
    ),
    "CSV of one line of 250,000 cells": ("wide.csv", _many(",")),
    "one line of 250,000 letters": ("line.txt", "a" * _SMALL),
    "one line of 250,000 blanks": ("blanks.txt", "words" + " " * _SMALL),
    "250,000 empty lines": ("empty.txt", "\n" * _SMALL),
    "250,000 combining characters": ("combining.txt", "e" + _many("\u0301")),
    "characters of both directions and of no width": ("directions.txt", _many("\u202e\u2066\u200b\ufeff")),
    "lone surrogates in UTF-8": ("surrogates.txt", "words " + _many("\ud800")),
    "escape sequences of terminals": ("escapes.txt", _many("\x1b]0;title\x07\x1b[2J ")),
    "NULs between letters": ("nuls.txt", b"a\0" * 100_000),
    "UTF-16 without its mark": ("wide.txt", ("Some words in a file. " * 50).encode("utf-16-le")),
    "UTF-32 with its mark": ("wider.txt", ("Some words in a file. " * 50).encode("utf-32")),
    "bytes of chance": ("chance.txt", os.urandom(100_000)),
    "a program": ("program", b"\x7fELF" + bytes(range(256)) * 400),
    "a named pipe": ("pipe.txt", os.mkfifo),
    "a socket": ("socket.txt", _socket),
    "a sparse file of 1 TB": ("sparse.txt", _sparse),
    "a link to /etc/passwd": ("link.txt", _link("/etc/passwd")),
    "a link to the directory around it": ("link.txt", _link("..")),
    "a link to itself": ("link.txt", _link("link.txt")),
    "a link to /dev/zero": ("link.txt", _link("/dev/zero")),
    "a private key": ("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"),
    "a private key under a harmless name": ("notes.txt", f"-----BEGIN RSA PRIVATE KEY-----\n{_BASE64}"),
    "a file of logins": ("netrc", "machine a.test login ann password sunshine\n"),
}

NAMES: Final[dict[str, bytes]] = {
    "with a newline": b"new\nline.txt",
    "with escape sequences": b"\x1b[31mred\x1b]0;title\x07.txt",
    "with a carriage return and a tab": b"car\rriage\ttab.txt",
    "with marks from right to left": "gpj.\u202etxt.exe.txt".encode(),
    "of invalid UTF-8": b"invalid\xff\xfe.txt",
    "of a lone surrogate in UTF-8": b"surrogate\xed\xa0\x80.txt",
    "with C1 controls": "c1\u009b2J.txt".encode(),
    "of 255 bytes": b"a" * 251 + b".txt",
    "that looks like an option": b"--data-dir",
    "of quotes and wildcards": b"'\"*?[].txt",
    "of blanks alone": b"   ",
    "of a stand-in for what is no Unicode": "\U0010dcff.txt".encode(),
    "decomposed and composed": "e\u0301\u00e9.txt".encode(),
    "with an emoji of several parts": "👩‍👩‍👧.txt".encode(),
}

QUERIES: Final[dict[str, str]] = {
    "of 1 MB": "word " * 200_000,
    "of one word of 1 MB": "x" * 1_000_000,
    "of 100,000 quotes": '"' * 100_000,
    "of 100,000 brackets": "(" * 100_000,
    "of 50,000 phrases": '"a b" ' * 50_000,
    "of 20,000 exclusions": "-word " * 20_000,
    "of 5,000 prefixes": " ".join(f"a{number}*" for number in range(5000)),
    "of 5,000 suffixes": " ".join(f"*a{number}" for number in range(5000)),
    "of 2,000 path filters": "path:**/*a*b*c*d* " * 2000,
    "with NUL characters": "na\0me \0",
    "of control characters and escape sequences": "\x1b[31mname\x07\x9b2J",
    "of lone surrogates": "name \ud800 \udcff",
    "of operators of FTS5": 'NEAR(name file, 5) AND OR NOT "name" * ^ {text heading} : + -',
    "of SQL": "'; DROP TABLE files; -- \" OR 1=1 UNION SELECT * FROM meta",
    "of combining characters": "e" + "\u0301" * 50_000,
    "of characters of both directions": "\u202ename\u202c \u2066file\u2069",
    "of nothing": "",
    "of blanks": " \t\n\u3000",
    "of filters alone": "type: path: heading: -",
    "of emoji and private characters": "👩‍👩‍👧‍👦 \U0010ffff \ue000 \ufffe",
}


def _deep(path: Path) -> None:
    """Make directories below directories, deeper than any path may be long."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)
    for _ in range(10_000):
        os.mkdir("d")
        os.chdir("d")
    with open("deep.md", "w", encoding="utf-8") as file:
        file.write("deep words\n")
    os.fchdir(here)
    os.close(here)


def _many_directories(path: Path) -> None:
    for number in range(5000):
        path.with_name(f"d{number}").mkdir()


def _links(path: Path) -> None:
    for number in range(50):
        path.with_name(f"loop{number}").symlink_to(".")
    path.symlink_to("/")


def _execute(statement: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)


_INDEX: Final = ("index {docs} --quiet",)
_BOTH: Final = (*_INDEX, "search words")
_RULES: Final = "docs/.dirindexignore"
_GIT_CONFIG: Final = "[include]\n\tpath = config\n[core]\n\texcludesFile = /dev/zero\n"

PLACES: Final[dict[str, tuple[dict[str, Content], tuple[str, ...]]]] = {
    "directories nested 10,000 deep": ({"docs/d": _deep}, _BOTH),
    "5,000 directories beside each other": ({"docs/d": _many_directories}, _INDEX),
    "50 links in a loop, and one to /": ({"docs/everything": _links}, _INDEX),
    "`.dirindexignore` of a catastrophic pattern": ({f"docs/{'a' * 200}": "words", _RULES: "*a" * 12 + "*b\n"}, _INDEX),
    "`.dirindexignore` of 50,000 patterns": (
        {_RULES: b"".join(b"**/x%d/**/y*z\n" % number for number in range(50_000))},
        _INDEX,
    ),
    "`.dirindexignore` of one line of 1 MB": ({_RULES: b"[" * 1_000_000}, _INDEX),
    "`.dirindexignore` of more than 1 MB": ({_RULES: b"#" * 2_000_000}, _INDEX),
    "`.dirindexignore` of bytes of chance": ({_RULES: bytes(range(256)) * 10}, _INDEX),
    "`.dirindexignore` that is a pipe": ({_RULES: os.mkfifo}, _INDEX),
    "`.gitignore` that is a link to /dev/zero": ({"docs/.gitignore": _link("/dev/zero")}, _INDEX),
    "`.git` that leads to itself": ({"docs/.git": "gitdir: ."}, _INDEX),
    "`.git` of garbage": ({"docs/.git": b"\xff\0\n" * 1000}, _INDEX),
    "git settings that include themselves, and /dev/zero": (
        {"docs/.git/HEAD": "ref: refs/heads/main\n", "docs/.git/config": _GIT_CONFIG},
        _INDEX,
    ),
    "a database of garbage": ({"data/data.db": b"#!/bin/sh\n" * 1000}, (*_BOTH, "doctor --repair", *_INDEX)),
    "an empty file as database": ({"data/data.db": b""}, _BOTH),
    "a directory as database": ({"data/data.db": Path.mkdir}, _BOTH),
    "a link to another file as database": (
        {"precious.txt": "precious words that nobody may overwrite\n" * 100, "data/data.db": _link("../precious.txt")},
        _BOTH,
    ),
    "a database of a newer version": ({"data/data.db": partial(_execute, "PRAGMA user_version = 999")}, _BOTH),
    "a database of another program": ({"data/data.db": partial(_execute, "CREATE TABLE files (secret TEXT)")}, _BOTH),
    "a file as index directory": ({"data": "a file\n"}, _INDEX),
    "a directory as lock": ({"data/write.lock": Path.mkdir}, _BOTH),
    "a file in the place of the vectors": ({"data/qdrant": "a file\n"}, _BOTH),
    "configuration of garbage": ({"data/config.json": "\x00\x1b[31m{{{"}, _INDEX),
    "configuration nested 100,000 deep": ({"data/config.json": "[" * 100_000}, _INDEX),
    "configuration of impossible numbers": (
        {"data/config.json": '{"indexing": {"chunk_size": 1e999, "concurrency": -1}}'},
        _INDEX,
    ),
}
"""Trees and index directories beside a note in `docs/`, and the commands that meet them."""
