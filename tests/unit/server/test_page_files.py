"""Which program opens a file for the page, and which files none may open."""

from __future__ import annotations

from pathlib import Path

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.kinds import is_safe_to_open
from directory_indexer.server.ui.files import OpenTarget, OpenWith, open_command


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("xdg-open", "code", "evince"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("/d/a.pdf", "pdf", True),
        ("/d/a.PDF", "pdf", True),
        ("/d/a.docx", "docx", True),
        ("/d/a.sh", "pdf", False),
        ("/d/a.desktop", "ini", False),
        ("/d/a.py", "python", False),
        ("/d/a.html", "html", False),
        ("/d/a.svg", "svg", False),
        ("/d/a.xml", "xml", False),
        ("/d/a.zip", "zip", False),
        ("/d/a.exe", "", False),
        ("/d/pdf", "pdf", False),
    ],
)
def test_only_documents_by_content_and_name_are_for_the_desktop(path: str, kind: str, *, expected: bool) -> None:
    assert is_safe_to_open(FilePath(path), kind) == expected


@pytest.mark.usefixtures("programs")
def test_each_way_of_opening_has_its_program() -> None:
    def command(how: OpenWith, path: str, kind: str, **environ: str) -> list[str]:
        return open_command(
            OpenTarget("id", how, line=7, page=3 if kind == "pdf" else 0), FilePath(path), kind, environ
        )

    assert command(OpenWith.EDITOR, "/d/a.py", "python") == ["code", "--goto", "/d/a.py:7"]
    assert command(OpenWith.EDITOR, "/d/a.py", "python", EDITOR="vim") == ["code", "--goto", "/d/a.py:7"]
    assert command(OpenWith.EDITOR, "/d/a.py", "python", VISUAL="/opt/subl -w") == ["/opt/subl", "-w", "/d/a.py:7"]
    assert command(OpenWith.PROGRAM, "/d/a.pdf", "pdf") == ["evince", "--page-label=3", "/d/a.pdf"]
    assert command(OpenWith.PROGRAM, "/d/a.docx", "docx") == ["xdg-open", "/d/a.docx"]
    assert command(OpenWith.FOLDER, "/d/a.sh", "bash") == ["xdg-open", "/d"]
    with pytest.raises(UsageError, match="might execute it"):
        command(OpenWith.PROGRAM, "/d/a.sh", "bash")
