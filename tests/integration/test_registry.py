"""The registry: private, migrated, shared by threads and processes; and the keys in it."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import StoreError, UsageError
from directory_indexer.core.rights import Right
from directory_indexer.storage.registry import SCHEMA, Registry
from directory_indexer.storage.registry.keys import PREFIX, Key, Keys, digest_secret, find_valid_key

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "data" / "team" / "team.db")


def test_nothing_is_made_by_looking_for_keys(registry: Registry) -> None:
    assert Keys(registry).all() == ()
    assert not registry.path.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_it_is_private_to_the_user(registry: Registry) -> None:
    Keys(registry).add("ann", Right.READ)
    assert stat.S_IMODE(registry.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(registry.path.parent.stat().st_mode) == 0o700


def test_readers_do_not_wait_for_a_writer(registry: Registry) -> None:
    keys = Keys(registry)
    keys.add("ann", Right.READ)
    with registry.writing() as connection:
        connection.execute("DELETE FROM keys")
        assert [key.name for key in Keys(Registry(registry.path)).all()] == ["ann"]
    assert keys.all() == ()


def test_a_write_that_fails_is_undone(registry: Registry) -> None:
    keys = Keys(registry)
    keys.add("ann", Right.READ)

    def fail() -> None:
        with registry.writing() as connection:
            connection.execute("DELETE FROM keys")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [key.name for key in keys.all()] == ["ann"]


def test_a_registry_of_a_newer_version_is_left_alone(registry: Registry) -> None:
    Keys(registry).add("ann", Right.READ)
    with registry.writing() as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
    with pytest.raises(StoreError, match="newer dirindex"):
        Keys(Registry(registry.path)).all()


def test_what_is_no_database_is_named(registry: Registry) -> None:
    registry.path.parent.mkdir(parents=True)
    registry.path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"team\.db"):
        Keys(registry).all()


def test_many_may_be_the_first_at_once(registry: Registry) -> None:
    def add(number: int) -> None:
        Keys(Registry(registry.path)).add(f"key-{number}", Right.READ)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Keys(registry).all()) == 8


def test_another_process_sees_what_was_written_and_is_seen(registry: Registry) -> None:
    keys = Keys(registry)
    _, secret = keys.add("ann", Right.READ)
    assert [key.name for key in keys.all()] == ["ann"]
    program = (
        "import sys, pathlib; from directory_indexer.storage.registry import Registry, keys;"
        "print(keys.Keys(Registry(pathlib.Path(sys.argv[1]))).revoke('ann').name)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, registry.path], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout == "ann\n"
    assert find_valid_key(secret, keys.all(), now=0) is None


def test_a_key_is_found_again_by_its_secret_alone(registry: Registry) -> None:
    keys = Keys(registry)
    made, secret = keys.add("ann", Right.WRITE, collections=["b", "a"], seconds=60)
    assert secret.startswith(PREFIX)
    assert secret not in repr(made)
    assert keys.all() == (made,)
    assert find_valid_key(secret, keys.all(), now=made.created_at + 59) == made
    assert find_valid_key(secret, keys.all(), now=made.created_at + 60) is None
    assert find_valid_key(secret + " ", keys.all(), now=0) is None
    assert find_valid_key("", keys.all(), now=0) is None
    assert find_valid_key("\ud800", keys.all(), now=0) is None


def test_the_secret_is_nowhere_on_disk(registry: Registry) -> None:
    made, secret = Keys(registry).add("ann", Right.READ)
    registry.close()
    kept = [file.read_bytes() for file in registry.path.parent.iterdir()]
    assert any(made.digest in content for content in kept)
    assert not [content for content in kept if secret.encode() in content]


def test_a_key_that_was_revoked_leaves_nothing_behind(registry: Registry) -> None:
    keys = Keys(registry)
    made, _ = keys.add("somebody-who-left", Right.READ)
    assert any(made.digest in file.read_bytes() for file in registry.path.parent.iterdir())
    keys.revoke(made.name)
    registry.close()
    with sqlite3.connect(registry.path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert all(made.digest not in file.read_bytes() for file in registry.path.parent.iterdir())


def test_names_are_unique_and_plain(registry: Registry) -> None:
    keys = Keys(registry)
    keys.add("ann", Right.READ)
    with pytest.raises(UsageError, match="a key 'ann' already exists"):
        keys.add("ann", Right.READ)
    for name in ("", " ann", "a\nb", "-a", "a" * 65, "é"):
        with pytest.raises(UsageError, match="not a valid name"):
            keys.add(name, Right.READ)
    with pytest.raises(UsageError, match="no key 'bob'"):
        keys.revoke("bob")


@pytest.mark.parametrize(
    ("right", "allowed"),
    [
        (Right.READ, {"read"}),
        (Right.WRITE, {"read", "write"}),
        (Right.ADMIN, {"read", "write", "admin", "metrics"}),
        (Right.METRICS, {"metrics"}),
        (Right.OWNER, {"read", "write", "owner"}),
    ],
)
def test_a_right_has_lesser_ones_in_it(right: Right, allowed: set[str]) -> None:
    key = Key("k", digest_secret("k"), right)
    assert {needed for needed in Right if key.has_right(needed)} == allowed


def test_a_key_reaches_its_collections_alone() -> None:
    digest = digest_secret("k")
    assert Key("k", digest, Right.READ).grants_collection("any")
    assert Key("k", digest, Right.READ, frozenset({"a"})).grants_collection("a")
    assert not Key("k", digest, Right.READ, frozenset({"a"})).grants_collection("b")
