from __future__ import annotations

import re
from typing import Any

import pytest
import secret_corpus
from secret_corpus import SampleFile

from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import Document, Metadata, Section
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.secrets.recovery_codes import (
    kind_of_secret_container,
    kind_of_single_secret_file,
    may_be_indexed,
)
from directory_indexer.secrets.redaction import redact, redact_document
from directory_indexer.walk.ignore import built_in_rules, likely_secret_kind

RULES = built_in_rules(include_secrets=False, include_hidden=True)
SECRET_FILES = list(secret_corpus.sample_files("secret"))
PLAIN_FILES = [file for name in ("plain_secret", "plain_secret_aside") for file in secret_corpus.sample_files(name)]
INNOCENT_FILES = [
    file for name in ("innocent", "plain_innocent", "plain_innocent_aside") for file in secret_corpus.sample_files(name)
]
NOT_PLAIN = {
    "secret/express.json": {"blue-heron", "zebra-pw", "correct-horse-battery-staple", "abc", "fox", "x7!"},
    "a/flask.py": {"blue-heron", "zebra-pw", "correct-horse-battery-staple"},
    "french/config.yml": {"motdepasse"},
    "a/french.properties": {"motdepasse"},
}
"""Values that stay: words that a secret of a cluster may be called, and the name of the setting as its value."""


def left_out_by_name(path: str) -> bool:
    decision = RULES.decide_path(path.split("/"), is_directory=False)
    return decision is not None and decision.is_ignored


def what_is_indexed(file: SampleFile) -> str:
    """Put together all that the index would hold of a file."""
    if left_out_by_name(file.path) or kind_of_secret_container(file.content):
        return ""
    document = extract(file.content, FilePath("/" + file.path))
    name = file.path.rpartition("/")[2]
    redaction = redact_document(document, name)
    if redaction.whole_file_kind or kind_of_single_secret_file(name, document.text):
        return ""
    likely = likely_secret_kind(f"/{file.path}")
    if likely and not may_be_indexed(likely, document, redaction.n_masked):
        return ""
    return everything(redaction.document)


def everything(document: Document) -> str:
    headings = [heading for section in document.sections for heading in section.headings]
    return "\n".join((document.title, *headings, document.text))


def test_the_sets_are_large() -> None:
    assert len(SECRET_FILES) >= 200
    assert len(PLAIN_FILES) >= 150
    assert len(INNOCENT_FILES) >= 240


def test_no_secret_is_indexed() -> None:
    indexed = {file: what_is_indexed(file) for file in SECRET_FILES}

    assert [file.path for file in SECRET_FILES if not file.secrets] == []
    assert [(file.path, secret) for file in SECRET_FILES for secret in file.secrets if secret in indexed[file]] == []


@pytest.mark.parametrize("ordinary", secret_corpus.ORDINARY_PASSWORDS)
def test_an_ordinary_password_is_masked_wherever_its_place_says_what_it_is(ordinary: str) -> None:
    files = [
        file for name in ("plain_secret", "plain_secret_aside") for file in secret_corpus.sample_files(name, ordinary)
    ]
    shown = {file.path for file in files if any(is_shown(secret, file) for secret in file.secrets)}

    assert shown == {path for path, words in NOT_PLAIN.items() if ordinary in words}


def is_shown(secret: str, file: SampleFile) -> bool:
    return re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", what_is_indexed(file)) is not None


