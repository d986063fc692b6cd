"""A model that is installed beside dirindex is found, checked and run, and nothing of its package is imported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from bert.reference import Reference
from processors import MULTIPLIES_EXACTLY
from tiny_models import MARKS, N_WINDOWS, PIECES, SHAPE, WINDOW, TinyModel, scores, write_tiny_model

from directory_indexer.config.indexing import EMBEDDED_MODELS as CONFIGURABLE
from directory_indexer.core.errors import ProviderError
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.embedding.embedded import EmbeddedEmbedder, Vocabulary, split_into_windows
from directory_indexer.embedding.models import (
    EMBEDDED_MODELS,
    MULTILINGUAL_MODEL_NAME,
    PACKAGED_MODEL,
    Prefixes,
    cosine_parameters,
    directory_of_model,
    embedded_model,
    known_prefixes,
    missing_model_advice,
)
from directory_indexer.ranking.candidates import OTHER_MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[1] / "data"
PACKAGING = Path(__file__).parents[2] / "packaging/multilingual"
TEXT = "the harbour opens at nine, and 漢字 äöü"
INSTALL = "in a checkout: pip install . --group model && packaging/tiny/build && pip install ./packaging/tiny"
UPGRADE = "update the checkout of dirindex and run pip install . in it"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    return write_tiny_model(tmp_path_factory.mktemp("site") / "dirindex_tiny_model")


@pytest.fixture(scope="module")
def embedder(tiny: TinyModel) -> Iterator[EmbeddedEmbedder]:
    embedder = EmbeddedEmbedder(tiny.model, model_directory=tiny.directory)
    yield embedder
    embedder.close()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyModel:
    tiny = write_tiny_model(tmp_path / "dirindex_tiny_model")
    (tiny.directory / "__init__.py").write_text("raise AssertionError('it was imported')")
    described = tmp_path / "dirindex_tiny_model-3.1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.4\nName: dirindex-tiny-model\nVersion: 3.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tiny


def without_prefixes(tiny: TinyModel) -> EmbeddedEmbedder:
    return EmbeddedEmbedder(tiny.model._replace(prefixes=Prefixes()), model_directory=tiny.directory)


def test_four_and_eight_bits_are_near_the_weights_they_stand_for(tiny: TinyModel, embedder: EmbeddedEmbedder) -> None:
    vocabulary = Vocabulary(PIECES, scores())
    prefix = vocabulary.token_ids("passage: ", limit=9)
    exact = Reference(
        SHAPE,
        tiny.weights,
        lambda text: split_into_windows(vocabulary.token_ids(text, limit=50), prefix=prefix, size=WINDOW)[0],
    )

    cosines = [float(embedder.embed_documents([text])[0] @ exact.embed(text)) for text in (TEXT, "a", "", "漢字漢字")]

    assert min(cosines) > (0.99 if MULTIPLIES_EXACTLY else 0.97)


def test_a_query_and_a_passage_get_their_prefixes(tiny: TinyModel, embedder: EmbeddedEmbedder) -> None:
    plain = without_prefixes(tiny)

    np.testing.assert_array_equal(embedder.embed_query(TEXT), plain.embed_query(f"query: {TEXT}"))
    np.testing.assert_array_equal(embedder.embed_documents([TEXT])[0], plain.embed_query(f"passage: {TEXT}"))
    assert not np.array_equal(embedder.embed_query(TEXT), embedder.embed_documents([TEXT])[0])


def test_a_text_that_is_longer_than_the_model_reads_at_once_is_the_sum_of_its_parts(tiny: TinyModel) -> None:
    plain = without_prefixes(tiny)
    first, second = "the " * WINDOW, "漢 " * WINDOW
    parts = plain.embed_query(first) + plain.embed_query(second)

    np.testing.assert_allclose(plain.embed_query(first + second), parts / np.linalg.norm(parts), atol=1e-6)


def test_no_more_parts_are_read_than_the_model_says(tiny: TinyModel) -> None:
    plain = without_prefixes(tiny)
    full = "the " * (WINDOW * N_WINDOWS)

    np.testing.assert_array_equal(plain.embed_query(full), plain.embed_query(full + "harbour"))
    assert not np.array_equal(plain.embed_query(full), plain.embed_query(full[: -len("the ")] + "harbour"))


def test_a_text_of_a_million_characters_is_cut_before_it_costs_anything(embedder: EmbeddedEmbedder) -> None:
    endless = "漢" * 1_000_000

    np.testing.assert_array_equal(embedder.embed_query(endless), embedder.embed_query(endless[:5_000]))


@pytest.mark.parametrize("mark", [*MARKS, "<mask>"])
def test_a_mark_of_the_model_in_a_text_is_only_a_word(mark: str) -> None:
    assert PIECES.index(mark) not in set(Vocabulary(PIECES, scores()).token_ids(f"a {mark} b", limit=99)) - {3}


def test_an_installed_package_is_found_and_not_imported(installed: TinyModel) -> None:
    assert directory_of_model(installed.model) == str(installed.directory)
    assert EmbeddedEmbedder(installed.model).embed_query(TEXT).shape == (installed.model.dimensions,)
    assert "dirindex_tiny_model" not in sys.modules


def test_a_package_that_is_not_installed_is_named_with_what_installs_it(tiny: TinyModel) -> None:
    with pytest.raises(
        ProviderError, match=r"'tiny' is not installed; it comes with the package dirindex-tiny-model"
    ) as raised:
        EmbeddedEmbedder(tiny.model)
    assert raised.value.hint == INSTALL


def test_a_package_with_other_files_is_refused(installed: TinyModel) -> None:
    manifest = installed.directory / "model.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"name": "other"}))

    with pytest.raises(ProviderError, match=r"dirindex-tiny-model 3\.1 in '.*' is not what") as raised:
        EmbeddedEmbedder(installed.model)
    assert raised.value.hint == f"{UPGRADE}, then {INSTALL}"


@pytest.mark.parametrize("name", ["weights.bin", "model.onnx", "vocabulary.txt", "scores.bin"])
def test_a_damaged_file_of_a_package_is_refused_with_what_mends_it(installed: TinyModel, name: str) -> None:
    with (installed.directory / name).open("r+b") as file:
        file.seek(100)
        file.write(b"\x7f\x00\x7f\x00")

    with pytest.raises(ProviderError, match=f"'.*{name}' is damaged") as raised:
        EmbeddedEmbedder(installed.model)
    assert raised.value.hint == INSTALL


@pytest.mark.parametrize("name", ["weights.bin", "scores.bin", "model.json"])
def test_a_missing_file_of_a_package_is_refused_with_what_mends_it(installed: TinyModel, name: str) -> None:
    (installed.directory / name).unlink()

    with pytest.raises(ProviderError, match=f"cannot read '.*{name}'") as raised:
        EmbeddedEmbedder(installed.model)
    assert raised.value.hint == INSTALL


def test_a_model_of_a_later_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(ProviderError, match="has no embedded model 'e6'") as raised:
        embedded_model("e6")
    assert raised.value.hint == UPGRADE
    assert "e6" in missing_model_advice(EmbeddingSpace("embedded", "e6", 384))
    assert cosine_parameters(EmbeddingSpace("embedded", "e6", 384)) is OTHER_MODEL


def test_the_configuration_offers_all_models_and_the_packaged_one_first() -> None:
    assert (*EMBEDDED_MODELS,) == CONFIGURABLE
    assert CONFIGURABLE[0] == PACKAGED_MODEL.name


def test_a_service_and_the_packaged_model_need_no_package() -> None:
    assert missing_model_advice(EmbeddingSpace("ollama", MULTILINGUAL_MODEL_NAME.name, 384)) == ""
    assert missing_model_advice(PACKAGED_MODEL.space) == ""


def test_an_index_of_the_packaged_model_keeps_the_name_of_its_space() -> None:
    assert PACKAGED_MODEL.space == EmbeddingSpace("embedded", "all-MiniLM-L6-v2", 384)
    assert MULTILINGUAL_MODEL_NAME.space.name == "embedded/multilingual-e5-small with 'passage: '"
    assert MULTILINGUAL_MODEL_NAME.prefixes == known_prefixes(MULTILINGUAL_MODEL_NAME.name)


@pytest.mark.skipif(
    missing_model_advice(MULTILINGUAL_MODEL_NAME.space) != "", reason="pip install ./packaging/multilingual"
)
def test_vectors_of_the_package_are_those_of_the_weights_in_float32() -> None:
    texts = json.loads((DATA / "golden_texts_multilingual.json").read_text(encoding="utf-8"))
    exact = np.array(json.loads((DATA / "golden_vectors_multilingual.json").read_text(encoding="utf-8")))
    embedder = EmbeddedEmbedder(MULTILINGUAL_MODEL_NAME)

    cosines = np.sum(embedder.embed_documents(texts) * exact, axis=1)

    embedder.close()
    assert len(texts) == len(exact) >= 10
    assert cosines.min() >= 0.998


def test_the_package_is_the_one_that_this_version_expects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MULTILINGUAL_MODEL_NAME.package is not None
    described = tmp_path / "directory_indexer_multilingual-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {MULTILINGUAL_MODEL_NAME.package.distribution}\nVersion: 1\n"
    )
    package = tmp_path / MULTILINGUAL_MODEL_NAME.package.folder
    package.mkdir()
    (package / "model.json").write_bytes((PACKAGING / package.name / "model.json").read_bytes())
    monkeypatch.syspath_prepend(tmp_path)

    assert directory_of_model(MULTILINGUAL_MODEL_NAME) == str(package)
