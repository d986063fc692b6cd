"""Threads that come and go leave no heaps behind."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_THREADS = """
import ctypes, sys, threading
from directory_indexer.heaps import share_heaps
if sys.argv[1:]:
    share_heaps()
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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have no heaps for threads")
def test_threads_share_two_heaps() -> None:
    assert _n_heaps() > 2
    assert _n_heaps("shared") == 2


def _n_heaps(*arguments: str) -> int:
    done = subprocess.run([sys.executable, "-c", _THREADS, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.count("<heap nr=")
