"""Members of containers are documents of their own, and stay as consistent with what lies there as files do."""

from __future__ import annotations

import os
import random
from email.message import EmailMessage
from typing import TYPE_CHECKING

import hostile_formats
import pymupdf
import pytest
from archives import tarred, zipped
from office_files import docx, paragraph, pptx
from ole_files import ole

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.file_texts import read_text
from directory_indexer.search.requests import DiskChange, SearchMode
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.statistics import FileCounts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indexes import Index

    Fresh = Callable[[Index], dict[str, object]]

KEYS = "Rotate the signing keys every ninety days.\n"
SOUP = "Boil the carrots with ginger.\n"
INNER = zipped({"soup.md": SOUP, "deeper.tar": tarred({"keys.md": KEYS})})


def words(index: Index, query: str, **options: object) -> list[str]:
    return index.names(query, mode=SearchMode.KEYWORD, **options)


def member(index: Index, path: str) -> FilePath:
    return file_path(f"{index.root}/{path}")


def text_of(index: Index, path: str) -> str:
    with index.docstore.snapshot() as snapshot:
        return read_text(snapshot, member(index, path), None).text


def test_members_at_any_depth_are_found_and_read(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"inner.zip": INNER, "docs/plan.md": "The zeppelin is late.\n"}))

    report = index.run()

    assert (report.n_added, report.n_failed) == (6, 0)
    assert words(index, "zeppelin") == ["a.zip!/docs/plan.md"]
    assert words(index, "signing keys") == ["a.zip!/inner.zip!/deeper.tar!/keys.md"]
    assert index.names("boil carrots", mode=SearchMode.SEMANTIC)[0] == "a.zip!/inner.zip!/soup.md"
    assert text_of(index, "a.zip!/inner.zip!/soup.md") == SOUP


def test_every_report_counts_the_same_files_whether_a_run_saw_them_or_not(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"plan.md": "The zeppelin is late.\n", "blank.txt": ""}))
    index.write("nothing.txt", "")
    first, second = index.run(), index.run()
    assert first.files == second.files == FileCounts(n_indexed=2, n_skipped=2)
    assert first.skip_reasons == second.skip_reasons == ((SkipReason.EMPTY, 2),)
    [directory] = index.app.status.report().directories
    assert (directory.n_files, directory.n_skipped, directory.n_failed) == second.files
    assert directory.skipped == second.skip_reasons


def test_a_second_run_reads_nothing(index: Index) -> None:
    path = index.write_bytes("a.zip", INNER)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    index.run()

    report = index.run()

    assert (report.n_unchanged, report.n_bytes, report.n_seen) == (1, 0, 1)


def test_of_a_changed_archive_only_the_members_that_changed_are_written(index: Index, fresh: Fresh) -> None:
    many = {f"{number}.md": f"Page {number} of the book.\n" for number in range(200)}
    index.write_bytes("a.zip", zipped({**many, "inner.zip": INNER, "gone.md": "This page is gone.\n"}))
    index.run()

    index.write_bytes("a.zip", zipped({**many, "inner.zip": INNER, "7.md": "Another page.\n", "new.md": "A page.\n"}))
    report = index.run()

    assert (report.n_added, report.n_changed, report.n_removed) == (1, 2, 1)
    assert index.embedder.embedded == ["Another page.\n", "new\nA page.\n"]
    assert words(index, "gone") == []
    assert index.contents() == fresh(index)


def test_what_becomes_of_an_archive_becomes_of_its_members(index: Index, fresh: Fresh) -> None:
    path = index.write_bytes("a.zip", INNER)
    index.write("notes.md", "Plain notes.\n")
    index.run()
    embedded = len(index.embedder.embedded)

    path.rename(index.root / "b.zip")
    report = index.run()

    assert embedded == 3
    assert report.n_moved == 1
    assert words(index, "carrots") == ["b.zip!/soup.md"]
    assert index.embedder.embedded == []
    (index.root / "b.zip").unlink()
    assert index.run().n_removed == 4
    assert index.contents() == fresh(index)


def test_an_archive_that_is_none_any_more_loses_its_members(index: Index, fresh: Fresh) -> None:
    index.write_bytes("a.zip", INNER)
    index.run()

    index.write("a.zip", "This is a note now.\n")
    index.run()

    assert words(index, "carrots") == []
    assert words(index, "note") == ["a.zip"]
    assert index.contents() == fresh(index)


