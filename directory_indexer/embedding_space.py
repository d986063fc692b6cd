"""What makes two vectors comparable, and what making them costs."""

from typing import NamedTuple


class EmbeddingSpace(NamedTuple):
    """What makes two vectors comparable: the same provider, model, dimensions and document prefix; and where it is.

    `dimensions` is 0 while only the provider knows them; `is_shortened` says that they were asked for.
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
        """Name everything that changes the vectors."""
        name = f"{self.provider}/{self.model}"
        name += f" in {self.dimensions} dimensions" if self.is_shortened else ""
        return name + (f" with '{self.document_prefix}'" if self.document_prefix else "")


class EmbeddingUsage(NamedTuple):
    """What an embedder was given so far: tokens as the provider counts them, and texts that it read only in part."""

    n_tokens: int = 0
    n_truncated: int = 0
