"""Stores of Outlook: what is damaged, and what needs the extra. Whole stores are read by `scripts/formats`."""

from __future__ import annotations

import io
import random

import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.mail import outlook_store
from directory_indexer.formats.mail.outlook_store import HEADER, open_outlook_store
from directory_indexer.formats.recognition import kind_of


def test_a_store_is_recognised_by_its_first_bytes() -> None:
    assert kind_of(file_path("/root/old"), HEADER + bytes(600)) == "pst"
    assert kind_of(file_path("/root/old.pst"), b"notes\n") == "text"


def test_without_the_extra_a_store_is_left_out_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook_store, "pypff", None)
    with pytest.raises(SkipFileError, match=r"\.\[pst\]") as raised:
        open_outlook_store(io.BytesIO(HEADER), "pst", Budget())
    assert raised.value.reason is SkipReason.BINARY


@pytest.mark.parametrize("seed", range(8))
def test_a_store_of_noise_is_damaged(seed: int) -> None:
    noise = random.Random(seed).randbytes(4_096)  # noqa: S311 - no secret
    with pytest.raises(ExtractionError, match="damaged"):
        list(open_outlook_store(io.BytesIO(HEADER + noise), "pst", Budget()).members)