def test_an_archive_that_is_ignored_takes_its_members_along(index: Index) -> None:
    index.write_bytes("a.zip", INNER)
    index.write("notes.md", "Plain notes.\n")
    index.run()

    index.ignore_patterns = ("a.zip",)
    index.run()

    assert words(index, "carrots") == []


def test_rules_for_names_hold_in_archives(index: Index) -> None:
    index.ignore_patterns = ("node_modules/", "*.tmp")
    names = ["node_modules/x/index.md", "a.tmp", ".git/config", ".hidden.md", "id_rsa", "kept.md"]
    index.write_bytes("a.zip", zipped(dict.fromkeys(names, "The walrus sleeps.\n")))

    report = index.run()

    assert words(index, "walrus") == ["a.zip!/kept.md"]
    assert report.n_ignored == 4
    assert dict(report.skipped) == {SkipReason.SECRET: 1}


def test_secrets_in_members_are_masked(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"a.md": "The walrus says password = 'kX9#mQ2$vL7pR4wZ'\n"}))

    report = index.run()

    assert report.n_masked == 1
    assert "kX9#mQ2$vL7pR4wZ" not in text_of(index, "a.zip!/a.md")


def test_secrets_in_names_of_members_are_masked(index: Index) -> None:
    token = "ghp_" + "a8Kd93LmQx72ZbVt05RsWcYp64NfHj1eGuTi"
    index.write_bytes("a.zip", zipped({f"{token}.md": "The walrus sleeps.\n"}))
    mail = f"From a@b Mon Jan  1 00:00:00 2024\nSubject: Token {token}\n\nThe walrus wakes.\n"
    index.write_bytes("b.mbox", mail.encode())

    index.run()

    assert words(index, "sleeps") == [f"a.zip!/{'*' * len(token)}.md"]
    assert words(index, "wakes") == [f"b.mbox!/0001 Token {'*' * len(token)}.eml"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../evil.md", "evil.md"),
        ("/etc/evil.md", "etc/evil.md"),
        ("C:\\Users\\evil.md", "Users/evil.md"),
        ("a/../../b/evil.md", "a/b/evil.md"),
        ("evil\n\x1b[2J.md", "evil\ufffd\ufffd[2J.md"),
        ("x!/evil.md", "x!/evil.md"),
    ],
)
def test_no_name_of_a_member_leads_out_of_its_archive(index: Index, name: str, expected: str) -> None:
    index.write_bytes("a.zip", zipped({name: "The walrus sleeps.\n"}))

    index.run()

    assert words(index, "walrus") == [f"a.zip!/{expected}"]


def test_members_of_one_name_are_told_apart(index: Index) -> None:
    archive = tarred({"a.md": "The walrus sleeps.\n"})[:-1024].rstrip(b"\0").ljust(1024, b"\0")
    index.write_bytes("a.tar", archive + tarred({"a.md": "The walrus wakes.\n"}))

    index.run()

    assert sorted(words(index, "walrus")) == ["a.tar!/a (2).md", "a.tar!/a.md"]


def test_a_directory_on_disk_with_the_name_of_members_wins(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"b.md": "The walrus in the archive.\n"}))
    index.write("a.zip!/b.md", "The walrus on disk.\n")

    index.run()

    assert text_of(index, "a.zip!/b.md") == "The walrus on disk.\n"
    assert sorted(words(index, "walrus")) == ["a.zip!!/b.md", "a.zip!/b.md"]


def test_a_search_can_be_restricted_to_an_archive(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"inner.zip": INNER, "c.md": "Carrots again.\n"}))
    index.write("carrots.md", "Carrots on disk.\n")
    index.run()

    inside = words(index, "carrots", scope=(member(index, "a.zip"),))
    deep = words(index, "carrots", scope=(member(index, "a.zip!/inner.zip"),))

    assert sorted(inside) == ["a.zip!/c.md", "a.zip!/inner.zip!/soup.md"]
    assert deep == ["a.zip!/inner.zip!/soup.md"]


