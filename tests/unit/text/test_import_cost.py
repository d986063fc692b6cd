from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
import directory_indexer.text.results, directory_indexer.text.index_reports, directory_indexer.text.reports
import directory_indexer.text.index_reports
import directory_indexer.text.json_pages, directory_indexer.text.progress
print(sorted({"rich", "pydantic", "numpy", "asyncio"} & set(sys.modules)))
"""


def test_what_goes_into_a_pipe_or_comes_as_json_pays_for_no_large_library() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