def test_what_only_looks_like_a_secret_is_indexed_as_it_is() -> None:
    assert [file.path for file in INNOCENT_FILES if left_out_by_name(file.path)] == []
    assert [file.path for file in INNOCENT_FILES if kind_of_secret_container(file.content)] == []
    for file in INNOCENT_FILES:
        document = extract(file.content, FilePath("/" + file.path))
        name = file.path.rpartition("/")[2]
        assert kind_of_single_secret_file(name, document.text) is None, file.path
        assert redact_document(document, name) == (document, 0, None), file.path


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("mysqldump -u root -pRqJzw+hdfRZEKIo prod\n", "bash", "RqJzw+hdfRZEKIo"),
        ('ConvertTo-SecureString "PriXf!5RVxNEssx" -AsPlainText -Force\n', "powershell", "PriXf!5RVxNEssx"),
        (f"new MailChimp('{'0f1e2d3c4b5a6978' * 2}-us21')\n", "javascript", f"{'0f1e2d3c4b5a6978' * 2}-us21"),
        ("My seed phrase: acid able above absent abuse access act adapt age air alarm album\n", "text", "acid able"),
        ("    'PASSWORD': 'BAEKa=4y4aRsQep',\n", "python", "BAEKa=4y4aRsQep"),
        ("postgres://svc:bZQaz=BPvFCzxDF@db/x\n", "text", "bZQaz=BPvFCzxDF"),
        ("master password: amber kettle lantern gravel onion\n", "text", "amber kettle lantern gravel onion"),
        ("Username: keeper\nPassword: lanternanchor\n", "email", "lanternanchor"),
        ("user ann\npassword qzxw lnvq fbpc xkii\n", "text", "qzxw lnvq fbpc xkii"),
        ('password   "kpxi jzyw wuzk aaes"\n', "text", "kpxi jzyw wuzk aaes"),
        ("RESTIC_PASSWORD='amber-kettle-lantern-gravel' restic backup\n", "text", "amber-kettle-lantern-gravel"),
        ('{"totp": "PVFBFLPQXKHJZWTA"}\n', "json", "PVFBFLPQXKHJZWTA"),
        (f'"Key": "SG._pbBsu9mI4ROnl89Sm995y.{"tbxAk7jqevt0MLaMRTvetw0tESulEETldq8b8Vw2zbJ"}"\n', "json", "tbxAk7jq"),
    ],
)
def test_a_secret_is_masked_whatever_signs_it_is_made_of(text: str, kind: str, secret: str) -> None:
    masked, spans = redact(text, kind)
    assert spans
    assert secret not in masked


def test_a_word_that_is_a_secret_is_masked_in_headings_but_not_inside_names() -> None:
    text = 'SECRET_KEY = "config"\n\n\ndef test_config_class():\n    pass\n'
    sections = (Section(23, ("test_config_class",)), Section(30, ("config",)))

    clean = redact_document(Document(text, "python", "", sections)).document

    assert '"******"' in clean.text
    assert [section.headings for section in clean.sections] == [("test_config_class",), ("******",)]


@pytest.mark.parametrize("kind", [*sorted(GROUPS["docs"] | GROUPS["media"]), "commit", "a kind of the configuration"])
def test_a_password_is_masked_wherever_people_write(kind: str) -> None:
    text = "The password for the portal is\npassword: Sunflower-42!xyz\n\nYours sincerely\n"

    clean = redact_document(Document(text, kind)).document

    assert clean.text == text.replace("Sunflower-42!xyz", "*" * 16)


TOKEN = "ghp_" + "a8Kd93LmQx72ZbVt05RsWcYp64NfHj1eGuTi"


@pytest.mark.parametrize("field", [name for name in Metadata._fields if name != "n_pages"])
def test_whatever_a_document_says_about_itself_is_masked(field: str) -> None:
    name = f"Ada {TOKEN} <ada@example.org>"
    value = (name, "Karl") if isinstance(getattr(Metadata(), field), tuple) else name
    said: dict[str, Any] = {"n_pages": 3, field: value}
    document = Document("Roofs\n", "docx", metadata=Metadata(**said))

    redaction = redact_document(document)

    assert TOKEN not in str(redaction.document.metadata)
    assert "Ada *" in str(getattr(redaction.document.metadata, field))
    assert redaction.document.metadata.n_pages == 3
    assert redaction.n_masked == 1


def test_a_secret_of_the_text_is_masked_in_headings_and_in_the_names_of_people() -> None:
    text = "Roofs\n\npassword = 'kX9#mQ2$vL7pR4wZ'\n"
    sections = (Section(0, ("Roofs", "of kX9#mQ2$vL7pR4wZ")),)
    document = Document(text, "docx", sections=sections, metadata=Metadata(authors=("kX9#mQ2$vL7pR4wZ", "Ada")))

    clean = redact_document(document).document

    assert clean.sections[0].headings == ("Roofs", f"of {'*' * 16}")
    assert clean.metadata.authors == ("*" * 16, "Ada")