def test_a_mailbox_grows_message_by_message(index: Index, fresh: Fresh) -> None:
    first = mail(
        "The plumber's invoice", "It came in March.\n", attachment=("invoice.zip", zipped({"i.txt": "42 euros\n"}))
    )
    path = index.write_bytes("Inbox", b"From a@b.org Fri Mar  1 12:00:00 2024\n" + first)
    index.write("notes.md", "Plain notes.\n")
    index.run()
    assert words(index, "42 euros") == ["Inbox!/0001 The plumber's invoice.eml!/invoice.zip!/i.txt"]
    assert words(index, "plumber from:ada type:email") == ["Inbox!/0001 The plumber's invoice.eml"]
    assert words(index, "plumber -from:ada type:email") == []

    with path.open("ab") as file:
        file.write(b"\nFrom a@b.org Sat Mar  2 12:00:00 2024\n" + mail("Budget", "The slides are attached.\n"))
    report = index.run()

    assert (report.n_added, report.n_changed) == (1, 1)
    assert words(index, "slides subject:budget since:2024-03") == ["Inbox!/0002 Budget.eml"]
    assert index.contents() == fresh(index)
    path.unlink()
    assert index.run().n_removed == 5


def mail(subject: str, body: str, *, attachment: tuple[str, bytes] | None = None) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada <ada@example.org>", "bob@example.org", subject
    message["Date"] = "Fri, 1 Mar 2024 12:00:00 +0100"
    message.set_content(body)
    if attachment:
        name, content = attachment
        message.add_attachment(content, "application", "zip", filename=name)
    return message.as_bytes()


@pytest.mark.slow
def test_a_directory_that_is_named_like_an_archive_displaces_its_members_for_as_long_as_it_is_there(
    index: Index, fresh: Fresh
) -> None:
    index.write_bytes("a.zip", zipped({"a.md": "The walrus sleeps.\n", "b.md": "The walrus eats.\n"}))
    index.run()
    index.write("a.zip!/a.md", "The walrus is on disk.\n")
    index.run()
    index.run()
    assert words(index, "walrus sleeps")[0] == "a.zip!!/a.md"
    assert index.contents() == fresh(index)

    (index.root / "a.zip!/a.md").unlink()
    (index.root / "a.zip!").rmdir()
    index.run()
    index.run()
    assert words(index, "walrus sleeps")[0] == "a.zip!/a.md"
    assert index.contents() == fresh(index)


def test_members_without_a_name_leave_the_others(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"a.md": "The walrus sleeps.\n", "": "No name.\n", "b.md": "The walrus eats.\n"}))
    assert index.run().failures == ()
    assert words(index, "walrus") == ["a.zip!/a.md", "a.zip!/b.md"]


def test_an_archive_says_which_files_it_holds(index: Index) -> None:
    index.write_bytes("a.zip", INNER)
    index.run()

    with index.docstore.snapshot() as snapshot, pytest.raises(NotIndexedError) as raised:
        read_text(snapshot, member(index, "a.zip"), None)

    assert "2 files" in (raised.value.hint or "")


def test_an_archive_says_why_nothing_in_it_was_indexed(index: Index) -> None:
    index.write_bytes("a.zip", zipped({"blank.txt": ""}))
    index.run()

    with index.docstore.snapshot() as snapshot, pytest.raises(NotIndexedError) as raised:
        read_text(snapshot, member(index, "a.zip"), None)

    assert "a.zip!/blank.txt: it was skipped: empty" in (raised.value.hint or "")


def test_a_member_has_changed_when_its_archive_has(index: Index) -> None:
    path = index.write_bytes("a.zip", INNER)
    index.run()
    with index.docstore.snapshot() as snapshot:
        assert read_text(snapshot, member(index, "a.zip!/soup.md"), None).on_disk is None
    path.write_bytes(zipped({"soup.md": "Other soup.\n"}))
    with index.docstore.snapshot() as snapshot:
        assert read_text(snapshot, member(index, "a.zip!/soup.md"), None).on_disk is DiskChange.CHANGED


@pytest.mark.slow
def test_an_archive_larger_than_any_file_is_streamed(index: Index, fresh: Fresh) -> None:
    noise = random.Random(1)  # noqa: S311 - no secret
    index.max_file_size = 50_000
    members = {f"{number}.md": f"Page {number} is {noise.randbytes(9_000).hex()}\n" for number in range(12)}
    path = index.write_bytes("a.zip", zipped({**members, "large.md": "word " * 20_000, "last.md": "The okapi.\n"}))
    assert path.stat().st_size > index.max_file_size

    report = index.run()

    assert words(index, "okapi") == ["a.zip!/last.md"]
    assert dict(report.skipped) == {SkipReason.TOO_LARGE: 1}
    assert index.contents() == fresh(index)
    path.write_bytes(zipped({**members, "last.md": "The quokka.\n"}))
    assert index.run().n_changed == 2
    assert index.contents() == fresh(index)


