"""Detection of secrets in texts, by published formats and by context, and their masking.

A mask is as long as the secret, so that every line, section and page keeps its position. Masking is idempotent. Rules
cannot know every secret: detected ones are masked, others are indexed.

In a list, an entry next to a secret that is equally random is a secret, too: a list of logins has one per line, and
only the first may be labelled, or have a published format. Public are encrypted values in Kubernetes `SealedSecret`
manifests, which need the cluster's key, and keys of known-answer tests, which stand beside the input and output of a
cipher.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

from directory_indexer.formats.document import Document, Metadata, Section
from directory_indexer.formats.table import FORMATS
from directory_indexer.secrets.context_rules import RULE_LITERALS, rule_spans
from directory_indexer.secrets.keyword_context import KEYWORD_LITERALS
from directory_indexer.secrets.named_values import NAME_LITERALS, named_value_spans, random_value_spans
from directory_indexer.secrets.prose_rules import SENTENCE_LITERALS, spans_in_titled_file
from directory_indexer.secrets.rule_engine import (
    PROSE_OR_UNKNOWN_KINDS,
    LazyPattern,
    LiteralPrefilter,
    SecretSpan,
    line_start,
    lower_preserving_length,
    mask_spans,
    merge_spans,
)
from directory_indexer.secrets.value_classification import Likeness, looks_generated, password_likeness

ENCRYPTION_LITERALS: Final = ("encrypteddata",)

_ENCRYPTED_FILE: Final = LazyPattern(r"kind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?SealedSecret\b")
_ENCRYPTED_BLOCK: Final = LazyPattern(
    r"encryptedData[\"']?[ \t]{0,4}:[ \t]{0,4}(?:\{[^{}]{0,200000}+\}|\r?\n(?:[ \t]++[^\n]*+\n?)++)"
)
_ENCRYPTED_VALUE: Final = LazyPattern(r"[A-Za-z0-9+/]{120,100000}+={0,2}")

_LITERALS: Final = LiteralPrefilter(
    (*SENTENCE_LITERALS, *KEYWORD_LITERALS, *RULE_LITERALS, *NAME_LITERALS, *ENCRYPTION_LITERALS)
)
_KIND_OF_OTHERS: Final = "text"
"""The kind of files that a configured extractor read: theirs is unknown."""

_MAX_REPEATED: Final = 200
_MIN_REPEATED: Final = 8
_MIN_HEADING: Final = 6
_MAX_REPEATED_LENGTH: Final = 500
_MIN_SHARE_OF_TEXT: Final = 0.6
_BLANKS: Final = re.compile(r"\s+")
_DATE_OR_TIME: Final = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?)?)?)?")
"""A timestamp as documents have it, which is no secret."""

_MAX_LINE: Final = 400
_MAX_ENTRIES: Final = 200
_MAX_DISTANCE: Final = 4
_ENTRY: Final = LazyPattern(
    r"[ \t]{0,12}(?:[-*•][ \t]{1,4})?(?P<label>\w[\w .()@/-]{0,40}?)[ \t]{0,4}(?:[:=|\t]|[ ]{1,20}|[ ]-)[ \t]{0,20}"
    r"[\"'`]?(?P<value>[!-~]{12,300}?)[\"'`,;]{0,2}[ \t\r]{0,4}(?=\n|\Z)"
)
_BASE32: Final = LazyPattern(r"(?=[A-Z]*[2-7])[A-Z2-7]{16,64}")
_HARMLESS_LABEL: Final = LazyPattern(
    r"(?i)public|print|\bid\b|hash|sum|uuid|version|user|name|mail|url|link|digest|etag|commit|rsa|ssh"
)
"""Words in labels of values that look random and are no secrets."""

_NEAR: Final = 800
_NUMBER: Final = LazyPattern(r"(?i:0x)?[0-9a-fA-F]{16,4096}")
_TEST_VECTOR_FIELD: Final = LazyPattern(
    r"(?i)(?<![a-z0-9])(pt|ct|msg|mac|tag|md|digest|okm|prk|dk|plaintext|ciphertext|plain|cipher|message|signature|sig|hash)"
    r"(?![a-z0-9])[\"'\])]{0,2}[ \t]{0,8}(?:[:=]|,(?=[ ]?[\"']))[ \t]{0,8}(?:[\w.]{1,24}\()?b?[\"']?(?:0x)?[0-9a-f]{8}"
)
_DERIVED_KEY_FIELDS: Final = frozenset(("okm", "prk", "dk"))
"""Fields that only vectors of key derivation functions have."""
_RESULT_FIELDS: Final = frozenset("mac tag md digest ct ciphertext signature sig hash".split())
_SOURCES_AND_RESULTS: Final = (
    *((source, frozenset(("ct", "ciphertext", "cipher", "tag"))) for source in ("pt", "plaintext", "plain")),
    *((source, _RESULT_FIELDS) for source in ("msg", "message")),
)
"""Inputs of a cipher or code, and its outputs."""


def encrypted_blocks(text: str, literals: frozenset[str]) -> list[tuple[int, int]]:
    """Return the spans of encrypted values in files of encrypted secrets, such as sealed secrets, in order."""
    if literals.isdisjoint(ENCRYPTION_LITERALS) or not _ENCRYPTED_FILE.search(text):
        return []
    return [match.span() for match in _ENCRYPTED_BLOCK.finditer(text)]


def is_encrypted(text: str, span: SecretSpan, blocks: Sequence[tuple[int, int]]) -> bool:
    """Whether a value is inside an encrypted block, and as long as an encrypted value."""
    at = bisect_right(blocks, (span.start, len(text))) - 1
    return at >= 0 and span.end <= blocks[at][1] and _ENCRYPTED_VALUE.fullmatch(text, span.start, span.end) is not None


class RedactedDocument(NamedTuple):
    """A document without its secrets, the number of masked ones, and the kind of secret if it contains little else."""

    document: Document
    n_masked: int = 0
    whole_file_kind: str | None = None


def secret_spans(text: str, kind: str = "", file_name: str = "") -> list[SecretSpan]:
    """Return the secrets in a text, sorted and disjoint.

    The kind of file determines how a name and a value are written, its name whether it contains only secrets.
    """
    lowered = lower_preserving_length(text)
    literals = _LITERALS.literals_in(lowered)
    candidates = chain(
        rule_spans(text, lowered, literals, kind),
        named_value_spans(text, lowered, literals, kind, file_name),
        random_value_spans(text, kind),
        spans_in_titled_file(text, kind, file_name),
    )
    blocks = encrypted_blocks(text, literals)
    spans = [
        span for span in merge_spans(candidates) if not (is_test_vector(text, span) or is_encrypted(text, span, blocks))
    ]
    if not spans:
        return spans
    listed = spans_in_neighbouring_lines(text, spans) if kind in PROSE_OR_UNKNOWN_KINDS else ()
    return merge_spans((*spans, *_repeated_spans(text, spans), *listed))


def redact(text: str, kind: str = "", file_name: str = "") -> tuple[str, list[SecretSpan]]:
    """Mask the secrets in a text; its length is unchanged."""
    spans = secret_spans(text, kind, file_name)
    return (mask_spans(text, spans) if spans else text), spans


def redact_document(document: Document, file_name: str = "") -> RedactedDocument:
    """Mask the secrets in the text, title, headings and metadata of a document."""
    kind = document.kind if document.kind in FORMATS else _KIND_OF_OTHERS
    text, spans = redact(document.text, kind, file_name)
    values = _values_to_repeat(document.text, spans)
    # A title that repeats the beginning of a text without secrets needs no masking.
    repeats_text = not spans and document.text.startswith(document.title)
    title = document.title if repeats_text else _redact_line(document.title, values, kind)
    sections = _redact_headings(document.sections, values, kind)
    metadata = _redact_metadata(document.metadata, values, kind)
    if not spans and (title, metadata) == (document.title, document.metadata) and sections is document.sections:
        return RedactedDocument(document)
    clean = document._replace(text=text, title=title, sections=sections, metadata=metadata)
    return RedactedDocument(clean, max(len(spans), 1), _kind_of_most_text(document.text, spans))


def spans_in_neighbouring_lines(text: str, spans: Sequence[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield random values with a label in the lines around a secret."""
    starts = {line_start(text, span.start, _MAX_LINE): span.kind for span in spans[:_MAX_ENTRIES]}
    for start, kind in starts.items():
        if not _ENTRY.match(text, start):
            continue
        for neighbour in (*_entries_above(text, start), *_entries_below(text, start)):
            if neighbour.start() not in starts and _is_random(neighbour):
                yield SecretSpan(*neighbour.span("value"), kind)


