"""Code that nests or repeats without end comes back as text, whatever its grammar makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.files import SourceFile
from directory_indexer.core.paths import file_path
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.formats.grammars import GRAMMARS
from directory_indexer.formats.table import FORMATS
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy

PATTERNS: Final = (
    "(¦[¦{¦<¦)¦#¦@a ¦`${¦'¦\"¦!¦?¦a<¦a<b<¦a(¦a[¦a{¦a.¦a,¦a:¦a=¦a->¦a::¦a?.¦-a¦/*¦//\n¦--[[¦{-¦\"\"\"¦'''¦<<A\n¦if ¦"
    'else ¦if (a) ¦for ¦do ¦end ¦case ¦def a ¦class A {¦function a() {¦#[a]\n¦#if a\n¦#{¦${¦\\(¦f\'{¦#"¦r#"¦'
    "a => ¦lambda: ¦await ¦not ¦a ? b : ¦a ?? ¦é¦let a = ¦where ¦\\a -> ¦a $ ¦|a| ¦template<¦a<b>(c¦\\\n"
).split("¦")
N_BYTES: Final = 50_000
POLICY: Final = ParsePolicy(10_000_000, include_secrets=True, chunking=ChunkPolicy(), count_tokens=count_tokens)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_code_without_end_is_indexed(grammar: str, tmp_path: Path) -> None:
    suffix = FORMATS[grammar].suffixes.split()[0]
    requests = []
    for number, pattern in enumerate(PATTERNS):
        path = tmp_path / f"{number}.{suffix}"
        path.write_text(pattern * (N_BYTES // len(pattern)), encoding="utf-8")
        requests.append(ParseRequest(SourceFile(file_path(path), path.stat().st_size, path.stat().st_mtime_ns), None))
    outcomes = list(parse_all(requests, POLICY))
    assert [outcome for outcome in outcomes if not isinstance(outcome, ParsedFile)] == []
    assert len(outcomes) == len(PATTERNS)
