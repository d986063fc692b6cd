"""Token counts of OpenAI's models, by OpenAI's own tokenizer.

The package tiktoken downloads the vocabulary on first use, and keeps it.
"""

from __future__ import annotations

from functools import cache

import tiktoken


def count_openai_tokens(text: str, *, model: str) -> int | None:
    """Return the number of tokens of a text; None if the model is unknown, or its vocabulary cannot be downloaded."""
    encoding = _encoding_of_model(model)
    return None if encoding is None else len(encoding.encode_ordinary(text))


@cache
def _encoding_of_model(model: str) -> tiktoken.Encoding | None:
    try:
        return tiktoken.encoding_for_model(model)
    except (KeyError, OSError, ValueError):  # a failed download is an OSError
        return None
