from __future__ import annotations

import pytest
import secret_corpus
from secret_corpus import SampleFile

from directory_indexer.credentials import redact_document
from directory_indexer.credentials.files import kind_of_container, kind_of_lone_secret
from directory_indexer.extractors.registry import extract
from directory_indexer.records import Document, FilePath
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
