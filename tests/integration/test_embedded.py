"""The packaged model gives the vectors of the published one, from the package alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from processors import MULTIPLIES_EXACTLY

from directory_indexer.core.errors import ProviderError
from directory_indexer.embedding.embedded import EmbeddedEmbedder
from directory_indexer.embedding.model_files import MODEL_DIRECTORY
from directory_indexer.embedding.models import PACKAGED_MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def embedder() -> Iterator[EmbeddedEmbedder]:
    embedder = EmbeddedEmbedder()
    yield embedder
    embedder.close()


def test_vectors_are_those_of_the_published_weights(embedder: EmbeddedEmbedder) -> None:
    texts = json.loads((GOLDEN / "golden_texts.json").read_text(encoding="utf-8"))
    published = np.array(json.loads((GOLDEN / "golden_vectors.json").read_text(encoding="utf-8")))

    cosines = np.sum(embedder.embed_documents(texts) * published, axis=1)

    assert len(texts) == len(published) >= 10
    assert cosines.min() >= (0.99 if MULTIPLIES_EXACTLY else 0.98)


def test_what_is_beyond_the_limit_does_not_matter(embedder: EmbeddedEmbedder) -> None:
    full = "stone " * PACKAGED_MODEL.window

    np.testing.assert_array_equal(embedder.embed_query(full), embedder.embed_query(full + "water"))


def test_all_up_to_the_limit_matters(embedder: EmbeddedEmbedder) -> None:
    nearly_full = "stone " * (PACKAGED_MODEL.window - 1)

    assert not np.array_equal(embedder.embed_query(nearly_full), embedder.embed_query(nearly_full + "water"))


def test_a_mark_of_the_model_in_a_text_is_only_a_word(embedder: EmbeddedEmbedder) -> None:
    assert embedder.embed_query("[MASK]") @ embedder.embed_query("[ mask ]") > 0.999


def test_a_text_of_a_million_characters_is_cut_before_it_costs_anything(embedder: EmbeddedEmbedder) -> None:
    endless = "漢" * 1_000_000

    np.testing.assert_array_equal(embedder.embed_query(endless), embedder.embed_query(endless[:20_000]))


@pytest.mark.parametrize("name", ["model.onnx", "weights.bin"])
def test_a_damaged_model_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    directory = Path(shutil.copytree(MODEL_DIRECTORY, tmp_path / "model"))
    with (directory / name).open("r+b") as file:
        file.seek(100_000)
        file.write(b"\x7f\x00\x7f\x00")

    with pytest.raises(ProviderError, match="damaged") as raised:
        EmbeddedEmbedder(model_directory=directory)
    assert raised.value.hint is not None
    assert "install" in raised.value.hint


def test_a_missing_model_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(Path(MODEL_DIRECTORY, "model.json").read_bytes())

    with pytest.raises(ProviderError, match=r"cannot read '.*weights\.bin'") as raised:
        EmbeddedEmbedder(model_directory=tmp_path)
    assert raised.value.hint is not None


def test_embedding_needs_no_network_and_no_hub() -> None:
    program = """
import socket, sys
def refuse(*arguments, **options): raise AssertionError("the network was asked for")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from directory_indexer.embedding.embedded import EmbeddedEmbedder
EmbeddedEmbedder().embed_documents(["one", "two"])
assert "huggingface_hub" not in sys.modules
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_runtime_keeps_no_record_of_its_use(home_directory: Path) -> None:
    program = (
        "from directory_indexer.embedding.embedded import EmbeddedEmbedder; EmbeddedEmbedder().embed_query('a secret')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert list(home_directory.iterdir()) == []
