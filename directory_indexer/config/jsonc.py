"""JSON as people edit it: with `//` and `/* */` comments and with commas after a last element.

What is taken out is replaced by blanks, so that a syntax error is still reported at its line and column.
"""

from __future__ import annotations

import json
import re

_STRING = r'"(?:\\.|[^"\\\n])*"'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_VISIBLE = re.compile(r"[^\n]")


def parse_jsonc(text: str) -> object:
    """Parse JSON with comments.

    Raises:
        json.JSONDecodeError: with the line and column of the mistake.
    """
    without_comments = _STRING_OR_COMMENT.sub(_keep_strings, text)
    parsed: object = json.loads(_STRING_OR_LAST_COMMA.sub(_keep_strings, without_comments))
    return parsed


def _keep_strings(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else _VISIBLE.sub(" ", found[0])
