"""Files that nobody means well with, each made in a directory of its own, and names of files."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SMALL = 250_000
"""Just small enough to be parsed without a worker process, in which only the parser itself bounds the time."""


def _text(name: str, text: str) -> Callable[[Path], object]:
    return lambda place: (place / name).write_text(text, encoding="utf-8", errors="surrogatepass")


def _bytes(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda place: (place / name).write_bytes(content)


def _many(unit: str) -> str:
    return unit * (_SMALL // len(unit.encode("utf-8", "surrogatepass")))


def _zip_bomb() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 200_000_000)
    return target.getvalue()


def _pdf(stream: bytes, *, pages: str = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>") -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        pages.encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    body = b"%PDF-1.4\n"
    for number, content in enumerate(objects, 1):
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    return body + b"trailer << /Root 1 0 R /Size 5 >>\n%%EOF\n"


def _pipe(place: Path) -> None:
    os.mkfifo(place / "pipe.txt")


def _socket(place: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(place)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.txt")
    os.fchdir(here)
    os.close(here)


def _link(target: str) -> Callable[[Path], object]:
    return lambda place: (place / "link.txt").symlink_to(target)


def _sparse(place: Path) -> None:
    with (place / "sparse.txt").open("wb") as file:
        file.truncate(1 << 40)


def _tar(place: Path) -> None:
    with tarfile.open(place / "archive.tar", "w") as archive:
        entry = tarfile.TarInfo("../../etc/passwd")
        archive.addfile(entry, io.BytesIO())


FILES: dict[str, Callable[[Path], object]] = {
    "zip bomb (200 MB in 200 KB) that calls itself a document": _bytes("bomb.docx", _zip_bomb()),
    "gzip bomb": _bytes("bomb.gz", gzip.compress(b"0" * 50_000_000)),
    "archive with paths that lead out": _tar,
    "PDF with a bomb of 300 MB in a stream": _bytes("bomb.pdf", _pdf(zlib.compress(b"BT (x) Tj ET\n" * 23_000_000, 1))),
    "PDF whose pages contain themselves": _bytes(
        "loop.pdf", _pdf(zlib.compress(b"x"), pages="<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000000 >>")
    ),
    "PDF cut short": _bytes("short.pdf", _pdf(zlib.compress(b"BT ET"))[:150]),
    "PDF of garbage": _bytes("garbage.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 400),
    "text that calls itself a PDF": _text("text.pdf", "This is no PDF at all.\n"),
    "JSON nested 100,000 deep": _text("deep.json", "[" * 100_000),
    "JSON of one number of 250,000 digits": _text("number.json", "1" * _SMALL),
    "notebook nested 50,000 deep": _text("deep.ipynb", '{"cells":' * 20_000),
    "notebook whose cells are no cells": _text("odd.ipynb", json.dumps({"cells": [1, None, {"source": {"a": 1}}]})),
    "XML with a billion laughs": _text(
        "laughs.xml",
        '<!DOCTYPE x [<!ENTITY a "ha">'
        + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
        + "]><x>&j;</x>",
    ),
    "XML that asks for /etc/passwd": _text(
        "outside.xml", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a; and some words</x>'
    ),
    "HTML nested 30,000 deep": _text("deep.html", _many("<div>") + "words"),
    "HTML of one comment that never ends": _text("comment.html", "<p>words</p>" + _many("<!--")),
    "HTML of 100,000 entities": _text("entities.html", _many("&amp;")),
    "Markdown of nothing but backquotes": _text("quotes.md", _many("`")),
    "Markdown of nothing but brackets": _text("brackets.md", _many("[")),
    "Markdown of 40,000 headings": _text("headings.md", _many("# a\n")),
    "Markdown quoted 100,000 deep": _text("quoted.md", _many("> ")),
    "reStructuredText of nothing but underlines": _text("lines.rst", _many("=\n")),
    "Python nested 60,000 deep": _text("deep.py", "(" * 60_000),
    "Python of 50,000 decorators": _text("decorators.py", _many("@a\n")),
    "C++ of nothing but angle brackets": _text("angles.cpp", _many("a<")),
    "JavaScript of nothing but template literals": _text("templates.js", _many("`${")),
    "YAML of anchors that multiply": _text(
        "laughs.yaml",
        "a: &a [x,x]\n" + "".join(f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ),
    "CSV of one line of 250,000 cells": _text("wide.csv", _many(",")),
    "one line of 250,000 letters": _text("line.txt", "a" * _SMALL),
    "one line of 250,000 blanks": _text("blanks.txt", "words" + " " * _SMALL),
    "250,000 empty lines": _text("empty.txt", "\n" * _SMALL),
    "250,000 combining characters": _text("combining.txt", "e" + _many("\u0301")),
    "characters of both directions and of no width": _text("directions.txt", _many("\u202e\u2066\u200b\ufeff")),
    "lone surrogates in UTF-8": _text("surrogates.txt", "words " + _many("\ud800")),
    "escape sequences of terminals": _text("escapes.txt", _many("\x1b]0;title\x07\x1b[2J ")),
    "NULs between letters": _bytes("nuls.txt", b"a\0" * 100_000),
    "UTF-16 without its mark": _bytes("wide.txt", ("Some words in a file. " * 50).encode("utf-16-le")),
    "UTF-32 with its mark": _bytes("wider.txt", ("Some words in a file. " * 50).encode("utf-32")),
    "bytes of chance": _bytes("chance.txt", os.urandom(100_000)),
    "a program": _bytes("program", b"\x7fELF" + bytes(range(256)) * 400),
    "a named pipe": _pipe,
    "a socket": _socket,
    "a sparse file of 1 TB": _sparse,
    "a link to /etc/passwd": _link("/etc/passwd"),
    "a link to the directory around it": _link(".."),
    "a link to itself": _link("link.txt"),
    "a link to /dev/zero": _link("/dev/zero"),
    "a private key": _text("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"),
    "a private key under a harmless name": _text(
        "notes.txt",
        "-----BEGIN RSA PRIVATE KEY-----\n" + "".join(chr(65 + i * i % 26 + 32 * (i % 3 == 0)) for i in range(1600)),
    ),
    "a file of logins": _text("netrc", "machine a.test login ann password sunshine\n"),
}

NAMES: dict[str, bytes] = {
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
