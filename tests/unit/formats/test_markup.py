"""Headings of AsciiDoc, Org, LaTeX, manual pages, wiki text and Typst."""

from __future__ import annotations

import pytest

from directory_indexer.formats.markup import extract_markup

SAMPLES = {
    "asciidoc": (
        "= The Guide\n:toc:\n\n== Install\n\n----\n== no heading\n----\n\n=== On Linux\n\n== Use\n",
        "The Guide",
        [(1, "The Guide"), (4, "The Guide/Install"), (10, "The Guide/Install/On Linux"), (12, "The Guide/Use")],
    ),
    "org": (
        "#+TITLE: My notes\n* TODO [#A] Buy milk :home:\n** Where\n*bold* text\n* Done\n",
        "My notes",
        [(1, ""), (2, "Buy milk"), (3, "Buy milk/Where"), (5, "Done")],
    ),
    "latex": (
        (
            "\\title{On \\emph{Search}}\n\\chapter{One}\n\\section[short]{A {nested} title~here}\ntext\n"
            "\\subsection*{B \\& C}\n\\section{D}\n"
        ),
        "On Search",
        [(1, ""), (2, "One"), (3, "One/A nested title here"), (5, "One/A nested title here/B & C"), (6, "One/D")],
    ),
    "man": (
        '.\\" comment\n.TH LS "1" "2024"\n.SH NAME\nls \\- list\n.SH "SEE ALSO"\n.SS \\fBMore\\fR\n.br\n',
        "LS 1",
        [(1, ""), (3, "NAME"), (5, "SEE ALSO"), (6, "SEE ALSO/More")],
    ),
    "wiki": ("intro\n== One ==\n=== Two ===\n== Three ==\n", "", [(1, ""), (2, "One"), (3, "One/Two"), (4, "Three")]),
    "typst": (
        '#set document(title: "Paper")\n= One\n```\n= no\n```\n== Two\n',
        "Paper",
        [(1, ""), (2, "One"), (6, "One/Two")],
    ),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_headings_and_title_are_found(kind: str) -> None:
    text, title, expected = SAMPLES[kind]
    document = extract_markup(text, kind)
    assert document.title == title
    assert [
        (text.count("\n", 0, section.start) + 1, "/".join(section.headings)) for section in document.sections
    ] == expected
    assert document.text == text
