"""What OCR has read is kept page by page, whatever happens to the index, to the file or to the clock."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import zlib
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import OcrCacheError, StoreError
from directory_indexer.core.files import Box, Line, PageKey, PageProblem, Recognition, Word
from directory_indexer.storage.ocr_cache import KEPT_DAYS, MAX_ATTEMPTS, OcrCache

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = "engine 1"
ONE, TWO, THREE = (PageKey(bytes([number]) * 16) for number in (1, 2, 3))


def page(text: str, n_words: int = 1) -> Recognition:
    words = (Word(text, 91, Box(1, 2, 3, 4)), *(Word(f"word{number}", 80) for number in range(n_words)))
    return Recognition(RECIPE, (Line(words, 0), Line((Word("naïve \ud800 \u0000", 5),), 7)), 200, 90)


@pytest.fixture
def cache(tmp_path: Path) -> OcrCache:
    place = tmp_path / "data ?#%41"
    place.mkdir()
    return OcrCache(place / "pages.db")


def age(cache: OcrCache, key: PageKey, days: int) -> None:
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE pages SET used_on = used_on - ? WHERE key = ?", (days, key))


def kept(cache: OcrCache) -> set[PageKey]:
    return {key for key in (ONE, TWO, THREE) if cache.get(key) is not None}


def test_a_page_comes_back_as_it_was_read(cache: OcrCache) -> None:
    found = page("zeppelin", 500)
    cache.put(ONE, found, recipe=RECIPE)

    again = cache.get(ONE)

    assert isinstance(again, Recognition)
    assert again.lines[0] == found.lines[0]
    assert again.lines[1].text == "naïve ? \u0000"
    assert (again.engine, again.dpi, again.turn, again.lines[1].block) == (RECIPE, 200, 90, 7)
    assert cache.get(TWO) is None


def test_without_a_database_nothing_is_known_and_none_is_made(cache: OcrCache) -> None:
    assert cache.get(ONE) is None
    assert cache.summary() == (0, 0)
    assert cache.remove_problems_of_other_engines(RECIPE) == []
    cache.prune([ONE], max_bytes=0)
    cache.keep_only([])
    assert not cache.path.exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_nobody_else_may_read_the_pages(cache: OcrCache) -> None:
    before = os.umask(0)
    try:
        cache.put(ONE, page("zeppelin"), recipe=RECIPE)
        with sqlite3.connect(cache.path) as connection:
            connection.execute("UPDATE pages SET used_on = 0")
            modes = {stat.S_IMODE(one.stat().st_mode) for one in cache.path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}


def test_a_page_is_given_up_after_three_attempts(cache: OcrCache) -> None:
    finals = []
    for _ in range(MAX_ATTEMPTS):
        cache.put(ONE, PageProblem("crashes"), recipe=RECIPE)
        found = cache.get(ONE)
        assert isinstance(found, PageProblem)
        finals.append(found.is_final)
    assert finals == [False, False, True]


def test_a_problem_may_be_said_in_any_characters(cache: OcrCache) -> None:
    cache.put(ONE, PageProblem("\ud800 \x00 was refused"), recipe=RECIPE)
    found = cache.get(ONE)
    assert isinstance(found, PageProblem)
    assert found.message.endswith("was refused")


def test_what_is_final_is_so_at_once(cache: OcrCache) -> None:
    cache.put(ONE, PageProblem("is refused", is_final=True), recipe=RECIPE)
    assert cache.get(ONE) == PageProblem("is refused", is_final=True)


def test_what_goes_well_in_the_end_counts(cache: OcrCache) -> None:
    cache.put(ONE, PageProblem("crashes"), recipe=RECIPE)
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    assert isinstance(cache.get(ONE), Recognition)
    cache.put(ONE, PageProblem("crashes"), recipe="engine 2")
    assert isinstance(cache.get(ONE), Recognition)


def test_attempts_begin_anew_after_a_success(cache: OcrCache) -> None:
    for found in (PageProblem("crashes"), PageProblem("crashes"), page("zeppelin"), PageProblem("crashes")):
        cache.put(ONE, found, recipe=RECIPE)
    assert cache.get(ONE) == PageProblem("crashes")


def test_the_problems_of_another_engine_are_taken_out_and_its_pages_stay(cache: OcrCache) -> None:
    cache.put(ONE, PageProblem("crashes"), recipe="engine 0")
    cache.put(TWO, PageProblem("crashes"), recipe=RECIPE)
    cache.put(THREE, page("zeppelin"), recipe="engine 0")

    assert cache.remove_problems_of_other_engines(RECIPE) == [ONE]
    assert cache.remove_problems_of_other_engines(RECIPE) == []
    assert kept(cache) == {TWO, THREE}


def test_pages_that_no_document_has_go_and_are_overwritten(cache: OcrCache) -> None:
    cache.put(ONE, Recognition("a secret engine", ()), recipe="secret recipe")
    cache.put(TWO, page("zeppelin"), recipe=RECIPE)

    cache.keep_only([TWO])

    assert kept(cache) == {TWO}
    with sqlite3.connect(cache.path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"secret recipe" not in cache.path.read_bytes()


def test_pages_that_nothing_uses_stay_for_a_while(cache: OcrCache) -> None:
    for key in (ONE, TWO, THREE):
        cache.put(key, page("zeppelin"), recipe=RECIPE)
    for key, days in ((ONE, KEPT_DAYS + 1), (TWO, KEPT_DAYS + 1), (THREE, KEPT_DAYS - 1)):
        age(cache, key, days)

    cache.prune([ONE], max_bytes=1 << 30)

    assert kept(cache) == {ONE, THREE}


def test_a_cache_that_is_too_large_loses_what_was_used_longest_ago(cache: OcrCache) -> None:
    for key, days in ((ONE, 2), (TWO, 3), (THREE, 1)):
        cache.put(key, page("zeppelin", 2_000), recipe=RECIPE)
        age(cache, key, days)
    with sqlite3.connect(cache.path) as connection:
        [n_bytes] = connection.execute("SELECT max(length(content)) FROM pages").fetchone()

    cache.prune([], max_bytes=2 * n_bytes)
    assert kept(cache) == {ONE, THREE}
    cache.prune([], max_bytes=0)
    assert kept(cache) == set()


def test_pages_that_documents_have_outlive_others_of_the_same_day(cache: OcrCache) -> None:
    for key in (ONE, TWO, THREE):
        cache.put(key, page("zeppelin", 2_000), recipe=RECIPE)
    with sqlite3.connect(cache.path) as connection:
        [n_bytes] = connection.execute("SELECT max(length(content)) FROM pages").fetchone()

    cache.prune([ONE], max_bytes=n_bytes)

    assert kept(cache) == {ONE}


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0", b"no database at all " * 1_000])
def test_a_damaged_cache_is_an_empty_one(cache: OcrCache, damage: bytes) -> None:
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    cache.path.write_bytes(damage)

    assert kept(cache) == set()
    cache.put(TWO, page("zeppelin"), recipe=RECIPE)
    assert kept(cache) == {TWO}


def test_a_cache_that_is_damaged_inside_is_made_anew(cache: OcrCache) -> None:
    for number in range(200):
        cache.put(PageKey(number.to_bytes(16, "big")), page("zeppelin", number), recipe=RECIPE)
    size = cache.path.stat().st_size
    with cache.path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))

    assert cache.get(ONE) is None
    cache.prune([ONE], max_bytes=0)
    cache.keep_only([ONE])
    cache.remove_problems_of_other_engines(RECIPE)
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    assert isinstance(cache.get(ONE), Recognition)


def made_up(*values: object) -> bytes:
    return zlib.compress(json.dumps(values).encode())


def bomb() -> bytes:
    packing = zlib.compressobj()
    return b"".join(packing.compress(b" " * 1_000_000) for _ in range(65)) + packing.flush()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nothing",
        b"\x78\x9c\x03\x00\x00\x00\x00\x01",
        "text",
        5,
        made_up("engine", 200, 0, [[0, [["word", 90, float("nan"), 2, 3, 4]]]]),
        made_up("engine", 200, 0, [[0, [["word", 90, 1, 2, 3, 10**9]]]]),
        made_up("engine", 200, 0, [[0, [[7, 90]]]]),
        made_up("engine", 200, 0, [[0, [["word", "sure"]]]]),
        made_up("engine", 200, 0, [[0, [["word"]]]]),
        made_up("engine", 200, 45, []),
        made_up(None, 200, 0, []),
        made_up("engine", 200, 0, None),
        zlib.compress(b"[" * 200_000),
        bomb(),
    ],
)
def test_a_page_that_is_damaged_is_read_again(cache: OcrCache, content: object) -> None:
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE pages SET content = ?", (content,))
    assert cache.get(ONE) is None
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    assert isinstance(cache.get(ONE), Recognition)


def test_the_cache_of_another_program_is_made_anew(cache: OcrCache) -> None:
    with sqlite3.connect(cache.path) as connection:
        connection.execute("CREATE TABLE pages (number, text)")

    assert cache.get(ONE) is None
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    assert isinstance(cache.get(ONE), Recognition)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
@pytest.mark.parametrize("kind", ["link to nothing", "link to a file", "pipe", "directory"])
def test_what_is_no_file_is_neither_read_nor_written(cache: OcrCache, kind: str) -> None:
    elsewhere = cache.path.with_name("elsewhere")
    match kind:
        case "pipe":
            os.mkfifo(cache.path)
        case "directory":
            cache.path.mkdir()
        case _:
            cache.path.symlink_to(elsewhere)
    if kind == "link to a file":
        OcrCache(elsewhere).put(ONE, page("zeppelin"), recipe=RECIPE)
    before = elsewhere.read_bytes() if elsewhere.exists() else None

    assert (cache.get(ONE), cache.summary()) == (None, (0, 0))
    with pytest.raises(OcrCacheError) as raised:
        cache.require_writable()
    with pytest.raises(OcrCacheError):
        cache.put(TWO, page("zeppelin"), recipe=RECIPE)
    assert raised.value.hint == "remove it; what it holds is read again"
    assert before == (elsewhere.read_bytes() if elsewhere.exists() else None)


def test_pages_of_days_that_are_still_to_come_grow_old_from_today(cache: OcrCache) -> None:
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    age(cache, ONE, -4_000)
    cache.prune([], max_bytes=1 << 30)
    age(cache, ONE, KEPT_DAYS + 1)

    cache.prune([], max_bytes=1 << 30)

    assert kept(cache) == set()


def test_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    cache = OcrCache(tmp_path / "gone" / "pages.db")
    with pytest.raises(StoreError, match="cannot be written"):
        cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    (tmp_path / "pages.db").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        OcrCache(tmp_path / "pages.db").put(ONE, page("zeppelin"), recipe=RECIPE)


def test_what_cannot_be_written_to_the_end_is_said(cache: OcrCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    with sqlite3.connect(cache.path) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("directory_indexer.storage.ocr_cache._BUSY_TIMEOUT_SECONDS", 0.01)
        with pytest.raises(StoreError, match="cannot be written: database is locked"):
            cache.put(TWO, page("zeppelin"), recipe=RECIPE)
        other.execute("ROLLBACK")
    assert kept(cache) == {ONE}


def test_readers_see_whole_pages_while_others_are_written(cache: OcrCache) -> None:
    whole = page("zeppelin", 300)
    cache.put(ONE, whole, recipe=RECIPE)
    seen: list[bool] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            found = cache.get(ONE)
            seen.append(isinstance(found, Recognition) and found.lines[0] == whole.lines[0])

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(50):
        cache.put(ONE, whole, recipe=f"engine {number}")
    done.set()
    reader.join()
    assert all(seen)


def test_all_pages_can_be_let_go(cache: OcrCache) -> None:
    cache.put(ONE, page("zeppelin"), recipe=RECIPE)
    cache.put(TWO, PageProblem("crashes"), recipe=RECIPE)
    summary = cache.clear()
    assert (summary.n_pages, summary.n_bytes > 0, kept(cache)) == (1, True, set())
    assert list(cache.path.parent.iterdir()) == []


@pytest.mark.parametrize(("problem", "attempts"), [(b"\xff", 1), ("it is torn", "many"), ("it is torn", b"\x03")])
def test_a_problem_that_is_none_is_forgotten(cache: OcrCache, problem: object, attempts: object) -> None:
    cache.put(ONE, PageProblem("it is torn"), recipe=RECIPE)
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE pages SET problem = ?, attempts = ?", (problem, attempts))
    assert cache.get(ONE) is None
