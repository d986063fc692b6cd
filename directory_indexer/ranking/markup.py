r"""Sentences without the markup in them, and words without the hyphen at a line end.

The index stores the text as it is written, and these readings beside it: so `read the guide first` is found as it is
quoted in `Read [the guide](https://…) first`, and so is the address. The markup language of a text does not matter:
chats, mail and comments contain markup, too. An extra reading costs some words in the index, and no word of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from directory_indexer.ranking.separated import compiled


class _Markup(NamedTuple):
    """A form of markup. A text without `mark`, or one of the characters of `needs`, has none of it.

    The groups of a match are what is read. The pattern is compiled when a text first has the mark, for a question has
    nearly none. It begins with a character where possible, which `re` finds faster than a position for a lookbehind.
    `signs` are those of the mark.
    """

    needs: str
    mark: str
    pattern: str
    instead: str | Callable[[re.Match[str]], str]
    signs: str


def text_read_around_markup(text: str) -> str:
    """Return the text around each piece of markup as it is read, a line each; "" where there is none."""
    signs = _signs(text)
    forms = [
        form
        for form in _FORMS
        if form.signs in signs and form.needs[0] in text and form.needs[-1] in text and form.mark in text
    ]
    if not forms:
        return ""
    spans = sorted(match.span() for form in forms for match in compiled(form.pattern).finditer(text))
    return "\n".join(_replace_markup(text[start:end], forms) for start, end in _windows(text, spans))


def _signs(text: str) -> str:
    """Return the signs of a text, an eighth of it: a mark is in a text only if its signs are in those, in a row."""
    return text.encode("ascii", "replace").translate(None, _NO_SIGNS).decode()


def _replace_markup(text: str, forms: Sequence[_Markup]) -> str:
    """Return a text without markup, nested once at most."""
    for form in (*forms, *forms):
        if form.needs[0] in text and form.needs[-1] in text:
            text = compiled(form.pattern).sub(form.instead, text)
    return text


def _windows(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the stretches around markup that a quotation may span, each of whole words."""
    last: tuple[int, int] | None = None
    for start, end in spans:
        window = (
            _word_end(text, max(start - _CHARS_AROUND_MARK, 0), start),
            _word_end(text, min(end + _CHARS_AROUND_MARK, len(text)), len(text)),
        )
        if last and window[0] <= last[1]:
            last = (last[0], max(last[1], window[1]))
            continue
        if last:
            yield last
        last = window
    if last:
        yield last


def _word_end(text: str, start: int, end: int) -> int:
    """Return the end of the word at an offset; a long word is cut."""
    match = _WORD_END.search(text, start, min(start + _MAX_WORD_LENGTH, end)) if start else None
    return match.start() if match else start


_CHARS_AROUND_MARK: Final = 120
_MAX_WORD_LENGTH: Final = 80
_WORD_END: Final = re.compile(r"\s")
_NO_SIGNS: Final = bytes(byte for byte in range(128) if chr(byte).isalnum() or chr(byte).isspace())
_INLINE: Final = (
    "a abbr acronym b bdi bdo big br cite code del dfn em emphasis font hi i ins kbd link literal mark nobr phrase q "
    "ref s samp small span strike strong sub sup tt u ulink var wbr xref"
).replace(" ", "|")
_TEXT: Final = r"(?P<read>[^\[\]\n]{1,400})"
_MACROS: Final = ("link:", "xref:", "mailto:", "kbd:", "btn:", "menu:", "image:", "footnote:")
_UNREAD: Final = "cite[a-z]*|[a-z]*ref|label|footnote|footnotemark|index|nocite|pageref|vspace|hspace|bibitem"

