"""What a person typed, read as a query.

Every string is a query: what is not an operator in its proper place is a word. Text of several lines, or of thousands
of characters, was pasted: it has no operators, and of a stack trace or a log the message is looked for.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from directory_indexer.lazy import lazily
from directory_indexer.relevance.alternatives import parted
from directory_indexer.relevance.analyzer import phrase_words, query_words, sign_name
from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.languages import is_filler, language_of
from directory_indexer.relevance.periods import beginning_of_date, period_of
from directory_indexer.relevance.roles import ROLES

with lazily:
    from directory_indexer.relevance.traces import Frame, Trace, read_trace, telling_line

MAX_CHARACTERS: Final = 20_000
"""Of longer queries, the beginning and the end are read: a log says what failed in its last lines."""

MAX_MEANING: Final = 4_000
"""More characters than any embedding model takes in."""

MAX_WORDS: Final = 64
"""So many words are looked for; of more, the most informative (`relevance.informative`)."""

GRAMS_A_WORD: Final = 4
"""So many letters are a word where none are marked by spaces; a question has as much room in every language."""


class WordKind(Enum):
    """How a word of a query wants to be matched."""

    PLAIN = auto()
    PHRASE = auto()
    """Quoted: it must occur as it stands."""
    LITERAL = auto()
    """A name, path, version or flag that the index holds in parts, which must follow each other."""
    WILDCARD = auto()
    """A word with `*` for any letters."""


class QueryWord(NamedTuple):
    """One thing that is looked for: what was typed, how often, and the words of the index that it consists of."""

    text: str
    tokens: tuple[str, ...]
    kind: WordKind = WordKind.PLAIN
    n_times: int = 1

    @property
    def is_name(self) -> bool:
        """Tell that the word is no word of a language: an identifier, a number, an abbreviation, or quoted."""
        return self.kind is not WordKind.PLAIN or bool(_NAME.search(self.text))


class Filters(NamedTuple):
    """Where a hit must come from, as written after `path:`, `type:`, `heading:` and the names of metadata.

    `metadata` are names with what their values must hold; `since` and `until` are dates as they were written.
    """

    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()


class Query(NamedTuple):
    """A query as it was meant. `meaning` is the text to embed: the words without the operators.

    Where `phrases_bind`, every hit must have the quotations as they stand.
    """

    text: str
    meaning: str
    language: str = "english"
    words: tuple[QueryWord, ...] = ()
    excluded: tuple[QueryWord, ...] = ()
    required: Filters = Filters()
    forbidden: Filters = Filters()
    alternatives: tuple[tuple[Query, ...], ...] = ()
    """Groups of what was joined by `OR`: of each, one must be met."""
    phrases_bind: bool = True
    places: tuple[Frame, ...] = ()
    """The lines of files that it names, the most telling first."""

    @property
    def is_empty(self) -> bool:
        """Tell that no word is looked for; filters alone may still be given."""
        return not self.words

    @property
    def has_only_filters(self) -> bool:
        """Tell that it says nothing but which files are meant."""
        fields = (self.required, self.forbidden, *(one.required for group in self.alternatives for one in group))
        return not self.meaning and not self.excluded and any(map(any, fields)) and not any(f.headings for f in fields)

    @property
    def phrases(self) -> tuple[QueryWord, ...]:
        """What is quoted."""
        return tuple(word for word in self.words if word.kind is WordKind.PHRASE)

    @property
    def only_excludes(self) -> bool:
        """Tell that it says which passages to leave out, and not what to look for."""
        excludes = bool(self.excluded or self.forbidden.headings)
        return excludes and not self.words and not self.meaning and not self.required.headings

    @property
    def is_question(self) -> bool:
        """Whether it asks about something, rather than to type what stands there."""
        words = re.findall(r"\w+", self.meaning.casefold())
        return self.meaning.rstrip().endswith("?") or not _QUESTION_WORDS.isdisjoint(words) or words[:1] in _ASKING

    @property
    def has_only_names(self) -> bool:
        """Tell that nothing but names is looked for, whose spelling matters and whose meaning no model knows."""
        return bool(self.words) and all(word.is_name for word in self.words)


def parse_query(text: str, *, as_words: frozenset[str] = frozenset()) -> Query:
    """Parse a query; no string is wrong. Filters that are written like one of `as_words` are words."""
    text = _within_limits(text).encode("utf-8", "replace").decode().replace(_LINE_SEPARATOR, "\n")
    trace = read_trace(text) if _may_be_a_trace(text) else Trace()
    if trace.message or len(text) > _LONGEST_TYPED or text.strip().count("\n") >= _LINE_ENDS_OF_PASTED_TEXT:
        return _pasted(text, trace)
    rest, groups = parted(text)
    query = _read(rest, as_words)._replace(places=trace.frames)
    if not groups:
        return query
    alternatives = tuple(tuple(_read(one, as_words) for one in group) for group in groups)
    flat = [one for group in alternatives for one in group]
    # One phrase of several need not occur, and counts as a name does.
    loose = (w._replace(kind=WordKind.LITERAL) if w.kind is WordKind.PHRASE else w for one in flat for w in one.words)
    meaning = " ".join(filter(None, [query.meaning, *(one.meaning for one in flat)]))
    return query._replace(
        text=text,
        meaning=meaning[:MAX_MEANING],
        words=tuple({(word.tokens, word.kind): word for word in (*query.words, *loose)}.values()),
        alternatives=alternatives,
    )


def _within_limits(text: str) -> str:
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[: half - 1]}\n{text[-half:]}"


def _may_be_a_trace(text: str) -> bool:
    """Whether it is worth while to look for places, which takes more time than to read most queries."""
    return "\n" in text or (
        "." in text and any(sign in text for sign in (":", "(", " line ")) and any(map(str.isdigit, text))
    )


def _pasted(text: str, trace: Trace) -> Query:
    said = trace.message or text
    words = tuple(_words_of(_Piece(word) for word in said.replace("*", " ").split()))
    meaning = " ".join(said.split())
    if len(meaning) > MAX_MEANING:
        meaning = f"{telling_line(said)[: MAX_MEANING // 2]} {meaning}"[:MAX_MEANING]
    language = language_of(meaning, [token for word in words for token in word.tokens])
    return Query(said, meaning, language, words, phrases_bind=False, places=trace.frames)


def _read(typed: str, as_words: frozenset[str]) -> Query:
    pieces = [_piece(found, as_words) for found in _PIECE.finditer(typed)]
    wanted = [piece for piece in pieces if not piece.is_negative and not piece.field]
    words = tuple(_words_of(wanted)) or tuple(_words_of_headings(pieces))
    meaning = " ".join(" ".join(piece.text for piece in wanted).split())[:MAX_MEANING]
    language = language_of(meaning, [token for word in words for token in word.tokens])
    return Query(
        text=typed,
        meaning=meaning,
        language=language,
        words=words,
        excluded=tuple(_words_of(piece for piece in pieces if piece.is_negative and not piece.field)),
        required=_filters(piece for piece in pieces if not piece.is_negative),
        forbidden=_filters(piece for piece in pieces if piece.is_negative),
        phrases_bind=not _is_prose([word for word in words if word.kind is not WordKind.PHRASE], language),
    )


def _words_of_headings(pieces: Iterable[_Piece]) -> Iterable[QueryWord]:
    """Where only headings are asked for, passages are ranked by them; they are names, whose spelling matters."""
    headings = [_Piece(piece.text) for piece in pieces if piece.field == "heading" and not piece.is_negative]
    return (word._replace(kind=WordKind.LITERAL) for word in _words_of(headings))


def filter_in(argument: str) -> str:
    """Read one argument of a command line as a filter, whose quotes the shell has taken away; empty if it is none."""
    found = _PIECE.match(argument)
    if not found or not found["field"]:
        return ""
    name, _, value = argument.partition(":")
    return argument if found.end() == len(argument) else f'{name}:"{value.replace(chr(34), " ")}"'


class _Piece(NamedTuple):
    text: str
    field: str = ""
    is_quoted: bool = False
    is_negative: bool = False


def _piece(found: re.Match[str], as_words: frozenset[str]) -> _Piece:
    quoted = found["quoted"]
    text = (found["bare"] or "") if quoted is None else quoted
    field = (found["field"] or "").lower()
    is_date = field in _DATES and period_of(text, now=time.time()) is not None
    is_no_filter = (field in _DATES and not is_date) or (field == "is" and text.lower() not in ROLES)
    if is_no_filter or f"{field}:{text.strip()}" in as_words:
        return _Piece(f"{field}:{text}", is_negative=bool(found["minus"]))
    return _Piece(text, field, quoted is not None, bool(found["minus"]))


def _is_prose(words: Sequence[QueryWord], language: str) -> bool:
    """Tell a sentence from a few terms: people quote a term on purpose, and in a sentence they cite."""
    tokens = [token for word in words for token in word.tokens]
    return len(tokens) > _MOST_TERMS or any(is_filler(token, language) for token in tokens)


def _filters(pieces: Iterable[_Piece]) -> Filters:
    by_field: defaultdict[str, list[str]] = defaultdict(list)
    for piece in pieces:
        if piece.field and piece.text.strip():
            text = piece.text.strip()
            by_field[piece.field].append(beginning_of_date(text) if piece.field == "created" else text)
    paths, kinds, headings, since, until, roles = (tuple(by_field[field]) for field in _FIELDS)
    metadata = tuple((name, text) for name in METADATA_FIELDS for text in by_field[name])
    return Filters(paths, kinds, headings, since, until, roles, metadata)


def _words_of(pieces: Iterable[_Piece]) -> Iterable[QueryWord]:
    counted: dict[tuple[tuple[str, ...], WordKind], QueryWord] = {}
    for piece in pieces:
        word = _query_word(piece)
        if not word.tokens:
            continue
        key = (word.tokens, word.kind)
        if before := counted.get(key):
            text = before.text if before.is_name else word.text
            counted[key] = before._replace(text=text, n_times=before.n_times + 1)
            continue
        counted[key] = word
    return counted.values()


def _query_word(piece: _Piece) -> QueryWord:
    if piece.is_quoted:
        return QueryWord(piece.text, phrase_words(piece.text)[:MAX_WORDS], WordKind.PHRASE)
    if _WILDCARD.fullmatch(piece.text) and all(len(query_words(part)) <= 1 for part in piece.text.split("*")):
        return QueryWord(piece.text, tuple(query_words(piece.text)), WordKind.WILDCARD)
    if _APOSTROPHE.search(piece.text):
        tokens = query_words(piece.text)
        return QueryWord(piece.text, tuple(token for token in tokens if len(token) > _ELISION) or tuple(tokens))
    if name := sign_name(piece.text):
        return QueryWord(piece.text, (name,))
    tokens = query_words(piece.text)[: MAX_WORDS * GRAMS_A_WORD if is_gram(piece.text[:1]) else MAX_WORDS]
    return QueryWord(piece.text, tuple(tokens), WordKind.LITERAL if len(tokens) > 1 else WordKind.PLAIN)


METADATA_FIELDS: Final = ("author", "lang", "tag", "from", "to", "cc", "subject", "created")
"""What may stand before a colon to ask for what documents say about themselves."""

_FIELDS: Final = ("path", "type", "heading", "since", "until", "is")
_DATES: Final = ("since", "until")
_PIECE: Final = re.compile(
    r"""
    (?P<minus>(?<!\S)-(?!\d[\d.,]*(?:[^\W\d]{0,3}|[°%]\w?)(?!\S))(?=["\w](?:\w|["(:*]|[^\s\w]\w)))?
    (?:(?<!\w)(?P<field>path|type|heading|since|until|is|author|lang|tag|from|to|cc|subject|created):(?=\S))?
    (?: "(?P<quoted>[^"]*)"
      | (?P<bare>(?:(?<=since:)|(?<=until:))(?:(?:this|last|past|previous)[ ](?:\d+[ ])?(?:day|week|month|year)s?
            |\d+[ ](?:hour|day|week|month|year)s?[ ]ago)(?!\w)
          |(?<!\S)(?:[a-z]{2}\d{2}(?:[ ][a-z0-9]{1,4}){3,8}|\+?\(?\d{2,5}\)?(?:[ ]\(?\d{2,6}\)?){2,7})(?!\S)
          |[^\s"]+)
      | " )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAME: Final = re.compile(r"\d|_|[a-z][A-Z]|\b[A-Z]{2}")
_APOSTROPHE: Final = re.compile(r"[^\W\d_]['’][^\W\d_]")
_ELISION: Final = 2
_QUESTION_WORDS: Final = frozenset(
    "how what why who whom whose which when where wie was wer wen wem warum wieso weshalb wann wo woher wohin welche "
    "welcher welches comment pourquoi quand quel quelle quels quelles quoi como cuando donde por qué cómo cuándo dónde "
    "quando perche perché quale quali hoe waarom wanneer welke".split()
)
_ASKING: Final = tuple(
    [word] for word in "is are can could does do did should would will has have ist sind kann hat est".split()
)
"""Words with which a question begins."""
_MOST_TERMS: Final = 6
_LINE_ENDS_OF_PASTED_TEXT: Final = 2
_LONGEST_TYPED: Final = 4_000
_LINE_SEPARATOR: Final = "\u2028"
"""What fields of one line keep of the ends of lines."""
_WILDCARD: Final = re.compile(r"[^\w*]*(?=\w*\*)[\w*]+[^\w*]*")
