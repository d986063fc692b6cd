"""Keys of known-answer tests, which everybody may know: beside each stands what a cipher makes of what with it."""

from __future__ import annotations

from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.spans import SecretSpan


def is_known_answer(text: str, span: SecretSpan) -> bool:
    """Return whether a secret is a number in a test vector: with a message and its code, or two texts, near it."""
    if not _NUMBER.fullmatch(text, span.start, span.end):
        return False
    near = text[max(span.start - _NEAR, 0) : span.end + _NEAR]
    names = {match[1].lower() for match in _FIELD.finditer(near)}
    return not names.isdisjoint(_DERIVED) or any(not names.isdisjoint(into) and given in names for given, into in _MADE)


_NEAR: Final = 800
_NUMBER: Final = LazyPattern(r"(?i:0x)?[0-9a-fA-F]{16,4096}")
_FIELD: Final = LazyPattern(
    r"(?i)(?<![a-z0-9])(pt|ct|msg|mac|tag|md|digest|okm|prk|dk|plaintext|ciphertext|plain|cipher|message|signature|sig|hash)"
    r"(?![a-z0-9])[\"'\])]{0,2}[ \t]{0,8}(?:[:=]|,(?=[ ]?[\"']))[ \t]{0,8}(?:[\w.]{1,24}\()?b?[\"']?(?:0x)?[0-9a-f]{8}"
)
_DERIVED: Final = frozenset(("okm", "prk", "dk"))
"""What only vectors of functions that derive keys have."""
_CODES: Final = frozenset("mac tag md digest ct ciphertext signature sig hash".split())
_MADE: Final = (
    *((given, frozenset(("ct", "ciphertext", "cipher", "tag"))) for given in ("pt", "plaintext", "plain")),
    *((given, _CODES) for given in ("msg", "message")),
)
"""What goes into a cipher or a code, and what comes out."""
