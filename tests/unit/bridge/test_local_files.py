from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

import pytest
from teams import SECRET

from directory_indexer.config import load_config
from directory_indexer.core.errors import ContentRefusedError, UsageError
from directory_indexer.core.paths import resolved_path
from directory_indexer.policies import Policies
from directory_indexer.server.bridge.mcp_server import LocalDocument, LocalFiles

if TYPE_CHECKING:
    from pathlib import Path


class Place:
    """A directory that is allowed, and much beside it that is not."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.allowed = root / "allowed"
        self.allowed.mkdir()
        (root / "outside.md").write_text("Nobody may read this.\n")
        (self.allowed / "note.md").write_text(
            f"Herons wait.\n\n{'They stand in the shallows. ' * 20}\n\ntoken: {SECRET}\n"
        )
        self.token_file = self.allowed / "server.txt"
        self.token_file.write_text("a-token-of-a-test\n")
        environ = {"DIRINDEX_INDEXING__INCLUDE_SECRETS": "true"}
        loaded = load_config(file=None, data_dir=self.allowed / "data", environ=environ)
        self.files = LocalFiles(Policies(loaded), private=(resolved_path(self.token_file),))

    def convert(self, written: str | Path) -> LocalDocument:
        return self.files.convert(str(written), (resolved_path(self.allowed),))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_is_converted_without_its_secrets_whatever_the_index_here_may_hold(
    place: Place,
) -> None:
    for written in (place.allowed / "note.md", "note.md"):
        document = place.convert(written)
        assert "Herons wait." in document.markdown
        assert SECRET not in document.markdown
        assert str(place.allowed) not in document.client_id


def test_a_file_may_be_named_by_its_uri(place: Place) -> None:
    (place.allowed / "grey heron.md").write_text("Herons wait.\n")
    assert "Herons wait." in place.convert((place.allowed / "grey heron.md").as_uri()).markdown


def test_an_address_is_fetched_only_where_the_configuration_allows_it(place: Place) -> None:
    with pytest.raises(UsageError, match="fetching from the web is disabled"):
        place.files.convert_url("https://example.org/")


def test_the_same_file_has_the_same_id_and_another_one_another(place: Place) -> None:
    (place.allowed / "other").mkdir()
    (place.allowed / "other/note.md").write_text("Herons wait.\n")
    first, again, other = (place.convert(name).client_id for name in ("note.md", "./note.md", "other/note.md"))
    assert first == again != other


@pytest.mark.parametrize(
    "written",
    [
        "../outside.md",
        "/etc/passwd",
        "file:///etc/passwd",
        "file:///etc/../etc/%70asswd",
        "note.md/../../outside.md",
        "~root/.bashrc",
        "note.zip!/../../outside.md",
    ],
)
def test_what_lies_outside_is_refused(place: Place, written: str) -> None:
    with pytest.raises(UsageError, match=r"does not lie in an allowed directory|does not exist"):
        place.convert(written)


def test_a_link_does_not_lead_outside(place: Place) -> None:
    (place.allowed / "link.md").symlink_to(place.root / "outside.md")
    (place.allowed / "directory").symlink_to(place.root)
    for name in ("link.md", "directory/outside.md"):
        with pytest.raises(UsageError, match="does not lie in an allowed directory"):
            place.convert(name)


@pytest.mark.parametrize(
    "name",
    [".ssh/known_hosts", ".aws/credentials", ".env", "id_rsa", "deep/.gnupg/pubring.db", "id_rsa/note.md.bak/.env"],
)
def test_a_secret_by_its_name_or_place_is_refused(place: Place, name: str) -> None:
    file = place.allowed / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("Herons wait.\n")
    with pytest.raises(ContentRefusedError, match="is a secret by its name"):
        place.convert(name)


def test_a_member_that_is_a_secret_is_refused_and_another_is_read(place: Place) -> None:
    with zipfile.ZipFile(place.allowed / "a.zip", "w") as archive:
        archive.writestr("home/.aws/credentials", "aws_access_key_id = x\n")
        archive.writestr("heron.md", "Herons wait.\n")
    assert "Herons wait." in place.convert("a.zip!/heron.md").markdown
    with pytest.raises(ContentRefusedError, match="is a secret by its name"):
        place.convert("a.zip!/home/.aws/credentials")


def test_a_file_that_is_a_secret_by_its_content_is_refused(place: Place) -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n" * 20
    (place.allowed / "note2.txt").write_text(f"{key}-----END OPENSSH PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="cannot be converted: "):
        place.convert("note2.txt")


def test_a_name_that_holds_a_secret_is_not_sent(place: Place) -> None:
    (place.allowed / f"{SECRET}.md").write_text("Herons wait.\n")
    with pytest.raises(ContentRefusedError, match="the name of the file holds a secret") as error:
        place.convert(f"{SECRET}.md")
    assert SECRET not in str(error.value)


def test_the_token_and_the_index_are_refused_under_any_name(place: Place) -> None:
    (place.allowed / "data").mkdir()
    (place.allowed / "data/data.db").write_bytes(b"SQLite format 3\0")
    os.link(place.token_file, place.allowed / "harmless.md")
    for name in ("server.txt", "harmless.md", "data/data.db"):
        with pytest.raises(UsageError, match="belongs to dirindex itself"):
            place.convert(name)


def test_without_an_allowed_directory_nothing_is_read(place: Place) -> None:
    with pytest.raises(UsageError, match="no directory is allowed"):
        place.files.convert(str(place.allowed / "note.md"), ())


def test_what_is_no_path_is_refused(place: Place) -> None:
    for written in ("note.md\0.txt", "", "x" * 5000):
        with pytest.raises(UsageError):
            place.convert(written)
