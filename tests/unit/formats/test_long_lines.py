"""Linear time of parsing in the process of a run, whatever the content.

Each text here once took more than a minute, or has a shape on which patterns take quadratic time. A test whose pattern
does so again runs out of time.
"""

from __future__ import annotations

import pytest

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.extraction import extract

N = 1_000_000
BLANKS = " " * N

NUMBER = f"a &#{'1' * 5_000}; b"
REFERENCES = {
    "a.html": f"<!doctype html><title>{NUMBER}</title><p>{NUMBER} <img alt='{NUMBER}'> <a href='{NUMBER}'>c</a>",
    "description.html": f"<!doctype html><meta name=description content='{NUMBER}'><p>text",
    "data.html": f'<!doctype html><p>text<script type="application/ld+json">{{"description": "{NUMBER}"}}</script>',
    "a.md": f"# {NUMBER}\n\n{NUMBER}\n",
    "a.rst": f"{NUMBER}\n{'=' * 6_000}\n\n{NUMBER}\n",
    "a.xml": f"<a>{NUMBER}</a>",
    "a.svg": f'<svg xmlns="http://www.w3.org/2000/svg"><text>{NUMBER}</text></svg>',
    "a.srt": f"1\n00:00:00,000 --> 00:00:01,000\n{NUMBER}\n",
    "a.vtt": f"WEBVTT\n\n00:00.000 --> 00:01.000\n{NUMBER}\n",
}
"""Python refuses to convert more than 4,300 digits."""

TEXTS = {
    "rst role with blanks": ("a.rst", f":a:`{BLANKS}b\n====\n"),
    "rst roles": ("a.rst", ":a:`" * (N // 4) + "\n====\n"),
    "wiki heading with blanks": ("a.wiki", f"= a{BLANKS}b\n"),
    "wiki heading of blanks": ("a.wiki", f"={BLANKS}b\n"),
    "wiki heading of marks": ("a.wiki", "= " + "a =" * (N // 3) + "b\n"),
    "toml table of blanks": ("a.toml", f"[{BLANKS}b\n"),
    "ini table with blanks behind": ("a.ini", f"[a]{BLANKS}b\n"),
    "html of titles": ("a.html", "<title " * (N // 7)),
    "html of equals signs": ("a.html", "<a " + "a= " * (N // 3)),
    "org heading with blanks": ("a.org", f"* a{BLANKS}b\n"),
    "asciidoc title of blanks": ("a.adoc", f"= a{BLANKS}b\n"),
    "latex titles": ("a.tex", "\\title{" * (N // 7)),
    "manual page of fonts": ("a.1", ".SH " + "\\f[" * (N // 3)),
    "yaml key with blanks": ("a.yaml", f"a{BLANKS}b\n"),
    "yaml anchor": ("a.yaml", "a: &" + "x" * N + " b"),
    "json of escapes": ("a.json", '{\n"' + "\\a" * (N // 2) + "\n"),
    "markdown front matter without end": ("a.md", "---\n" * (N // 4)),
    "markdown fences": ("a.md", "```\n" + "   ```x\n" * (N // 8)),
    "markdown list marks": ("a.md", "- " * (N // 2)),
    "terminal escapes": ("a.txt", "\x1b[" + "0;" * (N // 2)),
    **{f"reference of many digits in {name}": (name, text) for name, text in REFERENCES.items()},
    "editor modes": ("a.unknown", "-*-mode: " * (N // 9)),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("name", "text"), TEXTS.values(), ids=TEXTS)
def test_a_long_line_takes_no_more_than_its_length(name: str, text: str) -> None:
    try:
        document = extract(text.encode(), file_path(f"/root/{name}"))
    except SkipFileError:
        return
    assert document.text
