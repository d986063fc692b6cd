"""Which characters of a text are a secret, and which file is one as a whole."""

from __future__ import annotations

from typing import Final

REDACTION_VERSION: Final = 9
"""Changes whenever other secrets would be masked or left out. It stands here since this costs nothing to import."""
