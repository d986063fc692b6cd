"""No bytes under any name break an extractor: a sound document or a refusal with a reason, nothing else."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.recognition import kind_of

SUFFIXES = (
    "adoc c cfg csv epub fb2 fodt go h html ini ipynb java js json jsonl log m man md ods odt org php pl png py rb rs "
    "rst rtf sh sql svg tex toml ts tsv tsx txt typ v vue wiki xml yaml zip"
).split()

FRAGMENTS = (
    "\n¦\r\n¦\r¦ ¦\t¦\f¦\0¦\x1b[0m¦\x1b$B¦\b¦\u2028¦é¦日本¦😀¦\ufeff¦\ud7ff¦#¦##¦# a¦---¦===¦----¦```¦~~~¦- ¦> ¦* ¦1. "
    "¦title: x¦+++¦<¦>¦</¦<main>¦</main>¦<h1>¦</h1>¦<p>¦<pre>¦<script>¦</script>¦<!--¦-->¦<svg>¦</svg>¦<title>¦&amp;"
    '¦&#10;¦&¦<a b=\'¦"¦\'¦{¦}¦[¦]¦:¦,¦=¦|¦"a": {¦a:¦a: b¦[a]¦\\section{¦}¦.SH A¦.TH a 1¦== a ==¦= a¦.. a::¦===='
    "¦#!/bin/sh¦-*- c -*-¦vim: ft=c¦coding: gbk¦<?xml version='1.0' encoding='x'?>¦%PDF¦class A:¦def f():¦    ¦word"
    "¦\\par¦\\'e9¦\\u-3¦\\u233?¦{\\*¦\\cell¦\\row"
    "¦{\\footnote¦\\v ¦\\f1¦\\bin2 ¦<section>¦<td>¦<text:p>¦</text:p>¦<text:list>"
    "¦<table:table>¦<table:table-row>¦<table:table-cell>¦<text:note>¦<draw:frame>"
).split("¦")

TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map("".join)
WIDE_ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32"]
ENCODINGS = st.sampled_from([*WIDE_ENCODINGS, "utf-16-be", "latin-1", "cp1251", "gbk", "shift_jis"])
OPENINGS = st.sampled_from(["", "", "{\\rtf1 ", "<FictionBook>", "<document opendocument><body><text>"])
CONTENTS = st.binary(max_size=300) | st.builds(
    lambda opening, text, name: (opening + text).encode(name, "ignore"), OPENINGS, TEXTS, ENCODINGS
)
NAMES = st.sampled_from(SUFFIXES).map(lambda suffix: f"/root/a.{suffix}")
REWRITTEN = {"notebook", "rtf", "fictionbook", "odt"}
"""Kinds of which the documents have lines of their own."""


def assert_is_sound(document: Document) -> None:
    starts = [section.start for section in document.sections]
    assert starts == sorted(set(starts))
    assert not starts or (starts[0] == 0 and starts[-1] < len(document.text))
    assert not {"\r", "\0"} & set(document.text)
    assert document.text.strip()
    (document.text + document.title + "".join(sum((part.headings for part in document.sections), ()))).encode()


@given(CONTENTS, NAMES)
@example(b"# \n# a", "/root/a.md")
@example(b"a\n-", "/root/a.md")
def test_any_bytes_under_any_name_become_a_sound_document_or_are_refused(content: bytes, name: str) -> None:
    try:
        document = extract(content, file_path(name))
    except ExtractionError:
        return
    assert_is_sound(document)


@given(CONTENTS, NAMES)
def test_a_text_keeps_the_lines_of_its_file(content: bytes, name: str) -> None:
    try:
        text = decode(content)
        document = extract(content, file_path(name))
    except ExtractionError:
        return
    if document.kind not in REWRITTEN:
        assert document.text.count("\n") == text.count("\n")
    if document.kind not in REWRITTEN | {"html", "svg"}:
        assert document.text == text


@given(TEXTS, st.sampled_from(WIDE_ENCODINGS))
def test_what_is_written_in_a_marked_encoding_is_read_back(text: str, encoding: str) -> None:
    words = "".join(character for character in text if character.isalnum()) + " and some plain words to read\n"
    assert decode(words.encode(encoding)) == words


@given(st.text(max_size=50), st.binary(max_size=200))
def test_every_name_and_content_has_a_kind(name: str, head: bytes) -> None:
    assert kind_of(file_path(f"/root/{name}"), head)
