"""Spaces of vectors, which make them comparable, and the cost of embedding."""

from typing import NamedTuple


class EmbeddingSpace(NamedTuple):
    """Properties that make vectors comparable: provider, model, dimensions and document prefix; and the endpoint.

    `dimensions` is 0 while only the provider knows them; `is_shortened` if they were requested.
    """

    provider: str
    model: str
    dimensions: int
    document_prefix: str = ""
    query_prefix: str = ""
    is_shortened: bool = False
    endpoint: str | None = None

    @property
    def name(self) -> str:
        """A name that identifies everything that affects the vectors."""
        name = f"{self.provider}/{self.model}"
        name += f" in {self.dimensions} dimensions" if self.is_shortened else ""
        return name + (f" with '{self.document_prefix}'" if self.document_prefix else "")


class EmbeddingUsage(NamedTuple):
    """The usage of an embedder so far: tokens as the provider counts them, and truncated texts."""

    n_tokens: int = 0
    n_truncated: int = 0
