"""What a provider on the network can do wrong, and what comes of it; docs/providers.md shows it to users."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tiktoken
import tiktoken.registry
from indexes import Index
from providers import KEY, ProviderServer

from directory_indexer.core.errors import ProviderError, TextsRefusedError
from directory_indexer.core.files import Stage
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.embedding.loading import ServiceAccess
from directory_indexer.embedding.openai import OpenAIService
from directory_indexer.embedding.remote import RemoteEmbedder
from directory_indexer.http_client import FailureKind, RequestError
from directory_indexer.storage.documents.runs import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from directory_indexer.embedding.remote import EmbeddingAnswer, EmbeddingService

BOTH = pytest.mark.parametrize("protocol", ["ollama", "openai"])
TEXTS = [f"text number {number}" for number in range(8)]


class Waits(list[float]):
    """Takes the place of sleeping, and remembers how long it would have been."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Impatient:
    """A service that waits for an answer no longer than a moment."""

    place = "a service"

    def __init__(self, server: ProviderServer, protocol: str) -> None:
        self._service: EmbeddingService = server.embedder(protocol)._service  # noqa: SLF001 - the rest of it is real

    def embed(self, texts: Sequence[str], *, seconds: float) -> EmbeddingAnswer:
        assert seconds > 20
        return self._service.embed(texts, seconds=0.2)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def context_tokens(self) -> int | None:
        return None

    def close(self) -> None:
        self._service.close()


