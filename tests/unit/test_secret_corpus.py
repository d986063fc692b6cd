from __future__ import annotations

import pytest
import secret_corpus
from secret_corpus import SampleFile

from directory_indexer.credentials.files import kind_of_container, kind_of_lone_secret
from directory_indexer.credentials.redaction import redact, redact_document
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.registry import extract
from directory_indexer.paths import FilePath
from directory_indexer.walker.ignore import built_in_rules

RULES = built_in_rules(include_secrets=False, include_hidden=True)
SECRET_FILES = list(secret_corpus.sample_files("secret"))
INNOCENT_FILES = list(secret_corpus.sample_files("innocent"))


def left_out_by_name(path: str) -> bool:
    decision = RULES.decide_path(path.split("/"), is_directory=False)
    return decision is not None and decision.is_ignored


def what_is_indexed(file: SampleFile) -> str:
    """Put together all that the index would hold of a file."""
    if left_out_by_name(file.path) or kind_of_container(file.content):
        return ""
    document = extract(file.content, FilePath("/" + file.path))
    redaction = redact_document(document)
    if redaction.kind_of_all or kind_of_lone_secret(file.path.rpartition("/")[2], document.text):
        return ""
    return everything(redaction.document)


def everything(document: Document) -> str:
    headings = [heading for section in document.sections for heading in section.headings]
    return "\n".join((document.title, *headings, document.text))


def test_the_sets_are_large() -> None:
    assert len(SECRET_FILES) >= 200
    assert len(INNOCENT_FILES) >= 120


@pytest.mark.parametrize("file", SECRET_FILES, ids=lambda file: file.path)
def test_no_secret_is_indexed(file: SampleFile) -> None:
    indexed = what_is_indexed(file)

    assert file.secrets
    assert [secret for secret in file.secrets if secret in indexed] == []


@pytest.mark.parametrize("file", INNOCENT_FILES, ids=lambda file: file.path)
def test_what_only_looks_like_a_secret_is_indexed_as_it_is(file: SampleFile) -> None:
    document = extract(file.content, FilePath("/" + file.path))

    assert not left_out_by_name(file.path)
    assert kind_of_container(file.content) is None
    assert kind_of_lone_secret(file.path.rpartition("/")[2], document.text) is None
    assert redact_document(document) == (document, 0, None)


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("mysqldump -u root -pRqJzw+hdfRZEKIo prod\n", "bash", "RqJzw+hdfRZEKIo"),
        ('ConvertTo-SecureString "PriXf!5RVxNEssx" -AsPlainText -Force\n', "powershell", "PriXf!5RVxNEssx"),
        (f"new MailChimp('{'0f1e2d3c4b5a6978' * 2}-us21')\n", "javascript", f"{'0f1e2d3c4b5a6978' * 2}-us21"),
        ("My seed phrase: acid able above absent abuse access act adapt age air alarm album\n", "text", "acid able"),
        ("    'PASSWORD': 'BAEKa=4y4aRsQep',\n", "python", "BAEKa=4y4aRsQep"),
        ("postgres://svc:bZQaz=BPvFCzxDF@db/x\n", "text", "bZQaz=BPvFCzxDF"),
        ('{"totp": "PVFBFLPQXKHJZWTA"}\n', "json", "PVFBFLPQXKHJZWTA"),
        (f'"Key": "SG._pbBsu9mI4ROnl89Sm995y.{"tbxAk7jqevt0MLaMRTvetw0tESulEETldq8b8Vw2zbJ"}"\n', "json", "tbxAk7jq"),
    ],
)
def test_a_secret_is_masked_whatever_signs_it_is_made_of(text: str, kind: str, secret: str) -> None:
    masked, spans = redact(text, kind)
    assert spans
    assert secret not in masked
