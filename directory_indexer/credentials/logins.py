"""Passwords next to a user or an address: behind it, or on the line below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.marks import Rule
from directory_indexer.credentials.names import Naming
from directory_indexer.credentials.shapes import Shape, bare, shape_of
from directory_indexer.credentials.spans import SecretSpan, line_start


class _Pair(NamedTuple):
    """A position of passwords, the required context before it, and the required shape."""

    pattern: LazyPattern
    before: LazyPattern | None
    needed: Shape

    def find(self, text: str) -> Iterator[SecretSpan]:
        """Yield the passwords in this position."""
        may_be_easy = self.before in (None, _LABELLED) and _TITLE.match(text) is not None
        needed = Shape.CHOSEN if may_be_easy else self.needed
        for match in self.pattern.finditer(text):
            first, last = bare(match["word"])
            if shape_of(match["word"][first:last]) < needed:
                continue
            start, line = match.start("word"), line_start(text, match.start(), _MAX_BEFORE)
            if self.before is None or self.before.search(text, line, match.start()):
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
"""The purpose of a login, and the user: `Library: ann / …`."""
_TITLE: Final = LazyPattern(
    r"(?i)[\s#*=_\ufeff]{0,12}(?:[^\W\d_][\w-]{0,20}[ ]){0,3}[\w-]{0,20}(?:zug[aä]ng|passw|paßw|logins?|kennw|"
    r"wachtwoord|accounts|accès|mots de passe|contraseñas|senhas|hasła|hesla|lösenord|adgangskoder|salasanat|parole)"
)
"""First lines of lists of logins."""
_BEHIND_ADDRESS: Final = LazyPattern(
    rf"{_ADDRESS}[\"'`*]{{0,2}}"
    rf"(?:[ \t]{{1,2}}[/|\u2013\u2014-][ \t]{{1,2}}|[:;,]|[ \t]{{1,4}}|[ \t\r]{{0,4}}\n[ \t]{{0,8}}){_WORD}"
)
_BEHIND_HOST: Final = LazyPattern(
    rf"ssh[ ](?:-\w[ ]\S{{1,60}}[ ]){{0,4}}[\w.-]{{1,40}}@[\w.-]{{1,80}}[ \t]{{1,4}}[(\[#/|-]{{1,2}}[ ]?{_WORD}"
)
_PAIRS: Final = {
    "@": (
        _Pair(_BEHIND_ADDRESS, None, Shape.HARD),
        _Pair(LazyPattern(rf"{_ADDRESS}:{_WORD}"), LazyPattern(r"(?:\A|\n)?[\w.+-]{1,64}\Z"), Shape.CHOSEN),
    ),
    " / ": (
        _Pair(LazyPattern(rf"[ ]/[ ][\"'`]?{_WORD}"), _USER, Shape.CHOSEN),
        _Pair(LazyPattern(rf"[ ]/[ ][\"'`]?{_WORD}"), _LABELLED, Shape.HARD),
    ),
    " - ": (_Pair(LazyPattern(rf"[ ]-[ ][\"'`]?{_WORD}"), _LABELLED, Shape.HARD),),
    " -- ": (_Pair(LazyPattern(rf"[ ]--[ ][\"'`]?{_WORD}"), _LABELLED, Shape.HARD),),
    "\nroot:": (_Pair(LazyPattern(rf"\nroot:{_WORD}"), None, Shape.CHOSEN),),
    "\nadmin:": (_Pair(LazyPattern(rf"\nadmin:{_WORD}"), None, Shape.CHOSEN),),
    "\np: ": (
        _Pair(LazyPattern(rf"\np:[ ]{_WORD}"), LazyPattern(r"(?i)\n?u(?:ser|sr)?:[ ][^\n]{1,64}\Z"), Shape.CHOSEN),
    ),
    "ssh ": (_Pair(_BEHIND_HOST, None, Shape.HARD),),
}
"""Rules by the mark that such a text contains."""
LOGIN_PAIR_RULES: Final = tuple(Rule((separator,), pair.find) for separator, pairs in _PAIRS.items() for pair in pairs)
