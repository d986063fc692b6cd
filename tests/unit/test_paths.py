"""Paths survive every store, whatever bytes they are made of."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.chunking.chunks import Chunk, embedding_text
from directory_indexer.core.files import SourceFile, source_file_of_status
from directory_indexer.core.ids import ChunkId, chunk_id_of, content_hash, new_chunk_id, uuid_text
from directory_indexer.core.paths import FilePath, file_path, os_path, well_formed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes any byte in a name")
@given(st.binary(max_size=30))
def test_a_path_of_any_bytes_becomes_text_and_comes_back(name: bytes) -> None:
    path = "/" + os.fsdecode(name)
    stored = file_path(path)
    stored.encode()
    assert os.fsencode(os_path(stored)) == b"/" + name
    assert file_path(os_path(stored)) == stored


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes any byte in a name")
def test_a_name_that_holds_a_stand_in_for_a_byte_is_told_apart_from_one_that_holds_the_byte() -> None:
    names = ["/\U0010dcff", "/\udcff", "/\U0010dcf4\U0010dc8d", "/\udcf4\udc8d"]
    assert len({file_path(name) for name in names}) == len(names)
    assert [os.fsencode(os_path(file_path(name))) for name in names] == [os.fsencode(name) for name in names]


def test_ids_tell_apart_paths_contents_and_places() -> None:
    ids = {
        new_chunk_id(FilePath(path), content_hash(content), ordinal)
        for path in ("/a", "/b")
        for content in (b"x", b"y")
        for ordinal in (0, 1)
    }
    assert len(ids) == 8


@given(st.text(), st.binary(), st.integers(0, 1000))
def test_an_id_is_a_uuid_of_version_5(path: str, content: bytes, ordinal: int) -> None:
    of_content = content_hash(content)
    expected = uuid.uuid5(uuid.UUID("8b0f6c1e-5d0a-5f3e-9f64-2f6d0c6b7a11"), f"{path}\0{of_content.hex()}\0{ordinal}")
    assert new_chunk_id(FilePath(path), of_content, ordinal) == expected.bytes


@given(st.uuids())
def test_the_bytes_of_an_id_are_those_of_its_uuid(of: uuid.UUID) -> None:
    assert chunk_id_of(str(of)) == of.bytes
    assert uuid_text(ChunkId(of.bytes)) == str(of)


def test_a_chunk_is_embedded_with_its_place_in_the_document() -> None:
    chunk = Chunk(0, "Rotate them.", 3, 0, 12, 1, 1, heading="Operations > Keys")
    assert embedding_text(chunk, FilePath("/a/b/key_rotation-2.md")) == "key rotation\nOperations > Keys\nRotate them."


def test_a_name_without_words_is_not_embedded() -> None:
    chunk = Chunk(0, "Rotate them.", 3, 0, 12, 1, 1)
    assert embedding_text(chunk, FilePath("/notes/2024-01-02_3.md")) == "Rotate them."


SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("changed_ns", "seen_after_ns", "is_settled"),
    [
        (7 * SECOND + 1, 19_000_000, False),
        (7 * SECOND + 1, 21_000_000, True),
        (7 * SECOND, 1_999_999_999, False),  # FAT has ticks of two seconds
        (7 * SECOND, 2 * SECOND + 1, True),
    ],
)
def test_a_file_is_settled_when_any_further_change_would_fall_into_another_tick_of_its_clock(
    changed_ns: int, seen_after_ns: int, *, is_settled: bool
) -> None:
    path = FilePath("/a")
    assert SourceFile(path, 1, 0, changed_ns).is_settled(changed_ns + seen_after_ns) is is_settled
    # Where nothing tells when a file was changed, the time that can be set has to do.
    assert SourceFile(path, 1, changed_ns).is_settled(changed_ns + seen_after_ns) is is_settled


def test_a_stamp_whose_time_was_not_taken_is_not_settled() -> None:
    assert not SourceFile(FilePath("/a"), 1, 0, 5).is_settled(0)


@pytest.mark.parametrize("seconds", [-(10**11), 10**11])
def test_times_of_any_year_can_be_stored(tmp_path: Path, seconds: int) -> None:
    file = tmp_path / "a"
    file.touch()
    try:
        os.utime(file, (seconds, seconds))
    except OverflowError:
        pytest.skip("the system has no such time")
    assert all(-(2**63) <= number < 2**63 for number in source_file_of_status(FilePath("/a"), file.stat())[1:])


def test_text_that_is_no_unicode_is_written_out_wherever_it_comes_from() -> None:
    assert well_formed("a \ud800 b \udce4 c \udfff") == "a \\ud800 b \\xe4 c \\udfff"
