"""Parsing of queries.

Every string is a query: anything that is not an operator in its proper place is a word. Text of several lines, or of
thousands of characters, was pasted: it has no operators, and of a stack trace or a log, the message is the query.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.ranking.analyzer import is_gram, phrase_words, query_words, symbol_name
from directory_indexer.ranking.filter_fields import FIELDS, METADATA_FIELDS, SOURCE_FIELDS
from directory_indexer.ranking.languages import is_function_word, language_of
from directory_indexer.ranking.query_syntax import ROLES, format_iso_date, parse_period, split_alternatives

with lazily:
    from directory_indexer.ranking.traces import Frame, Trace, last_failure_line, parse_trace

MAX_CHARACTERS: Final = 20_000
"""Of longer queries, the beginning and the end are read: the last lines of a log say what failed."""

MAX_MEANING: Final = 4_000
"""More characters than any embedding model accepts."""

MAX_WORDS: Final = 64
"""Of more words, the most informative are searched for (`plan.select_informative_words`)."""

GRAMS_A_WORD: Final = 4
"""So many n-grams count as one word in languages without spaces, so that the limit is the same in every language."""


class WordKind(Enum):
    """The kind of match that a word of a query requires."""

    PLAIN = auto()
    PHRASE = auto()
    """Quoted: it must occur literally."""
    LITERAL = auto()
    """A name, path, version or flag that the index has in parts, which must be consecutive."""
    WILDCARD = auto()
    """A word with `*` for any letters."""


class QueryWord(NamedTuple):
    """A word of a query: what was typed, how often, and the index words that it consists of.

    `compounds` are words of the index that contain it and another word of the query, and count as it.
    """

    text: str
    tokens: tuple[str, ...]
    kind: WordKind = WordKind.PLAIN
    n_times: int = 1
    compounds: tuple[str, ...] = ()

    @property
    def is_name(self) -> bool:
        """Whether it is no word of a language but an identifier, a number, an abbreviation, or quoted."""
        return self.kind is not WordKind.PLAIN or bool(_NAME.search(self.text))


class Filters(NamedTuple):
    """Conditions on the source of hits: the values of `path:`, `type:`, `heading:` and the metadata fields.

    `metadata` are names with the text that their values must contain; `since` and `until` are dates as they were typed.
    """

    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()


class Query(NamedTuple):
    """A parsed query. `meaning` is the text to embed: its words without the operators.

    If `phrases_bind`, every hit must contain the quoted phrases literally.
    """

    text: str
    meaning: str
    language: str = "english"
    words: tuple[QueryWord, ...] = ()
    excluded: tuple[QueryWord, ...] = ()
    required: Filters = Filters()
    forbidden: Filters = Filters()
    alternatives: tuple[tuple[Query, ...], ...] = ()
    """Groups of alternatives joined by `OR`: one of each must match."""
    phrases_bind: bool = True
    places: tuple[Frame, ...] = ()
    """The lines of files that it names, the most informative first."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no words to search for; there may still be filters."""
        return not self.words

    @property
    def has_only_filters(self) -> bool:
        """Whether it only selects files."""
        fields = (self.required, self.forbidden, *(branch.required for group in self.alternatives for branch in group))
        return not self.meaning and not self.excluded and any(map(any, fields)) and not any(f.headings for f in fields)

    @property
    def phrases(self) -> tuple[QueryWord, ...]:
        """The quoted phrases."""
        return tuple(word for word in self.words if word.kind is WordKind.PHRASE)

    @property
    def only_excludes(self) -> bool:
        """Whether it only says which passages to leave out."""
        excludes = bool(self.excluded or self.forbidden.headings)
        return excludes and not self.words and not self.meaning and not self.required.headings

    @property
    def is_question(self) -> bool:
        """Whether it asks about something instead of quoting its text."""
        words = re.findall(r"\w+", self.meaning.casefold())
        return (
            self.meaning.rstrip().endswith("?")
            or not _QUESTION_WORDS.isdisjoint(words)
            or (self.language == "german" and "was" in words)
            or words[:1] in _QUESTION_BEGINNINGS
        )

    @property
    def has_only_names(self) -> bool:
        """Whether all its words are names, whose spelling matters and whose meaning no model knows."""
        return bool(self.words) and all(word.is_name for word in self.words)

    @property
    def proper_names(self) -> frozenset[str]:
        """The words that are capitalised within a sentence, in lower case; none where most words are."""
        words = _WORD.findall(self.meaning)
        names = frozenset(match.lower() for match in _CAPITALISED_WITHIN.findall(self.meaning))
        return names if 2 * sum(word[0].isupper() for word in words) < len(words) else frozenset()


