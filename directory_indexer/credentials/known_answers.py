"""Keys of known-answer tests, which are public: each is accompanied by the input and output of a cipher."""

from __future__ import annotations

from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.spans import SecretSpan


def is_known_answer(text: str, span: SecretSpan) -> bool:
    """Whether a secret is part of a test vector: with a message and its code, or plaintext and ciphertext, near it."""
    if not _NUMBER.fullmatch(text, span.start, span.end):
        return False
    near = text[max(span.start - _NEAR, 0) : span.end + _NEAR]
    names = {match[1].lower() for match in _FIELD.finditer(near)}
    return not names.isdisjoint(_DERIVED) or any(
        not names.isdisjoint(into) and source in names for source, into in _MADE
    )


_NEAR: Final = 800
_NUMBER: Final = LazyPattern(r"(?i:0x)?[0-9a-fA-F]{16,4096}")
_FIELD: Final = LazyPattern(
    r"(?i)(?<![a-z0-9])(pt|ct|msg|mac|tag|md|digest|okm|prk|dk|plaintext|ciphertext|plain|cipher|message|signature|sig|hash)"
    r"(?![a-z0-9])[\"'\])]{0,2}[ \t]{0,8}(?:[:=]|,(?=[ ]?[\"']))[ \t]{0,8}(?:[\w.]{1,24}\()?b?[\"']?(?:0x)?[0-9a-f]{8}"
)
_DERIVED: Final = frozenset(("okm", "prk", "dk"))
"""Fields that only vectors of key derivation functions have."""
_CODES: Final = frozenset("mac tag md digest ct ciphertext signature sig hash".split())
_MADE: Final = (
    *((source, frozenset(("ct", "ciphertext", "cipher", "tag"))) for source in ("pt", "plaintext", "plain")),
    *((source, _CODES) for source in ("msg", "message")),
)
"""Inputs of a cipher or code, and its outputs."""