def expected(server: ProviderServer, protocol: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    server.control()
    return server.embedder(protocol).embed_documents(TEXTS)


# It is away, or is not what was configured


def test_an_ollama_that_does_not_run_is_named_with_the_line_that_starts_it(server: ProviderServer) -> None:
    embedder = server.embedder("ollama", endpoint="http://127.0.0.1:9")
    with pytest.raises(ProviderError, match=r"cannot connect to Ollama at http://127\.0\.0\.1:9") as caught:
        embedder.embed_query("anything")
    assert "ollama serve" in str(caught.value.hint)


def test_another_server_that_does_not_run_is_named(server: ProviderServer) -> None:
    embedder = server.embedder("openai", endpoint="http://127.0.0.1:9/v1")
    with pytest.raises(
        ProviderError, match=r"cannot connect to the embedding server at http://127\.0\.0\.1:9/v1"
    ) as caught:
        embedder.check()
    assert "embedding.endpoint" in str(caught.value.hint)


def test_a_model_that_ollama_lacks_is_answered_with_the_line_that_fetches_it(server: ProviderServer) -> None:
    with pytest.raises(ProviderError, match="has no model 'mxbai-embed-large'") as caught:
        server.embedder("ollama", model="mxbai-embed-large").check()
    assert caught.value.hint == "ollama pull mxbai-embed-large"


def test_a_model_that_another_server_lacks_is_answered_with_those_it_has(server: ProviderServer) -> None:
    with pytest.raises(ProviderError, match="knows no model 'gpt-embed'") as caught:
        server.embedder("openai", model="gpt-embed").check()
    assert "bag-of-words" in str(caught.value.hint)


@BOTH
def test_a_wrong_address_is_told_from_a_missing_model(server: ProviderServer, protocol: str) -> None:
    with pytest.raises(ProviderError, match="404 page not found") as caught:
        server.embedder(protocol, endpoint=f"{server.root}/elsewhere").check()
    assert "endpoint" in str(caught.value.hint)


@pytest.mark.parametrize("protocol", ["openai", "azure"])
def test_a_wrong_key_is_told_and_not_shown(server: ProviderServer, protocol: str) -> None:
    server.control(api_key="another")
    with pytest.raises(ProviderError, match="401: Incorrect API key") as caught:
        server.embedder(protocol, key=KEY).check()
    assert "embedding.api_key_file" in str(caught.value.hint)
    assert KEY not in str(caught.value.hint) + "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("protocol", ["openai", "azure"])
def test_the_key_goes_where_the_service_looks_for_it(server: ProviderServer, protocol: str) -> None:
    server.control(api_key=KEY)
    server.embedder(protocol, key=KEY).check()


def test_a_server_without_a_key_does_not_get_the_one_for_openai(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.embedder("openai").check()
    assert KEY not in str(server.requests)


def test_azure_without_a_key_says_so_before_anything_is_sent(server: ProviderServer) -> None:
    with pytest.raises(ProviderError, match="Azure, which needs a key"):
        server.embedder("azure", access=ServiceAccess())


def test_an_account_without_credit_is_not_asked_again(server: ProviderServer) -> None:
    waits = Waits()
    server.fail("status", status=429, message="You exceeded your current quota", code="insufficient_quota")
    with pytest.raises(ProviderError, match="quota") as caught:
        server.embedder("openai", sleep=waits).embed_documents(TEXTS)
    assert "credit" in str(caught.value.hint)
    assert waits == []


@BOTH
def test_vectors_that_cannot_be_shortened_as_asked_are_refused(server: ProviderServer, protocol: str) -> None:
    server.fail("dimension")
    with pytest.raises(ProviderError, match="vectors of 31 dimensions instead of 32") as caught:
        server.embedder(protocol, dimensions=32).check()
    assert "embedding.dimensions" in str(caught.value.hint)


# It has a bad moment


@BOTH
def test_retry_after_is_obeyed(server: ProviderServer, protocol: str) -> None:
    wanted, waits = expected(server, protocol), Waits()
    server.fail("status", status=429, times=2, headers={"retry-after": "7"}, when="number")
    np.testing.assert_allclose(server.embedder(protocol, sleep=waits).embed_documents(TEXTS), wanted)
    assert waits == [7.0, 7.0]


@BOTH
def test_waits_double_and_differ_when_the_service_names_none(server: ProviderServer, protocol: str) -> None:
    waits = Waits()
    server.fail("status", status=503, times=5, when="number")
    server.embedder(protocol, sleep=waits).embed_documents(TEXTS)
    assert [0.5 <= wait / 2**n <= 1 for n, wait in enumerate(waits)] == [True] * 5


@BOTH
def test_a_service_that_stays_busy_ends_the_run_with_advice(server: ProviderServer, protocol: str) -> None:
    waits = Waits()
    server.fail("status", status=429, message="slow down", when="number")
    with pytest.raises(ProviderError, match="429: slow down") as caught:
        server.embedder(protocol, sleep=waits).embed_documents(TEXTS)
    assert "indexing.concurrency" in str(caught.value.hint)
    assert 30 <= sum(waits) <= 64


@BOTH
def test_a_wait_of_an_hour_is_not_waited(server: ProviderServer, protocol: str) -> None:
    waits = Waits()
    server.fail("status", status=429, headers={"retry-after": "3600"}, when="number")
    with pytest.raises(ProviderError, match="asks to wait 3600 s"):
        server.embedder(protocol, sleep=waits).embed_documents(TEXTS)
    assert waits == []


@BOTH
@pytest.mark.parametrize("kind", ["status", "reset", "half", "garbage", "foreign"])
def test_what_breaks_off_is_asked_again(server: ProviderServer, protocol: str, kind: str) -> None:
    wanted, waits = expected(server, protocol), Waits()
    server.fail(kind, times=2, when="number")
    np.testing.assert_allclose(server.embedder(protocol, sleep=waits).embed_documents(TEXTS), wanted)
    assert len(waits) == 2


@BOTH
@pytest.mark.parametrize("kind", ["dimension", "count", "nan", "zeros"])
def test_an_answer_that_was_nonsense_once_is_not_taken(server: ProviderServer, protocol: str, kind: str) -> None:
    wanted = expected(server, protocol)
    server.fail(kind, times=1, when="number")
    np.testing.assert_allclose(server.embedder(protocol).embed_documents(TEXTS), wanted)


@BOTH
def test_a_service_that_does_not_answer_in_time_is_asked_for_less(server: ProviderServer, protocol: str) -> None:
    wanted = expected(server, protocol)
    server.fail("slow", times=1, when="number")
    space = EmbeddingSpace(protocol, "bag-of-words", 64)
    embedder = RemoteEmbedder(Impatient(server, protocol), space, batch_size=8, concurrency=1)
    np.testing.assert_allclose(embedder.embed_documents(TEXTS), wanted)
    assert [len(request["texts"]) for request in server.requests] == [8, 1, 4, 4]


@BOTH
def test_patience_grows_with_the_texts(server: ProviderServer, protocol: str) -> None:
    asked: list[float] = []

    class Remembering(Impatient):
        def embed(self, texts: Sequence[str], *, seconds: float) -> EmbeddingAnswer:
            asked.append(seconds)
            return self._service.embed(texts, seconds=seconds)

    space = EmbeddingSpace(protocol, "bag-of-words", 64)
    embedder = RemoteEmbedder(Remembering(server, protocol), space, batch_size=8, concurrency=1)
    embedder.embed_documents(["a" * 1000])
    embedder.embed_documents(["a" * 1000] * 8)
    assert asked[1] > asked[0] + 60


# One text is the matter


@BOTH
@pytest.mark.parametrize(
    "fault", [{"kind": "status", "status": 400}, {"kind": "status", "status": 500}, {"kind": "nan"}]
)
def test_one_poisonous_text_is_found_and_the_others_keep_their_vectors(
    server: ProviderServer, protocol: str, fault: dict[str, object]
) -> None:
    wanted = expected(server, protocol)
    server.control(faults=[{**fault, "when": "number 5"}])
    with pytest.raises(TextsRefusedError) as caught:
        server.embedder(protocol).embed_documents(TEXTS)
    assert list(caught.value.reasons) == [5]
    np.testing.assert_allclose(np.delete(caught.value.vectors, 5, 0), np.delete(wanted, 5, 0))


@BOTH
def test_a_text_that_is_too_long_is_cut_and_counted(server: ProviderServer, protocol: str) -> None:
    server.control(context_words=50)
    embedder = server.embedder(protocol)
    embedder.embed_documents([*TEXTS, "many words " * 100])
    assert embedder.usage.n_truncated == 1
    assert embedder.max_tokens == 50


def test_a_batch_that_is_too_large_is_halved(server: ProviderServer) -> None:
    wanted = expected(server, "openai")
    server.control(most_texts=3)
    np.testing.assert_allclose(server.embedder("openai").embed_documents(TEXTS), wanted)
    assert max(len(request["texts"]) for request in server.requests[-6:]) <= 4


def test_requests_are_limited_by_number_and_by_tokens(server: ProviderServer) -> None:
    embedder = server.embedder("openai", access=ServiceAccess(batch_size=5))
    embedder.check()
    server.control()
    embedder.embed_documents([*["short"] * 7, *["many words " * 20_000] * 4])
    assert [len(request["texts"]) for request in server.requests] == [5, 4, 2]


def test_tokens_of_openai_are_counted_and_those_of_others_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    bytewise = tiktoken.Encoding(
        "cl100k_base", pat_str=r"\w+|\W+", mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "cl100k_base", bytewise)
    text = "a" * 9000
    assert service("https://api.openai.com/v1").count_tokens(text) == 9000
    assert service("http://gpu-box:8000/v1").count_tokens(text) == 4501


def test_tokens_are_estimated_where_the_vocabulary_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.delitem(tiktoken.registry.ENCODINGS, "p50k_base", raising=False)
    assert service("https://api.openai.com/v1", model="text-davinci-003").count_tokens("a" * 9000) == 4501


def service(endpoint: str, *, model: str = "text-embedding-3-small") -> OpenAIService:
    return OpenAIService(endpoint=endpoint, model=model, api_key="k", dimensions=None)


# It is not well at all


@BOTH
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("status", "500: something went wrong"),
        ("reset", "broke off"),
        ("half", "broke off"),
        ("garbage", "not Ollama's|is not what"),
        ("foreign", "not Ollama's|is not what"),
        ("zeros", "nothing but zeros"),
        ("nan", "no numbers|not Ollama's|is not what"),
        ("count", "0 vectors for 1 texts|not Ollama's|is not what"),
    ],
)
def test_a_service_that_fails_every_time_is_not_taken_for_bad_texts(
    server: ProviderServer, protocol: str, kind: str, message: str
) -> None:
    embedder = server.embedder(protocol)
    embedder.check()
    server.fail(kind)
    with pytest.raises(ProviderError, match=message) as caught:
        embedder.embed_documents(TEXTS)
    assert not isinstance(caught.value, TextsRefusedError)


