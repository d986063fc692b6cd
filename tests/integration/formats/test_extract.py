"""Contract of every extractor: one suite, run on a sample of each kind, from bytes and a path to a document."""

from __future__ import annotations

import json

import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract

SAMPLES = {
    "notes.txt": ("text", "Größe\n\nmore\n"),
    "noname": ("text", "just words\n"),
    "server.log": ("log", "10:00 started\n"),
    "README.md": ("markdown", "# Größe\n\n## Two\n"),
    "page.mdx": ("markdown", "import X from 'x'\n\n# One\n"),
    "manual.rst": ("restructuredtext", "Größe\n=====\n\ntext\n"),
    "guide.adoc": ("asciidoc", "= Größe\n\n== Two\n"),
    "notes.org": ("org", "* Größe\n** Two\n"),
    "paper.tex": ("latex", "\\section{Größe}\ntext\n"),
    "ls.1": ("man", ".TH LS 1\n.SH NAME\nls\n"),
    "page.html": ("html", "<html>\n<h1>Größe</h1>\n<p>text</p>\n</html>\n"),
    "plan.svg": ("svg", '<svg xmlns="x">\n<text>Größe</text>\n</svg>\n'),
    "pom.xml": ("xml", "<project>\n<name>Größe</name>\n</project>\n"),
    "package.json": ("json", '{\n  "a": {\n    "größe": 1\n  }\n}\n'),
    "rows.jsonl": ("jsonl", '{"a": 1}\n{"a": 2}\n'),
    "ci.yml": ("yaml", "on:\n  push:\n    branches: [größe]\n"),
    "pyproject.toml": ("toml", "[project]\nname = 'größe'\n"),
    "setup.cfg": ("ini", "[metadata]\nname = größe\n"),
    "rows.csv": ("csv", "id,größe\n1,2\n"),
    "rows.tsv": ("tsv", "id\tgröße\n1\t2\n"),
    "main.py": ("python", "class Größe:\n    def f(self):\n        pass\n"),
    "Makefile": ("make", "all:\n\techo größe\n"),
    "query.sql": ("sql", "select größe from t;\n"),
    "app.f90": ("fortran", "program größe\nend program\n"),
    "change.diff": ("diff", "--- a\n+++ b\n@@ -1 +1 @@\n-größe\n+x\n"),
    "image.png": ("text", "the picture was lost, this note took its place\n"),
    "weights.bin": ("text", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
}


def assert_is_sound(document: Document) -> None:
    """Assert what the other parts rely on."""
    starts = [section.start for section in document.sections]
    assert starts == sorted(set(starts))
    assert not starts or starts[0] == 0
    assert not starts or starts[-1] < max(len(document.text), 1)
    assert all(section.page is None or section.page >= 1 for section in document.sections)
    assert all(heading.strip() and "\n" not in heading for section in document.sections for heading in section.headings)
    assert not {"\r", "\0"} & set(document.text)
    document.text.encode()
    document.title.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_of_any_kind_encoding_and_line_end_keeps_its_lines(name: str, line_end: str, encoding: str) -> None:
    kind, text = SAMPLES[name]
    document = extract(text.replace("\n", line_end).encode(encoding), file_path(f"/root/{name}"))
    assert_is_sound(document)
    assert document.kind == kind
    assert document.text.count("\n") == text.count("\n")
    assert ("röße" in document.text) == ("röße" in text)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_ends_without_a_line_end_is_whole(name: str) -> None:
    kind, text = SAMPLES[name]
    assert extract(text.rstrip("\n").encode(), file_path(f"/root/{name}")).kind == kind


def test_a_notebook_becomes_its_cells() -> None:
    cells = [{"cell_type": "markdown", "source": "# A"}, {"cell_type": "code", "source": "x = 1", "outputs": []}]
    document = extract(json.dumps({"cells": cells}).encode(), file_path("/root/a.ipynb"))
    assert_is_sound(document)
    assert (document.kind, document.title, document.text) == ("notebook", "A", "# A\n\nx = 1\n\n")


def test_a_broken_notebook_fails_and_is_not_skipped() -> None:
    with pytest.raises(ExtractionError) as caught:
        extract(b'{"cells": [', file_path("/root/a.ipynb"))
    assert not isinstance(caught.value, SkipFileError)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", SkipReason.EMPTY),
        ("a.txt", b" \r\n\t\n", SkipReason.NO_TEXT),
        ("a.txt", "\ufeff\u2003\n".encode(), SkipReason.NO_TEXT),
        ("a.txt", b"\xff\xfe", SkipReason.NO_TEXT),
        ("a.html", b"<html><script>only()</script></html>", SkipReason.NO_TEXT),
        ("a.svg", b"<svg><path d='M0 0'/></svg>", SkipReason.NO_TEXT),
        ("a.ipynb", b'{"cells": []}', SkipReason.NO_TEXT),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", SkipReason.BINARY),
        ("a.py", bytes(range(256)) * 10, SkipReason.BINARY),
        ("a.pdf", b"\0" * 100, SkipReason.BINARY),
        ("a.zip.002", b"the rest of a text that is stored\0", SkipReason.BINARY),
        ("a.z01", b"the rest of a text that is stored", SkipReason.BINARY),
    ],
)
def test_what_holds_nothing_to_index_is_skipped_for_a_reason(name: str, content: bytes, reason: SkipReason) -> None:
    with pytest.raises(SkipFileError) as caught:
        extract(content, file_path(f"/root/{name}"))
    assert caught.value.reason == reason


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "main.py"])
def test_one_line_of_many_megabytes_is_read_in_linear_time(name: str) -> None:
    line = "word = [1] <b>x</b> | `y` * # \\section{z} " * 50_000
    assert_is_sound(extract(line.encode(), file_path(f"/root/{name}")))