def is_test_vector(text: str, span: SecretSpan) -> bool:
    """Whether a secret is part of a test vector: with a message and its code, or plaintext and ciphertext, near it."""
    if not _NUMBER.fullmatch(text, span.start, span.end):
        return False
    near = text[max(span.start - _NEAR, 0) : span.end + _NEAR]
    names = {match[1].lower() for match in _TEST_VECTOR_FIELD.finditer(near)}
    return not names.isdisjoint(_DERIVED_KEY_FIELDS) or any(
        not names.isdisjoint(into) and source in names for source, into in _SOURCES_AND_RESULTS
    )


def _repeated_spans(text: str, spans: Sequence[SecretSpan]) -> Iterable[SecretSpan]:
    """Yield other occurrences of the same secrets, which no rule recognises."""
    kinds = {text[start:end]: kind for start, end, kind in spans[:_MAX_REPEATED]}
    for value, kind in kinds.items():
        if not _MIN_REPEATED <= len(value) <= _MAX_REPEATED_LENGTH or not looks_generated(value):
            continue
        at = text.find(value)
        while at >= 0:
            yield SecretSpan(at, at + len(value), kind)
            at = text.find(value, at + len(value))


def _values_to_repeat(text: str, spans: Sequence[SecretSpan]) -> list[str]:
    values = {text[start:end] for start, end, _ in spans[:_MAX_REPEATED]}
    return sorted(
        (value for value in values if _MIN_HEADING <= len(value) <= _MAX_REPEATED_LENGTH), key=len, reverse=True
    )