@BOTH
def test_a_service_that_changes_its_model_is_refused(server: ProviderServer, protocol: str) -> None:
    embedder = server.embedder(protocol)
    embedder.check()
    server.control(dimensions=48)
    with pytest.raises(ProviderError, match="vectors of 48 dimensions instead of 64"):
        embedder.embed_documents(TEXTS)


@BOTH
def test_a_service_that_hangs_is_given_up(server: ProviderServer, protocol: str) -> None:
    server.fail("slow")
    with pytest.raises(RequestError, match="did not answer within") as caught:
        Impatient(server, protocol).embed(TEXTS, seconds=30)
    assert caught.value.kind is FailureKind.SLOW


def test_an_answer_of_a_terabyte_is_not_read(server: ProviderServer) -> None:
    server.fail("flood", others={"dimensions": 64})
    with pytest.raises(ProviderError, match="answered more than 4 MB"):
        server.embedder("openai").embed_query("anything")


@pytest.mark.parametrize("protocol", ["openai", "azure"])
def test_a_redirection_is_not_followed(server: ProviderServer, protocol: str) -> None:
    server.fail("status", status=307, headers={"location": f"{server.root}/v1/embeddings"}, times=1)
    with pytest.raises(ProviderError, match="answered 307") as caught:
        server.embedder(protocol, key=KEY).check()
    assert "redirection is not followed" in str(caught.value.hint)
    assert len(server.requests) == 1


