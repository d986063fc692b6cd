"""A variable that a script left unset is never taken for the working directory, by no command."""

from __future__ import annotations

import pytest

from directory_indexer.cli.command_line import cli
from directory_indexer.core.errors import UsageError


@pytest.mark.parametrize(
    "words",
    [
        ("index", "{}"),
        ("index", "kitchen", "{}"),
        ("forget", "{}"),
        ("status", "{}"),
        ("search", "carrots", "{}"),
        ("similar", "{}"),
        ("similar", "kitchen/soup.md", "{}"),
        ("get", "{}"),
        ("get", "kitchen/soup.md", "--lines", "{}"),
        ("serve", "{}"),
        ("serve", "--print-config", "cursor", "{}"),
        ("serve", "--token-file", "{}"),
        ("status", "--data-dir", "{}"),
        ("status", "--config", "{}"),
        ("export", "{}"),
        ("export", "all.db", "{}"),
    ],
)
@pytest.mark.parametrize("blank", ["", " ", "\t"])
@pytest.mark.usefixtures("home_directory")
def test_a_blank_argument_is_refused_before_any_index_is_opened(words: tuple[str, ...], blank: str) -> None:
    with pytest.raises(UsageError) as raised:
        cli([word.format(blank) for word in words], prog_name="dirindex", standalone_mode=False)
    assert raised.value.hint
