"""Scanned pages and a service on the network that reads them, with the installed command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import DIRINDEX, run_command
from page_engines import Standin
from reading_server import KEY, ReadingServer, gemini_answer
from scanned_pages import scan


def indexed(place: Path, server: ReadingServer, name: str, *, key: str = KEY, tesseract: str) -> dict[str, Any]:
    (place / "key").write_text(key)
    (place / "key").chmod(0o600)
    service = {"endpoint": server.root, "api_key_file": str(place / "key")}
    config = {"ocr": {"engine": name, "tesseract": tesseract, name: service}}
    (place / "config.json").write_text(json.dumps(config))
    (place / "docs").mkdir()
    (place / "docs/letter.pdf").write_bytes(scan("Dear Jane, the first page.", "And this is the second."))
    options = ["--config", str(place / "config.json"), "--data-dir", str(place / "data")]
    run = run_command([DIRINDEX, "index", place / "docs", "--json", *options], check=False)
    assert key not in run.stdout + run.stderr
    found = run_command([DIRINDEX, "search", "zeppelin", "--mode", "keyword", "--json", *options], check=False)
    return {**json.loads(run.stdout), "code": run.returncode, "hits": json.loads(found.stdout)["hits"]}


@pytest.mark.parametrize("name", ["gemini", "azure"])
def test_a_service_reads_the_pages_and_what_it_counts_is_told(tmp_path: Path, name: str) -> None:
    with ReadingServer() as server:
        report = indexed(tmp_path, server, name, tesseract="/nowhere/tesseract")
    assert (report["pages"], report["pages_waiting"], report["ocr_refusals"], report["code"]) == (2, 0, {}, 0)
    assert report["ocr_usage"].startswith(f"{name} counted 2 pages")
    assert len(report["hits"]) >= 1
    assert name in report["hits"][0]["scan"]["engine"]
    assert server.keys == {KEY}


def test_what_a_service_refuses_is_read_on_this_machine_and_counted_with_its_reason(tmp_path: Path) -> None:
    standin = Standin(tmp_path / "tesseract")
    with ReadingServer() as server:
        server.fail(body=gemini_answer("", finish="SAFETY"))
        report = indexed(tmp_path, server, "gemini", tesseract=str(standin.command))
    assert (report["pages"], report["pages_waiting"], report["pages_unreadable"]) == (2, 0, 0)
    [(reason, n_pages)] = report["ocr_refusals"].items()
    assert "SAFETY" in reason
    assert n_pages == 2


def test_a_wrong_key_leaves_the_pages_waiting_and_is_told_without_the_key(tmp_path: Path) -> None:
    with ReadingServer() as server:
        report = indexed(tmp_path, server, "gemini", key="wrong-key-0123456789", tesseract="/nowhere/tesseract")
    assert (report["pages"], report["pages_waiting"], report["code"]) == (0, 2, 3)
    assert "check the key" in report["provider_error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "service", "said"),
    [
        ("gemini", {}, "Gemini needs a key"),
        ("azure", {"api_key": KEY}, "Azure Document Intelligence needs an http or https URL"),
        ("azure", {"endpoint": "https://my-resource.cognitiveservices.azure.com"}, "Intelligence needs a key"),
    ],
)
def test_what_a_service_lacks_is_told_before_anything_is_read(
    tmp_path: Path, name: str, service: dict[str, str], said: str
) -> None:
    config = {"ocr": {"engine": name, "tesseract": "/nowhere/tesseract", name: service}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/letter.pdf").write_bytes(scan("Dear Jane, the first page."))
    (tmp_path / "docs/note.md").write_text("A note on airships.\n")
    options = ["--config", str(tmp_path / "config.json"), "--data-dir", str(tmp_path / "data")]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return run_command([DIRINDEX, *words, *options], check=False)

    first = run("index", str(tmp_path / "docs"))

    assert first.returncode == 3
    lines = first.stderr.splitlines()
    told = min(number for number, line in enumerate(lines) if said in line and "indexing words meanwhile" in line)
    assert f"set ocr.{name}." in lines[told]
    assert all("reading: 100 %" not in line for line in lines[:told])
    assert "airships" in run("search", "airships").stdout
    status, doctor, dry = run("status"), run("doctor"), run("index", "--dry-run")
    assert [said in one.stdout for one in (status, doctor, dry)] == [True, True, True]
    assert (status.returncode, doctor.returncode, dry.returncode) == (0, 3, 0)
    assert run("index", "--no-ocr").returncode == 0
    assert run("forget", str(tmp_path / "docs")).returncode == 0
    assert KEY not in "".join(one.stdout + one.stderr for one in (first, status, doctor, dry))


def test_a_key_in_an_address_is_not_shown(tmp_path: Path) -> None:
    service = {"endpoint": "https://example.org/ocr?key=a-key-in-an-address", "api_key": KEY}
    (tmp_path / "config.json").write_text(json.dumps({"ocr": {"engine": "gemini", "gemini": service}}))
    options = ["--config", str(tmp_path / "config.json"), "--data-dir", str(tmp_path / "data")]
    doctor = run_command([DIRINDEX, "doctor", *options], check=False)
    assert "gemini-3.5-flash-lite of Gemini at https://example.org" in doctor.stdout
    assert "a-key-in-an-address" not in doctor.stdout + doctor.stderr
