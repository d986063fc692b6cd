"""Prompt prefixes of retrieval models for queries and passages, by the beginning of their names.

Without them a model works, but ranks worse. The configuration overrides them: "" means none.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Prefixes(NamedTuple):
    """Text before a query and before a passage."""

    query: str = ""
    document: str = ""


_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "

_KNOWN: tuple[tuple[str, Prefixes], ...] = (
    # huggingface.co/nomic-ai/nomic-embed-code
    (r"nomic-embed-code", Prefixes("Represent this query for searching relevant code: ")),
    # huggingface.co/nomic-ai/nomic-embed-text-v1.5, nomic-embed-text-v2-moe, modernbert-embed-base
    (r"nomic-embed-text|modernbert-embed", Prefixes("search_query: ", "search_document: ")),
    # huggingface.co/intfloat/multilingual-e5-large-instruct, e5-mistral-7b-instruct
    (r"(?:multilingual-)?e5-.*instruct", Prefixes(_INSTRUCT)),
    # huggingface.co/intfloat/e5-base-v2, multilingual-e5-large
    (r"(?:multilingual-)?e5-", Prefixes("query: ", "passage: ")),
    # huggingface.co/BAAI/bge-m3: none
    (r"bge-m3", Prefixes()),
    # huggingface.co/BAAI/bge-large-zh-v1.5
    (r"bge-(?:small|base|large)-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001 - its colon
    # huggingface.co/BAAI/bge-large-en-v1.5; Ollama calls it bge-large
    (r"bge-(?:small|base|large)", Prefixes(_SEARCH)),
    # huggingface.co/mixedbread-ai/mxbai-embed-large-v1
    (r"mxbai-embed", Prefixes(_SEARCH)),
    # huggingface.co/WhereIsAI/UAE-Large-V1
    (r"uae-large", Prefixes(_SEARCH)),
    # huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0; Ollama calls it snowflake-arctic-embed2
    (r"snowflake-arctic-embed(?:2|-[lm]-v2)", Prefixes("query: ")),
    # huggingface.co/Snowflake/snowflake-arctic-embed-m-v1.5
    (r"snowflake-arctic-embed", Prefixes(_SEARCH)),
    # huggingface.co/Qwen/Qwen3-Embedding-0.6B: no blank after "Query:"
    (r"qwen3-embedding", Prefixes(_INSTRUCT.rstrip(" "))),
    # huggingface.co/Alibaba-NLP/gte-Qwen2-7B-instruct
    (r"gte-qwen", Prefixes(_INSTRUCT)),
    # ai.google.dev/gemma/docs/embeddinggemma/model_card
    (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
)


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes of a model by its name, ignoring an organisation before and a tag after it."""
    name = model.lower().rpartition("/")[2]
    return next((prefixes for pattern, prefixes in _KNOWN if re.match(pattern, name)), Prefixes())
