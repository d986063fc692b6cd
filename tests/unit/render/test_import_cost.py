from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
import directory_indexer.render.answers, directory_indexer.render.index_reports, directory_indexer.render.reports
import directory_indexer.render.status_report
import directory_indexer.render.json_pages, directory_indexer.render.progress
print(sorted({"rich", "pydantic", "numpy", "asyncio"} & set(sys.modules)))
"""


def test_what_goes_into_a_pipe_or_comes_as_json_pays_for_no_large_library() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
