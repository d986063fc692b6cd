"""The installed command and the server convert documents to Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from office_files import docx, paragraph
from serving import RawClient
from shells import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, tmp_path / "home")
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(text)}</w:tc>' for text in row)}</w:tr>"
        for row in (("Part", "Price"), ("Roof", "9,000"))
    )
    (shell.docs / "offer.docx").write_bytes(docx(paragraph("An offer") + f"<w:tbl>{rows}</w:tbl>"))
    return shell


def test_a_document_goes_to_standard_output_or_to_a_file(shell: Shell) -> None:
    written = shell.run("convert", "offer.docx").stdout
    assert "| Part | Price |\n| --- | --- |\n| Roof | 9,000 |" in written

    shell.run("convert", "offer.docx", "--output", "offer.md")
    assert (shell.docs / "offer.md").read_text(encoding="utf-8") == written
    assert "already exists" in shell.run("convert", "offer.docx", "--output", "offer.md", expect=2).stderr
    shell.run("convert", "offer.docx", "--output", "offer.md", "--force")
    assert not shell.data_dir.exists()


def test_json_has_the_document_or_its_file(shell: Shell) -> None:
    answer = shell.json("convert", "offer.docx")
    assert answer["source"] == "offer.docx"
    assert answer["markdown"].count("\n") == answer["total_lines"]
    answer = shell.json("convert", "offer.docx", "-o", "offer.md")
    assert answer["file"] == str(shell.docs / "offer.md")
    assert answer["markdown"] is None


def test_nothing_private_is_fetched_without_a_word(shell: Shell) -> None:
    assert "--allow-private" in shell.run("convert", "http://127.0.0.1:9/offer.docx", expect=2).stderr


def test_an_assistant_has_indexed_documents_converted_and_no_others(shell: Shell, tmp_path: Path) -> None:
    shell.run("index", shell.docs, "--quiet")
    (tmp_path / "outside.md").write_text("Nobody may read this\n", encoding="utf-8")
    with RawClient("--data-dir", shell.data_dir, environ=shell.environ) as client:
        client.shake_hands()
        found = client.call("convert_to_text", source=str(shell.docs / "offer.docx"))
        assert "| Roof | 9,000 |" in found["structuredContent"]["markdown"]
        assert "| Roof | 9,000 |" in found["content"][0]["text"]

        outside = client.call("convert_to_text", source=str(tmp_path / "outside.md"))
        assert outside["isError"]
        assert "Nobody" not in json.dumps(outside)

        fetched = client.call("convert_to_text", source="http://127.0.0.1:9/")
        assert "serving.fetch_urls" in json.dumps(fetched)


def test_a_long_document_is_read_on_where_it_was_left(shell: Shell) -> None:
    (shell.docs / "long.md").write_text(
        "".join(f"Line {number} of many\n" for number in range(2_000)), encoding="utf-8"
    )
    shell.run("index", shell.docs, "--quiet")
    with RawClient("--data-dir", shell.data_dir, environ=shell.environ) as client:
        client.shake_hands()
        lines: list[str] = []
        start: int | None = 1
        while start:
            call = client.call("convert_to_text", source="long.md", start_line=start, max_tokens=5_000)
            answer = call["structuredContent"]
            lines += answer["markdown"].split("\n")
            start = answer.get("next_start_line")
    assert [line for line in lines if line.startswith("Line")] == [f"Line {number} of many" for number in range(2_000)]