def _redact_line(line: str, values: Sequence[str], kind: str) -> str:
    for value in values:
        if value in line:
            # A plain word that is a secret in one place is part of a name in another, such as `test_config`.
            place = rf"(?<!\w){value}(?!\w)" if value.isalpha() and not looks_generated(value) else re.escape(value)
            line = re.sub(place, mask_spans(value, [SecretSpan(0, len(value), "")]), line)
    return _redacted_line(line, kind) if line else line


@lru_cache(maxsize=1024)
def _redacted_line(line: str, kind: str) -> str:
    """Mask the secrets in a short text; cached, since many documents share authors and headings."""
    return redact(line, kind)[0]


def _redact_metadata(metadata: Metadata, values: Sequence[str], kind: str) -> Metadata:
    """Mask the secrets in all metadata: a person's name or a thread's id can be a secret."""
    fields: dict[str, Any] = metadata._asdict()
    listed = {name: value for name, value in fields.items() if isinstance(value, tuple)}
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    clean = _redact_lines(chain(texts.values(), *listed.values()), values, kind)
    if not clean:
        return metadata
    fields |= {name: clean.get(value, value) for name, value in texts.items()}
    fields |= {name: tuple(clean.get(item, item) for item in value) for name, value in listed.items()}
    return Metadata(**fields)


def _redact_headings(sections: tuple[Section, ...], values: Sequence[str], kind: str) -> tuple[Section, ...]:
    clean = _redact_lines(chain.from_iterable(section.headings for section in sections), values, kind)
    if not clean:
        return sections
    return tuple(
        section._replace(headings=tuple(clean.get(heading, heading) for heading in section.headings))
        for section in sections
    )


def _redact_lines(texts: Iterable[str], values: Sequence[str], kind: str) -> dict[str, str]:
    """Mask the secrets in short texts, all at once; the result has only the texts that changed."""
    lines = [line for line in dict.fromkeys(texts) if line and not _DATE_OR_TIME.fullmatch(line)]
    together = "\n".join(line.replace("\n", " ") for line in lines)
    clean = _redact_line(together, values, kind)
    if clean == together:
        return {}
    return {line: masked for line, masked in zip(lines, clean.split("\n"), strict=True) if line != masked}


def _kind_of_most_text(text: str, spans: Sequence[SecretSpan]) -> str | None:
    """Return the kind of secret that makes up most of a text, if any."""
    sizes: Counter[str] = Counter()
    for start, end, kind in spans:
        sizes[kind] += end - start
    n_visible = len(text) - sum(map(len, _BLANKS.findall(text))) if spans else 1
    if sum(sizes.values()) < n_visible * _MIN_SHARE_OF_TEXT:
        return None
    return sizes.most_common(1)[0][0]


def _entries_above(text: str, start: int) -> Iterator[re.Match[str]]:
    for _ in range(_MAX_DISTANCE):
        if start == 0:
            return
        start = line_start(text, start - 1, _MAX_LINE)
        entry = _ENTRY.match(text, start)
        if entry is None:
            return
        yield entry


def _entries_below(text: str, start: int) -> Iterator[re.Match[str]]:
    for _ in range(_MAX_DISTANCE):
        start = text.find("\n", start, start + _MAX_LINE) + 1
        entry = _ENTRY.match(text, start) if start else None
        if entry is None:
            return
        yield entry


def _is_random(entry: re.Match[str]) -> bool:
    if _HARMLESS_LABEL.search(entry["label"]):
        return False
    return password_likeness(entry["value"]) == Likeness.RANDOM or _BASE32.fullmatch(entry["value"]) is not None