_FORMS: Final = tuple(
    _Markup(needs, mark, pattern, instead[0] if instead else itemgetter("read"), _signs(mark))
    for needs, mark, pattern, *instead in (
        # Words that are hyphenated at the end of a line, or may be.
        *(
            (hyphen, f"{hyphen}\n", rf"{hyphen}(?<=[^\W\d_]{{2}}{hyphen})\n[ \t>]*+(?=[^\W\d_A-Z])", "")
            for hyphen in "-\u2010\xad"
        ),
        ("\\-", "\\-", r"\\(?<=[^\W\d_]\\)-(?=[^\W\d_])", ""),
        # Markdown: links, references, footnotes, and attributes of Pandoc; a text in brackets behind a word is code.
        (
            "](",
            "](",
            rf"[!\[](?:(?<=!)\[|(?<=\[)(?<![\w)\]]\[)){_TEXT}\]\((?:[^()\n]|\([^()\n]{{0,200}}\)){{0,1000}}\)",
        ),
        ("[^", "[^", r"\[\^[^\]\s]{1,80}\](?!:)", ""),
        ("]{", "]{", rf"\[(?<![\w)\]]\[){_TEXT}\]\{{[^{{}}\n]{{0,200}}\}}"),
        # Org, and then Markdown again; wikis: `[[page|text]]`, `[https://… text]`, `[text|https://…]`.
        ("][", "][", rf"\[\[[^\[\]\n]{{1,1000}}\]\[{_TEXT}\]\]"),
        ("][", "][", rf"\[(?<![\w)\]]\[){_TEXT}\]\[[^\[\]\n]{{0,200}}\]"),
        ("[|", "[[", r"\[\[[^\[\]|\n]{1,400}\|(?P<read>[^\[\]|\n]{1,400})\]\]"),
        ("[]", "[http", r"\[https?://[^\s\[\]]{1,1000} (?P<read>[^\[\]\n]{1,400})\]"),
        ("[|", "|http", r"\[(?P<read>[^\[\]|\n]{1,400})\|https?://[^\[\]\n]{1,1000}\]"),
        ("<|", "|", r"<(?:https?://|mailto:)[^\s|<>]{1,1000}\|(?P<read>[^<>|\n]{1,400})>"),
        ('"', '":http', r"\"(?P<read>[^\"\n]{1,400})\":https?://[^\s<>\"]{1,1000}(?<![.,;:!?)])"),
        # AsciiDoc: links, references, macros.
        *((":[", name, rf"{name}[^\s\[\]]{{0,400}}\[(?P<read>[^\[\]\n]{{0,400}})\]") for name in _MACROS),
        (":[", "://", r"h(?<!\wh)ttps?://[^\s\[\]()<>]{1,1000}\[(?P<read>[^\[\]\n]{0,400})\]"),
        ("<,", "<<", r"<<[^<>,\n]{1,200},[ ]?(?P<read>[^<>\n]{1,400})>>"),
        # reStructuredText: links and roles.
        ("`<", "`_", r"`(?P<read>[^`<\n]{1,400}?)[ ]?<[^<>`\n]{1,1000}>`_{1,2}"),
        ("`:", ":`", r":(?<!\w:)[\w:+-]{1,60}:`(?P<read>[^`<\n]{1,400}?)(?:[ ]?<[^<>`\n]{1,400}>)?`"),
        # HTML and the XML of documents: inline elements.
        ("<>", "<", r"<(?:br|BR)[ ]?/?>", " "),
        ("<>", "</", rf"<(?:/(?i:{_INLINE})|(?i:{_INLINE})(?:\s[^<>]{{0,1000}})?)\s?/?>", ""),
        # LaTeX commands and Typst functions, with the argument that is read.
        ("\\{", "\\", rf"\\(?:{_UNREAD})\*?(?:\[[^\[\]\n]{{0,200}}\])?\{{[^{{}}]{{0,400}}\}}", ""),
        ("\\{", "\\href", r"\\href\{[^{}\n]{0,1000}\}\{(?P<read>[^{}]{0,400})\}"),
        ("\\{", "\\", r"\\[A-Za-z]{2,30}\*?(?:\[[^\[\]\n]{0,200}\])?\{(?P<read>[^{}]{0,400})\}"),
        ("#[", "#", r"#(?<!\w#)[a-z]{1,30}+(?:\([^()\n]{0,1000}\))?\[(?P<read>[^\[\]\n]{0,400})\]"),
        # Emphasis within a word.
        ("*", "**", r"\*(?<=[^\W\d_]\*)\*{1,2}(?=[^\W\d_])", ""),
        ("'", "'''", r"'(?<=[^\W\d_]')'{2,4}(?=[^\W\d_])", ""),
    )
)
