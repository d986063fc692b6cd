"""The command with the multilingual model: where its package is missing, another one, or there."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest
from shells import Shell

from directory_indexer.embedding.models import MULTILINGUAL_MODEL_NAME, missing_model_error

MODEL = "multilingual-e5-small"
INSTALL = "pip install ./packaging/multilingual"

IS_MISSING = missing_model_error(MULTILINGUAL_MODEL_NAME.space) is not None
needs_package = pytest.mark.skipif(IS_MISSING, reason=INSTALL)


@pytest.fixture
def shell(tmp_path: Path, home_directory: Path) -> Shell:
    shell = Shell(tmp_path, home_directory)
    shell.write("harbour.txt", "Ships that arrive after dark wait outside until the pilot comes aboard.\n")
    shell.write("bread.txt", "Knead the dough for ten minutes, and let it rise until it has doubled in size.\n")
    shell.write("taxes.txt", "Receipts must be kept for seven years, and invoices for ten.\n")
    return shell


def _with_another_package(shell: Shell, tmp_path: Path) -> None:
    """Put a package of the same name first on the path, which says what it is when it is imported."""
    place = tmp_path / "site"
    package, described = (
        place / "directory_indexer_multilingual",
        place / "directory_indexer_multilingual-0.1.dist-info",
    )
    for directory in (package, described):
        directory.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.4\nName: directory-indexer-multilingual\nVersion: 0.1\n")
    (package / "model.json").write_text('{"name": "multilingual-e5-small", "dimensions": 384, "blake3": {}}')
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    shell.environ["PYTHONPATH"] = os.fspath(place)
    shell.environ["DIRINDEX_EMBEDDING__MODEL"] = MODEL


@pytest.mark.slow
def test_a_package_that_this_version_does_not_know_is_refused_wherever_it_matters(shell: Shell, tmp_path: Path) -> None:
    shell.run("index", shell.docs)
    _with_another_package(shell, tmp_path)
    told = "directory-indexer-multilingual 0.1 in "
    upgrade = "run pip install . in it"

    assert upgrade in shell.run("config").stderr
    assert any(told in warning for warning in shell.json("config")["warnings"])
    assert upgrade in shell.run("status").stdout
    doctor = shell.run("doctor", expect=3).stdout
    assert told in doctor
    assert upgrade in doctor
    said = shell.run("index", "--yes", expect=3)
    assert upgrade in said.stdout + said.stderr
    assert "imported" not in said.stdout + said.stderr
    found = shell.run("search", "pilot for ships")
    assert "harbour.txt" in found.stdout
    assert "embedded/all-MiniLM-L6-v2 answers" in found.stderr


@pytest.mark.slow
def test_without_the_packaged_models_vectors_words_answer_and_say_why(shell: Shell, tmp_path: Path) -> None:
    _with_another_package(shell, tmp_path)
    shell.run("index", shell.docs, expect=3)

    found = shell.run("search", "pilot")

    assert "harbour.txt" in found.stdout
    assert "answered by keywords alone: directory-indexer-multilingual 0.1" in found.stderr


@pytest.mark.skipif(not IS_MISSING, reason="the package is installed")
def test_a_missing_package_is_named_with_what_installs_it(shell: Shell) -> None:
    shell.environ["DIRINDEX_EMBEDDING__MODEL"] = MODEL

    assert INSTALL in shell.run("config").stderr
    said = shell.run("index", shell.docs, expect=3)
    assert INSTALL in said.stdout + said.stderr
    assert INSTALL in shell.run("status").stdout
    assert "it comes with the package directory-indexer-multilingual" in shell.run("search", "pilot").stderr
    assert INSTALL in shell.run("doctor", expect=3).stdout


def test_another_model_in_the_process_is_a_mistake_that_names_those_there_are(shell: Shell) -> None:
    shell.environ["DIRINDEX_EMBEDDING__MODEL"] = "multilingual-e5-large"

    said = shell.run("config", expect=2).stderr

    assert "must be 'all-MiniLM-L6-v2' or 'multilingual-e5-small' with provider 'embedded'" in said


@needs_package
def test_a_question_in_one_language_finds_text_in_another(shell: Shell) -> None:
    shell.environ["DIRINDEX_EMBEDDING__MODEL"] = MODEL
    shell.run("index", shell.docs)

    for question, file in (
        ("Wie lange muss ich Belege aufbewahren?", "taxes.txt"),
        ("где корабли ждут лоцмана ночью", "harbour.txt"),
        ("面团要发酵多久", "bread.txt"),
    ):
        assert [Path(hit["path"]).name for hit in shell.json("search", question)["hits"]][:1] == [file]
    assert shell.json("status")["model"] == {"name": MODEL, "provider": "embedded", "dimensions": 384}
    assert f"embedded/{MODEL} answers" in shell.run("doctor").stdout


@needs_package
def test_the_packaged_model_answers_until_the_other_is_there_and_again_afterwards(shell: Shell) -> None:
    shell.run("index", shell.docs)
    shell.environ["DIRINDEX_EMBEDDING__MODEL"] = MODEL
    plan = shell.json("index", "--dry-run")
    assert plan["embedding"] == MULTILINGUAL_MODEL_NAME.space.name
    assert "make every text searchable by meaning again" in plan["redone"][0]

    assert shell.json("index", "--yes")["embedded"] == 3
    assert shell.json("status")["model"]["name"] == MODEL

    del shell.environ["DIRINDEX_EMBEDDING__MODEL"]
    assert shell.json("index", "--yes")["embedded"] == 3
    assert shell.json("status")["model"]["name"] == "all-MiniLM-L6-v2"


@needs_package
def test_the_package_holds_files_alone() -> None:
    files = metadata.distribution("directory-indexer-multilingual").files or []
    named = {
        file.name
        for file in files
        if file.parts[0] == "directory_indexer_multilingual" and "__pycache__" not in file.parts
    }
    assert named == {"__init__.py", "model.json", "model.onnx", "weights.bin", "vocabulary.txt", "scores.bin"}