def parse_query(text: str, *, as_words: frozenset[str] = frozenset()) -> Query:
    """Parse a query; every string is valid. Filters that are written like one of `as_words` are words."""
    text = _truncate_query(text).encode("utf-8", "replace").decode().replace(_LINE_SEPARATOR, "\n")
    trace = parse_trace(text) if _may_be_a_trace(text) else Trace()
    if trace.message or len(text) > _MAX_TYPED_LENGTH or text.strip().count("\n") >= _LINE_ENDS_OF_PASTED_TEXT:
        return _pasted_query(text, trace)
    rest, groups = split_alternatives(text)
    query = _typed_query(rest, as_words)._replace(places=trace.frames)
    if not groups:
        return query
    alternatives = tuple(tuple(_typed_query(branch, as_words) for branch in group) for group in groups)
    flat = [branch for group in alternatives for branch in group]
    # A phrase that is one of several alternatives need not occur, and counts as a name does.
    loose = (
        w._replace(kind=WordKind.LITERAL) if w.kind is WordKind.PHRASE else w for branch in flat for w in branch.words
    )
    meaning = " ".join(filter(None, [query.meaning, *(branch.meaning for branch in flat)]))
    return query._replace(
        text=text,
        meaning=meaning[:MAX_MEANING],
        words=tuple({(word.tokens, word.kind): word for word in (*query.words, *loose)}.values()),
        alternatives=alternatives,
    )


def _truncate_query(text: str) -> str:
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[: half - 1]}\n{text[-half:]}"


def _may_be_a_trace(text: str) -> bool:
    """Whether to look for frames, which takes longer than parsing most queries."""
    return "\n" in text or (
        "." in text and any(sign in text for sign in (":", "(", " line ")) and any(map(str.isdigit, text))
    )


def _pasted_query(text: str, trace: Trace) -> Query:
    message = trace.message or text
    words = tuple(_words_of(_QueryPiece(word) for word in message.replace("*", " ").split()))
    meaning = " ".join(message.split())
    if len(meaning) > MAX_MEANING:
        meaning = f"{last_failure_line(message)[: MAX_MEANING // 2]} {meaning}"[:MAX_MEANING]
    language = language_of(meaning, [token for word in words for token in word.tokens])
    return Query(message, meaning, language, words, phrases_bind=False, places=trace.frames)


def _typed_query(typed: str, as_words: frozenset[str]) -> Query:
    pieces = [_parse_piece(match, as_words) for match in _PIECE_PATTERN.finditer(typed)]
    included = [piece for piece in pieces if not piece.is_negative and not piece.field]
    words = tuple(_words_of(included)) or tuple(_words_of_headings(pieces))
    meaning = " ".join(" ".join(piece.text for piece in included).split())[:MAX_MEANING]
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


def _words_of_headings(pieces: Iterable[_QueryPiece]) -> Iterable[QueryWord]:
    """Return the words of headings, by which passages are ranked if nothing else is searched for; they are names."""
    headings = [_QueryPiece(piece.text) for piece in pieces if piece.field == "heading" and not piece.is_negative]
    return (word._replace(kind=WordKind.LITERAL) for word in _words_of(headings))


def parse_filter_argument(argument: str) -> str:
    """Return an argument of a command line as a filter, its quotes removed by the shell; "" if it is none."""
    match = _PIECE_PATTERN.match(argument)
    if not match or not match["field"]:
        return ""
    name, _, value = argument.partition(":")
    return argument if match.end() == len(argument) else f'{name}:"{value.replace(chr(34), " ")}"'


class _QueryPiece(NamedTuple):
    text: str
    field: str = ""
    is_quoted: bool = False
    is_negative: bool = False


def _parse_piece(match: re.Match[str], as_words: frozenset[str]) -> _QueryPiece:
    quoted = match["quoted"]
    text = (match["bare"] or "") if quoted is None else quoted
    field = (match["field"] or "").lower()
    is_date = field in _DATES and parse_period(text, now=time.time()) is not None
    is_no_filter = (field in _DATES and not is_date) or (field == "is" and text.lower() not in ROLES)
    if is_no_filter or f"{field}:{text.strip()}" in as_words:
        return _QueryPiece(f"{field}:{text}", is_negative=bool(match["minus"]))
    return _QueryPiece(text, field, quoted is not None, bool(match["minus"]))


def _is_prose(words: Sequence[QueryWord], language: str) -> bool:
    """Whether words are a sentence, in which quotes are citations; among a few terms they are deliberate."""
    tokens = [token for word in words for token in word.tokens]
    return len(tokens) > _MAX_TERMS or any(is_function_word(token, language) for token in tokens)


