"""Detection of secrets: spans of a text, and files that are secrets as a whole."""

from __future__ import annotations

from typing import Final

REDACTION_VERSION: Final = 11
"""Changes whenever other secrets would be masked or left out. It stands here because this module is cheap to import."""