def test_a_video_larger_than_any_file_is_known_by_its_ends(index: Index, fresh: Fresh) -> None:
    index.max_file_size = 50_000
    track = element(0xAE, element(0xD7, b"\2") + element(0x83, b"\x11") + element(0x86, b"S_TEXT/UTF8"))
    pixels, cue = element(0xA3, b"\x81\0\0\0" + bytes(5_000_000)), element(0xA3, b"\x82\0\0\0The okapi.")
    video = element(0x1654AE6B, track) + element(0x1F43B675, pixels + cue)
    path = index.write_bytes("a.mkv", element(0x1A45DFA3, b"") + element(0x18538067, video))

    index.run()

    assert words(index, "okapi") == ["a.mkv"]
    assert index.contents() == fresh(index)
    assert index.run().n_unchanged == 1
    path.write_bytes(path.read_bytes().replace(b"okapi", b"quoll"))
    assert index.run().n_changed == 1
    assert words(index, "quoll") == ["a.mkv"]


def element(name: int, content: bytes) -> bytes:
    return name.to_bytes((name.bit_length() + 7) // 8, "big") + (len(content) | 1 << 56).to_bytes(8, "big") + content


def test_the_doctor_lists_what_would_read_skipped_archives(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path))
    index.write_bytes("a.rar", b"Rar!\x1a\7\1\0")
    index.run()
    [finding] = [finding for finding in index.app.doctor.check() if finding.check == "readers"]
    assert finding.message == "1 file is skipped: RAR archive"
    assert finding.hint == "install bsdtar (libarchive-tools)"


def test_archives_are_read_again_when_their_program_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path))
    policies = App(load_config(file=None, data_dir=tmp_path / "data", environ={})).policies
    without = policies.fingerprint
    program = tmp_path / ("bsdtar.exe" if os.name == "nt" else "bsdtar")
    program.write_text("")
    program.chmod(0o700)
    vars(policies).pop("fingerprint", None)
    assert policies.fingerprint.changed_kinds(without) == {"rar", "cab"}


def test_a_run_that_is_stopped_within_an_archive_goes_on_with_the_rest(index: Index, fresh: Fresh) -> None:
    index.write_bytes("a.zip", zipped({f"{number}.md": f"Page {number}.\n" for number in range(300)}))
    steps = iter([None] * 4)

    index.run(stop_reason=lambda: next(steps, Outcome.INTERRUPTED))
    report = index.run()

    assert report.n_added + report.n_changed + report.n_unchanged == 301
    assert index.contents() == fresh(index)


@pytest.mark.parametrize("behaviour", ["crash", "spin"])
def test_a_member_that_breaks_a_worker_is_one_failure(index: Index, behaviour: str) -> None:
    members = {f"{number}.txt": f"page {number}" for number in range(100)}
    index.extract = hostile_formats.extract
    index.limits = hostile_formats.SHORT_LIMITS
    index.write_bytes("a.zip", zipped({**members, "50.txt": behaviour, "z.txt": "the okapi"}))

    report = index.run()

    [failure] = report.failures
    assert failure.path == member(index, "a.zip!/50.txt")
    assert report.n_added == 101
    assert words(index, "okapi") == ["a.zip!/z.txt"]
    assert index.run().n_unchanged == 1


def test_an_encrypted_or_damaged_member_is_one_outcome(index: Index) -> None:
    archive = bytearray(
        zipped({"a.md": "The walrus.\n", "b.md": "The okapi is damaged.\n" * 50, "c.md": "The tapir.\n"})
    )
    at = archive.index(b"b.md") + 20
    archive[at : at + 8] = b"\xff" * 8
    index.write_bytes("a.zip", bytes(archive))

    report = index.run()

    assert [failure.path for failure in report.failures] == [member(index, "a.zip!/b.md")]
    assert report.n_added == 3