def _filters(pieces: Iterable[_QueryPiece]) -> Filters:
    by_field: defaultdict[str, list[str]] = defaultdict(list)
    for piece in pieces:
        if piece.field and piece.text.strip():
            text = piece.text.strip()
            by_field[piece.field].append(format_iso_date(text) if piece.field == "created" else text)
    paths, kinds, headings, since, until, roles = (tuple(by_field[field.word]) for field in SOURCE_FIELDS)
    metadata = tuple((field.word, text) for field in METADATA_FIELDS for text in by_field[field.word])
    return Filters(paths, kinds, headings, since, until, roles, metadata)


def _words_of(pieces: Iterable[_QueryPiece]) -> Iterable[QueryWord]:
    words: dict[tuple[tuple[str, ...], WordKind], QueryWord] = {}
    for piece in pieces:
        word = _query_word(piece)
        if not word.tokens:
            continue
        key = (word.tokens, word.kind)
        if earlier := words.get(key):
            text = earlier.text if earlier.is_name else word.text
            words[key] = earlier._replace(text=text, n_times=earlier.n_times + 1)
            continue
        words[key] = word
    return words.values()


def _query_word(piece: _QueryPiece) -> QueryWord:
    if piece.is_quoted:
        return QueryWord(piece.text, phrase_words(piece.text)[:MAX_WORDS], WordKind.PHRASE)
    if _WILDCARD.fullmatch(piece.text) and all(len(query_words(part)) <= 1 for part in piece.text.split("*")):
        return QueryWord(piece.text, tuple(query_words(piece.text)), WordKind.WILDCARD)
    if _APOSTROPHE.search(piece.text):
        tokens = query_words(piece.text)
        return QueryWord(piece.text, tuple(token for token in tokens if len(token) > _ELISION) or tuple(tokens))
    if name := symbol_name(piece.text):
        return QueryWord(piece.text, (name,))
    tokens = query_words(piece.text)[: MAX_WORDS * GRAMS_A_WORD if is_gram(piece.text[:1]) else MAX_WORDS]
    return QueryWord(piece.text, tuple(tokens), WordKind.LITERAL if len(tokens) > 1 else WordKind.PLAIN)


_DATES: Final = ("since", "until")
_PIECE_PATTERN: Final = re.compile(
    r"""
    (?P<minus>(?<!\S)-(?!\d[\d.,]*(?:[^\W\d]{0,3}|[°%]\w?)(?!\S))(?=["\w](?:\w|["(:*]|[^\s\w]\w)))?
    (?:(?<!\w)(?P<field>FIELD):(?=\S))?
    (?: "(?P<quoted>[^"]*)"
      | (?P<bare>(?:(?<=since:)|(?<=until:))(?:(?:this|last|past|previous)[ ](?:\d+[ ])?(?:day|week|month|year)s?
            |\d+[ ](?:hour|day|week|month|year)s?[ ]ago)(?!\w)
          |(?<!\S)(?:[a-z]{2}\d{2}(?:[ ][a-z0-9]{1,4}){3,8}|\+?\(?\d{2,5}\)?(?:[ ]\(?\d{2,6}\)?){2,7})(?!\S)
          |[^\s"]+)
      | " )
    """.replace("FIELD", "|".join(field.word for field in FIELDS)),
    re.VERBOSE | re.IGNORECASE,
)
_NAME: Final = re.compile(r"\d|_|[a-z][A-Z]|\b[A-Z]{2}")
_WORD: Final = re.compile(r"[^\W\d_]+")
_CAPITALISED_WITHIN: Final = re.compile(r"(?<=[^.?!:] )[^\W\d_a-z][^\W\d_]+")
_APOSTROPHE: Final = re.compile(r"[^\W\d_]['’][^\W\d_]")
_ELISION: Final = 2
_QUESTION_WORDS: Final = frozenset(
    "how what why who whom whose which when where wie wer wen wem warum wieso weshalb wann wo woher wohin welche "
    "welcher welches comment pourquoi quand quel quelle quels quelles quoi como cuando donde por qué cómo cuándo dónde "
    "quando perche perché quale quali hoe waarom wanneer welke".split()
)
_QUESTION_BEGINNINGS: Final = tuple(
    [word] for word in "is are was can could does do did should would will has have ist sind kann hat est".split()
)
"""First words of questions."""
_MAX_TERMS: Final = 6
_LINE_ENDS_OF_PASTED_TEXT: Final = 2
_MAX_TYPED_LENGTH: Final = 4_000
_LINE_SEPARATOR: Final = "\u2028"
"""Single-line input fields replace line ends by it."""
_WILDCARD: Final = re.compile(r"[^\w*]*(?=\w*\*)[\w*]+[^\w*]*")
