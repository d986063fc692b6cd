"""What a person typed, read as a query, and the same query as the full-text index understands it.

Every string is a query: what is not an operator in its proper place is a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

from directory_indexer.analyzer import is_stop_word, name_parts, transliterated, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_CHARACTERS: Final = 8_000
MAX_WORDS: Final = 48


class WordKind(Enum):
    """How a word of a query wants to be matched."""

    PLAIN = auto()
    PHRASE = auto()
    """Quoted: it must occur as it stands."""
    LITERAL = auto()
    """A name, path, version or flag with signs in it: its parts in a row count most."""
    WILDCARD = auto()


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One thing that is looked for: what was typed, and the words of the index that it consists of."""

    text: str
    tokens: tuple[str, ...]
    kind: WordKind = WordKind.PLAIN


@dataclass(frozen=True, slots=True)
class Filters:
    """Where a hit must come from, as written after `path:`, `type:` and `heading:`."""

    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it was meant. `meaning` is the text to embed: the words without the operators."""

    text: str
    meaning: str
    words: tuple[QueryWord, ...] = ()
    excluded: tuple[QueryWord, ...] = ()
    required: Filters = Filters()
    forbidden: Filters = Filters()

    @property
    def is_empty(self) -> bool:
        """Tell that nothing is looked for; filters alone may still be given."""
        return not self.words


class Vocabulary(Protocol):
    """What the full-text index knows about its words."""

    @property
    def n_chunks(self) -> int:
        """How many chunks the index holds."""

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each of these words occurs; words that do not occur are left out."""

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Give words of the index that begin so, in their order, with the number of chunks they occur in."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is looked for, with all the spellings that stand for it, and how telling it is."""

    word: QueryWord
    forms: tuple[tuple[str, ...], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """A query in the words of one index: the FTS5 expression, if words are looked for at all, and its terms."""

    query: Query
    expression: str | None
    terms: tuple[Term, ...] = ()


def parse_query(text: str) -> Query:
    """Read a query; no string is wrong."""
    typed = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode()
    pieces = [_piece(found) for found in _PIECE.finditer(typed)]
    wanted = [piece for piece in pieces if not piece.is_negative and not piece.field]
    if not wanted:
        pieces = [piece if piece.field else piece.as_wanted() for piece in pieces]
        wanted = [piece for piece in pieces if not piece.field]
    return Query(
        text=typed,
        meaning=" ".join(piece.text for piece in wanted).strip(),
        words=tuple(_words_of(wanted)),
        excluded=tuple(_words_of(piece for piece in pieces if piece.is_negative and not piece.field)),
        required=_filters(piece for piece in pieces if not piece.is_negative),
        forbidden=_filters(piece for piece in pieces if piece.is_negative),
    )


def plan_match(query: Query, vocabulary: Vocabulary) -> MatchPlan:
    """Turn a query into an expression over the words that the index has."""
    telling = [word for word in query.words if not _is_filler(word)] or list(query.words)
    terms = tuple(Term(word, _forms(word)) for word in telling)
    return MatchPlan(query, _expression(query, terms), terms)


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    field: str = ""
    is_quoted: bool = False
    is_negative: bool = False

    def as_wanted(self) -> _Piece:
        return _Piece(self.text, self.field, self.is_quoted)


def _piece(found: re.Match[str]) -> _Piece:
    quoted = found["quoted"]
    text = (found["bare"] or "") if quoted is None else quoted
    return _Piece(text, (found["field"] or "").lower(), quoted is not None, bool(found["minus"]))


def _filters(pieces: Iterable[_Piece]) -> Filters:
    by_field: dict[str, list[str]] = {"path": [], "type": [], "heading": []}
    for piece in pieces:
        if piece.field and piece.text.strip():
            by_field[piece.field].append(piece.text.strip())
    return Filters(tuple(by_field["path"]), tuple(by_field["type"]), tuple(by_field["heading"]))


def _words_of(pieces: Iterable[_Piece]) -> Iterable[QueryWord]:
    seen: set[tuple[str, ...]] = set()
    for piece in pieces:
        word = _query_word(piece)
        if word.tokens and word.tokens not in seen and len(seen) < MAX_WORDS:
            seen.add(word.tokens)
            yield word


def _query_word(piece: _Piece) -> QueryWord:
    tokens = tuple(words(piece.text))
    if piece.is_quoted:
        kind = WordKind.PHRASE
    elif _WILDCARD.search(piece.text):
        kind = WordKind.WILDCARD
    elif len(tokens) > 1:
        kind = WordKind.LITERAL
    else:
        kind = WordKind.PLAIN
    return QueryWord(piece.text, tokens, kind)


def _is_filler(word: QueryWord) -> bool:
    return word.kind is WordKind.PLAIN and is_stop_word(word.tokens[0])


def _forms(word: QueryWord) -> tuple[tuple[str, ...], ...]:
    forms = [word.tokens]
    if word.kind is not WordKind.PHRASE:
        forms += [(transliterated(word.text.casefold()),), name_parts(word.text)]
    return tuple(dict.fromkeys(form for form in forms if form and all(words(token) == [token] for token in form)))


def _expression(query: Query, terms: Sequence[Term]) -> str | None:
    required = [_phrase(word.tokens) for word in query.words if word.kind is WordKind.PHRASE]
    required += [f"heading : {_phrase(tuple(words(text)))}" for text in query.required.headings if words(text)]
    clauses = [*required]
    anything = [_phrase_of(form, term) for term in terms for form in term.forms]
    anything += [
        _phrase((token,)) for term in terms if term.word.kind is WordKind.LITERAL for token in term.word.tokens
    ]
    if anything:
        clauses.append(" OR ".join(dict.fromkeys(anything)))
    if not clauses:
        return None
    wanted = " AND ".join(f"({clause})" for clause in clauses)
    unwanted = [_phrase(word.tokens) for word in query.excluded]
    unwanted += [f"heading : {_phrase(tuple(words(text)))}" for text in query.forbidden.headings if words(text)]
    return f"({wanted}) NOT ({' OR '.join(unwanted)})" if unwanted else wanted


def _phrase_of(form: tuple[str, ...], term: Term) -> str:
    return _phrase(form) + (" *" if term.word.kind is WordKind.WILDCARD and term.word.text.endswith("*") else "")


def _phrase(tokens: tuple[str, ...]) -> str:
    return f'"{" ".join(tokens)}"'


_PIECE: Final = re.compile(
    r"""
    (?P<minus>(?<!\S)-(?=["\w](?:\w|["(:*]|[^\s\w]\w)))?
    (?:(?<!\w)(?P<field>path|type|heading):(?=\S))?
    (?: "(?P<quoted>[^"]*)" | (?P<bare>[^\s"]+) | " )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WILDCARD: Final = re.compile(r"(?<!\S)\*\w|\w\*(?!\S)")