@pytest.mark.slow
def test_a_bomb_costs_itself_only(index: Index) -> None:
    index.max_file_size = 2_000_000
    bomb = zipped({f"{number}.txt": b"a" * 1_900_000 for number in range(300)})
    index.write_bytes("bomb.zip", bomb)
    index.write("fine.md", "The okapi is fine.\n")

    report = index.run()

    [failure] = report.failures
    assert failure.message == "it unpacks to more than the size limit; the members before that are indexed"
    assert dict(report.skipped)[SkipReason.TOO_LARGE] < 300
    assert words(index, "okapi") == ["fine.md"]


def test_containers_are_opened_to_a_depth(index: Index) -> None:
    archive = zipped({"soup.md": SOUP})
    for _ in range(6):
        archive = zipped({"a.zip": archive})
    index.write_bytes("a.zip", archive)

    report = index.run()

    [failure] = report.failures
    assert failure.message == "lies in more containers than are opened (4)"


def test_another_version_of_a_format_reads_files_of_that_kind_again(index: Index) -> None:
    before = Fingerprint(embedding="fake/bag-of-words", chunking="64/8", extraction="1", analysis="1")
    index.fingerprint = before._replace(formats={"markdown": 1, "text": 1, "zip": 1})
    index.write("a.md", "Markdown here.\n")
    index.write("b.txt", "Text here.\n")
    index.write_bytes("c.zip", zipped({"d.md": "Markdown there.\n", "e.txt": "Text there.\n"}))
    index.write_bytes("f.bin", b"\0\1\2" * 99)
    index.run()
    assert index.run().n_unchanged == 3

    index.fingerprint = before._replace(formats={"markdown": 2, "text": 1, "zip": 1})
    report = index.run()

    assert (report.n_changed, report.n_unchanged) == (3, 2)  # a.md, c.zip and d.md; b.txt and e.txt
    assert dict(report.skipped) == {SkipReason.BINARY: 1}
    assert index.run().n_bytes == 0


def test_read_everything_reads_members_too(index: Index) -> None:
    index.write_bytes("a.zip", INNER)
    index.run()

    report = index.run(options=IndexOptions(wait=False, read_everything=True))

    assert report.n_changed == 4


def test_files_embedded_in_office_documents_are_members(index: Index) -> None:
    native = b"\0\0\0\0\2\0C:\\notes\\soup.md\0C:\\x\0\0\0\3\0\4\0\0\0tmp\0"
    native += len(SOUP).to_bytes(4, "little") + SOUP.encode()
    parts = {
        "word/embeddings/Sheet.docx": docx(paragraph("Chimneys are swept in May")),
        "word/embeddings/oleObject1.bin": ole({"\x01Ole10Native": native}),
    }
    index.write_bytes("report.docx", docx(paragraph("Roof and walls"), parts))
    index.write_bytes("slides.pptx", pptx({"slide1": ""}, {"ppt/embeddings/notes.md": "Gutters leak\n"}))

    index.run()

    assert words(index, "walls") == ["report.docx"]
    assert words(index, "chimneys") == ["report.docx!/Sheet.docx"]
    assert words(index, "carrots") == ["report.docx!/soup.md"]
    assert words(index, "gutters") == ["slides.pptx!/notes.md"]


def test_files_attached_to_a_pdf_are_members(index: Index) -> None:
    def pdf(text: str, **attached: bytes) -> bytes:
        with pymupdf.open() as document:
            document.new_page().insert_text((72, 72), text)
            for name, content in attached.items():
                document.embfile_add(name, content, filename=name)
            return bytes(document.tobytes())

    terms = pdf("Payable in March", **{"soup.md": SOUP.encode()})
    index.write_bytes("offer.pdf", pdf("Offer for a roof", **{"terms.pdf": terms}))

    index.run()

    assert words(index, "roof") == ["offer.pdf"]
    assert words(index, "payable") == ["offer.pdf!/terms.pdf"]
    assert words(index, "carrots") == ["offer.pdf!/terms.pdf!/soup.md"]


def test_a_damaged_document_is_found_and_reported_until_it_changes(index: Index) -> None:
    content = docx("".join(paragraph(f"lantern {number} of {number * 7919 % 1000}") for number in range(500)))
    index.write_bytes("report.docx", content[:-10])
    (failure,) = index.run().failures
    assert "damaged ZIP package" in failure.message
    assert index.names("lantern") == ["report.docx"]
    assert index.run().has_changed_nothing
    index.write_bytes("report.docx", content)
    assert not index.run().failures
