"""Normalisation of the characters that fonts and typesetting leave in a PDF."""

from __future__ import annotations

import re
import unicodedata

IDEOGRAPHS = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""The characters, as in a regular expression, of scripts written without spaces and broken anywhere."""

# Control characters, invisible ones, and those of private use: fonts put bullets and ornaments there.
_JUNK = re.compile("[\0-\x08\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff\ue000-\uf8ff]")
# A soft hyphen printed within a row is a hyphen that its font misnames.
_PRINTED_HYPHEN = re.compile("\u00ad(?=.)")
_ARABIC_FORMS = re.compile("[\ufb50-\ufdff\ufe70-\ufefc]+")
_SPACED_IDEOGRAPHS = re.compile(rf"(?<=[{IDEOGRAPHS}]) (?=[{IDEOGRAPHS}])")
_LEADERS = re.compile(r"(?: ?\.){4,}")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})

# The older fonts of TeX have no accented letters: the accent is a character of its own, set before the letter.
_ACCENTS = dict(
    zip(
        "\u00b4\u00a8\u02c6\u02dc\u02c7\u02d8\u02da\u02dd\u02d9\u02cb",
        "\u0301\u0308\u0302\u0303\u030c\u0306\u030a\u030b\u0307\u0300",
        strict=True,
    )
)
_ACCENTED = re.compile(f"([{''.join(_ACCENTS)}])([A-Za-z\u0131])")


def clean(text: str) -> str:
    """Return a row of a page as one would type it; a soft hyphen at its end stays, since it marks a split word."""
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()):
        if "\ufffd" in text:
            text = " ".join(text.replace("\ufffd", " ").split())
        text = _PRINTED_HYPHEN.sub("-", _JUNK.sub("", text).translate(_LIGATURES))
        text = _ACCENTED.sub(_accented, _ARABIC_FORMS.sub(_as_typed, text))
        text = _SPACED_IDEOGRAPHS.sub("", text).strip()
    return _LEADERS.sub(" …", text) if "...." in text or ". . ." in text else text


def _as_typed(forms: re.Match[str]) -> str:
    """Replace Arabic presentation forms, of which one may be two letters, by the letters."""
    return unicodedata.normalize("NFKC", forms[0])


def _accented(match: re.Match[str]) -> str:
    letter = unicodedata.normalize("NFC", match[2].replace("\u0131", "i") + _ACCENTS[match[1]])
    return letter if len(letter) == 1 else match[0]
