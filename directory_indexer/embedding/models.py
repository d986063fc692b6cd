"""Embedded models, packaged or in packages of their own, and the prompt prefixes of retrieval models.

A package is found by the metadata of its distribution and never imported, and its files must be those that this version
was tested with: any other package of its name is rejected.

Prompts are found by the beginning of a model's name. Without them a model works, but ranks worse. The configuration
overrides them: "" means none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from blake3 import blake3

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.model_files import DIMENSIONS, MODEL_DIRECTORY
from directory_indexer.ranking.candidates import EMBEDDED_MODEL, MULTILINGUAL_MODEL, OTHER_MODEL, Model
from directory_indexer.ranking.languages import NAMES_OF_ALL

with lazily:
    from importlib import metadata


class Prefixes(NamedTuple):
    """Text before a query and before a passage."""

    query: str = ""
    document: str = ""


_BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
_E5_INSTRUCT_PREFIX = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "

_PREFIXES_BY_MODEL_PATTERN: tuple[tuple[str, Prefixes], ...] = (
    # huggingface.co/nomic-ai/nomic-embed-code
    (r"nomic-embed-code", Prefixes("Represent this query for searching relevant code: ")),
    # huggingface.co/nomic-ai/nomic-embed-text-v1.5, nomic-embed-text-v2-moe, modernbert-embed-base
    (r"nomic-embed-text|modernbert-embed", Prefixes("search_query: ", "search_document: ")),
    # huggingface.co/intfloat/multilingual-e5-large-instruct, e5-mistral-7b-instruct
    (r"(?:multilingual-)?e5-.*instruct", Prefixes(_E5_INSTRUCT_PREFIX)),
    # huggingface.co/intfloat/e5-base-v2, multilingual-e5-large
    (r"(?:multilingual-)?e5-", Prefixes("query: ", "passage: ")),
    # huggingface.co/BAAI/bge-m3: none
    (r"bge-m3", Prefixes()),
    # huggingface.co/BAAI/bge-large-zh-v1.5
    (r"bge-(?:small|base|large)-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001 - its colon
    # huggingface.co/BAAI/bge-large-en-v1.5; Ollama calls it bge-large
    (r"bge-(?:small|base|large)", Prefixes(_BGE_QUERY_PREFIX)),
    # huggingface.co/mixedbread-ai/mxbai-embed-large-v1
    (r"mxbai-embed", Prefixes(_BGE_QUERY_PREFIX)),
    # huggingface.co/WhereIsAI/UAE-Large-V1
    (r"uae-large", Prefixes(_BGE_QUERY_PREFIX)),
    # huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0; Ollama calls it snowflake-arctic-embed2
    (r"snowflake-arctic-embed(?:2|-[lm]-v2)", Prefixes("query: ")),
    # huggingface.co/Snowflake/snowflake-arctic-embed-m-v1.5
    (r"snowflake-arctic-embed", Prefixes(_BGE_QUERY_PREFIX)),
    # huggingface.co/Qwen/Qwen3-Embedding-0.6B: no blank after "Query:"
    (r"qwen3-embedding", Prefixes(_E5_INSTRUCT_PREFIX.rstrip(" "))),
    # huggingface.co/Alibaba-NLP/gte-Qwen2-7B-instruct
    (r"gte-qwen", Prefixes(_E5_INSTRUCT_PREFIX)),
    # ai.google.dev/gemma/docs/embeddinggemma/model_card
    (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
)


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes of a model by its name, ignoring an organisation before and a tag after it."""
    name = model.lower().rpartition("/")[2]
    return next((prefixes for pattern, prefixes in _PREFIXES_BY_MODEL_PATTERN if re.match(pattern, name)), Prefixes())


class ModelPackage(NamedTuple):
    """The distribution of a model.

    `folder` contains its files, `manifest` is the BLAKE3 of `model.json` there, and `source` the directory of a
    checkout that builds it.
    """

    distribution: str
    folder: str
    manifest: str
    source: str


