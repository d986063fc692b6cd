"""What every embedder promises; a new provider is one line in `EMBEDDERS`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fakes import FakeEmbedder
from tiny_models import write_tiny_model

from directory_indexer.embedding.embedded import EmbeddedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from providers import ProviderServer

    from directory_indexer.embedding import Embedder


def tiny_embedder() -> EmbeddedEmbedder:
    with TemporaryDirectory() as directory:
        tiny = write_tiny_model(Path(directory) / "tiny")
        return EmbeddedEmbedder(tiny.model, model_directory=tiny.directory)


EMBEDDERS: dict[str, Callable[[ProviderServer], Embedder]] = {
    "embedded": lambda _: EmbeddedEmbedder(),
    "embedded, three threads": lambda _: EmbeddedEmbedder(threads=3),
    "embedded, installed beside": lambda _: tiny_embedder(),
    "fake": lambda _: FakeEmbedder(),
    "ollama": lambda server: server.embedder("ollama"),
    "openai": lambda server: server.embedder("openai"),
    "azure": lambda server: server.embedder("azure"),
}

TEXTS = (
    "a short one",
    "def area(radius):\n    return math.pi * radius ** 2\n",
    "The council approved the new tram line, which will open in four years. " * 12,
    "",
    "Öffnungszeiten: montags bis freitags",
    "a short one",
)


@pytest.fixture(scope="module", params=EMBEDDERS.values(), ids=list(EMBEDDERS))
def embedder(request: pytest.FixtureRequest, provider_process: ProviderServer) -> Iterator[Embedder]:
    provider_process.control()
    embedder: Embedder = request.param(provider_process)
    yield embedder
    embedder.close()


def test_every_text_gets_one_row_of_the_space(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(TEXTS)

    assert vectors.shape == (len(TEXTS), embedder.space.dimensions)
    assert vectors.dtype == np.float32


def test_no_texts_give_no_rows_of_the_same_width(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.space.dimensions)


def test_vectors_have_length_one(embedder: Embedder) -> None:
    lengths = np.linalg.norm(embedder.embed_documents(TEXTS), axis=1)

    np.testing.assert_allclose(lengths, 1, atol=1e-5)


def test_rows_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    backwards = embedder.embed_documents(TEXTS[::-1])

    np.testing.assert_allclose(backwards[::-1], embedder.embed_documents(TEXTS), atol=1e-5)


def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: Embedder) -> None:
    together = embedder.embed_documents(TEXTS)
    alone = np.concatenate([embedder.embed_documents([text]) for text in TEXTS])

    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_different_texts_get_different_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(["rivers and lakes", "interest rates"])

    assert vectors[0] @ vectors[1] < 0.9


def test_a_query_is_one_vector_near_the_document_that_says_the_same(embedder: Embedder) -> None:
    query = embedder.embed_query("when will the new tram line open")

    assert query.shape == (embedder.space.dimensions,)
    assert query.dtype == np.float32
    assert np.argmax(embedder.embed_documents(TEXTS) @ query) == 2


def test_threads_may_share_an_embedder(embedder: Embedder) -> None:
    expected = embedder.embed_documents(TEXTS)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: embedder.embed_documents(TEXTS), range(8)))

    for vectors in results:
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("text", ["\0", "\ud800 lone \udfff", "\u202e\ufeff\x1b[31m", "a\u0301" * 300, "#" * 2000])
def test_no_text_is_too_strange_to_embed(embedder: Embedder, text: str) -> None:
    vector = embedder.embed_documents([text])[0]

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("make_embedder", EMBEDDERS.values(), ids=list(EMBEDDERS))
def test_closing_twice_is_harmless(
    make_embedder: Callable[[ProviderServer], Embedder], provider_process: ProviderServer
) -> None:
    embedder = make_embedder(provider_process)

    embedder.close()
    embedder.close()
