"""Passwords beside who logs in with them: behind an address or a user, or in the line below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming
from directory_indexer.credentials.shapes import Shape, bare, shape_of
from directory_indexer.credentials.spans import SecretSpan, line_start


def login_pair_spans(text: str) -> Iterator[SecretSpan]:
    """Find the password in `ann@example.org / …`, in `root / …`, and in the line below an address or a user."""
    is_list = _TITLE.match(text) is not None
    for pattern, (before, usually_needed) in _PAIRS.items():
        needed = Shape.CHOSEN if is_list and before in (None, _LABELLED) else usually_needed
        for found in pattern.finditer(text):
            first, last = bare(found["word"])
            if shape_of(found["word"][first:last]) < needed:
                continue
            start = found.start("word")
            if before is None or before.search(text, line_start(text, found.start(), _MAX_BEFORE), found.start()):
                yield SecretSpan(start + first, start + last, Naming.PASSWORD.value)


_MAX_BEFORE: Final = 120
_WORD: Final = r"(?P<word>[!#-\[\]-~]{6,120}+)(?=\s|\Z)"
_ADDRESS: Final = r"@[\w-]{1,63}(?:\.[\w-]{1,63}){1,3}"
_USER: Final = LazyPattern(
    r"(?i)(?:^|\W)(?:root|admin|administrator|user|guest|sa|pi|ubuntu|postgres|operator|manager|test|demo)[\"'`*]{0,2}\Z"
)
_LABELLED: Final = LazyPattern(
    r"(?:\A|(?<=\n))[ \t*\u2022-]{0,8}[^\W\d_][^\n:;,.|]{1,40}?(?::|[ ]-|[ ][ ]|\))[ ]{1,8}[\w.@+-]{2,40}\Z"
)
"""What a login is for, and the user: `Library: ann / …`."""
_TITLE: Final = LazyPattern(
    r"(?i)[\s#*=_\ufeff]{0,12}(?:[^\W\d_][\w-]{0,20}[ ]){0,3}[\w-]{0,20}(?:zug[aä]ng|passw|paßw|logins?|kennw|"
    r"wachtwoord|accounts|accès|mots de passe|contraseñas|senhas|hasła|hesla|lösenord|adgangskoder|salasanat|parole)"
)
"""How the first line of a list of logins reads."""
_PAIRS: Final = {
    LazyPattern(
        rf"{_ADDRESS}[\"'`*]{{0,2}}"
        rf"(?:[ \t]{{1,2}}[/|\u2013\u2014-][ \t]{{1,2}}|[:;,]|[ \t]{{1,4}}|[ \t\r]{{0,4}}\n[ \t]{{0,8}}){_WORD}"
    ): (None, Shape.HARD),
    LazyPattern(rf"{_ADDRESS}:{_WORD}"): (LazyPattern(r"(?:\A|\n)?[\w.+-]{1,64}\Z"), Shape.CHOSEN),
    LazyPattern(rf"[ ]/[ ][\"'`]?{_WORD}"): (_USER, Shape.CHOSEN),
    LazyPattern(rf"[ ](?:/)[ ][\"'`]?{_WORD}"): (_LABELLED, Shape.HARD),
    LazyPattern(rf"[ ]-[ ][\"'`]?{_WORD}"): (_LABELLED, Shape.HARD),
    LazyPattern(rf"[ ]--[ ][\"'`]?{_WORD}"): (_LABELLED, Shape.HARD),
    LazyPattern(rf"\nroot:{_WORD}"): (None, Shape.CHOSEN),
    LazyPattern(rf"\nadmin:{_WORD}"): (None, Shape.CHOSEN),
    LazyPattern(rf"\np:[ ]{_WORD}"): (LazyPattern(r"(?i)\n?u(?:ser|sr)?:[ ][^\n]{1,64}\Z"), Shape.CHOSEN),
    LazyPattern(
        rf"ssh[ ](?:-\w[ ]\S{{1,60}}[ ]){{0,4}}[\w.-]{{1,40}}@[\w.-]{{1,80}}[ \t]{{1,4}}[(\[#/|-]{{1,2}}[ ]?{_WORD}"
    ): (
        None,
        Shape.HARD,
    ),
}
"""Where such passwords stand, what must stand before, and what they must look like."""
