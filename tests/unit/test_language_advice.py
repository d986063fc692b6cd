from __future__ import annotations

import pytest

from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.embedding.models import MULTILINGUAL_MODEL_NAME, PACKAGED_MODEL, language_advice

OLLAMA = EmbeddingSpace(provider="ollama", model="nomic-embed-text", dimensions=768)


def test_advice_names_the_languages_that_the_model_does_not_understand_and_the_next_step() -> None:
    advice = language_advice(PACKAGED_MODEL.space, {"en": 44, "de": 35})
    assert advice
    assert advice.message == "35 of 79 documents are in German, which all-MiniLM-L6-v2 does not understand"
    assert "multilingual-e5-small does: " in advice.hint
    assert "embedding.model" in advice.hint
    assert advice.short == "hardly found by meaning: German; see dirindex doctor"


def test_the_advice_keeps_its_key_while_documents_are_added() -> None:
    first, second = (language_advice(PACKAGED_MODEL.space, {"de": n, "fr": 2}) for n in (9, 10))
    assert first
    assert second
    assert first.key == second.key == "language German and French"


@pytest.mark.parametrize("counts", [{}, {"en": 10, "de": 1}, {"de": 2}, {"en": 100, "de": 15}])
def test_a_few_documents_are_no_reason_for_another_model(counts: dict[str, int]) -> None:
    assert language_advice(PACKAGED_MODEL.space, counts) is None


@pytest.mark.parametrize("space", [MULTILINGUAL_MODEL_NAME.space, OLLAMA])
def test_a_model_that_knows_all_languages_or_is_not_known_needs_no_advice(space: EmbeddingSpace) -> None:
    assert language_advice(space, {"de": 50}) is None
