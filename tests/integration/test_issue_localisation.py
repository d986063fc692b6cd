"""What to read for an issue, a stack trace, a failing test or a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.search.issue_localisation import LocateRequest, LocateResult, Spot, locate
from directory_indexer.search.requests import SearchMode
from directory_indexer.server.mcp import count_json_tokens, record_to_object
from directory_indexer.server.mcp.tools import locate_within_budget

if TYPE_CHECKING:
    from indexes import Index

PARSER = '''\
"""Reads amounts."""


def parse_amount(text):
    number, unit = text.split()
    return float(number), unit


class AmountError(ValueError):
    pass
'''
IMPORT = "from shop.parser import parse_amount\n\n\n"
LEDGER = f"{IMPORT}def total(lines):\n    return sum(parse_amount(one)[0] for one in lines)\n"
TEST = f"{IMPORT}def test_parse_amount():\n    assert parse_amount('3 EUR') == (3.0, 'EUR')\n"
TRACE = """\
Traceback (most recent call last):
  File "/srv/app/shop/ledger.py", line 5, in total
    return sum(parse_amount(one)[0] for one in lines)
  File "/srv/app/shop/parser.py", line 5, in parse_amount
    number, unit = text.split()
ValueError: not enough values to unpack
"""
DIFF = """\
diff --git a/shop/ledger.py b/shop/ledger.py
--- a/shop/ledger.py
+++ b/shop/ledger.py
@@ -4,2 +4,2 @@
-def total(lines):
+def total(rows):
"""


def shop(index: Index, *, n_others: int = 0) -> None:
    index.write("shop/parser.py", PARSER)
    index.write("shop/ledger.py", LEDGER)
    index.write("tests/test_parser.py", TEST)
    index.write("README.md", "# Shop\n\nparse_amount reads an amount with its unit.\n")
    for number in range(n_others):
        index.write(
            f"other/part{number}.py", f"def amount_{number}(text):\n" + f"    amount = text + '{number}'\n" * 30
        )
    index.run()


def located(index: Index, text: str, max_tokens: int = 8000) -> LocateResult:
    request = LocateRequest(text, mode=SearchMode.KEYWORD, max_tokens=max_tokens)
    return locate(index.docstore, index.searcher, request)


def names(index: Index, spots: tuple[Spot, ...]) -> list[str]:
    return [spot.path.removeprefix(f"{index.root}/") for spot in spots]


def test_the_frames_of_a_trace_come_first_the_deepest_before_the_others(index: Index) -> None:
    shop(index, n_others=5)
    code = located(index, TRACE).code
    assert names(index, code)[:2] == ["shop/parser.py", "shop/ledger.py"]
    assert code[0].start_line <= 5 <= code[0].end_line
    assert "frame, line 5" in code[0].reason


def test_the_lines_that_a_diff_changes_come_first(index: Index) -> None:
    shop(index, n_others=5)
    spot = located(index, DIFF).code[0]
    assert (names(index, (spot,)), "changed in the diff" in spot.reason) == (["shop/ledger.py"], True)


def test_a_name_in_an_issue_leads_to_its_definition_and_its_uses_tests_and_documents_apart(index: Index) -> None:
    shop(index, n_others=5)
    found = located(index, "Amounts without a unit fail\n\n`parse_amount` should accept them.")
    assert names(index, found.code)[:2] == ["shop/parser.py", "shop/ledger.py"]
    assert "defines parse_amount" in found.code[0].reason
    assert set(names(index, found.tests)) == {"tests/test_parser.py"}
    assert names(index, found.documents) == ["README.md"]


def test_a_file_that_is_named_is_read_though_nothing_else_speaks_for_it(index: Index) -> None:
    index.write("a/quiet.py", "x = 1\n")
    shop(index)
    found = located(index, "see a/quiet.py please")
    assert names(index, found.code)[0] == "a/quiet.py"
    assert "names a/quiet.py" in found.code[0].reason


@pytest.mark.slow
def test_of_a_trace_only_what_the_evidence_is_strong_for_is_listed_and_the_rest_counted(index: Index) -> None:
    shop(index, n_others=12)
    code = located(index, TRACE)
    assert names(index, code.code)[:2] == ["shop/parser.py", "shop/ledger.py"]
    assert not [name for name in names(index, code.code) if name.startswith("other/")]
    assert names(index, code.tests) == ["tests/test_parser.py"]
    assert code.n_weaker
    request = LocateRequest(TRACE, mode=SearchMode.KEYWORD, with_weaker=True)
    everything = locate(index.docstore, index.searcher, request)
    assert everything.n_weaker == 0
    assert len(everything.code) > len(code.code)


def test_a_report_that_names_no_lines_is_not_cut(index: Index) -> None:
    shop(index, n_others=12)
    assert located(index, "text of an amount is wrong").n_weaker == 0


@pytest.mark.parametrize("max_tokens", [200, 500, 2000])
def test_what_there_is_to_read_keeps_to_its_tokens(index: Index, max_tokens: int) -> None:
    shop(index, n_others=40)
    found = located(index, "amount of text is wrong", max_tokens)
    spots = (*found.code, *found.tests, *found.documents)
    lines = 0
    for spot in spots:
        with open(spot.path, encoding="utf-8") as file:
            lines += sum(
                len(line) for line in file.read().splitlines(keepends=True)[spot.start_line - 1 : spot.end_line]
            )
    assert lines <= max_tokens * 3
    assert sum(spot.tokens for spot in spots) <= max_tokens
    assert found.n_left_out
    answer = locate_within_budget(found, (), max_tokens=max_tokens)
    assert count_json_tokens(record_to_object(answer)) <= max_tokens


def test_an_empty_report_is_refused(index: Index) -> None:
    shop(index)
    with pytest.raises(UsageError, match="no report"):
        located(index, " \n")


@pytest.mark.parametrize(
    "report", ["@@ -1,1 +1 @@\n" * 1000, "a/b.py:1\n" * 5000, "`x`" * 20_000, "+++ \n@@ -0,0", "\0\n\0", "(" * 50_000]
)
def test_no_report_is_too_odd_to_be_read(index: Index, report: str) -> None:
    shop(index)
    assert located(index, report).n_left_out >= 0