class EmbeddedModel(NamedTuple):
    """A model that embeds in this process.

    It reads `window` tokens at once, and of longer texts up to `n_windows` such parts, whose vectors are summed.
    `tokenizer` is the kind of its vocabulary. `tokens_a_second` is the speed of one core of a server of 2024, in chunk
    tokens (`scripts/bench embedding`). `package` is its distribution, unless it comes with dirindex; `judged` are the
    parameters of its cosines for ranking.
    """

    name: str
    dimensions: int
    window: int
    n_windows: int
    tokenizer: str
    tokens_a_second: int
    prefixes: Prefixes
    package: ModelPackage | None
    judged: Model

    @property
    def space(self) -> EmbeddingSpace:
        """The space of all of its vectors."""
        return EmbeddingSpace(
            provider="embedded",
            model=self.name,
            dimensions=self.dimensions,
            document_prefix=self.prefixes.document,
            query_prefix=self.prefixes.query,
        )

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of one text that it reads, as its own tokenizer counts them."""
        return self.window * self.n_windows

    @property
    def repair(self) -> str:
        """Instructions for restoring missing or damaged files."""
        if self.package is None:
            return "install dirindex again: the embedded model is part of the package"
        source = self.package.source
        return f"in a checkout: pip install . --group model && {source}/build && pip install ./{source}"


_UPGRADE_HINT: Final = "update the checkout of dirindex and run pip install . in it"

# Each has 512 positions, two of which are the start and end tokens.
_WINDOW_TOKENS: Final = 510

PACKAGED_MODEL: Final = EmbeddedModel(
    # It was trained on texts of up to 256 tokens, the recommended chunk size; the rest is room for headings.
    name="all-MiniLM-L6-v2",
    dimensions=DIMENSIONS,
    window=_WINDOW_TOKENS,
    n_windows=1,
    tokenizer="wordpiece",
    tokens_a_second=9000,
    prefixes=Prefixes(),
    package=None,
    judged=EMBEDDED_MODEL,
)

MULTILINGUAL_MODEL_NAME: Final = EmbeddedModel(
    # A chunk of 256 tokens of Latin letters has 75 to 230 of this model's; other scripts were not measured.
    name="multilingual-e5-small",
    dimensions=384,
    window=_WINDOW_TOKENS,
    n_windows=4,
    tokenizer="unigram",
    tokens_a_second=4600,
    prefixes=Prefixes(query="query: ", document="passage: "),
    package=ModelPackage(
        "directory-indexer-multilingual",
        "directory_indexer_multilingual",
        manifest="c66e5b148299df5f41893fdd6f500d85b78b974af2ce7e48654c1d21314dcfb4",
        source="packaging/multilingual",
    ),
    judged=MULTILINGUAL_MODEL,
)

EMBEDDED_MODELS: Final = {model.name: model for model in (PACKAGED_MODEL, MULTILINGUAL_MODEL_NAME)}


def embedded_model(name: str) -> EmbeddedModel:
    """Return a model by its name.

    Raises:
        ProviderError: this version has no model of that name; an index of a later version may name one.
    """
    try:
        return EMBEDDED_MODELS[name]
    except KeyError:
        raise ProviderError(f"this version of dirindex has no embedded model '{name}'", hint=_UPGRADE_HINT) from None


def directory_of_model(model: EmbeddedModel) -> str:
    """Return the directory of a model's files.

    Raises:
        ProviderError: its package is not installed, or not the one that this version was tested with.
    """
    if model.package is None:
        return MODEL_DIRECTORY
    distribution, folder, manifest, _ = model.package
    try:
        installed = metadata.distribution(distribution)
        directory = os.path.abspath(str(installed.locate_file(folder)))
    except ImportError as error:  # what `PackageNotFoundError` is, without an import to name it
        message = f"the model '{model.name}' is not installed; it comes with the package {distribution}"
        raise ProviderError(message, hint=model.repair) from error
    try:
        with open(os.path.join(directory, "model.json"), "rb") as file:
            is_known = blake3(file.read()).hexdigest() == manifest
    except OSError as error:
        raise ProviderError(f"cannot read '{error.filename}': {error.strerror}", hint=model.repair) from error
    if not is_known:
        message = (
            f"{distribution} {installed.version} in '{directory}' is not what this version of dirindex was tested with"
        )
        raise ProviderError(message, hint=f"{_UPGRADE_HINT}, then {model.repair}")
    return directory


def missing_model_error(space: EmbeddingSpace) -> ProviderError | None:
    """Return the error of an embedded model's package, without loading it; None if there is none."""
    if space.provider != "embedded":
        return None
    try:
        directory_of_model(embedded_model(space.model))
    except ProviderError as error:
        return error
    return None


def missing_model_advice(space: EmbeddingSpace) -> str:
    """Format the error of an embedded model's package and its remedy; "" if there is none."""
    error = missing_model_error(space)
    return f"{error.message}: {error.hint}" if error else ""


class LanguageAdvice(NamedTuple):
    """Advice on documents in languages that the model does not understand."""

    languages: str
    message: str
    hint: str

    @property
    def key(self) -> str:
        """The key of the advice, which depends on the languages alone."""
        return f"language {self.languages}"

    @property
    def short(self) -> str:
        """The message in a line, and where the hint is."""
        return f"hardly found by meaning: {self.languages}; see dirindex doctor"

    @property
    def text(self) -> str:
        """The message and the hint as one sentence."""
        return f"{self.message}; {self.hint}"


def language_advice(space: EmbeddingSpace, counts: Mapping[str, int]) -> LanguageAdvice | None:
    """Return advice if many documents, counted by language, are in languages that a model does not understand."""
    known = cosine_parameters(space).languages
    unknown = {code: n for code, n in counts.items() if known is not None and NAMES_OF_ALL.get(code) not in known}
    n_unknown, n_all = sum(unknown.values()), sum(counts.values())
    if n_unknown < max(_MIN_DOCUMENTS_FOR_ADVICE, n_all * _MIN_SHARE_FOR_ADVICE):
        return None
    names = " and ".join(NAMES_OF_ALL.get(code, code).capitalize() for code in list(unknown)[:_MAX_NAMED_LANGUAGES])
    install = (
        ""
        if missing_model_error(MULTILINGUAL_MODEL_NAME.space) is None
        else f"install it ({MULTILINGUAL_MODEL_NAME.repair}), then "
    )
    return LanguageAdvice(
        names,
        f"{n_unknown:,} of {n_all:,} documents are in {names}, which {space.model} does not understand",
        f"{MULTILINGUAL_MODEL_NAME.name} does: {install}set embedding.model to it and run dirindex index",
    )


_MIN_DOCUMENTS_FOR_ADVICE: Final = 3
_MIN_SHARE_FOR_ADVICE: Final = 0.2
_MAX_NAMED_LANGUAGES: Final = 2


def cosine_parameters(space: EmbeddingSpace) -> Model:
    """Return the parameters of a space's cosines for ranking."""
    known = EMBEDDED_MODELS.get(space.model) if space.provider == "embedded" else None
    return OTHER_MODEL if known is None else known.judged
