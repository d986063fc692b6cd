"""What goes wrong with a Qdrant server, and what the user sees, as docs/qdrant-server.md tells it."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import socket
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from indexes import Index
from qdrant_client import QdrantClient, models
from qdrant_servers import Server
from qdrant_standin import Fault

from directory_indexer.config.services import Quantization
from directory_indexer.core.errors import VectorStoreError
from directory_indexer.core.notes import Verdict
from directory_indexer.integrations.doctor import Doctor
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.vectors import VectorScope, connection
from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection
from directory_indexer.storage.vectors.server import ServerVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.storage.documents.store import DocStore

KEY = "the key of the server"
WRITES = r"PUT /collections/[^/]+/points"
READS = r"POST /collections/[^/]+/points/query"
EVERYTHING = r"[A-Z]+ /.*"
FOREVER = 10_000


@dataclass
class Setting:
    """A directory of two files, its index, and the way to the server, which a test may lead astray."""

    index: Index
    server: Server
    address: QdrantAddress
    collection: str
    waits: list[float] = field(default_factory=list)

    def open(self, docstore: DocStore) -> ServerVectorStore:
        return ServerVectorStore(
            QdrantConnection(self.address, sleep=self.waits.append),
            CollectionPlan(self.collection),
            index_id=docstore.index_id(),
            dimensions=self.index.embedder.dimensions,
        )

    def lead(self, **changes: object) -> None:
        """Reach the server in another way from now on."""
        self.address = dataclasses.replace(self.address, **changes)  # type: ignore[arg-type]
        self.reopen()

    def reopen(self) -> None:
        self.index.close()
        self.index.__post_init__()

    def run(self) -> IndexReport:
        return self.index.run()

    def semantic(self) -> list[str]:
        return self.index.names("rotate keys", mode=SearchMode.SEMANTIC)

    def refused(self) -> str:
        """Give the words of a search that must fail, with the hint."""
        with pytest.raises(VectorStoreError) as caught:
            self.semantic()
        return f"{caught.value.message} | {caught.value.hint}"

    def degraded(self) -> str:
        """Give what a hybrid search says that it could not use; it answers all the same."""
        result = self.index.searcher.search(SearchRequest("rotate keys"))
        assert result.hits
        return " ".join(result.note_texts)

    def fail(self, match: str, kind: str, **details: object) -> None:
        self.server.fail(Fault(match, kind, **{"times": FOREVER, **details}))  # type: ignore[arg-type]

    def admin(self) -> QdrantClient:
        return QdrantClient(url=self.server.url, headers={"api-key": KEY}, check_compatibility=False)

    def doctor(self) -> Doctor:
        return self.index.app.doctor


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server("--api-key", KEY, "--grpc", "--storage", tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def setting(server: Server, tmp_path: Path) -> Iterator[Setting]:
    root = tmp_path / "docs"
    root.mkdir()
    server.fail()
    setting = Setting.__new__(Setting)
    index = Index(root=root, data_dir=tmp_path / "data")
    setting.__init__(index, server, QdrantAddress(server.url, KEY, timeout_seconds=30), uuid.uuid4().hex)  # type: ignore[misc]
    index.open_vectorstore = setting.open
    setting.reopen()
    index.write("keys.md", "Rotate the signing keys every ninety days.\n")
    index.write("soup.md", "Boil the carrots with ginger and serve it hot.\n")
    yield setting
    server.fail()
    index.close()


# Away


def test_nobody_listens(setting: Setting) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    setting.run()
    setting.lead(url=url)
    assert f"answered by keywords alone: no Qdrant server answers at {url}" in setting.degraded()
    assert "docker run -p" in setting.refused()
    setting.index.write("new.md", "A new note.\n")
    report = setting.run()
    assert (report.n_embedded, report.n_added) == (1, 1)
    assert f"no Qdrant server answers at {url}" in report.unavailable
    assert setting.waits == []


def test_the_name_of_the_server_is_unknown(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    setting.run()
    setting.lead(url="http://qdrant.example:6333")
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", unknown)
        refused = setting.refused()
    assert "no Qdrant server answers at http://qdrant.example:6333" in refused
    assert "Name or service not known | start it, or check storage.qdrant.endpoint" in refused


def test_nobody_listens_for_grpc(setting: Setting) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    setting.run()
    setting.lead(grpc_port=port)
    assert f"no Qdrant server answers at {setting.server.url}" in setting.refused()


@pytest.mark.slow
def test_the_server_takes_longer_than_it_may(setting: Setting) -> None:
    setting.run()
    setting.lead(timeout_seconds=3)
    setting.fail(READS, "slow", seconds=4)
    assert "took too long to search" in setting.refused()
    assert "storage.qdrant.timeout_seconds" in setting.refused()


# Trouble that passes


@pytest.mark.parametrize(
    ("kind", "details"),
    [
        ("status", {"status": 500}),
        ("status", {"status": 503}),
        ("status", {"status": 429}),
        ("reset", {}),
        ("half", {}),
    ],
)
def test_trouble_that_passes_is_not_noticed(setting: Setting, kind: str, details: dict[str, int]) -> None:
    setting.fail(WRITES, kind, times=2, **details)
    report = setting.run()
    assert (report.unavailable, report.n_embedded) == ("", 2)
    assert setting.waits == [0.5, 1.0]
    assert setting.semantic()[0] == "keys.md"


def test_the_server_says_when_to_come_again(setting: Setting) -> None:
    setting.fail(WRITES, "status", times=1, status=429, retry_after=7)
    assert setting.run().unavailable == ""
    assert setting.waits == [7.0]


# Trouble that stays


@pytest.mark.parametrize(
    ("kind", "details", "words"),
    [
        ("status", {"status": 500}, "failed to write vectors: 500 as the test wants it"),
        ("status", {"status": 502}, "failed to write vectors: 502"),
        ("status", {"status": 429}, "is overloaded"),
        ("status", {"status": 413}, "takes no requests as large as those to write vectors: raise QDRANT__SERVICE__MAX"),
        ("status", {"status": 403}, "refuses the API key, or wants one"),
        ("status", {"status": 400}, "refused to write vectors: 400 as the test wants it"),
        ("reset", {}, "broke as it was to write vectors"),
        ("half", {}, "broke as it was to write vectors"),
        ("garbage", {}, "does not speak as a Qdrant server does"),
    ],
)
def test_trouble_that_stays_loses_nothing(setting: Setting, kind: str, details: dict[str, int], words: str) -> None:
    setting.fail(WRITES, kind, **details)
    report = setting.run()
    assert words in report.unavailable
    assert report.n_embedded == 2
    assert setting.semantic()[0] == "keys.md"
    setting.server.fail()
    assert setting.run().n_embedded == 0
    assert setting.semantic()[0] == "keys.md"
    with setting.index.docstore.snapshot() as snapshot:
        assert (
            setting.index.vectorstore.open_generation(
                snapshot.vector_sets.generation(setting.index.vectorstore.place)
            ).count()
            == 2
        )


@pytest.mark.parametrize(
    ("kind", "details", "words"),
    [
        ("status", {"status": 500}, "failed to search: 500"),
        ("status", {"status": 429}, "is overloaded"),
        ("reset", {}, "broke as it was to search"),
        ("half", {}, "broke as it was to search"),
        ("garbage", {}, "does not speak as a Qdrant server does"),
    ],
)
def test_a_search_that_fails_is_answered_by_words_at_once(
    setting: Setting, kind: str, details: dict[str, int], words: str
) -> None:
    setting.run()
    setting.fail(READS, kind, **details)
    assert words in setting.degraded()
    assert setting.waits == []


def test_the_key_is_wrong(setting: Setting) -> None:
    setting.run()
    setting.lead(api_key="another")
    assert "refuses the API key, or wants one" in setting.refused()
    assert "DIRINDEX_STORAGE__QDRANT__API_KEY" in setting.refused()
    assert KEY not in setting.refused()
    setting.lead(grpc_port=setting.server.grpc_port)
    assert "refuses the API key, or wants one" in setting.refused()


def test_a_proxy_that_finds_nothing_has_lost_nothing(setting: Setting) -> None:
    setting.run()
    setting.fail(EVERYTHING, "status", status=404)
    assert "is not a Qdrant server" in setting.refused()
    setting.index.write("new.md", "A new note.\n")
    assert "is not a Qdrant server" in setting.run().unavailable
    setting.server.fail()
    assert setting.run().n_embedded == 0


def test_vectors_of_another_size_come_back(setting: Setting) -> None:
    setting.run()
    setting.fail(r"POST /collections/[^/]+/points", "dimension")
    (setting.index.root / "moved").mkdir()
    (setting.index.root / "keys.md").rename(setting.index.root / "moved" / "keys.md")
    assert "gave a vector of 63 dimensions in place of 64" in setting.run().unavailable
    setting.server.fail()
    assert setting.run().n_reused == 1


# Another collection than it was


def test_the_collection_is_gone(setting: Setting) -> None:
    setting.run()
    setting.admin().delete_collection(setting.collection)
    assert "does not have this index" in setting.degraded()
    assert "dirindex index restores search by meaning" in setting.refused()
    assert setting.run().n_embedded == 2
    assert setting.semantic()[0] == "keys.md"


def test_the_collection_was_emptied(setting: Setting) -> None:
    setting.run()
    setting.admin().delete(setting.collection, models.FilterSelector(filter=models.Filter()))
    assert "the index is not searchable by meaning" in setting.degraded()
    assert setting.run().n_embedded == 2


def test_some_vectors_were_deleted_and_others_added(setting: Setting) -> None:
    setting.run()
    [first, _] = setting.admin().scroll(setting.collection, with_vectors=True)[0]
    of_nothing = str(uuid.uuid4())
    payload = {**(first.payload or {}), "chunk_id": of_nothing}
    point_id = str(uuid.uuid5(uuid.UUID(payload["index"]), of_nothing))
    setting.admin().delete(setting.collection, [first.id])
    stranger = models.PointStruct(id=point_id, vector=[1.0] * 64, payload=payload)
    setting.admin().upsert(setting.collection, [stranger])
    found = [finding.message for finding in setting.doctor().check() if finding.verdict is Verdict.PROBLEM]
    assert found == ["passages that it lacks: 1; that it should not have: 1"]
    repaired = list(setting.doctor().repair())
    assert [finding for finding in repaired if finding.verdict is Verdict.PROBLEM] == []
    assert setting.semantic()[0] == "keys.md"


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (
            models.VectorParams(size=8, distance=models.Distance.COSINE),
            "holds vectors of 8 dimensions, the model makes 64",
        ),
        (models.VectorParams(size=64, distance=models.Distance.DOT), "was not made by dirindex"),
        ({"dense": models.VectorParams(size=64, distance=models.Distance.COSINE)}, "was not made by dirindex"),
    ],
)
def test_the_collection_was_made_for_other_vectors(setting: Setting, vectors: models.VectorParams, words: str) -> None:
    setting.admin().create_collection(setting.collection, vectors)
    report = setting.run()
    assert words in report.unavailable
    assert "storage.qdrant.collection" in report.unavailable
    setting.collection += "-2"
    setting.reopen()
    assert setting.run().n_embedded == 0
    assert setting.semantic()[0] == "keys.md"


@pytest.mark.parametrize(("status", "verdict"), [("yellow", Verdict.WARNING), ("red", Verdict.PROBLEM)])
def test_the_doctor_tells_version_and_health(setting: Setting, status: str, verdict: Verdict) -> None:
    setting.run()
    assert setting.index.vectorstore.health().verdict is Verdict.OK
    setting.server.control("/_status", {"status": status})
    try:
        health = setting.index.vectorstore.health()
    finally:
        setting.server.control("/_status", {"status": "green"})
    assert health.verdict is verdict
    assert "version 1.20.0 at" in health.message
    assert f"is {status}" in health.message


def test_the_doctor_does_not_take_an_absence_for_a_loss(setting: Setting) -> None:
    setting.run()
    setting.fail(EVERYTHING, "status", status=503)
    findings = {finding.check: finding for finding in setting.doctor().check()}
    assert "503" in findings["Qdrant"].message
    with pytest.raises(VectorStoreError, match="503"):
        list(setting.doctor().repair())
    setting.server.fail()
    assert setting.run().n_embedded == 0
    assert setting.semantic()[0] == "keys.md"


# Cut off


def test_the_server_dies_while_it_writes(setting: Setting) -> None:
    setting.fail(WRITES, "exit", times=1)
    unavailable = setting.run().unavailable
    setting.server.start()
    assert "no Qdrant server answers" in unavailable
    assert setting.run().n_embedded == 0
    assert setting.semantic()[0] == "keys.md"


def test_what_was_written_before_the_answer_was_lost_is_removed_with_its_file(setting: Setting) -> None:
    setting.run()
    new = setting.index.write("new.md", "A new note.\n")
    setting.fail(WRITES, "half")
    assert setting.run().unavailable
    setting.server.fail()
    assert setting.admin().count(setting.collection).count == 3
    assert {finding.verdict for finding in setting.doctor().check()} <= {Verdict.OK, Verdict.WARNING}
    new.unlink()
    setting.run()
    assert setting.admin().count(setting.collection).count == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems answer for a full queue")
def test_a_host_that_does_not_answer_is_given_up_soon(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    setting.run()
    monkeypatch.setattr(connection, "_CONNECT_SECONDS", 0.05)
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(silent.getsockname())
        setting.lead(url=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_seconds=3600)
        assert f"no Qdrant server answers at {setting.address.url}" in setting.refused()


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for this machine that signs itself, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    path = tmp_path_factory.mktemp("certificate") / "own.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", "-"]
    made = subprocess.run(words, check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + made.stdout)
    return path


@pytest.fixture(scope="module")
def safe_server(certificate: Path) -> Iterator[Server]:
    with Server("--certificate", certificate) as server:
        yield server


@pytest.mark.slow
def test_a_certificate_is_trusted_only_if_its_authority_is_named(
    setting: Setting, safe_server: Server, certificate: Path
) -> None:
    setting.lead(url=safe_server.url)
    assert "certificate of the Qdrant server" in setting.run().unavailable
    setting.lead(ca_file=certificate)
    assert setting.run().unavailable == ""
    assert setting.semantic()[0] == "keys.md"
    setting.lead(ca_file=None)
    assert "CERTIFICATE_VERIFY_FAILED" in setting.refused()
    assert "storage.qdrant.ca_file" in setting.refused()


def test_a_file_that_is_no_certificate_is_refused(setting: Setting, safe_server: Server, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("this is no certificate")
    setting.lead(url=safe_server.url, ca_file=tmp_path / "ca.pem")
    assert f"'{tmp_path / 'ca.pem'}' is not a certificate" in setting.run().unavailable
    setting.lead(ca_file=tmp_path / "missing.pem")
    assert f"'{tmp_path / 'missing.pem'}' cannot be read" in setting.run().unavailable


def test_http_and_https_are_confused(setting: Setting, safe_server: Server) -> None:
    setting.run()
    setting.lead(url=setting.server.url.replace("http:", "https:"))
    assert "does not speak TLS" in setting.refused()
    assert "must begin with http://" in setting.refused()
    setting.lead(url=safe_server.url.replace("https:", "http:"))
    assert f"the connection to the Qdrant server at {setting.address.url} broke" in setting.refused()


# Making the collection


def test_the_collection_is_made_as_configured(setting: Setting) -> None:
    plan = CollectionPlan(
        setting.collection,
        shard_number=6,
        replication_factor=2,
        write_consistency_factor=2,
        read_consistency="majority",
        quantization=Quantization.BINARY,
        on_disk=True,
    )
    index_id = setting.index.docstore.index_id()
    store = ServerVectorStore(QdrantConnection(setting.address), plan, index_id=index_id, dimensions=64)
    store.prepare(0)
    store.open_generation(1).search(setting.index.embedder.embed_query("keys"), scope=VectorScope(), limit=5)
    store.close()
    made = setting.server.control("/_created", {})
    created, indexes = made["created"][setting.collection], made["indexes"][setting.collection]
    assert created["vectors"] == {"size": 64, "distance": "Cosine", "on_disk": True}
    assert (created["shard_number"], created["replication_factor"], created["write_consistency_factor"]) == (6, 2, 2)
    assert created["quantization_config"] == {"binary": {"always_ram": True}}
    assert created["hnsw_config"] == {"m": 0, "payload_m": 16, "on_disk": True}
    assert indexes["index"]["is_tenant"]
    assert set(indexes) == {"index", "parent_directories", "file_path"}
    assert f"POST /collections/{setting.collection}/points/query?consistency=majority" in setting.server.log


def test_two_indexes_may_make_the_collection_at_the_same_time(setting: Setting) -> None:
    setting.server.fail(Fault(r"GET /collections/[^/]+/exists", "unknown", times=1))
    setting.admin().create_collection(setting.collection, models.VectorParams(size=64, distance=models.Distance.COSINE))
    assert setting.run().unavailable == ""
    assert setting.semantic()[0] == "keys.md"


def test_what_a_forgotten_directory_leaves_on_a_server_that_is_away_goes_later(setting: Setting) -> None:
    setting.run()
    setting.fail(EVERYTHING, "status", status=503)
    with pytest.raises(VectorStoreError, match="503"):
        setting.index.indexer.forget(str(setting.index.root))
    setting.server.fail()
    list(setting.doctor().repair())
    assert setting.admin().count(setting.collection).count == 0
