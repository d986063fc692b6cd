"""Reading over MCP stays inside the index, however a path is written."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.errors import DirIndexError, NotIndexedError, UsageError
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.file_texts import read_text
from directory_indexer.server.mcp.index_tool import directories_to_index
from directory_indexer.server.mcp.tool_results import format_error_with_next_call
from directory_indexer.server.path_resolution import (
    URI_PREFIX,
    path_in_uri,
    resolve_indexed_file,
    resolve_scope_directories,
    resource_uri,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths are written in another way")

OUTSIDE = "outside/secret.txt"

# {root} is the indexed directory; beside it lies a directory `outside`, which is not indexed.
ATTEMPTS = (
    "/etc/passwd",
    "/etc/shadow",
    "//etc/passwd",
    "///etc//passwd",
    "/etc/./passwd",
    "/etc/../etc/passwd",
    "{root}/../outside/secret.txt",
    "{root}/../../../../../../../../etc/passwd",
    "{root}/./../outside/secret.txt",
    "{root}/sub/../../outside/secret.txt",
    "{root}/nothing/../../outside/secret.txt",
    "{root}//..//outside//secret.txt",
    "{root}/..//outside/secret.txt",
    "{root}/.../secret.txt",
    "{root}/..",
    "{root}/../",
    "{root}",
    "{root}/",
    "{root}/.",
    "{root}/sub",
    "{root}/link-to-secret",
    "{root}/link-to-outside/secret.txt",
    "{root}/link-to-outside/../outside/secret.txt",
    "{root}/sub/link-up/../outside/secret.txt",
    "{root}/link-to-passwd",
    "{root}/pipe",
    "{root}/.env",
    "{root}/id_rsa",
    "{root}/binary.bin",
    "{root}/note.md/..",
    "{root}/note.md/../../outside/secret.txt",
    "{root}/note.md\0",
    "{root}/note.md\0.txt",
    "\0",
    "../outside/secret.txt",
    "../../outside/secret.txt",
    "./../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "root/../outside/secret.txt",
    "root/../../etc/passwd",
    "root-evil/secret.txt",
    "..",
    ".",
    "../",
    "..\\outside\\secret.txt",
    "{root}\\..\\outside\\secret.txt",
    "~/secret.txt",
    "~root/.bashrc",
    "~",
    "$HOME/secret.txt",
    "${{HOME}}/secret.txt",
    "%2e%2e/outside/secret.txt",
    "%2e%2e%2foutside%2fsecret.txt",
    "..%2foutside%2fsecret.txt",
    "..%c0%afoutside/secret.txt",
    "..%252foutside%252fsecret.txt",
    "{root}/%2e%2e/outside/secret.txt",
    "{root}/..%00/outside/secret.txt",
    "file:///etc/passwd",
    "file://{root}/../outside/secret.txt",
    "file://localhost{root}/../outside/secret.txt",
    "FILE:{root}/%2e%2e/outside/secret.txt",
    "file://{root}/note.md%00",
    "file://elsewhere{root}/note.md",
    "file:///\ud800",
    "dirindex://file/etc/passwd",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/secret.txt",
    "/proc/self/fd/0",
    "/dev/stdin",
    "/dev/zero",
    "/dev/fd/0",
    "\\\\server\\share\\secret.txt",
    "//server/share/secret.txt",
    "\\\\?\\C:\\Windows\\win.ini",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "{root}/\uff0e\uff0e/outside/secret.txt",
    "{root}/\u2024\u2024/outside/secret.txt",
    "{root}\u2215..\u2215outside\u2215secret.txt",
    "{root}/..\u200b/outside/secret.txt",
    "{root}/NOTE.MD",
    "{root}/note.md ",
    " {root}/note.md",
    "{root}/note.md\n",
    "{root}/note.md::$DATA",
    "{root}/note.*",
    "{root}/*",
    "{root}/[n]ote.md",
    "{root}-evil/secret.txt",
    "{root}_/../outside/secret.txt",
    "{root}/" + "a/" * 1500 + "x",
    "{root}/" + "../" * 500 + "etc/passwd",
    "\ud800",
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    place = tmp_path_factory.mktemp("place")
    root = place / "root"
    (root / "sub").mkdir(parents=True)
    (root / "note.md").write_text("# Note\n\nInside.\n")
    (root / "sub/café.md").write_text("Coffee.\n")
    (root / "sub/100% sure?.md").write_text("A name to be escaped.\n")
    (root / ".env").write_text("PASSWORD=1\n")
    (root / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (root / "binary.bin").write_bytes(bytes(range(256)) * 8)
    for outside in (place / "outside", place / "root-evil"):
        outside.mkdir()
        (outside / "secret.txt").write_text("SECRET\n")
    (root / "link-to-secret").symlink_to(place / OUTSIDE)
    (root / "link-to-outside").symlink_to(place / "outside")
    (root / "sub/link-up").symlink_to(root)
    (root / "link-to-passwd").symlink_to("/etc/passwd")
    (place / "link-to-root").symlink_to(root)
    os.mkfifo(root / "pipe")
    app = App(load_config(file=None, data_dir=place / "data", environ={}))
    app.runs.indexer.index([str(root)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    yield app
    app.close()


@pytest.fixture(scope="module")
def root(app: App) -> Path:
    with app.docstore.snapshot() as snapshot:
        return Path(next(iter(snapshot.directories.all())))


def test_there_are_at_least_sixty_attempts() -> None:
    assert len(set(ATTEMPTS)) >= 60


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_is_not_in_the_index_is_refused_by_path(app: App, root: Path, attempt: str) -> None:
    with app.docstore.snapshot() as snapshot, pytest.raises(DirIndexError) as refusal:
        resolve_indexed_file(snapshot, attempt.format(root=root))
    assert "Next: " in format_error_with_next_call(refusal.value)
    assert "SECRET" not in format_error_with_next_call(refusal.value)


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("is_quoted", [True, False])
def test_what_is_not_in_the_index_is_refused_as_a_resource(
    app: App, root: Path, attempt: str, *, is_quoted: bool
) -> None:
    path = attempt.format(root=root).encode("utf-8", "surrogatepass")
    tail = quote(path, safe="") if is_quoted else path.decode("utf-8", "surrogatepass").lstrip("/")
    with app.docstore.snapshot() as snapshot, pytest.raises(DirIndexError):
        resolve_indexed_file(snapshot, path_in_uri(URI_PREFIX + tail))


@pytest.mark.parametrize("attempt", ["/etc", "/", "{root}-evil", "{root}/../outside", "{root}/link-to-outside", "\0"])
def test_a_search_outside_of_the_index_is_refused(app: App, root: Path, attempt: str) -> None:
    with app.docstore.snapshot() as snapshot:
        try:
            found = resolve_scope_directories(snapshot, attempt.format(root=root))
        except (NotIndexedError, UsageError):
            return
    assert all(str(root).startswith(path.rstrip("/") + "/") or path == "/" for path in found)


@pytest.mark.parametrize(
    "spelling",
    [
        "{root}/note.md",
        "{root}/./note.md",
        "{root}/note.md/",
        "{root}//note.md",
        "{root}/sub/../note.md",
        "{root}/../root/note.md",
        "{root}/sub/link-up/note.md",
        "{root}/../link-to-root/note.md",
        "note.md",
        "./note.md",
        "sub/../note.md",
        "root/note.md",
        "file://{root}/note.md",
        "FILE://localhost{root}/%6Eote.md",
        "file:{root}/sub/../note.md",
    ],
)
def test_every_true_spelling_of_an_indexed_file_finds_it(app: App, root: Path, spelling: str) -> None:
    with app.docstore.snapshot() as snapshot:
        assert resolve_indexed_file(snapshot, spelling.format(root=root)) == str(root / "note.md")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_both_unicode_forms_of_a_name_find_the_file(app: App, root: Path, form: str) -> None:
    name = unicodedata.normalize("NFD" if form == "NFD" else "NFC", "sub/café.md")
    with app.docstore.snapshot() as snapshot:
        assert resolve_indexed_file(snapshot, name) == str(root / "sub/café.md")


@pytest.mark.parametrize("name", ["note.md", "sub/café.md", "sub/100% sure?.md"])
def test_a_uri_leads_back_to_its_file(app: App, root: Path, name: str) -> None:
    path = file_path(root / name)
    with app.docstore.snapshot() as snapshot:
        assert resolve_indexed_file(snapshot, path_in_uri(resource_uri(path))) == path


def test_a_file_that_became_a_link_is_still_served_from_the_index(app: App, root: Path) -> None:
    note = root / "sub/café.md"
    text = note.read_text()
    note.unlink()
    note.symlink_to("/etc/passwd")
    try:
        with app.docstore.snapshot() as snapshot:
            assert read_text(snapshot, file_path(note), None).text == text
    finally:
        note.unlink()
        note.write_text(text)


@pytest.mark.parametrize("name", ["/etc", "/", "..", "/proc/self/root", "{root}-evil", "{root}/..", "\0"])
def test_only_tracked_and_allowed_directories_can_be_indexed(root: Path, name: str) -> None:
    with pytest.raises(UsageError):
        directories_to_index(name.format(root=root), tracked=[file_path(root)], allowed=[])


def test_a_directory_is_meant_by_its_own_name(root: Path) -> None:
    tracked = file_path(root)
    assert directories_to_index("root/sub", tracked=[tracked], allowed=[]) == (tracked,)


def test_a_subdirectory_refreshes_the_directory_that_is_tracked(root: Path) -> None:
    assert directories_to_index(f"{root}/sub", tracked=[file_path(root)], allowed=[]) == (file_path(root),)
    assert directories_to_index("sub", tracked=[file_path(root)], allowed=[]) == (file_path(root),)


@pytest.mark.parametrize("name", ["~root/.ssh", "nowhere", "{root}/nowhere", "sub/nowhere", "x" * 300])
def test_what_is_not_there_is_not_indexed_unless_the_index_knows_it(root: Path, name: str) -> None:
    tracked = file_path(root)
    for roots, allowed in (([tracked], []), ([], [tracked])):
        with pytest.raises(UsageError, match="there is no"):
            directories_to_index(name.format(root=root), tracked=roots, allowed=allowed)
    assert directories_to_index(name.format(root=root), tracked=[tracked], allowed=[], is_known=lambda _: True) == (
        tracked,
    )


@pytest.mark.parametrize("allowed", [False, True])
def test_what_lies_in_the_home_directory_is_refused_like_any_other_path(root: Path, *, allowed: bool) -> None:
    tracked = [file_path(root)]
    with pytest.raises(UsageError, match=r"there is no|may not be indexed"):
        directories_to_index("~/.ssh", tracked=[] if allowed else tracked, allowed=tracked if allowed else [])


def test_what_the_operator_allows_can_be_added(root: Path) -> None:
    new = file_path(root.parent / "outside")
    assert directories_to_index(str(new), tracked=[file_path(root)], allowed=[new]) == (new,)
    assert directories_to_index("", tracked=[file_path(root)], allowed=[new]) == (file_path(root), new)


def test_a_link_inside_an_allowed_directory_does_not_lead_out_of_it(tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    allowed.mkdir()
    (allowed / "link").symlink_to(outside)
    for name in (f"{allowed}/link", f"{allowed}/link/sub", "link"):
        with pytest.raises(UsageError):
            directories_to_index(name, tracked=[], allowed=[file_path(allowed)])


def test_a_directory_around_an_allowed_one_is_not_allowed(tmp_path: Path) -> None:
    allowed = tmp_path / "around/allowed"
    allowed.mkdir(parents=True)
    with pytest.raises(UsageError):
        directories_to_index(str(allowed.parent), tracked=[], allowed=[file_path(allowed)])


def test_all_that_may_be_indexed_is_what_is_tracked_and_what_else_is_allowed(tmp_path: Path) -> None:
    tracked, allowed = file_path(tmp_path / "around/tracked"), file_path(tmp_path / "other")
    assert directories_to_index("", tracked=[], allowed=[allowed]) == (allowed,)
    assert directories_to_index("", tracked=[tracked], allowed=[]) == (tracked,)
    around, inside = file_path(tmp_path / "around"), file_path(tmp_path / "around/tracked/inside")
    assert directories_to_index("", tracked=[tracked], allowed=[around, inside, allowed]) == (tracked, allowed)


def test_who_is_refused_is_told_what_is_allowed(root: Path) -> None:
    with pytest.raises(UsageError, match=f"allowed are: {root}$"):
        directories_to_index("/etc", tracked=[file_path(root)], allowed=[])
    with pytest.raises(UsageError, match=r"allowed are: none$"):
        directories_to_index("/etc", tracked=[], allowed=[])


def test_nothing_can_be_indexed_where_nothing_is_tracked_or_allowed() -> None:
    with pytest.raises(NotIndexedError, match="allows no directory"):
        directories_to_index("", tracked=[], allowed=[])
