"""Keys in source code, recognised by the call that uses them or by a comment, whatever they are called.

`hmac.new(b"…")`, `new SecretKeySpec(decode("…"))`; `# the signing key` above a line, `// secret key` behind it.
"""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.spans import line_start


def is_key_in_code(text: str, value: re.Match[str]) -> bool:
    """Whether a value is an argument of a signing or encryption function, or a comment beside it mentions a key."""
    start = line_start(text, value.start(), _MAX_STATEMENT)
    if _CALL.search(text, start, value.start(1)) or _COMMENT_BEHIND.match(text, value.end()):
        return True
    above = line_start(text, start - 1, _MAX_STATEMENT) if start else 0
    return _COMMENT_ABOVE.match(text, above, start) is not None


_MAX_STATEMENT: Final = 160
_KEY_WORDS: Final = (
    r"(?i:(?:secret|api|access|private|sign(?:ing)?|(?:en|de)cryption|master|licen[cs]e|hmac|aes|shared)[ _-]?key|"
    r"password|passphrase|credentials?\b|secret\b|token\b)"
)
_COMMENT_BEHIND: Final = LazyPattern(rf"[ \t\"'),;\]}}]{{0,8}}(?:#|//|--|/\*)[^\n]{{0,80}}?{_KEY_WORDS}")
_COMMENT_ABOVE: Final = LazyPattern(rf"[ \t]{{0,40}}(?:#|//|--|/?\*)[^\n]{{0,80}}?{_KEY_WORDS}[^\n]{{0,80}}\n\Z")
_CALL: Final = LazyPattern(
    r"(?i)(?:fernet|secretbox|secretkeyspec|symmetricsecuritykey|hmac\w{0,16}(?:\.new)?|"
    r"create(?:de)?cipheriv|(?:aes|des3?|blowfish|chacha20)\w{0,12}(?:\.new)?|jwt\.(?:en|de)code|jwt\.(?:sign|verify)|"
    r"(?:en|de)crypt|openssl_(?:en|de)crypt|createsecretkey|importkey|signingkey|setsigningkey)\([^;\n]{0,120}\Z"
)
