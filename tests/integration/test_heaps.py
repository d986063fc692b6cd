"""Threads that come and go leave no heaps behind in a run that embeds, in which the vector engine starts many."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from trees import plant

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.machine import translate_import_errors

_TESTS = Path(__file__).parent.parent

_RUN = """
import ctypes, sys, threading
from pathlib import Path
from indexes import Index
root = Path(sys.argv[1])
index = Index(root / "notes", root / "index")
index.run()
index.close()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
at_once = threading.Barrier(8)
def work():
    libc.malloc(ctypes.c_size_t(1000))
    at_once.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_info(0, ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w")))
libc.fflush(None)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have no heaps for threads")
@pytest.mark.parametrize(("files", "shares"), [({"note.md": "tomatoes\n"}, True), ({"notes.bin": "\0"}, False)])
def test_threads_share_two_heaps_when_a_run_embeds(tmp_path: Path, files: dict[str, str], *, shares: bool) -> None:
    plant(tmp_path / "notes", files)

    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=_TESTS,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )

    n_heaps = done.stdout.count("<heap nr=")
    assert n_heaps == 2 if shares else n_heaps > 2


def test_a_library_of_the_system_that_is_missing_is_named_whatever_advice_is_put_around_it() -> None:
    missing = "libstdc++.so.6: cannot open shared object file"

    error = ImportError("\n\nPlease read this page.")
    error.__cause__ = ImportError(missing)
    with pytest.raises(ProviderError) as caught, translate_import_errors("the model", ProviderError):
        raise error
    assert caught.value.message == f"the model cannot be loaded: {missing}"
