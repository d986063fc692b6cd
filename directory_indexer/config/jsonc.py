"""JSON with `//` and `/* */` comments and trailing commas.

Removed characters are replaced by blanks, so that a syntax error is still reported at its line and column.
"""

from __future__ import annotations

import json
import re

_STRING = r'"(?:\\.|[^"\\\n])*"'
_STRING_OR_COMMENT = rf"(?s){_STRING}|//[^\n]*|/\*.*?\*/"
_STRING_OR_LAST_COMMA = rf"{_STRING}|,(?=\s*[}}\]])"


def parse_jsonc(text: str) -> object:
    """Parse JSON with comments.

    Raises:
        json.JSONDecodeError: with the line and column of the mistake.
    """
    without_comments = re.sub(_STRING_OR_COMMENT, _keep_strings, text)
    parsed: object = json.loads(re.sub(_STRING_OR_LAST_COMMA, _keep_strings, without_comments))
    return parsed


def _keep_strings(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])