@pytest.mark.parametrize("protocol", ["openai", "azure"])
def test_a_key_that_http_does_not_allow_is_not_shown(server: ProviderServer, protocol: str) -> None:
    with pytest.raises(ProviderError, match="characters that HTTP does not allow") as caught:
        server.embedder(protocol, key=f"{KEY}\r\nx: y").check()
    assert "embedding.api_key_file" in str(caught.value.hint)
    assert KEY not in "".join(traceback.format_exception(caught.value))


# What a run makes of it


@pytest.fixture
def remote(server: ProviderServer, tmp_path: Path) -> Callable[[str], Index]:
    def remote(protocol: str) -> Index:
        (tmp_path / "docs").mkdir()
        access = ServiceAccess(batch_size=4, concurrency=2)
        provider = server.embedder(protocol, access=access)
        return Index(root=tmp_path / "docs", data_dir=tmp_path / "data", provider=provider)

    return remote


@BOTH
def test_a_refused_text_is_a_failure_of_its_file_until_it_is_taken(
    server: ProviderServer, remote: Callable[[str], Index], protocol: str
) -> None:
    index = remote(protocol)
    for number in range(10):
        index.write(f"{number}.md", f"note {number} about the harbour")
    server.fail("status", status=400, message="I do not like this", when="note 5")
    report = index.run()
    [refused] = report.refused
    assert (report.n_embedded, report.n_pending, refused.stage) == (9, 0, Stage.EMBED)
    assert refused.path.endswith("5.md")
    assert "I do not like this" in refused.message
    assert "5.md" in index.names("harbour note 5", limit=20)
    with index.docstore.snapshot() as snapshot:
        assert snapshot.left_out.failures(within=None, limit=9) == (refused,)
    server.control()
    assert index.run().n_embedded == 1
    with index.docstore.snapshot() as snapshot:
        assert snapshot.left_out.failures(within=None, limit=9) == ()


@BOTH
def test_what_was_embedded_before_a_failure_is_kept(
    server: ProviderServer, remote: Callable[[str], Index], protocol: str
) -> None:
    index = remote(protocol)
    for number in range(40):
        index.write(f"{number:02}.md", f"note {number:02} about the harbour")
    server.fail("status", status=429, when="note 30")
    report = index.run()
    assert report.outcome is Outcome.FAILED
    assert "429" in report.unavailable
    assert 20 <= report.n_embedded <= 36
    server.control()
    assert index.run().n_embedded == 40 - report.n_embedded
    texts = server.texts[1:]  # after the question whether anybody is there
    assert len(texts) == len(set(texts)) == 40 - report.n_embedded


@BOTH
def test_tokens_are_counted_as_the_provider_counts_them(
    server: ProviderServer, remote: Callable[[str], Index], protocol: str
) -> None:
    index = remote(protocol)
    index.write("a.md", "one two three")
    index.write("b.md", "one two three four five")
    del server
    assert index.run().n_tokens == 8


@BOTH
def test_equal_texts_are_sent_once(server: ProviderServer, remote: Callable[[str], Index], protocol: str) -> None:
    index = remote(protocol)
    for number in range(9):
        index.write(f"{number}.md", "the very same text")
    server.control()
    report = index.run()
    assert (report.n_embedded, report.n_reused) == (1, 8)
    assert server.texts[1:] == ["the very same text"]  # after the question whether anybody is there


@BOTH
def test_a_search_while_the_provider_is_away_is_answered_by_words(
    server: ProviderServer, remote: Callable[[str], Index], protocol: str
) -> None:
    index = remote(protocol)
    index.write("a.md", "boats in the harbour")
    index.run()
    index.provider = server.embedder(protocol, endpoint="http://127.0.0.1:9")
    result = index.searcher.search(index.request("harbour"))
    assert [hit.path.rpartition("/")[2] for hit in result.hits] == ["a.md"]
    assert "answered by keywords alone: cannot connect" in result.note_texts[0]
