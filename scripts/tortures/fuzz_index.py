"""Invariants of an index run, whatever the files are: it ends, it adds up, and the next one has nothing to do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tortures.contained import CHEAPLY, DIRINDEX, NOT_FOR_TERMINALS, Containment, Ended

if TYPE_CHECKING:
    from pathlib import Path

_OUTCOMES = ("added", "changed", "moved", "unchanged", "skipped", "failed")
_WORK = ("added", "changed", "moved", "removed", "embedded")
_UNFORESEEN = re.compile(r"\b[A-Z]\w+(?:Error|Exception|Exit|Warning|Iteration) in \w+\.pyx?, line \d+")


class Indexing:
    """An index of a tree, and what is wrong with it."""

    def __init__(self, place: Path, tree: Path, *, data_dir: Path | None = None, embeds: bool = False) -> None:
        self.tree, self.data_dir = tree, data_dir or place / "data"
        self._place, self._program = place, DIRINDEX if embeds else CHEAPLY

    def complaint(self, *, seconds: float = 300.0, is_brief: bool = False, looks_closer: bool = True) -> str:
        """Index the tree and say what is wrong; briefly: only whether the run ends as it should."""
        summary = self._first(seconds)
        summary = summary or ("" if is_brief else self._second(seconds))
        return summary or (self._doctor() or self._output() if looks_closer and not is_brief else "")

    def _run(self, *words: str | Path, seconds: float = 120.0) -> Ended:
        return Containment(self._place, seconds).run(*self._program, *words, "--data-dir", self.data_dir)

    def _first(self, seconds: float) -> str:
        ended = self._run("index", self.tree, "--json", "--quiet", seconds=seconds)
        return ended.complaint() or _sum_complaint(_report(ended))

    def _second(self, seconds: float) -> str:
        """Run again with nothing changed; what failed is tried again."""
        ended = self._run("index", "--json", "--quiet", seconds=seconds)
        report = _report(ended)
        work = {name: report.get(name) for name in _WORK if report.get(name) != 0}
        summary = ", ".join(sorted(work))
        return ended.complaint() or _sum_complaint(report) or (f"a second run still has {summary}" if work else "")

    def _doctor(self) -> str:
        ended = self._run("doctor", "--json")
        report = _report(ended)
        problems = [finding["check"] for finding in report.get("findings", []) if finding["verdict"] == "problem"]
        if problems or not report.get("healthy"):
            return f"the doctor finds: {', '.join(sorted(set(problems)))}"
        return ended.complaint()

    def _output(self) -> str:
        """Look at what people see on a terminal."""
        words = (("index",), ("status", "--verbose"), ("search", "a the return", "-m", "keyword", "-n", "50"))
        for command in words:
            output = Containment(self._place).output_of(*self._program, *command, "--data-dir", self.data_dir)
            if match := NOT_FOR_TERMINALS.search(output):
                return f"`{command[0]}` puts {match[0]!a} on a terminal"
            if "this is a bug" in output or "Traceback (" in output:
                return f"`{command[0]}` on a terminal says that it has a bug"
        return ""


def _report(ended: Ended) -> dict[str, Any]:
    try:
        report = json.loads(ended.stdout)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _sum_complaint(report: dict[str, Any]) -> str:
    if report.get("state") != "completed":
        return f"it ended as {report.get('state')}"
    if report["files"] != sum(report[name] for name in _OUTCOMES):
        return "its counts do not add up"
    unforeseen = [
        match[0] for failure in report["failures"] if (match := _UNFORESEEN.search(str(failure.get("message"))))
    ]
    return f"a file failed with {unforeseen[0]}" if unforeseen else ""
