"""The terminal of a run: it does not echo keys meanwhile, and is restored however the run ends."""

from __future__ import annotations

import os
import signal
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("there are no terminals of POSIX", allow_module_level=True)

import pty
import termios

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
_RUN = """
from directory_indexer.cli.signals import without_echo
def say(text):
    print(text, flush=True)
with without_echo(2, show=lambda: say("<shown>"), hide=lambda: say("<hidden>")):
    while True:  # a pause that begins behind a signal would not end
        pass
"""
_SHELL = """
import os, signal, subprocess, sys, termios
def echoes():
    return bool(termios.tcgetattr(0)[3] & termios.ECHO)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def begin():
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
run = subprocess.Popen([sys.executable, "-c", sys.argv[1]], preexec_fn=begin, stdout=subprocess.PIPE, text=True)
def wait_for(text):
    while text not in run.stdout.readline():
        pass
wait_for("<shown>")
print("running", echoes())
run.send_signal(signal.SIGTSTP)
_, status = os.waitpid(run.pid, os.WUNTRACED)
assert os.WIFSTOPPED(status)
print("stopped", echoes())
run.send_signal(signal.SIGCONT)
wait_for("<shown>")
print("continued", echoes())
run.send_signal(signal.SIGTERM)
print("ended", run.wait(), echoes(), flush=True)
"""


def on_terminal(*words: str) -> tuple[int, int]:
    """Start Python on a terminal of its own; return its process and the other side of the terminal."""
    pid, terminal = pty.fork()
    if not pid:
        for number in _SIGNALS:  # whoever runs the tests may ignore them
            signal.signal(number, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", *words])  # noqa: S606 - no shell is needed
    return pid, terminal


def read_until(terminal: int, text: bytes) -> bytes:
    read = b""
    while text not in read:
        read += os.read(terminal, 4096)
    return read


def echoes(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


@pytest.mark.parametrize("number", _SIGNALS)
def test_a_terminal_echoes_no_keys_while_a_run_is_displayed_and_again_once_it_was_killed(number: int) -> None:
    pid, terminal = on_terminal(_RUN)
    read_until(terminal, b"<shown>")
    was_silent = not echoes(terminal)
    os.kill(pid, number)
    read_until(terminal, b"<hidden>")
    _, status = os.waitpid(pid, 0)
    assert was_silent
    assert os.waitstatus_to_exitcode(status) in (-number, 1)
    assert echoes(terminal)
    os.close(terminal)


def test_a_stopped_run_restores_the_terminal_and_silences_it_again_when_it_goes_on() -> None:
    pid, terminal = on_terminal(_SHELL, _RUN)
    said = read_until(terminal, b"ended").decode()
    said += read_until(terminal, b"\n").decode() if "\n" not in said.partition("ended")[2] else ""
    os.waitpid(pid, 0)
    os.close(terminal)
    assert said.splitlines() == ["running False", "stopped True", "continued False", "ended -15 True"]
