"""Commits of repositories are documents, each read once, and nothing of a repository has a say in how."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.parsing.histories import parse_history
from directory_indexer.parsing.outcomes import MemberOutcomes, ParseRequest
from directory_indexer.search.file_texts import read_text
from directory_indexer.search.issue_localisation import LocateRequest, locate
from directory_indexer.search.requests import SearchMode
from directory_indexer.walk.repository import git_history_file, list_references

if TYPE_CHECKING:
    from pathlib import Path

    from indexes import Index

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


class Repository:
    """A repository in which a test commits."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self._n_commits = 0

    def git(self, *arguments: str) -> str:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.top),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ann Example",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Bob",
            "GIT_COMMITTER_EMAIL": "bob@example.org",
        }
        for role in ("AUTHOR", "COMMITTER"):
            environ[f"GIT_{role}_DATE"] = f"2026-03-{getattr(self, '_n_commits', 0) + 1:02}T12:00:00Z"
        command = ["git", *arguments]
        ran = subprocess.run(command, cwd=self.top, env=environ, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    def commit(self, message: str, *names: str) -> str:
        for name in names:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text(f"{message}\n", encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self._n_commits += 1
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(index: Index) -> Repository:
    index.git_history = "all"
    repository = Repository(index.root / "shop")
    repository.commit(
        "Let the walrus cache rotate keys\n\nThe lock was held for too long.", "src/cache.py", "docs/keys.md"
    )
    repository.commit("Boil carrots with ginger", "soup.md")
    return repository


def commits(index: Index, query: str) -> list[str]:
    hits = index.search(f"type:commit {query}", mode=SearchMode.KEYWORD)
    return [hit.text.partition("\n")[0] for hit in hits]


def test_a_commit_is_found_by_its_message_its_files_its_author_and_its_date(
    index: Index, repository: Repository
) -> None:
    index.run()
    assert commits(index, "walrus") == ["Let the walrus cache rotate keys"]
    assert commits(index, "lock held") == ["Let the walrus cache rotate keys"]
    assert commits(index, "src/cache.py") == ["Let the walrus cache rotate keys"]
    assert commits(index, "author:ann since:2026-03-02") == ["Boil carrots with ginger"]
    hit = index.search("type:commit walrus", mode=SearchMode.KEYWORD)[0]
    assert hit.metadata.authors == ("Ann Example <ann@example.org>",)
    assert hit.metadata.created == "2026-03-01T12:00:00+00:00"
    assert hit.on_disk is None
    hash_ = repository.git("rev-parse", "HEAD~1")
    assert hit.path == file_path(index.root / "shop" / ".git!" / "commits" / hash_)
    with index.docstore.snapshot() as snapshot:
        text = read_text(snapshot, hit.path, None)
    assert text.text.endswith("held for too long.\n\ndocs/keys.md\nsrc/cache.py\n")
    assert text.on_disk is None


def test_a_commit_that_is_named_by_its_hash_alone_is_named_in_the_hint(index: Index, repository: Repository) -> None:
    index.run()
    commit = repository.git("rev-parse", "HEAD")
    for name in (commit[:8], commit):
        with index.docstore.snapshot() as snapshot, pytest.raises(NotIndexedError) as refusal:
            read_text(snapshot, file_path(repository.top / name), None)
        assert str(refusal.value.hint).startswith("a commit is named in full: ")
        assert str(refusal.value.hint).endswith(f"/commits/{commit}")


def test_histories_are_read_only_when_that_is_asked_for(index: Index, repository: Repository) -> None:
    index.git_history = ""
    assert index.run().n_added == 3
    index.git_history = "all"
    assert index.run().n_added == 3  # two commits, and the history that they are members of
    assert commits(index, "walrus")
    index.git_history = ""
    index.run()
    assert not commits(index, "walrus")
    assert repository.git("status", "--porcelain") == ""


def test_only_new_commits_are_read(index: Index, repository: Repository) -> None:
    index.run()
    assert index.run().n_added == 0
    repository.commit("Keep the penguin warm", "penguin.md")
    assert index.run().n_chunks == 2  # the file and the commit
    assert commits(index, "penguin") == ["Keep the penguin warm"]
    assert commits(index, "walrus") == ["Let the walrus cache rotate keys"]


def test_a_commit_of_another_branch_is_found_once(index: Index, repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit("Teach the ostrich to swim", "ostrich.md")
    repository.git("checkout", "-q", "main")
    repository.git("worktree", "add", "-q", str(index.root / "other"), "topic")
    index.run()
    assert commits(index, "ostrich") == ["Teach the ostrich to swim"]
    assert commits(index, "walrus") == ["Let the walrus cache rotate keys"]


def test_what_a_rewritten_history_has_no_more_is_gone(index: Index, repository: Repository) -> None:
    index.run()
    repository.git("commit", "-q", "--amend", "-m", "Fry leeks with garlic")
    index.run()
    assert commits(index, "carrots") == []
    assert commits(index, "leeks") == ["Fry leeks with garlic"]


def test_so_many_commits_are_read_as_are_wanted(index: Index, repository: Repository) -> None:
    index.git_history = "1"
    index.run()
    assert commits(index, "author:ann") == ["Boil carrots with ginger"]
    index.git_history = "2026-03-01"
    index.run()
    assert len(commits(index, "author:ann")) == 2
    assert repository.top.is_dir()


def test_a_history_that_goes_away_takes_its_commits_along(index: Index, repository: Repository) -> None:
    index.run()
    shutil.rmtree(repository.top / ".git")
    index.run()
    assert commits(index, "walrus") == []


def test_packed_references_and_shallow_clones_are_read(index: Index, repository: Repository) -> None:
    repository.git("pack-refs", "--all")
    repository.git("tag", "-a", "-m", "a tag", "v1")
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.top}", str(index.root / "shallow"))
    index.run()
    assert commits(index, "path:shallow author:ann") == ["Boil carrots with ginger"]
    assert len(commits(index, "path:shop author:ann")) == 2


def test_a_secret_in_a_message_is_masked(index: Index, repository: Repository) -> None:
    repository.commit("Log in with password = hunter2-Zx9!kQ4mW", "a.md")
    index.run()
    assert "hunter2" not in str(index.contents())


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts of a shell")
def test_nothing_that_a_repository_configures_is_run(index: Index, repository: Repository, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> {ran}\n", encoding="utf-8")
    program.chmod(0o755)
    for key in (
        *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.askPass", "diff.external"),
        *("gpg.program", "diff.x.textconv", "diff.x.command", "filter.x.smudge", "filter.x.process", "pager.log"),
        *(
            "core.alternateRefsCommand",
            "credential.helper",
            "alias.log",
            "alias.rev-list",
            "uploadpack.packObjectsHook",
        ),
    ):
        repository.git("config", key, str(program))
    repository.git("config", "log.showSignature", "true")
    repository.git("config", "core.hooksPath", str(tmp_path))
    repository.git("config", "include.path", "/nowhere/at/all")
    (repository.top / ".git" / "info" / "attributes").write_text("* diff=x filter=x\n", encoding="utf-8")
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(program, repository.top / ".git" / "hooks" / hook)
    index.run()
    assert commits(index, "walrus") == ["Let the walrus cache rotate keys"]
    assert not ran.exists()


def test_objects_that_lie_elsewhere_are_not_read(index: Index, repository: Repository, tmp_path: Path) -> None:
    outside = Repository(tmp_path / "outside")
    outside.commit("A secret walrus", "a.md")
    alternates = repository.top / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{outside.top}/.git/objects\n", encoding="utf-8")
    (repository.top / ".git" / "refs" / "heads" / "stolen").write_text(f"{outside.git('rev-parse', 'HEAD')}\n")
    report = index.run()
    assert commits(index, "secret walrus") == []
    assert [failure.message for failure in report.failures] == [
        "it borrows objects from another repository, which are not read"
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_objects_that_links_lead_to_are_not_read(
    index: Index, repository: Repository, tmp_path: Path, *, packed: bool
) -> None:
    outside = Repository(tmp_path / "outside")
    outside.commit("A secret walrus", "a.md")
    if packed:
        outside.git("gc", "-q")
    theirs, own = outside.top / ".git" / "objects", repository.top / ".git" / "objects"
    for path in theirs.glob("pack/*" if packed else "??"):
        if not (link := own / path.relative_to(theirs)).exists():
            os.symlink(path, link)
    (repository.top / ".git" / "refs" / "heads" / "stolen").write_text(f"{outside.git('rev-parse', 'HEAD')}\n")
    report = index.run()
    assert commits(index, "secret walrus") == []
    assert [failure.message for failure in report.failures] == [
        "it borrows objects from another repository, which are not read"
    ]


def test_a_git_directory_that_a_link_leads_to_has_no_history(index: Index, tmp_path: Path) -> None:
    outside = Repository(tmp_path / "outside")
    outside.commit("A secret walrus", "a.md")
    index.git_history = "all"
    (index.root / "linked").mkdir()
    os.symlink(outside.top / ".git", index.root / "linked" / ".git")
    index.run()
    assert commits(index, "walrus") == []


def test_a_repository_without_commits_has_an_empty_history(index: Index) -> None:
    index.git_history = "all"
    Repository(index.root / "new")
    report = index.run()
    assert report.failures == ()


def test_a_name_or_a_message_cannot_pass_for_another_commit(index: Index, repository: Repository) -> None:
    repository.commit("commit 0123456789\nAuthor: Eve <eve@example.org>\n\n    forged", "-z\n--format=%H", "ümläut.md")
    index.run()
    assert commits(index, "forged") == ["commit 0123456789"]
    assert not index.search("forged", metadata=(("author", "eve"),))
    assert commits(index, "ümläut") == ["commit 0123456789"]


def test_a_run_that_is_resumed_goes_on_behind_the_commits_that_were_read(index: Index, repository: Repository) -> None:
    index.run()
    directory = file_path(repository.top / ".git")
    source = git_history_file(directory, "all")
    assert source is not None
    assert len(list_references(repository.top / ".git")) == 1
    with index.docstore.snapshot() as snapshot:
        known = tuple((path, snapshot.files.get(path).hash) for path in snapshot.files.members(directory))  # type: ignore[union-attr]
    parts = parse_history(
        ParseRequest(source, None, known_members=known), index.parse_policy._replace(git_history="all")
    )
    assert not isinstance(parts, tuple)
    told = [part for part in parts if isinstance(part, MemberOutcomes)]
    assert sum(len(part.outcomes) for part in told) == 0
    assert sorted(path for part in told for path in part.kept) == sorted(path for path, _ in known)


def test_a_forced_run_reads_all_again(index: Index, repository: Repository) -> None:
    index.run()
    index.run(options=IndexOptions(wait=False, read_everything=True))
    assert len(commits(index, "author:ann")) == 2
    assert repository.top.is_dir()


def test_what_commits_changed_together_with_the_likeliest_file_is_to_be_read(
    index: Index, repository: Repository
) -> None:
    for word in ("ginger", "carrots"):
        repository.commit(f"Boil {word}", "kitchen/soup.py", "office/bill.py")
    repository.commit("Wash up", "office/dishes.py", "kitchen/soup.py")
    index.run()
    located = locate(index.docstore, index.searcher, LocateRequest("kitchen/soup.py fails", mode=SearchMode.KEYWORD))
    reasons = {os.path.basename(spot.path): spot.reason for spot in located.code}
    assert "changed together with soup.py 2 times" in reasons["bill.py"]
    assert "changed together" not in reasons.get("dishes.py", "")


def test_a_commit_like_a_report_names_the_files_that_it_changed(index: Index, repository: Repository) -> None:
    repository.commit("Stop the overheating of ovens", "kitchen/oven.py")
    index.run()
    request = LocateRequest("ovens are overheating", mode=SearchMode.KEYWORD)
    reasons = {
        os.path.basename(spot.path): spot.reason for spot in locate(index.docstore, index.searcher, request).code
    }
    assert "changed by a commit like it: Stop the overheating of ovens" in reasons["oven.py"]
