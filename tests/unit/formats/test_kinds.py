"""Recognition of the kind of a file, by its name and by its first bytes."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile

import pytest
from office_files import docx, paragraph

from directory_indexer.core.paths import file_path
from directory_indexer.formats.code import CODE_KINDS
from directory_indexer.formats.kinds import GROUPS, kind_for_alias
from directory_indexer.formats.recognition import expected_kind, kind_of
from directory_indexer.formats.table import FORMATS


def kind(name: str, head: bytes = b"") -> str:
    return kind_of(file_path(f"/root/{name}"), head)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.py", "python"),
        ("A.PY", "python"),
        ("stub.pyi", "python"),
        ("a.jsx", "javascript"),
        ("a.tsx", "tsx"),
        ("a.mts", "typescript"),
        ("a.hpp", "cpp"),
        ("a.cs", "csharp"),
        ("a.R", "r"),
        ("notes.md", "markdown"),
        ("post.mdx", "markdown"),
        ("report.Rmd", "markdown"),
        ("a.rst", "restructuredtext"),
        ("a.ipynb", "notebook"),
        ("a.htm", "html"),
        ("drawing.svg", "svg"),
        ("a.jsonl", "jsonl"),
        ("a.yml", "yaml"),
        ("Cargo.lock", "toml"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("GNUmakefile", "make"),
        ("CMakeLists.txt", "cmake"),
        ("go.mod", "gomod"),
        ("LICENSE", "text"),
        (".bashrc", "bash"),
        (".gitignore", "text"),
        ("notes.txt", "text"),
        ("unheard.of", "text"),
        ("noname", "text"),
        ("", "text"),
    ],
)
def test_a_name_tells_the_kind(name: str, expected: str) -> None:
    assert kind(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nginx.conf.example", "ini"),
        ("settings.py.orig", "python"),
        ("deployment.yaml.j2", "yaml"),
        ("Makefile.in", "make"),
        ("main.c~", "c"),
        (".env.local", "dotenv"),
        ("page.j2", "jinja"),
        ("in.in.in", "text"),
    ],
)
def test_what_is_appended_to_a_name_does_not_hide_its_kind(name: str, expected: str) -> None:
    assert kind(name) == expected


@pytest.mark.parametrize(
    ("shebang", "expected"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/usr/bin/env -S python3.12 -u\n", "python"),
        (b"#!/usr/bin/env -S FOO=bar node --harmony\n", "javascript"),
        (b"#! /usr/bin/perl -w\n", "perl"),
        (b"#!/usr/bin/Rscript\n", "r"),
        (b"#!/usr/bin/env deno\n", "typescript"),
        (b"#!/opt/unheard-of\n", "text"),
        (b"#!\n", "text"),
        (b"#!/usr/bin/pdf\n", "text"),
        (b"\xef\xbb\xbf#!/bin/bash\n", "bash"),
    ],
)
def test_a_file_without_suffix_is_known_by_its_shebang(shebang: bytes, expected: str) -> None:
    assert kind("script", shebang) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"# -*- mode: ruby -*-\n", "ruby"),
        (b"// -*- C++ -*-\n", "cpp"),
        (b"# vim: set ft=python ts=4:\n", "python"),
        (b"# vim: set ft=pdf:\n", "text"),
        (b"<!DOCTYPE html><html>", "html"),
        (b'<?xml version="1.0"?>\n<svg xmlns="x">', "svg"),
        (b'<?xml version="1.0"?>\n<pom>', "xml"),
        (b'.\\" Copyright\n.TH LS 1\n', "man"),
        (b"diff --git a/x b/x\n", "diff"),
        (b'{"name": 1}', "json"),
        (b'[\n  {"name": 1}]', "json"),
        (b"version https://git-lfs.github.com/spec/v1\n", "text"),
        ("<!DOCTYPE html>".encode("utf-16"), "html"),
        ("<!DOCTYPE html>".encode("utf-16-le"), "html"),
    ],
)
def test_a_file_that_no_name_tells_is_known_by_its_content(head: bytes, expected: str) -> None:
    assert kind("file", head) == expected


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.h", b"#ifndef A_H\nint f(void);\n", "c"),
        ("a.html", b"<html><form action=\"{{ url_for('add') }}\">", "jinja"),
        ("a.html", b"<html><p>{{ and more }}", "html"),
        ("a.h", b"#pragma once\nnamespace a {\n", "cpp"),
        ("a.h", b"#import <Foundation/Foundation.h>\n", "objc"),
        ("a.m", b"@implementation A\n", "objc"),
        ("a.m", b"function y = f(x)\n", "matlab"),
        ("a.ts", b"export const a = 1;\n", "typescript"),
        ("a.ts", b'<?xml version="1.0"?><!DOCTYPE TS>', "xml"),
        ("a.pl", b"use strict;\n", "perl"),
        ("a.pl", b":- module(a, []).\n", "prolog"),
        ("a.v", b"module a(input b);\n", "verilog"),
        ("a.v", b"Theorem a : True.\n", "coq"),
    ],
)
def test_content_decides_between_kinds_that_share_a_suffix(name: str, head: bytes, expected: str) -> None:
    assert kind(name, head) == expected


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("paper.pdf", b"%PDF-1.7\n", "pdf"),
        ("paper.pdf", b"junk before\n%PDF-1.7\n", "pdf"),
        ("paper", b"%PDF-1.7\n", "pdf"),
        ("notes.txt", b"they begin with %PDF-1.7\n", "text"),
        ("paper.pdf", b"no such thing\n", "text"),
    ],
)
def test_a_pdf_is_known_by_its_header(name: str, head: bytes, expected: str) -> None:
    assert kind(name, head) == expected


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ("py", "python"),
        (".md", "markdown"),
        ("JS", "javascript"),
        ("ts", "typescript"),
        ("c++", "cpp"),
        ("C#", "csharp"),
        ("golang", "go"),
        ("sh", "bash"),
        ("rst", "restructuredtext"),
        ("jupyter", "notebook"),
        ("h", "c"),
        ("markdown", "markdown"),
        ("gomod", "gomod"),
        ("klingon", None),
    ],
)
def test_people_may_call_a_kind_by_other_names(alias: str, expected: str | None) -> None:
    assert kind_for_alias(alias) == expected


def test_every_kind_is_an_alias_of_itself_and_lies_in_one_group() -> None:
    kinds = [kind for group in GROUPS.values() for kind in group]
    assert len(kinds) == len(set(kinds))
    assert [kind_for_alias(kind) for kind in kinds] == kinds


def test_kinds_that_can_be_cut_along_definitions_are_code() -> None:
    assert GROUPS["code"].issuperset(CODE_KINDS)


def test_what_native_code_reads_is_read_in_worker_processes() -> None:
    assert {kind for kind, format_ in FORMATS.items() if format_.is_isolated and format_.is_text} == CODE_KINDS
    assert all(FORMATS[kind].needs_worker for kind in ("pdf", "doc", "xls", "docx", "zip"))


def test_formats_are_recognised_by_their_first_bytes_or_as_texts() -> None:
    for format_ in FORMATS.values():
        assert (format_.sniff is None) == (format_.header == b"")
        assert format_.sniff is None or not format_.is_text


def test_a_text_is_recognised_without_any_module_that_reads_a_format() -> None:
    program = (
        "import sys; from directory_indexer.formats.recognition import kind_of;"
        "assert kind_of('/root/a.h', b'int a;') == 'c';"
        "print(*sorted(name for name in sys.modules if name.startswith('directory_indexer.formats.')))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = [name.rpartition(".")[2] for name in ran.stdout.split()]
    assert names == ["code_table", "format", "kinds", "recognition", "table"]


@pytest.mark.parametrize("name", ["paper.pdf", "PAPER.PDF", ".pdf"])
def test_a_file_that_is_called_pdf_is_expected_to_be_one_until_it_is_read(name: str) -> None:
    assert expected_kind(file_path(f"/root/{name}")) == "pdf"
    assert kind(name) == "text"


def test_no_two_kinds_share_a_name() -> None:
    for words in ("suffixes", "names", "aliases"):
        words_of_formats = [word for format_ in FORMATS.values() for word in getattr(format_, words).split()]
        assert len(words_of_formats) == len(set(words_of_formats))


def test_only_the_beginning_of_a_file_tells_its_kind() -> None:
    assert kind("a.h", b"int a;\n" * 2000 + b"namespace a {\n") == "c"


@pytest.mark.parametrize("name", ["report.docx", "ein Bericht.docx", "Übersicht.docx"])
@pytest.mark.parametrize("archive", ["mails.zip", "noname"])
def test_an_archive_of_documents_that_are_not_packed_again_is_no_document(name: str, archive: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as files:
        files.writestr(name, docx(paragraph("The walrus sleeps.")))
    assert kind(archive, packed.getvalue()) == "zip"
