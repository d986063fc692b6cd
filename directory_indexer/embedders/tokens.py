"""The tokens of OpenAI's models, counted by OpenAI's own tokenizer.

The package tiktoken downloads the vocabulary when it is first needed, and keeps it.
"""

from __future__ import annotations

from functools import cache

import tiktoken


def openai_tokens(text: str, *, model: str) -> int | None:
    """Count the tokens of a text; None when the model is none of OpenAI's, or its vocabulary cannot be had."""
    encoding = _encoding(model)
    return None if encoding is None else len(encoding.encode_ordinary(text))


@cache
def _encoding(model: str) -> tiktoken.Encoding | None:
    try:
        return tiktoken.encoding_for_model(model)
    except (KeyError, OSError, ValueError):  # a download that fails is an OSError
        return None
