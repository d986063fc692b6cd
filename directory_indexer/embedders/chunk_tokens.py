"""The length of a text in chunk tokens: those of the packaged model, or an equivalent.

That model splits Arabic, Russian or Korean into single letters, so a chunk of its tokens would hold a sentence. Their
letters are weighted by information instead: translations of one text then have equally many chunks. Every provider gets
the same chunks.
"""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.embedders import wordpiece


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text; one without spaces never counts for more than its parts."""
    if text.isascii():
        return wordpiece.count_tokens(text)
    n_syllables = sum(map(len, re.findall(_SYLLABLES, text)))
    n_letters = sum(map(len, re.findall(_LETTERS, text)))
    if not n_letters and not n_syllables:
        return wordpiece.count_tokens(text)
    read = re.sub(f"{_SYLLABLES}|{_LETTERS}", " ", text)
    return wordpiece.count_tokens(read) + -(-(2 * n_syllables + n_letters) // _LETTERS_A_TOKEN)


# A single letter is a formula or an abbreviation, and left to the model, so that English texts are cut as it reads
# them. Compiled on first use.
_LETTERS: Final = (
    "[\u0370-\u10ff\u1200-\u1aaf\u1b00-\u1cff\u1f00-\u1fff\u2c80-\u2dff\ua640-\ua69f\ua8e0-\ua8ff\uabc0-\uabff"
    "\ufb13-\ufdff\ufe70-\ufefc]{2,}"
)
_SYLLABLES: Final = "[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\uac00-\ud7ff\uff66-\uff9f]{2,}"
"""Korean and Japanese syllables carry as much information as two letters each; Chinese characters are tokens as they
are.
"""

_LETTERS_A_TOKEN: Final = 3
"""English has 3.1 letters per token, white space included."""
